//! The document's words and the kernel's numbers.

use std::net::Ipv6Addr;

use crate::machine::words;

/// `enum rdma_node_type`
pub(super) fn node_type(word: &str) -> u8 {
    number(words::NODE_TYPES, word, 1)
}

/// `enum ib_port_state`
pub(super) fn port_state(word: &str) -> u8 {
    number(words::STATES, word, 0)
}

/// `enum ib_port_phys_state`
pub(super) fn phys_state(word: &str) -> u8 {
    number(words::PHYS_STATES, word, 1)
}

/// `enum ib_qp_type`
pub(super) fn qp_type(word: &str) -> u8 {
    match word {
        "DRIVER" => 0xff,
        // The number after RAW_ETHERTYPE's is nobody's.
        "RAW_PACKET" | "XRC_INI" | "XRC_TGT" => number(words::QP_TYPES, word, 1),
        _ => number(words::QP_TYPES, word, 0),
    }
}

/// `enum ib_qp_state`
pub(super) fn qp_state(word: &str) -> u8 {
    number(words::QP_STATES, word, 0)
}

/// As sysfs prints a node type and a physical state: `2: switch`, `7: Phy Test`.
pub(super) fn in_sysfs(number: u8, word: &str) -> String {
    let text = match word {
        "SWITCH" => "switch",
        "ROUTER" => "router",
        "USNIC" => "usNIC",
        "USNIC_UDP" => "usNIC UDP",
        "UNSPECIFIED" => "unspecified",
        "PhyTest" => "Phy Test",
        word => word,
    };
    format!("{number}: {text}")
}

/// Place of `word` in `words`, counted from `first`.
fn number(words: &[&str], word: &str, first: u8) -> u8 {
    let place = words.iter().position(|candidate| *candidate == word).unwrap_or(0);
    u8::try_from(place).unwrap_or(0).saturating_add(first)
}

/// `231:192` → major and minor.
pub(super) fn device_number(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `huge_encode_dev`
pub(super) fn encode_device(major: u64, minor: u64) -> u64 {
    (minor & 0xff) | (major << 8) | ((minor & !0xff) << 12)
}

/// `00:00:5e:00:53:70` → its bytes.
pub(super) fn mac(text: &str) -> Option<[u8; 6]> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).ok()).collect();
    bytes?.try_into().ok()
}

/// `addrconf_addr_eui48`: the interface id of a MAC.
pub(super) fn eui64([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

/// A GID as sysfs prints it.
pub(super) fn gid(address: Ipv6Addr) -> String {
    address.segments().map(|group| format!("{group:04x}")).join(":")
}
