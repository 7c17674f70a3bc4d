//! Requests that may block in the kernel for as long as some process pleases.
//!
//! The kernel carries a NETLINK_RDMA request out inside `sendmsg`, so a non-blocking socket does not help:
//! removing a siw device (or rxe before 7.3) waits until the last process has closed it. Such a request gets a
//! thread and a socket of its own. When the time is up the caller gets [`Error::StillRunning`] and the thread
//! stays; the same request made again waits for it instead of queueing up behind it.

use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_proto::{
    NetlinkMessageCodec,
    sys::{SocketAddr, protocols::NETLINK_RDMA},
};
use tokio::sync::watch;
use tokio_util::bytes::BytesMut;

use super::{
    codec::RdmaCodec,
    errno,
    error::{Error, ExtAck, RequestName, Result},
    ext_ack,
    packet::{NldevMessage, RdmaMessage},
};

/// A socket whose requests may take their time: changes that wait in the kernel, and lists that are read no faster
/// than they are wanted. Used on a thread of its own, for one request.
pub trait BlockingSocket: Send {
    /// Sends one datagram and gives back every datagram it was answered with. Blocks while the kernel works.
    ///
    /// # Errors
    /// When sending or receiving fails.
    fn exchange(&mut self, datagram: &[u8]) -> io::Result<Vec<Vec<u8>>>;

    /// Sends one datagram, which asks for a list, and hands on every datagram it is answered with until `take` says
    /// false, or there are no more. `take` blocks until the next one is wanted.
    ///
    /// By default everything is received first.
    ///
    /// # Errors
    /// When sending or receiving fails.
    fn list(&mut self, datagram: &[u8], take: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        let _ = self.exchange(datagram)?.into_iter().all(take);
        Ok(())
    }
}

/// Opens a [`BlockingSocket`]; called on the thread that will use it.
pub type OpenBlocking = Arc<dyn Fn() -> io::Result<Box<dyn BlockingSocket>> + Send + Sync>;

/// Opens sockets of this host's kernel, in the network namespace of the thread that makes the request.
pub fn kernel() -> OpenBlocking {
    Arc::new(|| {
        let mut socket = netlink_sys::Socket::new(NETLINK_RDMA)?;
        socket.bind_auto()?;
        socket.set_ext_ack(true)?;
        socket.set_cap_ack(true)?;
        Ok(Box::new(KernelSocket(socket)) as Box<dyn BlockingSocket>)
    })
}

struct KernelSocket(netlink_sys::Socket);

impl BlockingSocket for KernelSocket {
    fn exchange(&mut self, datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.0.send_to(datagram, &SocketAddr::new(0, 0), 0)?;
        let mut datagrams = Vec::new();
        self.receive(&mut |datagram| {
            datagrams.push(datagram);
            true
        })?;
        Ok(datagrams)
    }

    fn list(&mut self, datagram: &[u8], take: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        self.0.send_to(datagram, &SocketAddr::new(0, 0), 0)?;
        self.receive(take)
    }
}

