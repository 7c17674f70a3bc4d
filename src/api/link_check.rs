//! The rules of the SoftRdmaLink CRD that its types do not hold, for links that no API server has seen.

use std::net::IpAddr;

use super::link::{NetdevSelector, NodeSelection, SoftRdmaLinkSpec};

/// Everything that the API server would refuse in a spec, a sentence each.
#[must_use]
pub fn faults(spec: &SoftRdmaLinkSpec) -> Vec<String> {
    let mut faults = Vec::new();
    netdev(&spec.netdev, &mut faults);
    if let Some(name) = &spec.device_name
        && !is_device_name(name)
    {
        faults.push(format!(
            "spec.deviceName {name:?}: 1 to 63 letters, digits, '_', '.' and '-', the first a letter or digit"
        ));
    }
    if let Some(nodes) = &spec.nodes {
        selection(nodes, &mut faults);
    }
    faults
}

fn netdev(selector: &NetdevSelector, faults: &mut Vec<String>) {
    let NetdevSelector { name, default_route, cidr } = selector;
    if [name.is_some(), default_route.is_some(), cidr.is_some()].into_iter().filter(|set| *set).count() != 1 {
        faults.push("set exactly one of netdev.name, netdev.defaultRoute and netdev.cidr".to_owned());
    }
    if let Some(name) = name
        && !is_netdev_name(name)
    {
        faults.push(format!("spec.netdev.name {name:?} is no name of a network interface"));
    }
    if *default_route == Some(false) {
        faults.push("spec.netdev.defaultRoute is either true or left out".to_owned());
    }
    if let Some(cidr) = cidr
        && !is_cidr(cidr)
    {
        faults.push(format!("spec.netdev.cidr {cidr:?} must be like 192.0.2.0/24"));
    }
}

fn selection(nodes: &NodeSelection, faults: &mut Vec<String>) {
    if nodes.selector.is_some() == nodes.names.is_some() {
        faults.push("set exactly one of nodes.selector and nodes.names".to_owned());
    }
    if nodes.names.as_ref().is_some_and(Vec::is_empty) {
        faults.push("spec.nodes.names is empty".to_owned());
    }
}

fn is_device_name(name: &str) -> bool {
    let mut characters = name.chars();
    name.len() <= 63
        && characters.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'))
}

fn is_netdev_name(name: &str) -> bool {
    let bad = |c: char| c.is_whitespace() || matches!(c, '/' | ':' | '%');
    (1..=15).contains(&name.len()) && !name.contains(bad) && !matches!(name, "." | "..")
}

fn is_cidr(text: &str) -> bool {
    let parts = text
        .split_once('/')
        .and_then(|(address, length)| Some((address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?)));
    parts.is_some_and(|(address, length)| length <= if address.is_ipv4() { 32 } else { 128 })
}
