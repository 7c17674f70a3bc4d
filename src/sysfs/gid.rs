//! The GID table of a port.

use std::io;
use std::net::Ipv6Addr;
use std::path::Path;

use serde::Serialize;

use super::{Failure, Result, Sysfs};

/// One filled slot of a GID table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gid {
    /// Slot number.
    pub index: u32,
    /// The 128 bits, as an IPv6 address.
    pub gid: Ipv6Addr,
    /// Which protocol it is for.
    #[serde(rename = "type")]
    pub gid_type: GidType,
    /// How far it reaches.
    pub scope: GidScope,
    /// The netdev it comes from; that of another namespace on some kernels.
    pub netdev: Option<String>,
}

/// The `gid_attrs/types` word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum GidType {
    /// InfiniBand and RoCE v1 share a word in sysfs: `IB/RoCE v1`.
    #[serde(rename = "IB/RoCE v1")]
    IbOrRoceV1,
    /// Routable RoCE.
    #[serde(rename = "RoCE v2")]
    RoceV2,
    /// The kernel does not say or says something new.
    #[serde(rename = "unknown")]
    Unknown,
}

/// Reach of a GID, by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GidScope {
    /// `fe80::/64`: not routable.
    LinkLocal,
    /// Everything else that is a unicast address, IPv4-mapped ones included.
    Global,
    /// `::1`, or 127.0.0.0/8 mapped.
    Loopback,
    /// `ff00::/8`
    Multicast,
    /// All zeros: an empty slot.
    Zero,
}

impl GidType {
    /// The word of `gid_attrs/types`, or `unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IbOrRoceV1 => "IB/RoCE v1",
            Self::RoceV2 => "RoCE v2",
            Self::Unknown => "unknown",
        }
    }
}

impl Sysfs {
    /// The filled slots of a port's GID table, ascending, and the slots that are there and cannot be read: each
    /// costs itself only. `EINVAL` is an empty slot. Tables are sparse and can be long (rxe: 1,024 slots).
    #[must_use]
    pub fn gids(&self, device: &str, port: u32) -> (Vec<Gid>, Vec<Failure>) {
        let port = Self::port(device, port);
        self.numbered(&port.join("gids"), |index, text| match text {
            Ok(text) => self.slot(&port, index, &text),
            Err(failure) => empty(failure),
        })
    }

    fn slot(&self, port: &Path, index: u32, text: &str) -> Result<Option<Gid>> {
        let path = port.join("gids").join(index.to_string());
        let gid = parse_gid(text).ok_or_else(|| self.malformed(&path, text, "a GID"))?;
        if gid.is_unspecified() {
            return Ok(None);
        }
        let attribute =
            |folder: &str| self.read_slot(&port.join("gid_attrs").join(folder).join(index.to_string()));
        Ok(Some(Gid {
            index,
            gid,
            gid_type: gid_type(attribute("types")?.as_deref()),
            scope: scope(gid),
            netdev: attribute("ndevs")?.filter(|name| !name.is_empty()),
        }))
    }

    /// A slot's file; the kernel answers EINVAL for an empty slot and for a GID without a netdev.
    fn read_slot(&self, path: &Path) -> Result<Option<String>> {
        match self.read(path) {
            Err(failure) => empty(failure),
            other => other,
        }
    }
}

/// EINVAL says that a slot is empty.
fn empty<T>(failure: Failure) -> Result<Option<T>> {
    match failure.source.kind() {
        io::ErrorKind::InvalidInput => Ok(None),
        _ => Err(failure),
    }
}

/// `fe80:0000:0000:0000:0200:5eff:fe00:5301`, as sysfs prints a GID.
#[must_use]
pub fn parse_gid(text: &str) -> Option<Ipv6Addr> {
    text.trim().parse().ok()
}

fn gid_type(text: Option<&str>) -> GidType {
    match text {
        Some("IB/RoCE v1") => GidType::IbOrRoceV1,
        Some("RoCE v2") => GidType::RoceV2,
        _ => GidType::Unknown,
    }
}

/// How far a GID reaches.
#[must_use]
pub fn scope(gid: Ipv6Addr) -> GidScope {
    let mapped = gid.to_ipv4_mapped();
    if gid.is_loopback() || mapped.is_some_and(|ip| ip.is_loopback()) {
        GidScope::Loopback
    } else if gid.is_unspecified() {
        GidScope::Zero
    } else if gid.is_multicast() {
        GidScope::Multicast
    } else if gid.is_unicast_link_local() || mapped.is_some_and(|ip| ip.is_link_local()) {
        GidScope::LinkLocal
    } else {
        GidScope::Global
    }
}
