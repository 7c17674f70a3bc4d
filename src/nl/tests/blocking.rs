//! Requests that have a thread of their own.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use netlink_packet_core::NetlinkPayload;

use super::{
    fixtures,
    kernel::{Request, Scripted, datagram, error, unstarted},
};
use crate::nl::{
    BlockingSocket, Error, Handle, LinkKind, OpenBlocking, errno,
    packet::{NldevAttribute, NldevCommand, NldevMessage, RdmaMessage},
};

const SHORT: Duration = Duration::from_millis(50);

/// What arrived, and the acknowledgement with this code.
fn acknowledge(bytes: &[u8], code: i32) -> (NldevMessage, u16, Vec<u8>) {
    let message = fixtures::messages(bytes).remove(0);
    let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(inner)) = message.payload else { panic!() };
    let request = Request { header: message.header, message: inner };
    let answer = datagram(&[error(&request, code, &[])]);
    (request.message, request.header.flags, answer)
}

/// A handle over blocking sockets that do this.
fn handle(
    exchange: impl Fn(&[u8]) -> io::Result<Vec<Vec<u8>>> + Clone + Send + Sync + 'static,
) -> (Handle, impl Sized) {
    let open: OpenBlocking =
        Arc::new(move || Ok(Box::new(Scripted(exchange.clone())) as Box<dyn BlockingSocket>));
    let (connection, handle, events, kernel) = unstarted(open);
    (handle, (connection, events, kernel))
}

#[tokio::test]
async fn link_is_made_by_name_kind_and_netdev() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let (handle, _rest) = handle(move |bytes| {
        let (message, flags, answer) = acknowledge(bytes, 0);
        log.lock().unwrap().push((message, flags));
        Ok(vec![answer])
    });
    handle.link().add("rxe0", &LinkKind::Rxe, "eth0").await.unwrap();
    let expected = NldevMessage::new(
        NldevCommand::NewLink,
        vec![
            NldevAttribute::DevName("rxe0".into()),
            NldevAttribute::LinkType("rxe".into()),
            NldevAttribute::NdevName("eth0".into()),
        ],
    );
    // Neither NLM_F_CREATE nor NLM_F_EXCL: the latter would make a dump of it.
    assert_eq!(*seen.lock().unwrap(), [(expected, 0x5)]);
    assert!(handle.link().running().is_empty());
}

#[tokio::test]
async fn link_request_is_that_of_rdma() {
    let sent: Vec<_> = fixtures::case("7.3", "link_add_rxe")
        .datagrams
        .into_iter()
        .filter(|(sent, bytes)| *sent && bytes[4..6] == 0x1403_u16.to_ne_bytes())
        .collect();
    let recorded = fixtures::messages(&sent[0].1).remove(0);
    let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(recorded)) = recorded.payload else { panic!() };
    let seen = Arc::new(Mutex::new(None));
    let log = seen.clone();
    let (handle, _rest) = handle(move |bytes| {
        let (message, _, answer) = acknowledge(bytes, 0);
        *log.lock().unwrap() = Some(message);
        Ok(vec![answer])
    });
    let text = |attribute: &NldevAttribute| attribute.as_str().unwrap().into_owned();
    let [name, kind, netdev] = recorded.attributes.iter().map(text).collect::<Vec<_>>().try_into().unwrap();
    handle.link().add(&name, &LinkKind::from(kind.as_str()), &netdev).await.unwrap();
    assert_eq!(seen.lock().unwrap().take().unwrap(), recorded);
}

#[tokio::test]
async fn refusal_is_kept() {
    let (handle, _rest) = handle(|bytes| Ok(vec![acknowledge(bytes, -17).2]));
    let failure = handle.link().add("rxe0", &LinkKind::Rxe, "eth0").await.unwrap_err();
    assert_eq!(failure.errno(), Some(errno::EEXIST));
    assert_eq!(failure.to_string(), "NEWLINK \"rxe0\" was refused");
}

