//! Settings of the whole subsystem.

use crate::nl::{
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::{NetnsMode, SystemInfo},
};

/// Requests about the whole subsystem. Made by [`Handle::system`].
#[derive(Debug, Clone)]
pub struct SystemHandle {
    handle: Handle,
}

impl SystemHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// All settings (`SYS_GET`).
    ///
    /// # Errors
    /// See [`Error`](crate::nl::Error).
    pub async fn get(&self) -> Result<SystemInfo> {
        let message = NldevMessage::new(NldevCommand::SysGet, Vec::new());
        self.handle.view(message, SystemInfo::from_attributes).await
    }

    /// Sets which network namespaces see a device (`SYS_SET`).
    ///
    /// # Errors
    /// EBUSY if the mode differs and any network namespace but the initial one exists, EPERM, EINVAL.
    pub async fn set_netns_mode(&self, mode: NetnsMode) -> Result<()> {
        self.set(NldevAttribute::SysNetnsMode(mode.number())).await
    }

    /// Sets whether privileged Q_Keys may be set without CAP_NET_RAW (`SYS_SET`). Since 6.7.
    ///
    /// # Errors
    /// EINVAL on a kernel that does not know it, EPERM.
    pub async fn set_privileged_qkey(&self, on: bool) -> Result<()> {
        self.set(NldevAttribute::SysPrivilegedQkeyMode(on.into())).await
    }

    async fn set(&self, attribute: NldevAttribute) -> Result<()> {
        self.handle.block(NldevMessage::new(NldevCommand::SysSet, vec![attribute]), None).await
    }
}
