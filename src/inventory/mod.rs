//! One [`Inventory`] of a host from netlink and sysfs, collected device by device, and kept up to date.

mod by_netlink;
mod by_sysfs;
pub mod chardev;
mod collect;
mod dirty;
mod gid;
mod host;
mod kernel;
mod live;
mod model;
pub mod movable;
mod netdev;
mod problems;
mod reading;
mod relation;
#[cfg(test)]
pub(crate) mod testing;
mod uevent;
mod watch;

pub use crate::nl::Guid;
pub use crate::sysfs::{CharDevice, Gid, GidScope, GidType, Pci};
pub use collect::Collector;
pub use dirty::Dirty;
pub use gid::{NoGid, best as best_gid, usable_here};
pub use host::{Change, Host};
pub use kernel::Kernel;
pub use live::{LiveHost, Options};
pub use model::{
    DefaultRoute, Device, Driver, Identity, Inventory, Netdev, NetnsMode, Port, Problem, System,
};
pub use relation::{Relation, Why, relations};
pub use watch::{Watch, watch};
