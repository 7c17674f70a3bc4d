//! The control plane: etcd and Kubernetes' own components, on the bridge of the lab's network.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::network::{self, GATEWAY, SERVICES};
use super::pki::Authority;
use super::state::State;
use crate::interrupt::wait_until;
use crate::step::{Step, succeeds, tail};

const ETCD: &str = "http://127.0.0.1:2379";
const COMPONENTS: [&str; 5] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
const START_LIMIT: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(300);

/// Starts the control plane and waits until the API answers.
pub(crate) fn start(step: &Step, state: &State, kube: &Path, authority: &Authority) -> Result<()> {
    let programs = state.folder.join("control-plane");
    fs::create_dir_all(&programs)?;
    for component in COMPONENTS {
        symlink(kube, programs.join(component))?;
    }
    authority.sign(step, "apiserver", "/CN=kube-apiserver")?;
    authority.sign(step, "admin", "/O=system:masters/CN=admin")?;
    let admin = state.folder.join("kubeconfig");
    authority.kubeconfig("admin", &admin)?;

    let plane = ControlPlane { state, programs, authority, admin };
    plane.etcd()?;
    plane.api_server()?;
    plane.wait_for_api()?;
    plane.controller_manager()?;
    plane.scheduler()
}

struct ControlPlane<'a> {
    state: &'a State,
    programs: PathBuf,
    authority: &'a Authority,
    admin: PathBuf,
}

impl ControlPlane<'_> {
    fn run(&self, component: &str, options: &[String]) -> Result<()> {
        self.state.start(component, Command::new(self.programs.join(component)).args(options))
    }

    fn etcd(&self) -> Result<()> {
        self.run(
            "etcd",
            &[
                option("data-dir", &self.state.folder.join("etcd")),
                format!("--listen-client-urls={ETCD}"),
                format!("--advertise-client-urls={ETCD}"),
                "--listen-peer-urls=http://127.0.0.1:2380".into(),
                "--unsafe-no-fsync".into(),
            ],
        )
    }

    fn api_server(&self) -> Result<()> {
        let (signing, checking) =
            (self.authority.key("service-accounts"), self.authority.public_key("service-accounts"));
        self.run(
            "kube-apiserver",
            &[
                format!("--etcd-servers={ETCD}"),
                format!("--bind-address={GATEWAY}"),
                format!("--advertise-address={GATEWAY}"),
                "--secure-port=6443".into(),
                option("tls-cert-file", &self.authority.certificate("apiserver")),
                option("tls-private-key-file", &self.authority.key("apiserver")),
                option("client-ca-file", &self.authority.certificate("ca")),
                option("service-account-key-file", &checking),
                option("service-account-signing-key-file", &signing),
                "--service-account-issuer=https://kubernetes.default.svc".into(),
                format!("--service-cluster-ip-range={SERVICES}"),
                "--authorization-mode=Node,RBAC".into(),
                "--enable-admission-plugins=NodeRestriction".into(),
                "--allow-privileged=true".into(),
                option("kubelet-client-certificate", &self.authority.certificate("admin")),
                option("kubelet-client-key", &self.authority.key("admin")),
                // Node names resolve nowhere.
                "--kubelet-preferred-address-types=InternalIP".into(),
            ],
        )
    }

    fn controller_manager(&self) -> Result<()> {
        self.run(
            "kube-controller-manager",
            &[
                option("kubeconfig", &self.admin),
                option("service-account-private-key-file", &self.authority.key("service-accounts")),
                option("root-ca-file", &self.authority.certificate("ca")),
                "--use-service-account-credentials".into(),
                "--leader-elect=false".into(),
                "--bind-address=127.0.0.1".into(),
            ],
        )
    }

    fn scheduler(&self) -> Result<()> {
        let options = ["--leader-elect=false".into(), "--bind-address=127.0.0.1".into()];
        self.run("kube-scheduler", &[&[option("kubeconfig", &self.admin)], &options[..]].concat())
    }

    fn wait_for_api(&self) -> Result<()> {
        let ready = wait_until(START_LIMIT, POLL, || {
            for component in ["etcd", "kube-apiserver"] {
                if !self.state.runs(component) {
                    bail!("{component} ended:\n{}", tail(&self.state.log(component), 15));
                }
            }
            Ok(succeeds(&mut kubectl(self.state, &["get", "--raw", "/readyz"])))
        })?;
        ready.then_some(()).with_context(|| format!("the API server is not ready after {START_LIMIT:?}"))
    }
}

/// A kubectl command as the cluster's administrator.
pub(crate) fn kubectl(state: &State, arguments: &[&str]) -> Command {
    let mut command = Command::new(state.folder.join("control-plane/kubectl"));
    command.args(arguments).env("KUBECONFIG", state.folder.join("kubeconfig"));
    network::inside(&command)
}

fn option(name: &str, value: &Path) -> String {
    format!("--{name}={}", value.display())
}
