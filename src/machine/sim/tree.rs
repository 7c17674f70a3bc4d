//! The sysfs of a simulated kernel, rendered when it is asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Shared;
use super::state::State;
use super::words::{in_sysfs, node_type, phys_state, port_state};
use crate::machine::document::{Device, Pci, Port};
use crate::machine::errno;
use crate::nl::errno::{EINVAL, ENOENT};
use crate::sysfs::{Entry, Tree};

/// Files of a shared state.
pub(super) struct Rendered(pub(super) Arc<Shared>);

impl fmt::Debug for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rendered")
    }
}

/// Something at a path.
enum Node {
    File(String),
    Folder(Vec<String>),
    Link(PathBuf),
    /// A file whose read fails.
    Bad(i32),
}

impl Rendered {
    fn node(&self, path: &Path) -> io::Result<Node> {
        let state = self.0.state();
        let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
        let fault = state.machine.faults.iter().find(|fault| Path::new(&fault.path) == path);
        let node = match fault {
            Some(fault) => Some(Node::Bad(errno::number(&fault.errno).unwrap_or(EINVAL))),
            None => state.node(&parts),
        };
        match node {
            Some(Node::Bad(errno)) => Err(io::Error::from_raw_os_error(errno)),
            Some(node) => Ok(node),
            None => Err(io::Error::from_raw_os_error(ENOENT)),
        }
    }
}

impl Tree for Rendered {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.reads.files.fetch_add(1, Ordering::Relaxed);
        let mut state = self.0.state();
        if let Some(fault) = state.late_faults.iter_mut().find(|fault| Path::new(&fault.path) == path) {
            match fault.spared.checked_sub(1) {
                Some(left) => fault.spared = left,
                None => return Err(io::Error::from_raw_os_error(fault.errno)),
            }
        }
        drop(state);
        match self.node(path)? {
            Node::File(text) => Ok(format!("{text}\n").into_bytes()),
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.0.reads.folders.fetch_add(1, Ordering::Relaxed);
        match self.node(path)? {
            Node::Folder(names) => {
                let state = self.0.state();
                let number = |name: &str| state.owner_of_node(name).map_or(0, u64::from);
                Ok(names.into_iter().map(|name| Entry { number: number(&name), name }).collect())
            }
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        match self.node(path)? {
            Node::Link(target) => Ok(target),
            _ => Err(io::Error::from_raw_os_error(EINVAL)),
        }
    }

    fn is_dir(&self, path: &Path) -> bool {
        matches!(self.node(path), Ok(Node::Folder(_)))
    }
}

fn file(text: impl Into<String>) -> Option<Node> {
    Some(Node::File(text.into()))
}

fn folder<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Option<Node> {
    Some(Node::Folder(names.into_iter().map(Into::into).collect()))
}

impl State {
    fn node(&self, parts: &[&str]) -> Option<Node> {
        match parts {
            ["class", "infiniband"] => {
                let names: Vec<&str> = self.visible().map(|device| device.name.as_str()).collect();
                self.has_rdma().then(|| folder(names)).flatten()
            }
            ["class", "infiniband", name, rest @ ..] => device(self.named(name)?, rest),
            ["class", "infiniband_verbs", rest @ ..] => self.verbs(rest),
            ["class", "infiniband_mad", rest @ ..] => self.mad(rest),
            ["class", "net"] => folder(self.machine.netdevs.iter().map(|netdev| netdev.name.as_str())),
            ["class", "net", name] => self.netdev(name).and_then(|_| folder(["mtu"])),
            ["class", "net", name, "device"] => {
                let address = self.netdev(name)?.pci.as_deref()?;
                Some(Node::Link(Path::new("/sys/devices").join(address)))
            }
            ["module"] => folder(self.machine.kernel.modules.iter().map(String::as_str)),
            ["module", "ib_core", "holders"] => {
                let holds = |name: &&String| {
                    *name != "ib_core"
                        && (name.starts_with("ib_") || name.starts_with("rdma_") || name.ends_with("_ib"))
                };
                folder(self.machine.kernel.modules.iter().filter(holds).map(String::as_str))
            }
            ["module", name] if self.has_module(name) => folder(["holders"]),
            _ => None,
        }
    }

    /// Index of the device that a char device belongs to.
    fn owner_of_node(&self, name: &str) -> Option<u32> {
        let is = |node: &Option<String>| node.as_deref() == Some(name);
        let owner = self.machine.devices.iter().find(|device| {
            device.uverbs.as_ref().is_some_and(|node| node.name == name)
                || device.ports.iter().any(|port| is(&port.umad) || is(&port.issm))
        });
        owner.map(|device| device.index)
    }

    /// `class/infiniband_verbs`: not bound to a namespace.
    fn verbs(&self, parts: &[&str]) -> Option<Node> {
        let nodes =
            || self.machine.devices.iter().filter_map(|device| Some((device, device.uverbs.as_ref()?)));
        let [name, rest @ ..] = parts else {
            return self.has_rdma().then(|| folder(nodes().map(|(_, node)| node.name.as_str()))).flatten();
        };
        let (device, node) = nodes().find(|(_, node)| node.name == *name)?;
        match rest {
            [] => folder(["ibdev", "dev", "abi_version"]),
            ["ibdev"] => file(&device.name),
            ["dev"] => file(&node.dev),
            ["abi_version"] => file(node.abi?.to_string()),
            _ => None,
        }
    }

