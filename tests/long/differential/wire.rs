//! Recorded datagrams as trees that can be changed, and back.

use rdma_operator::nl::packet::{WireType, attribute_info};

const HEADER: usize = 16;
/// Attribute number without flags.
const NUMBER: u16 = 0x3fff;

/// A line of a recording.
pub(super) struct Datagram {
    pub(super) sent: bool,
    pub(super) messages: Vec<Message>,
}

/// A netlink message.
pub(super) struct Message {
    header: Vec<u8>,
    pub(super) body: Body,
}

/// What follows the header.
pub(super) enum Body {
    /// An NLDEV message.
    Attributes(Vec<Attribute>),
    /// An acknowledgement or the end of a list.
    Bytes(Vec<u8>),
}

/// An attribute.
#[derive(Clone)]
pub(super) struct Attribute {
    kind: u16,
    pub(super) value: Value,
}

/// Its payload.
#[derive(Clone)]
pub(super) enum Value {
    Nest(Vec<Attribute>),
    Bytes(Vec<u8>),
}

impl Datagram {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let sent = line.starts_with("> ");
        let hex = line.strip_prefix("> ").or_else(|| line.strip_prefix("< "))?.trim();
        let bytes: Vec<_> =
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        let mut messages = Vec::new();
        let mut rest = bytes.as_slice();
        while rest.len() >= HEADER {
            let length = usize::try_from(u32::from_ne_bytes(rest[..4].try_into().unwrap())).unwrap();
            let (message, after) = rest.split_at(length.clamp(HEADER, rest.len()));
            messages.push(Message::parse(message));
            rest = &after[(length.next_multiple_of(4) - length).min(after.len())..];
        }
        Some(Self { sent, messages })
    }

    pub(super) fn line(&self) -> String {
        let bytes: Vec<_> = self.messages.iter().flat_map(Message::bytes).collect();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{} {hex}", if self.sent { '>' } else { '<' })
    }
}

impl Message {
    fn parse(bytes: &[u8]) -> Self {
        let (header, payload) = bytes.split_at(HEADER);
        let is_nldev = u16::from_ne_bytes([header[4], header[5]]) >> 10 == 5;
        let body =
            if is_nldev { Body::Attributes(attributes(payload)) } else { Body::Bytes(payload.to_vec()) };
        Self { header: header.to_vec(), body }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.clone();
        match &self.body {
            Body::Attributes(list) => put(list, &mut bytes),
            Body::Bytes(payload) => bytes.extend(payload),
        }
        let length = u32::try_from(bytes.len()).unwrap();
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        bytes
    }
}

impl Attribute {
    pub(super) fn new(number: u16, payload: Vec<u8>) -> Self {
        Self { kind: number, value: Value::Bytes(payload) }
    }

    pub(super) fn number(&self) -> u16 {
        self.kind & NUMBER
    }

    pub(super) fn wire_type(&self) -> Option<WireType> {
        attribute_info(self.number()).map(|info| info.wire_type)
    }

    /// The bytes of what is no nest.
    pub(super) fn bytes(&self) -> &[u8] {
        match &self.value {
            Value::Nest(_) => &[],
            Value::Bytes(bytes) => bytes,
        }
    }

    pub(super) fn as_u32(&self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes().try_into().ok()?))
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        std::str::from_utf8(self.bytes()).ok()?.strip_suffix('\0')
    }

    pub(super) fn set(&mut self, bytes: &[u8]) {
        self.value = Value::Bytes(bytes.to_vec());
    }

    pub(super) fn set_text(&mut self, text: &str) {
        self.set(format!("{text}\0").as_bytes());
    }
}

fn attributes(mut bytes: &[u8]) -> Vec<Attribute> {
    let mut list = Vec::new();
    while bytes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
        let kind = u16::from_ne_bytes([bytes[2], bytes[3]]);
        assert!((4..=bytes.len()).contains(&length), "a recorded attribute is whole");
        let mut attribute = Attribute::new(kind, bytes[4..length].to_vec());
        if attribute.wire_type() == Some(WireType::Nested) {
            attribute.value = Value::Nest(attributes(&bytes[4..length]));
        }
        list.push(attribute);
        bytes = &bytes[length.next_multiple_of(4).min(bytes.len())..];
    }
    list
}

/// A list as it is on the wire.
pub(super) fn list_bytes(list: &[Attribute]) -> Vec<u8> {
    let mut bytes = Vec::new();
    put(list, &mut bytes);
    bytes
}

fn put(list: &[Attribute], bytes: &mut Vec<u8>) {
    for attribute in list {
        let start = bytes.len();
        bytes.extend([0; 2]);
        bytes.extend(attribute.kind.to_ne_bytes());
        match &attribute.value {
            Value::Nest(list) => put(list, bytes),
            Value::Bytes(payload) => bytes.extend(payload),
        }
        let length = u16::try_from(bytes.len() - start).unwrap();
        bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
}
