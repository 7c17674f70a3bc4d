//! The kubelet device plugin, API v1beta1: offers what [`pool`](crate::pool) finds, over one socket a resource.
//!
//! [`run`] is all that a caller needs. Below it: `manager` starts a `worker` per resource; a worker serves
//! (`endpoint`, `server`), dials itself, registers (`registration`) and does so again whenever the kubelet
//! comes back (`directory`). [`allocate`] and [`preferred`] are pure.

pub mod allocate;
mod backoff;
mod directory;
mod endpoint;
mod error;
mod manager;
mod nodes;
pub mod preferred;
mod registration;
mod server;
mod settings;
mod status;
mod worker;

pub use endpoint::socket_name;
pub use error::{Error, reason};
pub use manager::run;
pub use nodes::{BoxFuture, DeviceNodes, NodeResolver, ResolveError};
pub use settings::{Settings, Timing};
pub use status::{Condition, PluginStatus, ResourceStatus};

/// The API's messages and services, generated from `proto/deviceplugin`.
#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used
)]
pub mod v1beta1 {
    include!(concat!(env!("OUT_DIR"), "/v1beta1.rs"));
}

/// The API version in a registration.
pub const API_VERSION: &str = "v1beta1";
/// The kubelet's socket, in the device plugin directory.
pub const KUBELET_SOCKET: &str = "kubelet.sock";
/// The kubelet's word for a device that may be given out.
pub const HEALTHY: &str = "Healthy";
/// The kubelet's word for one that may not.
pub const UNHEALTHY: &str = "Unhealthy";
