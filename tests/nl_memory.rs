//! A list is streamed in memory that does not grow with it: bytes are counted, not time.
#![allow(clippy::unwrap_used)]

#[path = "../benches/nl/generated.rs"]
mod generated;

use std::time::Duration;

use peak_alloc::PeakAlloc;
use rdma_operator::nl::{ChannelPeer, ChannelSocket, Handle, blocking_kernel, from_socket};

const NLMSG_DONE: u16 = 3;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A kernel with so many queue pairs. As the real one it makes a datagram when there is room for it.
async fn kernel(mut peer: ChannelPeer, counts: [u32; 2]) {
    for count in counts {
        let request = peer.recv().await.unwrap();
        let sequence = u32::from_ne_bytes(*request[8..].first_chunk().unwrap());
        for datagram in generated::queue_pairs(count, sequence) {
            peer.send(Ok(datagram));
            // Connection and reader have their turn before the next one.
            for _ in 0..8 {
                tokio::task::yield_now().await;
            }
        }
        peer.send(Ok(generated::with_header(NLMSG_DONE, sequence, &[0; 4])));
    }
}

/// Queue pairs seen, and the most bytes that were allocated at once while they were streamed.
async fn stream(handle: &Handle) -> (u32, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut queue_pairs = handle.resource().queue_pairs(0).stream();
    let mut seen = 0;
    while let Some(queue_pair) = queue_pairs.next().await {
        assert_eq!(queue_pair.unwrap().lqpn, seen);
        seen += 1;
    }
    (seen, ALLOCATOR.peak_usage().saturating_sub(before))
}

#[tokio::test]
async fn streaming_holds_what_arrives_and_not_the_list() {
    let (socket, peer) = ChannelSocket::pair().unwrap();
    let (connection, handle, _events) = from_socket(socket, blocking_kernel());
    let handle = handle.with_timeout(Duration::from_secs(60));
    tokio::spawn(connection);
    tokio::spawn(kernel(peer, [1_000, 50_000]));
    let (few, short) = stream(&handle).await;
    let (many, long) = stream(&handle).await;
    println!("peak: {short} bytes for {few} queue pairs, {long} bytes for {many}");
    assert_eq!((few, many), (1_000, 50_000));
    // The longer list is fifty times the shorter one; as messages it would be tens of megabytes.
    assert!(long < short + short / 2, "{short} bytes for {few} queue pairs, {long} bytes for {many}");
}
