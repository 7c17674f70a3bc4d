//! Devices: list, look up, change.

use std::os::fd::{AsFd, AsRawFd};

use super::check_text;
use crate::nl::{
    error::{Error, RequestName, Result},
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    view::{Device, DeviceType},
};

/// `IB_DEVICE_NAME_MAX - 1`: bytes of a device name.
pub(super) const DEVICE_NAME_MAX: usize = 63;

/// Bytes of a sub-device's name.
const SUB_DEVICE_NAME_MAX: usize = 15;

/// Requests about devices. Made by [`Handle::device`].
#[derive(Debug, Clone)]
pub struct DeviceHandle {
    handle: Handle,
}

impl DeviceHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// All devices the socket's network namespace sees (`GET`).
    ///
    /// The kernel leaves out a device it cannot describe, without a word.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn list(&self) -> Result<Vec<Device>> {
        let message = NldevMessage::new(NldevCommand::Get, Vec::new());
        self.handle.views(message, Device::from_attributes).await
    }

    /// The device with this index (`GET`).
    ///
    /// # Errors
    /// EINVAL if there is none, also if it is in another network namespace.
    pub async fn get(&self, index: u32) -> Result<Device> {
        let message = NldevMessage::new(NldevCommand::Get, vec![NldevAttribute::DevIndex(index)]);
        self.handle.view(message, Device::from_attributes).await
    }

    /// Gives a device another name (`SET`). Needs CAP_NET_ADMIN in the initial user namespace.
    ///
    /// The kernel takes almost any byte; it is the caller who knows which names are wise.
    ///
    /// # Errors
    /// EEXIST if the name is taken, EINVAL if there is no such device, EPERM; [`Error::InvalidRequest`] for a name
    /// that is empty or longer than 63 bytes.
    pub async fn rename(&self, index: u32, name: &str) -> Result<()> {
        let attributes = vec![NldevAttribute::DevIndex(index), NldevAttribute::DevName(name.to_owned())];
        let message = NldevMessage::new(NldevCommand::Set, attributes);
        check_text(&message, name, DEVICE_NAME_MAX)?;
        self.handle.block(message, None).await
    }

    /// Moves a device to the network namespace `netns` is a descriptor of (`SET`). Its user contexts are killed
    /// and its char devices made anew, perhaps under other numbers; its index stays.
    ///
    /// The device must be in the namespace of the calling thread. The kernel does not say whether it moved:
    /// look it up afterwards.
    ///
    /// # Errors
    /// EOPNOTSUPP in shared mode and for drivers that cannot (siw; rxe before 7.3), ENODEV if the device is not in
    /// this namespace, EINVAL if `netns` is no namespace, EEXIST if the name is taken there (7.3), EPERM.
    pub async fn set_netns(&self, index: u32, netns: impl AsFd) -> Result<()> {
        let name = || {
            let attributes = vec![NldevAttribute::DevIndex(index)];
            RequestName::new(&NldevMessage::new(NldevCommand::Set, attributes), false)
        };
        // The message carries the number, so the descriptor must live until the kernel has read it, even if the
        // caller has given up by then.
        let netns =
            netns.as_fd().try_clone_to_owned().map_err(|source| Error::Send { request: name(), source })?;
        let fd = u32::try_from(netns.as_raw_fd())
            .map_err(|_| Error::InvalidRequest { request: name(), reason: "a negative descriptor" })?;
        let attributes = vec![NldevAttribute::DevIndex(index), NldevAttribute::NetNsFd(fd)];
        self.handle.block(NldevMessage::new(NldevCommand::Set, attributes), Some(netns)).await
    }

    /// Switches the self-adapting completion moderation of a device on or off (`SET`). It holds for completion
    /// queues made from then on.
    ///
    /// # Errors
    /// EINVAL if there is no such device, EOPNOTSUPP if the driver cannot, EPERM.
    pub async fn set_adaptive_moderation(&self, index: u32, on: bool) -> Result<()> {
        let attributes = vec![NldevAttribute::DevIndex(index), NldevAttribute::DevDim(on.into())];
        self.handle.block(NldevMessage::new(NldevCommand::Set, attributes), None).await
    }

    /// Makes a sub-device of a device (`NEWDEV`). Since 6.11; mlx5 devices with planes only.
    ///
    /// The kernel gives no index back: look the device up afterwards.
    ///
    /// # Errors
    /// EOPNOTSUPP if the driver cannot, EINVAL if there is no such device or the kernel is older, ENFILE if the name
    /// is taken, EPERM; [`Error::InvalidRequest`] for a name that is empty or longer than 15 bytes.
    pub async fn add_sub_device(&self, parent: u32, name: &str, kind: DeviceType) -> Result<()> {
        let attributes = vec![
            NldevAttribute::DevIndex(parent),
            NldevAttribute::DevName(name.to_owned()),
            NldevAttribute::DevType(kind.number()),
        ];
        let message = NldevMessage::new(NldevCommand::NewDev, attributes);
        check_text(&message, name, SUB_DEVICE_NAME_MAX)?;
        self.handle.block(message, None).await
    }

    /// Removes a sub-device (`DELDEV`). Since 6.11.
    ///
    /// # Errors
    /// EOPNOTSUPP if the device is no sub-device, EINVAL if there is none or the kernel is older, EPERM.
    pub async fn delete_sub_device(&self, index: u32) -> Result<()> {
        let message = NldevMessage::new(NldevCommand::DelDev, vec![NldevAttribute::DevIndex(index)]);
        self.handle.block(message, None).await
    }
}
