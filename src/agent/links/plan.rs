//! Pure: wanted links, links on record and what the kernel shows → steps and a verdict on each link.
//!
//! Doing the steps and looking again gives a plan without steps.

use std::collections::HashMap;

use super::failure::Reason;
use super::owned::{Owned, Records};
use crate::api::{
    AdoptPolicy, DeletionPolicy, LinkType, NetdevSelector, NodeSoftLink, SoftLinkState, WhenInUse,
};
use crate::inventory::{Device, Inventory, Netdev, Port};

/// One change. Steps of one plan are independent of each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make a link.
    Add {
        /// uid of the SoftRdmaLink.
        uid: String,
        /// The record to write first.
        record: Owned,
    },
    /// Give a link of ours another name: its users keep it.
    Rename {
        /// uid of the SoftRdmaLink.
        uid: String,
        /// Kernel index.
        index: u32,
        /// Present name.
        device: String,
        /// The name it gets.
        to: String,
    },
    /// Delete a link that is ours.
    Delete {
        /// uid of the SoftRdmaLink.
        uid: String,
        /// Kernel index.
        index: u32,
        /// Present name.
        device: String,
        /// False: leave it while something uses it.
        even_in_use: bool,
    },
    /// Write a record: what we know of our link has changed, or a link was taken over.
    Record {
        /// uid of the SoftRdmaLink.
        uid: String,
        /// The new record.
        record: Owned,
    },
    /// Drop a record: the link is gone, or stays and is nobody's.
    Forget {
        /// uid of the SoftRdmaLink.
        uid: String,
    },
}

impl Step {
    /// The SoftRdmaLink it is for.
    #[must_use]
    pub fn uid(&self) -> &str {
        match self {
            Self::Add { uid, .. }
            | Self::Rename { uid, .. }
            | Self::Delete { uid, .. }
            | Self::Record { uid, .. }
            | Self::Forget { uid } => uid,
        }
    }
}

/// Where one link stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// uid of the SoftRdmaLink.
    pub uid: String,
    /// Its name.
    pub name: String,
    /// The generation looked at.
    pub generation: i64,
    /// Ready, Pending, Failed or Removing.
    pub state: SoftLinkState,
    /// CamelCase.
    pub reason: &'static str,
    /// In a sentence.
    pub message: String,
    /// The kernel's error number, where there was one.
    pub errno: Option<i32>,
    /// Kernel index of its device.
    pub index: Option<u32>,
    /// The netdev, once resolved.
    pub netdev: Option<String>,
}

/// What to do, and where everything stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Steps, in the order of the links.
    pub steps: Vec<Step>,
    /// One for each wanted link and each being removed.
    pub verdicts: Vec<Verdict>,
}

/// Plans. `wanted` is `None` while it is not known: then nothing is touched.
#[must_use]
pub fn plan(wanted: Option<&[NodeSoftLink]>, records: &Records, inventory: &Inventory) -> Plan {
    let Some(wanted) = wanted else { return Plan::default() };
    let mut ordered: Vec<&NodeSoftLink> = wanted.iter().collect();
    ordered.sort_by(|a, b| (a.created_at.0, &a.uid).cmp(&(b.created_at.0, &b.uid)));
    let mut planner = Planner { records, inventory, claims: HashMap::new(), plan: Plan::default() };
    for link in &ordered {
        planner.wanted(link);
    }
    for (uid, owned) in records.iter().filter(|(uid, _)| !wanted.iter().any(|link| link.uid == **uid)) {
        planner.unwanted(uid, owned);
    }
    planner.plan
}

/// What only one link can have.
#[derive(PartialEq, Eq, Hash)]
enum Claim {
    Netdev(LinkType, String),
    Name(String),
}

struct Planner<'a> {
    records: &'a Records,
    inventory: &'a Inventory,
    /// Who has claimed what: names of older links.
    claims: HashMap<Claim, String>,
    plan: Plan,
}

impl<'a> Planner<'a> {
    fn wanted(&mut self, link: &NodeSoftLink) {
        let (state, reason, message, netdev, index) = match resolve(&link.netdev, self.inventory) {
            Err(message) => {
                let mine = self.mine(&link.uid).map(|device| device.index);
                (SoftLinkState::Failed, Reason::NetdevNotFound.as_str(), message, None, mine)
            }
            Ok(netdev) => {
                let (state, reason, message) = self.on(link, netdev);
                let index = self.mine(&link.uid).map(|device| device.index);
                (state, reason, message, Some(netdev.name.clone()), index)
            }
        };
        self.plan.verdicts.push(Verdict {
            uid: link.uid.clone(),
            name: link.name.clone(),
            generation: link.generation,
            state,
            reason,
            message,
            errno: None,
            index,
            netdev,
        });
    }

