//! Soft links.

use super::{check_text, device::DEVICE_NAME_MAX};
use crate::nl::{
    blocking::RunningRequest,
    error::Result,
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
};

/// `IFNAMSIZ - 1`: bytes of a network device name, and of a link type.
const NETDEV_NAME_MAX: usize = 15;

/// Kind of soft link.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LinkKind {
    /// Soft RoCE.
    Rxe,
    /// Soft iWARP.
    Siw,
    /// A kind this library does not know, by the name the kernel knows it by.
    Other(String),
}

impl LinkKind {
    /// The name the kernel knows it by.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Rxe => "rxe",
            Self::Siw => "siw",
            Self::Other(name) => name,
        }
    }
}

impl std::fmt::Display for LinkKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl From<&str> for LinkKind {
    fn from(name: &str) -> Self {
        match name {
            "rxe" => Self::Rxe,
            "siw" => Self::Siw,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// Requests about soft links. Made by [`Handle::link`].
///
/// They need CAP_NET_ADMIN in the initial user namespace. The kernel carries them out inside the call that sends
/// them, so each runs on a thread of its own; dropping the future does not stop it.
#[derive(Debug, Clone)]
pub struct LinkHandle {
    handle: Handle,
}

impl LinkHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// Makes a soft link on a network device of this network namespace (`NEWLINK`). The kernel loads the module if
    /// it can.
    ///
    /// The kernel gives no index back and turns `/` in the name into `!`: look the device up afterwards.
    ///
    /// # Errors
    /// EEXIST: that network device already carries a link of that kind. ENFILE: the name is taken. ENODEV: no such
    /// network device here. EINVAL: no such kind and no module for it, `%` in the name, or (siw) a network device
    /// it cannot use. EPERM: no capability, rxe on a VLAN, or (7.2 and later) UDP port 4791 is taken.
    /// EOPNOTSUPP: the kernel cannot.
    /// [`Error::StillRunning`](crate::nl::Error::StillRunning) when the kernel takes longer than the handle's
    /// timeout, [`Error::InvalidRequest`](crate::nl::Error::InvalidRequest) for names the kernel would cut.
    pub async fn add(&self, name: &str, kind: &LinkKind, netdev: &str) -> Result<()> {
        let attributes = vec![
            NldevAttribute::DevName(name.to_owned()),
            NldevAttribute::LinkType(kind.as_str().to_owned()),
            NldevAttribute::NdevName(netdev.to_owned()),
        ];
        let message = NldevMessage::new(NldevCommand::NewLink, attributes);
        check_text(&message, name, DEVICE_NAME_MAX)?;
        check_text(&message, kind.as_str(), NETDEV_NAME_MAX)?;
        check_text(&message, netdev, NETDEV_NAME_MAX)?;
        self.handle.block(message, None).await
    }

    /// Removes a soft link (`DELLINK`).
    ///
    /// Blocks in the kernel while a process holds the device (siw always, rxe before 7.3): look at the `ctx` count
    /// of [`summary`](crate::nl::ResourceHandle::summary) first.
    ///
    /// # Errors
    /// EINVAL: no such device, or it is no soft link. EPERM.
    /// [`Error::StillRunning`](crate::nl::Error::StillRunning) when the kernel takes longer than the handle's
    /// timeout: it goes on, [`running`](Self::running) shows it, and the same call made again waits for it.
    pub async fn del(&self, device: u32) -> Result<()> {
        let message = NldevMessage::new(NldevCommand::DelLink, vec![NldevAttribute::DevIndex(device)]);
        self.handle.block(message, None).await
    }

    /// What the kernel still works on: requests of this connection that were given up or are being waited for.
    pub fn running(&self) -> Vec<RunningRequest> {
        self.handle.shared().blocking.running()
    }
}
