//! The kernel's end of a NETLINK_RDMA socket: datagrams in, datagrams out.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_MULTIPART, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer,
    NetlinkHeader, Parseable as _,
};

use super::answer::{Answer, Text};
use super::effects::Effects;
use super::state::State;
use crate::nl::errno::{EBUSY, EINVAL};
use crate::nl::packet::{NldevCommand, NldevMessage, RDMA_NL_NLDEV};

/// A netlink header's length.
const HEADER: usize = 16;
/// Types below are netlink's own.
const NLMSG_MIN_TYPE: u16 = 0x10;
/// The error holds no more of the request than its header; attributes follow.
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// A datagram being served, message by message.
pub(super) struct Exchange {
    /// What of it has not been looked at.
    rest: Vec<u8>,
    admin: bool,
    answers: Vec<Vec<u8>>,
    /// A list is given out as it is received: its rest, which follows the answers to later messages.
    list: Vec<Vec<u8>>,
    waits: Option<Wait>,
}

/// A message that the kernel works on.
struct Wait {
    /// The device that is to be gone.
    device: u32,
    acknowledgement: Option<Vec<u8>>,
}

impl Exchange {
    pub(super) fn new(datagram: &[u8], admin: bool) -> Self {
        Self { rest: datagram.to_vec(), admin, answers: Vec::new(), list: Vec::new(), waits: None }
    }

    /// Goes on with it: the datagrams it is answered with, or nothing while the kernel works on it.
    pub(super) fn go_on(&mut self, state: &mut State, effects: &mut Effects) -> Option<Vec<Vec<u8>>> {
        loop {
            match self.waits.take() {
                Some(wait) if state.exists(wait.device) => {
                    self.waits = Some(wait);
                    return None;
                }
                Some(wait) => self.answers.extend(wait.acknowledgement),
                None => {}
            }
            let rest = std::mem::take(&mut self.rest);
            // What is not whole is dropped without a word.
            let Some((header, payload, next)) = first(&rest) else {
                let mut answers = std::mem::take(&mut self.answers);
                answers.append(&mut self.list);
                return Some(answers);
            };
            self.rest = next.to_vec();
            self.message(&header, payload, state, effects);
        }
    }

    fn message(&mut self, header: &NetlinkHeader, payload: &[u8], state: &mut State, effects: &mut Effects) {
        let acknowledgement = (header.flags & NLM_F_ACK != 0).then(|| error(header, 0, None));
        if header.flags & NLM_F_REQUEST == 0 || header.message_type < NLMSG_MIN_TYPE {
            self.answers.extend(acknowledgement);
            return;
        }
        if header.message_type >> 10 != RDMA_NL_NLDEV {
            self.answers.push(error(header, EINVAL, None));
            return;
        }
        let command = NldevCommand::from(header.message_type & 0x3ff);
        let message = NldevMessage::decode(command, payload);
        // Any of the two bits makes it a list: NLM_F_EXCL and NLM_F_REPLACE are the same bits.
        let dump = header.flags & NLM_F_DUMP != 0;
        match state.answer(&message, dump, self.admin, effects) {
            Answer::Waits(device) => self.waits = Some(Wait { device, acknowledgement }),
            Answer::Done(data) => {
                let data =
                    data.iter().map(|message| datagram(header, 0, message.message_type(), &message.encode()));
                self.answers.extend(data.chain(acknowledgement));
            }
            Answer::Refused(errno, text) => self.answers.push(error(header, errno, text)),
            Answer::List(_) | Answer::ListFailed(_) if !self.list.is_empty() => {
                self.answers.push(error(header, EBUSY, None));
            }
            Answer::List(data) => {
                let part = |message: &NldevMessage| {
                    datagram(header, NLM_F_MULTIPART, message.message_type(), &message.encode())
                };
                let mut parts = data.iter().map(part);
                match parts.next() {
                    None => self.answers.push(done(header, 0)),
                    Some(first) => {
                        self.answers.push(first);
                        self.list = parts.chain([done(header, 0)]).collect();
                    }
                }
            }
            Answer::ListFailed(errno) => self.answers.push(done(header, errno)),
        }
    }
}

/// The first message: its header, its payload, and what follows.
fn first(bytes: &[u8]) -> Option<(NetlinkHeader, &[u8], &[u8])> {
    let header = NetlinkHeader::parse(&NetlinkBuffer::new_checked(bytes).ok()?).ok()?;
    let length = usize::try_from(header.length).ok()?;
    let next = length.checked_next_multiple_of(4).and_then(|next| bytes.get(next..)).unwrap_or_default();
    Some((header, bytes.get(HEADER..length)?, next))
}

/// A notification as a datagram.
pub(super) fn notification(message: &NldevMessage) -> Vec<u8> {
    datagram(&NetlinkHeader::default(), 0, message.message_type(), &message.encode())
}

/// A message that answers `request`.
fn datagram(request: &NetlinkHeader, flags: u16, message_type: u16, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    bytes.extend(length.to_ne_bytes());
    bytes.extend(message_type.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(request.sequence_number.to_ne_bytes());
    bytes.extend(request.port_number.to_ne_bytes());
    bytes.extend(payload);
    bytes
}

fn done(request: &NetlinkHeader, errno: i32) -> Vec<u8> {
    datagram(request, NLM_F_MULTIPART, NLMSG_DONE, &(-errno).to_ne_bytes())
}

/// NLMSG_ERROR, the acknowledgement when `errno` is 0.
fn error(request: &NetlinkHeader, errno: i32, text: Text) -> Vec<u8> {
    let mut payload = (-errno).to_ne_bytes().to_vec();
    payload.extend(request.length.to_ne_bytes());
    payload.extend(request.message_type.to_ne_bytes());
    payload.extend(request.flags.to_ne_bytes());
    payload.extend(request.sequence_number.to_ne_bytes());
    payload.extend(request.port_number.to_ne_bytes());
    let mut flags = NLM_F_CAPPED;
    if let Some(text) = text {
        flags |= NLM_F_ACK_TLVS;
        let length = u16::try_from(4 + text.len() + 1).unwrap_or(u16::MAX);
        payload.extend(length.to_ne_bytes());
        payload.extend(NLMSGERR_ATTR_MSG.to_ne_bytes());
        payload.extend(text.as_bytes());
        payload.push(0);
        payload.resize(payload.len().next_multiple_of(4), 0);
    }
    datagram(request, flags, NLMSG_ERROR, &payload)
}
