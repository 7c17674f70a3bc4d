//! 64-bit identifiers.

use std::{fmt, str::FromStr};

/// A GUID or subnet prefix, printed as `5054:00ff:fe12:3456`.
///
/// The number is in host order, so its first byte in print is its most significant one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Guid(pub u64);

impl Guid {
    /// Whether all bits are zero, which stands for no GUID.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl From<u64> for Guid {
    fn from(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = self;
        let group = |shift: u32| (number >> shift) & 0xffff;
        write!(f, "{:04x}:{:04x}:{:04x}:{:04x}", group(48), group(32), group(16), group(0))
    }
}

/// A text is no GUID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not four groups of four hexadecimal digits")]
pub struct ParseGuidError(String);

impl FromStr for Guid {
    type Err = ParseGuidError;

    fn from_str(text: &str) -> Result<Self, ParseGuidError> {
        let error = || ParseGuidError(text.to_owned());
        let mut number = 0;
        let mut groups = 0;
        for group in text.split(':') {
            if group.len() != 4 || !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(error());
            }
            number = number << 16 | u64::from(u16::from_str_radix(group, 16).map_err(|_| error())?);
            groups += 1;
        }
        if groups == 4 { Ok(Self(number)) } else { Err(error()) }
    }
}
