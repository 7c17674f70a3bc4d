//! The commands of rdma(8): `dev`, `link`, `resource`, `statistic`, `system`, `monitor`, with its arguments, its
//! text and its JSON; and `gid`, our own, in the same style.
//!
//! Arguments become a command, a command asks the kernel, and what it answers becomes rows that are printed: each
//! step without the others.

mod caps;
mod dev;
mod filter;
mod gid;
mod link;
mod monitor;
mod output;
mod resource;
mod resource_rows;
mod session;
mod statistic;
mod statistic_qp;
mod system;
mod usage;
mod words;

use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use tokio_util::sync::CancellationToken;

pub use output::Style;
pub use session::{Host, LocalHost};

use crate::nl::{self, Events, Handle};
use crate::telemetry::chain;
use output::Printer;
use session::Session;
use words::Words;

/// rdma(8)'s options, before the command: `rdma-operator -j link`.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
#[command(next_help_heading = "Options of dev, link, resource, statistic, system, monitor, gid")]
pub struct Flags {
    /// Print JSON
    #[arg(short, long)]
    json: bool,
    /// Print JSON on many lines
    #[arg(short, long)]
    pretty: bool,
    /// Show more; twice: also what only the driver understands
    #[arg(short, long, action = clap::ArgAction::Count)]
    details: u8,
    /// Show objects as the driver itself describes them
    #[arg(short, long)]
    raw: bool,
    /// Print what belongs together on one line
    #[arg(short, long)]
    oneline: bool,
}

/// The words of a command; rdma(8)'s options may stand among them.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// What to do, as in rdma(8); `help` shows it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

/// What a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Object {
    /// Devices.
    Dev,
    /// Ports and soft links.
    Link,
    /// What is allocated.
    Resource,
    /// Counters.
    Statistic,
    /// Settings of the subsystem.
    System,
    /// What the kernel reports.
    Monitor,
    /// GID tables.
    Gid,
}

impl Object {
    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dev => "dev",
            Self::Link => "link",
            Self::Resource => "resource",
            Self::Statistic => "statistic",
            Self::System => "system",
            Self::Monitor => "monitor",
            Self::Gid => "gid",
        }
    }
}

/// A command ready to run.
#[derive(Debug)]
pub struct Invocation {
    style: Style,
    command: Command,
}

#[derive(Debug)]
enum Command {
    Help(Object),
    Dev(dev::Command),
    Link(link::Command),
    Resource(resource::Command),
    Statistic(statistic::Command),
    System(system::Command),
    Monitor,
    Gid(gid::Command),
}

impl Invocation {
    /// Reads the words after `object`.
    ///
    /// # Errors
    /// Names the word that is wrong, missing or too much, and where.
    pub fn parse(object: Object, flags: Flags, args: &Args) -> Result<Self> {
        let mut style = Style {
            json: flags.json,
            pretty: flags.pretty,
            oneline: flags.oneline,
            details: flags.details,
            raw: flags.raw,
        };
        let mut help = false;
        let mut words = Vec::new();
        let mut rest = args.words.iter();
        for word in rest.by_ref() {
            match word.strip_prefix('-') {
                Some("-") => break,
                Some(option) if !option.is_empty() => read_option(object, option, &mut style, &mut help)?,
                _ => words.push(word.clone()),
            }
        }
        words.extend(rest.cloned());
        help |= words.first().is_some_and(|word| word == "help");
        let command = if help { Command::Help(object) } else { parse(object, &words)? };
        Ok(Self { style, command })
    }

    /// Whether it needs a connection that brings notifications.
    #[must_use]
    pub fn is_monitor(&self) -> bool {
        matches!(self.command, Command::Monitor)
    }
}

