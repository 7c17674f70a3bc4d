//! One [`Inventory`] of a host from netlink and sysfs, collected device by device, and kept up to date.

pub mod chardev;
mod collect;
mod kernel;
mod model;
mod netdev;
#[cfg(test)]
pub(crate) mod testing;
mod uevent;
mod watch;

pub use crate::nl::Guid;
pub use crate::sysfs::{CharDevice, Gid, GidScope, GidType, Pci};
pub use collect::{Collector, Dirty};
pub use kernel::Kernel;
pub use model::{
    DefaultRoute, Device, Driver, Identity, Inventory, Netdev, NetnsMode, Port, Problem, System,
};
pub use watch::{Options, Watch, watch};
