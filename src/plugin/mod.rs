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
mod memory;
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

#[cfg(test)]
mod tests {
    use prost::Message;
    use tonic::server::NamedService;

    use super::server::Service;
    use super::v1beta1::device_plugin_server::DevicePluginServer;
    use super::v1beta1::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    /// Tags and types as the kubelet has them, by bytes: both ends of every other test are ours.
    #[test]
    fn messages_are_the_kubelets_on_the_wire() {
        let register = RegisterRequest {
            version: text("v"),
            endpoint: text("e"),
            resource_name: text("r"),
            options: Some(DevicePluginOptions {
                pre_start_required: true,
                get_preferred_allocation_available: true,
            }),
        };
        assert_eq!(register.encode_to_vec(), b"\x0a\x01v\x12\x01e\x1a\x01r\x22\x04\x08\x01\x10\x01");

        let topology = Some(TopologyInfo { nodes: vec![NumaNode { id: 1 }] });
        let list =
            ListAndWatchResponse { devices: vec![Device { id: text("d"), health: text("H"), topology }] };
        assert_eq!(list.encode_to_vec(), b"\x0a\x0c\x0a\x01d\x12\x01H\x1a\x04\x0a\x02\x08\x01");

        let container = ContainerAllocateResponse {
            envs: [(text("k"), text("v"))].into(),
            mounts: vec![Mount { container_path: text("c"), host_path: text("h"), read_only: true }],
            devices: vec![DeviceSpec {
                container_path: text("c"),
                host_path: text("h"),
                permissions: text("rw"),
            }],
            annotations: [(text("a"), text("b"))].into(),
            cdi_devices: vec![CdiDevice { name: text("n") }],
        };
        let allocated = AllocateResponse { container_responses: vec![container] };
        let expected = [
            b"\x0a\x2b".as_slice(),
            b"\x0a\x06\x0a\x01k\x12\x01v",
            b"\x12\x08\x0a\x01c\x12\x01h\x18\x01",
            b"\x1a\x0a\x0a\x01c\x12\x01h\x1a\x02rw",
            b"\x22\x06\x0a\x01a\x12\x01b",
            b"\x2a\x03\x0a\x01n",
        ];
        assert_eq!(allocated.encode_to_vec(), expected.concat());

        let allocate = b"\x0a\x06\x0a\x01a\x0a\x01b".as_slice();
        let container = ContainerAllocateRequest { device_ids: vec![text("a"), text("b")] };
        assert_eq!(
            AllocateRequest::decode(allocate),
            Ok(AllocateRequest { container_requests: vec![container] })
        );
        let start = PreStartContainerRequest::decode(b"\x0a\x01a".as_slice());
        assert_eq!(start, Ok(PreStartContainerRequest { device_ids: vec![text("a")] }));

        let preferred = b"\x0a\x08\x0a\x01a\x12\x01b\x18\x02".as_slice();
        let container = ContainerPreferredAllocationRequest {
            available_device_ids: vec![text("a")],
            must_include_device_ids: vec![text("b")],
            allocation_size: 2,
        };
        let expected = PreferredAllocationRequest { container_requests: vec![container] };
        assert_eq!(PreferredAllocationRequest::decode(preferred), Ok(expected));
        let answer = PreferredAllocationResponse {
            container_responses: vec![ContainerPreferredAllocationResponse { device_ids: vec![text("a")] }],
        };
        assert_eq!(answer.encode_to_vec(), b"\x0a\x03\x0a\x01a");
    }

    #[test]
    fn services_have_the_kubelets_names() {
        assert_eq!(DevicePluginServer::<Service>::NAME, "v1beta1.DevicePlugin");
        assert_eq!(registration_server::SERVICE_NAME, "v1beta1.Registration");
    }
}
