//! Resources.

use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::ResourceSummary,
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
}
