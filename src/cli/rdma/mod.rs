//! The commands of rdma(8): `dev`, `link`, `resource`, `statistic`, `system`, `monitor`, with its arguments, its
//! text and its JSON; and `gid`, our own, in the same style.
//!
//! Arguments become a command, a command asks the kernel, and what it answers becomes rows that are printed: each
//! step without the others.

mod batch;
mod caps;
mod dev;
mod filter;
mod gid;
mod link;
mod monitor;
mod options;
mod output;
mod resource;
mod resource_rows;
mod resource_rows_qp;
mod session;
mod statistic;
mod statistic_qp;
mod system;
mod usage;
mod words;

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use tokio_util::sync::CancellationToken;

pub use batch::{Batch, run_batch};
pub use output::Style;
pub use session::{Host, LocalHost};

use super::host::simulator;
use crate::machine::Simulator;
use crate::nl::{self, Events, Handle};
use options::Options;
use output::Printer;
use session::{NotHere, Session};
use words::{HelpWanted, Words};

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

impl Flags {
    /// Whether any was given.
    pub(super) fn any(self) -> bool {
        self.style() != Style::default()
    }

    fn style(self) -> Style {
        let Self { json, pretty, details, raw, oneline } = self;
        Style { json, pretty, oneline, details, raw }
    }
}

/// rdma(8)'s options for many commands: `rdma-operator -f -b FILE`.
#[derive(clap::Args, Debug, Clone, Default)]
#[command(next_help_heading = "Options of dev, link, resource, statistic, system, monitor, gid")]
pub struct BatchFlags {
    /// Run the commands of a file, one a line, in place of one from the command line; - is standard input
    #[arg(short, long = "batch", value_name = "FILE")]
    pub(super) batch: Option<String>,
    /// With -b: go on after a command that failed
    #[arg(short, long)]
    pub(super) force: bool,
}

/// The words of a command; rdma(8)'s options may stand among them.
#[derive(clap::Args, Debug)]
// The help of the words is ours.
#[command(disable_help_flag = true)]
pub struct Args {
    /// What to do, as in rdma(8); `help` shows it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

/// The commands.
#[derive(clap::Subcommand, Debug)]
pub enum Commands {
    /// RDMA devices, as rdma(8): show, add, delete, set
    Dev(Args),
    /// Ports and soft devices, as rdma(8): show, add, delete
    Link(Args),
    /// What is allocated on devices, as rdma(8): show, set
    Resource(Args),
    /// Counters, as rdma(8): show, mode, set, unset, qp, mr
    Statistic(Args),
    /// Settings of the RDMA subsystem, as rdma(8): show, set
    // rdma(8) takes it before statistic.
    #[command(alias = "s")]
    System(Args),
    /// What the kernel reports of RDMA devices, as rdma(8)
    Monitor(Args),
    /// GID tables, and the GID to use: show, best
    Gid(Args),
}

impl Commands {
    fn parts(&self) -> (Object, &Args) {
        match self {
            Self::Dev(args) => (Object::Dev, args),
            Self::Link(args) => (Object::Link, args),
            Self::Resource(args) => (Object::Resource, args),
            Self::Statistic(args) => (Object::Statistic, args),
            Self::System(args) => (Object::System, args),
            Self::Monitor(args) => (Object::Monitor, args),
            Self::Gid(args) => (Object::Gid, args),
        }
    }
}

/// What a command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
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
    /// In rdma(8)'s order, which decides what a beginning of two names means.
    const ALL: [Self; 7] =
        [Self::Dev, Self::Link, Self::Resource, Self::System, Self::Statistic, Self::Monitor, Self::Gid];

    /// Its name on the command line.
    fn name(self) -> &'static str {
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
    /// Of an object, or of all.
    Help(Option<Object>),
    Version,
    Dev(dev::Command),
    Link(link::Command),
    Resource(resource::Command),
    Statistic(statistic::Command),
    System(system::Command),
    Monitor,
    Gid(gid::Command),
}

impl Invocation {
    /// Reads a whole command line of rdma(8): `-d link show rxe0/1`. Its options add to `style`.
    ///
    /// # Errors
    /// Names the word that is wrong, missing or too much, and where.
    pub fn parse(style: Style, words: &[String]) -> Result<Self> {
        let mut options = Options::new(style);
        let plain = options.take_out_of(words)?;
        let objects = Object::ALL.map(|object| (object.name(), object));
        let Some((object, rest)) = plain.split_first() else { return options.read(None, &[]) };
        match Words::new("rdma", std::slice::from_ref(object)).keyword(&objects, None) {
            Ok(object) => options.read(Some(object), rest),
            Err(error) if error.is::<HelpWanted>() => options.read(None, &[]),
            Err(error) => Err(error),
        }
    }

