//! The folder of the one cluster that can be up, and the processes that were started for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};

use super::network;
use crate::dirs::Dirs;

const GRACE: Duration = Duration::from_secs(1);

/// The state folder.
#[derive(Debug, Clone)]
pub(crate) struct State {
    /// `<cache>/lab`.
    pub(crate) folder: PathBuf,
}

/// A process, known by its id and the time it started: ids are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: i32,
    started: u64,
}

impl State {
    /// The state of this cache.
    pub(crate) fn new(dirs: &Dirs) -> Self {
        Self { folder: dirs.lab() }
    }

    /// Whether `up` came to its end and nothing has gone since.
    pub(crate) fn is_up(&self) -> bool {
        self.up_marker().exists()
            && !self.processes().is_empty()
            && self.processes().iter().all(Process::alive)
    }

    /// Whether anything of a cluster is there, running or not.
    pub(crate) fn exists(&self) -> bool {
        self.folder.exists()
    }

    /// Says that the cluster is complete.
    pub(crate) fn mark_up(&self) -> Result<()> {
        Ok(fs::write(self.up_marker(), "")?)
    }

    fn up_marker(&self) -> PathBuf {
        self.folder.join("up")
    }

    /// The programs that run inside the lab's network: kubectl, helm, node.
    pub(crate) fn bin(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// The folder of a node.
    pub(crate) fn node(&self, name: &str) -> PathBuf {
        self.folder.join("nodes").join(name)
    }

    /// The nodes that were started.
    pub(crate) fn nodes(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.folder.join("nodes"))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// The log of a process of the cluster.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.join("logs").join(format!("{name}.log"))
    }

    /// Starts a process that outlives this program, in the lab's network, and notes its id.
    pub(crate) fn start(&self, name: &str, command: &mut Command) -> Result<()> {
        use std::os::unix::process::CommandExt as _;
        let log = fs::File::create(self.log(name)).with_context(|| format!("making the log of {name}"))?;
        let mut inside = network::inside(command);
        // A process group of its own: Ctrl-C is for this program, not for the cluster.
        inside.process_group(0).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = inside.spawn().with_context(|| format!("starting {name}"))?;
        let pid = i32::try_from(child.id())?;
        let started = started(pid).with_context(|| format!("{name} ended at once"))?;
        Ok(fs::write(self.folder.join("pids").join(name), format!("{pid} {started}\n"))?)
    }

    /// Whether the process `name` still runs.
    pub(crate) fn runs(&self, name: &str) -> bool {
        Process::read(&self.folder.join("pids").join(name)).is_some_and(|process| process.alive())
    }

    /// Ends every process of the cluster and removes its network and its folder. The logs of its processes
    /// stay in `keep_logs`.
    pub(crate) fn remove(&self, keep_logs: &Path) -> Result<()> {
        let mut processes = self.processes();
        processes.extend(network::pids().into_iter().filter_map(Process::running));
        end(&processes);
        network::remove()?;
        if self.folder.exists() {
            let _ = fs::remove_dir_all(keep_logs);
            self.save_logs(keep_logs)?;
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("removing {}", self.folder.display()))?;
        }
        Ok(())
    }

    fn save_logs(&self, to: &Path) -> Result<()> {
        fs::create_dir_all(to)?;
        let mut files: Vec<(PathBuf, String)> = fs::read_dir(self.folder.join("logs"))
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| (entry.path(), entry.file_name().to_string_lossy().into_owned()))
            .collect();
        for node in self.nodes() {
            for name in ["console", "host/start.log", "host/containerd.log", "host/kubelet.log"] {
                files.push((self.node(&node).join(name), format!("{node}-{}", name.replace("host/", ""))));
            }
        }
        for (file, name) in files {
            let _ = fs::copy(file, to.join(name)); // a node that did not get that far has no such file
        }
        Ok(())
    }

    fn processes(&self) -> Vec<Process> {
        fs::read_dir(self.folder.join("pids"))
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| Process::read(&entry.path()))
            .collect()
    }
}

impl Process {
    fn read(file: &Path) -> Option<Self> {
        let text = fs::read_to_string(file).ok()?;
        let (pid, started) = text.trim().split_once(' ')?;
        Some(Self { pid: pid.parse().ok()?, started: started.parse().ok()? })
    }

    fn running(pid: i32) -> Option<Self> {
        Some(Self { pid, started: started(pid)? })
    }

    fn alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.alive()) {
            let _ = kill_process(pid, signal); // it may end by itself meanwhile
        }
    }
}

/// Asks the processes to end, and ends those that do not (an API server waits for ever for a store that is gone).
fn end(processes: &[Process]) {
    for process in processes {
        process.signal(Signal::TERM);
    }
    let start = Instant::now();
    while processes.iter().any(Process::alive) && start.elapsed() < GRACE {
        thread::sleep(Duration::from_millis(50));
    }
    for process in processes {
        process.signal(Signal::KILL);
    }
    while processes.iter().any(Process::alive) && start.elapsed() < GRACE * 5 {
        thread::sleep(Duration::from_millis(20));
    }
}

/// When a running process started, in clock ticks since boot; none for one that has ended.
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in parentheses and may hold anything; state is field 3, start field 22.
    let mut fields = stat[stat.rfind(')')? + 2..].split(' ');
    if fields.next()? == "Z" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_another_of_its_id_is_not() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let process = Process::running(pid).unwrap();
        assert!(process.alive());
        assert!(!Process { started: process.started + 1, ..process }.alive());
    }
}
