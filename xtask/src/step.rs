//! One step: a log file, and commands whose output goes there.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::interrupt;
use crate::report::seconds;

const FOREVER: Duration = Duration::MAX;
/// How long a command that is asked to end may take.
const GRACE: Duration = Duration::from_secs(3);

/// A named piece of work with a log file of its own.
#[derive(Debug)]
pub(crate) struct Step {
    /// Where the output goes.
    pub(crate) log: PathBuf,
    file: File,
}

impl Step {
    /// Starts the log of the step `name` afresh.
    pub(crate) fn new(logs: &Path, name: &str) -> Result<Self> {
        fs::create_dir_all(logs).with_context(|| format!("making {}", logs.display()))?;
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '.';
        let words: Vec<&str> = name.split(|letter| !plain(letter)).filter(|word| !word.is_empty()).collect();
        let log = logs.join(format!("{}.log", words.join("-")));
        // A run that goes on beside this one keeps the file it has.
        let _ = fs::remove_file(&log);
        let file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(&log)
            .with_context(|| format!("making {}", log.display()))?;
        Ok(Self { log, file })
    }

    /// Writes one line into the log.
    pub(crate) fn note(&self, text: &str) {
        // A log that cannot be written to is no reason to stop.
        let _ = writeln!(&self.file, "{text}");
    }

    /// Runs a command, its output in the log.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        self.run_within(command, FOREVER)
    }

    /// Runs a command, its output in the log; ends it when it takes longer than `limit`.
    pub(crate) fn run_within(&self, command: &mut Command, limit: Duration) -> Result<()> {
        self.note(&format!("+ {}", shown(command)));
        command.stdin(Stdio::null()).stdout(self.file.try_clone()?).stderr(self.file.try_clone()?);
        finish(command, None, limit).map(drop)
    }

    /// Runs a command and returns what it printed; its errors go to the log.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        self.note(&format!("+ {}", shown(command)));
        command.stdin(Stdio::null()).stderr(self.file.try_clone()?);
        finish(command, Some(Stdio::piped()), FOREVER)
    }

    /// What the log says so far.
    pub(crate) fn text(&self) -> String {
        let mut bytes =
            vec![0; self.file.metadata().map_or(0, |meta| usize::try_from(meta.len()).unwrap_or(0))];
        let read = self.file.read_at(&mut bytes, 0).unwrap_or(0);
        bytes.truncate(read);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last `count` lines of the log.
    pub(crate) fn tail(&self, count: usize) -> String {
        last_lines(&self.text(), count)
    }
}

/// The last `count` lines of a file; empty when there is none.
pub(crate) fn tail(file: &Path, count: usize) -> String {
    last_lines(&String::from_utf8_lossy(&fs::read(file).unwrap_or_default()), count)
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Runs a command to its end, quietly, and returns what it printed.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    finish(command, Some(Stdio::piped()), FOREVER)
}

/// Whether a command could be run and said yes.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    quiet(command).is_ok()
}

fn finish(command: &mut Command, stdout: Option<Stdio>, limit: Duration) -> Result<String> {
    let captured = stdout.is_some();
    if let Some(stdout) = stdout {
        command.stdout(stdout);
    }
    // A process group of its own, so that all it started can be ended with it.
    let mut child =
        command.process_group(0).spawn().with_context(|| format!("starting {}", program(command)))?;
    let reader = captured.then(|| child.stdout.take()).flatten().map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut pipe, &mut bytes).map(|_| bytes)
        })
    });
    let status = wait(&mut child, limit)?;
    if !status.success() {
        bail!("{} ended with {status}", program(command));
    }
    let bytes = match reader.map(thread::JoinHandle::join) {
        Some(Ok(read)) => read?,
        Some(Err(_)) => bail!("reading the output of {} failed", program(command)),
        None => Vec::new(),
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Waits for a child; when a signal arrives or time runs out, ends it and what it started, and fails.
fn wait(child: &mut Child, limit: Duration) -> Result<ExitStatus> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        let stop = interrupt::check().and_then(|()| {
            anyhow::ensure!(start.elapsed() < limit, "not done after {}", seconds(limit));
            Ok(())
        });
        if let Err(reason) = stop {
            end(child)?;
            return Err(reason);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(40));
    }
}

fn end(child: &mut Child) -> Result<()> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("no process id")?;
    let _ = kill_process_group(group, Signal::TERM); // it may have ended meanwhile
    let start = Instant::now();
    while start.elapsed() < GRACE && child.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(20));
    }
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    Ok(())
}

/// What a command runs, the one that is run nicely included.
fn program(command: &Command) -> String {
    let nicely = (command.get_program() == "nice").then(|| command.get_args().nth(2)).flatten();
    nicely.unwrap_or(command.get_program()).to_string_lossy().into_owned()
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// A command run at low priority, for builds.
pub(crate) fn nice(program: &str) -> Command {
    let mut command = Command::new("nice");
    command.args(["-n", "10", program]);
    command
}
