//! One node: a VM whose folder `host/` is shared with the guest, made part of the cluster by `node-start.sh`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::network::{API_SERVICE, GATEWAY, node_address, pod_range};
use super::pki::Authority;
use super::shell;
use super::state::State;
use crate::cache::link_or_copy;
use crate::dirs::Dirs;
use crate::image;
use crate::interrupt::wait_until;
use crate::setup::Parts;
use crate::setup::kernel::Kernel;
use crate::step::{Step, succeeds, tail};

/// Most nodes a cluster can have, by its addresses.
pub(crate) const MOST: usize = 4;
const MEMORY_MIB: &str = "2560";
const BOOT_LIMIT: Duration = Duration::from_secs(240);
const READY_LIMIT: Duration = Duration::from_secs(300);
const POLL: Duration = Duration::from_millis(200);

/// What all nodes of a cluster have in common.
#[derive(Debug)]
pub(crate) struct Site<'a> {
    pub(crate) dirs: &'a Dirs,
    pub(crate) state: &'a State,
    pub(crate) parts: &'a Parts,
    pub(crate) authority: &'a Authority,
    /// QEMU's options for the accelerator.
    pub(crate) accelerator: [&'static str; 2],
}

/// A node before and while it runs.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Its name, here and in the cluster.
    pub(crate) name: String,
    /// From 1; its addresses follow from it.
    pub(crate) number: usize,
    /// What it boots.
    pub(crate) kernel: Kernel,
    /// More kernel arguments.
    pub(crate) arguments: Vec<String>,
}

impl Node {
    /// Boots the VM and leaves when its shell answers and its start has begun.
    pub(crate) fn start(&self, step: &Step, site: &Site<'_>) -> Result<()> {
        let state = site.state;
        let folder = state.node(&self.name);
        self.share(step, site, &folder.join("host"))?;
        fs::write(folder.join("ip"), node_address(self.number))?;
        let console = folder.join("console");
        fs::write(&console, "")?;
        self.boot(site, &folder)?;
        let address = node_address(self.number);
        let answers = wait_until(BOOT_LIMIT, POLL, || {
            if !state.runs(&self.name) {
                bail!("the VM ended:\n{}\n{}", tail(&state.log(&self.name), 10), tail(&console, 20));
            }
            Ok(fs::read_to_string(&console).is_ok_and(|text| text.contains("LAB-READY"))
                && succeeds(&mut shell::script(state, &self.name, &address, "true")))
        })?;
        if !answers {
            bail!("{} has no shell after {BOOT_LIMIT:?}:\n{}", self.name, tail(&console, 20));
        }
        let start = "setsid sh /host/node-start.sh > /host/start.log 2>&1 < /dev/null & sleep 0.1";
        step.run(&mut shell::script(state, &self.name, &address, start))
    }

    /// Waits until the API server says that the node is ready.
    pub(crate) fn wait_ready(&self, step: &Step, state: &State) -> Result<()> {
        let host = state.node(&self.name).join("host");
        let path = "{.status.conditions[?(@.type=='Ready')].status}";
        let ready = wait_until(READY_LIMIT, POLL * 3, || {
            if !state.runs(&self.name) {
                bail!("the VM of {} ended", self.name);
            }
            let mut ask = super::control_plane::kubectl(
                state,
                &["get", "node", &self.name, "--ignore-not-found", "-o", &format!("jsonpath={path}")],
            );
            Ok(step.output(&mut ask).is_ok_and(|answer| answer == "True"))
        })?;
        if !ready {
            for name in ["start.log", "containerd.log", "kubelet.log"] {
                step.note(&format!("--- {name} of {}\n{}", self.name, tail(&host.join(name), 25)));
            }
            bail!("{} is not ready after {READY_LIMIT:?}", self.name);
        }
        Ok(())
    }

    /// Fills the folder that the guest sees as /host.
    fn share(&self, step: &Step, site: &Site<'_>, host: &Path) -> Result<()> {
        let authority = site.authority;
        fs::create_dir_all(host.join("images"))?;
        authority.sign(step, &self.name, &format!("/O=system:nodes/CN=system:node:{}", self.name))?;
        authority.kubeconfig(&self.name, &host.join("kubeconfig"))?;
        fs::copy(authority.certificate("ca"), host.join("ca.crt"))?;
        for name in ["node-start.sh", "kubelet.yaml"] {
            fs::copy(site.dirs.lab_file("guest").join(name), host.join(name))?;
        }
        let operator = site.dirs.operator_archive();
        for archive in site.parts.images.iter().chain(operator.exists().then_some(&operator)) {
            link_or_copy(archive, &host.join("images").join(archive.file_name().context("no name")?))?;
        }
        fs::write(host.join("node.env"), self.environment())?;
        let routes = (1..=MOST).map(|number| format!("{} {}\n", pod_range(number), node_address(number)));
        fs::write(host.join("pod-routes"), routes.collect::<String>())?;
        Ok(())
    }

    fn environment(&self) -> String {
        format!(
            "NODE_NAME={}\nNODE_IP={}\nPOD_RANGE={}\nGATEWAY={GATEWAY}\nAPI_SERVICE={API_SERVICE}\nPAUSE_IMAGE={}\n",
            self.name,
            node_address(self.number),
            pod_range(self.number),
            image::PAUSE,
        )
    }

    fn boot(&self, site: &Site<'_>, folder: &Path) -> Result<()> {
        let mut arguments = format!(
            "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off random.trust_cpu=on \
             lab.name={} lab.ip={} lab.gateway={GATEWAY}",
            self.name,
            node_address(self.number)
        );
        for extra in &self.arguments {
            arguments.push(' ');
            arguments.push_str(extra);
        }
        let number = self.number;
        let shown = |path: PathBuf| path.display().to_string();
        // One processor: with two, an emulated kernel now and then runs into its own breakpoint while the other
        // processor patches its code ("Oops: int3"), and dies.
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-name", &self.name])
            .args(site.accelerator)
            .args(["-cpu", "max", "-smp", "1", "-m", MEMORY_MIB])
            .args(["-nodefaults", "-no-reboot", "-display", "none"])
            .args(["-serial", &format!("file:{}", shown(folder.join("console")))])
            .arg("-kernel")
            .arg(&self.kernel.image)
            .arg("-initrd")
            .arg(&self.kernel.initrd)
            .args(["-append", &arguments])
            .args(["-drive", &drive(&site.parts.root.image())])
            .args(["-drive", &drive(&site.parts.kube.disk)])
            .args(["-netdev", &format!("tap,id=n0,ifname=tap{number},script=no,downscript=no")])
            .args(["-device", &format!("virtio-net-pci,netdev=n0,mac=02:00:00:00:00:1{number}")])
            .args(["-device", "virtio-rng-pci"])
            .args([
                "-virtfs",
                &format!("local,path={},mount_tag=host,security_model=none", shown(folder.join("host"))),
            ]);
        site.state.start(&self.name, &mut qemu)
    }
}

/// A file system image that all nodes share.
fn drive(image: &Path) -> String {
    format!("file={},if=virtio,format=raw,readonly=on,file.locking=off", image.display())
}
