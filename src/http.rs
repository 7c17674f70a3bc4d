//! /metrics, /healthz and /readyz of agent and controller.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Whether /readyz says yes. Clones share one answer.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Sets the answer.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
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
    let ready = move || {
        let ready = readiness.0.load(Ordering::Relaxed);
        std::future::ready(if ready {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
        })
    };
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
