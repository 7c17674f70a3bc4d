//! What netlink and netlink-proto do when things go wrong, and what a caller must see of it.

use std::{io, time::Duration};

use super::kernel::{Kernel, connect, device, done, error, no_blocking, reply, unstarted};
use crate::nl::{Error, Event, Handle, errno, packet::NldevCommand};

const SHORT: Duration = Duration::from_millis(50);

/// The list of devices, answered by this script.
async fn list(handle: &Handle, script: impl AsyncFnOnce(&mut Kernel), kernel: &mut Kernel) -> Error {
    let (result, ()) = tokio::join!(async { handle.device().list().await }, script(kernel));
    result.unwrap_err()
}

#[tokio::test]
async fn dump_that_breaks_off_is_an_error() {
    let (handle, _events, mut kernel) = connect();
    let failure = list(
        &handle,
        async |kernel| {
            let request = kernel.request().await;
            kernel.send(&[reply(&request, device(0, "a", 1))]);
            kernel.send(&[done(&request, -22)]);
        },
        &mut kernel,
    )
    .await;
    assert!(matches!(failure, Error::DumpFailed { code: -22, .. }), "{failure:?}");
    assert_eq!(failure.errno(), Some(errno::EINVAL));
    assert_eq!(failure.to_string(), "GET list broke off");
}

#[tokio::test]
async fn dump_that_is_only_acknowledged_is_incomplete() {
    let (handle, _events, mut kernel) = connect();
    let failure = list(
        &handle,
        async |kernel| {
            let request = kernel.request().await;
            kernel.send(&[reply(&request, device(0, "a", 1)), error(&request, 0, &[])]);
        },
        &mut kernel,
    )
    .await;
    assert!(matches!(failure, Error::Incomplete { .. }), "{failure:?}");
}

#[tokio::test]
async fn dump_without_done_meets_its_deadline() {
    let (handle, _events, mut kernel) = connect();
    let failure = list(
        &handle.with_timeout(SHORT),
        async |kernel| {
            let request = kernel.request().await;
            kernel.send(&[reply(&request, device(0, "a", 1))]);
        },
        &mut kernel,
    )
    .await;
    assert!(matches!(failure, Error::Deadline { after: SHORT, .. }), "{failure:?}");
}

#[tokio::test]
async fn dump_cut_by_a_dead_connection_is_an_error() {
    let (handle, mut events, mut kernel) = connect();
    let failure = list(
        &handle,
        async |kernel| {
            let request = kernel.request().await;
            kernel.send(&[reply(&request, device(0, "a", 1))]);
            kernel.peer.send(Err(io::Error::from_raw_os_error(errno::ENOMEM)));
        },
        &mut kernel,
    )
    .await;
    assert!(failure.is_closed(), "{failure:?}");
    assert_eq!(events.recv().await, None);
    assert!(handle.is_closed());
    let next = handle.system().get().await.unwrap_err();
    assert!(next.is_closed(), "{next:?}");
}

#[tokio::test]
async fn every_waiter_hears_of_a_dead_connection() {
    let (handle, _events, mut kernel) = connect();
    let (first, second, ()) =
        tokio::join!(async { handle.device().get(1).await }, async { handle.device().get(2).await }, async {
            kernel.request().await;
            kernel.request().await;
            drop(kernel);
        });
    assert!(first.unwrap_err().is_closed());
    assert!(second.unwrap_err().is_closed());
}

#[tokio::test]
async fn connection_that_is_dropped_is_closed() {
    let (connection, handle, _events, _kernel) = unstarted(no_blocking());
    assert!(!handle.is_closed());
    drop(connection);
    assert!(handle.is_closed());
    assert!(handle.system().get().await.unwrap_err().is_closed());
}

#[tokio::test]
async fn connection_ends_when_nobody_can_use_it() {
    let (connection, handle, events, _kernel) = unstarted(no_blocking());
    let task = tokio::spawn(connection);
    drop(events);
    drop(handle);
    tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
}

