//! The host this process runs on.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc::UnboundedReceiver;
use futures::future::BoxFuture;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use rtnetlink::MulticastGroup;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use super::host::{Change, Host};
use super::model::Netdev;
use super::netdev::netdevs;
use super::uevent::Uevents;
use crate::nl;
use crate::sysfs::Sysfs;
use crate::telemetry::{OnChange, chain};

/// Changes not yet looked at. The sockets hold more, and say so when they lose some.
const BACKLOG: usize = 256;
/// A source that cannot be opened is tried again this often.
const REOPEN: Duration = Duration::from_secs(30);

/// Where the host is seen.
#[derive(Clone, Debug)]
pub struct Options {
    /// sysfs.
    pub sysfs: PathBuf,
    /// The host's /dev.
    pub dev: PathBuf,
}

impl Default for Options {
    fn default() -> Self {
        Self { sysfs: "/sys".into(), dev: "/dev".into() }
    }
}

/// The host this process runs on: NETLINK_RDMA, rtnetlink, kobject uevents and sysfs.
#[derive(Debug)]
pub struct LiveHost {
    options: Options,
    routes: Mutex<Option<rtnetlink::Handle>>,
}

impl LiveHost {
    /// The host as seen through these folders.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, routes: Mutex::default() }
    }

    fn routes(&self) -> std::io::Result<rtnetlink::Handle> {
        let mut current = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = &*current {
            return Ok(handle.clone());
        }
        let (connection, handle, _) = rtnetlink::new_connection()?;
        tokio::spawn(connection);
        *current = Some(handle.clone());
        Ok(handle)
    }
}

impl Host for LiveHost {
    fn release(&self) -> String {
        std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned()
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::new(&self.options.sysfs)
    }

    fn has_node(&self, name: &str) -> bool {
        self.options.dev.join("infiniband").join(name).exists()
    }

    fn other_netns(&self) -> u32 {
        let own = std::fs::read_link("/proc/self/ns/net").ok();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let spaces = processes.filter_map(|entry| std::fs::read_link(entry.path().join("ns/net")).ok());
        let others: std::collections::BTreeSet<PathBuf> =
            spaces.filter(|space| Some(space) != own.as_ref()).collect();
        u32::try_from(others.len()).unwrap_or(u32::MAX)
    }

    fn connect(&self) -> nl::Result<nl::Handle> {
        let (handle, _events) = nl::connect()?;
        Ok(handle)
    }

    fn monitor(&self) -> nl::Result<nl::Events> {
        let (_handle, events) = nl::connect_monitor()?;
        Ok(events)
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        Box::pin(async {
            let handle = self.routes().map_err(|error| format!("the rtnetlink socket: {error}"))?;
            let mut netdevs = netdevs(&handle).await.map_err(|error| {
                *self.routes.lock().unwrap_or_else(PoisonError::into_inner) = None;
                chain(&error)
            })?;
            // Kernels before 5.14 do not tell the function over rtnetlink.
            let sysfs = self.sysfs();
            for netdev in netdevs.iter_mut().filter(|netdev| netdev.pci.is_none()) {
                if netdev.kind.is_none() || netdev.is_ipoib() {
                    netdev.pci = sysfs.netdev_pci(&netdev.name);
                }
            }
            Ok(netdevs)
        })
    }

    fn changes(&self) -> mpsc::Receiver<Change> {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let mut sources = Sources::default();
        sources.open();
        tokio::spawn(tell(sources, sender));
        receiver
    }
}

/// Tells changes until nobody listens.
async fn tell(mut sources: Sources, sender: mpsc::Sender<Change>) {
    let mut again = interval(REOPEN);
    again.set_missed_tick_behavior(MissedTickBehavior::Delay);
    again.reset();
    loop {
        let change = tokio::select! {
            change = next_route(sources.routes.as_mut()) => change.unwrap_or_else(|| {
                sources.routes = None;
                Some(Change::Lost)
            }),
            event = next_uevent(sources.uevents.as_mut()) => {
                if event.is_err() { sources.uevents = None; }
                Some(Change::Device)
            }
            _ = again.tick() => sources.open().then_some(Change::Lost),
            () = sender.closed() => return,
        };
        if let Some(change) = change
            && sender.send(change).await.is_err()
        {
            return;
        }
    }
}

type RouteEvents = UnboundedReceiver<(NetlinkMessage<RouteNetlinkMessage>, netlink_sys::SocketAddr)>;

/// What reports changes. A source that cannot be opened is said once; until it opens, polling and resync make do.
#[derive(Default)]
struct Sources {
    routes: Option<RouteEvents>,
    uevents: Option<Uevents>,
    log: OnChange,
}

impl Sources {
    /// Opens what is not open; true when something was.
    fn open(&mut self) -> bool {
        let missing = (self.routes.is_none(), self.uevents.is_none());
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
        missing != (self.routes.is_none(), self.uevents.is_none())
    }
}

async fn next_uevent(uevents: Option<&mut Uevents>) -> std::io::Result<()> {
    match uevents {
        Some(uevents) => uevents.rdma().await,
        None => std::future::pending().await,
    }
}

/// The next event, if it is about anything of ours; nothing when the socket has ended.
async fn next_route(events: Option<&mut RouteEvents>) -> Option<Option<Change>> {
    let Some(events) = events else { return std::future::pending().await };
    let (message, _) = events.next().await?;
    Some(match message.payload {
        NetlinkPayload::Overrun(_) => Some(Change::Lost),
        NetlinkPayload::InnerMessage(message) => change(&message),
        _ => None,
    })
}

fn change(message: &RouteNetlinkMessage) -> Option<Change> {
    match message {
        RouteNetlinkMessage::NewLink(link) => Some(Change::Link(link.header.index)),
        RouteNetlinkMessage::DelLink(link) => Some(Change::LinkGone(link.header.index)),
        RouteNetlinkMessage::NewAddress(address) | RouteNetlinkMessage::DelAddress(address) => {
            Some(Change::Address(address.header.index))
        }
        RouteNetlinkMessage::NewRoute(_) | RouteNetlinkMessage::DelRoute(_) => Some(Change::Route),
        _ => None,
    }
}
