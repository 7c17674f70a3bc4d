//! Carries the plan out: one step at a time, each recorded first, each failure remembered with its reason and
//! tried again when its reason allows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::failure::{Attempt, Failure, Reason, module, of_add};
use super::owned::{Ledger, Owned};
use super::plan::{Plan, Step, Verdict, plan};
use crate::agent::isolation::isolation;
use crate::agent::wanted::Wanted;
use crate::api::{LinkType, NodeSoftLinkStatus, SoftLinkState};
use crate::inventory::movable::{Series, series};
use crate::inventory::{Inventory, Kernel, Watch};
use crate::nl;
use crate::telemetry::{OnChange, chain};

/// What log lines call the ownership file.
const LEDGER: &str = "the record of soft links";
/// How often a record that could not be read is tried again.
const REOPEN: Duration = Duration::from_secs(10);

/// What has become of the soft links, and of which generation of the RdmaNode that is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// metadata.generation of the spec acted on; `None` before the first.
    pub generation: Option<i64>,
    /// Links wanted.
    pub wanted: usize,
    /// One entry for each wanted link and each being removed.
    pub links: Vec<NodeSoftLinkStatus>,
    /// Why nothing can be put on record, if so.
    pub unrecorded: Option<String>,
}

/// A try that failed.
struct Failed {
    step: Step,
    /// ifindex of the netdev then: a netdev that went and came back deserves a new try.
    netdev: Option<u32>,
    failure: Failure,
    attempts: u32,
    not_before: Instant,
}

/// Keeps this node's soft links.
pub struct Keeper {
    kernel: Arc<Kernel>,
    watch: Watch,
    wanted: watch::Receiver<Wanted>,
    report: watch::Sender<Report>,
    path: PathBuf,
    boot_id: String,
    ledger: Result<Ledger, String>,
    failed: HashMap<String, Failed>,
    log: OnChange,
}

impl Keeper {
    /// A keeper that records what it makes in `ledger`.
    #[must_use]
    pub fn new(
        kernel: Arc<Kernel>,
        watch: Watch,
        wanted: watch::Receiver<Wanted>,
        report: watch::Sender<Report>,
        ledger: PathBuf,
    ) -> Self {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let (path, boot_id) = (ledger, boot_id.trim().to_owned());
        let ledger = Ledger::open(&path, &boot_id).map_err(|error| chain(&error));
        let (failed, log) = (HashMap::new(), OnChange::default());
        Self { kernel, watch, wanted, report, path, boot_id, ledger, failed, log }
    }

