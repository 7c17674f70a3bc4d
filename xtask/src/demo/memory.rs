//! What the operator's processes take, from the kernels they run on.

use anyhow::{Context as _, Result};

use crate::lab::{self, State};
use crate::step::quiet;

/// Lists every process of the operator: its subcommand, resident and anonymous memory.
const SCRIPT: &str = "for pid in $(pgrep -x rdma-operator); do \
    echo $(tr '\\0' ' ' < /proc/$pid/cmdline | cut -d' ' -f2) \
    $(sed -n 's/^VmRSS:[^0-9]*\\([0-9]*\\).*/\\1/p; s/^RssAnon:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$pid/status); \
    done";

/// The most anonymous memory a process may take, in KiB.
const BARS: [(&str, u64); 2] = [("agent", 8 << 10), ("controller", 20 << 10)];

/// Prints the memory of the agents and the controller beside their bars.
pub(super) fn show(state: &State) -> Result<()> {
    println!("\n{:<10} {:<12} {:>10} {:>10} {:>10}", "NODE", "PROCESS", "RSS", "ANONYMOUS", "BAR");
    for node in state.nodes() {
        let lines = quiet(&mut lab::on_node(state, &node, SCRIPT)?)?;
        for line in lines.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let &[process, resident, anonymous] = words.as_slice() else { continue };
            let anonymous: u64 = anonymous.parse().context("RssAnon is no number")?;
            let bar = BARS.iter().find(|(name, _)| *name == process).map(|(_, bar)| *bar);
            let verdict = match bar {
                Some(bar) if anonymous > bar => "  ABOVE THE BAR",
                _ => "",
            };
            println!(
                "{node:<10} {process:<12} {:>10} {:>10} {:>10}{verdict}",
                mebibytes(resident.parse().context("VmRSS is no number")?),
                mebibytes(anonymous),
                bar.map_or_else(String::new, mebibytes),
            );
        }
    }
    Ok(())
}

fn mebibytes(kibibytes: u64) -> String {
    format!("{}.{} MiB", kibibytes >> 10, ((kibibytes & 1023) * 10) >> 10)
}
