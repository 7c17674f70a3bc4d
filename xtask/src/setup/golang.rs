//! Kubernetes and Helm, built from their Go modules.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cache::{Inputs, Piece, link_or_copy};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::nice;

/// The version that `lab/kube/go.mod` requires.
const KUBERNETES: &str = "v1.36.3";
const HELM: &str = "v4.3.1";

/// The real Kubernetes.
#[derive(Debug, Clone)]
pub(crate) struct Kube {
    /// One program that is the control plane, the kubelet and kubectl.
    pub(crate) program: PathBuf,
    /// A file system with the kubelet, for the guests: a share would be read much more slowly.
    pub(crate) disk: PathBuf,
}

/// Builds the multi-call binary of `lab/kube` unless it is there.
pub(crate) fn kube(dirs: &Dirs, reporter: &Reporter) -> Result<Kube> {
    let module = dirs.lab_file("kube");
    let flags = link_flags();
    let inputs = ["devicemanager.go", "go.mod", "go.sum", "main.go"]
        .iter()
        .try_fold(Inputs::default().text(&flags).text("disk"), |inputs, name| {
            inputs.file(&module.join(name))
        })?;
    let piece = Piece::new(dirs, "kube", KUBERNETES, inputs).get(reporter, |step, draft| {
        step.run(
            nice("go")
                .args(["build", "-trimpath", "-ldflags", &flags, "-o"])
                .arg(draft.join("kube"))
                .arg(".")
                .current_dir(&module)
                .env("CGO_ENABLED", "0"),
        )?;
        let files = draft.join("files");
        std::fs::create_dir(&files)?;
        link_or_copy(&draft.join("kube"), &files.join("kubelet"))?;
        step.run(Command::new("mkfs.erofs").arg("--all-root").arg(draft.join("kubelet.erofs")).arg(&files))
    })?;
    Ok(Kube { program: piece.join("kube"), disk: piece.join("kubelet.erofs") })
}

/// The helm program.
pub(crate) fn helm(dirs: &Dirs, reporter: &Reporter) -> Result<PathBuf> {
    let piece = Piece::new(dirs, "helm", HELM, Inputs::default()).get(reporter, |step, draft| {
        step.run(
            nice("go")
                .args(["install", "-trimpath", "-ldflags", "-s -w"])
                .arg(format!("helm.sh/helm/v4/cmd/helm@{HELM}"))
                .env("CGO_ENABLED", "0")
                .env("GOBIN", draft),
        )
    })?;
    Ok(piece.join("helm"))
}

/// Tells the components which version they are, as Kubernetes' own build does.
fn link_flags() -> String {
    let mut numbers = KUBERNETES.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let mut flags = String::from("-s -w");
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        for (name, value) in
            [("gitVersion", KUBERNETES), ("gitMajor", major), ("gitMinor", minor), ("gitTreeState", "clean")]
        {
            flags.push_str(&format!(" -X {package}.{name}={value}"));
        }
    }
    flags
}
