//! The NETLINK_RDMA connection of the process, made anew when it has ended.

use std::sync::{Arc, Mutex, PoisonError};

use super::host::Host;
use crate::nl;

/// Gives out handles of one connection to a host's kernel.
#[derive(Debug)]
pub struct Kernel {
    host: Arc<dyn Host>,
    current: Mutex<Option<nl::Handle>>,
}

impl Kernel {
    /// The kernel of `host`; nothing is opened yet.
    #[must_use]
    pub fn new(host: Arc<dyn Host>) -> Self {
        Self { host, current: Mutex::default() }
    }

    /// The host it is the kernel of.
    #[must_use]
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.host
    }

    /// A handle of the live connection, opening one if there is none. Opening loads `ib_core` where it can be.
    ///
    /// # Errors
    /// When the socket cannot be opened; [`nl::Error::is_no_rdma`] tells a kernel without RDMA.
    pub fn handle(&self) -> nl::Result<nl::Handle> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = current.as_ref().filter(|handle| !handle.is_closed()) {
            return Ok(handle.clone());
        }
        let handle = self.host.connect()?;
        *current = Some(handle.clone());
        Ok(handle)
    }
}
