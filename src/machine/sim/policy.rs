//! `nldev_policy`: what the attributes of a request must look like before anybody reads them.

use super::release::Release;
use crate::nl::packet::number::*;
use crate::nl::packet::{NldevCommand, WireType, attribute_info};

const HEADER: usize = 4;
const NLA_F_NESTED: u16 = 0x8000;
const NUMBER_MASK: u16 = 0x3fff;
/// `RDMA_NLDEV_ATTR_EMPTY_STRING`: the most a text may have that is only ever sent by the kernel.
const ONLY_SENT: usize = 1;

const UNKNOWN: &str = "Unknown attribute type";
const UNSUPPORTED: &str = "Unsupported attribute";
const FAILED: &str = "Attribute failed policy validation";
const LENGTH: &str = "invalid attribute length";
const NOT_NESTED: &str = "NLA_F_NESTED is missing";
const NESTED: &str = "NLA_F_NESTED not expected";
const LEFTOVER: &str = "bytes leftover after parsing attributes";

/// Checks a request as `__nla_validate_parse` does.
///
/// # Errors
/// The kernel's words; nldev makes EINVAL of them all.
pub(super) fn check(release: Release, command: NldevCommand, mut bytes: &[u8]) -> Result<(), &'static str> {
    let strict = release.is_strict(command);
    while let Some(([l0, l1, k0, k1], _)) = bytes.split_first_chunk::<HEADER>() {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let Some(value) = bytes.get(HEADER..length) else { break };
        attribute(release, u16::from_ne_bytes([*k0, *k1]), value, strict)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    if strict && !bytes.is_empty() { Err(LEFTOVER) } else { Ok(()) }
}

fn attribute(release: Release, kind: u16, value: &[u8], strict: bool) -> Result<(), &'static str> {
    let number = kind & NUMBER_MASK;
    let known = attribute_info(number).filter(|_| number <= release.last_attribute());
    let Some(info) = known else { return if strict { Err(UNKNOWN) } else { Ok(()) } };
    // The kernel has no policy for these.
    if matches!(number, RDMA_NLDEV_ATTR_CAP_FLAGS | RDMA_NLDEV_SYS_ATTR_MONITOR_MODE) {
        return if strict { Err(UNSUPPORTED) } else { Ok(()) };
    }
    if matches!(number, RDMA_NLDEV_ATTR_RES_SRC_ADDR | RDMA_NLDEV_ATTR_RES_DST_ADDR) {
        return match value.len() < 128 {
            _ if strict => Err(UNSUPPORTED),
            true => Err(FAILED),
            false => Ok(()),
        };
    }
    let size = match info.wire_type {
        WireType::U8 => Some(1),
        WireType::U32 | WireType::S32 => Some(4),
        WireType::U64 | WireType::S64 => Some(8),
        _ => None,
    };
    if strict && size.is_some_and(|size| size != value.len()) {
        return Err(LENGTH);
    }
    let (nest, flagged) = (info.wire_type == WireType::Nested, kind & NLA_F_NESTED != 0);
    if strict && nest != flagged {
        return Err(if nest { NOT_NESTED } else { NESTED });
    }
    let fits = match (info.wire_type, size) {
        (_, Some(size)) => value.len() >= size,
        (WireType::Nested, _) => value.is_empty() || value.len() >= HEADER,
        (WireType::String, _) => text_fits(number, value),
        _ => true,
    };
    if fits { Ok(()) } else { Err(FAILED) }
}

/// `NLA_NUL_STRING`
fn text_fits(number: u16, value: &[u8]) -> bool {
    let most = match number {
        RDMA_NLDEV_ATTR_DEV_NAME => 64,
        RDMA_NLDEV_ATTR_CHARDEV_TYPE => 32,
        RDMA_NLDEV_ATTR_LINK_TYPE | RDMA_NLDEV_ATTR_NDEV_NAME => 16,
        RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME | RDMA_NLDEV_ATTR_PARENT_NAME => usize::MAX - 1,
        _ => ONLY_SENT,
    };
    let text = value.strip_suffix(&[0]).unwrap_or(value);
    value.iter().take(most + 1).any(|byte| *byte == 0) && text.len() <= most
}
