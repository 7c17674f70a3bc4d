//! Pools of fast registration memory regions.

use super::{Entry, Missing, require};
use crate::nl::packet::{AttributeList, Nested, NldevAttribute, number::*};

/// What the regions of a pool have in common (`RDMA_NLDEV_ATTR_FRMR_POOL_KEY`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FrmrPoolKey {
    /// Address translation service.
    pub ats: bool,
    /// `IB_ACCESS_*` bits.
    pub access_flags: u32,
    /// The driver's own part.
    pub vendor_key: u64,
    /// How many DMA blocks a region can map.
    pub num_dma_blocks: u64,
}

impl FrmrPoolKey {
    /// The key as requests carry it.
    pub(in crate::nl) fn attribute(self) -> NldevAttribute {
        NldevAttribute::FrmrPoolKey(Nested::flagged(vec![
            NldevAttribute::FrmrPoolKeyAts(self.ats.into()),
            NldevAttribute::FrmrPoolKeyAccessFlags(self.access_flags),
            NldevAttribute::FrmrPoolKeyVendorKey(self.vendor_key),
            NldevAttribute::FrmrPoolKeyNumDmaBlocks(self.num_dma_blocks),
        ]))
    }
}

/// A pool (`RDMA_NLDEV_ATTR_FRMR_POOL_ENTRY` of `FRMR_POOLS_GET`). Since 7.1.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrmrPool {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// What its regions have in common.
    pub key: FrmrPoolKey,
    /// The kernel's own part of the key; 0 for pools of user space.
    pub kernel_vendor_key: u64,
    /// Handles waiting in the pool.
    pub queue_handles: Option<u32>,
    /// Most handles ever in use at once.
    pub max_in_use: Option<u64>,
    /// Handles in use now.
    pub in_use: Option<u64>,
    /// Handles that never age.
    pub pinned_handles: Option<u32>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl FrmrPool {
    pub(in crate::nl) fn from_entry(entry: Entry) -> Result<Self, Missing> {
        let Entry { device_index, device_name, attributes } = entry;
        let key = require!(attributes.get_nested(RDMA_NLDEV_ATTR_FRMR_POOL_KEY));
        let kernel_vendor_key = key.get_u64(RDMA_NLDEV_ATTR_FRMR_POOL_KEY_KERNEL_VENDOR_KEY).unwrap_or(0);
        let key = FrmrPoolKey {
            ats: require!(key.get_u8(RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS)) != 0,
            access_flags: require!(key.get_u32(RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ACCESS_FLAGS)),
            vendor_key: require!(key.get_u64(RDMA_NLDEV_ATTR_FRMR_POOL_KEY_VENDOR_KEY)),
            num_dma_blocks: require!(key.get_u64(RDMA_NLDEV_ATTR_FRMR_POOL_KEY_NUM_DMA_BLOCKS)),
        };
        Ok(Self {
            device_index,
            device_name,
            key,
            kernel_vendor_key,
            queue_handles: attributes.get_u32(RDMA_NLDEV_ATTR_FRMR_POOL_QUEUE_HANDLES),
            max_in_use: attributes.get_u64(RDMA_NLDEV_ATTR_FRMR_POOL_MAX_IN_USE),
            in_use: attributes.get_u64(RDMA_NLDEV_ATTR_FRMR_POOL_IN_USE),
            pinned_handles: attributes.get_u32(RDMA_NLDEV_ATTR_FRMR_POOL_PINNED_HANDLES),
            attributes,
        })
    }
}
