//! Speed of the netlink codec: `cargo bench --bench nl`. Numbers and what they mean: docs/netlink.md.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run shall say so and stop")]

mod compare;
mod generated;
mod recorded;

use divan::{Bencher, counter::BytesCount};
use netlink_packet_core::NetlinkMessage;
use rdma_operator::nl::packet::RdmaMessage;

/// Shows beside each time how much was allocated, and how much at once.
#[global_allocator]
static ALLOCATOR: divan::AllocProfiler = divan::AllocProfiler::system();

const QUEUE_PAIRS: u32 = 10_000;

type Message = NetlinkMessage<RdmaMessage>;

fn main() {
    divan::main();
    // `cargo test --benches` and `--list` only want to see that it runs.
    if std::env::args().any(|argument| argument == "--bench") {
        compare::print("recorded", &recorded());
        compare::print("10,000 QPs", &queue_pairs());
    }
}

fn recorded() -> Vec<Vec<u8>> {
    recorded::messages().unwrap()
}

fn queue_pairs() -> Vec<Vec<u8>> {
    generated::queue_pairs(QUEUE_PAIRS, 1).collect()
}

fn decode(message: &[u8]) -> Message {
    Message::deserialize(message).unwrap()
}

/// Every message decoded and dropped, one after another, as a stream is read.
fn decode_all(messages: &[Vec<u8>]) {
    for message in messages {
        divan::black_box(decode(message));
    }
}

fn encode_all(messages: &[Message], buffer: &mut [u8]) {
    for message in messages {
        message.serialize(&mut buffer[..message.buffer_len()]);
        divan::black_box(&mut *buffer);
    }
}

fn bytes(messages: &[Vec<u8>]) -> usize {
    messages.iter().map(Vec::len).sum()
}

#[divan::bench(args = ["recorded", "queue_pairs"])]
fn decoding(bencher: Bencher<'_, '_>, corpus: &str) {
    let messages = messages(corpus);
    bencher.counter(BytesCount::new(bytes(&messages))).bench_local(|| decode_all(&messages));
}

#[divan::bench(args = ["recorded", "queue_pairs"])]
fn encoding(bencher: Bencher<'_, '_>, corpus: &str) {
    let messages = messages(corpus);
    let decoded: Vec<_> = messages.iter().map(|message| decode(message)).collect();
    let mut buffer = vec![0; messages.iter().map(Vec::len).max().unwrap_or(0)];
    bencher.counter(BytesCount::new(bytes(&messages))).bench_local(|| encode_all(&decoded, &mut buffer));
}

fn messages(corpus: &str) -> Vec<Vec<u8>> {
    if corpus == "recorded" { recorded() } else { queue_pairs() }
}
