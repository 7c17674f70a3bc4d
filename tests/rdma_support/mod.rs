//! Recorded cases, and running our commands on them.

pub(crate) mod corrections;
mod poll_context;
mod script;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use rdma_operator::cli::rdma::{self, Batch, Host, Invocation, Style};
use rdma_operator::inventory::Netdev;
use rdma_operator::nl::{self, BlockingSocket, ChannelSocket, Events, Handle, OpenBlocking};
use rdma_operator::sysfs::Sysfs;
use tokio_util::sync::CancellationToken;

use script::{Change, Script};

/// A recorded run of rdma(8).
pub(crate) struct Case {
    /// Folder and file.
    pub(crate) name: String,
    /// Arguments.
    pub(crate) command: Vec<String>,
    /// Whether the tool was iproute2 7.3.0 and not 6.15.0.
    pub(crate) new_tool: bool,
    /// What it printed.
    pub(crate) stdout: String,
    /// What the kernel made it say on standard error.
    pub(crate) said: Vec<String>,
    /// Its exit status, if recorded.
    pub(crate) code: Option<i32>,
    /// The datagrams: `> ` sent, `< ` received.
    pub(crate) lines: Vec<String>,
    /// The names of processes.
    pub(crate) processes: HashMap<u32, String>,
}

/// What our command did.
pub(crate) struct Outcome {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
    pub(crate) changes: Vec<Change>,
    pub(crate) unexpected: Vec<String>,
}

/// Every case, by name.
pub(crate) fn cases() -> Vec<Case> {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut folders = vec![data];
    if let Some(more) = std::env::var_os("RDMA_FIXTURES") {
        folders.extend(std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty()));
    }
    let mut files = Vec::new();
    folders.iter().for_each(|folder| walk(folder, &mut files));
    files.sort();
    files.iter().filter_map(|file| Case::read(file)).collect()
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "txt") {
            files.push(path);
        }
    }
}

/// Lines rdma(8) writes to standard error; the recordings have both streams in one.
const COMPLAINTS: &[&str] = &[
    "error: ",
    "Error: ",
    "Wrong device name",
    "Cannot open network namespace",
    "Unsupported filter option",
    "Unknown ",
    "valid options are",
    "No filter data",
    "RDMA monitoring is not supported",
    "Failed to listen",
];

impl Case {
    /// `None` for what is no run of rdma(8).
    fn read(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).unwrap();
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let folder = file.parent().unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        let (command, new_tool) = match lines.first().and_then(|line| line.strip_prefix("$ ")) {
            Some(command) => {
                let mut words = command.split_whitespace();
                let tool = words.find(|word| *word == "rdma" || word.ends_with("/rdma"))?;
                lines.remove(0);
                (words.map(str::to_owned).collect::<Vec<_>>(), tool != "rdma")
            }
            // Two were recorded without their command.
            None if stem == "monitor" => (vec!["monitor".to_owned()], true),
            None if stem == "ns_link_from_n1" => (vec!["link".to_owned()], false),
            None => return None,
        };
        let code = lines.last().and_then(|line| line.strip_prefix("rc=")).map(|code| code.parse().unwrap());
        if code.is_some() {
            lines.pop();
        }
        let is_complaint = |line: &&str| COMPLAINTS.iter().any(|start| line.starts_with(start));
        let said = lines.iter().filter(|line| is_complaint(line)).filter_map(|line| {
            // rdma(8) calls an error without a number Success.
            let text = line.strip_prefix("error: ").or_else(|| line.strip_prefix("Error: "))?;
            (text != "Success").then(|| text.trim_end_matches('.').to_owned())
        });
        let said = said.collect();
        let stdout: String =
            lines.iter().filter(|line| !is_complaint(line)).map(|line| format!("{line}\n")).collect();
        // `qp--dd.txt` is one of several commands recorded on the datagrams of `qp.hex`.
        let hex = folder.join(format!("{}.hex", stem.split("--").next().unwrap()));
        let lines = fs::read_to_string(hex).unwrap_or_default().lines().map(str::to_owned).collect();
        let name = format!("{}/{stem}", folder.file_name().unwrap().to_str().unwrap());
        let processes = processes(&stdout);
        Some(Self { name, command, new_tool, stdout, said, code, lines, processes })
    }

    /// The name without its folder.
    pub(crate) fn stem(&self) -> &str {
        self.name.rsplit('/').next().unwrap()
    }

    /// The recorded requests for a change.
    pub(crate) fn changes(&self) -> Vec<Change> {
        Script::new(&self.lines).recorded_changes()
    }

    /// Runs our command against the recorded kernel.
    pub(crate) async fn run(&self) -> Outcome {
        self.run_as(&self.command, Path::new("/nonexistent")).await
    }

    /// Runs many commands against the recorded kernel.
    pub(crate) async fn run_batch<R: io::BufRead + Send + 'static>(&self, batch: Batch<R>) -> Outcome {
        let script = Arc::new(Mutex::new(Script::new(&self.lines)));
        let host = RecordedHost { processes: self.processes.clone(), sysfs: Sysfs::new("/nonexistent") };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let open = |command: &Invocation| Ok(connect(&script, command.is_monitor()));
        let stop = CancellationToken::new();
        let success = rdma::run_batch(batch, open, &host, (&mut out, &mut err), stop).await;
        let script = script.lock().unwrap();
        Outcome {
            stdout: String::from_utf8(out).unwrap(),
            stderr: String::from_utf8(err).unwrap(),
            code: Some(i32::from(!success)),
            changes: script.changes.clone(),
            unexpected: script.unexpected.clone(),
        }
    }

    /// Runs another command against the recorded kernel, with GIDs from `sysfs`.
    pub(crate) async fn run_as(&self, command: &[String], sysfs: &Path) -> Outcome {
        let invocation = match Invocation::parse(Style::default(), command) {
            Ok(invocation) => invocation,
            Err(error) => {
                return Outcome {
                    stdout: String::new(),
                    stderr: format!("rdma-operator: {error:#}\n"),
                    code: Some(1),
                    changes: Vec::new(),
                    unexpected: Vec::new(),
                };
            }
        };
        let script = Arc::new(Mutex::new(Script::new(&self.lines)));
        let kernel = connect(&script, invocation.is_monitor());
        let host = RecordedHost { processes: self.processes.clone(), sysfs: Sysfs::new(sysfs) };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let stop = CancellationToken::new();
        let success = rdma::run(invocation, kernel, &host, (&mut out, &mut err), stop).await;
        let script = script.lock().unwrap();
        Outcome {
            stdout: String::from_utf8(out).unwrap(),
            stderr: String::from_utf8(err).unwrap(),
            code: self.code.map(|_| i32::from(!success)),
            changes: script.changes.clone(),
            unexpected: script.unexpected.clone(),
        }
    }
}

