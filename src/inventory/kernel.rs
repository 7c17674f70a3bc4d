//! The NETLINK_RDMA connection of the process, made anew when it has ended.

use std::sync::{Mutex, PoisonError};

use crate::nl;

/// Gives out handles of one connection.
#[derive(Debug, Default)]
pub struct Kernel {
    current: Mutex<Option<nl::Handle>>,
}

impl Kernel {
    /// A handle of the live connection, opening one if there is none. Opening loads `ib_core` where it can be.
    ///
    /// # Errors
    /// When the socket cannot be opened; [`nl::Error::is_no_rdma`] tells a kernel without RDMA.
    pub fn handle(&self) -> nl::Result<nl::Handle> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = current.as_ref().filter(|handle| !handle.is_closed()) {
            return Ok(handle.clone());
        }
        let (connection, handle, _events) = nl::new_connection()?;
        connection.spawn_on_thread().map_err(nl::Error::Open)?;
        *current = Some(handle.clone());
        Ok(handle)
    }
}
