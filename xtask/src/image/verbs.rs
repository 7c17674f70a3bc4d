//! The image of the test pods: a shell, and the verbs programs of the guests' root with their libraries.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::archive::{Content, write};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::setup::guest::{GuestRoot, list};
use crate::step::{Step, quiet};

const NAME: &str = "docker.io/library/verbs:lab";
const APPLETS: [&str; 12] =
    ["sh", "ls", "cat", "sleep", "mount", "id", "env", "grep", "timeout", "wget", "head", "touch"];

/// The verbs image, from `lab/images/verbs.txt`.
pub(crate) fn verbs(dirs: &Dirs, reporter: &Reporter, root: &GuestRoot) -> Result<PathBuf> {
    let names = list(&dirs.lab_file("images/verbs.txt"))?;
    let inputs = Inputs::default().text(&names.join(" ")).text(&APPLETS.join(" ")).text(&root.key());
    let folder = Piece::new(dirs, "image-verbs", "lab", inputs).get(reporter, |step, draft| {
        let files = draft.join("files");
        for folder in ["bin", "tmp", "proc", "sys", "dev"] {
            fs::create_dir_all(files.join(folder))?;
        }
        fs::copy("/bin/busybox", files.join("bin/busybox"))?;
        for applet in APPLETS {
            std::os::unix::fs::symlink("busybox", files.join("bin").join(applet))?;
        }
        for name in with_libraries(step, &root.tree(), &names)? {
            copy(&root.tree(), &name, &files)?;
        }
        write(step, &Content { name: NAME, files: &files, entrypoint: &[] }, &draft.join("verbs.tar"))
    })?;
    Ok(folder.join("verbs.tar"))
}

/// The files that the patterns name, and the libraries they ask for, as paths in the root.
fn with_libraries(step: &Step, tree: &Path, patterns: &[String]) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for pattern in patterns {
        let found =
            step.output(Command::new("chroot").arg(tree).args(["sh", "-c", &format!("ls -d {pattern}")]))?;
        for file in found.lines() {
            // A text file has no libraries, and ldd says so with an error.
            let libraries = quiet(Command::new("chroot").arg(tree).args(["ldd", file])).unwrap_or_default();
            names
                .extend(libraries.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned));
            names.insert(file.to_owned());
        }
    }
    Ok(names)
}

fn copy(tree: &Path, name: &str, files: &Path) -> Result<()> {
    let relative = name.trim_start_matches('/');
    let target = files.join(relative);
    fs::create_dir_all(target.parent().context("no parent")?)?;
    fs::copy(tree.join(relative), &target).with_context(|| format!("copying {name}"))?;
    Ok(())
}
