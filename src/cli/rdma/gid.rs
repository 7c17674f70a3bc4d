//! `gid`: GID tables, and which GID to use. Our own, in rdma(8)'s style.

use anyhow::{Error, Result, anyhow};

use super::output::Row;
use super::session::Session;
use super::words::{Target, Words};
use crate::inventory::{Gid, GidScope, Netdev, NoGid, best_gid, usable_here};
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
        let (mut found, mut looked_at) = (false, Vec::new());
        for (device, ports) in devices {
            for port in ports {
                let place = format!("{}/{port}", device.name);
                let (gids, failures) = sysfs.gids(&device.name, port);
                for failure in failures {
                    let context = format!("reading the GIDs of {place}");
                    session.problem(&anyhow::Error::new(failure).context(context));
                }
                let own = match &self {
                    Self::Show { .. } => None,
                    Self::Best { .. } => session.handle.port(device.index).get(port).await?.netdev_name,
                };
                found |= self.port(session, &device, port, &gids, own.as_deref()).await?;
                looked_at.push((place, gids, own.is_some()));
            }
        }
        match self {
            Self::Best { netdev, .. } if !found => {
                Err(why_none(netdev.as_deref(), &looked_at, &netdevs(session).await?))
            }
            _ => Ok(()),
        }
    }

    /// Prints what is wanted of a port whose netdev is `own` where it is in this namespace; whether there was something.
    async fn port(
        &self,
        session: &mut Session<'_>,
        device: &Device,
        port: u32,
        gids: &[Gid],
        own: Option<&str>,
    ) -> Result<bool> {
        let Self::Best { netdev, .. } = self else {
            gids.iter().try_for_each(|gid| session.row(&row(device, port, gid)))?;
            return Ok(!gids.is_empty());
        };
        let gid = match (own, netdev) {
            (Some(own), wanted) => best_gid(gids, &[wanted.as_deref().unwrap_or(own)]).cloned(),
            // The port's netdev is in another namespace: this one has the GIDs of its own addresses.
            (None, wanted) => {
                let mut here = netdevs(session).await?;
                here.retain(|netdev| wanted.as_ref().is_none_or(|wanted| netdev.name == *wanted));
                let names: Vec<&str> = here.iter().map(|netdev| netdev.name.as_str()).collect();
                best_gid(&usable_here(gids, &here), &names).cloned()
            }
        };
        let Some(gid) = gid else { return Ok(false) };
        session.row(&row(device, port, &gid))?;
        Ok(true)
    }
}

async fn netdevs(session: &Session<'_>) -> Result<Vec<Netdev>> {
    session.host.netdevs().await.map_err(|why| anyhow!("the list of network devices: {why}"))
}

/// What is missing of the ports looked at, and how to get it. `netdev` is the one that was asked for.
fn why_none(netdev: Option<&str>, ports: &[(String, Vec<Gid>, bool)], here: &[Netdev]) -> Error {
    let is_here = |name: &str| here.iter().any(|netdev| netdev.name == name);
    if let Some(name) = netdev.filter(|name| !is_here(name)) {
        return anyhow!("there is no network device {name} in this network namespace, and no GID of it");
    }
    let why: Vec<String> = ports
        .iter()
        .map(|(place, gids, own)| match NoGid::of(gids, here, *own) {
            NoGid::EmptyTable => format!("{place} has no GID: is its network device up, with an address?"),
            NoGid::NoRoceV2 => match netdev {
                Some(netdev) => format!("{place} has no RoCE v2 GID of {netdev}"),
                None => format!("{place} has no RoCE v2 GID of its network device"),
            },
            NoGid::NoGidInNamespace => {
                let kind = |netdev: &Netdev| match &netdev.kind {
                    Some(kind) => format!("{} ({kind})", netdev.name),
                    None => netdev.name.clone(),
                };
                let kinds: Vec<String> = here.iter().map(kind).collect();
                format!(
                    "NoGidInNamespace: no GID of {place} is of this network namespace ({}): give the pod a macvlan, \
                     ipvlan or SR-IOV interface of the device's own network device, or hostNetwork",
                    kinds.join(", ")
                )
            }
        })
        .collect();
    match why.is_empty() {
        true => anyhow!("there is no port that could have a GID"),
        false => anyhow!(why.join("; ")),
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
