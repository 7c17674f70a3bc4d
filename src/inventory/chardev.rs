//! The verbs node of a device: asked of the kernel, and of sysfs where the kernel has no such request.

use crate::nl;
use crate::sysfs::{self, CharDevice, Sysfs};

/// The node cannot be told.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum Error {
    /// GET_CHARDEV failed.
    Netlink(nl::Error),
    /// So did its stand-in.
    Sysfs(sysfs::Failure),
}

/// The verbs node of the device `index`, called `name`, with the driver's id where the kernel tells it. `None`:
/// the device has no node, because ib_uverbs is not loaded or it is a sub-device.
///
/// # Errors
/// What the kernel or sysfs says otherwise.
pub async fn uverbs(
    handle: &nl::Handle,
    sysfs: &Sysfs,
    index: u32,
    name: &str,
) -> Result<Option<(CharDevice, Option<nl::DriverId>)>, Error> {
    match handle.chardev().uverbs(index).await {
        Ok(nl::CharDevice { name, major, minor, abi, driver_id, .. }) => {
            Ok(Some((CharDevice { name, major, minor, abi: Some(abi) }, driver_id)))
        }
        Err(error) if error.errno() == Some(nl::errno::EOPNOTSUPP) => Ok(None),
        // Kernels before 5.3 do not know GET_CHARDEV.
        Err(error) if error.errno() == Some(nl::errno::EINVAL) => {
            Ok(sysfs.uverbs(name).map_err(Error::Sysfs)?.map(|node| (node, None)))
        }
        Err(error) => Err(Error::Netlink(error)),
    }
}
