//! `statistic qp`: counters that QPs are bound to.

use anyhow::{Context, Result, bail};

use super::filter::{Cell, Filterable, Filters, Kind};
use super::output::{Row, on_off};
use super::resource_rows::owner;
use super::session::{Host, Session};
use super::statistic::{counters, link, one_link};
use super::words::{Target, Words};
use crate::nl::{AutoCriteria, CounterMode, QpCounter, QpCounterMode};

/// What to do.
#[derive(Debug)]
pub(super) enum Command {
    Show { target: Option<Target>, filters: Filters },
    Mode { target: Option<Target> },
    SetAuto { target: Target, criteria: AutoCriteria, optional_counters: Option<bool> },
    Bind { target: Target, lqpn: u32, counter: Option<u32> },
    Unbind { target: Target, counter: u32, lqpn: Option<u32> },
}

#[derive(Clone, Copy)]
enum Word {
    Show,
    Mode,
    Set,
    Bind,
    Unbind,
}

const WORDS: &[(&str, Word)] = &[
    ("show", Word::Show),
    ("list", Word::Show),
    ("mode", Word::Mode),
    ("set", Word::Set),
    ("bind", Word::Bind),
    ("unbind", Word::Unbind),
];

impl Command {
    pub(super) fn parse(words: &mut Words<'_>) -> Result<Self> {
        Ok(match words.keyword(WORDS, Some(Word::Show))? {
            Word::Show => Self::show(words)?,
            Word::Mode => Self::Mode { target: link(words)? },
            Word::Set => {
                let target = one_link(words)?;
                words.expect("auto")?;
                let criteria = criteria(words)?;
                let optional_counters = match words.take(&[("optional-counters", ())]) {
                    Some(()) => Some(words.on_off()?),
                    None => None,
                };
                Self::SetAuto { target, criteria, optional_counters }
            }
            Word::Bind => {
                let target = one_link(words)?;
                words.expect("lqpn")?;
                let lqpn = words.number("a QP number")?;
                Self::Bind { target, lqpn, counter: optional_number(words, "cntn")? }
            }
            Word::Unbind => {
                let target = one_link(words)?;
                words.expect("cntn")?;
                let counter = words.number("a counter number")?;
                Self::Unbind { target, counter, lqpn: optional_number(words, "lqpn")? }
            }
        })
    }

    fn show(words: &mut Words<'_>) -> Result<Self> {
        let (mut target, mut filters) = (None, Filters::default());
        while let Some(word) = words.next() {
            match word {
                "link" => target = Some(Target::parse(words.value("DEV[/PORT]")?)?),
                filter => filters.add::<QpCounter>(filter, words)?,
            }
        }
        Ok(Self::Show { target, filters })
    }

    pub(super) async fn run(self, session: &mut Session<'_>) -> Result<()> {
        let stats = session.handle.stats();
        match self {
            Self::Show { target, filters } => show(session, target.as_ref(), &filters).await,
            Self::Mode { target } => mode(session, target.as_ref()).await,
            Self::SetAuto { target, criteria, optional_counters } => {
                let (device, port) = session.port(&target).await?;
                let doing = || format!("setting how QPs of {}/{port} are counted", device.name);
                stats.set_qp_auto(device.index, port, criteria, optional_counters).await.with_context(doing)
            }
            Self::Bind { target, lqpn, counter } => {
                let (device, port) = session.port(&target).await?;
                let doing = || format!("binding QP {lqpn} of {}/{port}", device.name);
                stats.bind_qp(device.index, port, lqpn, counter).await.with_context(doing).map(drop)
            }
            Self::Unbind { target, counter, lqpn } => {
                let (device, port) = session.port(&target).await?;
                let doing = || format!("unbinding counter {counter} of {}/{port}", device.name);
                let lqpns = match lqpn {
                    Some(lqpn) => vec![lqpn],
                    // The kernel unbinds one QP at a time.
                    None => stats.qp_counter(device.index, port, counter).await.with_context(doing)?.lqpns,
                };
                for lqpn in lqpns {
                    stats.unbind_qp(device.index, port, lqpn, counter).await.with_context(doing)?;
                }
                Ok(())
            }
        }
    }
}

fn optional_number(words: &mut Words<'_>, keyword: &str) -> Result<Option<u32>> {
    match words.take(&[(keyword, ())]) {
        Some(()) => words.number(keyword).map(Some),
        None => Ok(None),
    }
}

