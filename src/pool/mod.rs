//! What a host offers: from its inventory to resources and device ids. Pure, and of no kubelet type: whatever
//! hands devices out (device plugin, DRA) starts here.

mod grace;
pub mod name;

#[cfg(test)]
mod tests;

pub use grace::{Grace, Known};

use crate::health::{self, Health};
use crate::inventory::{Device, Identity, Inventory};

/// What to offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The domain of the resource names: `rdma` gives `rdma/mlx5_0`.
    pub prefix: String,
    /// The most resources a node offers by default.
    pub max: usize,
    /// Whether devices that no pool takes are offered at all.
    pub enabled: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { prefix: "rdma".to_owned(), max: 32, enabled: true }
    }
}

/// Everything a host offers at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The resources, in natural order of their devices' names.
    pub resources: Vec<Resource>,
    /// Devices over the limit, in the same order.
    pub omitted: Vec<String>,
    /// Devices whose resource has another name than they.
    pub renamed: Vec<Renamed>,
}

/// One name a pod can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// `rdma/mlx5_0`
    pub name: String,
    /// What stands behind it, by ascending id.
    pub devices: Vec<PoolDevice>,
}

impl Resource {
    /// The device of this id, if there is one.
    #[must_use]
    pub fn device(&self, id: &str) -> Option<&PoolDevice> {
        self.devices.iter().find(|device| device.id == id)
    }

    /// How many devices a new pod can get.
    #[must_use]
    pub fn usable(&self) -> usize {
        self.devices.iter().filter(|device| device.health.is_usable()).count()
    }
}

/// One thing that is given to one container at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolDevice {
    /// What the kubelet, PodResources and CNIs know it by: the PCI address, or the device's name without one.
    pub id: String,
    /// Kernel index of the RDMA device.
    pub index: u32,
    /// Name of the RDMA device.
    pub device: String,
    /// What stays the same over renames and reboots.
    pub identity: Identity,
    /// NUMA node, where there is an affinity.
    pub numa_node: Option<u32>,
    /// Tail of its environment variables: `MLX5_0`.
    pub env_key: String,
    /// The host's netdev behind the device.
    pub netdev: Option<String>,
    /// Slot of the best GID of that netdev. A pod of its own network namespace has other GIDs on hardware, so
    /// this is for soft devices only.
    pub gid_index: Option<u32>,
    /// How it does.
    pub health: Health,
}

/// A device whose name is not legal, or not free, as a resource name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// Name of the RDMA device.
    pub device: String,
    /// The resource's name.
    pub resource: String,
    /// Another device has the name that it would have.
    pub collision: bool,
}

/// The default rule: each device that is no virtual function and no sub-device is a resource of its own, held by
/// one container at a time. The result does not depend on the order of the inventory.
#[must_use]
pub fn resources(inventory: &Inventory, settings: &Settings) -> Resources {
    if !settings.enabled {
        return Resources::default();
    }
    let mut devices: Vec<&Device> = inventory
        .devices
        .iter()
        .filter(|device| !device.is_virtual_function() && device.parent.is_none())
        .collect();
    devices.sort_by_key(|device| (name::natural(&device.name), &device.name, device.index));
    let omitted = devices.split_off(devices.len().min(settings.max));

    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let segments = name::segments(&names);
    let keys = name::env_keys(&names);
    let mut offered = Resources {
        omitted: omitted.iter().map(|device| device.name.clone()).collect(),
        ..Resources::default()
    };
    for ((device, segment), env_key) in devices.into_iter().zip(segments).zip(keys) {
        let name = format!("{}/{segment}", settings.prefix);
        if segment != device.name {
            let alone = name::segments(&[&device.name]);
            offered.renamed.push(Renamed {
                device: device.name.clone(),
                resource: name.clone(),
                collision: alone.first() != Some(&segment),
            });
        }
        offered.resources.push(Resource { name, devices: vec![pool_device(device, inventory, env_key)] });
    }
    offered
}

fn pool_device(device: &Device, inventory: &Inventory, env_key: String) -> PoolDevice {
    let id = device.pci.as_ref().map_or_else(|| device.name.clone(), |pci| pci.address.clone());
    let gid = || device.ports.iter().find_map(|port| port.best_gid);
    PoolDevice {
        id,
        index: device.index,
        device: device.name.clone(),
        identity: device.identity.clone(),
        numa_node: device.pci.as_ref().and_then(|pci| pci.numa_node),
        env_key,
        netdev: device.netdev().map(str::to_owned),
        gid_index: if device.is_soft() { gid() } else { None },
        health: health::device_health(device, &inventory.netdevs, &health::Policy::default()),
    }
}
