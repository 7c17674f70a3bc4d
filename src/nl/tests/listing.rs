//! Lists read one by one, over sockets of their own.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{
    fixtures,
    kernel::{Message, Request, datagram, done, error, reply, unstarted},
};
use crate::nl::{
    BlockingSocket, Error, Handle, Listing, OpenBlocking, QueuePair, errno,
    packet::{Nested, NldevAttribute as A, NldevCommand, NldevMessage, RdmaMessage},
};
use netlink_packet_core::NetlinkPayload;

/// Answers a list datagram by datagram, and counts how many were wanted.
struct Lists<F> {
    answer: F,
    taken: Arc<AtomicUsize>,
}

impl<F> BlockingSocket for Lists<F>
where
    F: FnMut(&Request) -> io::Result<Vec<Vec<Message>>> + Send,
{
    fn exchange(&mut self, _datagram: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    fn list(&mut self, request: &[u8], take: &mut dyn FnMut(Vec<u8>) -> bool) -> io::Result<()> {
        let message = fixtures::messages(request).remove(0);
        let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(inner)) = message.payload else {
            panic!("not a request")
        };
        for messages in (self.answer)(&Request { header: message.header, message: inner })? {
            self.taken.fetch_add(1, Ordering::SeqCst);
            if !take(datagram(&messages)) {
                break;
            }
        }
        Ok(())
    }
}

type Answer = fn(&Request) -> io::Result<Vec<Vec<Message>>>;

/// A handle of a connection whose lists are answered so, and how many datagrams were wanted.
fn connect(answer: Answer) -> (Handle, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let count = taken.clone();
    let open: OpenBlocking =
        Arc::new(move || Ok(Box::new(Lists { answer, taken: count.clone() }) as Box<dyn BlockingSocket>));
    let (connection, handle, _events, kernel) = unstarted(open);
    tokio::spawn(async move {
        // The kernel's end stays for as long as the connection does.
        let _kernel = kernel;
        connection.await;
    });
    (handle, taken)
}

fn qps(entries: Vec<Vec<A>>) -> NldevMessage {
    let entries = entries.into_iter().map(|entry| A::ResQpEntry(Nested::plain(entry))).collect();
    let attributes = vec![A::DevIndex(3), A::DevName("x".into()), A::ResQp(Nested::plain(entries))];
    NldevMessage::new(NldevCommand::ResQpGet, attributes)
}

fn qp(lqpn: u32) -> NldevMessage {
    qps(vec![vec![A::ResLqpn(lqpn)]])
}

/// The numbers that came, and the error after them.
async fn read(listing: &mut Listing<QueuePair>) -> (Vec<u32>, Option<Error>) {
    let mut numbers = Vec::new();
    while let Some(object) = listing.next().await {
        match object {
            Ok(object) => numbers.push(object.lqpn),
            Err(error) => return (numbers, Some(error)),
        }
    }
    (numbers, None)
}

async fn stream(answer: Answer) -> (Vec<u32>, Option<Error>) {
    let (handle, _) = connect(answer);
    let mut listing = handle.resource().queue_pairs(3).stream();
    let read = read(&mut listing).await;
    assert!(listing.next().await.is_none(), "it has ended");
    read
}

#[tokio::test]
async fn objects_come_one_by_one_and_end() {
    let answer = |request: &Request| {
        assert_eq!(request.header.flags, 0x305);
        assert_eq!(request.message, NldevMessage::new(NldevCommand::ResQpGet, vec![A::DevIndex(3)]));
        let both = qps(vec![vec![A::ResLqpn(1)], vec![A::ResLqpn(2)]]);
        // As the kernel ends a list: in a datagram with the last objects, or in one of its own.
        Ok(vec![vec![reply(request, both)], vec![reply(request, qp(3)), done(request, 0)]])
    };
    let (numbers, error) = stream(answer).await;
    assert_eq!((numbers, error.is_none()), (vec![1, 2, 3], true));
}

