//! The kernel's end of a NETLINK_RDMA socket: datagrams in, datagrams out.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_MULTIPART, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkHeader,
};

use super::answer::{Answer, Text};
use super::effects::Effects;
use super::state::State;
use crate::nl::errno::EINVAL;
use crate::nl::packet::{NldevCommand, NldevMessage, RDMA_NL_NLDEV};

/// A netlink header's length.
const HEADER: usize = 16;
/// Types below are netlink's own.
const NLMSG_MIN_TYPE: u16 = 0x10;
/// The error holds no more of the request than its header; attributes follow.
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;

/// Answers one message; `None` while the kernel works on it.
pub(super) fn serve(
    state: &mut State,
    bytes: &[u8],
    admin: bool,
    effects: &mut Effects,
) -> Option<Vec<Vec<u8>>> {
    let Some(header) = bytes.first_chunk::<HEADER>().map(read) else { return Some(Vec::new()) };
    let length = usize::try_from(header.length).unwrap_or(usize::MAX);
    // netlink_rcv_skb drops what is not whole, without a word.
    let Some(payload) = bytes.get(HEADER..length) else { return Some(Vec::new()) };
    let acknowledge = header.flags & NLM_F_ACK != 0;
    let request = header.flags & NLM_F_REQUEST != 0 && header.message_type >= NLMSG_MIN_TYPE;
    if !request {
        return Some(if acknowledge { vec![error(&header, 0, None)] } else { Vec::new() });
    }
    if header.message_type >> 10 != RDMA_NL_NLDEV {
        return Some(vec![error(&header, EINVAL, None)]);
    }
    let command = NldevCommand::from(header.message_type & 0x3ff);
    let message = NldevMessage::decode(command, payload);
    // Any of the two bits makes it a list: NLM_F_EXCL and NLM_F_REPLACE are the same bits.
    let dump = header.flags & NLM_F_DUMP != 0;
    Some(match state.answer(&message, dump, admin, effects) {
        Answer::Waits => return None,
        Answer::Done(data) => {
            let mut datagrams: Vec<Vec<u8>> = data
                .iter()
                .map(|message| datagram(&header, 0, message.message_type(), &message.encode()))
                .collect();
            if acknowledge {
                datagrams.push(error(&header, 0, None));
            }
            datagrams
        }
        Answer::Refused(errno, text) => vec![error(&header, errno, text)],
        Answer::List(data) => {
            let part = |message: &NldevMessage| {
                datagram(&header, NLM_F_MULTIPART, message.message_type(), &message.encode())
            };
            data.iter().map(part).chain([done(&header, 0)]).collect()
        }
        Answer::ListFailed(errno) => vec![done(&header, errno)],
    })
}

/// A notification as a datagram.
pub(super) fn notification(message: &NldevMessage) -> Vec<u8> {
    datagram(&NetlinkHeader::default(), 0, message.message_type(), &message.encode())
}

fn read(bytes: &[u8; HEADER]) -> NetlinkHeader {
    let [l0, l1, l2, l3, t0, t1, f0, f1, s0, s1, s2, s3, p0, p1, p2, p3] = *bytes;
    let mut header = NetlinkHeader::default();
    header.length = u32::from_ne_bytes([l0, l1, l2, l3]);
    header.message_type = u16::from_ne_bytes([t0, t1]);
    header.flags = u16::from_ne_bytes([f0, f1]);
    header.sequence_number = u32::from_ne_bytes([s0, s1, s2, s3]);
    header.port_number = u32::from_ne_bytes([p0, p1, p2, p3]);
    header
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
