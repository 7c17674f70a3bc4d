//! Which host a command is about: this one, or that of a machine document.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use futures::future::BoxFuture;

use super::rdma;
use crate::inventory::{Host, LiveHost, Netdev, Options};
use crate::machine::{Machine, Simulator};
use crate::sysfs::Sysfs;

/// Where this host is seen.
#[derive(clap::Args, Debug)]
pub(super) struct Folders {
    /// Where sysfs is mounted
    #[arg(long, value_name = "FOLDER", default_value = "/sys")]
    sysfs: PathBuf,
    /// Where the host's /dev is seen
    #[arg(long, value_name = "FOLDER", default_value = "/dev")]
    pub(super) dev: PathBuf,
}

impl Folders {
    /// The host of `machine`, or this one.
    ///
    /// # Errors
    /// When the document cannot be used.
    pub(super) fn host(&self, machine: Option<&Path>) -> anyhow::Result<Arc<dyn Host>> {
        Ok(match machine {
            Some(path) => Arc::new(simulator(path)?),
            None => Arc::new(LiveHost::new(Options { sysfs: self.sysfs.clone(), dev: self.dev.clone() })),
        })
    }

    /// As [`host`](Self::host), for a command that ends: folders that are not there are a mistake of whoever typed
    /// them, not a host without RDMA.
    ///
    /// # Errors
    /// Names the folder.
    pub(super) fn host_that_is_there(&self, machine: Option<&Path>) -> anyhow::Result<Arc<dyn Host>> {
        let folders = [("--sysfs", &self.sysfs), ("--dev", &self.dev)];
        for (flag, folder) in folders.into_iter().filter(|_| machine.is_none()) {
            fs::read_dir(folder).with_context(|| format!("cannot read {flag} {}", folder.display()))?;
        }
        self.host(machine)
    }
}

/// The kernel of a machine document; `-` is standard input.
pub(super) fn simulator(path: &Path) -> anyhow::Result<Simulator> {
    let (text, origin) = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).context("cannot read a machine document from stdin")?;
        (text, "<stdin>".to_owned())
    } else {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read the machine document {}", path.display()))?;
        (text, path.display().to_string())
    };
    Ok(Simulator::new(Machine::load(&text, &origin)?))
}

/// A simulated host has no processes and no namespaces with a name.
impl rdma::Host for Simulator {
    fn process_name(&self, _: u32) -> Option<String> {
        None
    }

    fn netns(&self, _: &str) -> io::Result<OwnedFd> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a machine document has no other namespaces"))
    }

    fn sysfs(&self) -> Sysfs {
        Host::sysfs(self)
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        Host::netdevs(self)
    }
}
