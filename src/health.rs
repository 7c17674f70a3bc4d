//! The health of a device as a whole and why: pure, from what the kernel shows of its ports.
//!
//! Only what keeps a workload from using verbs counts. Management nodes (umad, issm), rdma_cm and IPoIB
//! interfaces never do.

use crate::inventory::{Device, Netdev, Port};

/// Why a device is in its state: CamelCase words, for conditions, events and metric labels.
pub mod reason {
    /// Every port that counts is active.
    pub const PORTS_ACTIVE: &str = "PortsActive";
    /// A port is down though nobody disabled it.
    pub const PORT_DOWN: &str = "PortDown";
    /// A port was switched off, or its netdev was.
    pub const ADMIN_DOWN: &str = "AdminDown";
    /// An InfiniBand port has a link but no subnet manager has brought it up.
    pub const NO_SUBNET_MANAGER: &str = "NoSubnetManager";
    /// The netdev behind an Ethernet port is not there any more.
    pub const NETDEV_GONE: &str = "NetdevGone";
    /// The kernel does not tell the state of a port.
    pub const PORT_STATE_UNKNOWN: &str = "PortStateUnknown";
    /// There is no verbs character device to hand out.
    pub const UVERBS_MISSING: &str = "UverbsMissing";
    /// An InfiniBand device whose GUID is all zeros cannot join a subnet.
    pub const GUID_UNSET: &str = "GuidUnset";
    /// The device was there before and is not now.
    pub const DEVICE_GONE: &str = "DeviceGone";
}

/// How well a device does. The order is from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthState {
    /// Usable, nothing to say.
    Healthy,
    /// Usable, but a port that counts is not.
    Degraded,
    /// Switched off on purpose: not handed out, and not an alarm.
    AdminDown,
    /// Not usable.
    Unhealthy,
}

impl HealthState {
    /// The state's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "Healthy",
            Self::Degraded => "Degraded",
            Self::AdminDown => "AdminDown",
            Self::Unhealthy => "Unhealthy",
        }
    }
}

/// A state with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// How well the device does.
    pub state: HealthState,
    /// One of [`reason`].
    pub reason: &'static str,
    /// The reason in a sentence, naming port and state.
    pub message: String,
}

impl Health {
    /// A state with its reason.
    #[must_use]
    pub fn new(state: HealthState, reason: &'static str, message: impl Into<String>) -> Self {
        Self { state, reason, message: message.into() }
    }

    /// Whether a new pod may get the device: what the kubelet knows as Healthy.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        matches!(self.state, HealthState::Healthy | HealthState::Degraded)
    }
}

/// Which ports must be active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// One is enough.
    #[default]
    Any,
    /// Every one.
    All,
    /// These, by number.
    Listed(Vec<u32>),
}

/// What a device needs in order to count as healthy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Which ports must be active.
    pub ports: Ports,
    /// Ports that are never looked at.
    pub ignore: Vec<u32>,
}

impl Policy {
    fn counts(&self, port: &Port) -> bool {
        !self.ignore.contains(&port.number)
            && match &self.ports {
                Ports::Any | Ports::All => true,
                Ports::Listed(list) => list.contains(&port.number),
            }
    }
}

