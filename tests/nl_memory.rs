//! A list is streamed in memory that does not grow with it, nor with the time the reader takes: bytes are counted.
#![allow(clippy::unwrap_used)]

#[path = "../benches/nl/generated.rs"]
mod generated;

use std::{
    io,
    sync::{Arc, atomic::AtomicU32, atomic::Ordering},
    time::Duration,
};

use peak_alloc::PeakAlloc;
use rdma_operator::nl::{BlockingSocket, ChannelSocket, Handle, OpenBlocking, from_socket};

const NLMSG_DONE: u16 = 3;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// A kernel with so many queue pairs. As the real one it makes a datagram when there is room for it.
struct Kernel(u32);

impl BlockingSocket for Kernel {
    fn exchange(&mut self, _datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn list(&mut self, request: &[u8], take: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        let sequence = u32::from_ne_bytes(*request[8..].first_chunk().unwrap());
        let end = generated::with_header(NLMSG_DONE, sequence, &[0; 4]);
        let _ = generated::queue_pairs(self.0, sequence).chain([end]).all(take);
        Ok(())
    }
}

/// Queue pairs seen, and the most bytes that were allocated at once while they were streamed. A slow reader lets the
/// kernel make as much as it likes before it begins, and now and then.
async fn stream(handle: &Handle, slow: bool) -> (u32, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let mut queue_pairs = handle.resource().queue_pairs(0).stream();
    let mut seen = 0;
    loop {
        if slow && seen % 10_000 == 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let Some(queue_pair) = queue_pairs.next().await else { break };
        assert_eq!(queue_pair.unwrap().lqpn, seen);
        seen += 1;
    }
    (seen, ALLOCATOR.peak_usage().saturating_sub(before))
}

#[tokio::test]
async fn streaming_holds_what_is_read_and_not_the_list() {
    let (socket, _peer) = ChannelSocket::pair().unwrap();
    let count = Arc::new(AtomicU32::new(0));
    let kernel = count.clone();
    let open: OpenBlocking =
        Arc::new(move || Ok(Box::new(Kernel(kernel.load(Ordering::SeqCst))) as Box<dyn BlockingSocket>));
    let (connection, handle, _events) = from_socket(socket, open);
    tokio::spawn(connection);
    let mut peaks = Vec::new();
    for (number, slow) in [(5_000, false), (5_000, true), (50_000, false), (50_000, true)] {
        count.store(number, Ordering::SeqCst);
        let (seen, peak) = stream(&handle, slow).await;
        assert_eq!(seen, number);
        println!("{number} queue pairs{}: {peak} bytes", if slow { ", slow reader" } else { "" });
        peaks.push(peak);
    }
    // The longer list is ten times the shorter one; as messages it would be tens of megabytes.
    let short = peaks[0].max(peaks[1]);
    assert!(peaks.iter().all(|peak| *peak < short + short / 2), "{peaks:?}");
}
