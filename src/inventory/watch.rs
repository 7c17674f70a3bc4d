//! An inventory kept up to date: events say what is dirty, a debounce gathers them, polling finds what has no
//! event (port states), and a slow resync whatever was missed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::MulticastGroup;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::collect::{Collector, Dirty};
use super::kernel::Kernel;
use super::model::Inventory;
use super::uevent::Uevents;
use crate::nl;
use crate::sysfs::Sysfs;
use crate::telemetry::{OnChange, chain};

/// Events that come together are read together.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Port states are polled this often…
const POLL: Duration = Duration::from_secs(1);
/// … but at most so many ports each time: a query can be a firmware command.
const PORTS_A_POLL: usize = 50;
/// Everything is read again this often; of the GID tables, one device's each time.
const RESYNC: Duration = Duration::from_secs(30);

/// Where the host is seen.
#[derive(Clone, Debug)]
pub struct Options {
    /// sysfs.
    pub sysfs: PathBuf,
    /// The host's /dev.
    pub dev: PathBuf,
}

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

/// Follows the host in a task of its own until every receiver is gone.
#[must_use]
pub fn watch(kernel: Arc<Kernel>, options: Options) -> Watch {
    let (sender, inventory) = watch::channel(None);
    let (refresh, requests) = mpsc::channel(8);
    let collector = Collector::new(kernel, Sysfs::new(options.sysfs), options.dev);
    tokio::spawn(follow(collector, sender, requests));
    Watch { inventory, refresh }
}

async fn follow(
    mut collector: Collector,
    sender: watch::Sender<Option<Arc<Inventory>>>,
    mut requests: mpsc::Receiver<oneshot::Sender<()>>,
) {
    // Listen first, read then: what changes in between is heard.
    let mut sources = Sources::default();
    let mut rounds = Rounds::default();
    let mut last = Arc::new(Inventory::default());
    let mut dirty = Dirty::all();
    let mut waiting: Vec<oneshot::Sender<()>> = Vec::new();
    let mut poll = interval(POLL);
    let mut resync = interval(RESYNC);
    poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
    resync.set_missed_tick_behavior(MissedTickBehavior::Delay);
    resync.reset();
    sources.open(last.system.monitor);
    while !sender.is_closed() {
        let inventory = collector.collect(&last, &dirty).await;
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
                    deadline.get_or_insert(Instant::now() + DEBOUNCE);
                }
                Some(request) = requests.recv() => {
                    waiting.push(request);
                    dirty.merge(Dirty { everything: true, netdevs: true, ..Dirty::default() });
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
        Dirty { everything: true, netdevs: true, gids_of: device.into_iter().collect(), ..Dirty::default() }
    }
}

type RouteEvents = UnboundedReceiver<(NetlinkMessage<RouteNetlinkMessage>, netlink_sys::SocketAddr)>;

/// What reports changes. A source that cannot be opened is said once and tried again at each resync; until then
/// polling and resync make do.
#[derive(Default)]
struct Sources {
    rdma: Option<nl::Events>,
    routes: Option<RouteEvents>,
    uevents: Option<Uevents>,
    log: OnChange,
}

impl Sources {
    /// Opens what is not open. Kernels that say they have no monitor are not asked for one.
    fn open(&mut self, monitor: Option<bool>) {
        if self.routes.is_none() {
            let groups = [
                MulticastGroup::Link,
                MulticastGroup::Ipv4Ifaddr,
                MulticastGroup::Ipv6Ifaddr,
                MulticastGroup::Ipv4Route,
                MulticastGroup::Ipv6Route,
            ];
            match rtnetlink::new_multicast_connection(&groups) {
                Ok((connection, _, events)) => {
                    tokio::spawn(connection);
                    self.routes = Some(events);
                }
                Err(error) => self.log.warn("netdev events", &format!("{error}; polling instead")),
            }
        }
        if self.uevents.is_none() {
            match Uevents::open() {
                Ok(uevents) => self.uevents = Some(uevents),
                Err(error) => self.log.warn("kobject events", &format!("{error}; polling instead")),
            }
        }
        if self.rdma.is_none() && monitor != Some(false) {
            match nl::new_monitor_connection() {
                Ok((connection, _, events)) => match connection.spawn_on_thread() {
                    Ok(()) => self.rdma = Some(events),
                    Err(error) => self.log.warn("RDMA events", &format!("{error}; polling instead")),
                },
                Err(error) if error.is_no_rdma() => {}
                Err(error) => self.log.warn("RDMA events", &format!("{}; polling instead", chain(&error))),
            }
        }
    }

    /// What the next event makes dirty.
    async fn next(&mut self) -> Dirty {
        let everything = Dirty { everything: true, netdevs: true, ..Dirty::default() };
        tokio::select! {
            event = next_of(self.rdma.as_mut()) => match event {
                Some(nl::Event::Resync | nl::Event::Unknown { .. }) => Dirty::all(),
                Some(nl::Event::NetdevAttach { index, .. }) => Dirty { gids_of: [index].into(), ..everything },
                Some(_) => everything,
                None => { self.rdma = None; everything }
            },
            event = next_route(self.routes.as_mut()) => match event {
                Some(dirty) => dirty,
                None => { self.routes = None; Dirty::all() }
            },
            event = next_uevent(self.uevents.as_mut()) => {
                if event.is_err() { self.uevents = None; }
                // The subsystem may have come with this very event.
                if self.rdma.is_none() { self.open(None); }
                everything
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

async fn next_uevent(uevents: Option<&mut Uevents>) -> std::io::Result<()> {
    match uevents {
        Some(uevents) => uevents.rdma().await,
        None => std::future::pending().await,
    }
}

async fn next_route(events: Option<&mut RouteEvents>) -> Option<Dirty> {
    let Some(events) = events else { return std::future::pending().await };
    let (message, _) = events.next().await?;
    let netdevs = Dirty { netdevs: true, ..Dirty::default() };
    Some(match message.payload {
        NetlinkPayload::Overrun(_) => Dirty::all(),
        // Ports follow their netdev at once, and a netdev that goes takes its soft device along.
        NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(_) | RouteNetlinkMessage::DelLink(_)) => {
            Dirty { everything: true, ..netdevs }
        }
        // The GID cache is filled by a work queue a moment after the address has changed.
        NetlinkPayload::InnerMessage(
            RouteNetlinkMessage::NewAddress(_) | RouteNetlinkMessage::DelAddress(_),
        ) => Dirty { gids: true, ..netdevs },
        _ => netdevs,
    })
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
