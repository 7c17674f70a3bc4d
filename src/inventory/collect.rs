//! One host → one [`Inventory`]. Each device is read on its own, and each of its fields: what fails is a
//! [`Problem`](super::Problem) and costs that field only.

use std::sync::Arc;

use super::by_netlink::{ByNetlink, Mad};
use super::by_sysfs::{BySysfs, Indexes};
use super::dirty::Dirty;
use super::gid::best_of;
use super::host::Host;
use super::kernel::Kernel;
use super::model::{Device, Identity, Inventory, Netdev, NetnsMode, Problem, System};
use super::problems::Problems;
use super::relation::relations;
use crate::nl;
use crate::sysfs::{self, Sysfs};

/// Reads a host, again and again.
#[derive(Debug)]
pub struct Collector {
    kernel: Arc<Kernel>,
    host: Arc<dyn Host>,
    sysfs: Sysfs,
    release: String,
    indexes: Indexes,
}

impl Collector {
    /// Reads what `kernel` is the connection to.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>) -> Self {
        let host = kernel.host().clone();
        let (sysfs, release) = (host.sysfs(), host.release());
        Self { kernel, host, sysfs, release, indexes: Indexes::default() }
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
        let mut devices = match &handle {
            Some(handle) => self.by_netlink(handle, last, &dirty, &mut problems).await,
            None => self.by_sysfs(last, &dirty, &mut problems),
        };
        let rdma = handle.is_some() || !devices.is_empty();
        let system = if dirty.everything {
            System { rdma, ..self.system(handle.as_ref(), &mut problems).await }
        } else {
            problems.keep(last, |problem| problem.device.is_none());
            System { rdma, rdma_cm: self.host.has_node("rdma_cm"), ..last.system.clone() }
        };
        devices.sort_by_key(|device| device.index);
        relate(&mut devices, &netdevs);
        Inventory { system, devices, netdevs, problems: problems.0 }
    }

    async fn by_netlink(
        &self,
        handle: &nl::Handle,
        last: &Inventory,
        dirty: &Dirty,
        problems: &mut Problems,
    ) -> Vec<Device> {
        let (sysfs, release) = (&self.sysfs, self.release.as_str());
        let listed = match dirty.everything || dirty.list || !dirty.devices.is_empty() {
            true => problems.ok(None, handle.device().list().await),
            false => None,
        };
        let mad = Mad::default();
        let mut reader = ByNetlink { handle, sysfs, release, dirty, last, problems, mad };
        let mut devices = Vec::new();
        // What cannot be listed is not gone.
        let Some(listed) = listed else {
            for known in &last.devices {
                devices.push(refreshed(&mut reader, last, known).await);
            }
            return devices;
        };
        for device in listed {
            let known = last.device_by_index(device.index);
            let same = known.filter(|known| known.name == device.name);
            devices.push(match same {
                Some(same) if !dirty.everything && !dirty.devices.contains(&device.index) => {
                    refreshed(&mut reader, last, same).await
                }
                _ => reader.device(device, known).await,
            });
        }
        devices
    }

    fn by_sysfs(&mut self, last: &Inventory, dirty: &Dirty, problems: &mut Problems) -> Vec<Device> {
        let listed = match dirty.everything || dirty.list || !dirty.devices.is_empty() {
            true => problems.ok(None, self.sysfs.devices()),
            false => None,
        };
        let mut reader =
            BySysfs { sysfs: &self.sysfs, release: &self.release, dirty, problems, mad: Mad::default() };
        let Some(listed) = listed else {
            return last.devices.iter().map(|known| refreshed_by_sysfs(&mut reader, last, known)).collect();
        };
        let mut devices = Vec::new();
        for name in listed.unwrap_or_default() {
            let index = self.indexes.of(&name);
            let known = last.device_by_index(index);
            devices.push(match known {
                Some(known) if !dirty.everything && !dirty.devices.contains(&index) => {
                    refreshed_by_sysfs(&mut reader, last, known)
                }
                _ => reader.device(index, &name, known),
            });
        }
        devices
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
        let mut netdevs = match self.host.netdevs().await {
            Ok(netdevs) => netdevs,
            Err(message) => {
                problems.say(None, "the list of netdevs", message);
                return last.netdevs.clone();
            }
        };
        // Kernels before 5.14 do not tell the function over rtnetlink.
        for netdev in netdevs.iter_mut().filter(|netdev| netdev.pci.is_none()) {
            if netdev.kind.is_none() || netdev.is_ipoib() {
                netdev.pci = self.sysfs.netdev_pci(&netdev.name);
            }
        }
        netdevs
    }
}

async fn refreshed(reader: &mut ByNetlink<'_>, last: &Inventory, known: &Device) -> Device {
    let mut device = known.clone();
    reader.problems.keep(last, |problem: &Problem| problem.device.as_ref() == Some(&known.name));
    reader.refresh(&mut device).await;
    device
}

fn refreshed_by_sysfs(reader: &mut BySysfs<'_>, last: &Inventory, known: &Device) -> Device {
    let mut device = known.clone();
    reader.problems.keep(last, |problem| problem.device.as_ref() == Some(&known.name));
    reader.refresh(&mut device);
    device
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
            port.best_gid = best_of(&port.gids, &names).map(|gid| gid.index);
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
pub(super) fn driver(
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
