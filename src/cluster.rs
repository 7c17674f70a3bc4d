//! What both sides need of the API server: connecting, applying, and a store that follows it.

use std::fmt::Debug;
use std::hash::Hash;
use std::path::PathBuf;
use std::sync::Arc;

use futures::{Stream, StreamExt};
use kube::api::{Patch, PatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;

use crate::telemetry::{OnChange, chain};

/// Cannot connect to the API server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kubeconfig file is missing, unreadable or not a kubeconfig.
    #[error("cannot use the kubeconfig {}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: kube::config::KubeconfigError,
    },
    /// Neither a kubeconfig nor the files of a pod are there.
    #[error(
        "found no API server: neither a kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) nor a pod's service account"
    )]
    NoConfig(#[source] Box<kube::config::InferConfigError>),
    /// The configuration makes no client.
    #[error("cannot make a client of this kubeconfig")]
    Client(#[source] Box<kube::Error>),
}

/// A client for the API server named by `kubeconfig`, by the environment, or by the pod's service account.
///
/// # Errors
/// One that names the file and the fault. An API server out of reach is not one: requests say so later.
pub async fn connect(kubeconfig: Option<PathBuf>) -> Result<Client, Error> {
    let config = match kubeconfig {
        Some(path) => {
            let load = async {
                let file = Kubeconfig::read_from(&path)?;
                Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await
            };
            load.await.map_err(|source| Error::Kubeconfig { path: path.clone(), source })?
        }
        None => match environment()? {
            Some(file) => Config::from_custom_kubeconfig(file, &KubeConfigOptions::default())
                .await
                .map_err(|source| Error::Kubeconfig { path: named_by_environment(), source })?,
            None => Config::infer().await.map_err(|source| Error::NoConfig(Box::new(source)))?,
        },
    };
    tracing::info!("version {}; the API server is {}", env!("CARGO_PKG_VERSION"), config.cluster_url);
    Client::try_from(config).map_err(|source| Error::Client(Box::new(source)))
}

/// The kubeconfig that KUBECONFIG names: a fault in it must not look as if none were there.
fn environment() -> Result<Option<Kubeconfig>, Error> {
    Kubeconfig::from_env().map_err(|source| Error::Kubeconfig { path: named_by_environment(), source })
}

fn named_by_environment() -> PathBuf {
    std::env::var_os("KUBECONFIG").unwrap_or_default().into()
}

/// Server-side apply of `body`, which carries apiVersion and kind, taking over its fields.
///
/// # Errors
/// What the API server or the way to it says.
pub async fn apply<K>(
    api: &Api<K>,
    name: &str,
    manager: &str,
    body: &(impl Serialize + Debug),
) -> kube::Result<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    api.patch(name, &PatchParams::apply(manager).force(), &Patch::Apply(body)).await
}

/// As [`apply`], for the status subresource.
///
/// # Errors
/// What the API server or the way to it says.
pub async fn apply_status<K>(
    api: &Api<K>,
    name: &str,
    manager: &str,
    body: &(impl Serialize + Debug),
) -> kube::Result<K>
where
    K: Clone + DeserializeOwned + Debug,
{
    api.patch_status(name, &PatchParams::apply(manager).force(), &Patch::Apply(body)).await
}

/// A local copy of the objects that `config` selects, kept up to date by a task of its own for ever.
/// Each change notifies `changed`. A failing watch is said once and retried.
pub fn follow<K>(
    what: &'static str,
    api: Api<K>,
    config: watcher::Config,
    changed: Arc<Notify>,
    log: Arc<OnChange>,
) -> Store<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    K::DynamicType: Clone + Debug + Default + Eq + Hash + Send + Sync,
{
    let (store, writer) = reflector::store();
    let events = watcher(api, config).default_backoff().modify(|object: &mut K| {
        object.meta_mut().managed_fields = None;
    });
    tokio::spawn(drive(what, reflector::reflector(writer, events), changed, log));
    store
}

async fn drive<K>(
    what: &'static str,
    events: impl Stream<Item = watcher::Result<watcher::Event<K>>>,
    changed: Arc<Notify>,
    log: Arc<OnChange>,
) {
    let mut events = std::pin::pin!(events);
    let subject = format!("watching {what}");
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init | watcher::Event::InitApply(_)) => {}
            Ok(_) => {
                log.clear(&subject);
                changed.notify_one();
            }
            Err(error) => log.warn(&subject, &explain(&error)),
        }
    }
}

/// The API server knows us and says no, or does not know us: waiting does not help, somebody has to act.
pub(crate) fn is_refusal(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if matches!(status.code, 401 | 403))
}

/// As [`is_refusal`], of a watch.
pub(crate) fn is_watch_refusal(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => is_refusal(error),
        watcher::Error::WatchError(status) => matches!(status.code, 401 | 403),
        _ => false,
    }
}

/// An object that is gone needs nothing done to it.
///
/// # Errors
/// All but a 404.
pub(crate) fn ignore_gone<T>(result: kube::Result<T>) -> kube::Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        other => other.map(drop),
    }
}

/// The chain of a watch error, with what to do where that is known.
pub(crate) fn explain(error: &watcher::Error) -> String {
    let text = chain(error);
    let not_found = matches!(
        error,
        watcher::Error::InitialListFailed(kube::Error::Api(status)) | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            if status.code == 404
    );
    if not_found {
        return format!(
            "{text}: are the CRDs installed? `rdma-operator crds | kubectl apply -f -`; retrying"
        );
    }
    format!("{text}; retrying")
}