    fn on(&mut self, link: &NodeSoftLink, netdev: &Netdev) -> (SoftLinkState, &'static str, String) {
        let name = device_name(link, &netdev.name);
        let record = Owned {
            name: link.name.clone(),
            link_type: link.link_type,
            device: name.clone(),
            netdev: netdev.name.clone(),
            index: None,
            deletion_policy: link.deletion_policy,
            generation: link.generation,
        };
        let mine = self.mine(&link.uid);
        if let Some((reason, message)) = self.claim(link, &name, &netdev.name) {
            if let Some(device) = mine {
                self.delete(link, device, link.update_policy.when_in_use == WhenInUse::Recreate);
            }
            return failed(reason, message);
        }
        match mine {
            Some(device) if device.name == name && device.parent_netdev.as_deref() == Some(&*netdev.name) => {
                let record = Owned { index: Some(device.index), ..record };
                if self.records.get(&link.uid) != Some(&record) {
                    self.plan.steps.push(Step::Record { uid: link.uid.clone(), record });
                }
                port_state(device, netdev)
            }
            Some(device) if device.parent_netdev.as_deref() == Some(&*netdev.name) && !self.swaps(&name) => {
                self.rename(link, device, name)
            }
            Some(device) => {
                let message = format!("{} is being made again as {name} on {}", device.name, netdev.name);
                self.delete(link, device, link.update_policy.when_in_use == WhenInUse::Recreate);
                pending(message)
            }
            None => self.missing(link, record),
        }
    }

    /// True when a device of ours has this name: two links that want each other's can only be made again.
    fn swaps(&self, name: &str) -> bool {
        self.inventory.device(name).is_some_and(|device| self.owner(device).is_some())
    }

    /// Only the name is another: somebody has renamed it, or the spec has.
    fn rename(
        &mut self,
        link: &NodeSoftLink,
        device: &Device,
        to: String,
    ) -> (SoftLinkState, &'static str, String) {
        if self.inventory.device(&to).is_some() {
            let message = format!("{} cannot get the name {to}, which another RDMA device has", device.name);
            return failed(Reason::NameConflict, message);
        }
        let message = format!("{} is being renamed to {to}", device.name);
        let (uid, device) = (link.uid.clone(), device.clone());
        self.plan.steps.push(Step::Rename { uid, index: device.index, device: device.name, to });
        pending(message)
    }

    /// The link is not there: what is in its place?
    fn missing(&mut self, link: &NodeSoftLink, record: Owned) -> (SoftLinkState, &'static str, String) {
        let (kind, netdev) = (link.link_type.as_str(), record.netdev.clone());
        let inventory = self.inventory;
        let occupant = inventory
            .devices
            .iter()
            .find(|device| device.driver.name == kind && device.parent_netdev.as_deref() == Some(&*netdev));
        let namesake = inventory.device(&record.device);
        for device in [occupant, namesake].into_iter().flatten() {
            if let Some(owner) = self.owner(device) {
                return pending(format!("{} still belongs to SoftRdmaLink {owner}", device.name));
            }
        }
        match (occupant, namesake) {
            (Some(device), _) if device.name == record.device && link.adopt == AdoptPolicy::IfIdentical => {
                let message = format!("taking over {}", device.name);
                let record = Owned { index: Some(device.index), ..record };
                self.plan.steps.push(Step::Record { uid: link.uid.clone(), record });
                pending(message)
            }
            (Some(device), _) => {
                let hint =
                    if device.name == record.device { "; adopt: IfIdentical takes it over" } else { "" };
                failed(
                    Reason::NetdevInUse,
                    format!("{netdev} has the {kind} link {} already, which is not ours{hint}", device.name),
                )
            }
            (None, Some(device)) => failed(
                Reason::NameConflict,
                format!("another RDMA device is called {}: choose another deviceName", device.name),
            ),
            (None, None) => {
                let message = format!("making {} on {netdev}", record.device);
                self.plan.steps.push(Step::Add { uid: link.uid.clone(), record });
                pending(message)
            }
        }
    }

    fn unwanted(&mut self, uid: &str, owned: &Owned) {
        let Some(device) = self.mine(uid).filter(|_| owned.deletion_policy == DeletionPolicy::Delete) else {
            self.plan.steps.push(Step::Forget { uid: uid.to_owned() });
            return;
        };
        self.plan.steps.push(Step::Delete {
            uid: uid.to_owned(),
            index: device.index,
            device: device.name.clone(),
            even_in_use: true,
        });
        self.plan.verdicts.push(Verdict {
            uid: uid.to_owned(),
            name: owned.name.clone(),
            generation: owned.generation,
            state: SoftLinkState::Removing,
            reason: "Removing",
            message: format!("removing {}", device.name),
            errno: None,
            index: Some(device.index),
            netdev: Some(owned.netdev.clone()),
        });
    }

    /// Claims netdev and name for a link, or says which older link has them.
    fn claim(&mut self, link: &NodeSoftLink, name: &str, netdev: &str) -> Option<(Reason, String)> {
        let place = Claim::Netdev(link.link_type, netdev.to_owned());
        if let Some(older) = self.claims.get(&place) {
            let message =
                format!("the older SoftRdmaLink {older} has {} on {netdev}", link.link_type.as_str());
            return Some((Reason::NetdevInUse, message));
        }
        let label = Claim::Name(name.to_owned());
        if let Some(older) = self.claims.get(&label) {
            let message =
                format!("the older SoftRdmaLink {older} has the name {name}: choose another deviceName");
            return Some((Reason::NameConflict, message));
        }
        self.claims.insert(place, link.name.clone());
        self.claims.insert(label, link.name.clone());
        None
    }

