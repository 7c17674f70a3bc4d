//! Leader election: one Lease, written by PUT with its resourceVersion, so that of two writers one always loses.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::time::{Instant, sleep};

use crate::telemetry::{OnChange, chain};

/// How long a lease holds without renewal.
const DURATION: Duration = Duration::from_secs(15);
/// How often the holder renews, and others look.
const PERIOD: Duration = Duration::from_secs(3);
/// The holder gives up before others may take over.
const GIVE_UP: Duration = Duration::from_secs(10);

/// One candidate for a lease.
pub struct Elector {
    api: Api<Lease>,
    name: String,
    identity: String,
    log: OnChange,
}

/// What to do with a lease as it stands.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// It is ours, or free: write it in our name.
    Take,
    /// Somebody holds it.
    Wait,
}

/// Who holds a lease, as one candidate sees it. A holder counts as gone when its lease has not changed
/// for its duration by *our* clock: clocks of nodes differ.
#[derive(Debug, Default)]
struct Observation {
    version: Option<String>,
    since: Option<Instant>,
}

impl Observation {
    fn step(&mut self, lease: &Lease, identity: &str, now: Instant) -> Step {
        let spec = lease.spec.as_ref();
        let holder = spec.and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default();
        if holder.is_empty() || holder == identity {
            return Step::Take;
        }
        if self.version != lease.metadata.resource_version || self.since.is_none() {
            self.version.clone_from(&lease.metadata.resource_version);
            self.since = Some(now);
            return Step::Wait;
        }
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds).unwrap_or(0).max(1).unsigned_abs();
        let held = Duration::from_secs(u64::from(seconds));
        match self.since {
            Some(since) if now.duration_since(since) > held => Step::Take,
            _ => Step::Wait,
        }
    }
}

impl Elector {
    /// A candidate called `identity` for the lease `name` in `namespace`.
    #[must_use]
    pub fn new(client: Client, namespace: &str, name: &str, identity: &str) -> Self {
        Self {
            api: Api::namespaced(client, namespace),
            name: name.to_owned(),
            identity: identity.to_owned(),
            log: OnChange::default(),
        }
    }

    /// Returns when the lease is ours. Failures are said once each and retried for ever.
    pub async fn acquire(&self) {
        let mut observation = Observation::default();
        loop {
            match self.attempt(&mut observation).await {
                Ok(true) => return,
                Ok(false) => self.log.clear("leader election"),
                Err(error) => self.log.warn("leader election", &format!("{}; retrying", chain(&error))),
            }
            sleep(PERIOD).await;
        }
    }

    /// Renews the lease; returns when it is lost, or could not be renewed for ten seconds.
    pub async fn hold(&self) {
        let mut renewed = Instant::now();
        let mut observation = Observation::default();
        while renewed.elapsed() < GIVE_UP {
            sleep(PERIOD).await;
            let left = GIVE_UP.saturating_sub(renewed.elapsed()).max(Duration::from_millis(100));
            match tokio::time::timeout(left, self.attempt(&mut observation)).await {
                Ok(Ok(true)) => {
                    renewed = Instant::now();
                    self.log.clear("renewing the lease");
                }
                Ok(Ok(false)) => return,
                Ok(Err(error)) => self.log.warn("renewing the lease", &chain(&error)),
                Err(_) => self.log.warn("renewing the lease", "no answer"),
            }
        }
    }

    /// Gives the lease back, so that the next candidate need not wait it out.
    pub async fn release(&self) {
        let Ok(mut lease) = self.api.get(&self.name).await else { return };
        let Some(spec) = lease.spec.as_mut() else { return };
        if spec.holder_identity.as_deref() == Some(self.identity.as_str()) {
            spec.holder_identity = None;
            // Lost races and a server out of reach both mean that the lease runs out by itself.
            let _ = self.api.replace(&self.name, &PostParams::default(), &lease).await;
        }
    }

    /// One try to take or renew: true when the lease is ours now.
    async fn attempt(&self, observation: &mut Observation) -> kube::Result<bool> {
        let Some(mut lease) = self.api.get_opt(&self.name).await? else {
            let mut lease = Lease {
                metadata: ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() },
                spec: None,
            };
            self.write(&mut lease);
            return won(self.api.create(&PostParams::default(), &lease).await);
        };
        if observation.step(&lease, &self.identity, Instant::now()) == Step::Wait {
            return Ok(false);
        }
        self.write(&mut lease);
        won(self.api.replace(&self.name, &PostParams::default(), &lease).await)
    }

    fn write(&self, lease: &mut Lease) {
        let now = MicroTime(Timestamp::now());
        let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
        if spec.holder_identity.as_deref() != Some(self.identity.as_str()) {
            spec.holder_identity = Some(self.identity.clone());
            spec.acquire_time = Some(now.clone());
            spec.lease_transitions = Some(spec.lease_transitions.unwrap_or(0).saturating_add(1));
        }
        spec.lease_duration_seconds = i32::try_from(DURATION.as_secs()).ok();
        spec.renew_time = Some(now);
    }
}

/// A conflict means that another candidate was faster.
fn won(result: kube::Result<Lease>) -> kube::Result<bool> {
    match result {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lease(holder: Option<&str>, version: &str) -> Lease {
        Lease {
            metadata: ObjectMeta { resource_version: Some(version.into()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: holder.map(Into::into),
                lease_duration_seconds: Some(15),
                ..LeaseSpec::default()
            }),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_live_holder_is_left_alone_and_a_silent_one_replaced() {
        let mut seen = Observation::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(seen.step(&lease(Some("other"), "1"), "me", at(0)), Step::Wait);
        assert_eq!(seen.step(&lease(Some("other"), "2"), "me", at(14)), Step::Wait);
        assert_eq!(seen.step(&lease(Some("other"), "2"), "me", at(29)), Step::Wait, "15 s since the change");
        assert_eq!(seen.step(&lease(Some("other"), "2"), "me", at(30)), Step::Take);
    }

    #[test]
    fn a_free_lease_and_our_own_are_taken_at_once() {
        let mut seen = Observation::default();
        assert_eq!(seen.step(&lease(None, "1"), "me", Instant::now()), Step::Take);
        assert_eq!(seen.step(&lease(Some(""), "1"), "me", Instant::now()), Step::Take);
        assert_eq!(seen.step(&lease(Some("me"), "1"), "me", Instant::now()), Step::Take);
    }
}
