//! The connection: the one task that owns the socket.

use std::{
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use futures::{Stream, channel::mpsc, task::AtomicWaker};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_proto::sys::{AsyncSocket, SocketAddr, TokioSocket, protocols::NETLINK_RDMA};
use tokio::sync::watch;

use super::{
    blocking::{Blocking, OpenBlocking},
    codec::{RdmaCodec, UNDECODABLE},
    error::{Error, Result},
    event::{Event, Events},
    handle::Handle,
    packet::{NldevCommand, RdmaMessage},
};

/// `RDMA_NL_GROUP_NOTIFY`: the multicast group of device notifications.
pub const RDMA_NL_GROUP_NOTIFY: u32 = 4;

/// What a request may take unless [`Handle::with_timeout`] says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Receive buffer asked for, in bytes; the kernel cuts it down to `net.core.rmem_max`.
const RECEIVE_BUFFER: i32 = 4 << 20;

type Unsolicited = mpsc::UnboundedReceiver<(NetlinkMessage<RdmaMessage>, SocketAddr)>;

/// What the connection and its handles share.
pub(super) struct Shared {
    closed: AtomicBool,
    /// Counts the times the kernel had no room for a message.
    overruns: watch::Sender<u64>,
    /// Requests that are being handed over and not yet seen to by the connection.
    submitted: AtomicUsize,
    connection: AtomicWaker,
    /// Set to end the connection.
    stop: AtomicBool,
    /// Held while a list is read: the kernel runs one at a time on a socket.
    pub(super) dumps: tokio::sync::Mutex<()>,
    pub(super) blocking: Blocking,
}

impl Shared {
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    pub(super) fn overruns(&self) -> watch::Receiver<u64> {
        self.overruns.subscribe()
    }

    /// Puts a request into netlink-proto's queue by `submit`, which wakes the connection.
    pub(super) fn submit<T>(&self, submit: impl FnOnce() -> T) -> T {
        let beside_others = self.submitted.fetch_add(1, Ordering::AcqRel) > 0;
        let submitted = submit();
        // The connection may have seen to that number before the request was in the queue. That matters only where
        // requests share the waking; else a second one would be a system call for nothing.
        if beside_others {
            self.submitted.fetch_add(1, Ordering::AcqRel);
            self.connection.wake();
        }
        submitted
    }

    /// Ends the connection: the socket is in a state that nothing else helps.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        self.connection.wake();
    }
}

/// The future that sends requests and receives replies and notifications. Nothing happens unless it is polled:
/// spawn it, give it a thread by [`spawn_on_thread`](Self::spawn_on_thread), or take
/// [`connect`](super::connect), which does both.
///
/// It ends when the socket breaks, and when nobody can use it any more. Then every waiting request fails with
/// [`Error::ConnectionClosed`], [`Handle::is_closed`] is true and the events end. A new one can be made at any
/// time.
#[must_use = "a connection does nothing unless it is spawned"]
pub struct Connection<S = TokioSocket>
where
    S: AsyncSocket,
{
    inner: netlink_proto::Connection<RdmaMessage, S, RdmaCodec>,
    unsolicited: Unsolicited,
    events: mpsc::UnboundedSender<Event>,
    shared: Arc<Shared>,
}

/// Opens a socket for requests. The events bring nothing but [`Event::Resync`].
///
/// The socket belongs to the network namespace of the calling thread: in exclusive mode the kernel shows and
/// changes the devices of that namespace only.
///
/// # Errors
/// [`Error::Open`]; [`is_no_rdma`](Error::is_no_rdma) tells a host without RDMA from a fault.
pub fn new_connection() -> Result<(Connection, Handle, Events)> {
    Ok(from_socket(open()?, super::blocking::kernel()))
}

/// Opens a socket for requests that also receives the kernel's notifications, from before this call returns.
///
/// Joining works on every kernel, also on those before 6.12 that never send any: see
/// [`SystemInfo::monitor`](super::SystemInfo::monitor).
///
/// # Errors
/// [`Error::Open`]; [`Error::Join`] with EPERM on kernels before 6.12 without CAP_NET_ADMIN.
pub fn new_monitor_connection() -> Result<(Connection, Handle, Events)> {
    let socket = open()?;
    socket.socket_ref().add_membership(RDMA_NL_GROUP_NOTIFY).map_err(Error::Join)?;
    Ok(from_socket(socket, super::blocking::kernel()))
}

fn open() -> Result<TokioSocket> {
    let mut socket = TokioSocket::new(NETLINK_RDMA).map_err(Error::Open)?;
    set_up(&mut socket).map_err(Error::Open)?;
    Ok(socket)
}