/// The health of `device`. `netdevs` are those of the host: they tell a port that somebody switched off from
/// one that lost its cable.
#[must_use]
pub fn device_health(device: &Device, netdevs: &[Netdev], policy: &Policy) -> Health {
    let unhealthy = |reason, message| Health::new(HealthState::Unhealthy, reason, message);
    if device.uverbs.is_none() {
        return unhealthy(
            reason::UVERBS_MISSING,
            "no verbs character device: is the module ib_uverbs loaded?".to_owned(),
        );
    }
    if is_infiniband(device) && device.node_guid.is_some_and(|guid| guid.0 == 0) {
        return unhealthy(
            reason::GUID_UNSET,
            "the node GUID is all zeros: the host has not set one".to_owned(),
        );
    }

    let verdicts: Vec<Verdict> = device
        .ports
        .iter()
        .filter(|port| policy.counts(port))
        .map(|port| verdict(device, port, netdevs))
        .collect();
    if verdicts.is_empty() {
        return unhealthy(
            reason::PORT_STATE_UNKNOWN,
            "none of the ports that count could be read".to_owned(),
        );
    }
    let active = verdicts.iter().any(|verdict| verdict.reason == reason::PORTS_ACTIVE);
    // A dark port is not a failure: look for one that is first.
    let failed =
        verdicts.iter().find(|verdict| ![reason::PORTS_ACTIVE, reason::ADMIN_DOWN].contains(&verdict.reason));
    let dark = verdicts.iter().find(|verdict| verdict.reason == reason::ADMIN_DOWN);

    let any = policy.ports == Ports::Any;
    match (active, failed, dark) {
        (true, Some(verdict), _) if any => {
            Health::new(HealthState::Degraded, verdict.reason, &verdict.message)
        }
        (_, Some(verdict), _) => Health::new(HealthState::Unhealthy, verdict.reason, &verdict.message),
        (active, None, Some(verdict)) if !(active && any) => {
            Health::new(HealthState::AdminDown, verdict.reason, &verdict.message)
        }
        _ => Health::new(HealthState::Healthy, reason::PORTS_ACTIVE, active_message(&verdicts)),
    }
}

struct Verdict {
    port: u32,
    reason: &'static str,
    message: String,
}

fn verdict(device: &Device, port: &Port, netdevs: &[Netdev]) -> Verdict {
    let number = port.number;
    let say = |reason, message| Verdict { port: number, reason, message };
    let Some(state) = port.state.as_deref() else {
        return say(reason::PORT_STATE_UNKNOWN, format!("port {number}: the kernel does not tell its state"));
    };
    let phys = port.phys_state.as_deref().unwrap_or("unknown");
    let seen = format!("port {number} is {state}, physical state {phys}");
    if port.is_active() {
        return say(reason::PORTS_ACTIVE, seen);
    }
    if is_infiniband_port(device, port) {
        if ["INIT", "ARMED"].iter().any(|word| state.eq_ignore_ascii_case(word)) {
            return say(reason::NO_SUBNET_MANAGER, format!("{seen}: no subnet manager has activated it"));
        }
    } else if port.netdev.is_none() && has_netdevs(device) {
        return say(reason::NETDEV_GONE, format!("{seen}, and no netdev of this host is behind it"));
    }
    if phys.eq_ignore_ascii_case("DISABLED") {
        // mlx5, irdma and others say DISABLED on Ethernet for any netdev without a carrier. Nobody switched the
        // port off when its netdev is up: a lost cable must not pass for intent.
        let netdev =
            port.netdev.as_deref().and_then(|name| netdevs.iter().find(|netdev| netdev.name == name));
        return match netdev {
            Some(netdev) if netdev.up && !is_infiniband_port(device, port) => {
                say(reason::PORT_DOWN, format!("{seen}, while netdev {} is up: no carrier?", netdev.name))
            }
            _ => say(reason::ADMIN_DOWN, seen),
        };
    }
    say(reason::PORT_DOWN, seen)
}

fn active_message(verdicts: &[Verdict]) -> String {
    let active: Vec<String> = verdicts
        .iter()
        .filter(|verdict| verdict.reason == reason::PORTS_ACTIVE)
        .map(|verdict| verdict.port.to_string())
        .collect();
    format!("active ports: {}", active.join(", "))
}

fn is_infiniband(device: &Device) -> bool {
    device.protocol.as_deref() == Some("ib")
        && device.ports.iter().all(|port| is_infiniband_port(device, port))
}

/// The link layer decides (one mlx4 device can have a port of each); the protocol where sysfs says nothing.
fn is_infiniband_port(device: &Device, port: &Port) -> bool {
    match port.link_layer.as_deref() {
        Some(layer @ ("InfiniBand" | "Ethernet")) => layer == "InfiniBand",
        _ => matches!(device.protocol.as_deref(), Some("ib" | "opa")),
    }
}

