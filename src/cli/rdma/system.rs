//! `system`: settings of the whole subsystem.

use anyhow::{Context, Result, bail};

use super::output::{Row, on_off};
use super::session::Session;
use super::words::Words;
use crate::nl::{NetnsMode, SystemInfo};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show,
    SetNetns(NetnsMode),
    SetPrivilegedQkey(bool),
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Set,
}

#[derive(Clone, Copy)]
enum Setting {
    Netns,
    PrivilegedQkey,
    Monitor,
}

const SETTINGS: &[(&str, Setting)] =
    &[("netns", Setting::Netns), ("privileged-qkey", Setting::PrivilegedQkey), ("monitor", Setting::Monitor)];

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let command = match words.keyword(&[("show", Word::Show), ("set", Word::Set)], Some(Word::Show))? {
            // rdma(8) shows all of them whichever is named.
            Word::Show if words.is_empty() => Self::Show,
            Word::Show => {
                words.keyword(SETTINGS, None)?;
                Self::Show
            }
            Word::Set => match words.keyword(SETTINGS, None)? {
                Setting::Netns => match words.value("shared or exclusive")? {
                    "shared" => Self::SetNetns(NetnsMode::Shared),
                    "exclusive" => Self::SetNetns(NetnsMode::Exclusive),
                    word => bail!("{}: shared or exclusive is wanted here, not {word:?}", words.path()),
                },
                Setting::PrivilegedQkey => Self::SetPrivilegedQkey(words.on_off()?),
                Setting::Monitor => bail!("{}: the kernel decides on this", words.path()),
            },
        };
        words.finish()?;
        Ok(command)
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        let system = session.handle.system();
        match self {
            Self::Show => {
                let info = system.get().await?;
                session.row(&row(&info))
            }
            Self::SetNetns(mode) => {
                system.set_netns_mode(mode).await.with_context(|| format!("setting netns to {mode}"))
            }
            Self::SetPrivilegedQkey(on) => {
                let doing = || format!("setting privileged-qkey {}", on_off(on));
                system.set_privileged_qkey(on).await.with_context(doing)
            }
        }
    }
}

fn row(info: &SystemInfo) -> Row {
    let mut row = Row::default();
    let mut words = Vec::new();
    let mut add = |key: &str, value: &'static str| {
        words.push(format!("{key} {value}"));
        row.json(key, value);
    };
    if let Some(mode) = info.netns_mode {
        add("netns", mode.as_str());
    }
    if let Some(on) = info.privileged_qkey {
        add("privileged-qkey", on_off(on));
    }
    // What a kernel does not know is off in it.
    add("monitor", on_off(info.monitor.unwrap_or(false)));
    add("copy-on-fork", on_off(info.copy_on_fork.unwrap_or(false)));
    row.text(words.join(" "));
    row
}
