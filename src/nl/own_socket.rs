//! A list read over a socket of its own, no faster than it is wanted.
//!
//! A connection reads whatever the kernel has ready, for it also carries other answers and notifications, which
//! must not wait behind a list. So a slow reader would have it pile up a long list. Here a thread reads one
//! datagram ahead and then waits; the kernel makes the next one when there is room in the socket.

use std::{
    collections::VecDeque,
    io,
    sync::Arc,
    task::{Context, Poll, ready},
    thread,
};

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage};
use netlink_proto::NetlinkMessageCodec;
use tokio::sync::mpsc;
use tokio_util::bytes::BytesMut;

use super::{
    blocking::{OpenBlocking, encode},
    codec::RdmaCodec,
    packet::{NldevMessage, RdmaMessage},
    reply::Message,
};

/// Datagrams that wait for the reader, besides the one that the thread holds.
const AHEAD: usize = 1;

/// The messages of a list.
pub(super) struct OwnSocket {
    datagrams: mpsc::Receiver<io::Result<Vec<u8>>>,
    messages: VecDeque<NetlinkMessage<RdmaMessage>>,
}

impl OwnSocket {
    /// Asks for a list. The thread ends with the list, or at the next datagram after nobody wants more.
    pub(super) fn list(open: &OpenBlocking, message: NldevMessage) -> io::Result<Self> {
        let request = encode(message, NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP);
        let (sender, datagrams) = mpsc::channel(AHEAD);
        let open = Arc::clone(open);
        thread::Builder::new().name("netlink-rdma-ls".into()).spawn(move || {
            let mut take = |datagram: Vec<u8>| {
                let more = !is_last(&datagram);
                sender.blocking_send(Ok(datagram)).is_ok() && more
            };
            if let Err(error) = open().and_then(|mut socket| socket.list(&request, &mut take)) {
                // Nobody wants to know.
                let _ = sender.blocking_send(Err(error));
            }
        })?;
        Ok(Self { datagrams, messages: VecDeque::new() })
    }
}

impl futures::Stream for OwnSocket {
    type Item = io::Result<Message>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Poll::Ready(Some(Ok(message)));
            }
            match ready!(self.datagrams.poll_recv(cx)) {
                Some(Ok(datagram)) => self.messages = decode(&datagram).collect(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

fn decode(datagram: &[u8]) -> impl Iterator<Item = Message> {
    let mut bytes = BytesMut::from(datagram);
    std::iter::from_fn(move || RdmaCodec::decode::<RdmaMessage>(&mut bytes).ok().flatten())
}

/// Whether nothing comes after this: read off the headers, as the messages may be long.
fn is_last(datagram: &[u8]) -> bool {
    const HEADER: usize = 16;
    const NLMSG_ERROR: u16 = 2;
    const NLMSG_DONE: u16 = 3;
    let mut rest = datagram;
    while let Some(&[l0, l1, l2, l3, t0, t1, ..]) = rest.first_chunk::<HEADER>() {
        if matches!(u16::from_ne_bytes([t0, t1]), NLMSG_ERROR | NLMSG_DONE) {
            return true;
        }
        let length = usize::try_from(u32::from_ne_bytes([l0, l1, l2, l3])).unwrap_or(usize::MAX);
        let after = length.max(HEADER).checked_next_multiple_of(4).unwrap_or(usize::MAX);
        rest = rest.get(after..).unwrap_or_default();
    }
    false
}
