//! `dev`: devices.

use anyhow::{Context, Result, bail};

use super::caps;
use super::output::Row;
use super::session::Session;
use super::words::Words;
use crate::nl::{Device, DeviceType};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show { device: Option<String> },
    Add { name: String, kind: DeviceType, parent: String },
    Delete { device: String },
    Set { device: String, what: Setting },
}

/// What to change.
#[derive(Debug)]
pub(super) enum Setting {
    Name(String),
    Netns(String),
    AdaptiveModeration(bool),
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Add,
    Delete,
    Set,
}

const WORDS: &[(&str, Word)] = &[
    ("show", Word::Show),
    ("list", Word::Show),
    ("add", Word::Add),
    ("delete", Word::Delete),
    ("set", Word::Set),
];

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let command = match words.keyword(WORDS, Some(Word::Show))? {
            Word::Show => Self::Show { device: words.next().map(str::to_owned) },
            Word::Add => Self::add(words)?,
            Word::Delete => Self::Delete { device: words.value("a device name")?.to_owned() },
            Word::Set => {
                let device = words.value("a device name")?.to_owned();
                Self::Set { device, what: Setting::parse(words)? }
            }
        };
        words.finish()?;
        Ok(command)
    }

    fn add(words: &mut Words<'_>) -> Result<Self> {
        let name = words.new_name()?;
        words.expect("type")?;
        let kind = match words.value("the kind of device")? {
            smi if smi.eq_ignore_ascii_case("smi") => DeviceType::Smi,
            other => bail!("{}: {other:?} is no kind of sub-device; the only one is smi", words.path()),
        };
        words.expect("parent")?;
        Ok(Self::Add { name, kind, parent: words.value("the parent device")?.to_owned() })
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        let handle = session.handle.device();
        match self {
            Self::Show { device } => show(session, device.as_deref()).await,
            Self::Add { name, kind, parent } => {
                let index = session.device(&parent).await?.index;
                let doing = || format!("adding {name} to {parent}");
                handle.add_sub_device(index, &name, kind).await.with_context(doing)
            }
            Self::Delete { device } => {
                let index = session.device(&device).await?.index;
                handle.delete_sub_device(index).await.with_context(|| format!("deleting {device}"))
            }
            Self::Set { device, what } => what.apply(session, &device).await,
        }
    }
}

impl Setting {
    fn parse(words: &mut Words<'_>) -> Result<Self> {
        const WORDS: &[(&str, u8)] = &[("name", 0), ("netns", 1), ("adaptive-moderation", 2)];
        Ok(match words.keyword(WORDS, None)? {
            0 => Self::Name(words.value("the new name")?.to_owned()),
            1 => Self::Netns(words.value("a network namespace or process")?.to_owned()),
            _ => Self::AdaptiveModeration(words.on_off()?),
        })
    }

    async fn apply(self, session: &mut Session<'_>, device: &str) -> Result<()> {
        let index = session.device(device).await?.index;
        let handle = session.handle.device();
        match self {
            Self::Name(name) => {
                handle.rename(index, &name).await.with_context(|| format!("renaming {device} to {name}"))
            }
            Self::Netns(netns) => {
                let doing = || format!("moving {device} to the network namespace {netns}");
                let descriptor = session.host.netns(&netns).with_context(doing)?;
                handle.set_netns(index, descriptor).await.with_context(doing)
            }
            Self::AdaptiveModeration(on) => {
                let doing = || format!("setting adaptive-moderation of {device}");
                handle.set_adaptive_moderation(index, on).await.with_context(doing)
            }
        }
    }
}

async fn show(session: &mut Session<'_>, name: Option<&str>) -> Result<()> {
    let devices = session.devices(name).await?;
    session.printer.begin()?;
    let details = session.style().details > 0;
    devices.iter().try_for_each(|device| session.row(&row(device, details)))
}

fn row(device: &Device, details: bool) -> Row {
    let mut row = Row::default();
    row.text(format!("{}: {}: ", device.index, device.name));
    row.json("ifindex", device.index);
    row.json("ifname", device.name.as_str());
    row.maybe("node_type", device.node_type.map(|kind| kind.as_str()));
    row.maybe("protocol", device.protocol.as_deref());
    row.maybe("fw", device.firmware.as_deref());
    row.maybe("node_guid", device.node_guid.map(|guid| guid.to_string()));
    row.maybe("sys_image_guid", device.sys_image_guid.map(|guid| guid.to_string()));
    row.maybe("type", device.device_type.map(|kind| kind.as_str()));
    row.maybe("parent", device.parent.as_deref());
    if details {
        row.on_off("adaptive-moderation", device.adaptive_moderation);
        capabilities(&mut row, caps::DEVICE, device.cap_flags);
    }
    row
}

/// `    caps: <A, B>` on a line of its own.
pub(super) fn capabilities(row: &mut Row, names: &[&'static str], flags: Option<u64>) {
    if let Some(flags) = flags {
        let words = caps::words(names, flags);
        row.indent();
        row.text(format!("caps: <{}>", words.join(", ")));
        row.json("caps", words);
    }
}
