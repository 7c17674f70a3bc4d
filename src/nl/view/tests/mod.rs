//! Views against what rdma(8) printed of the same replies.

mod counters;
mod resources;

use std::fmt::Write;

use super::{Device, Guid, Port, ResourceSummary, SystemInfo};
use crate::nl::{
    packet::{NldevAttribute, number::*},
    tests::fixtures,
};

const DUMP: u16 = 0x300;

fn show_device(device: &Device) -> String {
    let mut line = format!("{}: {}: node_type {}", device.index, device.name, device.node_type.unwrap());
    if let Some(protocol) = &device.protocol {
        write!(line, " protocol {protocol}").unwrap();
    }
    if let Some(firmware) = &device.firmware {
        write!(line, " fw {firmware}").unwrap();
    }
    write!(
        line,
        " node_guid {} sys_image_guid {}",
        device.node_guid.unwrap(),
        device.sys_image_guid.unwrap()
    )
    .unwrap();
    line
}

fn show_port(port: &Port) -> String {
    let mut line = format!("link {}/{}", port.device_name, port.port);
    if let (Some(prefix), Some(lid), Some(sm_lid), Some(lmc)) =
        (port.subnet_prefix, port.lid, port.sm_lid, port.lmc)
    {
        write!(line, " subnet_prefix {prefix} lid {lid} sm_lid {sm_lid} lmc {lmc}").unwrap();
    }
    write!(line, " state {} physical_state {}", port.state.unwrap(), port.phys_state.unwrap()).unwrap();
    if let Some(netdev) = &port.netdev_name {
        write!(line, " netdev {netdev}").unwrap();
    }
    line
}

/// The recorded text without the space rdma(8) leaves at the end of a line.
fn printed(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).filter(|line| !line.starts_with("    ")).collect()
}

#[test]
fn devices_are_those_printed() {
    for kernel in fixtures::KERNELS {
        for name in ["dev_show", "dev_show_one", "fake_dev"] {
            let case = fixtures::case(kernel, name);
            let replies = case.replies(|kind, flags| kind == 0x1401 && flags & DUMP == 0);
            let replies = if replies.is_empty() { case.replies(|kind, _| kind == 0x1401) } else { replies };
            let shown: Vec<_> = replies
                .into_iter()
                .map(|reply| {
                    let device = Device::from_attributes(reply.attributes.clone()).unwrap();
                    assert_eq!(device.attributes, reply.attributes);
                    show_device(&device)
                })
                .collect();
            // `-d` adds to the line.
            let expected: Vec<_> = printed(&case.text)
                .into_iter()
                .map(|line| line.split(" adaptive-moderation").next().unwrap().to_owned())
                .collect();
            assert!(!shown.is_empty(), "{}", case.name);
            assert_eq!(shown, expected, "{}", case.name);
        }
    }
}

#[test]
fn ports_are_those_printed() {
    for kernel in fixtures::KERNELS {
        for name in ["link_show", "link_show_one", "link_show_dummy_down", "link_show_dummy_up", "fake_link"]
        {
            let case = fixtures::case(kernel, name);
            let shown: Vec<_> = case
                .replies(|kind, _| kind == 0x1405)
                .into_iter()
                .map(|reply| show_port(&Port::from_attributes(reply.attributes).unwrap()))
                .collect();
            let expected: Vec<_> = printed(&case.text)
                .into_iter()
                .map(|line| line.split(" netdev_index").next().unwrap().to_owned())
                .collect();
            assert!(!shown.is_empty(), "{}", case.name);
            assert_eq!(shown, expected, "{}", case.name);
        }
    }
}

#[test]
fn system_is_that_printed() {
    for kernel in fixtures::KERNELS {
        for name in ["sys_show_new", "sys_show_priv_qkey"] {
            let case = fixtures::case(kernel, name);
            let reply = case.replies(|kind, _| kind == 0x1406).remove(0);
            let system = SystemInfo::from_attributes(reply.attributes).unwrap();
            let on = |flag: Option<bool>| if flag.unwrap() { "on" } else { "off" };
            let shown = format!(
                "netns {} privileged-qkey {} monitor {} copy-on-fork {}",
                system.netns_mode.unwrap(),
                on(system.privileged_qkey),
                on(system.monitor),
                on(system.copy_on_fork)
            );
            assert_eq!(shown, case.text.trim_end(), "{}", case.name);
        }
    }
}

#[test]
fn summary_is_that_printed() {
    for kernel in fixtures::KERNELS {
        for name in ["res_idle", "res_all"] {
            let case = fixtures::case(kernel, name);
            let shown: Vec<_> = case
                .replies(|kind, flags| kind == 0x1409 && (flags & DUMP == 0 || name != "res_all"))
                .into_iter()
                .map(|reply| {
                    let summary = ResourceSummary::from_attributes(reply.attributes).unwrap();
                    let mut line = format!("{}: {}:", summary.device_index, summary.device_name);
                    for entry in &summary.entries {
                        write!(line, " {} {}", entry.name, entry.current).unwrap();
                    }
                    line
                })
                .collect();
            assert_eq!(shown, printed(&case.text), "{}", case.name);
        }
    }
}

#[test]
fn guid_prints_and_parses() {
    let guid = Guid(0x5054_00ff_fe12_3456);
    assert_eq!(guid.to_string(), "5054:00ff:fe12:3456");
    assert_eq!("5054:00ff:fe12:3456".parse(), Ok(guid));
    for text in ["", "5054:00ff:fe12", "5054:00ff:fe12:3456:0", "5054:00ff:fe12:+345", "5054:00ff:fe12:345"] {
        assert!(text.parse::<Guid>().is_err(), "{text}");
    }
}

#[test]
fn missing_index_is_named() {
    let missing = Device::from_attributes(vec![NldevAttribute::DevName("rxe0".into())]).unwrap_err();
    assert_eq!(missing.attribute, "RDMA_NLDEV_ATTR_DEV_INDEX");
    assert_eq!(RDMA_NLDEV_ATTR_DEV_INDEX, 1);
}

#[test]
fn unknown_number_is_kept() {
    let port = Port::from_attributes(vec![
        NldevAttribute::DevIndex(0),
        NldevAttribute::DevName("x".into()),
        NldevAttribute::PortIndex(1),
        NldevAttribute::PortState(77),
    ])
    .unwrap();
    assert_eq!(port.state.unwrap().number(), 77);
    assert_eq!(port.state.unwrap().to_string(), "UNKNOWN");
}
