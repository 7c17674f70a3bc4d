//! One [`Inventory`] of a host from netlink and sysfs, collected device by device, and kept up to date.

mod model;

pub use model::{
    CharDevice, Device, Driver, Gid, GidScope, GidType, Guid, Identity, Inventory, Netdev, NetnsMode, Pci,
    Port, Problem, System,
};
