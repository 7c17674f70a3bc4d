//! The char devices of an RDMA device for the device plugin, asked of the kernel at the moment they are needed.

use std::sync::Arc;

use crate::inventory::{Kernel, chardev};
use crate::nl;
use crate::plugin::{BoxFuture, DeviceNodes, NodeResolver, ResolveError};
use crate::sysfs::Sysfs;

/// Resolves by GET and GET_CHARDEV, and by sysfs on kernels without the latter.
#[derive(Debug)]
pub(super) struct KernelResolver {
    kernel: Arc<Kernel>,
    sysfs: Sysfs,
}

impl KernelResolver {
    /// Resolves by `kernel` and `sysfs`.
    #[must_use]
    pub(super) fn new(kernel: Arc<Kernel>, sysfs: Sysfs) -> Self {
        Self { kernel, sysfs }
    }

    async fn nodes(&self, index: u32) -> Result<DeviceNodes, ResolveError> {
        let query = |error: nl::Error| ResolveError::Query { index, source: Box::new(error) };
        let handle = self.kernel.handle().map_err(query)?;
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
