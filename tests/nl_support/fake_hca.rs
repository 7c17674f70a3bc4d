//! Hardware that is none.

use std::process::Command;

/// A module that pretends to be a two-port InfiniBand HCA, with optional counters and sub-devices.
pub(crate) struct FakeHca;

impl FakeHca {
    /// `None` where there is no such module.
    pub(crate) fn load() -> Option<Self> {
        let output = Command::new("modprobe").args(["fakehca", "devices=1", "ports=2"]).output().unwrap();
        output.status.success().then_some(Self)
    }
}

impl Drop for FakeHca {
    fn drop(&mut self) {
        let _ = Command::new("modprobe").args(["-r", "fakehca"]).status();
    }
}
