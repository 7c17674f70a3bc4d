//! Nests: attributes that hold attributes.

use super::NldevAttribute;

/// The payload of an attribute that is a list of attributes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nested {
    /// Whether the type field carries `NLA_F_NESTED`. The kernel sets it on some nests and not on others, and
    /// demands it on those it is sent.
    pub flagged: bool,
    /// The list.
    pub attributes: Vec<NldevAttribute>,
}

impl Nested {
    /// A nest with `NLA_F_NESTED`, as requests need it.
    pub fn flagged(attributes: Vec<NldevAttribute>) -> Self {
        Self { flagged: true, attributes }
    }

    /// A nest without the flag, as the kernel sends most of them.
    pub fn plain(attributes: Vec<NldevAttribute>) -> Self {
        Self { flagged: false, attributes }
    }
}