#[tokio::test]
async fn names_the_kernel_would_cut_are_not_sent() {
    let (handle, _rest) = handle(|_| panic!("sent"));
    let link = handle.link();
    let long = "n".repeat(64);
    for failure in [
        link.add(&long, &LinkKind::Rxe, "eth0").await.unwrap_err(),
        link.add("", &LinkKind::Rxe, "eth0").await.unwrap_err(),
        link.add("a\0b", &LinkKind::Rxe, "eth0").await.unwrap_err(),
        link.add("a", &LinkKind::Rxe, "sixteen_bytes_xx").await.unwrap_err(),
        link.add("a", &LinkKind::Other("sixteen_bytes_xx".into()), "eth0").await.unwrap_err(),
        handle.device().rename(1, &long).await.unwrap_err(),
    ] {
        assert!(matches!(failure, Error::InvalidRequest { .. }), "{failure:?}");
    }
}

#[tokio::test]
async fn kernel_that_takes_its_time_does_not_hold_the_caller() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let (handle, _rest) = handle(move |bytes| {
        count.fetch_add(1, Ordering::SeqCst);
        wait.lock().unwrap().recv().unwrap();
        Ok(vec![acknowledge(bytes, 0).2])
    });
    let hurried = handle.with_timeout(SHORT);
    let failure = hurried.link().del(3).await.unwrap_err();
    assert!(matches!(failure, Error::StillRunning { .. }), "{failure:?}");
    assert!(failure.to_string().starts_with("DELLINK of device 3 still runs in the kernel after "));

    // It goes on, and can be seen.
    let running = handle.link().running();
    assert_eq!(running.len(), 1);
    assert_eq!(running[0].request.to_string(), "DELLINK of device 3");

    // The same request waits for it, and is not sent again.
    assert!(matches!(hurried.link().del(3).await, Err(Error::StillRunning { .. })));
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.link().del(3).await }
    });
    tokio::time::sleep(SHORT).await;
    release.send(()).unwrap();
    waiting.await.unwrap().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert!(handle.link().running().is_empty());

    // After that it is a new request.
    release.send(()).unwrap();
    handle.link().del(3).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn different_requests_do_not_wait_for_each_other() {
    let (_release, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let (handle, _rest) = handle(move |bytes| {
        let (message, _, answer) = acknowledge(bytes, 0);
        if message.attributes == [NldevAttribute::DevIndex(3)] {
            let _ = wait.lock().unwrap().recv();
        }
        Ok(vec![answer])
    });
    let stuck = handle.with_timeout(SHORT);
    assert!(matches!(stuck.link().del(3).await, Err(Error::StillRunning { .. })));
    handle.link().del(4).await.unwrap();
}

#[tokio::test]
async fn failures_of_the_thread_are_errors() {
    let no_answer = handle(|_| Ok(Vec::new()));
    assert!(matches!(no_answer.0.link().del(1).await, Err(Error::NoReply { .. })));
    let no_rdma = handle(|_| Err(io::Error::from_raw_os_error(errno::EPROTONOSUPPORT)));
    let failure = no_rdma.0.link().del(1).await.unwrap_err();
    assert!(failure.is_no_rdma(), "{failure:?}");
    assert_eq!(failure.to_string(), "sending DELLINK of device 1");
}

#[tokio::test]
async fn descriptor_lives_until_the_kernel_has_read_it() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    let (done, result) = mpsc::channel();
    let (handle, _rest) = handle(move |bytes| {
        wait.lock().unwrap().recv().unwrap();
        let (message, _, answer) = acknowledge(bytes, 0);
        let NldevAttribute::NetNsFd(fd) = message.attributes[1] else { panic!() };
        done.send(std::fs::read_link(format!("/proc/self/fd/{fd}")).unwrap()).unwrap();
        Ok(vec![answer])
    });
    let netns = std::fs::File::open("/proc/self/ns/net").unwrap();
    let expected = std::fs::read_link("/proc/self/ns/net").unwrap();
    // The caller gives up and closes its own descriptor before the kernel looks.
    let failure = handle.with_timeout(SHORT).device().set_netns(1, &netns).await.unwrap_err();
    assert!(matches!(failure, Error::StillRunning { .. }));
    drop(netns);
    release.send(()).unwrap();
    assert_eq!(result.recv_timeout(Duration::from_secs(5)).unwrap(), expected);
}
