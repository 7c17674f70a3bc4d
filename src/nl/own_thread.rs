//! Connections that live on a thread of their own.

use std::io;
use std::sync::mpsc;
use std::thread;

use tokio::runtime;

use super::connection::{Connection, new_connection, new_monitor_connection};
use super::error::{Error, Result};
use super::event::Events;
use super::handle::Handle;

/// As [`new_connection`], served by a thread with a runtime of its own until nobody uses it any more.
///
/// The kernel carries a request out while it is being sent, and some ask a device's firmware: here that delays no
/// task of the caller's runtime. A reply wakes the caller once; on
/// [`spawn_on_thread`](Connection::spawn_on_thread), which shares the caller's I/O driver, it also wakes it for each
/// state of the socket. The thread has the network namespace of the calling one.
///
/// # Errors
/// [`Error::Open`]; [`is_no_rdma`](Error::is_no_rdma) tells a host without RDMA from a fault.
pub fn connect() -> Result<(Handle, Events)> {
    on_own_thread(new_connection)
}

/// As [`connect`], with the kernel's notifications: see [`new_monitor_connection`].
///
/// # Errors
/// [`Error::Open`]; [`Error::Join`] with EPERM on kernels before 6.12 without CAP_NET_ADMIN.
pub fn connect_monitor() -> Result<(Handle, Events)> {
    on_own_thread(new_monitor_connection)
}

fn on_own_thread(open: fn() -> Result<(Connection, Handle, Events)>) -> Result<(Handle, Events)> {
    let (sender, opened) = mpsc::sync_channel(1);
    let serve = move || {
        let runtime = match runtime::Builder::new_current_thread().enable_io().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(sender.send(Err(Error::Open(error)))),
        };
        // The socket belongs to the runtime that it is opened in.
        let inside = runtime.enter();
        let (connection, ends) = match open() {
            Ok((connection, handle, events)) => (connection, (handle, events)),
            Err(error) => return drop(sender.send(Err(error))),
        };
        drop(inside);
        if sender.send(Ok(ends)).is_ok() {
            runtime.block_on(connection);
        }
    };
    thread::Builder::new().name("netlink-rdma".into()).spawn(serve).map_err(Error::Open)?;
    opened.recv().unwrap_or_else(|_| Err(Error::Open(io::Error::other("its thread has ended"))))
}
