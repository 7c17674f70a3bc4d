//! What requests look like and what becomes of good answers.

use super::kernel::{connect, device, error, port, reply};
use crate::nl::{
    Error, PortState, errno,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
};

#[tokio::test]
async fn devices_are_listed_by_dump() {
    let (handle, _events, mut kernel) = connect();
    let (devices, request) = tokio::join!(
        async { handle.device().list().await.unwrap() },
        kernel.answer([device(0, "rxe0", 1), device(4, "mlx5_0", 2)])
    );
    assert_eq!(request.header.flags, 0x305);
    assert_eq!(request.header.message_type, 0x1401);
    assert!(request.message.attributes.is_empty());
    let names: Vec<_> = devices.iter().map(|device| (device.index, device.name.as_str())).collect();
    assert_eq!(names, [(0, "rxe0"), (4, "mlx5_0")]);
}

#[tokio::test]
async fn empty_list_is_a_list() {
    let (handle, _events, mut kernel) = connect();
    let (devices, _) = tokio::join!(async { handle.device().list().await }, kernel.answer([]));
    assert!(devices.unwrap().is_empty());
}

#[tokio::test]
async fn device_is_got_by_index() {
    let (handle, _events, mut kernel) = connect();
    let (device, request) =
        tokio::join!(async { handle.device().get(4).await.unwrap() }, kernel.answer([device(4, "x", 2)]));
    // Never a bit of NLM_F_DUMP: the kernel takes any of them for a dump.
    assert_eq!(request.header.flags, 0x1, "the object is the answer");
    assert_eq!(request.message.attributes, [NldevAttribute::DevIndex(4)]);
    assert_eq!(device.port_count, 2);
}

#[tokio::test]
async fn unknown_index_is_einval() {
    let (handle, _events, mut kernel) = connect();
    let (result, ()) = tokio::join!(async { handle.device().get(9).await }, async {
        let request = kernel.request().await;
        kernel.send(&[error(&request, -22, &[])]);
    });
    let failure = result.unwrap_err();
    assert_eq!(failure.errno(), Some(errno::EINVAL));
    assert_eq!(failure.to_string(), "GET of device 9 was refused");
    assert_eq!(std::error::Error::source(&failure).unwrap().to_string(), "Invalid argument (os error 22)");
}

#[tokio::test]
async fn one_failing_port_spares_the_others() {
    let (handle, _events, mut kernel) = connect();
    let (ports, ()) = tokio::join!(async { handle.port(4).all(3).await }, async {
        kernel.answer([port(4, "x", 1, 4)]).await;
        let second = kernel.request().await;
        assert_eq!(second.message.attributes, [NldevAttribute::DevIndex(4), NldevAttribute::PortIndex(2)]);
        kernel.send(&[error(&second, -19, &[])]);
        kernel.answer([port(4, "x", 3, 1)]).await;
    });
    let states: Vec<_> = ports
        .iter()
        .map(|(number, port)| (*number, port.as_ref().map(|port| port.state.unwrap()).map_err(Error::errno)))
        .collect();
    assert_eq!(states, [(1, Ok(PortState::Active)), (2, Err(Some(errno::ENODEV))), (3, Ok(PortState::Down))]);
}

#[tokio::test]
async fn reply_under_another_command_counts() {
    let (handle, _events, mut kernel) = connect();
    let (result, request) =
        tokio::join!(async { handle.port(4).get(1).await }, kernel.answer([port(4, "x", 1, 4)]));
    assert_eq!(request.message.command, NldevCommand::PortGet);
    assert_eq!(result.unwrap().port, 1);
}

#[tokio::test]
async fn answers_find_their_requests() {
    let (handle, _events, mut kernel) = connect();
    let (first, second, ()) =
        tokio::join!(async { handle.device().get(1).await }, async { handle.device().get(2).await }, async {
            let (a, b) = (kernel.request().await, kernel.request().await);
            kernel.send(&[reply(&b, device(2, "b", 1)), error(&b, 0, &[])]);
            kernel.send(&[reply(&a, device(1, "a", 1)), error(&a, 0, &[])]);
        });
    assert_eq!(first.unwrap().name, "a");
    assert_eq!(second.unwrap().name, "b");
}

#[tokio::test]
async fn char_devices_are_asked_for_by_kind() {
    let (handle, _events, mut kernel) = connect();
    let answer = NldevMessage::new(
        NldevCommand::GetChardev,
        vec![
            NldevAttribute::UverbsDriverId(14),
            NldevAttribute::Chardev(0xe7c0),
            NldevAttribute::ChardevAbi(1),
            NldevAttribute::ChardevName("uverbs0".into()),
        ],
    );
    let (result, request) = tokio::join!(async { handle.chardev().uverbs(3).await }, kernel.answer([answer]));
    let uverbs = result.unwrap();
    assert_eq!((uverbs.name.as_str(), uverbs.major, uverbs.minor), ("uverbs0", 231, 192));
    assert_eq!(uverbs.driver_id.unwrap().to_string(), "rxe");
    assert_eq!(
        request.message.attributes,
        [NldevAttribute::DevIndex(3), NldevAttribute::ChardevType("uverbs".into())]
    );
}

#[tokio::test]
async fn acknowledgement_without_data_is_no_answer() {
    let (handle, _events, mut kernel) = connect();
    let (result, _) = tokio::join!(async { handle.system().get().await }, kernel.answer([]));
    assert!(matches!(result, Err(Error::NoReply { .. })), "{result:?}");
}

#[tokio::test]
async fn reply_without_an_index_names_what_is_missing() {
    let (handle, _events, mut kernel) = connect();
    let answer = NldevMessage::new(NldevCommand::Get, vec![NldevAttribute::DevName("x".into())]);
    let (result, _) = tokio::join!(async { handle.device().get(0).await }, kernel.answer([answer]));
    assert_eq!(
        result.unwrap_err().to_string(),
        "GET of device 0 was answered without RDMA_NLDEV_ATTR_DEV_INDEX"
    );
}

#[tokio::test]
async fn recorded_session_gives_its_devices() {
    let case = super::fixtures::case("7.3", "dev_show_one");
    let recorded: Vec<_> = case.replies(|kind, flags| kind == 0x1401 && flags & 0x300 != 0);
    let (handle, _events, mut kernel) = connect();
    let (devices, _) =
        tokio::join!(async { handle.device().list().await.unwrap() }, kernel.answer(recorded.clone()));
    assert_eq!(devices.len(), recorded.len());
    assert!(devices.iter().any(|device| device.name == "rxe0"));
}
