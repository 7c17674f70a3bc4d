//! Resources.

use super::Query;
use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::{
        CmId, CompletionQueue, MemoryRegion, ProtectionDomain, QueuePair, ResourceSummary,
        SharedReceiveQueue, UserContext,
    },
};

/// Requests about what is allocated on devices. Made by [`Handle::resource`].
#[derive(Debug, Clone)]
pub struct ResourceHandle {
    handle: Handle,
}

impl ResourceHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// How many objects of each kind a device has (`RES_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device.
    pub async fn summary(&self, device: u32) -> Result<ResourceSummary> {
        let message = NldevMessage::new(NldevCommand::ResGet, vec![NldevAttribute::DevIndex(device)]);
        self.handle.view(message, ResourceSummary::from_attributes).await
    }

    /// How many objects of each kind each device has (`RES_GET`).
    ///
    /// # Errors
    /// See [`Error`](crate::nl::Error).
    pub async fn summaries(&self) -> Result<Vec<ResourceSummary>> {
        let message = NldevMessage::new(NldevCommand::ResGet, Vec::new());
        self.handle.views(message, ResourceSummary::from_attributes).await
    }

    /// How many objects of each kind a device has, also those only its driver made (`RES_GET`). Since 6.10.
    ///
    /// # Errors
    /// EINVAL if there is no such device.
    pub async fn summary_with_driver_details(&self, device: u32) -> Result<ResourceSummary> {
        let attributes = vec![NldevAttribute::DevIndex(device), NldevAttribute::DriverDetails(1)];
        let message = NldevMessage::new(NldevCommand::ResGet, attributes);
        self.handle.view(message, ResourceSummary::from_attributes).await
    }

    /// Queue pairs (`RES_QP_GET`).
    pub fn queue_pairs(&self, device: u32) -> Query<QueuePair> {
        Query::new(self.handle.clone(), device)
    }

    /// Connection manager ids (`RES_CM_ID_GET`).
    pub fn cm_ids(&self, device: u32) -> Query<CmId> {
        Query::new(self.handle.clone(), device)
    }

    /// Completion queues (`RES_CQ_GET`).
    pub fn completion_queues(&self, device: u32) -> Query<CompletionQueue> {
        Query::new(self.handle.clone(), device)
    }

    /// Memory regions (`RES_MR_GET`).
    pub fn memory_regions(&self, device: u32) -> Query<MemoryRegion> {
        Query::new(self.handle.clone(), device)
    }

    /// Protection domains (`RES_PD_GET`).
    pub fn protection_domains(&self, device: u32) -> Query<ProtectionDomain> {
        Query::new(self.handle.clone(), device)
    }

    /// User contexts: which processes have the device open (`RES_CTX_GET`). Since 5.13.
    pub fn contexts(&self, device: u32) -> Query<UserContext> {
        Query::new(self.handle.clone(), device)
    }

    /// Shared receive queues (`RES_SRQ_GET`). Since 5.13.
    pub fn shared_receive_queues(&self, device: u32) -> Query<SharedReceiveQueue> {
        Query::new(self.handle.clone(), device)
    }
}
