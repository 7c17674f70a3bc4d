//! `monitor`: what the kernel reports of devices.

use anyhow::{Result, bail};

use super::output::Row;
use super::session::Session;
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};
use crate::nl::{Event, EventType};

/// Prints notifications until it is stopped.
pub(super) async fn run(session: &mut Session<'_>) -> Result<()> {
    let info = session.handle.system().get().await?;
    if info.monitor != Some(true) {
        bail!("this kernel reports nothing of RDMA devices: that came with Linux 6.12");
    }
    session.printer.begin()?;
    session.printer.flush()?;
    loop {
        let event = tokio::select! {
            biased;
            event = session.events.recv() => event,
            () = session.stop.cancelled() => return Ok(()),
        };
        let Some(event) = event else { bail!("the netlink connection has ended") };
        session.row(&row(&event))?;
        session.printer.flush()?;
    }
}

/// What an event may carry.
#[derive(Default)]
struct Subject<'a> {
    index: Option<u32>,
    name: Option<&'a str>,
    port: Option<u32>,
    netdev_index: Option<u32>,
    netdev_name: Option<&'a str>,
}

fn row(event: &Event) -> Row {
    let device = |index: &u32, name| Subject { index: Some(*index), name: Some(name), ..Subject::default() };
    match event {
        Event::Register { index, name } => line(EventType::Register, &device(index, name)),
        Event::Unregister { index, name } => line(EventType::Unregister, &device(index, name)),
        Event::NetdevAttach { index, name, port, netdev_index, netdev_name } => line(
            EventType::NetdevAttach,
            &Subject {
                port: Some(*port),
                netdev_index: Some(*netdev_index),
                netdev_name: Some(netdev_name),
                ..device(index, name)
            },
        ),
        Event::NetdevDetach { index, name, port } => {
            line(EventType::NetdevDetach, &Subject { port: Some(*port), ..device(index, name) })
        }
        Event::Rename { index, name } => line(EventType::Rename, &device(index, name)),
        Event::NetdevRename { netdev_index, netdev_name } => line(
            EventType::NetdevRename,
            &Subject {
                netdev_index: Some(*netdev_index),
                netdev_name: Some(netdev_name),
                ..Subject::default()
            },
        ),
        Event::Unknown { kind, attributes } => unknown(*kind, attributes),
        // Events were lost: whoever reads this should read everything again.
        _ => called("RESYNC", &Subject::default()),
    }
}

/// Whatever it carries.
fn unknown(kind: u8, attributes: &[NldevAttribute]) -> Row {
    let name = attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME);
    let netdev = attributes.get_string(RDMA_NLDEV_ATTR_NDEV_NAME);
    let subject = Subject {
        index: attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX),
        name: name.as_deref(),
        port: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX),
        netdev_index: attributes.get_u32(RDMA_NLDEV_ATTR_NDEV_INDEX),
        netdev_name: netdev.as_deref(),
    };
    line(EventType::from(kind), &subject)
}

fn line(kind: EventType, subject: &Subject<'_>) -> Row {
    match kind {
        EventType::Other(number) => called(&format!("UNKNOWN {number:#04x}"), subject),
        kind => called(kind.as_str(), subject),
    }
}

fn called(what: &str, subject: &Subject<'_>) -> Row {
    let mut row = Row::default();
    row.text(format!("[{what}]\t"));
    row.json("event_type", format!("[{what}]"));
    if let Some(index) = subject.index {
        row.text(format!("dev {index}"));
        row.json("rdma_index", index);
    }
    if let Some(name) = subject.name {
        row.text(format!(" {name}"));
        row.json("rdma_dev", name);
    }
    if let Some(port) = subject.port {
        row.text(format!(" port {port}"));
        row.json("port", port);
    }
    if let Some(index) = subject.netdev_index {
        row.text(format!(" netdev {index}"));
        row.json("netdev_idx", index);
    }
    if let Some(name) = subject.netdev_name {
        row.text(format!(" {name}"));
        row.json("netdev_name", name);
    }
    row
}