    /// Runs until `stop`. Links stay: they are the node's, not this process's.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let inventory = self.watch.inventory.borrow_and_update().clone();
            let wanted = self.wanted.borrow_and_update().clone();
            let mut acted = false;
            if let Some(inventory) = inventory {
                acted = self.round(&wanted, &inventory).await;
            }
            if acted {
                // Plan again only on what the kernel shows after the steps.
                self.watch.refreshed().await;
                continue;
            }
            let reopen = self.ledger.is_err().then(|| Instant::now() + REOPEN);
            let again = self.failed.values().map(|failed| failed.not_before).chain(reopen).min();
            let later = Instant::now() + Duration::from_secs(3600);
            tokio::select! {
                () = stop.cancelled() => return,
                changed = self.watch.inventory.changed() => if changed.is_err() { return },
                changed = self.wanted.changed() => if changed.is_err() { return },
                () = sleep_until(again.unwrap_or(later)) => {}
            }
        }
    }

    /// One plan and its steps; true when a step was taken.
    async fn round(&mut self, wanted: &Wanted, inventory: &Inventory) -> bool {
        let links = wanted.links.as_deref();
        if self.ledger.is_err() {
            // Somebody may have mended or removed it.
            self.ledger = Ledger::open(&self.path, &self.boot_id).map_err(|error| chain(&error));
        }
        match &self.ledger {
            Ok(_) => self.log.clear(LEDGER),
            Err(message) => self.log.warn(LEDGER, &format!("soft links are left alone: {message}")),
        }
        let plan = match &self.ledger {
            Ok(ledger) => plan(links, ledger.records(), inventory),
            Err(message) => unplannable(links, message),
        };
        let planned: Vec<&str> = plan.steps.iter().map(Step::uid).collect();
        self.failed.retain(|uid, _| planned.contains(&uid.as_str()));
        let mut acted = false;
        for step in &plan.steps {
            if self.waits(step, inventory) {
                continue;
            }
            match self.take(step, inventory).await {
                Ok(()) => {
                    acted = true;
                    self.failed.remove(step.uid());
                }
                Err(failure) => {
                    // The kernel knows of a device that this inventory does not: the next one names it.
                    acted |= matches!(failure.reason, Reason::NetdevInUse | Reason::NameConflict);
                    self.remember(step, inventory, failure);
                }
            }
        }
        self.publish(wanted, plan, inventory);
        acted
    }

    /// True while a failed try of this very step must not be repeated.
    fn waits(&self, step: &Step, inventory: &Inventory) -> bool {
        self.failed.get(step.uid()).is_some_and(|failed| {
            failed.step == *step
                && failed.netdev == netdev_of(step, inventory)
                && failed.not_before > Instant::now()
        })
    }

    fn remember(&mut self, step: &Step, inventory: &Inventory, failure: Failure) {
        let attempts =
            self.failed.get(step.uid()).filter(|failed| failed.step == *step).map_or(0, |f| f.attempts + 1);
        let not_before = Instant::now() + failure.reason.retry_after(attempts);
        let failed =
            Failed { step: step.clone(), netdev: netdev_of(step, inventory), failure, attempts, not_before };
        self.failed.insert(step.uid().to_owned(), failed);
    }

    async fn take(&mut self, step: &Step, inventory: &Inventory) -> Result<(), Failure> {
        match step {
            Step::Add { uid, record } => self.add(uid, record, inventory).await,
            Step::Rename { index, device, to, .. } => self.rename(*index, device, to).await,
            Step::Delete { index, device, even_in_use, .. } => {
                self.delete(*index, device, *even_in_use, inventory).await
            }
            Step::Record { uid, record } => {
                self.write(|records| drop(records.insert(uid.clone(), record.clone())))
            }
            Step::Forget { uid } => self.write(|records| drop(records.remove(uid))),
        }
    }

    fn write(&mut self, change: impl FnOnce(&mut super::owned::Records)) -> Result<(), Failure> {
        let result = match &mut self.ledger {
            Ok(ledger) => ledger.update(change).map_err(|error| chain(&error)),
            Err(message) => Err(message.clone()),
        };
        result.map_err(|message| Failure { reason: Reason::StateNotWritable, message, errno: None })
    }

    async fn add(&mut self, uid: &str, record: &Owned, inventory: &Inventory) -> Result<(), Failure> {
        self.write(|records| drop(records.insert(uid.to_owned(), record.clone())))?;
        let kind = match record.link_type {
            LinkType::Rxe => nl::LinkKind::Rxe,
            LinkType::Siw => nl::LinkKind::Siw,
        };
        let result = match self.kernel.handle() {
            Ok(handle) => handle.link().add(&record.device, &kind, &record.netdev).await,
            Err(error) => Err(error),
        };
        let error = match result {
            Ok(()) => {
                tracing::info!("made {} ({}) on {}", record.device, record.link_type.as_str(), record.netdev);
                return Ok(());
            }
            Err(error) => error,
        };
        let failure = match error.errno() {
            Some(errno) => of_add(
                errno,
                Attempt {
                    link_type: record.link_type,
                    device: &record.device,
                    netdev: &record.netdev,
                    netdev_kind: inventory.netdev(&record.netdev).and_then(|netdev| netdev.kind.as_deref()),
                    // The modules of the last inventory: a module that has just been loaded made no link either.
                    module_loaded: inventory
                        .system
                        .modules
                        .iter()
                        .any(|name| name == module(record.link_type)),
                    kernel_text: error.ext_ack().and_then(|ack| ack.message.as_deref()),
                },
            ),
            None => Failure { reason: Reason::KernelError, message: chain(&error), errno: None },
        };
        // What the kernel refused was not made. What it has not answered may yet be: that stays on record.
        if error.errno().is_some() {
            self.write(|records| drop(records.remove(uid)))?;
        }
        Err(failure)
    }

    async fn rename(&self, index: u32, device: &str, to: &str) -> Result<(), Failure> {
        let result = match self.kernel.handle() {
            Ok(handle) => handle.device().rename(index, to).await,
            Err(error) => Err(error),
        };
        result.map_err(|error| {
            let reason = match error.errno() {
                Some(nl::errno::EEXIST) => Reason::NameConflict,
                _ => Reason::KernelError,
            };
            let message = format!("cannot rename {device} to {to}: {}", chain(&error));
            Failure { reason, message, errno: error.errno() }
        })?;
        tracing::info!("renamed {device} to {to}");
        Ok(())
    }

    async fn delete(
        &mut self,
        index: u32,
        device: &str,
        even_in_use: bool,
        inventory: &Inventory,
    ) -> Result<(), Failure> {
        let kernel_error = |error: &nl::Error| Failure {
            reason: Reason::KernelError,
            message: format!("cannot remove {device}: {}", chain(error)),
            errno: error.errno(),
        };
        let handle = self.kernel.handle().map_err(|error| kernel_error(&error))?;
        let driver = inventory.device_by_index(index).map_or("", |device| device.driver.name.as_str());
        if !even_in_use || waits_for_users(driver, &inventory.system.kernel) {
            let summary = handle.resource().summary(index).await.map_err(|error| kernel_error(&error))?;
            let contexts = summary.count("ctx").unwrap_or(0);
            if contexts > 0 {
                let message =
                    format!("{device} is in use (open contexts: {contexts}); it goes when they are closed");
                return Err(Failure { reason: Reason::InUse, message, errno: None });
            }
        }
        match handle.link().del(index).await {
            Ok(()) => {
                tracing::info!("removed {device}");
                Ok(())
            }
            Err(nl::Error::StillRunning { after, .. }) => {
                let seconds = after.as_secs();
                let message = format!("the kernel has been waiting for users of {device} for {seconds} s");
                Err(Failure { reason: Reason::InUse, message, errno: None })
            }
            Err(error) => Err(kernel_error(&error)),
        }
    }

    fn unrecorded(&self) -> Option<String> {
        let unwritable = |failed: &&Failed| failed.failure.reason == Reason::StateNotWritable;
        match &self.ledger {
            Err(message) => Some(message.clone()),
            Ok(_) => self.failed.values().find(unwritable).map(|failed| failed.failure.message.clone()),
        }
    }

    fn publish(&mut self, wanted: &Wanted, plan: Plan, inventory: &Inventory) {
        let links: Vec<NodeSoftLinkStatus> = plan
            .verdicts
            .into_iter()
            .map(|verdict| {
                let failed = self.failed.get(&verdict.uid).map(|failed| &failed.failure);
                entry(verdict, failed, inventory)
            })
            .collect();
        for link in &links {
            let subject = format!("soft link {}", link.name);
            match link.state {
                SoftLinkState::Ready => self.log.clear(&subject),
                SoftLinkState::Failed => {
                    self.log.warn(&subject, &format!("{}: {}", link.reason, link.message))
                }
                SoftLinkState::Pending | SoftLinkState::Removing => {}
            }
        }
        // A generation counts as acted on once all that it says is on record: the controller drops links by it.
        let unrecorded = self.unrecorded();
        let generation =
            if unrecorded.is_none() { wanted.generation } else { self.report.borrow().generation };
        let wanted = wanted.links.as_ref().map_or(0, Vec::len);
        let report = Report { generation, wanted, links, unrecorded };
        self.report.send_if_modified(|current| {
            let changed = *current != report;
            *current = report;
            changed
        });
    }
}

