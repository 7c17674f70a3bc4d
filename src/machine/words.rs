//! The words and the shapes of a machine document's texts.

use std::net::{IpAddr, Ipv6Addr};

pub(super) const NODE_TYPES: &[&str] =
    &["CA", "SWITCH", "ROUTER", "RNIC", "USNIC", "USNIC_UDP", "UNSPECIFIED"];
pub(super) const PROTOCOLS: &[&str] = &["ib", "roce", "iw", "opa", "usnic"];
pub(super) const DEVICE_TYPES: &[&str] = &["smi"];
pub(super) const LINK_LAYERS: &[&str] = &["InfiniBand", "Ethernet", "Unknown"];
pub(super) const STATES: &[&str] = &["NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"];
pub(super) const PHYS_STATES: &[&str] =
    &["Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "PhyTest"];
pub(super) const GID_TYPES: &[&str] = &["IB/RoCE v1", "RoCE v2"];
pub(super) const QP_TYPES: &[&str] = &[
    "SMI",
    "GSI",
    "RC",
    "UC",
    "UD",
    "RAW_IPV6",
    "RAW_ETHERTYPE",
    "RAW_PACKET",
    "XRC_INI",
    "XRC_TGT",
    "DRIVER",
];
pub(super) const QP_STATES: &[&str] = &["RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"];

fn hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn groups(text: &str, count: usize, digits: usize) -> bool {
    text.split(':').count() == count && text.split(':').all(|group| hex(group, digits))
}

/// `0200:5eff:fe00:5301`
pub(super) fn is_guid(text: &str) -> bool {
    groups(text, 4, 4)
}

/// `fe80:0000:0000:0000:0200:5eff:fe00:5301`, as sysfs prints a GID.
pub(super) fn gid(text: &str) -> Option<Ipv6Addr> {
    groups(text, 8, 4).then(|| text.parse().ok()).flatten()
}

/// `00:00:5e:00:53:01`, of `bytes` bytes.
pub(super) fn is_mac(text: &str, bytes: usize) -> bool {
    groups(text, bytes, 2)
}

/// `0000:1a:00.0`
pub(super) fn is_pci(text: &str) -> bool {
    let Some((domain, rest)) = text.split_once(':') else { return false };
    let Some((bus, rest)) = rest.split_once(':') else { return false };
    let Some((slot, function)) = rest.split_once('.') else { return false };
    let one = |text: &str, digits: usize, most: u32| {
        hex(text, digits) && u32::from_str_radix(text, 16).is_ok_and(|value| value <= most)
    };
    // Some hypervisors number domains beyond 16 bits.
    (4..=8).contains(&domain.len())
        && hex(domain, domain.len())
        && hex(bus, 2)
        && one(slot, 2, 31)
        && one(function, 1, 7)
}

/// `pci0000:15`
pub(super) fn is_pci_root(text: &str) -> bool {
    let Some((domain, bus)) = text.strip_prefix("pci").and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    (4..=8).contains(&domain.len()) && hex(domain, domain.len()) && hex(bus, 2)
}

/// Hex digits: ids of PCI.
pub(super) fn is_id(text: &str, digits: usize) -> bool {
    hex(text, digits)
}

/// `0xffff`
pub(super) fn is_pkey(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| hex(digits, 4))
}

/// `231:192`: 12 bits of major number and 20 bits of minor number.
pub(super) fn is_dev(text: &str) -> bool {
    let decimal = |text: &str| text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    text.split_once(':').is_some_and(|(major, minor)| {
        decimal(major).is_some_and(|major| major < 1 << 12)
            && decimal(minor).is_some_and(|minor| minor < 1 << 20)
    })
}

/// `192.0.2.1/24`
pub(super) fn address(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let prefix: u8 = prefix.parse().ok()?;
    (prefix <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, prefix))
}

/// A name that can be a file's: not empty, not `.` or `..`, without a slash or a control character.
pub(super) fn is_file_name(text: &str, most: usize) -> bool {
    !text.is_empty()
        && text.len() <= most
        && text != "."
        && text != ".."
        && !text.chars().any(|c| c == '/' || c.is_control())
}