    fn mad(&self, parts: &[&str]) -> Option<Node> {
        let ports =
            self.machine.devices.iter().flat_map(|device| device.ports.iter().map(move |p| (device, p)));
        let nodes: BTreeMap<&str, (&Device, &Port)> = ports
            .flat_map(|(device, port)| {
                [&port.umad, &port.issm]
                    .into_iter()
                    .flatten()
                    .map(move |name| (name.as_str(), (device, port)))
            })
            .collect();
        match parts {
            [] if nodes.is_empty() && !self.has_module("ib_umad") => None,
            [] => folder(nodes.into_keys()),
            [name] => nodes.get(name).and_then(|_| folder(["ibdev", "port"])),
            [name, "ibdev"] => file(&nodes.get(name)?.0.name),
            [name, "port"] => file(nodes.get(name)?.1.number.to_string()),
            _ => None,
        }
    }
}

fn device(device: &Device, parts: &[&str]) -> Option<Node> {
    match parts {
        [] => folder(["node_type", "node_guid", "sys_image_guid", "fw_ver", "ports"]),
        ["node_type"] => file(in_sysfs(node_type(&device.node_type), &device.node_type)),
        ["node_guid"] => file(&device.node_guid),
        ["sys_image_guid"] => file(&device.sys_image_guid),
        ["fw_ver"] => file(device.firmware.clone().unwrap_or_default()),
        ["hca_type"] => file(device.hca_type.clone()?),
        ["board_id"] => file(device.board_id.clone()?),
        ["parent"] => file(device.parent_netdev.clone()?),
        ["device"] => Some(Node::Link(path_of(device.pci.as_ref()?))),
        ["device", rest @ ..] => function(device, device.pci.as_ref()?, rest),
        ["hw_counters", rest @ ..] => counters(device.hw_counters.as_ref()?, rest),
        ["ports"] => folder(device.ports.iter().map(|port| port.number.to_string())),
        ["ports", number, rest @ ..] => {
            port(device.ports.iter().find(|port| port.number.to_string() == **number)?, rest)
        }
        _ => None,
    }
}

/// `/sys/devices/pci0000:15/0000:1a:00.0`
fn path_of(pci: &Pci) -> PathBuf {
    let root = pci.root.as_deref().unwrap_or("pci0000:00");
    Path::new("/sys/devices").join(root).join(&pci.address)
}

fn function(device: &Device, pci: &Pci, parts: &[&str]) -> Option<Node> {
    match parts {
        ["vendor"] => file(format!("0x{}", pci.vendor.as_ref()?)),
        ["device"] => file(format!("0x{}", pci.device.as_ref()?)),
        ["class"] => file(format!("0x{}", pci.class.as_ref()?)),
        ["numa_node"] => file(pci.numa_node?.to_string()),
        ["driver"] => Some(Node::Link(Path::new("/sys/bus/pci/drivers").join(device.driver.as_ref()?))),
        ["physfn"] => Some(Node::Link(Path::new("/sys/devices").join(pci.physfn.as_ref()?))),
        _ => None,
    }
}

fn counters(files: &BTreeMap<String, String>, parts: &[&str]) -> Option<Node> {
    match parts {
        [] => folder(files.keys().map(String::as_str)),
        [name] => file(files.get(*name)?),
        _ => None,
    }
}

fn port(port: &Port, parts: &[&str]) -> Option<Node> {
    match parts {
        [] => folder(["state", "phys_state", "rate", "link_layer", "gids"]),
        ["state"] => file(format!("{}: {}", port_state(&port.state), port.state)),
        ["phys_state"] => file(in_sysfs(phys_state(&port.phys_state), &port.phys_state)),
        ["rate"] => file(port.rate.clone()?),
        ["link_layer"] => file(&port.link_layer),
        ["lid"] => file(format!("{:#x}", port.lid?)),
        ["sm_lid"] => file(format!("{:#x}", port.sm_lid?)),
        ["lid_mask_count"] => file(port.lmc?.to_string()),
        ["cap_mask"] => file(format!("{:#010x}", port.cap_mask?)),
        ["gids"] => folder((0..port.gid_table_size).map(|slot| slot.to_string())),
        ["gids", slot] => {
            let empty = "0000:0000:0000:0000:0000:0000:0000:0000";
            let gid = gid(port, slot)?;
            file(gid.map_or(empty, |gid| gid.gid.as_str()))
        }
        ["gid_attrs", folder_name @ ("types" | "ndevs"), slot] => {
            // The kernel answers EINVAL for an empty slot, and for a GID without a netdev.
            let Some(gid) = gid(port, slot)? else { return Some(Node::Bad(EINVAL)) };
            let text = if *folder_name == "types" { &gid.gid_type } else { &gid.netdev };
            text.as_ref().map_or(Some(Node::Bad(EINVAL)), file)
        }
        ["pkeys"] => folder((0..port.pkeys.as_ref()?.len()).map(|index| index.to_string())),
        ["pkeys", index] => file(port.pkeys.as_ref()?.get(index.parse::<usize>().ok()?)?),
        ["counters", rest @ ..] => counters(port.counters.as_ref()?, rest),
        ["hw_counters", rest @ ..] => counters(port.hw_counters.as_ref()?, rest),
        _ => None,
    }
}

/// The slot's GID; `Some(None)` for an empty slot.
fn gid<'a>(port: &'a Port, slot: &str) -> Option<Option<&'a crate::machine::document::Gid>> {
    let slot: u32 = slot.parse().ok()?;
    (slot < port.gid_table_size).then(|| port.gids.iter().find(|gid| gid.index == slot))
}
