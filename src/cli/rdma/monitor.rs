//! `monitor`: what the kernel reports of devices.

use anyhow::{Result, bail};

use super::output::Row;
use super::session::Session;
use crate::nl::Event;
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

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
    device: Option<(u32, &'a str)>,
    port: Option<u32>,
    netdev: Option<(u32, &'a str)>,
}

fn row(event: &Event) -> Row {
    let device = |index: &u32, name| Subject { device: Some((*index, name)), ..Subject::default() };
    match event {
        Event::Register { index, name } => line("REGISTER", &device(index, name)),
        Event::Unregister { index, name } => line("UNREGISTER", &device(index, name)),
        Event::NetdevAttach { index, name, port, netdev_index, netdev_name } => line(
            "NETDEV_ATTACH",
            &Subject { port: Some(*port), netdev: Some((*netdev_index, netdev_name)), ..device(index, name) },
        ),
        Event::NetdevDetach { index, name, port } => {
            line("NETDEV_DETACH", &Subject { port: Some(*port), ..device(index, name) })
        }
        Event::Rename { index, name } => line("RENAME", &device(index, name)),
        Event::NetdevRename { netdev_index, netdev_name } => line(
            "NETDEV_RENAME",
            &Subject { netdev: Some((*netdev_index, netdev_name)), ..Subject::default() },
        ),
        Event::Unknown(kind, attributes) => unknown(*kind, attributes),
        // Events were lost or came empty: whoever reads this should read everything again.
        _ => line("RESYNC", &Subject::default()),
    }
}

fn unknown(kind: u8, attributes: &[NldevAttribute]) -> Row {
    let name = attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME);
    let netdev = attributes.get_string(RDMA_NLDEV_ATTR_NDEV_NAME);
    let subject = Subject {
        device: attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX).zip(name.as_deref()),
        port: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX),
        netdev: attributes.get_u32(RDMA_NLDEV_ATTR_NDEV_INDEX).zip(netdev.as_deref()),
    };
    line(&format!("UNKNOWN {kind:#04x}"), &subject)
}

fn line(what: &str, subject: &Subject<'_>) -> Row {
    let mut row = Row::default();
    row.text(format!("[{what}]\t"));
    row.json("event_type", format!("[{what}]"));
    if let Some((index, name)) = subject.device {
        row.text(format!("dev {index} {name}"));
        row.json("rdma_index", index);
        row.json("rdma_dev", name);
    }
    if let Some(port) = subject.port {
        row.text(format!(" port {port}"));
        row.json("port", port);
    }
    if let Some((index, name)) = subject.netdev {
        row.text(format!(" netdev {index} {name}"));
        row.json("netdev_idx", index);
        row.json("netdev_name", name);
    }
    row
}
