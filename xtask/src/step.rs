//! One step: a log file, and commands whose output goes there.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::interrupt;

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
        let file = File::create(&log).with_context(|| format!("making {}", log.display()))?;
        Ok(Self { log, file })
    }

    /// Writes one line into the log.
    pub(crate) fn note(&self, text: &str) {
        // A log that cannot be written to is no reason to stop.
        let _ = writeln!(&self.file, "{text}");
    }

    /// Runs a command, its output in the log.
    pub(crate) fn run(&self, command: &mut Command) -> Result<()> {
        self.note(&format!("+ {}", shown(command)));
        command.stdin(Stdio::null()).stdout(self.file.try_clone()?).stderr(self.file.try_clone()?);
        finish(command, None).map(drop)
    }

    /// Runs a command and returns what it printed; its errors go to the log.
    pub(crate) fn output(&self, command: &mut Command) -> Result<String> {
        self.note(&format!("+ {}", shown(command)));
        command.stdin(Stdio::null()).stderr(self.file.try_clone()?);
        finish(command, Some(Stdio::piped()))
    }

    /// The last `count` lines of the log.
    pub(crate) fn tail(&self, count: usize) -> String {
        tail(&self.log, count)
    }
}

/// The last `count` lines of a file; empty when there is none.
pub(crate) fn tail(file: &Path, count: usize) -> String {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Runs a command to its end, quietly, and returns what it printed.
pub(crate) fn quiet(command: &mut Command) -> Result<String> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    finish(command, Some(Stdio::piped()))
}

/// Whether a command could be run and said yes.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    quiet(command).is_ok()
}

fn finish(command: &mut Command, stdout: Option<Stdio>) -> Result<String> {
    let captured = stdout.is_some();
    if let Some(stdout) = stdout {
        command.stdout(stdout);
    }
    let mut child = command.spawn().with_context(|| format!("starting {}", program(command)))?;
    let reader = captured.then(|| child.stdout.take()).flatten().map(|mut pipe| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut pipe, &mut bytes).map(|_| bytes)
        })
    });
    let status = wait(&mut child)?;
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

/// Waits for a child; when a signal arrives, ends the child and fails.
fn wait(child: &mut Child) -> Result<ExitStatus> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Err(interrupted) = interrupt::check() {
            child.kill()?;
            child.wait()?;
            return Err(interrupted);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(40));
    }
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
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
