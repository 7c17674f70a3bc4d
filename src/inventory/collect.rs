//! One host → one [`Inventory`]. Each device is read on its own, and each of its fields: what fails is a
//! [`Problem`](super::Problem) and costs that field only.

use std::sync::Arc;

use super::by_netlink::ByNetlink;
use super::by_sysfs::{BySysfs, Indexes};
use super::dirty::Dirty;
use super::gid::best;
use super::host::Host;
use super::kernel::Kernel;
use super::model::{Device, Identity, Inventory, Netdev, NetnsMode, System};
use super::problems::Problems;
use super::reading::Reading;
use super::relation::relations;
use crate::nl;
use crate::sysfs::{self, NodeStamp, Sysfs};

/// Reads a host, again and again.
#[derive(Debug)]
pub struct Collector {
    kernel: Arc<Kernel>,
    host: Arc<dyn Host>,
    sysfs: Sysfs,
    release: String,
    indexes: Indexes,
    nodes: Option<NodeStamp>,
}

impl Collector {
    /// Reads what `kernel` is the connection to.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>) -> Self {
        let host = kernel.host().clone();
        let (sysfs, release) = (host.sysfs(), host.release());
        Self { kernel, host, sysfs, release, indexes: Indexes::default(), nodes: None }
    }

    /// Reads what is dirty and takes the rest from `last`.
    pub async fn collect(&mut self, last: &Inventory, dirty: &Dirty) -> Inventory {
        let mut dirty = dirty.clone();
        dirty.resolve(last);
        let mut problems = Problems::default();
        let handle = problems.open(self.kernel.handle());
        let netdevs =
            if dirty.netdevs { self.netdevs(last, &mut problems).await } else { last.netdevs.clone() };
        dirty.follow_renames(last, &netdevs);
        // Where devices are read, the list of all nodes says whether each has to be asked for its own.
        let mut same_nodes = false;
        if dirty.needs_list() {
            let nodes = self.sysfs.node_stamp();
            same_nodes = nodes.is_some() && nodes == self.nodes;
            self.nodes = nodes;
        }
        let reading = Reading::new(&self.sysfs, &self.release, &dirty, last, &mut problems, same_nodes);
        let mut devices = match &handle {
            Some(handle) => Self::by_netlink(handle, reading).await,
            None => Self::by_sysfs(reading, &mut self.indexes),
        };
        let rdma = handle.is_some() || !devices.is_empty();
        let system = if dirty.everything {
            System { rdma, ..self.system(handle.as_ref(), &mut problems).await }
        } else {
            problems.keep(last, |problem| problem.device.is_none());
            System { rdma, rdma_cm: self.host.has_node("rdma_cm"), ..last.system.clone() }
        };
        devices.sort_by_key(|device| device.index);
        // What follows from the rest came along with it.
        if devices != last.devices || netdevs != last.netdevs {
            relate(&mut devices, &netdevs);
        }
        Inventory { system, devices, netdevs, problems: problems.0 }
    }

    async fn by_netlink(handle: &nl::Handle, reading: Reading<'_>) -> Vec<Device> {
        let (last, dirty) = (reading.last, reading.dirty);
        let mut reader = ByNetlink { handle, reading };
        let listed = match dirty.needs_list() {
            true => reader.reading.problems.ok(None, handle.device().list().await),
            false => None,
        };
        let mut devices = Vec::new();
        // What cannot be listed is not gone.
        let Some(listed) = listed else {
            for known in &last.devices {
                devices.push(reader.refreshed(known).await);
            }
            return devices;
        };
        for device in listed {
            let known = last.device_by_index(device.index);
            let same = known.filter(|known| known.name == device.name);
            devices.push(match same {
                Some(same) if !dirty.has_device(same.index) => reader.refreshed(same).await,
                _ => reader.device(device, known).await,
            });
        }
        devices
    }

    fn by_sysfs(reading: Reading<'_>, indexes: &mut Indexes) -> Vec<Device> {
        let (last, dirty) = (reading.last, reading.dirty);
        let mut reader = BySysfs { reading };
        let listed = match dirty.needs_list() {
            true => reader.reading.problems.ok(None, reader.reading.sysfs.devices()),
            false => None,
        };
        let Some(listed) = listed else {
            return last.devices.iter().map(|known| reader.refreshed(known)).collect();
        };
        let device = |name: String| {
            let index = indexes.of(&name);
            match last.device_by_index(index) {
                Some(known) if !dirty.has_device(index) => reader.refreshed(known),
                known => reader.device(index, &name, known),
            }
        };
        listed.unwrap_or_default().into_iter().map(device).collect()
    }

    async fn system(&self, handle: Option<&nl::Handle>, problems: &mut Problems) -> System {
        let info = match handle {
            Some(handle) => problems.ok(None, handle.system().get().await),
            None => None,
        };
        let mode = info.as_ref().and_then(|info| info.netns_mode);
        System {
            kernel: self.release.clone(),
            rdma: handle.is_some(),
            netns_mode: match mode {
                Some(nl::NetnsMode::Shared) => NetnsMode::Shared,
                Some(nl::NetnsMode::Exclusive) => NetnsMode::Exclusive,
                _ => NetnsMode::Unknown,
            },
            copy_on_fork: info.as_ref().and_then(|info| info.copy_on_fork),
            privileged_qkey: info.as_ref().and_then(|info| info.privileged_qkey),
            monitor: info.as_ref().and_then(|info| info.monitor),
            modules: problems.ok(None, self.sysfs.rdma_modules()).unwrap_or_default(),
            rdma_cm: self.host.has_node("rdma_cm"),
        }
    }

    async fn netdevs(&self, last: &Inventory, problems: &mut Problems) -> Vec<Netdev> {
        self.host.netdevs().await.unwrap_or_else(|message| {
            problems.say(None, "the list of netdevs", message);
            last.netdevs.clone()
        })
    }
}

