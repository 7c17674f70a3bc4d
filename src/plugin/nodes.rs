//! The character devices behind an RDMA device, as they are at this moment.

use std::path::{Path, PathBuf};
use std::pin::Pin;

use crate::inventory::CharDevice;

/// A future of unknown type.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Answers from the kernel, not from memory: numbers move when drivers reload.
pub trait NodeResolver: Send + Sync {
    /// The nodes of the device of this kernel index, now.
    fn resolve(&self, index: u32) -> BoxFuture<'_, Result<DeviceNodes, ResolveError>>;
}

/// What the kernel has for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNodes {
    /// Name of the RDMA device.
    pub device: String,
    /// Its verbs node.
    pub uverbs: CharDevice,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// No device has that index.
    #[error("the kernel has no RDMA device of index {index} any more")]
    DeviceGone {
        /// The index.
        index: u32,
    },
    /// The device is there without a verbs node.
    #[error("the kernel has no verbs character device for {device}: is the module ib_uverbs loaded?")]
    UverbsMissing {
        /// The device's name.
        device: String,
    },
    /// The kernel could not be asked.
    #[error("cannot ask the kernel for the character devices of the RDMA device of index {index}")]
    Query {
        /// The index.
        index: u32,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The path of a node in a container, and on the host.
pub(crate) fn host_path(node: &str) -> String {
    format!("/dev/infiniband/{node}")
}

/// The host's `/dev`, where this process sees it.
#[derive(Clone, Debug)]
pub(crate) struct DevRoot(pub(crate) PathBuf);

impl DevRoot {
    /// Numbers of the character device that has this name below `infiniband`, if there is one.
    pub(crate) fn numbers(&self, node: &str) -> Option<(u32, u32)> {
        numbers(&self.0.join("infiniband").join(node))
    }

    /// Whether there is an `rdma_cm`.
    pub(crate) fn has_rdma_cm(&self) -> bool {
        self.numbers("rdma_cm").is_some()
    }
}

fn numbers(path: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.file_type().is_char_device() {
        return None;
    }
    let device = metadata.rdev();
    // glibc's gnu_dev_major and gnu_dev_minor.
    let major = ((device >> 8) & 0xfff) | ((device >> 32) & 0xffff_f000);
    let minor = (device & 0xff) | ((device >> 12) & 0xffff_ff00);
    Some((u32::try_from(major).ok()?, u32::try_from(minor).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_node() {
        assert_eq!(numbers(Path::new("/dev/null")), Some((1, 3)));
        assert_eq!(numbers(Path::new("/dev")), None);
        assert_eq!(numbers(Path::new("/dev/no-such-node")), None);
    }
}
