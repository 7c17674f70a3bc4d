//! `link`: ports, and soft devices.

use std::time::Duration;

use anyhow::{Context, Result};

use super::caps;
use super::dev::capabilities;
use super::output::Row;
use super::session::Session;
use super::words::{Target, Words};
use crate::nl::{LinkKind, Port};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show { target: Option<Target> },
    Add { name: String, kind: LinkKind, netdev: String },
    Delete { device: String },
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Add,
    Delete,
}

const WORDS: &[(&str, Word)] =
    &[("show", Word::Show), ("list", Word::Show), ("add", Word::Add), ("delete", Word::Delete)];

/// The kernel waits for as long as some process holds the device; after this the user is told.
const PATIENCE: Duration = Duration::from_secs(3);
/// As long as anybody may want to wait.
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3600);

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let command = match words.keyword(WORDS, Some(Word::Show))? {
            Word::Show => Self::Show { target: words.next().map(Target::parse).transpose()? },
            Word::Add => {
                let name = words.new_name()?;
                words.expect("type")?;
                let kind = LinkKind::from(words.value("the kind of link, rxe or siw,")?);
                words.expect("netdev")?;
                Self::Add { name, kind, netdev: words.value("the network device")?.to_owned() }
            }
            Word::Delete => Self::Delete { device: words.value("a device name")?.to_owned() },
        };
        words.finish()?;
        Ok(command)
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        match self {
            Self::Show { target } => show(session, target.as_ref()).await,
            Self::Add { name, kind, netdev } => {
                let doing = || format!("adding {name}, {kind} on {netdev}");
                session.handle.link().add(&name, &kind, &netdev).await.with_context(doing)
            }
            Self::Delete { device } => delete(session, &device).await,
        }
    }
}

async fn show(session: &mut Session<'_>, target: Option<&Target>) -> Result<()> {
    let devices = session.ports(target).await?;
    session.printer.begin()?;
    let details = session.style().details > 0;
    for (device, ports) in devices {
        let handle = session.handle.port(device.index);
        for port in ports {
            match handle.get(port).await.with_context(|| format!("reading {}/{port}", device.name)) {
                Ok(port) => session.row(&row(&port, details))?,
                Err(error) => session.problem(&error),
            }
        }
    }
    Ok(())
}

fn row(port: &Port, details: bool) -> Row {
    let mut row = Row::of_port(Some(port.device_index), &port.device_name, Some(port.port));
    row.maybe("subnet_prefix", port.subnet_prefix.map(|prefix| prefix.to_string()));
    row.maybe("lid", port.lid);
    row.maybe("sm_lid", port.sm_lid);
    row.maybe("lmc", port.lmc);
    row.maybe("state", port.state.map(|state| state.as_str()));
    row.maybe("physical_state", port.phys_state.map(|state| state.as_str()));
    if let Some((name, index)) = port.netdev_name.as_deref().zip(port.netdev_index) {
        row.field("netdev", name);
        // JSON has it always, text with -d.
        if details {
            row.field("netdev_index", index);
        } else {
            row.json("netdev_index", index);
        }
    }
    if details {
        capabilities(&mut row, caps::PORT, port.cap_flags);
    }
    row
}

async fn delete(session: &mut Session<'_>, name: &str) -> Result<()> {
    let index = session.device(name).await?.index;
    let doing = || format!("deleting {name}");
    let link = session.handle.with_timeout(FOR_EVER).link();
    let deletion = link.del(index);
    tokio::pin!(deletion);
    tokio::select! {
        biased;
        done = &mut deletion => return done.with_context(doing),
        () = tokio::time::sleep(PATIENCE) => {}
    }
    let users = match session.handle.resource().summary(index).await {
        Ok(summary) => summary.count("ctx").unwrap_or(0),
        Err(_) => 0,
    };
    let _ = writeln!(
        session.err,
        "rdma-operator: {name}: the kernel waits until all who have it open close it ({users} user contexts)"
    );
    tokio::select! {
        biased;
        done = &mut deletion => done.with_context(doing),
        () = session.stop.cancelled() => anyhow::bail!("{}: interrupted; the kernel goes on with it", doing()),
    }
}
