//! A kernel that behaves as a machine document says, in this process: it answers NETLINK_RDMA bytes, shows a sysfs
//! and tells of changes, as the kernel of the stated release does.

mod answer;
mod change;
mod count;
mod effects;
#[cfg(test)]
mod kernel_tests;
mod objects;
mod peer;
mod policy;
#[cfg(test)]
mod recorded_tests;
mod release;
mod soft;
mod state;
#[cfg(test)]
mod tests;
mod tree;
mod words;
mod world;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use tokio::sync::{Notify, mpsc};

use self::effects::Effects;
use self::peer::Exchange;
use self::state::State;
use super::document::{Machine, NetdevKind};
use super::words::address;
use crate::inventory::{Change, Host, Netdev};
use crate::nl::{self, BlockingSocket, ChannelPeer, ChannelSender, ChannelSocket, OpenBlocking, errno};
use crate::sysfs::Sysfs;

/// Changes a listener may lag behind.
const BACKLOG: usize = 4096;

/// A simulated kernel. Clones are the same one.
#[derive(Clone)]
pub struct Simulator {
    shared: Arc<Shared>,
    admin: bool,
    refuse: bool,
}

struct Shared {
    state: Mutex<State>,
    /// Counts what has happened: whoever waits for users of a device looks again.
    changes: Mutex<u64>,
    freed: Condvar,
    freed_async: Notify,
    monitors: Mutex<Vec<ChannelSender>>,
    listeners: Mutex<Vec<Listener>>,
    reads: Reads,
}

struct Listener {
    sender: mpsc::Sender<Change>,
    lost: bool,
}

/// What has been read, since the start.
#[derive(Debug, Default)]
pub struct Reads {
    /// sysfs files.
    pub files: AtomicU64,
    /// sysfs folders.
    pub folders: AtomicU64,
    /// NETLINK_RDMA requests.
    pub requests: AtomicU64,
}

impl fmt::Debug for Simulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Simulator").field("admin", &self.admin).finish_non_exhaustive()
    }
}

