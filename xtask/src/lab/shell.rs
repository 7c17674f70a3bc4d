//! A shell in a node, by ssh inside the lab's network.

use std::ffi::OsString;
use std::process::Command;

use super::network;
use super::state::State;

/// The words of a command line that runs what follows them in the node.
pub(crate) fn words(state: &State, node: &str, address: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["ssh".into(), "-q".into(), "-i".into()];
    words.push(state.folder.join("id").into());
    for option in [
        "StrictHostKeyChecking=no".to_owned(),
        "UserKnownHostsFile=/dev/null".to_owned(),
        "ConnectTimeout=5".to_owned(),
        "LogLevel=ERROR".to_owned(),
        // Calls after the first use its connection.
        "ControlMaster=auto".to_owned(),
        "ControlPersist=600".to_owned(),
        format!("ControlPath={}", state.node(node).join("ssh").display()),
    ] {
        words.extend(["-o".into(), option.into()]);
    }
    words.push(format!("root@{address}").into());
    words
}

/// A command that runs `script` in the node's shell.
pub(crate) fn script(state: &State, node: &str, address: &str, script: &str) -> Command {
    let words = words(state, node, address);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(script);
    network::inside(&command)
}
