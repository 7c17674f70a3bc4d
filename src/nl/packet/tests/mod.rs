//! The codec against the tables, the recorded messages and arbitrary bytes.

mod property;
mod recorded;
mod table;
mod trap;

use super::{NldevAttribute, NldevCommand, NldevMessage};

fn decode(bytes: &[u8]) -> Vec<NldevAttribute> {
    NldevMessage::decode(NldevCommand::Get, bytes).attributes
}

fn encode(attributes: Vec<NldevAttribute>) -> Vec<u8> {
    NldevMessage::new(NldevCommand::Get, attributes).encode()
}
