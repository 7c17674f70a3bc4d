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
        parent_netdev: Some(netdev.into()),
        ports: vec![Port {
            number: 1,
            state: Some("ACTIVE".into()),
            netdev: Some(netdev.into()),
            ..Port::default()
        }],
        ..Device::default()
    }
}

/// A netdev that is up.
pub(crate) fn netdev(index: u32, name: &str) -> Netdev {
    Netdev { index, name: name.into(), up: true, carrier: true, mtu: 1500, ..Netdev::default() }
}
