//! Pools of fast registration memory regions. Since 7.1.

use super::query::Table;
use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage, number::*},
    view::{FrmrPool, FrmrPoolKey},
};

/// Requests about pools of fast registration memory regions. Made by [`Handle::frmr`].
#[derive(Debug, Clone)]
pub struct FrmrHandle {
    handle: Handle,
}

impl FrmrHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// The pools of a device (`FRMR_POOLS_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device, or the kernel is older than 7.1.
    pub async fn list(&self, device: u32) -> Result<Vec<FrmrPool>> {
        self.get(vec![NldevAttribute::DevIndex(device)]).await
    }

    /// The pools of a device, also those of the kernel (`FRMR_POOLS_GET`).
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn list_with_driver_details(&self, device: u32) -> Result<Vec<FrmrPool>> {
        self.get(vec![NldevAttribute::DevIndex(device), NldevAttribute::DriverDetails(1)]).await
    }

    async fn get(&self, attributes: Vec<NldevAttribute>) -> Result<Vec<FrmrPool>> {
        let message = NldevMessage::new(NldevCommand::FrmrPoolsGet, attributes);
        let (table, entry) = (RDMA_NLDEV_ATTR_FRMR_POOLS, RDMA_NLDEV_ATTR_FRMR_POOL_ENTRY);
        Table::new(&message, table, entry, FrmrPool::from_entry).list(&self.handle, message, |_| true).await
    }

    /// Sets how many seconds an unused handle stays in its pool (`FRMR_POOLS_SET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device or the kernel is older than 7.1, EPERM.
    pub async fn set_aging(&self, device: u32, seconds: u32) -> Result<()> {
        self.set(vec![NldevAttribute::DevIndex(device), NldevAttribute::FrmrPoolsAgingPeriod(seconds)]).await
    }

    /// Keeps that many handles in the pool of this key for good (`FRMR_POOLS_SET`).
    ///
    /// # Errors
    /// As [`set_aging`](Self::set_aging).
    pub async fn pin(&self, device: u32, key: FrmrPoolKey, handles: u32) -> Result<()> {
        self.set(vec![
            NldevAttribute::DevIndex(device),
            NldevAttribute::FrmrPoolPinnedHandles(handles),
            key.attribute(),
        ])
        .await
    }

    async fn set(&self, attributes: Vec<NldevAttribute>) -> Result<()> {
        self.handle.block(NldevMessage::new(NldevCommand::FrmrPoolsSet, attributes), None).await
    }
}
