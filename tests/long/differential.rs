//! Our commands against the real rdma(8): both are given the same changed recordings and have to print the same.
//!
//! rdma(8) comes from the lab's guest root (`RDMA_GUEST_ROOT`), with a preload library in place of the kernel.
//! `DIFFERENTIAL_SEEDS` changes the number of seeds, `DIFFERENTIAL_SEED` runs one.

mod details;
mod generator;
mod ids;
#[path = "../rdma_support/mod.rs"]
#[allow(dead_code)]
mod rdma_support;
mod tool;
mod values;
mod verdict;
mod wire;

use std::collections::BTreeMap;
use std::env;

use rdma_support::{Case, cases};
use tool::Tool;
use verdict::{Verdict, judge};

const SEEDS: u64 = 1000;
/// Cases a seed.
const CASES: usize = 16;
/// How many differences are told before the rest is only counted.
const TOLD: usize = 20;

/// The recordings of commands that only read.
fn read_commands() -> Vec<Case> {
    let reads = |case: &Case| {
        let mut words = case.command.iter().filter(|word| !word.starts_with('-'));
        let object = words.next().map_or("", String::as_str);
        let what = words.next().map_or("", String::as_str);
        object != "monitor"
            && !["set", "add", "delete", "del", "unset", "help"].contains(&what)
            && case.changes().is_empty()
            && !case.lines.is_empty()
            // rdma(8) leaves out a CM id with an AF_IB address.
            && case.stem() != "cm_af_ib--plain"
    };
    cases().into_iter().filter(reads).collect()
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().unwrap())
}

#[test]
#[ignore = "needs the guest's rdma(8): cargo xtask test --long"]
fn changed_recordings_are_printed_as_rdma_prints_them() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (tool, cases) = (Tool::new(), read_commands());
    let seeds = match number("DIFFERENTIAL_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DIFFERENTIAL_SEEDS").unwrap_or(SEEDS),
    };
    let (mut runs, mut equal, mut excepted, mut different) = (0, 0, BTreeMap::new(), Vec::new());
    for seed in seeds.clone() {
        let mut dice = super::Dice(seed);
        for at in 0..CASES {
            let case =
                generator::change(&cases[dice.roll(cases.len())], seed * 100 + u64::try_from(at).unwrap());
            let theirs = tool.run(&case);
            let ours = runtime.block_on(case.run());
            runs += 1;
            match judge(&theirs, &ours) {
                Verdict::Equal => equal += 1,
                Verdict::Excepted(reason) => *excepted.entry(reason).or_insert(0) += 1,
                Verdict::Different(line) => different.push(format!(
                    "seed {seed}: {} rdma {}\n{line}",
                    case.name,
                    case.command.join(" ")
                )),
            }
        }
    }
    println!("differential: {} seeds, {runs} runs, {equal} equal", seeds.count());
    excepted.iter().for_each(|(reason, times)| println!("  {times} excepted: {reason}"));
    let told = different.iter().take(TOLD).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(different.is_empty(), "{} differences:\n{told}", different.len());
}
