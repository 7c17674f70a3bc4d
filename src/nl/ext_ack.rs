//! Reading the extended acknowledgement out of NLMSG_ERROR and NLMSG_DONE.
//!
//! netlink-packet-core leaves it as bytes: after the errno of an error comes the request's header, unless
//! `NLM_F_CAPPED` the whole request, then attributes if `NLM_F_ACK_TLVS` says so; after the code of a DONE come
//! the attributes at once.

use super::error::ExtAck;

/// `NLM_F_CAPPED`: the request is cut down to its header.
const NLM_F_CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS`: attributes follow.
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSG_HEADER: usize = 16;
const NLMSGERR_ATTR_MSG: u16 = 1;
const NLMSGERR_ATTR_OFFS: u16 = 2;

/// Of an NLMSG_ERROR with these flags, `echo` being everything after the errno.
pub(super) fn of_error(flags: u16, echo: &[u8]) -> Option<ExtAck> {
    let skip = if flags & NLM_F_CAPPED != 0 {
        NLMSG_HEADER
    } else {
        let len = u32::from_ne_bytes(*echo.first_chunk()?);
        usize::try_from(len).ok()?.checked_next_multiple_of(4)?
    };
    attributes(flags, echo.get(skip..)?)
}

/// Of an NLMSG_DONE with these flags, `rest` being everything after the code.
pub(super) fn of_done(flags: u16, rest: &[u8]) -> Option<ExtAck> {
    attributes(flags, rest)
}

fn attributes(flags: u16, mut bytes: &[u8]) -> Option<ExtAck> {
    if flags & NLM_F_ACK_TLVS == 0 {
        return None;
    }
    let mut ext_ack = ExtAck::default();
    while let Some(([l0, l1, k0, k1], rest)) = bytes.split_first_chunk() {
        let len = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let Some((value, rest)) = len.checked_sub(4).and_then(|len| rest.split_at_checked(len)) else {
            break;
        };
        match u16::from_ne_bytes([*k0, *k1]) {
            NLMSGERR_ATTR_MSG => {
                let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
                ext_ack.message = Some(String::from_utf8_lossy(text).into_owned());
            }
            NLMSGERR_ATTR_OFFS => ext_ack.offset = value.try_into().ok().map(u32::from_ne_bytes),
            _ => {}
        }
        let padding = len.next_multiple_of(4) - len;
        bytes = rest.get(padding..).unwrap_or_default();
    }
    (ext_ack != ExtAck::default()).then_some(ext_ack)
}
