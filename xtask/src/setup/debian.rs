//! Debian's packages, from the mirror that this machine's apt uses: index, choice, checked download.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use sha2::{Digest as _, Sha256};

use super::version;
use crate::cache::hex;
use crate::dirs::Dirs;
use crate::step::{Step, quiet};

/// How long a downloaded index counts as new.
const INDEX_AGE: Duration = Duration::from_secs(24 * 3600);

/// The release that the guests run.
pub(crate) const SUITE: &str = "trixie";
/// Where its updates between point releases are.
pub(crate) const SECURITY: &str = "trixie-security";
/// Where its newest kernels are.
pub(crate) const BACKPORTS: &str = "trixie-backports";
/// Where Debian's newest user space is.
pub(crate) const SID: &str = "sid";

/// The mirror and what was downloaded from it.
#[derive(Debug)]
pub(crate) struct Mirror {
    /// The archive's address, without a slash at the end.
    pub(crate) main: String,
    security: Option<String>,
    downloads: PathBuf,
}

/// One entry of a suite's index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    filename: String,
    sha256: String,
    site: String,
}

impl Mirror {
    /// Asks apt for the addresses it uses.
    pub(crate) fn of_this_machine(dirs: &Dirs) -> Result<Self> {
        let targets = quiet(Command::new("apt-get").args([
            "indextargets",
            "--format",
            "$(SITE)",
            "Created-By: Packages",
            "Component: main",
        ]))?;
        let site = |end: &str| {
            targets.lines().map(|site| site.trim_end_matches('/')).find(|site| site.ends_with(end))
        };
        let main = site("/debian").context("apt's sources name no Debian mirror")?.to_owned();
        let security = site("/debian-security").map(str::to_owned);
        let downloads = dirs.cache.join("debian");
        fs::create_dir_all(&downloads)?;
        Ok(Self { main, security, downloads })
    }

    /// Every package of the suite that `wanted` says yes to.
    pub(crate) fn packages(
        &self,
        step: &Step,
        suite: &str,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Package>> {
        let Some(site) = self.site(suite) else { return Ok(Vec::new()) };
        let index = self.index(step, suite, site)?;
        Ok(parse(&index, wanted)
            .into_iter()
            .map(|package| Package { site: site.to_owned(), ..package })
            .collect())
    }

    /// The newest version of a package in these suites, or the given version of it.
    pub(crate) fn find(
        &self,
        step: &Step,
        suites: &[&str],
        name: &str,
        exactly: Option<&str>,
    ) -> Result<Option<Package>> {
        let mut best: Option<Package> = None;
        for suite in suites {
            for package in self.packages(step, suite, |other| other == name)? {
                let fits = exactly.is_none_or(|version| version == package.version);
                let newer = best
                    .as_ref()
                    .is_none_or(|best| version::compare(&package.version, &best.version).is_gt());
                if fits && newer {
                    best = Some(package);
                }
            }
        }
        Ok(best)
    }

    /// Downloads a package unless it is there, checks its SHA-256 and unpacks it into `target`.
    pub(crate) fn unpack(&self, step: &Step, package: &Package, target: &Path) -> Result<()> {
        let file = self.download(step, package)?;
        step.run(Command::new("dpkg-deb").arg("-x").arg(file).arg(target))
    }

    /// Downloads a package unless it is there and checks its SHA-256.
    pub(crate) fn download(&self, step: &Step, package: &Package) -> Result<PathBuf> {
        let base = package.filename.rsplit('/').next().unwrap_or(&package.filename);
        let file = self.downloads.join(base);
        if file.exists() && sha256(&file)? == package.sha256 {
            return Ok(file);
        }
        let part = self.downloads.join(format!("{base}.part"));
        fetch(step, &format!("{}/{}", package.site, package.filename), &part)?;
        let sum = sha256(&part)?;
        if sum != package.sha256 {
            bail!("{base}: its SHA-256 is {sum}, the index says {}", package.sha256);
        }
        fs::rename(&part, &file)?;
        Ok(file)
    }

    fn site(&self, suite: &str) -> Option<&str> {
        if suite.ends_with("-security") { self.security.as_deref() } else { Some(&self.main) }
    }

    /// The text of the suite's index; an old one when no new one can be had.
    fn index(&self, step: &Step, suite: &str, site: &str) -> Result<String> {
        let file = self.downloads.join(format!("Packages-{suite}.xz"));
        let fresh = fs::metadata(&file)
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age < INDEX_AGE));
        if !fresh {
            let part = file.with_extension("part");
            let address = format!("{site}/dists/{suite}/main/binary-amd64/Packages.xz");
            match fetch(step, &address, &part) {
                Ok(()) => fs::rename(&part, &file)?,
                Err(error) if file.exists() => {
                    step.note(&format!("{error:#}; using the index of an earlier day"))
                }
                Err(error) => return Err(error),
            }
        }
        step.output(Command::new("xz").arg("-dc").arg(&file))
    }
}

/// The package, or an error that names it.
pub(crate) fn required(package: Option<Package>, name: &str) -> Result<Package> {
    package.ok_or_else(|| anyhow!("Debian has no package {name} any more"))
}

fn fetch(step: &Step, address: &str, to: &Path) -> Result<()> {
    step.run(Command::new("curl").args(["-sSfL", "--retry", "3", "-o"]).arg(to).arg(address))
}

fn sha256(file: &Path) -> Result<String> {
    let mut sum = Sha256::new();
    std::io::copy(&mut fs::File::open(file)?, &mut sum)?;
    Ok(hex(&sum.finalize()))
}

fn parse(index: &str, wanted: impl Fn(&str) -> bool) -> Vec<Package> {
    let mut packages = Vec::new();
    for stanza in index.split("\n\n") {
        let mut package = Package::default();
        for line in stanza.lines() {
            match line.split_once(": ") {
                Some(("Package", value)) => package.name = value.to_owned(),
                Some(("Version", value)) => package.version = value.to_owned(),
                Some(("Filename", value)) => package.filename = value.to_owned(),
                Some(("SHA256", value)) => package.sha256 = value.to_owned(),
                _ => {}
            }
            if !package.name.is_empty() && !wanted(&package.name) {
                break;
            }
        }
        if !package.filename.is_empty() && wanted(&package.name) {
            packages.push(package);
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_packages_are_kept() {
        let index = "Package: a\nVersion: 1\nFilename: pool/a.deb\nSHA256: 00\n\n\
                     Package: b\nVersion: 2\nDescription: Filename: no\nFilename: pool/b.deb\nSHA256: 11\n";
        let found = parse(index, |name| name == "b");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].version.as_str(), found[0].filename.as_str()), ("2", "pool/b.deb"));
    }
}
