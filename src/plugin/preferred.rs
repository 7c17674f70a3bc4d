//! Which devices go well together. Pure.

use std::collections::BTreeMap;

use crate::pool::{PoolDevice, Resource, name::natural};

/// `size` ids out of `available`: those of `required` first, then from the NUMA node that most of them are on (or
/// the one that has the most to give), then the rest; ties by the devices' names. Fewer when there are not
/// enough, and ids that are not on the list come last.
#[must_use]
pub fn choose(resource: &Resource, available: &[String], required: &[String], size: usize) -> Vec<String> {
    let mut chosen: Vec<String> = Vec::with_capacity(size);
    for id in required {
        if chosen.len() < size && !chosen.contains(id) {
            chosen.push(id.clone());
        }
    }
    let numa = |id: &String| resource.device(id).and_then(|device| device.numa_node);
    let home = most(chosen.iter().filter_map(numa)).or_else(|| {
        let open = size.saturating_sub(chosen.len());
        // The smallest node that holds them all leaves the larger ones whole.
        let counts = count(available.iter().filter_map(numa));
        counts
            .iter()
            .filter(|&(_, &count)| count >= open)
            .min_by_key(|&(node, count)| (*count, *node))
            .map(|(node, _)| *node)
            .or_else(|| most(available.iter().filter_map(numa)))
    });
    let mut rest: Vec<&String> = available.iter().filter(|&id| !chosen.contains(id)).collect();
    rest.sort_by_cached_key(|id| {
        let device = resource.device(id);
        (
            device.is_none(),
            home.is_none() || numa(id) != home,
            natural(device.map_or("", |d: &PoolDevice| &d.device)),
            *id,
        )
    });
    rest.dedup();
    let open = size.saturating_sub(chosen.len());
    chosen.extend(rest.into_iter().take(open).cloned());
    chosen
}

fn count(nodes: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    nodes.fold(BTreeMap::new(), |mut counts, node| {
        *counts.entry(node).or_default() += 1;
        counts
    })
}

fn most(nodes: impl Iterator<Item = u32>) -> Option<u32> {
    count(nodes)
        .into_iter()
        .max_by_key(|&(node, count)| (count, std::cmp::Reverse(node)))
        .map(|(node, _)| node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{Health, HealthState};
    use crate::inventory::Identity;
    use proptest::prelude::*;

    fn resource(numa: &[Option<u32>]) -> Resource {
        let device = |(index, numa_node): (usize, &Option<u32>)| PoolDevice {
            id: format!("d{index}"),
            index: index as u32,
            device: format!("mlx5_{index}"),
            identity: Identity::Name(String::new()),
            numa_node: *numa_node,
            env_key: String::new(),
            netdev: None,
            gid_index: None,
            health: Health::new(HealthState::Healthy, "PortsActive", ""),
        };
        Resource { name: "rdma/rail".to_owned(), devices: numa.iter().enumerate().map(device).collect() }
    }

    fn ids(numbers: &[usize]) -> Vec<String> {
        numbers.iter().map(|n| format!("d{n}")).collect()
    }

    #[test]
    fn b97_devices_of_one_numa_node_go_together() {
        let rail = resource(&[Some(0), Some(1), Some(0), Some(1), None]);
        let all = ids(&[0, 1, 2, 3, 4]);
        assert_eq!(choose(&rail, &all, &[], 2), ids(&[0, 2]));
        assert_eq!(choose(&rail, &all, &ids(&[3]), 2), ids(&[3, 1]));
        assert_eq!(choose(&rail, &all, &ids(&[4]), 2), ids(&[4, 0]));
        assert_eq!(choose(&rail, &all, &ids(&[1]), 3), ids(&[1, 3, 0]));
        assert_eq!(choose(&rail, &ids(&[0, 1, 3]), &[], 1), ids(&[0]), "the smallest node that is enough");
    }

    proptest! {
        #[test]
        fn the_choice_is_whole_and_unique(
            numa in prop::collection::vec(prop::option::of(0..3_u32), 0..10),
            available in prop::collection::btree_set(0..12_usize, 0..12),
            required in prop::collection::btree_set(0..12_usize, 0..4),
            size in 0..12_usize,
        ) {
            let available = ids(&available.into_iter().collect::<Vec<_>>());
            let required: Vec<_> = ids(&required.into_iter().collect::<Vec<_>>())
                .into_iter().filter(|id| available.contains(id)).collect();
            let chosen = choose(&resource(&numa), &available, &required, size);
            prop_assert_eq!(chosen.len(), size.min(available.len()));
            let unique: std::collections::BTreeSet<_> = chosen.iter().collect();
            prop_assert_eq!(unique.len(), chosen.len());
            prop_assert!(chosen.iter().all(|id| available.contains(id)));
            prop_assert!(size < required.len() || required.iter().all(|id| chosen.contains(id)));
        }
    }
}
