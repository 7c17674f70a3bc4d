//! Datagrams to messages and back, for netlink-proto.
//!
//! Its own codec drops what it cannot decode, and the request that was answered so waits for ever. This one
//! turns such bytes into a [`RawMessage`](super::packet::RawMessage) under the same sequence number, which fails
//! the request. It also minds the alignment between the messages of a datagram.

use std::{fmt::Debug, io};

use netlink_packet_core::{
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_proto::NetlinkMessageCodec;
use tokio_util::bytes::BytesMut;

const HEADER: usize = 16;

/// Message type that stands for bytes that could not be decoded: one the kernel reserves and never uses
/// (below `NLMSG_MIN_TYPE`).
pub(super) const UNDECODABLE: u16 = 0xf;

/// The codec of NETLINK_RDMA datagrams.
#[derive(Debug)]
#[non_exhaustive]
pub struct RdmaCodec;

impl NetlinkMessageCodec for RdmaCodec {
    fn decode<T>(datagram: &mut BytesMut) -> io::Result<Option<NetlinkMessage<T>>>
    where
        T: NetlinkDeserializable + Debug,
    {
        if datagram.is_empty() {
            return Ok(None);
        }
        let Some(header) = datagram.first_chunk::<HEADER>().map(read_header) else {
            // Too short to say whom it answers; the deadline of that request will.
            tracing::warn!(bytes = datagram.len(), "netlink datagram with a rest shorter than a header");
            datagram.clear();
            return Ok(None);
        };
        let claimed = usize::try_from(header.length).unwrap_or(usize::MAX);
        if claimed < HEADER || claimed > datagram.len() {
            let rest = datagram.split();
            return Ok(undecodable(header, rest.get(HEADER..).unwrap_or_default()));
        }
        let message = datagram.split_to(claimed);
        let padding = claimed.next_multiple_of(4) - claimed;
        let _ = datagram.split_to(padding.min(datagram.len()));
        Ok(match NetlinkMessage::<T>::deserialize(&message) {
            Ok(decoded) => Some(decoded),
            Err(_) => undecodable(header, message.get(HEADER..).unwrap_or_default()),
        })
    }

    fn encode<T>(message: NetlinkMessage<T>, datagram: &mut BytesMut) -> io::Result<()>
    where
        T: NetlinkSerializable + Debug,
    {
        let start = datagram.len();
        datagram.resize(start + message.buffer_len(), 0);
        if let Some(buffer) = datagram.get_mut(start..) {
            message.serialize(buffer);
        }
        Ok(())
    }
}

fn read_header(bytes: &[u8; HEADER]) -> NetlinkHeader {
    let [l0, l1, l2, l3, t0, t1, f0, f1, s0, s1, s2, s3, p0, p1, p2, p3] = *bytes;
    let mut header = NetlinkHeader::default();
    header.length = u32::from_ne_bytes([l0, l1, l2, l3]);
    header.message_type = u16::from_ne_bytes([t0, t1]);
    header.flags = u16::from_ne_bytes([f0, f1]);
    header.sequence_number = u32::from_ne_bytes([s0, s1, s2, s3]);
    header.port_number = u32::from_ne_bytes([p0, p1, p2, p3]);
    header
}

fn undecodable<T: NetlinkDeserializable>(
    mut header: NetlinkHeader,
    payload: &[u8],
) -> Option<NetlinkMessage<T>> {
    header.message_type = UNDECODABLE;
    let inner = T::deserialize(&header, payload).ok()?;
    Some(NetlinkMessage::new(header, NetlinkPayload::InnerMessage(inner)))
}
