//! Where an inventory comes from: the kernel this process runs on, or another that looks like one.

use std::fmt;

use futures::future::BoxFuture;
use tokio::sync::mpsc;

use super::model::Netdev;
use crate::nl;
use crate::sysfs::Sysfs;

/// Something of a host has changed, other than what NETLINK_RDMA tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An RDMA device, or a char device of one, has come, gone or changed its name (kobject uevent).
    Device,
    /// A netdev, by ifindex, has come or changed.
    Link(u32),
    /// A netdev has gone: perhaps it took a soft device along.
    LinkGone(u32),
    /// An address of a netdev, by ifindex, has come or gone.
    Address(u32),
    /// A route has changed.
    Route,
    /// Changes were lost: everything may be another.
    Lost,
}

/// A host to be read.
pub trait Host: fmt::Debug + Send + Sync {
    /// `uname -r`
    fn release(&self) -> String;

    /// Its sysfs.
    fn sysfs(&self) -> Sysfs;

    /// Whether `/dev/infiniband/<name>` is there.
    fn has_node(&self, name: &str) -> bool;

    /// How many network namespaces there are besides the initial one, as far as can be seen.
    fn other_netns(&self) -> u32 {
        0
    }

    /// Opens a NETLINK_RDMA connection and drives it. Called within a tokio runtime.
    ///
    /// # Errors
    /// When the socket cannot be opened; [`nl::Error::is_no_rdma`] tells a kernel without RDMA.
    fn connect(&self) -> nl::Result<nl::Handle>;

    /// As [`connect`](Self::connect), for the kernel's notifications, from before this call returns.
    ///
    /// # Errors
    /// When the socket cannot be opened or joined to the group.
    fn monitor(&self) -> nl::Result<nl::Events>;

    /// The netdevs of the host's network namespace, by ascending ifindex; or why they cannot be told.
    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>>;

    /// Other changes, from before this call returns. Called within a tokio runtime.
    fn changes(&self) -> mpsc::Receiver<Change>;
}
