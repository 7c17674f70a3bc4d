//! kobject uevents of the RDMA subsystems: the push that kernels before 6.12 have, and the one that says that the
//! subsystem itself has come.

use std::io;

use kobject_uevent::UEvent;
use netlink_sys::{AsyncSocket, AsyncSocketExt, SocketAddr, TokioSocket, protocols::NETLINK_KOBJECT_UEVENT};

/// The kernel's own uevents; group 2 carries udev's.
const KERNEL_GROUP: u32 = 1;

/// A socket that hears uevents.
pub(super) struct Uevents(TokioSocket);

impl Uevents {
    pub(super) fn open() -> io::Result<Self> {
        let mut socket = TokioSocket::new(NETLINK_KOBJECT_UEVENT)?;
        socket.socket_mut().bind(&SocketAddr::new(0, KERNEL_GROUP))?;
        Ok(Self(socket))
    }

    /// Returns when something of RDMA has come, gone or changed its name. Lost events count as one.
    pub(super) async fn rdma(&mut self) -> io::Result<()> {
        loop {
            let bytes = match self.0.recv_from_full().await {
                Ok((bytes, _)) => bytes,
                Err(error) if error.raw_os_error() == Some(crate::nl::errno::ENOBUFS) => return Ok(()),
                Err(error) => return Err(error),
            };
            // What cannot be parsed is not about RDMA: those uevents are plain.
            if UEvent::from_netlink_packet(&bytes)
                .is_ok_and(|event| event.subsystem.starts_with("infiniband"))
            {
                return Ok(());
            }
        }
    }
}
