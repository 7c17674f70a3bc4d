//! A kernel that answers by script.

use std::{io, sync::Arc, time::Duration};

use netlink_packet_core::{
    DoneMessage, ErrorMessage, NLM_F_MULTIPART, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};

use super::fixtures;
use crate::nl::{
    BlockingSocket, ChannelPeer, ChannelSocket, Connection, Events, Handle, OpenBlocking, from_socket,
    packet::{NldevAttribute, NldevCommand, NldevMessage, RdmaMessage},
};

pub(super) type Message = NetlinkMessage<RdmaMessage>;

/// The kernel's end of a connection.
pub(super) struct Kernel {
    pub(super) peer: ChannelPeer,
}

/// A request as the kernel sees it.
pub(super) struct Request {
    pub(super) header: NetlinkHeader,
    pub(super) message: NldevMessage,
}

/// Blocking sockets are of no use here.
pub(super) fn no_blocking() -> OpenBlocking {
    Arc::new(|| Err(io::Error::from(io::ErrorKind::Unsupported)))
}

pub(super) fn unstarted(blocking: OpenBlocking) -> (Connection<ChannelSocket>, Handle, Events, Kernel) {
    let (socket, peer) = ChannelSocket::pair().unwrap();
    let (connection, handle, events) = from_socket(socket, blocking);
    (connection, handle.with_timeout(Duration::from_secs(5)), events, Kernel { peer })
}

/// A running connection to a scripted kernel.
pub(super) fn connect() -> (Handle, Events, Kernel) {
    let (connection, handle, events, kernel) = unstarted(no_blocking());
    tokio::spawn(connection);
    (handle, events, kernel)
}

impl Kernel {
    pub(super) async fn request(&mut self) -> Request {
        let datagram = self.peer.recv().await.expect("the connection is there");
        let message = fixtures::messages(&datagram).remove(0);
        match message.payload {
            NetlinkPayload::InnerMessage(RdmaMessage::Nldev(inner)) => {
                Request { header: message.header, message: inner }
            }
            other => panic!("not a request: {other:?}"),
        }
    }

    pub(super) fn send(&self, messages: &[Message]) {
        self.peer.send(Ok(datagram(messages)));
    }

    /// Answers the next request with data and what ends them.
    pub(super) async fn answer(&mut self, data: impl Into<Vec<NldevMessage>>) -> Request {
        let request = self.request().await;
        let dump = request.header.flags & 0x300 != 0;
        for message in data.into() {
            self.send(&[reply(&request, message)]);
        }
        self.send(&[if dump { done(&request, 0) } else { error(&request, 0, &[]) }]);
        request
    }
}

pub(super) fn datagram(messages: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for message in messages {
        let mut message = message.clone();
        message.finalize();
        let mut one = vec![0; message.buffer_len()];
        message.serialize(&mut one);
        bytes.extend(one);
    }
    bytes
}

fn message(request: &Request, flags: u16, payload: NetlinkPayload<RdmaMessage>) -> Message {
    let mut header = NetlinkHeader::default();
    header.sequence_number = request.header.sequence_number;
    header.flags = flags;
    NetlinkMessage::new(header, payload)
}

pub(super) fn reply(request: &Request, data: NldevMessage) -> Message {
    let flags = if request.header.flags & 0x300 != 0 { NLM_F_MULTIPART } else { 0 };
    message(request, flags, RdmaMessage::from(data).into())
}

pub(super) fn done(request: &Request, code: i32) -> Message {
    let mut done = DoneMessage::default();
    done.code = code;
    message(request, NLM_F_MULTIPART, NetlinkPayload::Done(done))
}

/// NLMSG_ERROR, capped, with these bytes as extended acknowledgement.
pub(super) fn error(request: &Request, code: i32, ext_ack: &[u8]) -> Message {
    let mut error = ErrorMessage::default();
    error.code = std::num::NonZeroI32::new(code);
    error.header = [&[0; 16], ext_ack].concat();
    let flags = if ext_ack.is_empty() { 0x100 } else { 0x300 };
    message(request, flags, NetlinkPayload::Error(error))
}

/// A notification: sequence number and port are 0.
pub(super) fn notification(attributes: Vec<NldevAttribute>) -> Message {
    RdmaMessage::from(NldevMessage::new(NldevCommand::Monitor, attributes)).into()
}

pub(super) fn device(index: u32, name: &str, ports: u32) -> NldevMessage {
    let attributes = vec![
        NldevAttribute::DevIndex(index),
        NldevAttribute::DevName(name.into()),
        NldevAttribute::PortIndex(ports),
    ];
    NldevMessage::new(NldevCommand::Get, attributes)
}

/// A port as the kernel answers for one: under the command GET.
pub(super) fn port(device: u32, name: &str, port: u32, state: u8) -> NldevMessage {
    let attributes = vec![
        NldevAttribute::DevIndex(device),
        NldevAttribute::DevName(name.into()),
        NldevAttribute::PortIndex(port),
        NldevAttribute::PortState(state),
    ];
    NldevMessage::new(NldevCommand::Get, attributes)
}

/// A blocking socket made of a function.
pub(super) struct Scripted<F>(pub(super) F);

impl<F> BlockingSocket for Scripted<F>
where
    F: FnMut(&[u8]) -> io::Result<Vec<Vec<u8>>> + Send,
{
    fn exchange(&mut self, datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        (self.0)(datagram)
    }
}
