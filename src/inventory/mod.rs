//! One [`Inventory`] of a host from netlink and sysfs, collected device by device, and kept up to date.

mod model;

pub use crate::sysfs::{CharDevice, Gid, GidScope, GidType, Pci};
pub use model::{
    DefaultRoute, Device, Driver, Guid, Identity, Inventory, Netdev, NetnsMode, Port, Problem, System,
};
