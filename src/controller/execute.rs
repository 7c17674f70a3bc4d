//! Carries out actions, each on its own, with a backoff for each subject.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures::StreamExt;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::time::Instant;

use super::plan::Action;
use crate::api::{API_VERSION, CONTROLLER_MANAGER, FINALIZER, SlimRdmaNode, SoftRdmaLink};
use crate::cluster::{apply, apply_status, ignore_gone};
use crate::telemetry::{OnChange, chain};

/// Writes under way at once.
const CONCURRENCY: usize = 8;
/// A write that succeeded is not sent again within this time: the cache that plans may not have seen it yet.
const SETTLE: Duration = Duration::from_secs(2);
/// The longest wait between tries of one failing write.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// What became of the last try on a subject.
struct Attempt {
    action: u64,
    failures: u32,
    not_before: Instant,
}

/// Carries out actions.
pub(super) struct Executor {
    nodes: Api<SlimRdmaNode>,
    links: Api<SoftRdmaLink>,
    attempts: HashMap<String, Attempt>,
    log: OnChange,
}

impl Executor {
    pub(super) fn new(client: Client) -> Self {
        Self {
            nodes: Api::all(client.clone()),
            links: Api::all(client),
            attempts: HashMap::new(),
            log: OnChange::default(),
        }
    }

    /// Tries each action that is not waiting for its backoff. Returns when to plan again, if anything waits.
    pub(super) async fn execute(&mut self, actions: Vec<Action>) -> Option<Duration> {
        let now = Instant::now();
        let due: Vec<Action> = actions.into_iter().filter(|action| self.due(action, now)).collect();
        let results: Vec<(Action, kube::Result<()>)> = futures::stream::iter(due)
            .map(|action| {
                let (nodes, links) = (self.nodes.clone(), self.links.clone());
                async move {
                    let result = write(&nodes, &links, &action).await;
                    (action, result)
                }
            })
            .buffer_unordered(CONCURRENCY)
            .collect()
            .await;
        for (action, result) in results {
            self.record(&action, result);
        }
        let now = Instant::now();
        self.attempts.retain(|_, attempt| attempt.failures > 0 || attempt.not_before > now);
        self.attempts.values().map(|attempt| attempt.not_before.duration_since(now)).min()
    }

    fn due(&self, action: &Action, now: Instant) -> bool {
        match self.attempts.get(&action.subject()) {
            Some(attempt) if attempt.failures == 0 => {
                attempt.action != fingerprint(action) || attempt.not_before <= now
            }
            Some(attempt) => attempt.not_before <= now,
            None => true,
        }
    }

    fn record(&mut self, action: &Action, result: kube::Result<()>) {
        let subject = action.subject();
        let failures = match &result {
            Ok(()) => {
                self.log.clear(&subject);
                tracing::debug!("{subject}: written");
                0
            }
            Err(error) => {
                self.log.warn(&subject, &format!("{}; retrying", chain(error)));
                self.attempts.get(&subject).map_or(0, |attempt| attempt.failures).saturating_add(1)
            }
        };
        let wait = if failures == 0 { SETTLE } else { backoff(failures) };
        let attempt = Attempt { action: fingerprint(action), failures, not_before: Instant::now() + wait };
        self.attempts.insert(subject, attempt);
    }
}

fn backoff(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.saturating_sub(1).min(6)).min(MAX_BACKOFF)
}

fn fingerprint(action: &Action) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{action:?}").hash(&mut hasher);
    hasher.finish()
}

async fn write(nodes: &Api<SlimRdmaNode>, links: &Api<SoftRdmaLink>, action: &Action) -> kube::Result<()> {
    match action {
        Action::WriteNode { node, owner, soft_links } => {
            let body = json!({
                "apiVersion": API_VERSION,
                "kind": "RdmaNode",
                "metadata": {"name": node, "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": node, "uid": owner}
                ]},
                "spec": {"softLinks": soft_links},
            });
            apply(nodes, node, CONTROLLER_MANAGER, &body).await.map(drop)
        }
        Action::WriteAvailability { node, condition } => {
            let body =
                json!({"apiVersion": API_VERSION, "kind": "RdmaNode", "status": {"conditions": [condition]}});
            apply_status(nodes, node, CONTROLLER_MANAGER, &body).await.map(drop)
        }
        Action::WriteLinkStatus { link, status } => {
            let body = json!({"apiVersion": API_VERSION, "kind": "SoftRdmaLink", "status": status});
            ignore_gone(apply_status(links, link, CONTROLLER_MANAGER, &body).await)
        }
        Action::AddFinalizer { link, object } => {
            let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
            finalizers.push(FINALIZER.to_owned());
            patch_finalizers(links, link, object, &finalizers).await
        }
        Action::RemoveFinalizer { link, object } => {
            let mut finalizers = object.metadata.finalizers.clone().unwrap_or_default();
            finalizers.retain(|finalizer| finalizer != FINALIZER);
            ignore_gone(patch_finalizers(links, link, object, &finalizers).await)
        }
    }
}

/// A JSON patch that holds only for the version we saw: somebody else's finalizer is never lost.
async fn patch_finalizers(
    links: &Api<SoftRdmaLink>,
    name: &str,
    seen: &SoftRdmaLink,
    finalizers: &[String],
) -> kube::Result<()> {
    let patch: Result<json_patch::Patch, _> = serde_json::from_value(json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": seen.metadata.resource_version},
        {"op": "add", "path": "/metadata/finalizers", "value": finalizers},
    ]));
    let patch = patch.map_err(kube::Error::SerdeError)?;
    match links.patch(name, &PatchParams::default(), &Patch::Json::<()>(patch)).await {
        // The object has changed since: the next plan sees it as it is.
        Err(kube::Error::Api(status)) if matches!(status.code, 409 | 422) => Ok(()),
        other => other.map(drop),
    }
}
