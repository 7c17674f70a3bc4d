//! RDMA for Kubernetes: an inventory of a host's RDMA devices, a kubelet device plugin, soft links as objects,
//! and the controller that ties them together. Start at [`cli`] to follow a command down.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod agent;
pub mod api;
pub mod cli;
pub mod cluster;
pub mod controller;
pub mod health;
pub mod http;
pub mod inventory;
pub mod machine;
pub mod metrics;
pub mod nl;
pub mod plugin;
pub mod pool;
pub mod sysfs;
pub mod telemetry;