/// The socket belongs to the runtime, the connection's thread does not.
#[test]
fn connection_ends_with_its_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let handle = runtime.block_on(async {
        // Any netlink socket will do: nothing is sent.
        let socket = <netlink_sys::TokioSocket as netlink_sys::AsyncSocket>::new(
            netlink_sys::protocols::NETLINK_USERSOCK,
        );
        let (connection, handle, _events) = crate::nl::from_socket(socket.unwrap(), no_blocking());
        connection.spawn_on_thread().unwrap();
        handle
    });
    drop(runtime);
    let start = std::time::Instant::now();
    while !handle.is_closed() {
        assert!(start.elapsed() < Duration::from_secs(5), "the connection's thread is still there");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn connection_that_is_never_polled_meets_the_deadline() {
    let (_connection, handle, _events, _kernel) = unstarted(no_blocking());
    let failure = handle.with_timeout(SHORT).system().get().await.unwrap_err();
    assert!(matches!(failure, Error::Deadline { .. }), "{failure:?}");
    assert_eq!(failure.to_string(), "SYS_GET was not answered within 50ms");
}

#[tokio::test]
async fn late_answer_hurts_nobody() {
    let (handle, _events, mut kernel) = connect();
    let (result, request) =
        tokio::join!(async { handle.with_timeout(SHORT).device().get(1).await }, kernel.request());
    assert!(matches!(result, Err(Error::Deadline { .. })));
    kernel.send(&[reply(&request, device(1, "late", 1)), error(&request, 0, &[])]);
    let (device, _) =
        tokio::join!(async { handle.device().get(2).await }, kernel.answer([device(2, "b", 1)]));
    assert_eq!(device.unwrap().name, "b");
}

#[tokio::test]
async fn overrun_fails_what_is_pending_and_asks_for_a_resync() {
    let (handle, mut events, mut kernel) = connect();
    let failure = list(
        &handle,
        async |kernel| {
            kernel.request().await;
            kernel.peer.send(Err(io::Error::from_raw_os_error(errno::ENOBUFS)));
        },
        &mut kernel,
    )
    .await;
    assert!(matches!(failure, Error::Overrun { .. }), "{failure:?}");
    assert_eq!(events.recv().await, Some(Event::Resync));
    assert!(!handle.is_closed());
    let (devices, _) =
        tokio::join!(async { handle.device().list().await }, kernel.answer([device(0, "a", 1)]));
    assert_eq!(devices.unwrap().len(), 1);
}

#[tokio::test]
async fn answer_that_came_before_the_overrun_counts() {
    let (handle, _events, mut kernel) = connect();
    let (result, ()) = tokio::join!(async { handle.device().get(1).await }, async {
        let request = kernel.request().await;
        kernel.send(&[reply(&request, device(1, "a", 1)), error(&request, 0, &[])]);
        kernel.peer.send(Err(io::Error::from_raw_os_error(errno::ENOBUFS)));
    });
    assert_eq!(result.unwrap().name, "a");
}

#[tokio::test]
async fn lists_made_together_take_turns() {
    let (handle, _events, mut kernel) = connect();
    let (first, second, ()) =
        tokio::join!(async { handle.device().list().await }, async { handle.device().list().await }, async {
            let request = kernel.request().await;
            // A list runs: the other one must not be asked for.
            let early = tokio::time::timeout(SHORT, kernel.request()).await;
            assert!(early.is_err());
            kernel.send(&[done(&request, 0)]);
            kernel.answer([device(1, "a", 1)]).await;
        });
    assert!(first.unwrap().is_empty());
    assert_eq!(second.unwrap().len(), 1);
}

#[tokio::test]
async fn busy_socket_is_asked_again() {
    let (handle, _events, mut kernel) = connect();
    let (devices, ()) = tokio::join!(async { handle.device().list().await }, async {
        for _ in 0..3 {
            let request = kernel.request().await;
            assert_eq!(request.header.flags, 0x305);
            kernel.send(&[error(&request, -errno::EBUSY, &[])]);
        }
        kernel.answer([device(1, "a", 1)]).await;
    });
    assert_eq!(devices.unwrap().len(), 1);
}

#[tokio::test]
async fn socket_that_stays_busy_meets_the_deadline() {
    let (handle, _events, mut kernel) = connect();
    let (devices, ()) = tokio::join!(async { handle.with_timeout(SHORT).device().list().await }, async {
        while let Ok(request) = tokio::time::timeout(SHORT * 2, kernel.request()).await {
            kernel.send(&[error(&request, -errno::EBUSY, &[])]);
        }
    });
    assert!(matches!(devices, Err(Error::Deadline { .. })), "{devices:?}");
}

/// The next request, answered by bytes in place of a message, under its sequence number.
async fn answered_by(bytes: impl FnOnce(u32) -> Vec<u8>) -> Error {
    let (handle, _events, mut kernel) = connect();
    let (result, ()) = tokio::join!(async { handle.device().get(1).await }, async {
        let request = kernel.request().await;
        kernel.peer.send(Ok(bytes(request.header.sequence_number)));
    });
    result.unwrap_err()
}

fn header(len: u32, kind: u16, sequence: u32) -> Vec<u8> {
    [&len.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 2], &sequence.to_ne_bytes(), &[0; 4]].concat()
}

