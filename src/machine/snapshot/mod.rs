//! A host as a machine document: everything its kernel shows over NETLINK_RDMA and in sysfs.
//!
//! What a document cannot say is told in its notes. A file that fails to be read is one of its faults.

mod files;
mod netdevs;
mod port;
mod resources;
mod source;

use std::sync::Arc;

use super::check::API_VERSION;
use super::document::{Device, KIND, Kernel, Machine, Metadata, NetnsMode};
use crate::inventory::Host;
use crate::inventory::movable::{Movable, movable};
use crate::nl;
use crate::sysfs::{MadNodes, Sysfs};
use files::Files;
use source::Source;

/// A host cannot be described at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// NETLINK_RDMA is there and does not list the devices.
    #[error("the list of RDMA devices over NETLINK_RDMA")]
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
    let (handle, refused) = match host.connect() {
        Ok(handle) => (Some(handle), None),
        Err(error) if error.is_no_rdma() => (None, None),
        Err(error) => (None, Some(error)),
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
    let mad = sysfs.mad_nodes().unwrap_or_default();
    if let Some(handle) = &handle {
        system(handle, &mut kernel).await;
        let mut listed = handle.device().list().await.map_err(Error::Netlink)?;
        listed.sort_by_key(|device| device.index);
        let source = Source::Netlink(handle);
        let mut reader = Reader { source, files: &mut files, sysfs: &sysfs, release: &release, mad };
        for device in listed {
            resources.extend(resources::of(handle, device.index, &device.name).await);
            devices.push(reader.device(device).await);
        }
    } else if let Some(error) = refused {
        files.notes.push(format!(
            "NETLINK_RDMA cannot be used ({error}), so this is what sysfs shows: indexes are made up; modes, \
             resources, capability flags and optional counters are not known."
        ));
        let inventory = source::by_sysfs(&host).await;
        let listed: Vec<nl::Device> = inventory.devices.iter().map(source::as_told).collect();
        let source = Source::Sysfs(inventory);
        let mut reader = Reader { source, files: &mut files, sysfs: &sysfs, release: &release, mad };
        for device in listed {
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
    source: Source<'a>,
    files: &'a mut Files,
    sysfs: &'a Sysfs,
    release: &'a str,
    mad: MadNodes,
}

impl Reader<'_> {
    async fn device(&mut self, device: nl::Device) -> Device {
        let name = device.name;
        let (uverbs, word) = self.source.uverbs(self.sysfs, device.index, &name).await;
        let driver = self.sysfs.driver_module(&name);
        let parent_netdev = self.files.device(&name, "parent");
        let soft = matches!(word.as_str(), "rxe" | "siw");
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
            movable: movable(&word, self.release).0 == Movable::Yes,
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