impl KernelSocket {
    /// Hands on what the kernel has queued, until `take` says false.
    fn receive(&mut self, take: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        // When sending returns, the work is done and the answer queued, or as much of a list as there is room for;
        // receiving makes room, and has the kernel queue more. So there is nothing to wait for.
        self.0.set_non_blocking(true)?;
        loop {
            let mut buffer = Vec::with_capacity(64 << 10);
            match self.0.recv_from(&mut buffer, 0) {
                // Whoever has CAP_NET_ADMIN may write to this socket. Only the kernel is port 0.
                Ok((_, sender)) if sender.port_number() != 0 => {}
                Ok(_) if take(buffer) => {}
                Ok(_) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A request that still runs in the kernel.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunningRequest {
    /// The request.
    pub request: RequestName,
    /// When it was started.
    pub since: Instant,
}

/// How a blocking request ended. Cloneable, as several callers may have waited for it.
#[derive(Debug, Clone)]
enum Outcome {
    Acknowledged,
    Refused(i32, Option<ExtAck>),
    NoAnswer,
    Io(Option<i32>, io::ErrorKind, String),
}

struct Running {
    about: RunningRequest,
    outcome: watch::Receiver<Option<Outcome>>,
}

/// A request is the same as another if its bytes are.
type Key = Vec<u8>;
type Table = Arc<Mutex<HashMap<Key, Running>>>;

pub(super) struct Blocking {
    open: OpenBlocking,
    running: Table,
}

impl Blocking {
    pub(super) fn new(open: OpenBlocking) -> Self {
        Self { open, running: Table::default() }
    }

    /// What opens a socket for a request.
    pub(super) fn open(&self) -> &OpenBlocking {
        &self.open
    }

    /// What still runs, oldest first.
    pub(super) fn running(&self) -> Vec<RunningRequest> {
        let mut running: Vec<_> = lock(&self.running).values().map(|running| running.about.clone()).collect();
        running.sort_by_key(|running| running.since);
        running
    }

    /// Starts the request, or joins the same one if it runs, and waits. `keep` stays open until the kernel is done.
    pub(super) async fn run(
        &self,
        message: NldevMessage,
        keep: Option<OwnedFd>,
        timeout: Duration,
    ) -> Result<()> {
        let request = RequestName::new(&message, false);
        let (since, mut outcome) = self.start(&request, message, keep)?;
        match tokio::time::timeout(timeout, outcome.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => result(request, outcome.clone()),
            // The thread is gone without a word.
            Ok(Err(_)) => Err(Error::NoReply { request }),
            Err(_) => Err(Error::StillRunning { request, after: since.elapsed() }),
        }
    }

    fn start(
        &self,
        request: &RequestName,
        message: NldevMessage,
        keep: Option<OwnedFd>,
    ) -> Result<(Instant, watch::Receiver<Option<Outcome>>)> {
        let datagram = encode(message, NLM_F_REQUEST | NLM_F_ACK);
        // The lock is held while the thread is made, so that it cannot finish before it is in the table.
        let mut running = lock(&self.running);
        if let Some(same) = running.get(&datagram) {
            return Ok((same.about.since, same.outcome.clone()));
        }
        let (sender, outcome) = watch::channel(None);
        let (open, table, key) = (self.open.clone(), self.running.clone(), datagram.clone());
        std::thread::Builder::new()
            .name("netlink-rdma-wr".into())
            .spawn(move || {
                let entry = Entry { table, key };
                let outcome = exchange(&open, &entry.key);
                drop(keep);
                // Out of the table first: who comes now wants the work done again.
                drop(entry);
                sender.send_replace(Some(outcome));
            })
            .map_err(|source| Error::Send { request: request.clone(), source })?;
        let since = Instant::now();
        let about = RunningRequest { request: request.clone(), since };
        running.insert(datagram, Running { about, outcome: outcome.clone() });
        Ok((since, outcome))
    }
}

/// Takes the request out of the table, also when its thread panics.
struct Entry {
    table: Table,
    key: Key,
}

impl Drop for Entry {
    fn drop(&mut self) {
        lock(&self.table).remove(&self.key);
    }
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<Key, Running>> {
    // Nothing is left half done under this lock.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn encode(message: NldevMessage, flags: u16) -> Vec<u8> {
    let mut message = NetlinkMessage::from(RdmaMessage::from(message));
    message.header.flags = flags;
    message.header.sequence_number = 1;
    message.finalize();
    let mut datagram = vec![0; message.buffer_len()];
    message.serialize(&mut datagram);
    datagram
}

fn exchange(open: &OpenBlocking, datagram: &[u8]) -> Outcome {
    match open().and_then(|mut socket| socket.exchange(datagram)) {
        Ok(datagrams) => datagrams.iter().find_map(|datagram| read(datagram)).unwrap_or(Outcome::NoAnswer),
        Err(error) => Outcome::Io(error.raw_os_error(), error.kind(), error.to_string()),
    }
}

/// The acknowledgement in a datagram; data before it is not wanted.
fn read(datagram: &[u8]) -> Option<Outcome> {
    let mut bytes = BytesMut::from(datagram);
    while let Ok(Some(message)) = RdmaCodec::decode::<RdmaMessage>(&mut bytes) {
        if let NetlinkPayload::Error(error) = message.payload {
            return Some(match error.code {
                None => Outcome::Acknowledged,
                Some(code) => Outcome::Refused(
                    code.get().saturating_abs(),
                    ext_ack::of_error(message.header.flags, &error.header),
                ),
            });
        }
    }
    None
}

fn result(request: RequestName, outcome: Option<Outcome>) -> Result<()> {
    match outcome {
        Some(Outcome::Acknowledged) => Ok(()),
        Some(Outcome::Refused(code, ext_ack)) => {
            Err(Error::Kernel { request, ext_ack, source: io::Error::from_raw_os_error(code) })
        }
        Some(Outcome::Io(Some(errno::ENOBUFS), ..)) => Err(Error::Overrun { request }),
        Some(Outcome::Io(Some(code), ..)) => {
            Err(Error::Send { request, source: io::Error::from_raw_os_error(code) })
        }
        Some(Outcome::Io(None, kind, text)) => {
            Err(Error::Send { request, source: io::Error::new(kind, text) })
        }
        Some(Outcome::NoAnswer) | None => Err(Error::NoReply { request }),
    }
}

#[cfg(test)]
mod tests {
    use netlink_proto::sys::protocols::NETLINK_ROUTE;

    use super::{BlockingSocket as _, KernelSocket};

    const NLMSG_DONE: u16 = 3;

    /// RTM_GETLINK as a list: every kernel has it, for everybody.
    fn request() -> Vec<u8> {
        let (length, kind, flags) = (32_u32.to_ne_bytes(), 18_u16.to_ne_bytes(), 0x301_u16.to_ne_bytes());
        [&length[..], &kind, &flags, &1_u32.to_ne_bytes(), &[0; 20]].concat()
    }

    fn socket() -> KernelSocket {
        let mut socket = netlink_sys::Socket::new(NETLINK_ROUTE).unwrap();
        socket.bind_auto().unwrap();
        KernelSocket(socket)
    }

    fn is_done(datagram: &[u8]) -> bool {
        datagram[4..6] == NLMSG_DONE.to_ne_bytes()
    }

    #[test]
    fn a_kernel_lists_as_fast_as_is_taken() {
        let mut datagrams = Vec::new();
        let mut take = |datagram: Vec<u8>| {
            // The kernel does not wait for us, and does not lose anything meanwhile either.
            std::thread::sleep(std::time::Duration::from_millis(20));
            datagrams.push(datagram);
            true
        };
        socket().list(&request(), &mut take).unwrap();
        let (done, links) = datagrams.split_last().unwrap();
        assert!(is_done(done) && !links.is_empty() && !links.iter().any(|link| is_done(link)));
        let at_once = socket().exchange(&request()).unwrap();
        assert!(at_once.len() > 1 && at_once.last().is_some_and(|datagram| is_done(datagram)));
    }

    #[test]
    fn a_kernel_is_not_asked_for_more_than_is_taken() {
        let mut taken = 0;
        let mut take = |_| {
            taken += 1;
            false
        };
        socket().list(&request(), &mut take).unwrap();
        assert_eq!(taken, 1);
    }
}