    /// Reads the words after `object`.
    fn of(object: Object, flags: Flags, args: &Args) -> Result<Self> {
        let mut options = Options::new(flags.style());
        let words = options.take_out_of(&args.words)?;
        options.read(Some(object), &words)
    }

    /// Whether it needs a connection that brings notifications.
    #[must_use]
    pub fn is_monitor(&self) -> bool {
        matches!(self.command, Command::Monitor)
    }

    /// What is printed without asking the kernel.
    fn text(&self) -> Option<&'static str> {
        match self.command {
            Command::Help(object) => Some(object.map_or(usage::ALL, usage::of)),
            Command::Version => Some(concat!("rdma-operator ", env!("CARGO_PKG_VERSION"), "\n")),
            _ => None,
        }
    }
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
    let mut result = execute(invocation, &mut session).await;
    if result.is_ok() {
        result = session.printer.end().map_err(Into::into);
    } else {
        if result.as_ref().is_err_and(|error| error.is::<NotHere>()) {
            // As in rdma(8), none of a device that is not there is an empty list in JSON.
            let _ = session.printer.begin();
        }
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

async fn execute(invocation: Invocation, session: &mut Session<'_>) -> Result<()> {
    if let Some(text) = invocation.text() {
        return Ok(session.printer.plain(text)?);
    }
    match invocation.command {
        Command::Help(_) | Command::Version => Ok(()),
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

/// Parses and runs a command of this host. False if something failed that has been said.
///
/// # Errors
/// What is wrong with the words, or why the kernel cannot be asked at all.
pub(super) async fn main(
    flags: Flags,
    machine: Option<PathBuf>,
    command: &Commands,
    stop: CancellationToken,
) -> Result<bool> {
    let (object, args) = command.parts();
    let invocation = Invocation::of(object, flags, args)?;
    let (mut out, mut err) = (io::BufWriter::new(io::stdout()), io::stderr());
    if let Some(text) = invocation.text() {
        out.write_all(text.as_bytes())?;
        out.flush()?;
        return Ok(true);
    }
    match machine {
        Some(path) => {
            let host = simulator(&path)?;
            let kernel = open_simulated(&host)?;
            Ok(run(invocation, kernel, &host, (&mut out, &mut err), stop).await)
        }
        None => {
            let kernel = open(&invocation)?;
            Ok(run(invocation, kernel, &LocalHost, (&mut out, &mut err), stop).await)
        }
    }
}

/// Runs the commands of a file on this host. False if one failed, which has been said.
///
/// # Errors
/// When the file cannot be opened.
pub(super) async fn main_batch(
    flags: Flags,
    machine: Option<PathBuf>,
    name: String,
    force: bool,
    stop: CancellationToken,
) -> Result<bool> {
    let batch = Batch { input: batch::open_file(&name)?, name, force, style: flags.style() };
    let (mut out, mut err) = (io::BufWriter::new(io::stdout()), io::stderr());
    match machine {
        Some(path) => {
            let host = simulator(&path)?;
            let open = |_: &Invocation| open_simulated(&host);
            Ok(run_batch(batch, open, &host, (&mut out, &mut err), stop).await)
        }
        None => Ok(run_batch(batch, open, &LocalHost, (&mut out, &mut err), stop).await),
    }
}

/// A connection to this host's kernel.
fn open(invocation: &Invocation) -> Result<(Handle, Events)> {
    let opened = if invocation.is_monitor() { nl::connect_monitor() } else { nl::connect() };
    opened.map_err(explain)
}

/// As [`open`], of a simulated kernel.
fn open_simulated(host: &Simulator) -> Result<(Handle, Events)> {
    use crate::inventory::Host as _;
    Ok((host.connect().map_err(explain)?, host.monitor().map_err(explain)?))
}

fn explain(error: nl::Error) -> anyhow::Error {
    let no_rdma = error.is_no_rdma();
    let error = anyhow::Error::from(error);
    if no_rdma { error.context("this kernel has no RDMA subsystem (ib_core)") } else { error }
}
