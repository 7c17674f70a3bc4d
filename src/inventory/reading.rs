//! What reading one host takes, whichever way its devices are told, and what only sysfs tells of them.

use super::dirty::Dirty;
use super::model::{Device, Inventory, Port};
use super::problems::Problems;
use crate::sysfs::{Gid, MadNodes, Sysfs};

/// One going through a host.
pub(super) struct Reading<'a> {
    pub(super) sysfs: &'a Sysfs,
    pub(super) release: &'a str,
    pub(super) dirty: &'a Dirty,
    pub(super) last: &'a Inventory,
    pub(super) problems: &'a mut Problems,
    /// There are the same char devices as at the last inventory.
    pub(super) same_nodes: bool,
    /// The MAD nodes of all ports, read when the first is asked for.
    mad: Option<MadNodes>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        sysfs: &'a Sysfs,
        release: &'a str,
        dirty: &'a Dirty,
        last: &'a Inventory,
        problems: &'a mut Problems,
        same_nodes: bool,
    ) -> Self {
        Self { sysfs, release, dirty, last, problems, same_nodes, mad: None }
    }

    /// A device as it was, with the problems it had: of it at most port states and tables are dirty.
    pub(super) fn keep(&mut self, known: &Device) -> Device {
        self.problems.keep(self.last, |problem| problem.device.as_ref() == Some(&known.name));
        known.clone()
    }

    /// What stays the same while a device lives can be taken from the last inventory at a resync, unless something
    /// of the device could not be read then.
    pub(super) fn fixed<'k>(&self, known: Option<&'k Device>, name: &str) -> Option<&'k Device> {
        let failed = || self.last.problems.iter().any(|problem| problem.device.as_deref() == Some(name));
        known.filter(|known| known.name == name && !self.dirty.devices.contains(&known.index) && !failed())
    }

    /// A file of a device.
    pub(super) fn file(&mut self, device: &str, name: &str) -> Option<String> {
        self.problems.ok(Some(device), self.sysfs.device_file(device, name)).flatten()
    }

    /// A file of a port.
    pub(super) fn port_file(&mut self, device: &str, port: u32, name: &str) -> Option<String> {
        self.problems.ok(Some(device), self.sysfs.port_file(device, port, name)).flatten()
    }

    /// What only sysfs tells of a port. `known` is the device as it was, `fixed` the same where what stays the same
    /// is good.
    pub(super) fn port(
        &mut self,
        device: &str,
        number: u32,
        known: Option<&Device>,
        fixed: Option<&Device>,
    ) -> Port {
        let port = |device: Option<&Device>| {
            device.and_then(|device| device.ports.iter().find(|port| port.number == number)).cloned()
        };
        let clean = port(known.filter(|known| !self.dirty.has_gids_of(known.index)));
        let fixed = port(fixed);
        let (umad, issm) = match &fixed {
            Some(fixed) if self.same_nodes => (fixed.umad.clone(), fixed.issm.clone()),
            _ => self.mad_nodes(device, number),
        };
        let link_layer = match &fixed {
            Some(fixed) => fixed.link_layer.clone(),
            None => self.port_file(device, number, "link_layer"),
        };
        let (gids, pkeys) = match clean {
            Some(clean) => (clean.gids, clean.pkeys),
            None => self.tables(device, number, fixed.as_ref()),
        };
        let rate = self.port_file(device, number, "rate");
        Port { number, link_layer, rate, gids, pkeys, umad, issm, ..Port::default() }
    }

    /// The filled slots of a port's GID table that can be read, and its partition keys. `known` is the port as it
    /// was: keys change on InfiniBand only.
    pub(super) fn tables(&mut self, device: &str, port: u32, known: Option<&Port>) -> (Vec<Gid>, Vec<u16>) {
        let (gids, mut failures) = self.sysfs.gids(device, port);
        let pkeys = match known {
            Some(known) if known.link_layer.as_deref() == Some("Ethernet") => known.pkeys.clone(),
            _ => {
                let (pkeys, others) = self.sysfs.pkeys(device, port);
                failures.extend(others);
                pkeys
            }
        };
        failures.iter().for_each(|failure| self.problems.note(Some(device), failure));
        (gids, pkeys)
    }

    fn mad_nodes(&mut self, device: &str, port: u32) -> (Option<String>, Option<String>) {
        let (problems, sysfs) = (&mut *self.problems, self.sysfs);
        let nodes = self.mad.get_or_insert_with(|| problems.ok(None, sysfs.mad_nodes()).unwrap_or_default());
        nodes.get(&(device.to_owned(), port)).cloned().unwrap_or_default()
    }
}
