//! Small programs for tests and people: kubectl, helm, any other program as the cluster's administrator, and a node's
//! shell, run inside the lab's network.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Result;

use super::network::NAMESPACE;
use super::shell;
use super::state::State;
use crate::setup::Parts;

/// Writes `bin/kubectl`, `bin/helm`, `bin/inside` and `bin/node`.
pub(crate) fn write(state: &State, parts: &Parts) -> Result<()> {
    let kubeconfig = quoted(&state.folder.join("kubeconfig"));
    let inside = format!("exec ip netns exec {NAMESPACE}");
    for (name, program) in [
        ("kubectl", quoted(&state.folder.join("control-plane/kubectl"))),
        ("helm", quoted(&parts.helm)),
        ("inside", String::new()),
    ] {
        let script = format!("#!/bin/sh\nKUBECONFIG={kubeconfig} {inside} {program} \"$@\"\n");
        program_file(&state.bin().join(name), &script)?;
    }
    program_file(&state.bin().join("node"), &node_script(state, &inside))
}

fn node_script(state: &State, inside: &str) -> String {
    // The name and the address are the script's own variables.
    let words: Vec<String> = shell::words(state, "$name", "$address")
        .iter()
        .map(|word| format!("\"{}\"", word.to_string_lossy()))
        .collect();
    format!(
        "#!/bin/sh\n\
         # node NODE CMD...: runs CMD in the node's shell\n\
         name=$1\n\
         shift\n\
         address=$(cat {}/\"$name\"/ip) || exit 1\n\
         {inside} {} \"$@\"\n",
        quoted(&state.folder.join("nodes")),
        words.join(" ")
    )
}

fn program_file(path: &Path, script: &str) -> Result<()> {
    fs::write(path, script)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