/// A verdict as RdmaNode.status shows it; a failed step overrules what the plan hoped for.
fn entry(verdict: Verdict, failed: Option<&Failure>, inventory: &Inventory) -> NodeSoftLinkStatus {
    let device = verdict.index.and_then(|index| inventory.device_by_index(index));
    let isolation = device.map(|device| isolation(&inventory.system, device));
    let mut entry = NodeSoftLinkStatus {
        uid: verdict.uid,
        name: verdict.name,
        observed_generation: verdict.generation,
        state: verdict.state,
        reason: verdict.reason.to_owned(),
        message: verdict.message,
        errno: verdict.errno,
        device: device.map(|device| device.name.clone()),
        netdev: verdict.netdev,
        isolated: isolation.as_ref().map(|isolation| isolation.isolated),
        isolation_reason: isolation.map(|isolation| isolation.reason.to_owned()),
    };
    if let Some(failure) = failed {
        failure.reason.as_str().clone_into(&mut entry.reason);
        entry.message.clone_from(&failure.message);
        entry.errno = failure.errno;
        let waits = failure.reason == Reason::InUse;
        if matches!(entry.state, SoftLinkState::Pending | SoftLinkState::Ready) && !waits {
            entry.state = SoftLinkState::Failed;
        }
    }
    entry
}

/// Without a ledger nothing can be told apart: every wanted link says why it is left alone.
fn unplannable(wanted: Option<&[crate::api::NodeSoftLink]>, message: &str) -> Plan {
    let verdict = |link: &crate::api::NodeSoftLink| Verdict {
        uid: link.uid.clone(),
        name: link.name.clone(),
        generation: link.generation,
        state: SoftLinkState::Failed,
        reason: Reason::StateNotWritable.as_str(),
        message: message.to_owned(),
        errno: None,
        index: None,
        netdev: None,
    };
    Plan { steps: Vec::new(), verdicts: wanted.unwrap_or_default().iter().map(verdict).collect() }
}

/// True where DELLINK blocks until every user has closed the device: siw always, rxe before 7.3, which learnt to
/// take it away from them.
fn waits_for_users(driver: &str, release: &str) -> bool {
    !(driver == "rxe" && series(release).is_some_and(|series| series >= Series(7, 3)))
}

fn netdev_of(step: &Step, inventory: &Inventory) -> Option<u32> {
    match step {
        Step::Add { record, .. } => inventory.netdev(&record.netdev).map(|netdev| netdev.index),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rxe_since_7_3_lets_go_of_its_users() {
        assert!(!waits_for_users("rxe", "7.3.4+deb13-amd64"));
        assert!(waits_for_users("rxe", "6.12.117+deb13-amd64"));
        assert!(waits_for_users("rxe", "7.2.6"));
        assert!(waits_for_users("siw", "7.3.4"));
        assert!(waits_for_users("rxe", "garbage"));
    }
}
