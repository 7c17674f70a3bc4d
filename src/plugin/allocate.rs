//! What a container gets for the device ids that the kubelet chose, and whether it may still have it at a
//! restart. Pure.

use std::collections::HashMap;

use super::nodes::{DeviceNodes, ResolveError, host_path};
use super::v1beta1::{ContainerAllocateResponse, DeviceSpec};
use serde::{Deserialize, Serialize};

use crate::inventory::CharDevice;
use crate::pool::PoolDevice;

/// Why a container does not get a device.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AllocateError {
    /// The id is not on the list.
    #[error("{resource} has no device {id}")]
    UnknownDevice {
        /// The resource.
        resource: String,
        /// The id asked for.
        id: String,
    },
    /// The kernel does not know the device's nodes.
    #[error("device {id} ({device}) cannot be used")]
    Resolve {
        /// Its id.
        id: String,
        /// Its name.
        device: String,
        /// The cause.
        source: ResolveError,
    },
    /// The kernel did not say in time.
    #[error("device {id} ({device}) cannot be used: the kernel did not tell its character devices in time")]
    Timeout {
        /// Its id.
        id: String,
        /// Its name.
        device: String,
    },
    /// The node is not in `/dev`.
    #[error("device {id} ({device}) cannot be used: {} is missing on the host", host_path(node))]
    NodeMissing {
        /// Its id.
        id: String,
        /// Its name.
        device: String,
        /// `uverbs0`
        node: String,
    },
    /// The node in `/dev` is that of something else.
    #[error(
        "device {id} ({device}) cannot be used: {} on the host is {found}, the kernel's is {expected}",
        host_path(node)
    )]
    NodeDiffers {
        /// Its id.
        id: String,
        /// Its name.
        device: String,
        /// `uverbs0`
        node: String,
        /// `major:minor` in `/dev`.
        found: String,
        /// `major:minor` in the kernel.
        expected: String,
    },
    /// The device has another node now than the one that the container was given.
    #[error(
        "device {id} ({device}) is {now} now, and this container was given {then}: delete the pod for a new one to \
         get the device again"
    )]
    Renumbered {
        /// Its id.
        id: String,
        /// Its name.
        device: String,
        /// What the container has.
        then: String,
        /// What it is now.
        now: String,
    },
}

/// A device with its nodes at this moment.
#[derive(Clone, Debug)]
pub struct Grant {
    /// What was asked for.
    pub device: PoolDevice,
    /// Where it is.
    pub nodes: DeviceNodes,
}

/// What each device id was given out as: the kubelet does not ask again when a container restarts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given(HashMap<String, CharDevice>);

impl Given {
    /// Remembers a grant.
    pub fn remember(&mut self, grant: &Grant) {
        self.0.insert(grant.device.id.clone(), grant.nodes.uverbs.clone());
    }

    /// Checks that a device still is what a container was given. Of what was given before anything was
    /// remembered, what the device is now has to do.
    ///
    /// # Errors
    /// [`AllocateError::Renumbered`] when it is something else.
    pub fn check(&self, grant: &Grant) -> Result<(), AllocateError> {
        let now = &grant.nodes.uverbs;
        match self.0.get(&grant.device.id) {
            Some(then) if (&then.name, then.major, then.minor) != (&now.name, now.major, now.minor) => {
                Err(AllocateError::Renumbered {
                    id: grant.device.id.clone(),
                    device: grant.nodes.device.clone(),
                    then: describe(then),
                    now: describe(now),
                })
            }
            _ => Ok(()),
        }
    }
}

fn describe(node: &CharDevice) -> String {
    format!("{} ({}:{})", host_path(&node.name), node.major, node.minor)
}

/// Checks a grant against the numbers of its node in the host's `/dev`.
///
/// # Errors
/// When the node is missing or another device's.
pub fn check_node(grant: &Grant, found: Option<(u32, u32)>) -> Result<(), AllocateError> {
    let uverbs = &grant.nodes.uverbs;
    let (id, device, node) = (grant.device.id.clone(), grant.nodes.device.clone(), uverbs.name.clone());
    match found {
        None => Err(AllocateError::NodeMissing { id, device, node }),
        Some(found) if found != (uverbs.major, uverbs.minor) => Err(AllocateError::NodeDiffers {
            id,
            device,
            node,
            found: format!("{}:{}", found.0, found.1),
            expected: format!("{}:{}", uverbs.major, uverbs.minor),
        }),
        Some(_) => Ok(()),
    }
}

