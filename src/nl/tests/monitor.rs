//! Notifications.

use std::io;

use super::{
    fixtures,
    kernel::{connect, notification},
};
use crate::nl::{
    Event, errno,
    packet::{NldevAttribute, NldevMessage},
};

/// What rdma(8) prints of an event.
fn show(event: &Event) -> Option<String> {
    Some(match event {
        Event::Register { index, name } => format!("[REGISTER]\tdev {index} {name}"),
        Event::Unregister { index, name } => format!("[UNREGISTER]\tdev {index} {name}"),
        Event::NetdevAttach { index, name, port, netdev_index, netdev_name } => {
            format!("[NETDEV_ATTACH]\tdev {index} {name} port {port} netdev {netdev_index} {netdev_name}")
        }
        Event::NetdevDetach { index, name, port } => {
            format!("[NETDEV_DETACH]\tdev {index} {name} port {port}")
        }
        Event::Rename { index, name } => format!("[RENAME]\tdev {index} {name}"),
        Event::NetdevRename { netdev_index, netdev_name } => {
            format!("[NETDEV_RENAME]\t netdev {netdev_index} {netdev_name}")
        }
        Event::Unknown { .. } | Event::Resync => return None,
    })
}

#[tokio::test]
async fn recorded_events_are_those_printed() {
    for kernel in fixtures::KERNELS {
        let case = fixtures::case(kernel, "monitor");
        let (_handle, mut events, peer) = connect();
        let mut shown = Vec::new();
        for (sent, datagram) in &case.datagrams {
            if *sent || datagram[4..6] != 0x141c_u16.to_ne_bytes() {
                continue;
            }
            peer.peer.send(Ok(datagram.clone()));
            shown.extend(show(&events.recv().await.unwrap()));
        }
        let printed: Vec<_> = case.text.lines().filter(|line| line.starts_with('[')).collect();
        assert!(!printed.is_empty());
        assert_eq!(shown, printed, "{kernel}");
    }
}

#[test]
fn event_without_its_attributes_keeps_its_type() {
    // As the kernel sends it when the network device lives in another namespace.
    for kind in 0..=5 {
        let attributes = vec![NldevAttribute::EventType(kind)];
        assert_eq!(event(attributes.clone()), Event::Unknown { kind, attributes });
    }
    let part = vec![
        NldevAttribute::DevIndex(3),
        NldevAttribute::DevName("x".into()),
        NldevAttribute::PortIndex(1),
        NldevAttribute::EventType(2),
    ];
    assert_eq!(event(part.clone()), Event::Unknown { kind: 2, attributes: part });
}

#[test]
fn event_without_a_type_is_a_resync() {
    assert_eq!(event(Vec::new()), Event::Resync);
    assert_eq!(event(vec![NldevAttribute::DevIndex(3)]), Event::Resync);
}

fn event(attributes: Vec<NldevAttribute>) -> Event {
    Event::from(NldevMessage::new(crate::nl::packet::NldevCommand::Monitor, attributes))
}

#[test]
fn unknown_event_keeps_its_attributes() {
    let attributes = vec![NldevAttribute::DevIndex(1), NldevAttribute::EventType(99)];
    assert_eq!(event(attributes.clone()), Event::Unknown { kind: 99, attributes });
}

#[test]
fn detach_has_a_port() {
    let attributes = vec![
        NldevAttribute::DevIndex(1),
        NldevAttribute::DevName("x".into()),
        NldevAttribute::PortIndex(2),
        NldevAttribute::EventType(3),
    ];
    assert_eq!(event(attributes), Event::NetdevDetach { index: 1, name: "x".into(), port: 2 });
}

#[tokio::test]
async fn lost_events_are_a_resync_between_the_others() {
    let (_handle, mut events, kernel) = connect();
    let register = |index| {
        notification(vec![
            NldevAttribute::DevIndex(index),
            NldevAttribute::DevName("x".into()),
            NldevAttribute::EventType(0),
        ])
    };
    kernel.send(&[register(1), register(2)]);
    kernel.peer.send(Err(io::Error::from_raw_os_error(errno::ENOBUFS)));
    kernel.send(&[register(3)]);
    let at = |index| Event::Register { index, name: "x".into() };
    for expected in [at(1), at(2), Event::Resync, at(3)] {
        assert_eq!(events.recv().await, Some(expected));
    }
}

#[tokio::test]
async fn undecodable_notification_is_a_resync() {
    let (_handle, mut events, kernel) = connect();
    // A message that claims to be longer than its datagram.
    let mut bytes = super::kernel::datagram(&[notification(vec![NldevAttribute::EventType(1)])]);
    bytes[0] = 200;
    kernel.peer.send(Ok(bytes));
    assert_eq!(events.recv().await, Some(Event::Resync));
}