    fn delete(&mut self, link: &NodeSoftLink, device: &Device, even_in_use: bool) {
        self.plan.steps.push(Step::Delete {
            uid: link.uid.clone(),
            index: device.index,
            device: device.name.clone(),
            even_in_use,
        });
    }

    /// The device of a record, if it is there.
    fn mine(&self, uid: &str) -> Option<&'a Device> {
        device_of(self.records.get(uid)?, self.inventory)
    }

    /// The SoftRdmaLink whose record this device is.
    fn owner(&self, device: &Device) -> Option<&'a str> {
        let owns =
            |owned: &&Owned| device_of(owned, self.inventory).is_some_and(|own| own.index == device.index);
        self.records.values().find(owns).map(|owned| owned.name.as_str())
    }
}

/// By index; by name, type and netdev when we were interrupted before we learnt the index.
fn device_of<'a>(owned: &Owned, inventory: &'a Inventory) -> Option<&'a Device> {
    let device = match owned.index {
        Some(index) => inventory.device_by_index(index)?,
        None => inventory
            .device(&owned.device)
            .filter(|device| device.parent_netdev.as_deref() == Some(&*owned.netdev))?,
    };
    (device.driver.name == owned.link_type.as_str()).then_some(device)
}

fn pending(message: String) -> (SoftLinkState, &'static str, String) {
    (SoftLinkState::Pending, Reason::Creating.as_str(), message)
}

fn failed(reason: Reason, message: String) -> (SoftLinkState, &'static str, String) {
    (SoftLinkState::Failed, reason.as_str(), message)
}

fn port_state(device: &Device, netdev: &Netdev) -> (SoftLinkState, &'static str, String) {
    if device.ports.iter().any(Port::is_active) {
        return (SoftLinkState::Ready, "Ready", format!("{} is up on {}", device.name, netdev.name));
    }
    let why = match (netdev.up, netdev.carrier) {
        (false, _) => format!("bring it up: ip link set {} up", netdev.name),
        (true, false) => "it has no carrier".to_owned(),
        (true, true) => "its port should follow".to_owned(),
    };
    failed(
        Reason::PortDown,
        format!("{} is there but its port is down with {}: {why}", device.name, netdev.name),
    )
}

/// The name of a link's device: as asked for, or `<type>_<netdev>` in the characters a device name may have.
#[must_use]
pub fn device_name(link: &NodeSoftLink, netdev: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-') { c } else { '_' };
    link.device_name.clone().unwrap_or_else(|| {
        let default: String = format!("{}_{netdev}", link.link_type.as_str()).chars().map(legal).collect();
        default.chars().take(63).collect()
    })
}

/// The netdev a selector means on this host, or why there is none.
fn resolve<'a>(selector: &NetdevSelector, inventory: &'a Inventory) -> Result<&'a Netdev, String> {
    if let Some(name) = &selector.name {
        return inventory.netdev(name).ok_or_else(|| format!("there is no netdev {name} on this node"));
    }
    if let Some(cidr) = &selector.cidr {
        let network =
            Network::parse(cidr).ok_or_else(|| format!("{cidr} is no network like 192.0.2.0/24"))?;
        let member =
            |netdev: &&Netdev| netdev.addresses.iter().any(|(address, _)| network.contains(*address));
        return inventory
            .netdevs
            .iter()
            .filter(member)
            // Loopback only where nothing else is meant.
            .min_by_key(|netdev| netdev.name == "lo")
            .ok_or_else(|| format!("no netdev of this node has an address of {cidr}"));
    }
    inventory
        .netdevs
        .iter()
        .filter_map(|netdev| Some((netdev.default_route?, netdev)))
        .min_by_key(|(route, netdev)| (*route, netdev.index))
        .map(|(_, netdev)| netdev)
        .ok_or_else(|| "this node has no default route".to_owned())
}

/// An address and a prefix length.
struct Network {
    bits: u128,
    length: u8,
    ipv6: bool,
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, length) = text.split_once('/')?;
        let (bits, width, ipv6) = bits(address.parse().ok()?);
        let length: u8 = length.parse().ok()?;
        (length <= width).then_some(Self { bits, length, ipv6 })
    }

    fn contains(&self, address: std::net::IpAddr) -> bool {
        let (bits, width, ipv6) = bits(address);
        let shift = u32::from(width.saturating_sub(self.length));
        ipv6 == self.ipv6 && (shift >= 128 || (bits ^ self.bits) >> shift == 0)
    }
}

fn bits(address: std::net::IpAddr) -> (u128, u8, bool) {
    match address {
        std::net::IpAddr::V4(ip) => (u128::from(ip.to_bits()), 32, false),
        std::net::IpAddr::V6(ip) => (ip.to_bits(), 128, true),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