#[tokio::test]
async fn undecodable_answers_fail_their_request() {
    // Of another client; an error of two bytes; longer than its datagram; shorter than its header.
    for failure in [
        answered_by(|sequence| header(16, 4 << 10, sequence)).await,
        answered_by(|sequence| [header(18, 2, sequence), vec![0; 4]].concat()).await,
        answered_by(|sequence| header(400, 0x1401, sequence)).await,
        answered_by(|sequence| header(3, 0x1401, sequence)).await,
    ] {
        assert!(matches!(failure, Error::Undecodable { .. }), "{failure:?}");
    }
}

#[tokio::test]
async fn half_a_header_hurts_nobody() {
    let (handle, _events, mut kernel) = connect();
    kernel.peer.send(Ok(vec![1, 2, 3]));
    kernel.peer.send(Ok(Vec::new()));
    let (device, _) =
        tokio::join!(async { handle.device().get(2).await }, kernel.answer([device(2, "b", 1)]));
    assert_eq!(device.unwrap().name, "b");
}

/// NLMSGERR_ATTR_MSG and NLMSGERR_ATTR_OFFS.
const EXT_ACK: &[u8] = b"\x0e\0\x01\0not today\0\0\0\x08\0\x02\0\x14\0\0\0";

#[tokio::test]
async fn words_of_the_kernel_are_kept() {
    let (handle, _events, mut kernel) = connect();
    let (result, ()) = tokio::join!(async { handle.device().get(9).await }, async {
        let request = kernel.request().await;
        assert_eq!(request.message.command, NldevCommand::Get);
        kernel.send(&[error(&request, -16, EXT_ACK)]);
    });
    let failure = result.unwrap_err();
    assert_eq!(failure.to_string(), "GET of device 9 was refused: not today");
    assert_eq!(failure.ext_ack().unwrap().offset, Some(20));
    assert_eq!(failure.errno(), Some(errno::EBUSY));
}

#[test]
fn words_after_the_whole_request_are_found() {
    let request = [header(21, 0x1401, 1), vec![0; 8]].concat();
    let echo = [&request, EXT_ACK].concat();
    let ext_ack = crate::nl::ext_ack::of_error(0x200, &echo).unwrap();
    assert_eq!(ext_ack.message.as_deref(), Some("not today"));
    assert_eq!(crate::nl::ext_ack::of_error(0, &echo), None);
    assert_eq!(crate::nl::ext_ack::of_error(0x200, &header(u32::MAX, 0, 0)), None);
    assert_eq!(crate::nl::ext_ack::of_done(0x200, EXT_ACK).unwrap().message.as_deref(), Some("not today"));
}

#[test]
fn recorded_words_are_found() {
    let case = super::fixtures::case("7.3", "dev_set_netns_shared");
    let found = case.datagrams.iter().filter(|(sent, _)| !sent).any(|(_, datagram)| {
        super::fixtures::messages(datagram).iter().any(|message| match &message.payload {
            netlink_packet_core::NetlinkPayload::Error(error) => {
                crate::nl::ext_ack::of_error(message.header.flags, &error.header)
                    .and_then(|ext_ack| ext_ack.message)
                    .is_some_and(|text| {
                        text == "Cannot change net namespace of RDMA device in shared netns mode"
                    })
            }
            _ => false,
        })
    });
    assert!(found);
}

#[test]
fn host_without_rdma_is_told_from_a_fault() {
    assert!(Error::Open(io::Error::from_raw_os_error(errno::EPROTONOSUPPORT)).is_no_rdma());
    assert!(!Error::Open(io::Error::from_raw_os_error(errno::ENOMEM)).is_no_rdma());
    let join = Error::Join(io::Error::from_raw_os_error(errno::EPERM));
    assert!(join.is_permission() && !join.is_no_rdma());
}
