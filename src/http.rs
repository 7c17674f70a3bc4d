//! /metrics, /healthz and /readyz of agent and controller.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is taken, or not ours.
    #[error("cannot serve /metrics and /healthz on {address}: choose another with --listen")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Something that can be scraped.
pub trait Exposition: Send + Sync + 'static {
    /// The page, in the OpenMetrics text format.
    fn render(&self) -> String;
}

/// What /readyz says: yes, unless something blocks it, and then what. Clones share one answer.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Readiness {
    /// Not ready because of `what`, for the reason `why`, until it is [cleared](Self::clear).
    pub fn block(&self, what: &'static str, why: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what, why.into());
    }

    /// `what` is no hindrance any more.
    pub fn clear(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
    }

    /// What blocks, a line each; empty when nothing does.
    #[must_use]
    pub fn blocked(&self) -> String {
        let blocked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocked.iter().map(|(what, why)| format!("not ready: {what}: {why}\n")).collect()
    }

    fn answer(&self) -> (StatusCode, String) {
        match self.blocked() {
            none if none.is_empty() => (StatusCode::OK, "ok\n".to_owned()),
            reasons => (StatusCode::SERVICE_UNAVAILABLE, reasons),
        }
    }
}

/// Binds `address` and serves in a task of its own until `shutdown`.
///
/// # Errors
/// When the address cannot be bound.
pub async fn serve(
    address: SocketAddr,
    page: Arc<impl Exposition>,
    readiness: Readiness,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let listener = bind(address).await.map_err(|source| Error::Bind { address, source })?;
    let ready = move || std::future::ready(readiness.answer());
    let metrics = move || {
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        std::future::ready(([(header::CONTENT_TYPE, kind)], page.render()).into_response())
    };
    let routes = Router::new()
        .route("/healthz", get(|| std::future::ready("ok\n")))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics));
    tokio::spawn(async move {
        let serve = axum::serve(listener, routes).with_graceful_shutdown(shutdown.cancelled_owned());
        if let Err(error) = serve.await {
            tracing::error!("serving {address} ended: {error}");
        }
    });
    Ok(())
}

/// `[::]` means every address; on a host with IPv6 switched off that is IPv4's.
async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    const EAFNOSUPPORT: i32 = 97;
    match TcpListener::bind(address).await {
        Err(error) if address.ip() == Ipv6Addr::UNSPECIFIED && error.raw_os_error() == Some(EAFNOSUPPORT) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        other => other,
    }
}