/// EFA and other devices of their own protocol never have a netdev: its absence says nothing there.
fn has_netdevs(device: &Device) -> bool {
    matches!(device.protocol.as_deref(), Some("roce" | "iw"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::{CharDevice, Driver, Guid, Identity};

    fn port(number: u32, layer: &str, state: &str, phys: &str) -> Port {
        Port {
            number,
            state: Some(state.to_owned()),
            phys_state: Some(phys.to_owned()),
            link_layer: Some(layer.to_owned()),
            netdev: (layer == "Ethernet").then(|| format!("eth{number}")),
            ..Port::default()
        }
    }

    fn device(protocol: &str, ports: Vec<Port>) -> Device {
        Device {
            index: 0,
            name: "mlx5_0".to_owned(),
            identity: Identity::Pci("0000:1a:00.0".to_owned()),
            driver: Driver { name: "mlx5".to_owned(), module: None },
            node_type: "ca".to_owned(),
            protocol: Some(protocol.to_owned()),
            node_guid: Some(Guid(1)),
            uverbs: Some(CharDevice { name: "uverbs0".to_owned(), major: 231, minor: 192, abi: Some(1) }),
            ports,
            ..Device::default()
        }
    }

    fn netdev(name: &str, up: bool) -> Netdev {
        Netdev { name: name.to_owned(), up, ..Netdev::default() }
    }

    fn judge(device: &Device) -> (HealthState, &'static str) {
        let health = device_health(device, &[], &Policy::default());
        (health.state, health.reason)
    }

    #[test]
    fn one_port_in_each_state() {
        use HealthState::{AdminDown, Healthy, Unhealthy};
        for (protocol, layer, state, phys, expected) in [
            ("ib", "InfiniBand", "ACTIVE", "LINK_UP", (Healthy, reason::PORTS_ACTIVE)),
            ("ib", "InfiniBand", "ACTIVE_DEFER", "LINK_UP", (Healthy, reason::PORTS_ACTIVE)),
            ("ib", "InfiniBand", "INIT", "LINK_UP", (Unhealthy, reason::NO_SUBNET_MANAGER)),
            ("ib", "InfiniBand", "ARMED", "LINK_UP", (Unhealthy, reason::NO_SUBNET_MANAGER)),
            ("opa", "InfiniBand", "INIT", "LINK_UP", (Unhealthy, reason::NO_SUBNET_MANAGER)),
            ("ib", "InfiniBand", "DOWN", "POLLING", (Unhealthy, reason::PORT_DOWN)),
            ("ib", "InfiniBand", "DOWN", "DISABLED", (AdminDown, reason::ADMIN_DOWN)),
            ("roce", "Ethernet", "ACTIVE", "LINK_UP", (Healthy, reason::PORTS_ACTIVE)),
            ("roce", "Ethernet", "DOWN", "DISABLED", (AdminDown, reason::ADMIN_DOWN)),
            ("roce", "Ethernet", "DOWN", "Disabled", (AdminDown, reason::ADMIN_DOWN)),
            ("roce", "Ethernet", "DOWN", "POLLING", (Unhealthy, reason::PORT_DOWN)),
            ("roce", "Ethernet", "INIT", "LINK_UP", (Unhealthy, reason::PORT_DOWN)),
            ("iw", "Ethernet", "ACTIVE", "LINK_UP", (Healthy, reason::PORTS_ACTIVE)),
        ] {
            assert_eq!(
                judge(&device(protocol, vec![port(1, layer, state, phys)])),
                expected,
                "{layer} {state} {phys}"
            );
        }
    }

    #[test]
    fn a_lost_carrier_is_no_intent_and_a_netdev_set_down_is() {
        let device = device("roce", vec![port(1, "Ethernet", "DOWN", "DISABLED")]);
        let judge = |up| device_health(&device, &[netdev("eth1", up)], &Policy::default());
        assert_eq!(judge(true).reason, reason::PORT_DOWN);
        assert!(judge(true).message.contains("eth1"), "{}", judge(true).message);
        assert_eq!(judge(false).reason, reason::ADMIN_DOWN);
    }

    #[test]
    fn a_device_whose_netdev_went_says_so() {
        let mut lost = port(1, "Ethernet", "DOWN", "DISABLED");
        lost.netdev = None;
        assert_eq!(judge(&device("roce", vec![lost.clone()])), (HealthState::Unhealthy, reason::NETDEV_GONE));
        lost.state = Some("ACTIVE".to_owned());
        assert_eq!(judge(&device("roce", vec![lost.clone()])).0, HealthState::Healthy, "it is in a pod");
        lost.state = Some("DOWN".to_owned());
        let efa = device("usnic", vec![lost]);
        assert_eq!(judge(&efa).1, reason::ADMIN_DOWN, "a device of its own protocol has no netdev anyway");
    }

    #[test]
    fn b14_missing_management_nodes_never_matter() {
        let device = device("ib", vec![port(1, "InfiniBand", "ACTIVE", "LINK_UP")]);
        assert!(device.ports.iter().all(|port| port.issm.is_none() && port.umad.is_none()));
        assert_eq!(judge(&device).0, HealthState::Healthy);
    }

    #[test]
    fn b81_one_dark_port_of_two_is_no_failure() {
        let up = port(1, "Ethernet", "ACTIVE", "LINK_UP");
        let dark = port(2, "Ethernet", "DOWN", "DISABLED");
        let both = device("roce", vec![up, dark]);
        assert_eq!(judge(&both).0, HealthState::Healthy);
        let all = device_health(&both, &[], &Policy { ports: Ports::All, ..Policy::default() });
        assert_eq!((all.state, all.is_usable()), (HealthState::AdminDown, false));
        let ignored = device_health(&both, &[], &Policy { ports: Ports::All, ignore: vec![2] });
        assert_eq!(ignored.state, HealthState::Healthy);
        let listed =
            device_health(&both, &[], &Policy { ports: Ports::Listed(vec![2]), ..Policy::default() });
        assert_eq!(listed.state, HealthState::AdminDown);
    }

    #[test]
    fn one_failed_port_of_two_degrades_and_names_itself() {
        let both = device(
            "roce",
            vec![port(1, "Ethernet", "ACTIVE", "LINK_UP"), port(2, "Ethernet", "DOWN", "POLLING")],
        );
        let any = device_health(&both, &[], &Policy::default());
        assert_eq!((any.state, any.is_usable()), (HealthState::Degraded, true));
        assert!(any.message.contains("port 2"), "{}", any.message);
        let all = device_health(&both, &[], &Policy { ports: Ports::All, ..Policy::default() });
        assert_eq!(all.state, HealthState::Unhealthy);
    }

    #[test]
    fn what_is_missing_has_a_reason() {
        let mut without = device("ib", vec![port(1, "InfiniBand", "ACTIVE", "LINK_UP")]);
        without.uverbs = None;
        assert_eq!(judge(&without).1, reason::UVERBS_MISSING);
        let mut unset = device("ib", vec![port(1, "InfiniBand", "DOWN", "LINK_UP")]);
        unset.node_guid = Some(Guid(0));
        assert_eq!(judge(&unset).1, reason::GUID_UNSET);
        unset.protocol = Some("roce".to_owned());
        assert_ne!(judge(&unset).1, reason::GUID_UNSET);
        let mut unread = port(1, "InfiniBand", "ACTIVE", "LINK_UP");
        unread.state = None;
        assert_eq!(judge(&device("ib", vec![unread])).1, reason::PORT_STATE_UNKNOWN);
        assert_eq!(judge(&device("ib", vec![])).1, reason::PORT_STATE_UNKNOWN);
    }
}
