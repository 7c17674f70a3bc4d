//! What the controller wants of this node: its RdmaNode, followed, and kept on disk for a start without it.

use std::path::{Path, PathBuf};

use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::links::owned::write_durably;
use crate::api::{NodeSoftLink, SlimRdmaNode};
use crate::cluster::{explain, is_watch_refusal};
use crate::http::Readiness;
use crate::telemetry::OnChange;

/// The spec of this node's RdmaNode.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wanted {
    /// metadata.generation.
    pub generation: Option<i64>,
    /// Soft links; `None` is not known, and nothing is touched.
    pub links: Option<Vec<NodeSoftLink>>,
    /// True once the API server shows the object.
    #[serde(skip)]
    pub exists: bool,
    /// The conditions it has, for their transition times.
    #[serde(skip)]
    pub conditions: Vec<Condition>,
}

/// Where the last spec is kept.
#[derive(Debug)]
struct Cache {
    path: PathBuf,
    log: OnChange,
}

impl Cache {
    fn load(path: &Path) -> Wanted {
        match std::fs::read(path).map(|bytes| serde_json::from_slice(&bytes)) {
            Ok(Ok(wanted)) => wanted,
            Ok(Err(error)) => {
                tracing::warn!("{} is damaged and not used: {error}", path.display());
                Wanted::default()
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Wanted::default(),
            Err(error) => {
                tracing::warn!("cannot read {}: {error}", path.display());
                Wanted::default()
            }
        }
    }

    fn store(&self, wanted: &Wanted) {
        let subject = format!("keeping {}", self.path.display());
        match write_durably(&self.path, wanted) {
            Ok(()) => self.log.clear(&subject),
            Err(error) => self.log.warn(&subject, &error.to_string()),
        }
    }
}

/// The last spec kept at `path`; unknown when there is none.
#[must_use]
pub fn kept(path: &Path) -> Wanted {
    Cache::load(path)
}

/// Follows the RdmaNode `node` for ever. An object that goes leaves what is there alone.
/// While the API server refuses us, the agent is not ready: nobody would learn what it sees.
pub async fn follow(
    client: Client,
    node: String,
    path: PathBuf,
    sender: watch::Sender<Wanted>,
    readiness: Readiness,
) {
    let cache = Cache { path, log: OnChange::default() };
    let log = OnChange::default();
    let api: Api<SlimRdmaNode> = Api::all(client);
    let config = watcher::Config::default().fields(&format!("metadata.name={node}"));
    let mut events = std::pin::pin!(watcher(api, config).default_backoff());
    let subject = format!("watching rdmanode {node}");
    let mut listed = false;
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Init) => listed = false,
            Ok(watcher::Event::InitApply(object)) => {
                listed = true;
                set(&sender, &cache, object);
            }
            Ok(watcher::Event::InitDone) => {
                log.clear(&subject);
                readiness.clear("watch");
                if !listed {
                    tracing::info!("rdmanode {node} is not there yet: the controller makes it");
                    sender.send_replace(Wanted::default());
                }
            }
            Ok(watcher::Event::Apply(object)) => set(&sender, &cache, object),
            Ok(watcher::Event::Delete(_)) => drop(sender.send_replace(Wanted::default())),
            Err(error) => {
                log.warn(&subject, &explain(&error));
                if is_watch_refusal(&error) {
                    readiness.block("watch", format!("{subject}: {}", explain(&error)));
                }
            }
        }
    }
}

fn set(sender: &watch::Sender<Wanted>, cache: &Cache, object: SlimRdmaNode) {
    let wanted = Wanted {
        generation: object.metadata.generation,
        links: object.spec.soft_links,
        exists: true,
        conditions: object.status.unwrap_or_default().conditions,
    };
    let same_spec = {
        let current = sender.borrow();
        (current.generation, &current.links) == (wanted.generation, &wanted.links)
    };
    if !same_spec {
        cache.store(&wanted);
    }
    sender.send_if_modified(|current| {
        let changed = *current != wanted;
        *current = wanted;
        changed
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_outlives_the_process_and_a_damaged_one_is_unknown() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("spec.json");
        assert_eq!(kept(&path), Wanted::default());
        let wanted = Wanted { generation: Some(3), links: Some(Vec::new()), ..Wanted::default() };
        Cache { path: path.clone(), log: OnChange::default() }.store(&wanted);
        assert_eq!(kept(&path), wanted);
        std::fs::write(&path, "{").unwrap();
        assert_eq!(kept(&path).links, None);
    }
}
