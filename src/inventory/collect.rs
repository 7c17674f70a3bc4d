//! One host → one [`Inventory`]. Each device is read on its own, and each of its fields: what fails is a
//! [`Problem`] and costs that field only.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::chardev;
use super::gid::best as best_gid;
use super::kernel::Kernel;
use super::model::{Device, Driver, Identity, Inventory, Netdev, NetnsMode, Port, Problem, System};
use super::movable::movable;
use super::netdev::netdevs;
use super::relation::relations;
use crate::nl;
use crate::sysfs::{self, Sysfs};
use crate::telemetry::chain;

/// What has to be read again; the rest is taken from the last inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dirty {
    /// All devices, netdevs and the system, but no GID table for this alone.
    pub everything: bool,
    /// Netdevs, addresses and routes.
    pub netdevs: bool,
    /// GID tables of all devices. They are long (rxe: 1,024 slots).
    pub gids: bool,
    /// GID tables of these devices, by index.
    pub gids_of: BTreeSet<u32>,
    /// States of these ports: (device index, port).
    pub ports: BTreeSet<(u32, u32)>,
}

impl Dirty {
    /// Nothing is taken from the last inventory.
    #[must_use]
    pub fn all() -> Self {
        Self { everything: true, netdevs: true, gids: true, ..Self::default() }
    }

    /// True when nothing has to be read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what `other` marks.
    pub fn merge(&mut self, other: Self) {
        self.everything |= other.everything;
        self.netdevs |= other.netdevs;
        self.gids |= other.gids;
        self.gids_of.extend(other.gids_of);
        self.ports.extend(other.ports);
    }
}

/// Reads a host, again and again.
pub struct Collector {
    kernel: Arc<Kernel>,
    routes: Option<rtnetlink::Handle>,
    sysfs: Sysfs,
    dev: PathBuf,
    release: String,
}

