//! The payload types of attributes, and how each is decoded and encoded.

use std::borrow::Cow;

use super::{NldevAttribute, list, nested::Nested};

/// `NLA_F_NESTED`: the payload is a list of attributes.
pub(super) const NLA_F_NESTED: u16 = 0x8000;
/// `NLA_TYPE_MASK`: the bits of the type field that are the attribute's number.
pub(super) const NUMBER_MASK: u16 = 0x3fff;

/// How the payload of an attribute looks. Numbers are in host order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireType {
    /// One byte.
    U8,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
    /// Four bytes, signed.
    S32,
    /// Eight bytes, signed.
    S64,
    /// UTF-8 text and one NUL.
    String,
    /// A list of attributes.
    Nested,
    /// Bytes.
    Binary,
}

/// A payload type. `decode` is the inverse of `emit_value` where it gives a value, and gives none where the
/// value would not encode to the same bytes.
pub(super) trait Wire: Sized {
    const TYPE: WireType;

    fn decode(value: &[u8], flags: u16, depth: usize) -> Option<Self>;
    fn value_len(&self) -> usize;
    /// Writes to the start of `buffer`, which is long enough; gives the length written.
    fn emit_value(&self, buffer: &mut [u8]) -> usize;

    fn flags(&self) -> u16 {
        0
    }
    fn unsigned(&self) -> Option<u64> {
        None
    }
    fn text(&self) -> Option<&str> {
        None
    }
    fn nested(&self) -> Option<&[NldevAttribute]> {
        None
    }
    fn into_nested(self) -> Result<Vec<NldevAttribute>, Self> {
        Err(self)
    }
}

/// Writes bytes to the start of a buffer.
#[inline]
pub(super) fn put(bytes: &[u8], buffer: &mut [u8]) -> usize {
    buffer[..bytes.len()].copy_from_slice(bytes);
    bytes.len()
}

macro_rules! number {
    ($ty:ty, $wire:ident, $self:ident => $unsigned:expr) => {
        impl Wire for $ty {
            const TYPE: WireType = WireType::$wire;

            #[inline]
            fn decode(value: &[u8], flags: u16, _depth: usize) -> Option<Self> {
                if flags != 0 {
                    return None;
                }
                value.try_into().ok().map(Self::from_ne_bytes)
            }
            #[inline]
            fn value_len(&self) -> usize {
                size_of::<Self>()
            }
            #[inline]
            fn emit_value(&self, buffer: &mut [u8]) -> usize {
                put(&self.to_ne_bytes(), buffer)
            }
            #[inline]
            fn unsigned(&self) -> Option<u64> {
                let $self = self;
                $unsigned
            }
        }
    };
}

number!(u8, U8, value => Some(u64::from(*value)));
number!(u32, U32, value => Some(u64::from(*value)));
number!(u64, U64, value => Some(*value));
number!(i32, S32, _value => None);
number!(i64, S64, _value => None);

impl Wire for String {
    const TYPE: WireType = WireType::String;

    fn decode(value: &[u8], flags: u16, _depth: usize) -> Option<Self> {
        let (nul, text) = value.split_last()?;
        if flags != 0 || *nul != 0 {
            return None;
        }
        std::str::from_utf8(text).ok().map(str::to_owned)
    }
    fn value_len(&self) -> usize {
        self.len() + 1
    }
    fn emit_value(&self, buffer: &mut [u8]) -> usize {
        let len = put(self.as_bytes(), buffer);
        buffer[len] = 0;
        len + 1
    }
    fn text(&self) -> Option<&str> {
        Some(self)
    }
}

impl Wire for Vec<u8> {
    const TYPE: WireType = WireType::Binary;

    fn decode(value: &[u8], flags: u16, _depth: usize) -> Option<Self> {
        (flags == 0).then(|| value.to_vec())
    }
    fn value_len(&self) -> usize {
        self.len()
    }
    fn emit_value(&self, buffer: &mut [u8]) -> usize {
        put(self, buffer)
    }
}

impl Wire for Nested {
    const TYPE: WireType = WireType::Nested;

    fn decode(value: &[u8], flags: u16, depth: usize) -> Option<Self> {
        let flagged = match flags {
            0 => false,
            NLA_F_NESTED => true,
            _ => return None,
        };
        // Deeper than this is nothing the kernel sends: the bytes are kept and no stack is spent on them.
        if depth >= super::MAX_DEPTH {
            return None;
        }
        Some(Self { flagged, attributes: list::decode(value, depth + 1) })
    }
    fn value_len(&self) -> usize {
        list::encoded_len(&self.attributes)
    }
    fn emit_value(&self, buffer: &mut [u8]) -> usize {
        list::emit(&self.attributes, buffer)
    }
    fn flags(&self) -> u16 {
        if self.flagged { NLA_F_NESTED } else { 0 }
    }
    fn nested(&self) -> Option<&[NldevAttribute]> {
        Some(&self.attributes)
    }
    fn into_nested(self) -> Result<Vec<NldevAttribute>, Self> {
        Ok(self.attributes)
    }
}

impl NldevAttribute {
    /// The number, if the payload is one byte.
    pub fn as_u8(&self) -> Option<u8> {
        self.unsigned(1).and_then(|value| value.try_into().ok())
    }

    /// The number, if the payload is four bytes.
    pub fn as_u32(&self) -> Option<u32> {
        self.unsigned(4).and_then(|value| value.try_into().ok())
    }

    /// The number, if the payload is eight bytes.
    pub fn as_u64(&self) -> Option<u64> {
        self.unsigned(8)
    }

    /// The text, up to its first NUL if it was not one the codec could type; bytes that are no UTF-8 become
    /// U+FFFD. `None` if the table says that the attribute is no text.
    pub fn as_str(&self) -> Option<Cow<'_, str>> {
        if let Some(text) = self.typed_str() {
            return Some(Cow::Borrowed(text));
        }
        let Self::Other(raw) = self else { return None };
        let info = super::attribute_info(raw.number())?;
        if info.wire_type != WireType::String {
            return None;
        }
        let end = raw.value.iter().position(|byte| *byte == 0).unwrap_or(raw.value.len());
        Some(String::from_utf8_lossy(raw.value.get(..end)?))
    }

    /// A number of `len` bytes, also out of an attribute kept raw for its flags or padding.
    fn unsigned(&self, len: usize) -> Option<u64> {
        match self {
            Self::Other(raw) if raw.value.len() == len => match len {
                1 => u8::decode(&raw.value, 0, 0).map(u64::from),
                4 => u32::decode(&raw.value, 0, 0).map(u64::from),
                _ => u64::decode(&raw.value, 0, 0),
            },
            _ if self.value_len() == len => self.typed_unsigned(),
            _ => None,
        }
    }
}
