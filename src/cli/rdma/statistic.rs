//! `statistic`: counters of ports, optional counters, counters of memory regions.

use anyhow::{Context, Result, bail};

use super::filter::{Cell, Filterable, Filters, Kind};
use super::output::Row;
use super::session::Session;
use super::statistic_qp;
use super::words::{Target, Words};
use crate::nl::{CounterStatus, HwCounter, MrCounters};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show { target: Option<Target> },
    Mode { supported: bool, target: Option<Target> },
    Set { target: Target, names: Vec<String> },
    MemoryRegions { device: Option<String>, filters: Filters },
    Qp(statistic_qp::Command),
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Mode,
    Set,
    Unset,
    Mr,
    Qp,
}

const WORDS: &[(&str, Word)] = &[
    ("show", Word::Show),
    ("list", Word::Show),
    ("mode", Word::Mode),
    ("set", Word::Set),
    ("unset", Word::Unset),
    ("mr", Word::Mr),
    ("qp", Word::Qp),
];

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        let command = match words.keyword(WORDS, Some(Word::Show))? {
            Word::Show if words.take(&[("mr", ())]).is_some() => Self::memory_regions(words)?,
            Word::Show => Self::Show { target: link(words)? },
            Word::Mode => {
                let supported = words.take(&[("supported", ())]).is_some();
                Self::Mode { supported, target: link(words)? }
            }
            Word::Set => {
                let target = one_link(words)?;
                words.expect("optional-counters")?;
                let names = words.value("names of counters")?.split(',').map(str::to_owned).collect();
                Self::Set { target, names }
            }
            Word::Unset => {
                let target = one_link(words)?;
                words.expect("optional-counters")?;
                Self::Set { target, names: Vec::new() }
            }
            Word::Mr => {
                words.take(&[("show", ()), ("list", ())]);
                Self::memory_regions(words)?
            }
            Word::Qp => Self::Qp(statistic_qp::Command::parse(words)?),
        };
        words.finish()?;
        Ok(command)
    }

    fn memory_regions(words: &mut Words<'_>) -> Result<Self> {
        let (mut device, mut filters) = (None, Filters::default());
        while let Some(word) = words.next() {
            match word {
                "dev" => device = Some(words.value("a device name")?.to_owned()),
                filter => filters.add::<MrCounters>(filter, words)?,
            }
        }
        Ok(Self::MemoryRegions { device, filters })
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        match self {
            Self::Show { target } => show(session, target.as_ref()).await,
            Self::Mode { supported, target } => mode(session, supported, target.as_ref()).await,
            Self::Set { target, names } => set(session, &target, &names).await,
            Self::MemoryRegions { device, filters } => {
                memory_regions(session, device.as_deref(), &filters).await
            }
            Self::Qp(command) => command.run(session).await,
        }
    }
}

/// `link DEV/PORT`, or nothing.
pub(super) fn link(words: &mut Words<'_>) -> Result<Option<Target>> {
    if words.is_empty() {
        return Ok(None);
    }
    one_link(words).map(Some)
}

/// `link DEV/PORT`
pub(super) fn one_link(words: &mut Words<'_>) -> Result<Target> {
    words.expect("link")?;
    Target::parse(words.value("DEV/PORT")?)
}

/// A line a counter.
pub(super) fn counters(row: &mut Row, counters: &[HwCounter]) {
    for counter in counters {
        row.indent();
        row.field(&counter.name, counter.value);
    }
}

async fn show(session: &mut Session<'_>, target: Option<&Target>) -> Result<()> {
    let devices = session.ports(target).await?;
    session.printer.begin()?;
    let stats = session.handle.stats();
    for (device, ports) in devices {
        for port in ports {
            let read = stats.get(device.index, port).await;
            match read.with_context(|| format!("reading the counters of {}/{port}", device.name)) {
                Ok(read) => {
                    let mut row = Row::of_port(None, &read.device_name, Some(read.port));
                    counters(&mut row, &read.counters);
                    session.row(&row)?;
                }
                Err(error) => session.problem(&error),
            }
        }
    }
    Ok(())
}

async fn mode(session: &mut Session<'_>, supported: bool, target: Option<&Target>) -> Result<()> {
    let devices = session.ports(target).await?;
    session.printer.begin()?;
    let stats = session.handle.stats();
    for (device, ports) in devices {
        for port in ports {
            let status = stats.status(device.index, port).await;
            let doing = || format!("reading which counters {}/{port} has", device.name);
            match status.with_context(doing) {
                Ok(status) => {
                    let wanted = |counter: &&CounterStatus| supported || counter.enabled == Some(true);
                    let names: Vec<_> =
                        status.optional().filter(wanted).map(|counter| counter.name.as_str()).collect();
                    if !names.is_empty() {
                        session.row(&mode_row(&status.device_name, status.port, supported, &names))?;
                    }
                }
                Err(error) => session.problem(&error),
            }
        }
    }
    Ok(())
}

fn mode_row(device: &str, port: u32, supported: bool, names: &[&str]) -> Row {
    let mut row = Row::of_port(None, device, Some(port));
    let key = if supported { "supported optional-counters" } else { "optional-counters" };
    row.text(format!("{key} "));
    for (at, name) in names.iter().enumerate() {
        row.text(if at == 0 { "" } else { "," });
        row.indent();
        row.text(name);
    }
    row.json(key, names);
    row
}

/// Has exactly these optional counters count; none of them if there is no name.
async fn set(session: &mut Session<'_>, target: &Target, names: &[String]) -> Result<()> {
    let (device, port) = session.port(target).await?;
    let stats = session.handle.stats();
    let mut indexes = Vec::new();
    if !names.is_empty() {
        let doing = || format!("reading which counters {}/{port} has", device.name);
        let status = stats.status(device.index, port).await.with_context(doing)?;
        for name in names {
            match status.optional().find(|counter| counter.name == *name) {
                Some(counter) => indexes.push(counter.index),
                None => {
                    let known: Vec<_> = status.optional().map(|counter| counter.name.as_str()).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    bail!("{}/{port} has no optional counter {name:?}; it has: {known}", device.name);
                }
            }
        }
    }
    let doing = || format!("setting the optional counters of {}/{port}", device.name);
    stats.set_optional(device.index, port, &indexes).await.with_context(doing)
}

impl Filterable for MrCounters {
    const FILTERS: &'static [(&'static str, Kind)] = &[("mrn", Kind::Numbers)];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        (filter == "mrn").then(|| self.mrn.into())
    }
}

async fn memory_regions(session: &mut Session<'_>, device: Option<&str>, filters: &Filters) -> Result<()> {
    let devices = session.devices(device).await?;
    session.printer.begin()?;
    session.printer.join();
    let stats = session.handle.stats();
    for device in devices {
        let regions = stats.mr_counters(device.index).await;
        match regions.with_context(|| format!("reading the counters of memory regions of {}", device.name)) {
            Ok(regions) => {
                for region in regions.iter().filter(|region| filters.matches(*region)) {
                    let mut row = Row::of_device(region.device_index, &region.device_name);
                    row.field("mrn", region.mrn);
                    counters(&mut row, &region.counters);
                    session.row(&row)?;
                }
            }
            Err(error) => session.problem(&error),
        }
    }
    Ok(())
}
