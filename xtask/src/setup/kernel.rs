//! The guests' kernels: Debian's packages, unpacked, and an initrd with the modules of `lab/guest/modules.txt`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::debian::{BACKPORTS, Mirror, SECURITY, SUITE, required};
use super::guest::list;
use super::{fakehca, initrd, siw, version};
use crate::cache::{Inputs, Piece};
use crate::dirs::Dirs;
use crate::report::Reporter;
use crate::step::Step;

/// A line of kernels, of which the lab boots one release.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// The release the lab was last tried with.
    release: &'static str,
    /// Where Debian has it.
    suites: &'static [&'static str],
    /// What the releases that may stand in for it begin with.
    prefix: &'static str,
}

/// The newest kernel that Debian stable users can have.
pub(crate) const NEWEST: Line = Line { release: "7.3.4+deb13-amd64", suites: &[BACKPORTS], prefix: "" };
/// The kernel of Debian stable.
pub(crate) const STABLE: Line =
    Line { release: "6.12.117+deb13-amd64", suites: &[SUITE, SECURITY], prefix: "6.12." };

/// A kernel that a guest can boot.
#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    /// What `uname -r` says there.
    pub(crate) release: String,
    /// The kernel image.
    pub(crate) image: PathBuf,
    /// Its first file system.
    pub(crate) initrd: PathBuf,
}

/// The kernel of this line, downloaded and built unless it is there.
pub(crate) fn kernel(dirs: &Dirs, reporter: &Reporter, line: Line) -> Result<Kernel> {
    let (release, unpacked) = unpacked(dirs, reporter, line)?;
    let extra = [
        siw::module(dirs, reporter, &release, line.suites)?,
        fakehca::module(dirs, reporter, &release, line.suites)?,
    ];
    let modules = list(&dirs.lab_file("guest/modules.txt"))?;
    let inputs = Inputs::default()
        .text(&modules.join(" "))
        .text(&extra.each_ref().map(|folder| folder.to_string_lossy()).join(" "))
        .file(&dirs.lab_file("guest/initrd-init.sh"))?
        .file(&dirs.lab_file("guest/init.sh"))?;
    let folder = Piece::new(dirs, "initrd", &release, inputs).get(reporter, |step, draft| {
        initrd::Builder { step, dirs, release: &release, kernel: &unpacked, extra: &extra }
            .build(&modules, draft)
    })?;
    Ok(Kernel { release, image: unpacked.join("vmlinuz"), initrd: folder.join("initrd") })
}

/// The release to boot, and its folder with `vmlinuz`, `config` and `lib/modules`.
fn unpacked(dirs: &Dirs, reporter: &Reporter, line: Line) -> Result<(String, PathBuf)> {
    let piece = |release: &str| Piece::new(dirs, "kernel", release, Inputs::default());
    let wanted = piece(line.release);
    if wanted.path().exists() {
        return Ok((line.release.to_owned(), wanted.path()));
    }
    let mirror = Mirror::of_this_machine(dirs)?;
    let release =
        reporter.step(&format!("find kernel {}", line.release), |step| choose(step, &mirror, line))?;
    if release != line.release {
        reporter.say(&format!("kernel {} is gone from Debian's mirror: using {release}", line.release));
    }
    let folder =
        piece(&release).get(reporter, |step, draft| unpack(step, &mirror, line.suites, &release, draft))?;
    Ok((release, folder))
}

fn choose(step: &Step, mirror: &Mirror, line: Line) -> Result<String> {
    let mut releases = Vec::new();
    for suite in line.suites {
        let images = mirror.packages(step, suite, |name| is_release(name, line.prefix))?;
        releases.extend(images.into_iter().map(|image| image.name.replace("linux-image-", "")));
    }
    if releases.iter().any(|release| release == line.release) {
        return Ok(line.release.to_owned());
    }
    releases
        .into_iter()
        .max_by(|a, b| version::compare(a, b))
        .with_context(|| format!("no kernel {}* in {}", line.prefix, line.suites.join(", ")))
}

/// Whether this is the image of one release, in the flavour that has rxe.
fn is_release(package: &str, prefix: &str) -> bool {
    package.strip_prefix("linux-image-").is_some_and(|release| {
        release.starts_with(prefix)
            && release.starts_with(|first: char| first.is_ascii_digit())
            && release.ends_with("-amd64")
            && !["-cloud-", "-rt-"].iter().any(|flavour| release.contains(flavour))
    })
}

fn unpack(step: &Step, mirror: &Mirror, suites: &[&str], release: &str, draft: &Path) -> Result<()> {
    let files = draft.join("files");
    fs::create_dir(&files)?;
    // Up to 6.18 one package has all; from 6.19 on it is empty and depends on the other three.
    let image = format!("linux-image-{release}");
    let package = required(mirror.find(step, suites, &image, None)?, &image)?;
    mirror.unpack(step, &package, &files)?;
    for part in ["linux-binary", "linux-modules", "linux-base"] {
        if let Some(package) = mirror.find(step, suites, &format!("{part}-{release}"), None)? {
            mirror.unpack(step, &package, &files)?;
        }
    }
    let trees = ["lib/modules", "usr/lib/modules"].map(|tree| files.join(tree).join(release));
    let Some(modules) = trees.iter().find(|tree| tree.join("kernel").exists()) else {
        bail!("{image} has no modules in a place that is known");
    };
    let boot = files.join("boot");
    first(&[modules.join("vmlinuz"), boot.join(format!("vmlinuz-{release}"))], &draft.join("vmlinuz"))?;
    first(&[modules.join("config"), boot.join(format!("config-{release}"))], &draft.join("config"))?;
    fs::create_dir_all(draft.join("lib/modules"))?;
    let target = draft.join("lib/modules").join(release);
    fs::rename(modules, &target)?;
    for link in ["build", "source"] {
        let _ = fs::remove_file(target.join(link)); // they point at packages that are not here
    }
    fs::remove_dir_all(files)?;
    step.run(Command::new("depmod").arg("-b").arg(draft).arg(release))
}

fn first(candidates: &[PathBuf], to: &Path) -> Result<()> {
    let Some(file) = candidates.iter().find(|file| file.exists()) else {
        bail!("none of {candidates:?} is there");
    };
    fs::copy(file, to)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_full_flavour_of_a_release_counts() {
        assert!(is_release("linux-image-6.12.117+deb13-amd64", "6.12."));
        assert!(!is_release("linux-image-6.12.117+deb13-cloud-amd64", "6.12."));
        assert!(!is_release("linux-image-amd64", ""));
        assert!(!is_release("linux-image-6.12.117+deb13-amd64-unsigned", "6.12."));
    }
}
