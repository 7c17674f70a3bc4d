//! One [`Inventory`] of a host from netlink and sysfs, collected device by device, and kept up to date.

pub mod chardev;
mod collect;
mod gid;
mod kernel;
mod model;
pub mod movable;
mod netdev;
mod relation;
#[cfg(test)]
pub(crate) mod testing;
mod uevent;
mod watch;

pub use crate::nl::Guid;
pub use crate::sysfs::{CharDevice, Gid, GidScope, GidType, Pci};
pub use collect::{Collector, Dirty};
pub use gid::best as best_gid;
pub use kernel::Kernel;
pub use model::{
    DefaultRoute, Device, Driver, Identity, Inventory, Netdev, NetnsMode, Port, Problem, System,
};
pub use relation::{Relation, Why, relations};
pub use watch::{Options, Watch, watch};
