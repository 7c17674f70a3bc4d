use netlink_packet_core::NetlinkPayload;

use crate::nl::{
    packet::{AttributeList, NldevAttribute, RdmaMessage},
    tests::fixtures,
};

#[test]
fn every_recorded_datagram_survives() {
    let mut datagrams = 0;
    for case in fixtures::all() {
        for (_, datagram) in &case.datagrams {
            let mut again = Vec::new();
            for message in fixtures::messages(datagram) {
                let mut bytes = vec![0; message.buffer_len()];
                message.serialize(&mut bytes);
                again.extend(bytes);
                again.resize(again.len().next_multiple_of(4), 0);
            }
            assert_eq!(*datagram, again, "{}", case.name);
            datagrams += 1;
        }
    }
    assert!(datagrams > 2000, "only {datagrams}");
}

fn walk(attributes: &[NldevAttribute], at: &mut Vec<u16>, visit: &mut impl FnMut(&[u16], &NldevAttribute)) {
    for attribute in attributes {
        at.push(attribute.number());
        visit(at, attribute);
        walk(attribute.as_nested().unwrap_or_default(), at, visit);
        at.pop();
    }
}

/// What these two kernels send has a typed form throughout, but for requests that rdma(8) got wrong on purpose.
#[test]
fn nothing_recorded_is_left_raw() {
    let mut seen = std::collections::BTreeSet::new();
    for case in fixtures::all() {
        for (sent, datagram) in &case.datagrams {
            if *sent {
                continue;
            }
            for message in fixtures::messages(datagram) {
                let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message)) = message.payload else {
                    continue;
                };
                walk(message.list(), &mut Vec::new(), &mut |at, attribute| {
                    assert!(!matches!(attribute, NldevAttribute::Other(_)), "{} {at:?}", case.name);
                    assert!(!matches!(attribute, NldevAttribute::Malformed(_)), "{} {at:?}", case.name);
                    assert!(attribute.is_canonical(), "{} {at:?}", case.name);
                    seen.insert(attribute.number());
                });
            }
        }
    }
    assert!(seen.len() > 60, "the recordings show {} of 118 attributes", seen.len());
}