impl Collector {
    /// Reads by `kernel`, rtnetlink and `sysfs`; `dev` is where the host's /dev is seen.
    #[must_use]
    pub fn new(kernel: Arc<Kernel>, sysfs: Sysfs, dev: PathBuf) -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self { kernel, routes: None, sysfs, dev, release: release.trim().to_owned() }
    }

    /// Reads what is dirty and takes the rest from `last`.
    pub async fn collect(&mut self, last: &Inventory, dirty: &Dirty) -> Inventory {
        let mut problems = Problems::default();
        let handle = problems.open(self.kernel.handle());
        let system = if dirty.everything {
            self.system(handle.as_ref(), &mut problems).await
        } else {
            problems.keep(last, |problem| problem.device.is_none());
            System { rdma_cm: self.rdma_cm(), ..last.system.clone() }
        };
        let netdevs =
            if dirty.netdevs { self.netdevs(last, &mut problems).await } else { last.netdevs.clone() };
        let mut devices = Vec::new();
        if let Some(handle) = &handle {
            if dirty.everything {
                for device in problems.ok(None, handle.device().list().await).unwrap_or_default() {
                    let known = last.device_by_index(device.index);
                    devices.push(self.device(handle, device, known, dirty, &mut problems).await);
                }
            } else {
                for device in &last.devices {
                    problems.keep(last, |problem| problem.device.as_ref() == Some(&device.name));
                    devices.push(self.refresh(handle, device.clone(), dirty, &mut problems).await);
                }
            }
        }
        devices.sort_by_key(|device| device.index);
        relate(&mut devices, &netdevs);
        Inventory { system, devices, netdevs, problems: problems.0 }
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
            modules: problems.read(None, self.sysfs.rdma_modules()).unwrap_or_default(),
            rdma_cm: self.rdma_cm(),
        }
    }

    fn rdma_cm(&self) -> bool {
        self.dev.join("infiniband/rdma_cm").exists()
    }

    async fn netdevs(&mut self, last: &Inventory, problems: &mut Problems) -> Vec<Netdev> {
        let failed = |what: &str, message: String| Problem { device: None, what: what.into(), message };
        if self.routes.is_none() {
            match rtnetlink::new_connection() {
                Ok((connection, handle, _)) => {
                    tokio::spawn(connection);
                    self.routes = Some(handle);
                }
                Err(error) => problems.0.push(failed("the rtnetlink socket", error.to_string())),
            }
        }
        let Some(handle) = &self.routes else { return last.netdevs.clone() };
        match netdevs(handle).await {
            Ok(netdevs) => netdevs,
            Err(error) => {
                self.routes = None;
                problems.0.push(failed("the list of netdevs", chain(&error)));
                last.netdevs.clone()
            }
        }
    }

    /// A device read anew, but for its GIDs where they are known and not dirty.
    async fn device(
        &self,
        handle: &nl::Handle,
        device: nl::Device,
        known: Option<&Device>,
        dirty: &Dirty,
        problems: &mut Problems,
    ) -> Device {
        let name = device.name;
        let pci = problems.read(Some(&name), self.sysfs.pci(&name)).flatten();
        let node = chardev::uverbs(handle, &self.sysfs, device.index, &name).await;
        let (uverbs, driver_id) = problems.ok(Some(&name), node).flatten().unzip();
        let driver_id = driver_id.flatten();
        let module = self.sysfs.driver_module(&name);
        let parent = problems.read(Some(&name), self.sysfs.device_file(&name, "parent")).flatten();
        let protocol = device.protocol;
        let driver = Driver {
            name: driver(driver_id, module.as_deref(), parent.is_some(), protocol.as_deref()),
            module,
        };
        let mut ports = Vec::new();
        for number in 1..=device.port_count {
            let known = known.and_then(|known| known.ports.iter().find(|port| port.number == number));
            ports.push(self.port(handle, device.index, &name, number, known, dirty, problems).await);
        }
        let movable = movable(&driver.name, &self.release);
        let soft = matches!(driver.name.as_str(), "rxe" | "siw");
        let netdev = ports.first().and_then(|port: &Port| port.netdev.clone());
        Device {
            index: device.index,
            identity: identity(pci.as_ref(), device.node_guid, soft, &name),
            driver,
            node_type: device.node_type.map_or("unknown", |node_type| node_type.as_str()).to_owned(),
            protocol,
            node_guid: device.node_guid,
            sys_image_guid: device.sys_image_guid,
            firmware: device.firmware,
            cap_flags: device.cap_flags,
            pci,
            parent_netdev: if soft { parent.or(netdev) } else { None },
            device_type: device.device_type.map(|kind| kind.as_str().to_owned()),
            parent: device.parent,
            companions: Vec::new(),
            movable,
            uverbs,
            ports,
            netdevs: Vec::new(),
            name,
        }
    }

    /// A device of which only port states or GIDs are dirty.
    async fn refresh(
        &self,
        handle: &nl::Handle,
        mut device: Device,
        dirty: &Dirty,
        problems: &mut Problems,
    ) -> Device {
        let (index, name) = (device.index, device.name.clone());
        for port in &mut device.ports {
            if dirty.ports.contains(&(index, port.number)) {
                let answer = handle.port(index).get(port.number).await;
                set_state(port, problems.ok(Some(&name), answer).as_ref());
            }
            if dirty.gids || dirty.gids_of.contains(&index) {
                let gids = problems.read(Some(&name), self.sysfs.gids(&name, port.number));
                port.gids = gids.unwrap_or_default();
            }
        }
        device
    }

    #[allow(clippy::too_many_arguments)]
    async fn port(
        &self,
        handle: &nl::Handle,
        index: u32,
        device: &str,
        number: u32,
        known: Option<&Port>,
        dirty: &Dirty,
        problems: &mut Problems,
    ) -> Port {
        let name = Some(device);
        let answer = problems.ok(name, handle.port(index).get(number).await);
        let file = |file: &str| self.sysfs.port_file(device, number, file);
        let known_gids =
            known.filter(|_| !dirty.gids && !dirty.gids_of.contains(&index)).map(|port| &port.gids);
        let gids = match known_gids {
            Some(gids) => gids.clone(),
            None => problems.read(name, self.sysfs.gids(device, number)).unwrap_or_default(),
        };
        let (umad, issm) = problems.read(name, self.sysfs.mad_nodes(device, number)).unwrap_or_default();
        let mut port = Port {
            number,
            state: None,
            phys_state: None,
            link_layer: problems.read(name, file("link_layer")).flatten(),
            rate: problems.read(name, file("rate")).flatten(),
            lid: answer.as_ref().and_then(|port| port.lid),
            sm_lid: answer.as_ref().and_then(|port| port.sm_lid),
            lmc: answer.as_ref().and_then(|port| port.lmc),
            subnet_prefix: answer.as_ref().and_then(|port| port.subnet_prefix),
            netdev: None,
            best_gid: None,
            gids,
            pkeys: problems.read(name, self.sysfs.pkeys(device, number)).unwrap_or_default(),
            umad,
            issm,
        };
        set_state(&mut port, answer.as_ref());
        port
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
            port.best_gid = best_gid(&port.gids, port.netdev.as_deref()).map(|gid| gid.index);
        }
        device.netdevs = relations(device, netdevs);
    }
}

