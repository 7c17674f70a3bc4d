//! Ports.

use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::Port,
};

/// Requests about the ports of one device. Made by [`Handle::port`].
#[derive(Debug, Clone)]
pub struct PortHandle {
    handle: Handle,
    device: u32,
}

impl PortHandle {
    pub(in crate::nl) fn new(handle: Handle, device: u32) -> Self {
        Self { handle, device }
    }

    /// One port, from 1 (`PORT_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device or port; what the driver says when it cannot be asked, such as ENODEV of
    /// a soft device whose network device is going away.
    pub async fn get(&self, port: u32) -> Result<Port> {
        let attributes = vec![NldevAttribute::DevIndex(self.device), NldevAttribute::PortIndex(port)];
        self.handle.view(NldevMessage::new(NldevCommand::PortGet, attributes), Port::from_attributes).await
    }

    /// Ports 1 to `count`, each asked for on its own: one that fails does not spoil the others.
    ///
    /// `count` is [`Device::port_count`](crate::nl::Device::port_count).
    pub async fn all(&self, count: u32) -> Vec<(u32, Result<Port>)> {
        let mut ports = Vec::new();
        for port in 1..=count {
            ports.push((port, self.get(port).await));
        }
        ports
    }

    /// The ports in one list (`PORT_GET`). The kernel stops at the first port that fails and calls the list
    /// complete: prefer [`all`](Self::all).
    ///
    /// # Errors
    /// EINVAL if there is no such device.
    pub async fn list(&self) -> Result<Vec<Port>> {
        let message = NldevMessage::new(NldevCommand::PortGet, vec![NldevAttribute::DevIndex(self.device)]);
        self.handle.views(message, Port::from_attributes).await
    }
}
