//! Writes down what a cluster looks like, for a failure that will be looked at after the cluster is gone.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::control_plane::kubectl;
use super::state::State;
use crate::step::quiet;

const QUESTIONS: [(&str, &[&str]); 7] = [
    ("pods.txt", &["get", "pods", "-A", "-o", "wide"]),
    ("pods-described.txt", &["describe", "pods", "-A"]),
    ("events.txt", &["get", "events", "-A", "--sort-by=.lastTimestamp"]),
    ("nodes.yaml", &["get", "nodes", "-o", "yaml"]),
    ("rdmanodes.yaml", &["get", "rdmanodes", "-o", "yaml"]),
    ("softrdmalinks.yaml", &["get", "softrdmalinks", "-o", "yaml"]),
    ("daemonsets.txt", &["describe", "daemonsets,deployments", "-A"]),
];

/// Asks the cluster and writes each answer, and the log of each pod, into `folder`.
pub(crate) fn write(state: &State, folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let ask = |words: &[&str]| quiet(&mut kubectl(state, words));
    for (name, question) in QUESTIONS {
        // A cluster that cannot answer one may still answer the next.
        if let Ok(answer) = ask(question) {
            fs::write(folder.join(name), answer)?;
        }
    }
    let columns = "--output=custom-columns=:metadata.namespace,:metadata.name";
    for line in ask(&["get", "pods", "-A", "--no-headers", columns]).unwrap_or_default().lines() {
        let mut words = line.split_whitespace();
        let (Some(namespace), Some(pod)) = (words.next(), words.next()) else { continue };
        for (end, previous) in [("log", false), ("previous.log", true)] {
            let mut question = vec!["logs", "-n", namespace, pod, "--all-containers", "--prefix"];
            question.extend(previous.then_some("--previous"));
            if let Ok(answer) = ask(&question) {
                fs::write(folder.join(format!("{namespace}-{pod}.{end}")), answer)?;
            }
        }
    }
    Ok(())
}
