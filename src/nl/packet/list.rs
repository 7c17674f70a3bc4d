//! Lists of attributes: decoding that loses nothing, encoding, and looking things up.

use std::borrow::Cow;

use super::{NldevAttribute, RawAttribute, wire::put};

/// `NLA_HDRLEN`: length and type field.
const HEADER: usize = 4;

const fn align(len: usize) -> usize {
    len.next_multiple_of(4)
}

/// Decodes every byte of a list. What is no attribute ends up in the last one, as it is.
pub(super) fn decode(mut bytes: &[u8], depth: usize) -> Vec<NldevAttribute> {
    // Most payloads are four bytes: eight with the header. A nest is one attribute of many bytes.
    let mut attributes = Vec::with_capacity(bytes.len() / 8);
    while let Some(([l0, l1, k0, k1], rest)) = bytes.split_first_chunk::<HEADER>() {
        let len = usize::from(u16::from_ne_bytes([*l0, *l1]));
        let kind = u16::from_ne_bytes([*k0, *k1]);
        let Some((value, rest)) = len.checked_sub(HEADER).and_then(|len| rest.split_at_checked(len)) else {
            break;
        };
        let usual = align(len) - len;
        let (padding, rest) = rest.split_at(usual.min(rest.len()));
        attributes.push(attribute(kind, value, padding, usual, depth));
        bytes = rest;
    }
    if !bytes.is_empty() {
        attributes.push(NldevAttribute::Malformed(bytes.into()));
    }
    attributes
}

#[inline]
fn attribute(kind: u16, value: &[u8], padding: &[u8], usual: usize, depth: usize) -> NldevAttribute {
    let plain = usual == 0 || (padding.len() == usual && padding.iter().all(|byte| *byte == 0));
    if plain && let Some(typed) = NldevAttribute::decode_typed(kind, value, depth) {
        return typed;
    }
    let padding = (!plain).then(|| padding.to_vec());
    NldevAttribute::Other(Box::new(RawAttribute { kind, value: value.to_vec(), padding }))
}

/// Bytes the list takes on the wire.
pub(super) fn encoded_len(attributes: &[NldevAttribute]) -> usize {
    attributes.iter().map(NldevAttribute::encoded_len).sum()
}

/// Writes the list to the start of `buffer`, which is at least [`encoded_len`] long; gives the length written.
pub(super) fn emit(attributes: &[NldevAttribute], buffer: &mut [u8]) -> usize {
    let mut at = 0;
    for attribute in attributes {
        at += attribute.emit_into(&mut buffer[at..]);
    }
    at
}

impl NldevAttribute {
    fn encoded_len(&self) -> usize {
        match self {
            Self::Malformed(bytes) => bytes.len(),
            Self::Other(raw) => match &raw.padding {
                Some(padding) => HEADER + raw.value.len() + padding.len(),
                None => align(HEADER + raw.value.len()),
            },
            _ => align(HEADER + self.value_len()),
        }
    }

    #[inline]
    fn emit_into(&self, buffer: &mut [u8]) -> usize {
        if let Self::Malformed(bytes) = self {
            return put(bytes, buffer);
        }
        let (kind, len) = self.emit_value(&mut buffer[HEADER..]);
        let end = HEADER + len;
        // A payload beyond 64 KiB has no encoding; `is_canonical` says so. Nothing here may panic for it.
        let field = u16::try_from(end).unwrap_or(u16::MAX);
        buffer[..2].copy_from_slice(&field.to_ne_bytes());
        buffer[2..HEADER].copy_from_slice(&kind.to_ne_bytes());
        if let Self::Other(raw) = self
            && let Some(padding) = &raw.padding
        {
            return end + put(padding, &mut buffer[end..]);
        }
        buffer[end..align(end)].fill(0);
        align(end)
    }

    /// Whether encoding this value and decoding the bytes gives the value back.
    ///
    /// Not so for a payload beyond 64 KiB, for a raw attribute whose bytes have a typed form, for nests deeper
    /// than [`MAX_DEPTH`](super::MAX_DEPTH), and for odd padding or [`Malformed`](Self::Malformed) bytes that
    /// would be read as something else. Everything decoded from bytes is canonical where it stood.
    pub fn is_canonical(&self) -> bool {
        let mut bytes = vec![0; self.encoded_len()];
        self.emit_into(&mut bytes);
        decode(&bytes, 0) == std::slice::from_ref(self)
    }
}

/// Looking up attributes in a list by number. Where a number occurs twice the last one counts, as for the
/// kernel's own parser (drivers do send an attribute again to correct it).
pub trait AttributeList {
    /// The list itself.
    fn list(&self) -> &[NldevAttribute];

    /// The last attribute of this number.
    fn find(&self, number: u16) -> Option<&NldevAttribute> {
        self.list().iter().rev().find(|attribute| attribute.number() == number)
    }

    /// Payload of one byte.
    fn get_u8(&self, number: u16) -> Option<u8> {
        self.find(number)?.as_u8()
    }

    /// Payload of four bytes.
    fn get_u32(&self, number: u16) -> Option<u32> {
        self.find(number)?.as_u32()
    }

    /// Payload of eight bytes.
    fn get_u64(&self, number: u16) -> Option<u64> {
        self.find(number)?.as_u64()
    }

    /// Text; see [`NldevAttribute::as_str`].
    fn get_str(&self, number: u16) -> Option<Cow<'_, str>> {
        self.find(number)?.as_str()
    }

    /// Text as a value of its own.
    fn get_string(&self, number: u16) -> Option<String> {
        self.get_str(number).map(Cow::into_owned)
    }

    /// The list inside a nest.
    fn get_nested(&self, number: u16) -> Option<&[NldevAttribute]> {
        self.find(number)?.as_nested()
    }
}

impl AttributeList for [NldevAttribute] {
    fn list(&self) -> &[NldevAttribute] {
        self
    }
}

impl AttributeList for Vec<NldevAttribute> {
    fn list(&self) -> &[NldevAttribute] {
        self
    }
}