/// Fills in what follows from the rest.
fn relate(devices: &mut [Device], netdevs: &[Netdev]) {
    let parents: Vec<(Option<String>, String)> =
        devices.iter().map(|device| (device.parent.clone(), device.name.clone())).collect();
    for device in devices {
        let companions = parents.iter().filter(|(parent, _)| parent.as_ref() == Some(&device.name));
        device.companions = companions.map(|(_, name)| name.clone()).collect();
        device.companions.sort();
        for port in &mut device.ports {
            let own = port.netdev.as_deref();
            let above = netdevs.iter().find(|netdev| Some(netdev.name.as_str()) == own);
            let above = above.and_then(|netdev| netdev.master.as_deref());
            let names: Vec<&str> = own.into_iter().chain(above).collect();
            port.best_gid = best(&port.gids, &names).map(|gid| gid.index);
        }
        device.netdevs = relations(device, netdevs);
    }
}

/// True for drivers without hardware.
pub(super) fn is_soft(driver: &str) -> bool {
    matches!(driver, "rxe" | "siw")
}

/// The verbs driver by its id; else by the module of its function; else, of a virtual device, by what only one
/// of the two soft drivers has.
pub(super) fn driver_name(
    sysfs: &Sysfs,
    id: Option<nl::DriverId>,
    module: Option<&str>,
    has_parent: bool,
    protocol: Option<&str>,
) -> String {
    let name = match (id, module) {
        // irdma has the number of the driver that it replaced.
        (Some(nl::DriverId::Irdma) | None, Some("i40e")) if sysfs.has_module("i40iw") => "i40iw",
        (Some(id), _) if id.number() != 0 => id.as_str(),
        (_, Some(module)) => match module {
            "bnxt_en" => "bnxt_re",
            "hns3" => "hns",
            "i40e" | "ice" | "idpf" => "irdma",
            "qede" => "qedr",
            module => module.trim_end_matches("_core").trim_end_matches("_pci"),
        },
        (_, None) if has_parent => "rxe",
        (_, None) if protocol == Some("iw") => "siw",
        _ => "unknown",
    };
    name.to_owned()
}

/// What stays the same of a device.
pub(super) fn identity(pci: Option<&sysfs::Pci>, guid: Option<nl::Guid>, soft: bool, name: &str) -> Identity {
    match (pci, guid) {
        (Some(pci), _) => Identity::Pci(pci.address.clone()),
        (None, Some(guid)) if !soft && !guid.is_zero() => Identity::Guid(guid.to_string()),
        _ => Identity::Name(name.to_owned()),
    }
}
