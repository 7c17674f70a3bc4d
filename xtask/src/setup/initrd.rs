//! Packs an initrd: busybox, the chosen modules with what they depend on, and the first process.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::dirs::Dirs;
use crate::step::{Step, quiet};

/// `/sbin/modprobe` must be there early: the kernel itself asks for crypto modules.
const APPLETS: [&str; 11] =
    ["sh", "grep", "mount", "mkdir", "insmod", "modprobe", "switch_root", "cp", "uname", "sleep", "poweroff"];

/// What an initrd is made from.
pub(crate) struct Builder<'a> {
    pub(crate) step: &'a Step,
    pub(crate) dirs: &'a Dirs,
    pub(crate) release: &'a str,
    /// The unpacked kernel package.
    pub(crate) kernel: &'a Path,
    /// Folders of modules that the package lacks.
    pub(crate) extra: &'a [PathBuf],
}

impl Builder<'_> {
    /// Leaves `initrd` in the folder.
    pub(crate) fn build(&self, modules: &[String], draft: &Path) -> Result<()> {
        let root = draft.join("root");
        let tree = root.join("lib/modules").join(self.release);
        for folder in ["bin", "proc", "sys", "dev", "new", "lower", "rw"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::create_dir_all(&tree)?;
        for file in self.with_dependencies(modules)? {
            self.add_module(&file, &root)?;
        }
        for folder in self.extra {
            for entry in fs::read_dir(folder)? {
                let file = entry?.path();
                let name = file.file_name().context("a module without a name")?;
                fs::copy(&file, tree.join(name))?;
            }
        }
        let source = self.kernel.join("lib/modules").join(self.release);
        for name in ["modules.order", "modules.builtin", "modules.builtin.modinfo"] {
            fs::copy(source.join(name), tree.join(name)).with_context(|| format!("copying {name}"))?;
        }
        fs::copy(self.kernel.join("config"), tree.join("config"))?;
        self.step.run(Command::new("depmod").arg("-b").arg(&root).arg(self.release))?;
        self.add_programs(&root)?;
        pack(&root, &draft.join("initrd"))?;
        Ok(fs::remove_dir_all(root)?)
    }

    /// The files of these modules and of all they depend on.
    fn with_dependencies(&self, modules: &[String]) -> Result<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        for module in modules {
            let mut ask = Command::new("modprobe");
            ask.args(["-S", self.release, "--show-depends", module]).arg("-d").arg(self.kernel);
            match quiet(&mut ask) {
                Ok(lines) => files.extend(
                    lines
                        .lines()
                        .filter_map(|line| line.strip_prefix("insmod "))
                        .filter_map(|rest| rest.split_whitespace().next())
                        .map(PathBuf::from),
                ),
                Err(_) => self.step.note(&format!("{} has no module {module}", self.release)),
            }
        }
        Ok(files)
    }

    /// Copies one module, decompressed.
    fn add_module(&self, file: &Path, root: &Path) -> Result<()> {
        let target =
            root.join(file.strip_prefix(self.kernel).context("a module outside the kernel's folder")?);
        fs::create_dir_all(target.parent().context("no parent")?)?;
        if file.extension().is_some_and(|end| end == "xz") {
            let plain = File::create(target.with_extension(""))?;
            let status = Command::new("xz").arg("-dc").arg(file).stdout(plain).status()?;
            anyhow::ensure!(status.success(), "decompressing {} failed", file.display());
        } else {
            fs::copy(file, target)?;
        }
        Ok(())
    }

    fn add_programs(&self, root: &Path) -> Result<()> {
        fs::copy("/bin/busybox", root.join("bin/busybox"))?;
        for applet in APPLETS {
            symlink("busybox", root.join("bin").join(applet))?;
        }
        symlink("bin", root.join("sbin"))?;
        for (script, name) in [("guest/initrd-init.sh", "init"), ("guest/init.sh", "guest-init")] {
            let target = root.join(name);
            fs::copy(self.dirs.lab_file(script), &target)?;
            fs::set_permissions(target, fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }
}

/// A cpio archive, not compressed: the emulated CPU would take longer to unpack it than to read it.
fn pack(root: &Path, to: &Path) -> Result<()> {
    let status = Command::new("sh")
        .args(["-c", "find . | LC_ALL=C sort | cpio --quiet -o -H newc -R 0:0"])
        .current_dir(root)
        .stdout(File::create(to)?)
        .status()?;
    anyhow::ensure!(status.success(), "packing {} failed", to.display());
    Ok(())
}