fn read_option(object: Object, option: &str, style: &mut Style, help: &mut bool) -> Result<()> {
    match option {
        "-json" => style.json = true,
        "-pretty" => style.pretty = true,
        "-oneline" => style.oneline = true,
        "-details" => style.details = style.details.saturating_add(1),
        "-raw" => style.raw = true,
        "-help" => *help = true,
        long if long.starts_with('-') => bail!("{}: -{long} is not known here", object.name()),
        letters => {
            for letter in letters.chars() {
                match letter {
                    'j' => style.json = true,
                    'p' => style.pretty = true,
                    'o' => style.oneline = true,
                    'd' => style.details = style.details.saturating_add(1),
                    'r' => style.raw = true,
                    'h' => *help = true,
                    other => bail!("{}: -{other} is not known here", object.name()),
                }
            }
        }
    }
    Ok(())
}

fn parse(object: Object, words: &[String]) -> Result<Command> {
    let mut words = Words::new(object.name(), words);
    let words = &mut words;
    Ok(match object {
        Object::Dev => Command::Dev(dev::Command::parse(words)?),
        Object::Link => Command::Link(link::Command::parse(words)?),
        Object::Resource => Command::Resource(resource::Command::parse(words)?),
        Object::Statistic => Command::Statistic(statistic::Command::parse(words)?),
        Object::System => Command::System(system::Command::parse(words)?),
        Object::Monitor => {
            words.finish()?;
            Command::Monitor
        }
        Object::Gid => Command::Gid(gid::Command::parse(words)?),
    })
}

/// Runs a command: rows to `out`, failures to `err`. False if anything failed.
///
/// `kernel` is a connection's handle and events; the monitor needs one that has joined the notification group.
pub async fn run(
    invocation: Invocation,
    kernel: (Handle, Events),
    host: &dyn Host,
    (out, err): (&mut dyn Write, &mut dyn Write),
    stop: CancellationToken,
) -> bool {
    let printer = Printer::new(out, invocation.style);
    let mut session = Session { handle: kernel.0, events: kernel.1, host, printer, err, stop, failed: false };
    let mut result = execute(invocation.command, &mut session).await;
    if result.is_ok() {
        result = session.printer.end().map_err(Into::into);
    } else {
        let _ = session.printer.end();
    }
    match result {
        Ok(()) => {}
        // Whoever reads has read enough: `| head`.
        Err(error) if is_broken_pipe(&error) => {}
        Err(error) => session.problem(&error),
    }
    !session.failed
}

async fn execute(command: Command, session: &mut Session<'_>) -> Result<()> {
    match command {
        Command::Help(object) => Ok(session.printer.plain(usage::of(object))?),
        Command::Dev(command) => command.run(session).await,
        Command::Link(command) => command.run(session).await,
        Command::Resource(command) => command.run(session).await,
        Command::Statistic(command) => command.run(session).await,
        Command::System(command) => command.run(session).await,
        Command::Monitor => monitor::run(session).await,
        Command::Gid(command) => command.run(session).await,
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// Parses and runs a command of this host. False if anything failed, which has been said.
pub(super) async fn main(object: Object, flags: Flags, args: &Args, stop: CancellationToken) -> bool {
    match try_main(object, flags, args, stop).await {
        Ok(success) => success,
        Err(error) => {
            eprintln!("rdma-operator: {}", chain(error.as_ref()));
            false
        }
    }
}

async fn try_main(object: Object, flags: Flags, args: &Args, stop: CancellationToken) -> Result<bool> {
    let invocation = Invocation::parse(object, flags, args)?;
    let (mut out, mut err) = (io::BufWriter::new(io::stdout()), io::stderr());
    if let Command::Help(object) = invocation.command {
        out.write_all(usage::of(object).as_bytes())?;
        out.flush()?;
        return Ok(true);
    }
    let opened = if invocation.is_monitor() { nl::new_monitor_connection() } else { nl::new_connection() };
    let (connection, handle, events) = opened.map_err(|error| {
        let no_rdma = error.is_no_rdma();
        let error = anyhow::Error::from(error);
        if no_rdma { error.context("this kernel has no RDMA subsystem (ib_core)") } else { error }
    })?;
    connection.spawn_on_thread().context("starting the netlink thread")?;
    Ok(run(invocation, (handle, events), &LocalHost, (&mut out, &mut err), stop).await)
}
