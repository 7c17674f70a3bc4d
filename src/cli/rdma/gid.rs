//! `gid`: GID tables, and which GID to use. Our own, in rdma(8)'s style.

use anyhow::{Result, bail};

use super::output::Row;
use super::session::Session;
use super::words::{Target, Words};
use crate::inventory::{Gid, GidScope, best_gid};
use crate::nl::Device;

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show { target: Option<Target> },
    Best { target: Option<Target>, netdev: Option<String> },
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Best,
}

#[derive(Clone, Copy)]
enum Choice {
    Port,
    Netdev,
}

const WORDS: &[(&str, Word)] = &[("show", Word::Show), ("list", Word::Show), ("best", Word::Best)];
const CHOICES: &[(&str, Choice)] =
    &[("link", Choice::Port), ("dev", Choice::Port), ("netdev", Choice::Netdev)];

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let command = match words.keyword(WORDS, Some(Word::Show))? {
            Word::Show => {
                words.take(&[("link", ()), ("dev", ())]);
                Self::Show { target: words.next().map(Target::parse).transpose()? }
            }
            Word::Best => {
                let (mut target, mut netdev) = (None, None);
                while !words.is_empty() {
                    match words.keyword(CHOICES, None)? {
                        Choice::Port => target = Some(Target::parse(words.value("DEV[/PORT]")?)?),
                        Choice::Netdev => netdev = Some(words.value("a network device")?.to_owned()),
                    }
                }
                Self::Best { target, netdev }
            }
        };
        words.finish()?;
        Ok(command)
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        let (Self::Show { target } | Self::Best { target, .. }) = &self;
        let devices = session.ports(target.as_ref()).await?;
        session.printer.begin()?;
        let sysfs = session.host.sysfs();
        let mut found = false;
        for (device, ports) in devices {
            for port in ports {
                let place = format!("{}/{port}", device.name);
                let (gids, failures) = sysfs.gids(&device.name, port);
                for failure in failures {
                    let context = format!("reading the GIDs of {place}");
                    session.problem(&anyhow::Error::new(failure).context(context));
                }
                found |= self.port(session, &device, port, gids).await?;
            }
        }
        match self {
            Self::Best { netdev: Some(netdev), .. } if !found => {
                bail!("no RoCE v2 GID of network device {netdev} is in the GID tables")
            }
            Self::Best { .. } if !found => bail!("no port has a RoCE v2 GID of its network device"),
            _ => Ok(()),
        }
    }

    /// Prints what is wanted of a port; whether there was something.
    async fn port(
        &self,
        session: &mut Session<'_>,
        device: &Device,
        port: u32,
        gids: Vec<Gid>,
    ) -> Result<bool> {
        let Self::Best { netdev, .. } = self else {
            gids.iter().try_for_each(|gid| session.row(&row(device, port, gid)))?;
            return Ok(!gids.is_empty());
        };
        let netdev = match netdev {
            Some(netdev) => Some(netdev.clone()),
            None => session.handle.port(device.index).get(port).await?.netdev_name,
        };
        let Some(gid) = best_gid(&gids, netdev.as_deref()) else { return Ok(false) };
        session.row(&row(device, port, gid))?;
        Ok(true)
    }
}

fn row(device: &Device, port: u32, gid: &Gid) -> Row {
    let mut row = Row::of_port(Some(device.index), &device.name, Some(port));
    row.field("index", gid.index);
    row.field("gid", gid.gid.to_string());
    row.field("type", gid.gid_type.as_str());
    let scope = match gid.scope {
        GidScope::LinkLocal => "link",
        GidScope::Global => "global",
        GidScope::Loopback => "host",
        GidScope::Multicast => "multicast",
        GidScope::Zero => "zero",
    };
    row.field("scope", scope);
    row.maybe("netdev", gid.netdev.as_deref());
    row
}
