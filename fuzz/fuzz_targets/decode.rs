//! Any datagram: decoding must not panic, must lose nothing, and every view must cope.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_proto::NetlinkMessageCodec;
use nl::{
    CharDevice, CmId, CompletionQueue, Device, Entry, Event, MemoryRegion, Port, PortCounterStatus, PortCounters,
    ProtectionDomain, QpCounterMode, QueuePair, RdmaCodec, Resource, ResourceSummary, SharedReceiveQueue, SystemInfo,
    UserContext,
    packet::{NldevAttribute, NldevMessage, RdmaMessage},
};
use tokio_util::bytes::BytesMut;

// The library needs nothing else of the crate; taken in by path, the Kubernetes client need not be built here.
#[allow(dead_code, unused_imports, unreachable_pub)]
#[path = "../../src/nl/mod.rs"]
mod nl;

fuzz_target!(|datagram: &[u8]| {
    let mut bytes = BytesMut::from(datagram);
    while let Ok(Some(message)) = RdmaCodec::decode::<RdmaMessage>(&mut bytes) {
        check(&message);
    }
    // The same bytes as attributes from the start reach deeper.
    let message = NldevMessage::decode(nl::packet::NldevCommand::Get, datagram);
    assert_eq!(message.encode(), datagram);
    view(&message);
});

fn check(message: &NetlinkMessage<RdmaMessage>) {
    if let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(inner)) = &message.payload {
        let encoded = inner.encode();
        let again = NldevMessage::decode(inner.command, &encoded);
        assert_eq!(again, *inner);
        assert_eq!(again.encode(), encoded);
        view(inner);
    }
}

fn view(message: &NldevMessage) {
    let attributes = || message.attributes.clone();
    // A view keeps everything, or there is none.
    macro_rules! keeps {
        ($($view:ty)*) => {
            $( if let Ok(view) = <$view>::from_attributes(attributes()) {
                assert_eq!(view.attributes, message.attributes);
            } )*
        };
    }
    keeps!(Device Port SystemInfo CharDevice ResourceSummary PortCounters PortCounterStatus QpCounterMode);
    resources(&message.attributes, 0);
    let _ = Event::from(message.clone());
}

fn resources(attributes: &[NldevAttribute], depth: usize) {
    let entry = || Entry { device_index: 0, device_name: String::new(), attributes: attributes.to_vec() };
    let _ = QueuePair::from_entry(entry());
    let _ = CmId::from_entry(entry());
    let _ = CompletionQueue::from_entry(entry());
    let _ = MemoryRegion::from_entry(entry());
    let _ = ProtectionDomain::from_entry(entry());
    let _ = UserContext::from_entry(entry());
    let _ = SharedReceiveQueue::from_entry(entry());
    // Objects sit two nests deep.
    if depth < 2 {
        for nested in attributes.iter().filter_map(NldevAttribute::as_nested) {
            resources(nested, depth + 1);
        }
    }
}
