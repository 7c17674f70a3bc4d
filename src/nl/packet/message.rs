//! Messages of the NETLINK_RDMA family.

use std::convert::Infallible;

use netlink_packet_core::{NetlinkDeserializable, NetlinkHeader, NetlinkPayload, NetlinkSerializable};

use super::{AttributeList, NldevAttribute, NldevCommand, list};

/// `RDMA_NL_NLDEV`: the client that knows devices, links, resources and counters.
pub const RDMA_NL_NLDEV: u16 = 5;

const CLIENT_SHIFT: u16 = 10;
const OP_MASK: u16 = (1 << CLIENT_SHIFT) - 1;

/// A message of the NETLINK_RDMA family: `nlmsg_type = client << 10 | op`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RdmaMessage {
    /// Of the NLDEV client.
    Nldev(NldevMessage),
    /// Of another client (LS, IWCM) or of none: passed through.
    Other(RawMessage),
}

/// A message of the NLDEV client: no header of its own, only attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NldevMessage {
    /// What it asks for or answers. A reply need not carry its request's command.
    pub command: NldevCommand,
    /// Its attributes, in order.
    pub attributes: Vec<NldevAttribute>,
}

/// A message passed through as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawMessage {
    /// `nlmsg_type`.
    pub message_type: u16,
    /// Everything after the netlink header.
    pub payload: Vec<u8>,
}

impl NldevMessage {
    /// A message with these attributes.
    pub fn new(command: NldevCommand, attributes: Vec<NldevAttribute>) -> Self {
        Self { command, attributes }
    }

    /// `nlmsg_type` of the message.
    pub fn message_type(&self) -> u16 {
        RDMA_NL_NLDEV << CLIENT_SHIFT | (self.command.number() & OP_MASK)
    }

    /// Decodes what follows the netlink header. Never fails: what it does not know it keeps.
    pub fn decode(command: NldevCommand, payload: &[u8]) -> Self {
        Self { command, attributes: list::decode(payload, 0) }
    }

    /// Bytes of the payload, without the netlink header.
    pub fn encoded_len(&self) -> usize {
        list::encoded_len(&self.attributes)
    }

    /// The payload, without the netlink header.
    pub fn encode(&self) -> Vec<u8> {
        let mut buffer = vec![0; self.encoded_len()];
        list::emit(&self.attributes, &mut buffer);
        buffer
    }
}

impl AttributeList for NldevMessage {
    fn list(&self) -> &[NldevAttribute] {
        &self.attributes
    }
}

impl RawMessage {
    /// A message of this type and payload.
    pub fn new(message_type: u16, payload: Vec<u8>) -> Self {
        Self { message_type, payload }
    }
}

impl NetlinkDeserializable for RdmaMessage {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        let message_type = header.message_type;
        Ok(if message_type >> CLIENT_SHIFT == RDMA_NL_NLDEV {
            Self::Nldev(NldevMessage::decode(NldevCommand::from(message_type & OP_MASK), payload))
        } else {
            Self::Other(RawMessage::new(message_type, payload.to_vec()))
        })
    }
}

impl NetlinkSerializable for RdmaMessage {
    fn message_type(&self) -> u16 {
        match self {
            Self::Nldev(message) => message.message_type(),
            Self::Other(message) => message.message_type,
        }
    }

    fn buffer_len(&self) -> usize {
        match self {
            Self::Nldev(message) => message.encoded_len(),
            Self::Other(message) => message.payload.len(),
        }
    }

    fn serialize(&self, buffer: &mut [u8]) {
        match self {
            Self::Nldev(message) => {
                list::emit(&message.attributes, buffer);
            }
            Self::Other(message) => buffer.copy_from_slice(&message.payload),
        }
    }
}

impl From<NldevMessage> for RdmaMessage {
    fn from(message: NldevMessage) -> Self {
        Self::Nldev(message)
    }
}

impl From<RdmaMessage> for NetlinkPayload<RdmaMessage> {
    fn from(message: RdmaMessage) -> Self {
        Self::InnerMessage(message)
    }
}
