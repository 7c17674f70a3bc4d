//! A sysfs as a tree of files: the mounted one, or one that looks like it.

use std::fmt;
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, RawDir, open};

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// Which thing it names: another one of the same name later has another number.
    pub number: u64,
}

/// Files below a sysfs root. Paths are relative to it: `class/infiniband/rxe0/fw_ver`.
pub trait Tree: fmt::Debug + Send + Sync {
    /// The content of a file.
    ///
    /// # Errors
    /// As `read(2)`: ENOENT, or whatever the driver answers.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// What is in a folder, in no order.
    ///
    /// # Errors
    /// As `readdir(3)`.
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>>;

    /// Where a symbolic link leads, without further links, absolute: `/sys/devices/pci0000:15/0000:1a:00.0`.
    ///
    /// # Errors
    /// ENOENT where there is no such link.
    fn target(&self, path: &Path) -> io::Result<PathBuf>;

    /// True for a folder.
    fn is_dir(&self, path: &Path) -> bool;

    /// The path as messages name it.
    fn display(&self, path: &Path) -> PathBuf {
        Path::new("/sys").join(path)
    }
}

/// A mounted sysfs.
#[derive(Debug)]
pub(super) struct Mounted(pub(super) PathBuf);

impl Tree for Mounted {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        // Open, read, close: a sysfs file is a page at most and given by one read. std asks for its length and for
        // more of it, and musl's open() for a second call.
        let file = open(self.0.join(path), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        let mut page = [0; 4096];
        let length = rustix::io::read(file, &mut page)?;
        Ok(page.get(..length).unwrap_or_default().to_vec())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(self.0.join(path), flags, Mode::empty())?;
        // Room for a GID table of rxe (1,024 slots) in one call; readdir(3) has room for 85.
        let mut room = [const { MaybeUninit::uninit() }; 32 << 10];
        let mut names = RawDir::new(folder, &mut room);
        let mut entries = Vec::new();
        while let Some(entry) = names.next() {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                entries.push(Entry { name: name.into_owned(), number: entry.ino() });
            }
        }
        Ok(entries)
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        // The folder that the link is in is itself behind one; canonicalize() alone asks for each component of the
        // path even where there is no link at the end.
        let link = self.0.join(path);
        fs::read_link(&link)?;
        link.canonicalize()
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.0.join(path).is_dir()
    }

    fn display(&self, path: &Path) -> PathBuf {
        self.0.join(path)
    }
}
