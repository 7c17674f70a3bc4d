//! Codec of NETLINK_RDMA messages.
//!
//! Lossless: for any bytes, encoding what was decoded gives the same bytes. Decoding never fails and never
//! panics, whatever a newer kernel sends. It owns no socket and knows no request.

mod attribute;
mod attribute_table;
mod command;
mod list;
mod message;
mod nested;
#[cfg(test)]
mod tests;
mod wire;

pub use attribute::{AttributeInfo, RawAttribute};
pub use attribute_table::{ATTRIBUTES, NldevAttribute, number};
pub use command::NldevCommand;
pub use list::AttributeList;
pub use message::{NldevMessage, RDMA_NL_NLDEV, RawMessage, RdmaMessage};
pub use nested::Nested;
pub use wire::WireType;

/// Nests deeper than this are kept as bytes. The kernel's deepest message has four levels.
pub const MAX_DEPTH: usize = 8;

/// The table's row of an attribute number.
pub fn attribute_info(number: u16) -> Option<&'static AttributeInfo> {
    let row = usize::from(number).checked_sub(1)?;
    ATTRIBUTES.get(row).filter(|info| info.number == number)
}
