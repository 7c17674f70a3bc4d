//! Small hosts for tests.

use super::{Device, Driver, Identity, Netdev, Port};

/// A device with one ACTIVE port on `netdev`, of the driver `driver`.
pub(crate) fn device(index: u32, name: &str, driver: &str, netdev: &str) -> Device {
    Device {
        index,
        name: name.into(),
        identity: Identity::Name(name.into()),
        driver: Driver { name: driver.into(), module: None },
        node_type: "ca".into(),
        protocol: None,
        node_guid: None,
        sys_image_guid: None,
        firmware: None,
        cap_flags: None,
        pci: None,
        parent_netdev: Some(netdev.into()),
        parent: None,
        uverbs: None,
        ports: vec![Port {
            number: 1,
            state: Some("ACTIVE".into()),
            phys_state: None,
            link_layer: None,
            rate: None,
            lid: None,
            sm_lid: None,
            lmc: None,
            subnet_prefix: None,
            netdev: Some(netdev.into()),
            gids: Vec::new(),
            pkeys: Vec::new(),
            umad: None,
            issm: None,
        }],
    }
}

/// A netdev that is up.
pub(crate) fn netdev(index: u32, name: &str) -> Netdev {
    Netdev { index, name: name.into(), up: true, carrier: true, mtu: 1500, ..Netdev::default() }
}
