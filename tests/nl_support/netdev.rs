//! What the tests on a live kernel make and take away again.

use std::process::Command;

/// A dummy network device; soft links on it go with it.
pub(crate) struct Netdev(&'static str);

fn ip(words: &[&str]) {
    let output = Command::new("ip").args(words).output().unwrap();
    assert!(output.status.success(), "ip {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Netdev {
    /// Makes it, and sets it up.
    pub(crate) fn new(name: &'static str) -> Self {
        ip(&["link", "add", name, "type", "dummy"]);
        ip(&["link", "set", name, "up"]);
        Self(name)
    }
}

impl Drop for Netdev {
    fn drop(&mut self) {
        // Also when a test fails half way, so nothing may fail here.
        let _ = Command::new("ip").args(["link", "del", self.0]).status();
    }
}