/// A connection to the recorded kernel.
fn connect(script: &Arc<Mutex<Script>>, is_monitor: bool) -> (Handle, Events) {
    let (socket, mut peer) = ChannelSocket::pair().unwrap();
    let blocking = script.clone();
    let open: OpenBlocking =
        Arc::new(move || Ok(Box::new(Peer(blocking.clone())) as Box<dyn BlockingSocket>));
    let (connection, handle, events) = nl::from_socket(socket, open);
    tokio::spawn(connection);
    let answers = script.clone();
    tokio::spawn(async move {
        while let Some(request) = peer.recv().await {
            let (replies, notifications) = {
                let mut script = answers.lock().unwrap();
                let replies = script.answer(&request);
                (replies, script.notifications())
            };
            replies.into_iter().for_each(|datagram| peer.send(Ok(datagram)));
            // The end of the recording is the end of the connection, and of the monitor.
            if is_monitor && !notifications.is_empty() {
                notifications.into_iter().for_each(|datagram| peer.send(Ok(datagram)));
                return;
            }
        }
    });
    (handle, events)
}

/// The processes a recording names: `pid 17 comm rping`, in text or JSON.
fn processes(text: &str) -> HashMap<u32, String> {
    let plain = text.replace(['"', ':', ',', '{', '}'], " ");
    let words: Vec<_> = plain.split_whitespace().collect();
    let named = words.windows(4).filter_map(|words| match words {
        ["pid", pid, "comm", name] => Some((pid.parse().ok()?, (*name).to_owned())),
        _ => None,
    });
    named.collect()
}

struct RecordedHost {
    processes: HashMap<u32, String>,
    sysfs: Sysfs,
}

impl Host for RecordedHost {
    fn process_name(&self, pid: u32) -> Option<String> {
        self.processes.get(&pid).cloned()
    }

    /// Any will do: the recording decides what the kernel says to it.
    fn netns(&self, name: &str) -> io::Result<OwnedFd> {
        match name {
            "nsX" => Err(io::Error::from_raw_os_error(2)),
            _ => fs::File::open("/proc/self/ns/net").map(OwnedFd::from),
        }
    }

    fn sysfs(&self) -> Sysfs {
        self.sysfs.clone()
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

struct Peer(Arc<Mutex<Script>>);

impl BlockingSocket for Peer {
    fn exchange(&mut self, datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Ok(self.0.lock().unwrap().answer(datagram))
    }
}