impl Simulator {
    /// The kernel of this machine.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        let shared = Shared {
            state: Mutex::new(State::new(machine)),
            changes: Mutex::default(),
            freed: Condvar::new(),
            freed_async: Notify::new(),
            monitors: Mutex::default(),
            listeners: Mutex::default(),
            reads: Reads::default(),
        };
        Self { shared: Arc::new(shared), admin: true, refuse: false }
    }

    /// The same kernel, as a process without CAP_NET_ADMIN sees it.
    #[must_use]
    pub fn unprivileged(&self) -> Self {
        Self { admin: false, ..self.clone() }
    }

    /// The same kernel where opening a NETLINK_RDMA socket is refused (EACCES), as SELinux does.
    #[must_use]
    pub fn without_netlink(&self) -> Self {
        Self { refuse: true, ..self.clone() }
    }

    /// The machine as it is now.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.shared.state().machine.clone()
    }

    /// What has been read.
    #[must_use]
    pub fn reads(&self) -> &Reads {
        &self.shared.reads
    }

    /// Serves one datagram as a socket would that had just been opened: the datagrams it answers with, or nothing
    /// while the kernel works on it.
    #[must_use]
    pub fn exchange(&self, datagram: &[u8]) -> Option<Vec<Vec<u8>>> {
        self.shared.serve(&mut Exchange::new(datagram, self.admin))
    }

    /// The kernel had no room for notifications: every monitor's next read is ENOBUFS.
    pub fn overrun(&self) {
        lock(&self.shared.monitors)
            .retain(|monitor| monitor.send(Err(io::Error::from_raw_os_error(errno::ENOBUFS))));
    }

    /// Opens a socket; `monitor`: it is told of notifications.
    fn open(&self, monitor: bool) -> nl::Result<(nl::Handle, nl::Events)> {
        if !self.shared.state().has_rdma() {
            return Err(nl::Error::Open(io::Error::from_raw_os_error(errno::EPROTONOSUPPORT)));
        }
        if self.refuse {
            return Err(nl::Error::Open(io::Error::from_raw_os_error(errno::EACCES)));
        }
        let (socket, peer) = ChannelSocket::pair().map_err(nl::Error::Open)?;
        if monitor {
            lock(&self.shared.monitors).push(peer.sender());
        }
        tokio::spawn(serve(self.shared.clone(), self.admin, peer));
        let (connection, handle, events) = nl::from_socket(socket, self.blocking());
        tokio::spawn(connection);
        Ok((handle, events))
    }

    fn blocking(&self) -> OpenBlocking {
        let (shared, admin) = (self.shared.clone(), self.admin);
        Arc::new(move || Ok(Box::new(Blocking { shared: shared.clone(), admin }) as Box<dyn BlockingSocket>))
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Goes on with a datagram; `None` while the kernel works on it.
    fn serve(&self, exchange: &mut Exchange) -> Option<Vec<Vec<u8>>> {
        self.change(|state, effects| exchange.go_on(state, effects))
    }

    /// Changes the state and tells the world; whoever waits for users of a device looks again.
    fn change<T>(&self, change: impl FnOnce(&mut State, &mut Effects) -> T) -> T {
        let mut effects = Effects::default();
        let mut state = self.state();
        let result = change(&mut state, &mut effects);
        state.settle(&mut effects);
        drop(state);
        let gone = !effects.changes.is_empty();
        self.tell(effects);
        if gone {
            let mut changes = lock(&self.changes);
            *changes = changes.wrapping_add(1);
            drop(changes);
            self.freed.notify_all();
            self.freed_async.notify_waiters();
        }
        result
    }

    /// Tells the world what happened.
    fn tell(&self, effects: Effects) {
        for event in &effects.events {
            let datagram = peer::notification(event);
            lock(&self.monitors).retain(|monitor| monitor.send(Ok(datagram.clone())));
        }
        let mut listeners = lock(&self.listeners);
        for change in effects.changes {
            for listener in listeners.iter_mut() {
                let told = if listener.lost { Change::Lost } else { change };
                listener.lost = listener.sender.try_send(told).is_err();
            }
        }
        listeners.retain(|listener| !listener.sender.is_closed());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The kernel's end of one socket.
async fn serve(shared: Arc<Shared>, admin: bool, mut peer: ChannelPeer) {
    while let Some(datagram) = peer.recv().await {
        shared.reads.requests.fetch_add(1, Ordering::Relaxed);
        let mut exchange = Exchange::new(&datagram, admin);
        loop {
            let freed = shared.freed_async.notified();
            if let Some(datagrams) = shared.serve(&mut exchange) {
                for datagram in datagrams {
                    peer.send(Ok(datagram));
                }
                break;
            }
            freed.await;
        }
    }
}

struct Blocking {
    shared: Arc<Shared>,
    admin: bool,
}

impl BlockingSocket for Blocking {
    fn exchange(&mut self, datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.shared.reads.requests.fetch_add(1, Ordering::Relaxed);
        let mut exchange = Exchange::new(datagram, self.admin);
        loop {
            let seen = *lock(&self.shared.changes);
            if let Some(answer) = self.shared.serve(&mut exchange) {
                return Ok(answer);
            }
            let waiting = self.shared.freed.wait_while(lock(&self.shared.changes), |now| *now == seen);
            drop(waiting.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl Host for Simulator {
    fn release(&self) -> String {
        self.shared.state().machine.kernel.release.clone()
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::of(Arc::new(tree::Rendered(self.shared.clone())))
    }

    fn has_node(&self, name: &str) -> bool {
        let state = self.shared.state();
        let of_device = |name: &str| {
            state.machine.devices.iter().any(|device| {
                device.uverbs.as_ref().is_some_and(|node| node.name == name)
                    || device
                        .ports
                        .iter()
                        .any(|p| [&p.umad, &p.issm].into_iter().flatten().any(|n| n == name))
            })
        };
        state.machine.char_devices.iter().any(|node| node == name) || of_device(name)
    }

    fn other_netns(&self) -> u32 {
        self.shared.state().machine.kernel.other_netns
    }

    fn connect(&self) -> nl::Result<nl::Handle> {
        self.open(false).map(|(handle, _)| handle)
    }

    fn monitor(&self) -> nl::Result<nl::Events> {
        self.open(true).map(|(_, events)| events)
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        let mut netdevs: Vec<Netdev> = self.shared.state().machine.netdevs.iter().map(netdev).collect();
        netdevs.sort_by_key(|netdev| netdev.index);
        Box::pin(std::future::ready(Ok(netdevs)))
    }

    fn changes(&self) -> mpsc::Receiver<Change> {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        lock(&self.shared.listeners).push(Listener { sender, lost: false });
        receiver
    }
}

/// As rtnetlink tells of it.
fn netdev(netdev: &super::document::Netdev) -> Netdev {
    let kind = match netdev.kind {
        NetdevKind::Ether | NetdevKind::Loopback => None,
        kind => serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(str::to_owned)),
    };
    let mut addresses: Vec<_> = netdev.addresses.iter().filter_map(|text| address(text)).collect();
    addresses.sort();
    Netdev {
        index: netdev.index,
        name: netdev.name.clone(),
        mtu: netdev.mtu,
        up: netdev.up,
        carrier: netdev.carrier,
        kind,
        mac: netdev.mac.clone(),
        pci: netdev.pci.clone(),
        master: netdev.master.clone(),
        lower: netdev.lower.clone(),
        addresses,
        default_route: None,
    }
}
