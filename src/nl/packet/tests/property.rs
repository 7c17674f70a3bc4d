//! proptest rather than bolero: it runs under plain `cargo test` on stable, and shrinks what it finds.

use proptest::{collection::vec, prelude::*};

use super::{decode, encode};
use crate::nl::packet::{ATTRIBUTES, NldevAttribute, NldevCommand, NldevMessage, WireType};
use crate::nl::{
    Device, Entry, Guid, Port, PortCounters, QueuePair, Resource, ResourceSummary, SystemInfo, ext_ack,
    tests::fixtures,
};

/// Bytes of a payload that the table's type takes.
fn payload(wire: WireType, inner: BoxedStrategy<Vec<u8>>) -> BoxedStrategy<Vec<u8>> {
    match wire {
        WireType::U8 => vec(any::<u8>(), 1).boxed(),
        WireType::U32 | WireType::S32 => vec(any::<u8>(), 4).boxed(),
        WireType::U64 | WireType::S64 => vec(any::<u8>(), 8).boxed(),
        WireType::String => ".{0,20}".prop_map(|text| [text.as_bytes(), &[0]].concat()).boxed(),
        WireType::Nested => inner,
        WireType::Binary => vec(any::<u8>(), 0..40).boxed(),
    }
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let len = u16::try_from(value.len() + 4).unwrap();
    let mut bytes = [&len.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// A well-formed list of the table's attributes, some of them nests.
fn list() -> BoxedStrategy<Vec<u8>> {
    let leaf = Just(Vec::new()).boxed();
    leaf.prop_recursive(4, 40, 6, |inner| {
        let one = (0..ATTRIBUTES.len(), any::<bool>()).prop_flat_map(move |(row, flag)| {
            let info = ATTRIBUTES[row];
            let flag = if flag && info.wire_type == WireType::Nested { 0x8000 } else { 0 };
            payload(info.wire_type, inner.clone())
                .prop_map(move |value| attribute(info.number | flag, &value))
        });
        vec(one, 0..6).prop_map(|attributes| attributes.concat())
    })
    .boxed()
}

fn any_raw(attributes: &[NldevAttribute]) -> bool {
    attributes.iter().any(|attribute| {
        matches!(attribute, NldevAttribute::Other(_) | NldevAttribute::Malformed(_))
            || any_raw(attribute.as_nested().unwrap_or_default())
    })
}

proptest! {
    #[test]
    fn arbitrary_bytes_survive(bytes in vec(any::<u8>(), 0..400)) {
        let attributes = decode(&bytes);
        prop_assert_eq!(encode(attributes.clone()), bytes);
        let again = decode(&encode(attributes.clone()));
        prop_assert_eq!(again, attributes);
    }

    /// Bytes that look like attributes reach deeper than arbitrary ones.
    #[test]
    fn almost_attributes_survive(
        parts in vec((0_u16..140, 0_u16..4, vec(any::<u8>(), 0..20), any::<bool>()), 0..12),
        cut in 0_usize..8,
    ) {
        let mut bytes = Vec::new();
        for (kind, flags, value, nest) in parts {
            let value = if nest { attribute(kind, &value) } else { value };
            bytes.extend(attribute(kind | flags << 14, &value));
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        prop_assert_eq!(encode(decode(&bytes)), bytes);
    }

    #[test]
    fn well_formed_lists_are_typed_and_canonical(bytes in list()) {
        let attributes = decode(&bytes);
        prop_assert!(!any_raw(&attributes));
        prop_assert!(attributes.iter().all(NldevAttribute::is_canonical));
        prop_assert_eq!(encode(attributes), bytes);
    }

    /// A view has every attribute it was made of, known to it or not.
    #[test]
    fn views_keep_every_attribute(
        mut attributes in list().prop_map(|bytes| decode(&bytes)),
        index in any::<u32>(),
        at in any::<prop::sample::Index>(),
    ) {
        let head = [
            NldevAttribute::DevIndex(index),
            NldevAttribute::DevName("x".into()),
            NldevAttribute::PortIndex(1),
            NldevAttribute::ResLqpn(2),
        ];
        let at = at.index(attributes.len() + 1);
        attributes.splice(at..at, head);
        let device = Device::from_attributes(attributes.clone()).unwrap();
        prop_assert_eq!(&device.attributes, &attributes);
        prop_assert_eq!(&Port::from_attributes(attributes.clone()).unwrap().attributes, &attributes);
        prop_assert_eq!(&SystemInfo::from_attributes(attributes.clone()).unwrap().attributes, &attributes);
        prop_assert_eq!(&ResourceSummary::from_attributes(attributes.clone()).unwrap().attributes, &attributes);
        prop_assert_eq!(&PortCounters::from_attributes(attributes.clone()).unwrap().attributes, &attributes);
        let entry = Entry { device_index: 0, device_name: "x".into(), attributes: attributes.clone() };
        prop_assert_eq!(&QueuePair::from_entry(entry).unwrap().attributes, &attributes);
    }

    #[test]
    fn arbitrary_datagrams_come_to_an_end(bytes in vec(any::<u8>(), 0..200), len in any::<u8>()) {
        let mut datagram = bytes;
        // A length that fits now and then.
        if let Some(first) = datagram.first_chunk_mut::<4>() {
            *first = u32::from(len).to_ne_bytes();
        }
        let messages = fixtures::messages(&datagram);
        prop_assert!(messages.len() <= datagram.len() / 16);
    }

    #[test]
    fn arbitrary_acknowledgements_are_read(bytes in vec(any::<u8>(), 0..80), capped in any::<bool>()) {
        let flags = 0x200 | if capped { 0x100 } else { 0 };
        let _ = ext_ack::of_error(flags, &bytes);
        let _ = ext_ack::of_done(flags, &bytes);
    }

    #[test]
    fn guids_print_and_parse(number in any::<u64>(), text in "[0-9a-f:]{0,22}") {
        prop_assert_eq!(Guid(number).to_string().parse(), Ok(Guid(number)));
        if let Ok(guid) = text.parse::<Guid>() {
            prop_assert_eq!(guid.to_string(), text);
        }
    }

    #[test]
    fn message_type_is_packed(number in 0_u16..1024) {
        let message = NldevMessage::new(NldevCommand::from(number), Vec::new());
        prop_assert_eq!(message.message_type(), 5 << 10 | number);
        prop_assert_eq!(NldevCommand::from(number).number(), number);
    }
}
