//! How long one whole inventory takes, from a simulated kernel: the codec, the handle and the collector, with no
//! kernel behind them. Bars: dgx-h100 in 10 ms, vf-300 in 150 ms.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use rdma_operator::inventory::{Collector, Dirty, Inventory, Kernel};
use rdma_operator::machine::{Machine, Simulator};

fn main() {
    divan::main();
}

fn simulator(name: &str) -> Simulator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/machines/{name}.yaml"));
    let text = std::fs::read_to_string(&path).unwrap();
    Simulator::new(Machine::load(&text, name).unwrap())
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Everything, as at the start.
#[divan::bench(args = ["dgx-h100", "oci-h100-exclusive", "soft-roce-node", "vf-300"], sample_size = 1, sample_count = 20)]
fn first(bencher: divan::Bencher<'_, '_>, name: &str) {
    let runtime = runtime();
    let _guard = runtime.enter();
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(simulator(name)))));
    bencher.bench_local(|| runtime.block_on(collector.collect(&Inventory::default(), &Dirty::all())));
}

/// As the slow resync: everything but GID tables.
#[divan::bench(args = ["dgx-h100", "vf-300"], sample_size = 1, sample_count = 20)]
fn resync(bencher: divan::Bencher<'_, '_>, name: &str) {
    let runtime = runtime();
    let _guard = runtime.enter();
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(simulator(name)))));
    let last = runtime.block_on(collector.collect(&Inventory::default(), &Dirty::all()));
    bencher.bench_local(|| runtime.block_on(collector.collect(&last, &Dirty::all_but_gids())));
}

/// As every second: the states of 50 ports.
#[divan::bench(args = ["dgx-h100", "vf-300"], sample_size = 1, sample_count = 20)]
fn poll(bencher: divan::Bencher<'_, '_>, name: &str) {
    let runtime = runtime();
    let _guard = runtime.enter();
    let mut collector = Collector::new(Arc::new(Kernel::new(Arc::new(simulator(name)))));
    let last = runtime.block_on(collector.collect(&Inventory::default(), &Dirty::all()));
    let ports = last.devices.iter().take(50).map(|device| (device.index, 1)).collect();
    let dirty = Dirty { ports, ..Dirty::default() };
    bencher.bench_local(|| runtime.block_on(collector.collect(&last, &dirty)));
}