fn set_state(port: &mut Port, answer: Option<&nl::Port>) {
    port.state = answer.and_then(|port| port.state).map(|state| state.as_str().to_owned());
    port.phys_state = answer.and_then(|port| port.phys_state).map(|state| state.as_str().to_owned());
    port.netdev = answer.and_then(|port| port.netdev_name.clone());
}

/// The verbs driver by its id; else by the module of its function; else, of a virtual device, by what only one
/// of the two soft drivers has.
fn driver(
    id: Option<nl::DriverId>,
    module: Option<&str>,
    has_parent: bool,
    protocol: Option<&str>,
) -> String {
    match (id, module) {
        (Some(id), _) if id.number() != 0 => id.as_str().to_owned(),
        (_, Some(module)) => module.trim_end_matches("_core").trim_end_matches("_pci").to_owned(),
        (_, None) if has_parent => "rxe".to_owned(),
        (_, None) if protocol == Some("iw") => "siw".to_owned(),
        _ => "unknown".to_owned(),
    }
}

fn identity(pci: Option<&sysfs::Pci>, guid: Option<nl::Guid>, soft: bool, name: &str) -> Identity {
    match (pci, guid) {
        (Some(pci), _) => Identity::Pci(pci.address.clone()),
        (None, Some(guid)) if !soft && !guid.is_zero() => Identity::Guid(guid.to_string()),
        _ => Identity::Name(name.to_owned()),
    }
}

/// Failures on the way.
#[derive(Default)]
struct Problems(Vec<Problem>);

impl Problems {
    /// A kernel without RDMA is a state, not a problem.
    fn open(&mut self, handle: nl::Result<nl::Handle>) -> Option<nl::Handle> {
        match handle {
            Err(error) if error.is_no_rdma() => None,
            other => self.ok(None, other),
        }
    }

    fn ok<T, E: std::error::Error + 'static>(
        &mut self,
        device: Option<&str>,
        result: Result<T, E>,
    ) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let message = error.source().map_or_else(|| "no reason given".to_owned(), chain);
        self.0.push(Problem { device: device.map(Into::into), what: error.to_string(), message });
        None
    }

    fn read<T>(&mut self, device: Option<&str>, result: sysfs::Result<T>) -> Option<T> {
        self.ok(device, result)
    }

    /// What was not read again has the problems it had.
    fn keep(&mut self, last: &Inventory, which: impl Fn(&Problem) -> bool) {
        self.0.extend(last.problems.iter().filter(|problem| which(problem)).cloned());
    }
}
