//! The recorded kernel: answers a request with what was recorded for it.

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_proto::NetlinkMessageCodec;
use rdma_operator::nl::RdmaCodec;
use rdma_operator::nl::packet::{NldevAttribute, NldevMessage, RdmaMessage};
use tokio_util::bytes::BytesMut;

/// Any bit of it makes a request one for a list.
const NLM_F_DUMP: u16 = 0x300;
/// Only the header of the request comes back.
const NLM_F_CAPPED: u16 = 0x100;
const NLMSG_ERROR: u16 = 2;
const EINVAL: i32 = 22;
const HEADER: usize = 16;

/// A request for a change: type, flags and payload, the numbers of descriptors left out.
pub(crate) type Change = (u16, u16, Vec<u8>);

struct Exchange {
    request: Vec<u8>,
    replies: Vec<Vec<u8>>,
    used: bool,
}

/// What was recorded, and what was asked.
pub(crate) struct Script {
    exchanges: Vec<Exchange>,
    notifications: Vec<Vec<u8>>,
    /// The changes that were asked for.
    pub(crate) changes: Vec<Change>,
    /// Requests that were not recorded.
    pub(crate) unexpected: Vec<String>,
}

impl Script {
    /// Reads the lines of a `.hex` file: `> ` sent, `< ` received.
    pub(crate) fn new(lines: &[String]) -> Self {
        let mut script = Self {
            exchanges: Vec::new(),
            notifications: Vec::new(),
            changes: Vec::new(),
            unexpected: Vec::new(),
        };
        for line in lines {
            if let Some(hex) = line.strip_prefix("> ") {
                script.exchanges.push(Exchange { request: unhex(hex), replies: Vec::new(), used: false });
            } else if let Some(hex) = line.strip_prefix("< ") {
                let datagram = unhex(hex);
                match script.exchanges.last_mut() {
                    Some(exchange) if datagram[8..12] != [0; 4] => exchange.replies.push(datagram),
                    _ => script.notifications.push(datagram),
                }
            }
        }
        script
    }

    /// The notifications, once everything that was recorded before them has been asked for.
    pub(crate) fn notifications(&mut self) -> Vec<Vec<u8>> {
        let ready = self.exchanges.iter().all(|exchange| exchange.used || is_device_list(&exchange.request));
        if ready { std::mem::take(&mut self.notifications) } else { Vec::new() }
    }

    /// The requests for a change that were recorded.
    pub(crate) fn recorded_changes(&self) -> Vec<Change> {
        self.exchanges.iter().filter_map(|exchange| change(&exchange.request)).collect()
    }

    /// What the kernel answers.
    pub(crate) fn answer(&mut self, request: &[u8]) -> Vec<Vec<u8>> {
        self.changes.extend(change(request));
        let key = key(request);
        let same = |exchange: &&mut Exchange| self::key(&exchange.request) == key;
        let unused =
            self.exchanges.iter().position(|exchange| !exchange.used && self::key(&exchange.request) == key);
        let exchange = match unused {
            Some(at) => self.exchanges.get_mut(at),
            None => self.exchanges.iter_mut().find(same),
        };
        let sequence = &request[8..12];
        let Some(exchange) = exchange else {
            self.unexpected.push(format!("{key:?}"));
            return vec![acknowledgement(request, EINVAL)];
        };
        exchange.used = true;
        let mut replies: Vec<_> = exchange.replies.iter().map(|reply| addressed(reply, sequence)).collect();
        // After some data the tool does not read on, so that the acknowledgement was not recorded.
        if !key.1 && !exchange.replies.iter().any(|reply| reply[4..6] == NLMSG_ERROR.to_ne_bytes()) {
            replies.push(acknowledgement(request, 0));
        }
        replies
    }
}

fn unhex(text: &str) -> Vec<u8> {
    let text = text.trim();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn decode(datagram: &[u8]) -> (u16, bool, NldevMessage) {
    let message: NetlinkMessage<RdmaMessage> =
        RdmaCodec::decode(&mut BytesMut::from(datagram)).unwrap().unwrap();
    let (header, payload) = message.into_parts();
    let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message)) = payload else { panic!("{payload:?}") };
    (header.flags, header.flags & NLM_F_DUMP != 0, message)
}

/// What makes two requests the same to the kernel: neither order nor what only repeats the default matters.
fn key(request: &[u8]) -> (u16, bool, Vec<String>) {
    let (_, dump, message) = decode(request);
    let mut attributes: Vec<_> = message
        .attributes
        .iter()
        .filter(|attribute| !matches!(attribute, NldevAttribute::DriverDetails(0)))
        .map(|attribute| match attribute {
            NldevAttribute::NetNsFd(_) => "NetNsFd".to_owned(),
            attribute => format!("{attribute:?}"),
        })
        .collect();
    attributes.sort();
    (message.message_type(), dump, attributes)
}

/// The list of all devices, which the tool asks for every time.
fn is_device_list(request: &[u8]) -> bool {
    let (_, dump, message) = decode(request);
    dump && message.message_type() == 0x1401
}

fn change(request: &[u8]) -> Option<Change> {
    let (flags, _, mut message) = decode(request);
    // The raw lists need a capability too, but change nothing.
    if !message.command.needs_admin() || message.command.has_dump() {
        return None;
    }
    for attribute in &mut message.attributes {
        if let NldevAttribute::NetNsFd(number) = attribute {
            *number = 0;
        }
    }
    Some((message.message_type(), flags, message.encode()))
}

/// The datagram under another sequence number.
fn addressed(datagram: &[u8], sequence: &[u8]) -> Vec<u8> {
    let mut datagram = datagram.to_vec();
    let mut at = 0;
    while at + HEADER <= datagram.len() {
        datagram[at + 8..at + 12].copy_from_slice(sequence);
        datagram[at + 12..at + 16].fill(0);
        let length = u32::from_ne_bytes(datagram[at..at + 4].try_into().unwrap());
        at += usize::try_from(length).unwrap().max(HEADER).next_multiple_of(4);
    }
    datagram
}

fn acknowledgement(request: &[u8], errno: i32) -> Vec<u8> {
    let mut datagram = Vec::new();
    datagram.extend(36_u32.to_ne_bytes());
    datagram.extend(NLMSG_ERROR.to_ne_bytes());
    datagram.extend(NLM_F_CAPPED.to_ne_bytes());
    datagram.extend(&request[8..12]);
    datagram.extend(0_u32.to_ne_bytes());
    datagram.extend((-errno).to_ne_bytes());
    datagram.extend(&request[..HEADER]);
    datagram
}
