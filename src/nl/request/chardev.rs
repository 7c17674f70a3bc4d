//! Char devices.

use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::CharDevice,
};

/// Requests about char devices (`GET_CHARDEV`). Made by [`Handle::chardev`].
///
/// Asking for a kind whose module is not there may load it.
#[derive(Debug, Clone)]
pub struct ChardevHandle {
    handle: Handle,
}

impl ChardevHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// The verbs device (`/dev/infiniband/uverbsN`) of a device.
    ///
    /// # Errors
    /// EINVAL if there is no such device, EOPNOTSUPP if it has none (sub-devices).
    pub async fn uverbs(&self, device: u32) -> Result<CharDevice> {
        self.get("uverbs", vec![NldevAttribute::DevIndex(device)]).await
    }

    /// The management datagram device (`/dev/infiniband/umadN`) of a port.
    ///
    /// # Errors
    /// EINVAL if there is no such device or port, EOPNOTSUPP if the port has none (siw).
    pub async fn umad(&self, device: u32, port: u32) -> Result<CharDevice> {
        self.get("umad", vec![NldevAttribute::DevIndex(device), NldevAttribute::PortIndex(port)]).await
    }

    /// The one device of the connection manager (`/dev/infiniband/rdma_cm`).
    ///
    /// # Errors
    /// EOPNOTSUPP if the module is neither there nor loadable.
    pub async fn rdma_cm(&self) -> Result<CharDevice> {
        self.get("rdma_cm", Vec::new()).await
    }

    async fn get(&self, kind: &str, mut attributes: Vec<NldevAttribute>) -> Result<CharDevice> {
        attributes.push(NldevAttribute::ChardevType(kind.to_owned()));
        let message = NldevMessage::new(NldevCommand::GetChardev, attributes);
        self.handle.view(message, CharDevice::from_attributes).await
    }
}
