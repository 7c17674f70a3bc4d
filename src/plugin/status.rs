//! What became of the resources, for conditions, metrics and logs.

use std::sync::Arc;

use tokio::sync::watch;

use super::error::{Trouble, reason};
use super::server::{LIST_LIMIT, encode};
use crate::pool::{Renamed, Resource, Resources};

/// How the plugin does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginStatus {
    /// False until the host has been enumerated once.
    pub enumerated: bool,
    /// One entry a resource, by name.
    pub resources: Vec<ResourceStatus>,
    /// Devices over the limit, which are not offered.
    pub omitted: Vec<String>,
    /// Devices whose resource has another name than they.
    pub renamed: Vec<Renamed>,
}

/// How one resource does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceStatus {
    /// `rdma/mlx5_0`
    pub name: String,
    /// Names of the RDMA devices behind it.
    pub devices: Vec<String>,
    /// Device ids on the list.
    pub capacity: usize,
    /// Of those, how many a new pod can get.
    pub usable: usize,
    /// Device ids that the list has no room for.
    pub truncated: usize,
    /// The kubelet has it.
    pub registered: bool,
    /// One of [`reason`].
    pub reason: &'static str,
    /// The reason in a sentence.
    pub message: String,
    /// Registrations that the kubelet took, since the agent started.
    pub registrations: u64,
    /// Times that the server was made anew, since the agent started.
    pub restarts: u64,
}

/// The state of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// True or False.
    pub status: bool,
    /// A CamelCase word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
}

impl PluginStatus {
    /// The state of all resources as one condition, `PluginRegistered`.
    #[must_use]
    pub fn condition(&self) -> Condition {
        let say = |status, reason, message| Condition { status, reason, message };
        if !self.enumerated {
            return say(false, reason::ENUMERATING, "the host's devices are not known yet".to_owned());
        }
        let failed: Vec<&ResourceStatus> =
            self.resources.iter().filter(|resource| !resource.registered).collect();
        match failed.first() {
            None if self.resources.is_empty() => say(true, reason::NO_DEVICES, "nothing to offer".to_owned()),
            None => say(true, reason::REGISTERED, format!("{} resources registered", self.resources.len())),
            Some(first) => {
                let others = match failed.len() - 1 {
                    0 => String::new(),
                    more => format!(" (and {more} more)"),
                };
                say(false, first.reason, format!("{}{others}: {}", first.name, first.message))
            }
        }
    }
}

/// Where manager and workers write the status.
#[derive(Clone, Debug)]
pub(crate) struct Board(Arc<watch::Sender<PluginStatus>>);

impl Board {
    pub(crate) fn new(status: watch::Sender<PluginStatus>) -> Self {
        Self(Arc::new(status))
    }

    /// Takes over what is offered now. Entries of resources that are no more stay until [`Board::remove`].
    pub(crate) fn offer(&self, offered: &Resources) {
        self.0.send_if_modified(|status| {
            let before = status.clone();
            status.enumerated = true;
            status.omitted.clone_from(&offered.omitted);
            status.renamed.clone_from(&offered.renamed);
            for resource in &mut status.resources {
                let gone = offered.resources.iter().all(|offered| offered.name != resource.name);
                if gone {
                    describe(resource, &Resource { name: resource.name.clone(), devices: Vec::new() });
                }
            }
            for resource in &offered.resources {
                let at = status.resources.binary_search_by(|entry| entry.name.cmp(&resource.name));
                let at = at.unwrap_or_else(|at| {
                    status.resources.insert(at, entry(&resource.name));
                    at
                });
                describe(&mut status.resources[at], resource);
            }
            if status.omitted != before.omitted && !status.omitted.is_empty() {
                tracing::warn!(
                    "over the limit of default resources, not offered: {}",
                    status.omitted.join(", ")
                );
            }
            for renamed in &status.renamed {
                if renamed.collision && !before.renamed.contains(renamed) {
                    tracing::warn!(device = renamed.device, "name taken: offered as {}", renamed.resource);
                }
            }
            *status != before
        });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.0.send_if_modified(|status| {
            let before = status.resources.len();
            status.resources.retain(|resource| resource.name != name);
            status.resources.len() != before
        });
    }

    pub(crate) fn registered(&self, name: &str) {
        self.update(name, |resource| {
            if !resource.registered {
                tracing::info!(resource = name, "registered with the kubelet");
            }
            resource.registered = true;
            resource.reason = reason::REGISTERED;
            resource.message = "the kubelet has the resource".to_owned();
            resource.registrations += 1;
        });
    }

    pub(crate) fn restarted(&self, name: &str) {
        self.update(name, |resource| resource.restarts += 1);
    }

    /// Tells why a resource is not registered. Logged when it is news: not at each attempt, not for every resource
    /// that has the same trouble, and not when it has been `told` before.
    pub(crate) fn trouble(&self, name: &str, trouble: Trouble, told: bool) {
        self.0.send_if_modified(|status| {
            let same =
                |entry: &ResourceStatus| entry.reason == trouble.reason && entry.message == trouble.message;
            let known = told || status.resources.iter().any(same);
            let Some(entry) = status.resources.iter_mut().find(|entry| entry.name == name) else {
                return false;
            };
            if known {
                tracing::debug!(
                    resource = name,
                    reason = trouble.reason,
                    "not registered: {}",
                    trouble.message
                );
            } else {
                tracing::warn!(
                    resource = name,
                    reason = trouble.reason,
                    "not registered: {}",
                    trouble.message
                );
            }
            let changed = entry.registered || !same(entry);
            entry.registered = false;
            entry.reason = trouble.reason;
            entry.message = trouble.message;
            changed
        });
    }

    fn update(&self, name: &str, change: impl FnOnce(&mut ResourceStatus)) {
        self.0.send_if_modified(|status| {
            status.resources.iter_mut().find(|entry| entry.name == name).map(change).is_some()
        });
    }
}

fn entry(name: &str) -> ResourceStatus {
    ResourceStatus {
        name: name.to_owned(),
        devices: Vec::new(),
        capacity: 0,
        usable: 0,
        truncated: 0,
        registered: false,
        reason: reason::STARTING,
        message: "not registered yet".to_owned(),
        registrations: 0,
        restarts: 0,
    }
}

fn describe(status: &mut ResourceStatus, resource: &Resource) {
    let (list, cut) = encode(resource, LIST_LIMIT);
    status.devices = resource.devices.iter().map(|device| device.device.clone()).collect();
    status.devices.dedup();
    status.capacity = list.devices.len();
    status.usable = resource.usable();
    status.truncated = cut;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_condition_tells_the_first_failure_and_how_many_more() {
        let mut status = PluginStatus::default();
        assert_eq!((status.condition().status, status.condition().reason), (false, reason::ENUMERATING));
        status.enumerated = true;
        assert_eq!((status.condition().status, status.condition().reason), (true, reason::NO_DEVICES));
        status.resources = vec![entry("rdma/a"), entry("rdma/b")];
        status.resources[0].reason = reason::REGISTRATION_REJECTED;
        status.resources[0].message = "no".to_owned();
        let condition = status.condition();
        assert_eq!((condition.status, condition.reason), (false, reason::REGISTRATION_REJECTED));
        assert_eq!(condition.message, "rdma/a (and 1 more): no");
        status.resources.iter_mut().for_each(|resource| resource.registered = true);
        assert_eq!((status.condition().status, status.condition().reason), (true, reason::REGISTERED));
    }
}