fn set_up(socket: &mut TokioSocket) -> io::Result<()> {
    let socket = socket.socket_mut();
    socket.bind_auto()?;
    socket.set_ext_ack(true)?;
    socket.set_cap_ack(true)?;
    socket.set_rx_buf_sz(RECEIVE_BUFFER)
}

/// A connection over a socket made elsewhere: one in another network namespace, or a simulated kernel.
///
/// `blocking` opens what requests use that may block in the kernel for long, and streamed lists (see
/// [`BlockingSocket`](super::BlockingSocket)): in the network namespace of `socket`, or they see other devices. The
/// connection takes `socket` as it is: it must be bound, and joined to the notification group if that is wanted.
pub fn from_socket<S>(socket: S, blocking: OpenBlocking) -> (Connection<S>, Handle, Events)
where
    S: AsyncSocket,
{
    let (mut inner, requests, unsolicited) = netlink_proto::from_socket_with_codec::<_, _, RdmaCodec>(socket);
    // Without these two a failed dump looks like a complete one, and a dead connection like an empty one.
    inner.set_forward_done(true);
    inner.set_forward_ack(true);
    let shared = Arc::new(Shared {
        closed: AtomicBool::new(false),
        overruns: watch::Sender::new(0),
        submitted: AtomicUsize::new(0),
        connection: AtomicWaker::new(),
        stop: AtomicBool::new(false),
        dumps: tokio::sync::Mutex::new(()),
        blocking: Blocking::new(blocking),
    });
    let (events, received) = mpsc::unbounded();
    let handle = Handle::new(shared.clone(), requests, DEFAULT_TIMEOUT);
    (Connection { inner, unsolicited, events, shared }, handle, Events::new(received))
}

impl<S: AsyncSocket> Connection<S> {
    /// The socket.
    pub fn socket_mut(&mut self) -> &mut S {
        self.inner.socket_mut()
    }

    fn forward(&self, message: NetlinkMessage<RdmaMessage>) {
        let event = match message.payload {
            NetlinkPayload::Overrun(_) => {
                self.shared.overruns.send_modify(|count| *count = count.wrapping_add(1));
                Event::Resync
            }
            // A notification has sequence number 0; anything else is a reply nobody waits for any more.
            NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message))
                if message.command == NldevCommand::Monitor =>
            {
                Event::from(message)
            }
            NetlinkPayload::InnerMessage(RdmaMessage::Other(raw))
                if raw.message_type == UNDECODABLE && message.header.sequence_number == 0 =>
            {
                Event::Resync
            }
            _ => {
                tracing::debug!(header = ?message.header, "late or unknown netlink message dropped");
                return;
            }
        };
        // Nobody listens: not an error, handles work without events.
        let _ = self.events.unbounded_send(event);
    }

    /// Whether the connection serves nobody any more.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.shared) == 1 && self.events.is_closed()
    }
}

impl<S> Connection<S>
where
    S: AsyncSocket + Send + 'static,
{
    /// Runs the connection on a thread of its own, under the current tokio runtime.
    ///
    /// The kernel carries a request out while it is being sent, and some ask a device's firmware: on a thread of
    /// its own that delays no other task of the runtime.
    ///
    /// # Errors
    /// When the thread cannot be made.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn spawn_on_thread(self) -> io::Result<()> {
        let runtime = tokio::runtime::Handle::current();
        std::thread::Builder::new().name("netlink-rdma".into()).spawn(move || runtime.block_on(self))?;
        Ok(())
    }
}

impl<S: AsyncSocket> Future for Connection<S> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.shared.connection.register(cx.waker());
        // Replies are handed to their requests in here, so before the overrun that would fail them.
        let mut ended = Pin::new(&mut self.inner).poll(cx).is_ready();
        // netlink-proto sends one request a poll and does not ask to be polled for the next: requests made
        // together would wait for each other's replies. One more try for each that was handed over.
        for _ in 0..self.shared.submitted.swap(0, Ordering::AcqRel) {
            self.inner.poll_requests(cx);
            self.inner.poll_send_messages(cx);
            ended |= self.inner.should_shut_down();
        }
        while let Poll::Ready(Some((message, sender))) = Pin::new(&mut self.unsolicited).poll_next(cx) {
            // Whoever has CAP_NET_ADMIN may write to this socket. Only the kernel is port 0.
            if sender.port_number() == 0 {
                self.forward(message);
            }
        }
        if ended || self.shared.stop.load(Ordering::Acquire) || self.is_unused() {
            self.shared.closed.store(true, Ordering::Release);
            self.events.close_channel();
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl<S: AsyncSocket> Drop for Connection<S> {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
    }
}

impl<S: AsyncSocket> fmt::Debug for Connection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("closed", &self.shared.is_closed()).finish_non_exhaustive()
    }
}
