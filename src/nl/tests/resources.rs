//! Lists of objects, looking them up, and changing counters.

use super::{
    fixtures,
    kernel::{Kernel, connect, error},
};
use crate::nl::{
    AutoCriteria, Error, FrmrPoolKey, Handle, Result, errno,
    packet::{Nested, NldevAttribute as A, NldevCommand, NldevMessage},
};

/// What a request looked like, and what it gave with these replies.
async fn exchange<T>(
    send: impl AsyncFnOnce(Handle) -> Result<T>,
    replies: Vec<NldevMessage>,
) -> (Result<T>, NldevMessage, bool) {
    let (handle, _events, mut kernel) = connect();
    let (result, request) = tokio::join!(send(handle), kernel.answer(replies));
    (result, request.message, request.header.flags & 0x300 != 0)
}

fn table(command: NldevCommand, table: impl Fn(Nested) -> A, entries: Vec<A>) -> NldevMessage {
    NldevMessage::new(command, vec![A::DevIndex(3), A::DevName("x".into()), table(Nested::plain(entries))])
}

fn qp(lqpn: u32) -> A {
    A::ResQpEntry(Nested::plain(vec![
        A::PortIndex(1),
        A::ResLqpn(lqpn),
        A::ResState(3),
        A::ResPid(lqpn * 10),
    ]))
}

fn qps(lqpns: &[u32]) -> NldevMessage {
    table(NldevCommand::ResQpGet, A::ResQp, lqpns.iter().copied().map(qp).collect())
}

#[tokio::test]
async fn objects_are_listed_over_several_messages() {
    let send = async |handle: Handle| handle.resource().queue_pairs(3).list().await;
    let (result, request, dump) = exchange(send, vec![qps(&[1, 2]), qps(&[3])]).await;
    assert!(dump);
    assert_eq!(request, NldevMessage::new(NldevCommand::ResQpGet, vec![A::DevIndex(3)]));
    let lqpns: Vec<_> = result.unwrap().iter().map(|qp| qp.lqpn).collect();
    assert_eq!(lqpns, [1, 2, 3]);
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let send = async |handle: Handle| {
        let query = handle.resource().queue_pairs(3).port(1).driver_details();
        query.matching(|qp| qp.owner.pid() == Some(20)).await
    };
    let (result, request, _) = exchange(send, vec![qps(&[1, 2, 3])]).await;
    assert_eq!(request.attributes, [A::DevIndex(3), A::PortIndex(1), A::DriverDetails(1)]);
    assert_eq!(result.unwrap().iter().map(|qp| qp.lqpn).collect::<Vec<_>>(), [2]);
}

#[tokio::test]
async fn one_object_is_at_the_top_of_its_reply() {
    let reply = NldevMessage::new(
        NldevCommand::ResQpGet,
        vec![A::DevIndex(3), A::DevName("x".into()), A::PortIndex(1), A::ResLqpn(17), A::ResState(1)],
    );
    let send = async |handle: Handle| handle.resource().queue_pairs(3).port(1).get(17).await;
    let (result, request, dump) = exchange(send, vec![reply]).await;
    assert!(!dump);
    assert_eq!(request.attributes, [A::DevIndex(3), A::PortIndex(1), A::ResLqpn(17)]);
    assert_eq!(result.unwrap().state.unwrap().as_str(), "INIT");
}

#[tokio::test]
async fn port_is_demanded_or_refused_by_kind() {
    let (handle, _events, _kernel) = connect();
    let resource = handle.resource();
    for failure in [
        resource.queue_pairs(3).get(1).await.unwrap_err(),
        resource.cm_ids(3).get(1).await.unwrap_err(),
        resource.memory_regions(3).port(1).get(1).await.unwrap_err(),
    ] {
        assert!(matches!(failure, Error::InvalidRequest { .. }), "{failure:?}");
    }
}

/// As the kernel does when one object is larger than its buffer.
#[tokio::test]
async fn empty_tables_without_end_are_given_up() {
    let (handle, _events, mut kernel) = connect();
    let flood = async |kernel: &mut Kernel| {
        let request = kernel.request().await;
        for _ in 0..100 {
            kernel.send(&[super::kernel::reply(&request, qps(&[]))]);
        }
    };
    let (result, ()) =
        tokio::join!(async { handle.resource().queue_pairs(3).list().await }, flood(&mut kernel));
    assert!(matches!(result, Err(Error::NoProgress { .. })), "{result:?}");
    let next = handle.system().get().await.unwrap_err();
    assert!(next.is_closed(), "{next:?}");
    assert!(handle.is_closed());
}

#[tokio::test]
async fn raw_objects_have_their_bytes() {
    let entry = A::ResMrEntry(Nested::plain(vec![A::ResRaw(vec![1, 2, 3])]));
    let reply = table(NldevCommand::ResMrGetRaw, A::ResMr, vec![entry]);
    let send = async |handle: Handle| handle.resource().memory_regions(3).raw().unwrap().list().await;
    let (result, request, _) = exchange(send, vec![reply]).await;
    assert_eq!(request.command, NldevCommand::ResMrGetRaw);
    assert_eq!(result.unwrap()[0].raw, [1, 2, 3]);
    let (handle, _events, _kernel) = connect();
    assert!(handle.resource().contexts(3).raw().is_none());
}

#[tokio::test]
async fn missing_object_is_enoent() {
    let (handle, _events, mut kernel) = connect();
    let (result, ()) = tokio::join!(async { handle.resource().contexts(3).get(1).await }, async {
        let request = kernel.request().await;
        kernel.send(&[error(&request, -2, &[])]);
    });
    assert_eq!(result.unwrap_err().errno(), Some(errno::ENOENT));
}

