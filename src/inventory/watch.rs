//! An inventory kept up to date: events say what is dirty, a debounce gathers them, polling finds what has no
//! event (port states), and a slow resync whatever was missed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::collect::Collector;
use super::dirty::Dirty;
use super::host::Change;
use super::kernel::Kernel;
use super::model::Inventory;
use crate::nl;
use crate::telemetry::{OnChange, chain};

/// Events that come together are read together…
const DEBOUNCE: Duration = Duration::from_millis(100);
/// … and what reading costs is rested from, so that a storm takes no more than a thirtieth of a core…
const REST: u32 = 30;
/// … but never longer than this: somebody may be waiting.
const LONGEST_REST: Duration = Duration::from_secs(2);
/// Port states are polled this often…
const POLL: Duration = Duration::from_secs(1);
/// … but at most so many ports each time: a query can be a firmware command.
const PORTS_A_POLL: usize = 50;
/// Everything is read again this often; of the GID tables, one device's each time.
const RESYNC: Duration = Duration::from_secs(30);

/// An inventory that follows the host.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The last one; `None` until the first enumeration is complete.
    pub inventory: watch::Receiver<Option<Arc<Inventory>>>,
    refresh: mpsc::Sender<oneshot::Sender<()>>,
}

impl Watch {
    /// Returns when the inventory shows the host as it is now or later: for whoever has just changed something.
    pub async fn refreshed(&self) {
        let (done, wait) = oneshot::channel();
        if self.refresh.send(done).await.is_ok() {
            let _ = wait.await;
        }
    }
}

/// Follows the host behind `kernel` in a task of its own until every receiver is gone.
#[must_use]
pub fn watch(kernel: Arc<Kernel>) -> Watch {
    let (sender, inventory) = watch::channel(None);
    let (refresh, requests) = mpsc::channel(8);
    tokio::spawn(follow(kernel, sender, requests));
    Watch { inventory, refresh }
}

async fn follow(
    kernel: Arc<Kernel>,
    sender: watch::Sender<Option<Arc<Inventory>>>,
    mut requests: mpsc::Receiver<oneshot::Sender<()>>,
) {
    // Listen first, read then: what changes in between is heard.
    let mut sources = Sources::new(kernel.clone());
    sources.open(None);
    let mut collector = Collector::new(kernel);
    let mut rounds = Rounds::default();
    let mut last = Arc::new(Inventory::default());
    let mut dirty = Dirty::all();
    let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
    let mut poll = interval(POLL);
    let mut resync = interval(RESYNC);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    resync.set_missed_tick_behavior(MissedTickBehavior::Delay);
    resync.reset();
    while !sender.is_closed() {
        let start = Instant::now();
        let inventory = collector.collect(&last, &dirty).await;
        let rested = Instant::now() + (start.elapsed() * REST).min(LONGEST_REST);
        if sender.borrow().is_none() || inventory != *last {
            last = Arc::new(inventory);
            sender.send_replace(Some(last.clone()));
        }
        for request in waiting.drain(..) {
            let _ = request.send(());
        }
        dirty = Dirty::default();
        let mut deadline = None;
        loop {
            tokio::select! {
                event = sources.next() => {
                    dirty.merge(event);
                    deadline.get_or_insert_with(|| (Instant::now() + DEBOUNCE).max(rested));
                }
                Some(request) = requests.recv() => {
                    waiting.push(request);
                    dirty.merge(Dirty::all_but_gids());
                    break;
                }
                _ = resync.tick() => {
                    sources.open(last.system.monitor);
                    dirty.merge(rounds.resync(&last));
                    break;
                }
                _ = poll.tick(), if deadline.is_none() => {
                    dirty.ports = rounds.ports(&last);
                    if !dirty.is_empty() { break; }
                }
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => break,
            }
        }
    }
}

/// Whose turn it is.
#[derive(Default)]
struct Rounds {
    next_port: usize,
    next_device: usize,
}

impl Rounds {
    /// The ports to poll now: all of them, or the next [`PORTS_A_POLL`].
    fn ports(&mut self, inventory: &Inventory) -> BTreeSet<(u32, u32)> {
        let all: Vec<(u32, u32)> = inventory
            .devices
            .iter()
            .flat_map(|device| device.ports.iter().map(|port| (device.index, port.number)))
            .collect();
        let start = if self.next_port < all.len() { self.next_port } else { 0 };
        self.next_port = start + PORTS_A_POLL;
        all.iter().cycle().skip(start).take(PORTS_A_POLL.min(all.len())).copied().collect()
    }