/// What one container gets.
///
/// The kubelet merges the environments of all resources of a container, the first of a name winning: every name
/// carries its device.
#[must_use]
pub fn response(grants: &[Grant], rdma_cm: bool) -> ContainerAllocateResponse {
    let mut response = ContainerAllocateResponse::default();
    for Grant { device, nodes } in grants {
        push_node(&mut response, &nodes.uverbs.name);
        let key = &device.env_key;
        response.envs.insert(format!("RDMA_DEVICE_{key}"), nodes.device.clone());
        if let Some(netdev) = &device.netdev {
            response.envs.insert(format!("RDMA_NETDEV_{key}"), netdev.clone());
        }
        if let Some(index) = device.gid_index {
            response.envs.insert(format!("RDMA_GID_INDEX_{key}"), index.to_string());
        }
    }
    if rdma_cm && !grants.is_empty() {
        push_node(&mut response, "rdma_cm");
    }
    response
}

fn push_node(response: &mut ContainerAllocateResponse, node: &str) {
    let path = host_path(node);
    // Shared devices come several times, and two specs of one path are an error in some runtimes.
    if response.devices.iter().all(|spec| spec.container_path != path) {
        response.devices.push(DeviceSpec {
            container_path: path.clone(),
            host_path: path,
            permissions: "rw".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Health, HealthState};
    use crate::inventory::Identity;

    fn grant(device: &str, node: u32) -> Grant {
        Grant {
            device: PoolDevice {
                id: device.to_owned(),
                index: node,
                device: device.to_owned(),
                identity: Identity::Name(device.to_owned()),
                numa_node: None,
                env_key: device.to_ascii_uppercase(),
                netdev: Some("eth0".to_owned()),
                gid_index: Some(3),
                health: Health::new(HealthState::Healthy, "PortsActive", ""),
            },
            nodes: DeviceNodes {
                device: device.to_owned(),
                uverbs: CharDevice {
                    name: format!("uverbs{node}"),
                    major: 231,
                    minor: 192 + node,
                    abi: None,
                },
            },
        }
    }

    fn paths(response: &ContainerAllocateResponse) -> Vec<&str> {
        response.devices.iter().map(|spec| spec.host_path.as_str()).collect()
    }

    #[test]
    fn a_container_gets_its_nodes_and_nothing_else() {
        let one = response(&[grant("rxe0", 0)], true);
        assert_eq!(paths(&one), ["/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"]);
        assert!(
            one.devices.iter().all(|spec| spec.permissions == "rw" && spec.container_path == spec.host_path)
        );
        assert!(one.mounts.is_empty() && one.annotations.is_empty() && one.cdi_devices.is_empty());
        assert_eq!(one.envs["RDMA_DEVICE_RXE0"], "rxe0");
        assert_eq!(one.envs["RDMA_NETDEV_RXE0"], "eth0");
        assert_eq!(one.envs["RDMA_GID_INDEX_RXE0"], "3");
        assert_eq!(one.envs.len(), 3);
    }

    #[test]
    fn b15_no_rdma_cm_is_no_reason_to_refuse() {
        assert_eq!(paths(&response(&[grant("rxe0", 0)], false)), ["/dev/infiniband/uverbs0"]);
    }

    #[test]
    fn several_devices_share_no_name_and_no_path() {
        let both = response(&[grant("rxe0", 0), grant("rxe1", 1), grant("rxe0", 0)], true);
        assert_eq!(paths(&both).len(), 3);
        assert_eq!(both.envs.len(), 6);
        assert_eq!(response(&[], true), ContainerAllocateResponse::default());
    }

    #[test]
    fn what_is_unknown_is_left_out() {
        let mut bare = grant("mlx5_0", 0);
        bare.device.netdev = None;
        bare.device.gid_index = None;
        assert_eq!(response(&[bare], true).envs.len(), 1);
    }

    #[test]
    fn b16_a_node_that_is_missing_or_anothers_is_named() {
        let text = |found| check_node(&grant("rxe0", 0), found).map_err(|error| error.to_string());
        assert_eq!(text(Some((231, 192))), Ok(()));
        assert!(text(None).unwrap_err().contains("/dev/infiniband/uverbs0 is missing"));
        assert!(text(Some((231, 193))).unwrap_err().contains("231:193"));
    }

    #[test]
    fn a_renumbered_device_is_not_what_was_given() {
        let mut given = Given::default();
        assert!(given.check(&grant("rxe0", 0)).is_ok(), "after a restart there is nothing to compare with");
        given.remember(&grant("rxe0", 0));
        assert!(given.check(&grant("rxe0", 0)).is_ok());
        let text = given.check(&grant("rxe0", 1)).unwrap_err().to_string();
        assert!(text.contains("uverbs0 (231:192)") && text.contains("uverbs1 (231:193)"), "{text}");
        given.remember(&grant("rxe0", 1));
        assert!(given.check(&grant("rxe0", 1)).is_ok());
    }
}
