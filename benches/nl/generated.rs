//! A long list of queue pairs, made up after the shape of what rxe sends.

use rdma_operator::nl::packet::{Nested, NldevAttribute, NldevCommand, NldevMessage};

/// Bytes of a netlink header.
const HEADER: usize = 16;
/// Queue pairs in a message: as many as the kernel fits into its 32 KiB.
const BATCH: u32 = 385;

/// The replies to `RES_QP_GET` of a device with so many queue pairs, a datagram each, under this sequence number.
pub(crate) fn queue_pairs(count: u32, sequence: u32) -> impl Iterator<Item = Vec<u8>> {
    (0..count).step_by(BATCH as usize).map(move |first| {
        let entries = (first..count.min(first + BATCH)).map(queue_pair).collect();
        let message = NldevMessage::new(
            NldevCommand::ResQpGet,
            vec![
                NldevAttribute::DevIndex(0),
                NldevAttribute::DevName("rocep1s0f0".to_owned()),
                NldevAttribute::ResQp(Nested::plain(entries)),
            ],
        );
        with_header(message.message_type(), sequence, &message.encode())
    })
}

fn queue_pair(number: u32) -> NldevAttribute {
    NldevAttribute::ResQpEntry(Nested::plain(vec![
        NldevAttribute::PortIndex(1),
        NldevAttribute::ResLqpn(number),
        NldevAttribute::ResPdn(number / 16),
        NldevAttribute::ResPid(1000 + number / 64),
        NldevAttribute::ResRqpn(number.wrapping_mul(7)),
        NldevAttribute::ResRqPsn(number),
        NldevAttribute::ResSqPsn(number),
        NldevAttribute::ResPathMigState(0),
        NldevAttribute::ResType(2),
        NldevAttribute::ResState(3),
    ]))
}

/// A datagram with one message of a list (`NLM_F_MULTI`).
pub(crate) fn with_header(message_type: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(HEADER + payload.len()).unwrap_or(u32::MAX);
    let mut datagram = Vec::with_capacity(HEADER + payload.len());
    datagram.extend(len.to_ne_bytes());
    datagram.extend(message_type.to_ne_bytes());
    datagram.extend(2_u16.to_ne_bytes());
    datagram.extend(sequence.to_ne_bytes());
    datagram.extend(0_u32.to_ne_bytes());
    datagram.extend(payload);
    datagram
}
