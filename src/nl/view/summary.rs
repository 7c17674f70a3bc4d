//! How many objects of each kind a device has.

use super::{Missing, require};
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

/// What `RES_GET` shows of a device (`fill_res_info()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceSummary {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// One entry a kind, in the kernel's order.
    pub entries: Vec<SummaryEntry>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

/// One kind of object (`fill_res_info_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SummaryEntry {
    /// Kind: `pd`, `cq`, `qp`, `cm_id`, `mr`, `ctx`, `srq`, `comp_cntr` (7.3).
    pub name: String,
    /// Objects alive now.
    pub current: u64,
    /// Most the device can have, when the kernel says so (7.3).
    pub max: Option<u64>,
}

impl ResourceSummary {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When device index or name is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        let entries = attributes
            .get_nested(RDMA_NLDEV_ATTR_RES_SUMMARY)
            .unwrap_or_default()
            .iter()
            .filter(|entry| entry.number() == RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY)
            .filter_map(|entry| SummaryEntry::from_attributes(entry.as_nested()?))
            .collect();
        Ok(Self {
            device_index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            device_name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            entries,
            attributes,
        })
    }

    /// Objects of a kind alive now; `None` if this kernel does not count that kind.
    pub fn count(&self, kind: &str) -> Option<u64> {
        self.entries.iter().find(|entry| entry.name == kind).map(|entry| entry.current)
    }
}

impl SummaryEntry {
    fn from_attributes(attributes: &[NldevAttribute]) -> Option<Self> {
        Some(Self {
            name: attributes.get_string(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME)?,
            current: attributes.get_u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR)?,
            max: attributes.get_u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_MAX),
        })
    }
}
