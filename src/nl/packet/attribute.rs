//! What the attribute table becomes: the enum, its numbers and names, decoding and encoding.

/// Makes [`NldevAttribute`](super::NldevAttribute) and the kernel's constants out of the table.
macro_rules! attributes {
    ($( $(#[$doc:meta])* $number:literal $variant:ident($ty:ty) = $kernel:ident, )*) => {
        /// One attribute of an NLDEV message.
        ///
        /// A variant stands for what the kernel sends: the attribute's own type, zero padding, no unusual flags.
        /// Anything else (an unknown number, a wrong length, text without its NUL) stays in
        /// [`Other`](Self::Other), so that encoding gives the bytes back. The accessors
        /// ([`as_u32`](Self::as_u32) and so on) look through that.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum NldevAttribute {
            $( $(#[$doc])* $variant($ty), )*
            /// An attribute as it was on the wire.
            Other(Box<$crate::nl::packet::RawAttribute>),
            /// Bytes at the end of a message or nest that are no attribute.
            Malformed(Box<[u8]>),
        }

        /// The kernel's names of the attribute numbers.
        pub mod number {
            $(
                #[doc = concat!("Number of [`", stringify!($variant), "`](super::NldevAttribute::", stringify!($variant), ").")]
                pub const $kernel: u16 = $number;
            )*
        }

        /// Number, kernel name and wire type of every attribute of the table, in the order of their numbers.
        pub const ATTRIBUTES: &[$crate::nl::packet::AttributeInfo] = &[
            $( $crate::nl::packet::AttributeInfo {
                number: $number,
                kernel_name: stringify!($kernel),
                wire_type: <$ty as $crate::nl::packet::wire::Wire>::TYPE,
            }, )*
        ];

        impl NldevAttribute {
            /// Attribute number without flags; 0 for [`Malformed`](Self::Malformed).
            #[inline]
            pub fn number(&self) -> u16 {
                match self {
                    $( Self::$variant(_) => $number, )*
                    Self::Other(raw) => raw.number(),
                    Self::Malformed(_) => 0,
                }
            }

            /// The typed form of a payload, if that form encodes to the same bytes.
            #[inline]
            pub(super) fn decode_typed(kind: u16, value: &[u8], depth: usize) -> Option<Self> {
                use $crate::nl::packet::wire::Wire;
                let flags = kind & !$crate::nl::packet::wire::NUMBER_MASK;
                match kind & $crate::nl::packet::wire::NUMBER_MASK {
                    $( $number => <$ty as Wire>::decode(value, flags, depth).map(Self::$variant), )*
                    _ => None,
                }
            }

            /// Bytes of the payload, without header and padding.
            #[inline]
            pub(super) fn value_len(&self) -> usize {
                use $crate::nl::packet::wire::Wire;
                match self {
                    $( Self::$variant(value) => value.value_len(), )*
                    Self::Other(raw) => raw.value.len(),
                    Self::Malformed(bytes) => bytes.len(),
                }
            }

            /// Writes the payload to the start of `buffer`; gives the type field and the payload's length.
            #[inline]
            pub(super) fn emit_value(&self, buffer: &mut [u8]) -> (u16, usize) {
                use $crate::nl::packet::wire::{self, Wire};
                match self {
                    $( Self::$variant(value) => ($number | value.flags(), value.emit_value(buffer)), )*
                    Self::Other(raw) => (raw.kind, wire::put(&raw.value, buffer)),
                    Self::Malformed(bytes) => (0, wire::put(bytes, buffer)),
                }
            }

            /// The nested list, if the attribute is a nest.
            #[inline]
            pub fn as_nested(&self) -> Option<&[NldevAttribute]> {
                use $crate::nl::packet::wire::Wire;
                match self {
                    $( Self::$variant(value) => value.nested(), )*
                    Self::Other(_) | Self::Malformed(_) => None,
                }
            }

            /// The nested list, taken out of the attribute; the attribute itself if it is no nest.
            ///
            /// # Errors
            /// The attribute, if it is no nest.
            pub fn into_nested(self) -> Result<Vec<NldevAttribute>, Self> {
                use $crate::nl::packet::wire::Wire;
                match self {
                    $( Self::$variant(value) => value.into_nested().map_err(Self::$variant), )*
                    other => Err(other),
                }
            }

            /// The text, if the attribute is text.
            #[inline]
            pub(super) fn typed_str(&self) -> Option<&str> {
                use $crate::nl::packet::wire::Wire;
                match self {
                    $( Self::$variant(value) => value.text(), )*
                    Self::Other(_) | Self::Malformed(_) => None,
                }
            }

            /// The number, if the attribute is one of the unsigned types.
            #[inline]
            pub(super) fn typed_unsigned(&self) -> Option<u64> {
                use $crate::nl::packet::wire::Wire;
                match self {
                    $( Self::$variant(value) => value.unsigned(), )*
                    Self::Other(_) | Self::Malformed(_) => None,
                }
            }
        }
    };
}

pub(super) use attributes;

use super::{NldevAttribute, wire::WireType};

/// A row of the attribute table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeInfo {
    /// Attribute number.
    pub number: u16,
    /// The kernel's name.
    pub kernel_name: &'static str,
    /// How the payload looks.
    pub wire_type: WireType,
}

/// An attribute as it was on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawAttribute {
    /// The type field: the attribute number with the flags `NLA_F_NESTED` (0x8000) and `NLA_F_NET_BYTEORDER`
    /// (0x4000).
    pub kind: u16,
    /// The payload.
    pub value: Vec<u8>,
    /// Bytes between the payload and the next attribute; `None` when they are the usual zeros up to a multiple
    /// of four.
    pub padding: Option<Vec<u8>>,
}

impl RawAttribute {
    /// An attribute of this type field and payload, padded as usual.
    pub fn new(kind: u16, value: Vec<u8>) -> Self {
        Self { kind, value, padding: None }
    }

    /// Attribute number without flags.
    pub fn number(&self) -> u16 {
        self.kind & super::wire::NUMBER_MASK
    }
}

impl From<RawAttribute> for NldevAttribute {
    fn from(raw: RawAttribute) -> Self {
        Self::Other(Box::new(raw))
    }
}
