//! How many system calls an inventory of this host costs, counted by strace(1).
#![allow(clippy::unwrap_used, clippy::panic)]

mod nl_support {
    pub(crate) mod netdev;
}

use std::process::Command;
use std::sync::Arc;

use nl_support::netdev::Netdev;
use rdma_operator::inventory::{Collector, Dirty, Inventory, Kernel, LiveHost, Options};

/// Makes this program the one that is counted: what to read how often.
const WHAT: &str = "RDMA_SYSCALLS";
const NETDEVS: [&str; 3] = ["sysc0", "sysc1", "sysc2"];
/// Slots of an rxe's GID table.
const SLOTS: u64 = 1024;

/// Reads this host once, and then as often as it is told.
#[tokio::main(flavor = "current_thread")]
async fn counted(what: &str) {
    let (dirty, times) = what.split_once(' ').unwrap();
    let dirty = if dirty == "tables" { Dirty::all() } else { Dirty::all_but_gids() };
    let host = LiveHost::new(Options { sysfs: "/sys".into(), dev: "/dev".into() });
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(host))));
    let mut inventory = collector.collect(&Inventory::default(), &Dirty::all()).await;
    for _ in 0..times.parse().unwrap() {
        inventory = collector.collect(&inventory, &dirty).await;
    }
    let gids = inventory.devices.iter().flat_map(|device| &device.ports).map(|port| port.gids.len());
    println!("{} GIDs", gids.sum::<usize>());
}

/// System calls of a process that reads so often, and how many GIDs it found.
fn calls(what: &str, times: u64) -> (u64, u64) {
    let counts = std::env::temp_dir().join("syscalls.counts");
    // A debug build asks for the flags of each descriptor before it closes it.
    let counted = if cfg!(debug_assertions) { "trace=!fcntl" } else { "trace=all" };
    let output = Command::new("strace")
        .args(["-f", "-qq", "-c", "-e", counted, "-U", "calls", "-o", counts.to_str().unwrap()])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--nocapture", "--test-threads=1"])
        .env(WHAT, format!("{what} {times}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let gids = said.lines().find_map(|line| line.strip_suffix(" GIDs")?.rsplit(' ').next()?.parse().ok());
    let text = std::fs::read_to_string(counts).unwrap();
    // The last line is the sum.
    let sum = text.lines().last().and_then(|line| line.split_whitespace().next()?.parse().ok());
    (sum.unwrap_or_else(|| panic!("{text}")), gids.unwrap_or_else(|| panic!("{said}")))
}

/// System calls of one more reading of the devices, and of one more of their tables too; and how many GIDs there are.
fn per_reading() -> (u64, u64, u64) {
    // A table is 1,024 times three calls, and strace makes each slow.
    const TIMES: [u64; 2] = [20, 4];
    let (once, gids) = calls("devices", 0);
    let (devices, _) = calls("devices", TIMES[0]);
    let (tables, _) = calls("tables", TIMES[1]);
    ((devices - once) / TIMES[0], (tables - once) / TIMES[1], gids)
}

#[test]
#[ignore = "needs root on Linux with rxe, and strace: cargo xtask test"]
fn a_device_costs_15_system_calls_and_what_its_table_is_long() {
    if let Ok(what) = std::env::var(WHAT) {
        return counted(&what);
    }
    let _first = Netdev::new(NETDEVS[0]);
    let link = |netdev: &str| {
        let words = ["link", "add", netdev, "type", "rxe", "netdev", netdev];
        assert!(Command::new("rdma").args(words).status().unwrap().success());
    };
    link(NETDEVS[0]);
    let (one, one_with_table, one_gids) = per_reading();
    let _others: Vec<Netdev> = NETDEVS.into_iter().skip(1).map(Netdev::new).collect();
    NETDEVS.iter().skip(1).for_each(|netdev| link(netdev));
    let (all, all_with_tables, all_gids) = per_reading();
    let more = NETDEVS.len() as u64 - 1;
    let device = (all - one).div_ceil(more);
    let tables = 3 * SLOTS * more + 6 * (all_gids - one_gids);
    let with_table = (all_with_tables - one_with_table - tables).div_ceil(more);
    println!(
        "a clean device {device}; one with a dirty table {with_table} and {SLOTS} slots; none {}",
        one - device
    );
    assert!(device <= 15, "{device}");
    assert!(with_table <= 15, "{with_table}");
}
