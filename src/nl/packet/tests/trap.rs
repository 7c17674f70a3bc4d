use super::{decode, encode};
use crate::nl::packet::{AttributeList, MAX_DEPTH, Nested, NldevAttribute, RawAttribute, number::*};

fn roundtrip(bytes: &[u8]) -> Vec<NldevAttribute> {
    let attributes = decode(bytes);
    assert_eq!(encode(attributes.clone()), bytes);
    attributes
}

#[test]
fn typed_attribute_has_its_type() {
    assert_eq!(roundtrip(&[8, 0, 1, 0, 7, 0, 0, 0]), [NldevAttribute::DevIndex(7)]);
    assert_eq!(roundtrip(b"\x09\0\x02\0rxe0\0\0\0\0"), [NldevAttribute::DevName("rxe0".into())]);
}

#[test]
fn unknown_attribute_is_kept() {
    let raw = RawAttribute::new(900, vec![1, 2, 3]);
    assert_eq!(roundtrip(&[7, 0, 0x84, 3, 1, 2, 3, 0]), [raw.into()]);
}

#[test]
fn wrong_length_of_a_known_attribute_keeps_the_bytes() {
    let attributes = roundtrip(&[6, 0, 1, 0, 7, 0, 0, 0]);
    assert_eq!(attributes, [RawAttribute::new(1, vec![7, 0]).into()]);
    assert_eq!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), None);
}

#[test]
fn odd_padding_and_flags_are_kept_and_read_through() {
    // A name padded with 0xff, and an index that claims network byte order.
    let attributes = roundtrip(b"\x09\0\x02\0rxe0\0\xff\xff\xff\x08\0\x01\x40\x07\0\0\0");
    assert!(attributes.iter().all(|attribute| matches!(attribute, NldevAttribute::Other(_))));
    assert_eq!(attributes.get_str(RDMA_NLDEV_ATTR_DEV_NAME).unwrap(), "rxe0");
    assert_eq!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), Some(7));
}

#[test]
fn text_without_nul_or_utf8_is_kept_and_readable() {
    assert_eq!(roundtrip(b"\x08\0\x02\0rxe0").get_str(RDMA_NLDEV_ATTR_DEV_NAME).unwrap(), "rxe0");
    let odd = roundtrip(b"\x08\0\x02\0\xffxe\0");
    assert_eq!(odd.get_str(RDMA_NLDEV_ATTR_DEV_NAME).unwrap(), "\u{fffd}xe");
    assert_eq!(roundtrip(b"\x04\0\x02\0").get_str(RDMA_NLDEV_ATTR_DEV_NAME).unwrap(), "");
}

#[test]
fn nest_flag_is_kept() {
    for (kind, flagged) in [(0x00, false), (0x80, true)] {
        let attributes = roundtrip(&[12, 0, 19, kind, 8, 0, 21, 0, 5, 0, 0, 0]);
        let nest = Nested { flagged, attributes: vec![NldevAttribute::ResLqpn(5)] };
        assert_eq!(attributes, [NldevAttribute::ResQp(nest)]);
    }
}

#[test]
fn pad_attribute_is_kept() {
    let attributes = roundtrip(&[4, 0, 0, 0, 8, 0, 1, 0, 7, 0, 0, 0]);
    assert_eq!(attributes.len(), 2);
    assert_eq!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), Some(7));
}

#[test]
fn last_of_two_counts_and_both_are_kept() {
    let attributes = roundtrip(&[5, 0, 26, 0, 2, 0, 0, 0, 5, 0, 26, 0, 255, 0, 0, 0]);
    assert_eq!(attributes.get_u8(RDMA_NLDEV_ATTR_RES_TYPE), Some(255));
    assert_eq!(attributes, [NldevAttribute::ResType(2), NldevAttribute::ResType(255)]);
}

#[test]
fn trailing_bytes_are_kept() {
    for tail in [&[1_u8, 2, 3][..], &[3, 0, 1, 0], &[9, 0, 1, 0, 7, 0, 0, 0], &[0, 0, 0, 0]] {
        let attributes = roundtrip(&[&[8, 0, 1, 0, 7, 0, 0, 0], tail].concat());
        assert_eq!(attributes, [NldevAttribute::DevIndex(7), NldevAttribute::Malformed(tail.into())]);
    }
}

#[test]
fn missing_padding_at_the_end_is_kept() {
    let attributes = roundtrip(&[5, 0, 12, 0, 4]);
    assert_eq!(attributes.get_u8(RDMA_NLDEV_ATTR_PORT_STATE), Some(4));
}

#[test]
fn nests_end_at_the_cap() {
    let mut bytes = Vec::new();
    for _ in 0..4096 {
        let len = u16::try_from(bytes.len() + 4).unwrap();
        bytes = [&len.to_ne_bytes(), &19_u16.to_ne_bytes(), bytes.as_slice()].concat();
    }
    let attributes = roundtrip(&bytes);
    let mut depth = 0;
    let mut at = attributes.as_slice();
    while let Some(inner) = at[0].as_nested() {
        depth += 1;
        at = inner;
    }
    assert_eq!(depth, MAX_DEPTH);
    assert!(matches!(&at[0], NldevAttribute::Other(raw) if raw.number() == 19));
}

#[test]
fn canonical_is_what_comes_back_as_itself() {
    assert!(NldevAttribute::DevIndex(1).is_canonical());
    assert!(NldevAttribute::DevName("a\0b".into()).is_canonical());
    assert!(NldevAttribute::from(RawAttribute::new(1, vec![1])).is_canonical());
    assert!(!NldevAttribute::from(RawAttribute::new(1, vec![1, 0, 0, 0])).is_canonical());
    assert!(!NldevAttribute::ResRaw(vec![0; 70_000]).is_canonical());
    assert!(!NldevAttribute::Malformed([8, 0, 1, 0, 1, 0, 0, 0].into()).is_canonical());
    let mut deep = NldevAttribute::ResLqpn(1);
    for _ in 0..=MAX_DEPTH {
        deep = NldevAttribute::ResQp(Nested::plain(vec![deep]));
    }
    assert!(!deep.is_canonical());
}