/// `off`, or what the QPs of a counter have in common and `on`.
fn criteria(words: &mut Words<'_>) -> Result<AutoCriteria> {
    let list = words.value("type, pid or off")?;
    if list == "off" {
        return Ok(AutoCriteria::OFF);
    }
    let mut criteria = AutoCriteria::OFF;
    for word in list.split(',') {
        criteria = criteria.and(match word {
            "type" => AutoCriteria::QP_TYPE,
            "pid" => AutoCriteria::PID,
            word => bail!("{}: {word:?} is no criterion; one of: type, pid", words.path()),
        });
    }
    words.expect("on")?;
    Ok(criteria)
}

impl Filterable for QpCounter {
    const FILTERS: &'static [(&'static str, Kind)] =
        &[("cntn", Kind::Numbers), ("lqpn", Kind::Numbers), ("pid", Kind::Numbers), ("qp-type", Kind::Words)];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "cntn" => Some(self.id.into()),
            "lqpn" => Some(Cell::Numbers(&self.lqpns)),
            "pid" => self.owner.pid().map(Cell::from),
            "qp-type" => self.qp_type.map(|kind| kind.as_str().into()),
            _ => None,
        }
    }
}

async fn show(session: &mut Session<'_>, target: Option<&Target>, filters: &Filters) -> Result<()> {
    let devices = session.ports(target).await?;
    session.printer.begin()?;
    let stats = session.handle.stats();
    for (device, ports) in devices {
        for port in ports {
            let read = stats.qp_counters(device.index, Some(port)).await;
            match read.with_context(|| format!("reading the QP counters of {}/{port}", device.name)) {
                Ok(read) => {
                    for counter in read.iter().filter(|counter| filters.matches(*counter)) {
                        let row = counter_row(counter, session.host);
                        session.row(&row)?;
                    }
                }
                Err(error) => session.problem(&error),
            }
        }
    }
    Ok(())
}

fn counter_row(counter: &QpCounter, host: &dyn Host) -> Row {
    let mut row = Row::of_port(Some(counter.device_index), &counter.device_name, counter.port);
    row.field("cntn", counter.id);
    row.maybe("qp-type", counter.qp_type.map(|kind| kind.as_str()));
    owner(&mut row, &counter.owner, host);
    counters(&mut row, &counter.counters);
    row.indent();
    let lqpns: Vec<_> = counter.lqpns.iter().map(u32::to_string).collect();
    row.text(format!("LQPN: <{}>", lqpns.join(",")));
    row.json("lqpn", counter.lqpns.clone());
    row
}

async fn mode(session: &mut Session<'_>, target: Option<&Target>) -> Result<()> {
    let devices = session.ports(target).await?;
    session.printer.begin()?;
    let stats = session.handle.stats();
    for (device, ports) in devices {
        for port in ports {
            let read = stats.qp_mode(device.index, port).await;
            match read.with_context(|| format!("reading how QPs of {}/{port} are counted", device.name)) {
                Ok(mode) => {
                    let mut row = Row::of_port(Some(device.index), &device.name, Some(port));
                    row.field("mode", mode_text(&mode));
                    session.row(&row)?;
                }
                Err(error) => session.problem(&error),
            }
        }
    }
    Ok(())
}

/// rdma(8) has one text for the mode, in JSON too.
fn mode_text(mode: &QpCounterMode) -> String {
    let criteria = mode.criteria.filter(|_| mode.mode == CounterMode::Auto).unwrap_or(AutoCriteria::OFF);
    let words = [(AutoCriteria::QP_TYPE, "type"), (AutoCriteria::PID, "pid")];
    let names: Vec<_> =
        words.into_iter().filter(|(bit, _)| criteria.contains(*bit)).map(|(_, name)| name).collect();
    if criteria == AutoCriteria::OFF {
        return "qp auto off".to_owned();
    }
    // A criterion we do not know is on as well.
    let mut text = "qp auto ".to_owned();
    if !names.is_empty() {
        text.push_str(&format!("{} ", names.join(",")));
    }
    // What a kernel does not know is off in it.
    let optional = on_off(mode.optional_counters.unwrap_or(false));
    text.push_str(&format!("on optional-counters {optional}"));
    text
}
