//! Devices that went away: Unhealthy for a while, so that pods that hold them and a slow boot do not make the
//! node's capacity jump, then dropped.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::{PoolDevice, Resource, Resources};
use crate::health::{Health, HealthState, reason};
use crate::inventory::Identity;

/// A device that this node offered before the agent started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The resource it was under.
    pub resource: String,
    /// Its id there.
    pub id: String,
    /// Its name.
    pub device: String,
}

/// Remembers what was offered and keeps what is gone on the list for a period.
#[derive(Debug)]
pub struct Grace {
    period: Duration,
    seen: BTreeMap<(String, String), (PoolDevice, Option<Instant>)>,
}

impl Grace {
    /// Starts with what was offered before, as if it had gone at `now`.
    #[must_use]
    pub fn new(period: Duration, known: &[Known], now: Instant) -> Self {
        let seen = known.iter().map(|known| {
            let device = PoolDevice {
                id: known.id.clone(),
                // No device has this index: it resolves to nothing, which is right.
                index: u32::MAX,
                device: known.device.clone(),
                identity: Identity::Name(known.device.clone()),
                numa_node: None,
                env_key: String::new(),
                netdev: None,
                gid_index: None,
                health: gone(&known.device),
            };
            ((known.resource.clone(), known.id.clone()), (device, Some(now)))
        });
        Self { period, seen: seen.collect() }
    }

    /// `current` and, as Unhealthy, what was there less than the period ago.
    #[must_use]
    pub fn apply(&mut self, mut current: Resources, now: Instant) -> Resources {
        for resource in &current.resources {
            for device in &resource.devices {
                self.seen.insert((resource.name.clone(), device.id.clone()), (device.clone(), None));
            }
        }
        let period = self.period;
        self.seen.retain(|(resource, id), (device, since)| {
            let present = current.resources.iter().find(|candidate| candidate.name == *resource);
            if present.is_some_and(|resource| resource.device(id).is_some()) {
                return true;
            }
            let since = *since.get_or_insert(now);
            device.health = gone(&device.device);
            now.saturating_duration_since(since) < period
        });
        for ((resource, _), (device, since)) in &self.seen {
            if since.is_none() {
                continue;
            }
            match current.resources.iter_mut().find(|candidate| candidate.name == *resource) {
                Some(resource) => resource.devices.push(device.clone()),
                None => {
                    current.resources.push(Resource { name: resource.clone(), devices: vec![device.clone()] })
                }
            }
        }
        for resource in &mut current.resources {
            resource.devices.sort_by(|a, b| a.id.cmp(&b.id));
        }
        current
    }

    /// When the next device is to be dropped.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.seen.values().filter_map(|(_, since)| *since).min().map(|since| since + self.period)
    }
}

fn gone(device: &str) -> Health {
    Health::new(HealthState::Unhealthy, reason::DEVICE_GONE, format!("{device} is not there any more"))
}
