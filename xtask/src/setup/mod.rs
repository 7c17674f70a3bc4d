//! Everything the lab needs and where it comes from. Nothing is built twice: see [`crate::cache`].

pub(crate) mod debian;
mod fakehca;
pub(crate) mod golang;
pub(crate) mod guest;
pub(crate) mod host;
mod initrd;
mod kbuild;
pub(crate) mod kernel;
mod siw;
mod version;

use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};

use self::golang::Kube;
use self::guest::GuestRoot;
use self::kernel::{Kernel, NEWEST, STABLE};
use crate::dirs::Dirs;
use crate::image;
use crate::report::Reporter;

/// What a cluster is made of.
#[derive(Debug, Clone)]
pub(crate) struct Parts {
    pub(crate) kube: Kube,
    pub(crate) helm: PathBuf,
    pub(crate) root: GuestRoot,
    /// One a node.
    pub(crate) kernels: Vec<Kernel>,
    /// Archives that every node gets.
    pub(crate) images: Vec<PathBuf>,
}

/// Installs and builds whatever is missing. Go's builds run beside the rest: they are the longest.
pub(crate) fn run(dirs: &Dirs, reporter: &Reporter) -> Result<Parts> {
    host::prepare(reporter)?;
    thread::scope(|scope| {
        let go = scope.spawn(|| -> Result<(Kube, PathBuf)> {
            Ok((golang::kube(dirs, reporter)?, golang::helm(dirs, reporter)?))
        });
        let guest = guest_parts(dirs, reporter);
        let (kube, helm) = go.join().map_err(|_| anyhow!("the thread that builds with Go ended early"))??;
        let (root, kernels, images) = guest?;
        Ok(Parts { kube, helm, root, kernels, images })
    })
}

fn guest_parts(dirs: &Dirs, reporter: &Reporter) -> Result<(GuestRoot, Vec<Kernel>, Vec<PathBuf>)> {
    let root = guest::root(dirs, reporter)?;
    let kernels = [NEWEST, STABLE]
        .into_iter()
        .map(|line| kernel::kernel(dirs, reporter, line))
        .collect::<Result<Vec<_>>>()?;
    let images = vec![image::pause(dirs, reporter)?, image::verbs(dirs, reporter, &root)?];
    Ok((root, kernels, images))
}
