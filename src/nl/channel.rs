//! A socket whose other end is a program: for simulated kernels and for tests.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures::{StreamExt, channel::mpsc};
use netlink_proto::sys::{AsyncSocket, SocketAddr, protocols::NETLINK_USERSOCK};
use netlink_sys::Socket;
use tokio_util::bytes::BufMut;

/// One end: what a [`Connection`](super::Connection) uses in place of a kernel socket.
#[derive(Debug)]
pub struct ChannelSocket {
    sent: mpsc::UnboundedSender<Vec<u8>>,
    incoming: Mutex<mpsc::UnboundedReceiver<io::Result<Vec<u8>>>>,
    // netlink-proto wants to be able to name one. It is never used.
    socket: Socket,
}

/// The other end: receives the requests, sends the replies. Dropping it breaks the connection.
#[derive(Debug)]
pub struct ChannelPeer {
    requests: mpsc::UnboundedReceiver<Vec<u8>>,
    replies: ChannelSender,
}

/// Sends datagrams to a [`ChannelSocket`]. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ChannelSender {
    replies: Arc<mpsc::UnboundedSender<io::Result<Vec<u8>>>>,
}

impl ChannelSocket {
    /// A socket and its other end.
    ///
    /// # Errors
    /// When the host has no netlink at all.
    pub fn pair() -> io::Result<(Self, ChannelPeer)> {
        <Self as AsyncSocket>::new(NETLINK_USERSOCK).map(|mut socket| {
            let (sent, requests) = mpsc::unbounded();
            let (replies, incoming) = mpsc::unbounded();
            socket.sent = sent;
            socket.incoming = Mutex::new(incoming);
            (socket, ChannelPeer { requests, replies: ChannelSender { replies: Arc::new(replies) } })
        })
    }

    fn receive(&self, cx: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let mut incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        incoming.poll_next_unpin(cx).map(|datagram| {
            datagram
                .unwrap_or_else(|| Err(io::Error::new(io::ErrorKind::BrokenPipe, "the other end is gone")))
        })
    }

    fn transmit(&self, datagram: &[u8]) -> Poll<io::Result<usize>> {
        match self.sent.unbounded_send(datagram.to_vec()) {
            Ok(()) => Poll::Ready(Ok(datagram.len())),
            Err(_) => Poll::Ready(Err(io::Error::new(io::ErrorKind::BrokenPipe, "the other end is gone"))),
        }
    }
}

impl ChannelPeer {
    /// The next request, a whole datagram; `None` when the socket is gone.
    pub async fn recv(&mut self) -> Option<Vec<u8>> {
        self.requests.next().await
    }

    /// Sends a datagram to the socket, or the error its next receive call shall give.
    pub fn send(&self, datagram: io::Result<Vec<u8>>) {
        // As with a real socket, who sends to one that is gone is not told.
        self.replies.send(datagram);
    }

    /// A sender that can be given away, for notifications.
    pub fn sender(&self) -> ChannelSender {
        self.replies.clone()
    }
}

impl ChannelSender {
    /// Sends a datagram to the socket, or the error its next receive call shall give; false when the socket is gone,
    /// and so is the datagram.
    pub fn send(&self, datagram: io::Result<Vec<u8>>) -> bool {
        self.replies.unbounded_send(datagram).is_ok()
    }
}

impl AsyncSocket for ChannelSocket {
    fn socket_ref(&self) -> &Socket {
        &self.socket
    }

    fn socket_mut(&mut self) -> &mut Socket {
        &mut self.socket
    }

    /// A socket without another end; [`pair`](ChannelSocket::pair) makes one with it.
    fn new(_protocol: isize) -> io::Result<Self> {
        let socket = Socket::new(NETLINK_USERSOCK)?;
        Ok(Self { sent: mpsc::unbounded().0, incoming: Mutex::new(mpsc::unbounded().1), socket })
    }

    fn poll_send(&self, _cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        self.transmit(buffer)
    }

    fn poll_send_to(
        &self,
        _cx: &mut Context<'_>,
        buffer: &[u8],
        _to: &SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.transmit(buffer)
    }

    fn poll_recv<B: BufMut>(&self, cx: &mut Context<'_>, buffer: &mut B) -> Poll<io::Result<()>> {
        self.poll_recv_from(cx, buffer).map(|result| result.map(|_| ()))
    }

    fn poll_recv_from<B: BufMut>(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut B,
    ) -> Poll<io::Result<SocketAddr>> {
        self.receive(cx).map(|datagram| {
            let datagram = datagram?;
            // Longer than the buffer: cut off, as recvfrom does.
            let len = datagram.len().min(buffer.remaining_mut());
            buffer.put_slice(datagram.get(..len).unwrap_or_default());
            Ok(SocketAddr::new(0, 0))
        })
    }

    fn poll_recv_from_full(&self, cx: &mut Context<'_>) -> Poll<io::Result<(Vec<u8>, SocketAddr)>> {
        self.receive(cx).map(|datagram| Ok((datagram?, SocketAddr::new(0, 0))))
    }
}