    fn resync(&mut self, inventory: &Inventory) -> Dirty {
        let count = inventory.devices.len().max(1);
        self.next_device = (self.next_device + 1) % count;
        let device = inventory.devices.get(self.next_device).map(|device| device.index);
        Dirty { gids_of: device.into_iter().collect(), ..Dirty::all_but_gids() }
    }
}

/// What reports changes.
struct Sources {
    kernel: Arc<Kernel>,
    changes: mpsc::Receiver<Change>,
    rdma: Option<nl::Events>,
    log: OnChange,
}

impl Sources {
    fn new(kernel: Arc<Kernel>) -> Self {
        let changes = kernel.host().changes();
        Self { kernel, changes, rdma: None, log: OnChange::default() }
    }

    /// Joins the kernel's notifications if that has not been done. Kernels that say they have no monitor are not
    /// asked for one. A failure is said once; until it works, polling and resync make do.
    fn open(&mut self, monitor: Option<bool>) {
        if self.rdma.is_some() || monitor == Some(false) {
            return;
        }
        match self.kernel.host().monitor() {
            Ok(events) => self.rdma = Some(events),
            Err(error) if error.is_no_rdma() => {}
            Err(error) => self.log.warn("RDMA events", &format!("{}; polling instead", chain(&error))),
        }
    }

    /// What the next event makes dirty.
    async fn next(&mut self) -> Dirty {
        tokio::select! {
            event = next_of(self.rdma.as_mut()) => match event {
                Some(event) => of_event(&event),
                None => { self.rdma = None; Dirty::all() }
            },
            Some(change) = self.changes.recv() => {
                // The subsystem may have come with this very event.
                if change == Change::Device { self.open(None); }
                of_change(change)
            }
        }
    }
}

async fn next_of(events: Option<&mut nl::Events>) -> Option<nl::Event> {
    match events {
        Some(events) => events.recv().await,
        None => std::future::pending().await,
    }
}

fn of_event(event: &nl::Event) -> Dirty {
    let none = Dirty::default();
    match *event {
        nl::Event::Register { .. } | nl::Event::Unregister { .. } => Dirty { list: true, ..none },
        nl::Event::Rename { index, .. } => Dirty { devices: [index].into(), ..none },
        nl::Event::NetdevAttach { index, .. } | nl::Event::NetdevDetach { index, .. } => {
            Dirty { devices: [index].into(), gids_of: [index].into(), netdevs: true, ..none }
        }
        nl::Event::NetdevRename { netdev_index, .. } => of_change(Change::Link(netdev_index)),
        // Something was lost, or is of a kernel that we do not know yet.
        _ => Dirty::all(),
    }
}

fn of_change(change: Change) -> Dirty {
    let none = Dirty::default();
    match change {
        Change::Device => Dirty { list: true, ..none },
        // Ports follow their netdev at once…
        Change::Link(index) => Dirty { netdevs: true, links: [index].into(), ..none },
        // … and a netdev that goes takes its soft device along.
        Change::LinkGone(index) => Dirty { netdevs: true, list: true, links: [index].into(), ..none },
        // The GID cache is filled by a work queue a moment after the address has changed.
        Change::Address(index) => Dirty { netdevs: true, addresses: [index].into(), ..none },
        Change::Route => Dirty { netdevs: true, ..none },
        Change::Lost => Dirty::all(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::testing;

    #[test]
    fn polling_goes_round_within_its_budget() {
        let mut rounds = Rounds::default();
        assert!(rounds.ports(&Inventory::default()).is_empty());
        let devices = (0..120).map(|index| testing::device(index, "d", "mlx5", "eth0")).collect();
        let inventory = Inventory { devices, ..Inventory::default() };
        let polled: Vec<_> = (0..3).map(|_| rounds.ports(&inventory)).collect();
        assert!(polled.iter().all(|ports| ports.len() == PORTS_A_POLL));
        let union: BTreeSet<_> = polled.into_iter().flatten().collect();
        assert_eq!(union.len(), 120);
    }
}