/// The message rdma(8) sent in a recorded case.
fn recorded(name: &str, kind: u16) -> NldevMessage {
    let case = fixtures::case("7.3", name);
    let (_, datagram) =
        case.datagrams.iter().find(|(sent, bytes)| *sent && bytes[4..6] == kind.to_ne_bytes()).unwrap();
    match fixtures::messages(datagram).remove(0).payload {
        netlink_packet_core::NetlinkPayload::InnerMessage(crate::nl::packet::RdmaMessage::Nldev(message)) => {
            message
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn counter_requests_are_those_of_rdma() {
    let both = AutoCriteria::QP_TYPE.and(AutoCriteria::PID);
    let (result, request, _) =
        exchange(async |handle: Handle| handle.stats().set_qp_auto(0, 1, both, Some(true)).await, vec![])
            .await;
    result.unwrap();
    assert_eq!(request, recorded("stat_qp_auto_opt", 0x1410));

    let (_, request, _) = exchange(async |handle: Handle| handle.stats().qp_mode(0, 1).await, vec![]).await;
    assert_eq!(request, recorded("stat_qp_mode", 0x1411));

    let (_, request, _) =
        exchange(async |handle: Handle| handle.stats().set_optional(0, 1, &[]).await, vec![]).await;
    assert_eq!(request, recorded("fake_stat_unset", 0x1410));

    let (_, request, dump) =
        exchange(async |handle: Handle| handle.stats().qp_counters(0, Some(1)).await, vec![]).await;
    assert_eq!(request, recorded("stat_qp_show", 0x1411));
    assert!(dump);

    let (_, request, _) =
        exchange(async |handle: Handle| handle.stats().bind_qp(0, 1, 17, None).await, vec![]).await;
    assert_eq!(request, recorded("stat_qp_bind", 0x1410));
}

#[tokio::test]
async fn enabling_keeps_what_is_enabled() {
    let status = fixtures::case("7.3", "fake_stat_mode2").replies(|kind, _| kind == 0x1418).remove(0);
    for (on, name, indexes) in [(true, "fake_opt_b", vec![3, 4]), (false, "fake_opt_a", vec![])] {
        let (handle, _events, mut kernel) = connect();
        let switch = async {
            let stats = handle.stats();
            if on { stats.enable(0, 1, &[name]).await } else { stats.disable(0, 1, &[name]).await }
        };
        let (result, request) = tokio::join!(switch, async {
            kernel.answer([status.clone()]).await;
            kernel.answer([]).await
        });
        result.unwrap();
        let indexes = indexes.into_iter().map(A::StatHwcounterIndex).collect();
        let expected = vec![A::DevIndex(0), A::PortIndex(1), A::StatHwcounters(Nested::flagged(indexes))];
        assert_eq!(request.message, NldevMessage::new(NldevCommand::StatSet, expected));
    }
    let (result, _, _) =
        exchange(async |handle: Handle| handle.stats().enable(0, 1, &["none"]).await, vec![status]).await;
    assert!(matches!(result, Err(Error::InvalidRequest { .. })), "{result:?}");
}

/// The kernel answers STAT_DEL as STAT_SET.
#[tokio::test]
async fn unbinding_takes_its_answer() {
    let reply = NldevMessage::new(NldevCommand::StatSet, vec![A::DevIndex(0), A::StatCounterId(4)]);
    let (result, request, _) =
        exchange(async |handle: Handle| handle.stats().unbind_qp(0, 1, 17, 4).await, vec![reply]).await;
    result.unwrap();
    assert_eq!(request.command, NldevCommand::StatDel);
    assert_eq!(
        request.attributes,
        [
            A::StatMode(2),
            A::StatRes(19),
            A::DevIndex(0),
            A::PortIndex(1),
            A::StatCounterId(4),
            A::ResLqpn(17)
        ]
    );
}

#[tokio::test]
async fn pools_are_listed() {
    let key = FrmrPoolKey { ats: false, access_flags: 1, vendor_key: 2, num_dma_blocks: 3 };
    let entry = A::FrmrPoolEntry(Nested::plain(vec![key.attribute(), A::FrmrPoolPinnedHandles(5)]));
    let reply = table(NldevCommand::FrmrPoolsGet, A::FrmrPools, vec![entry]);
    let (result, request, dump) =
        exchange(async |handle: Handle| handle.frmr().list(3).await, vec![reply]).await;
    let pools = result.unwrap();
    assert_eq!((pools[0].key, pools[0].pinned_handles), (key, Some(5)));
    assert!(dump);
    assert_eq!(request.command, NldevCommand::FrmrPoolsGet);
}

/// One object without its id is left out; the list goes on.
#[tokio::test]
async fn an_object_without_its_id_spoils_no_other() {
    let entry = |list| A::ResQpEntry(Nested::plain(list));
    let entries = vec![entry(vec![A::ResLqpn(7)]), entry(vec![A::ResSqPsn(1)]), entry(vec![A::ResLqpn(9)])];
    let reply = table(NldevCommand::ResQpGet, A::ResQp, entries);
    let (result, ..) =
        exchange(async |handle: Handle| handle.resource().queue_pairs(0).list().await, vec![reply]).await;
    let numbers: Vec<_> = result.unwrap().iter().map(|qp| qp.lqpn).collect();
    assert_eq!(numbers, [7, 9]);
}
