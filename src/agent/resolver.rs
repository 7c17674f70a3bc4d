//! The char devices of an RDMA device for the device plugin, asked of the kernel at the moment they are needed.

use std::sync::Arc;

use tokio::sync::watch;

use crate::inventory::{Inventory, Kernel, chardev};
use crate::nl;
use crate::plugin::{BoxFuture, DeviceNodes, NodeResolver, ResolveError};
use crate::sysfs::Sysfs;

/// Resolves by GET and GET_CHARDEV, and by sysfs on kernels without the latter.
#[derive(Debug)]
pub(super) struct KernelResolver {
    kernel: Arc<Kernel>,
    sysfs: Sysfs,
    inventory: watch::Receiver<Option<Arc<Inventory>>>,
}

impl KernelResolver {
    /// Resolves on the host behind `kernel`; `inventory` knows the names where netlink is refused.
    #[must_use]
    pub(super) fn new(kernel: Arc<Kernel>, inventory: watch::Receiver<Option<Arc<Inventory>>>) -> Self {
        let sysfs = kernel.host().sysfs();
        Self { kernel, sysfs, inventory }
    }

    /// By sysfs alone, as the inventory was made then.
    fn without_netlink(&self, index: u32) -> Result<DeviceNodes, ResolveError> {
        let inventory = self.inventory.borrow().clone();
        let device = inventory.as_ref().and_then(|inventory| inventory.device_by_index(index));
        let device = device.ok_or(ResolveError::DeviceGone { index })?.name.clone();
        let uverbs = self.sysfs.uverbs(&device);
        match uverbs.map_err(|error| ResolveError::Query { index, source: Box::new(error) })? {
            Some(uverbs) => Ok(DeviceNodes { device, uverbs }),
            None => Err(ResolveError::UverbsMissing { device }),
        }
    }

    async fn nodes(&self, index: u32) -> Result<DeviceNodes, ResolveError> {
        let query = |error: nl::Error| ResolveError::Query { index, source: Box::new(error) };
        let Ok(handle) = self.kernel.handle() else { return self.without_netlink(index) };
        // The kernel answers EINVAL, not ENODEV, for an index that no device has.
        let device = match handle.device().get(index).await {
            Ok(device) => device,
            Err(error) if error.errno() == Some(nl::errno::EINVAL) => {
                return Err(ResolveError::DeviceGone { index });
            }
            Err(error) => return Err(query(error)),
        };
        let uverbs = chardev::uverbs(&handle, &self.sysfs, index, &device.name).await;
        match uverbs.map_err(|error| ResolveError::Query { index, source: Box::new(error) })? {
            Some((uverbs, _)) => Ok(DeviceNodes { device: device.name, uverbs }),
            None => Err(ResolveError::UverbsMissing { device: device.name }),
        }
    }
}

impl NodeResolver for KernelResolver {
    fn resolve(&self, index: u32) -> BoxFuture<'_, Result<DeviceNodes, ResolveError>> {
        Box::pin(self.nodes(index))
    }
}