#[tokio::test]
async fn an_object_without_its_id_is_an_error_of_its_own() {
    let (handle, _) = connect(|request| {
        let entries = vec![vec![A::ResLqpn(7)], vec![A::ResSqPsn(1)], vec![A::ResLqpn(9)]];
        Ok(vec![vec![reply(request, qps(entries))], vec![done(request, 0)]])
    });
    let mut listing = handle.resource().queue_pairs(3).stream();
    assert_eq!(listing.next().await.unwrap().unwrap().lqpn, 7);
    let failure = listing.next().await.unwrap().unwrap_err();
    let missing = "RDMA_NLDEV_ATTR_RES_LQPN";
    assert!(
        matches!(failure, Error::MissingAttribute { attribute, .. } if attribute == missing),
        "{failure:?}"
    );
    assert_eq!(listing.next().await.unwrap().unwrap().lqpn, 9);
    assert!(listing.next().await.is_none());
}

#[tokio::test]
async fn what_ends_a_list_is_told_after_what_it_had() {
    let broken: Answer = |request| Ok(vec![vec![reply(request, qp(1))], vec![done(request, -22)]]);
    let (numbers, failure) = stream(broken).await;
    assert_eq!(numbers, [1]);
    assert!(matches!(failure, Some(Error::DumpFailed { code: -22, .. })), "{failure:?}");

    let refused: Answer = |request| Ok(vec![vec![error(request, -1, &[])]]);
    let (numbers, failure) = stream(refused).await;
    assert_eq!((numbers, failure.unwrap().errno()), (vec![], Some(errno::EPERM)));

    let unfinished: Answer = |request| Ok(vec![vec![reply(request, qp(1))]]);
    let (numbers, failure) = stream(unfinished).await;
    assert_eq!(numbers, [1]);
    assert!(matches!(failure, Some(Error::Incomplete { .. })), "{failure:?}");

    let overrun: Answer = |_| Err(io::Error::from_raw_os_error(errno::ENOBUFS));
    assert!(matches!(stream(overrun).await.1, Some(Error::Overrun { .. })));
    let failed: Answer = |_| Err(io::Error::from_raw_os_error(errno::ENOMEM));
    assert!(matches!(stream(failed).await.1, Some(Error::Send { .. })));
    let empty: Answer = |request| Ok((0..100).map(|_| vec![reply(request, qps(Vec::new()))]).collect());
    assert!(matches!(stream(empty).await.1, Some(Error::NoProgress { .. })));
}

/// The kernel is asked for as much as the reader takes, and a little more; the deadline is for one call.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_reader_holds_a_long_list_back() {
    let (handle, taken) = connect(|request| {
        let mut datagrams: Vec<_> = (0..1000).map(|number| vec![reply(request, qp(number))]).collect();
        datagrams.push(vec![done(request, 0)]);
        Ok(datagrams)
    });
    let hurried = handle.with_timeout(Duration::from_millis(500));
    let mut listing = hurried.resource().queue_pairs(3).stream();
    for number in 0..3 {
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(listing.next().await.unwrap().unwrap().lqpn, number);
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    // Three were given out; one waits, and the thread holds the next.
    assert!((3..=5).contains(&taken.load(Ordering::SeqCst)), "{taken:?}");
    drop(listing);
    // The thread and its socket go: what is left of the count is ours and the opener's.
    let gone = async {
        while Arc::strong_count(&taken) > 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone).await.unwrap();
    assert!(taken.load(Ordering::SeqCst) <= 5, "nobody wanted more: {taken:?}");
}

#[tokio::test]
async fn a_connection_that_has_ended_lists_nothing() {
    let (handle, taken) = connect(|request| Ok(vec![vec![done(request, 0)]]));
    handle.shared().stop();
    while !handle.is_closed() {
        tokio::task::yield_now().await;
    }
    let failure = handle.resource().queue_pairs(3).stream().next().await.unwrap().unwrap_err();
    assert!(failure.is_closed(), "{failure:?}");
    assert_eq!(taken.load(Ordering::SeqCst), 0);
}
