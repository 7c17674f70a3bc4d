//! A host as a machine document: everything its kernel shows over NETLINK_RDMA and in sysfs.
//!
//! What a document cannot say is told in its notes. A file that fails to be read is one of its faults.

mod files;
mod netdevs;
mod port;
mod resources;

use std::sync::Arc;

use super::check::API_VERSION;
use super::document::{Device, KIND, Kernel, Machine, Metadata, NetnsMode, Uverbs};
use crate::inventory::movable::{Movable, movable};
use crate::inventory::{Host, chardev};
use crate::nl;
use crate::sysfs::{MadNodes, Sysfs};
use files::Files;

/// A host cannot be described at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// NETLINK_RDMA is there and cannot be used.
    #[error("NETLINK_RDMA, without which a machine cannot be described")]
    Netlink(#[source] nl::Error),
    /// The network devices cannot be listed.
    #[error("the list of netdevs: {0}")]
    Netdevs(String),
}

/// The machine that `host` is, called `name`.
///
/// # Errors
/// When devices or netdevs cannot be listed. Whatever else fails costs itself only.
pub async fn snapshot(host: Arc<dyn Host>, name: &str) -> Result<Machine, Error> {
    let sysfs = host.sysfs();
    let release = host.release();
    let mut files = Files::new(sysfs.clone());
    let found = host.netdevs().await.map_err(Error::Netdevs)?;
    let netdevs = netdevs::netdevs(found, &mut files.notes);
    let handle = match host.connect() {
        Ok(handle) => Some(handle),
        Err(error) if error.is_no_rdma() => None,
        Err(error) => return Err(Error::Netlink(error)),
    };
    let mut kernel = Kernel {
        release: release.clone(),
        netns_mode: None,
        copy_on_fork: None,
        privileged_qkey: None,
        monitor: None,
        modules: modules(&sysfs),
        other_netns: host.other_netns(),
    };
    let (mut devices, mut resources) = (Vec::new(), Vec::new());
    if let Some(handle) = &handle {
        system(handle, &mut kernel).await;
        let mut listed = handle.device().list().await.map_err(Error::Netlink)?;
        listed.sort_by_key(|device| device.index);
        let mad = sysfs.mad_nodes().unwrap_or_default();
        let mut reader = Reader { handle, files: &mut files, sysfs: &sysfs, release: &release, mad };
        for device in listed {
            resources.extend(resources::of(handle, device.index, &device.name).await);
            devices.push(reader.device(device).await);
        }
    }
    let mut machine = Machine {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: Metadata { name: name.to_owned() },
        notes: None,
        kernel,
        netdevs,
        devices,
        resources,
        char_devices: ["rdma_cm"].into_iter().filter(|node| host.has_node(node)).map(str::to_owned).collect(),
        faults: Vec::new(),
    };
    netdevs::drop_strangers(&mut machine, &mut files.notes);
    machine.faults = files.faults;
    machine.notes = (!files.notes.is_empty()).then(|| files.notes.join(" "));
    Ok(machine)
}

async fn system(handle: &nl::Handle, kernel: &mut Kernel) {
    // Kernels before 5.2 do not know the request.
    let Ok(info) = handle.system().get().await else { return };
    kernel.netns_mode = match info.netns_mode {
        Some(nl::NetnsMode::Shared) => Some(NetnsMode::Shared),
        Some(nl::NetnsMode::Exclusive) => Some(NetnsMode::Exclusive),
        _ => None,
    };
    kernel.copy_on_fork = info.copy_on_fork;
    kernel.privileged_qkey = info.privileged_qkey;
    kernel.monitor = info.monitor;
}

/// Modules that have to do with RDMA or with the netdevs it runs on.
fn modules(sysfs: &Sysfs) -> Vec<String> {
    const NETWORK: [&str; 22] = [
        "8021q",
        "bnxt_en",
        "bonding",
        "bridge",
        "cxgb4",
        "ena",
        "gve",
        "hns3",
        "hv_netvsc",
        "i40e",
        "iavf",
        "ice",
        "ionic",
        "ipvlan",
        "macvlan",
        "mana",
        "mlx4_core",
        "mlx4_en",
        "mlx5_core",
        "qede",
        "rdmavt",
        "virtio_net",
    ];
    let mut names = sysfs.rdma_modules().unwrap_or_default();
    names.extend(NETWORK.iter().filter(|name| sysfs.has_module(name)).map(|name| (*name).to_owned()));
    names.extend(
        ["i40iw", "bnxt_re"].iter().filter(|name| sysfs.has_module(name)).map(|name| (*name).to_owned()),
    );
    names.sort();
    names.dedup();
    names
}

/// Reads devices one by one.
struct Reader<'a> {
    handle: &'a nl::Handle,
    files: &'a mut Files,
    sysfs: &'a Sysfs,
    release: &'a str,
    mad: MadNodes,
}

impl Reader<'_> {
    async fn device(&mut self, device: nl::Device) -> Device {
        let name = device.name;
        let node = chardev::uverbs(self.handle, self.sysfs, device.index, &name).await.ok().flatten();
        let driver_id = node.as_ref().and_then(|(_, id)| *id);
        let uverbs = node.map(|(node, id)| Uverbs {
            name: node.name,
            dev: format!("{}:{}", node.major, node.minor),
            abi: node.abi.and_then(|abi| u32::try_from(abi).ok()),
            driver_id: id.map(nl::DriverId::number),
        });
        let driver = self.sysfs.driver_module(&name);
        let parent_netdev = self.files.device(&name, "parent");
        let word = driver_id.map_or("unknown", |id| id.as_str());
        let soft = driver_id.is_some_and(|id| matches!(id, nl::DriverId::Rxe | nl::DriverId::Siw));
        let mut ports = Vec::new();
        for number in 1..=device.port_count {
            ports.push(self.port(device.index, &name, number).await);
        }
        Device {
            index: device.index,
            node_type: node_type(device.node_type).to_owned(),
            protocol: device.protocol,
            node_guid: device.node_guid.unwrap_or_default().to_string(),
            sys_image_guid: device.sys_image_guid.unwrap_or_default().to_string(),
            firmware: device.firmware.filter(|text| !text.is_empty()),
            cap_flags: device.cap_flags,
            adaptive_moderation: device.adaptive_moderation,
            name_assign_type: device.name_assign_type.map(nl::NameAssignType::number),
            device_type: device.device_type.map(|kind| kind.as_str().to_owned()),
            parent: device.parent,
            movable: movable(word, self.release).0 == Movable::Yes,
            removable: soft,
            hca_type: self.files.device(&name, "hca_type"),
            board_id: self.files.device(&name, "board_id"),
            parent_netdev,
            pci: self.files.pci(&name),
            hw_counters: self.files.folder(&format!("class/infiniband/{name}/hw_counters")),
            driver,
            uverbs,
            ports,
            name,
        }
    }
}

fn node_type(node_type: Option<nl::NodeType>) -> &'static str {
    match node_type {
        Some(nl::NodeType::Ca) => "CA",
        Some(nl::NodeType::Switch) => "SWITCH",
        Some(nl::NodeType::Router) => "ROUTER",
        Some(nl::NodeType::Rnic) => "RNIC",
        Some(nl::NodeType::Usnic) => "USNIC",
        Some(nl::NodeType::UsnicUdp) => "USNIC_UDP",
        _ => "UNSPECIFIED",
    }
}
