//! Other values for attributes.

use rdma_operator::nl::packet::WireType;
use rdma_operator::nl::packet::number::*;

use super::generator::{Change, NAMES};
use super::wire::Attribute;

/// Numbers where things go wrong.
const EDGES: [u64; 10] = [0, 1, 2, 255, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, u64::MAX];

impl Change {
    fn roll(&mut self, sides: u32) -> u32 {
        u32::try_from(self.dice.roll(usize::try_from(sides).unwrap().max(1))).unwrap()
    }

    fn number(&mut self) -> u64 {
        match self.dice.roll(3) {
            0 => EDGES[self.dice.roll(EDGES.len())],
            1 => u64::try_from(self.dice.roll(30)).unwrap(),
            _ => u64::try_from(self.dice.roll(1 << 30)).unwrap() << self.dice.roll(34),
        }
    }

    fn text(&mut self, longest: usize) -> String {
        let name = NAMES[self.dice.roll(NAMES.len())].replace('%', "");
        format!("{name}{}", self.dice.roll(100)).chars().take(longest).collect()
    }

    /// Another value of the attribute's type.
    pub(super) fn value(&mut self, attribute: &mut Attribute) {
        let number = attribute.number();
        match (number, attribute.wire_type()) {
            (RDMA_NLDEV_ATTR_DEV_INDEX | RDMA_NLDEV_ATTR_DEV_NAME | RDMA_NLDEV_ATTR_PORT_INDEX, _) => {}
            (RDMA_NLDEV_ATTR_RES_PID, _) => {
                let pid = u32::try_from(self.dice.roll(100_000)).unwrap();
                attribute.set(&pid.to_ne_bytes());
            }
            (RDMA_NLDEV_ATTR_RES_KERN_NAME, _) => {
                let text = self.text(10);
                attribute.set_text(&text);
            }
            (RDMA_NLDEV_ATTR_DEV_DIM | RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS, _) => {
                attribute.set(&[u8::try_from(self.dice.roll(2)).unwrap()])
            }
            // A run has to end after it starts.
            (RDMA_NLDEV_ATTR_MIN_RANGE, _) => {
                let start = 1 + self.roll(attribute.as_u32().unwrap_or(1));
                attribute.set(&start.to_ne_bytes());
            }
            (RDMA_NLDEV_ATTR_MAX_RANGE, _) => {
                let end = attribute.as_u32().unwrap_or(0) + self.roll(500);
                attribute.set(&end.to_ne_bytes());
            }
            // The kernel leaves out 0.
            (RDMA_NLDEV_ATTR_FRMR_POOL_KEY_KERNEL_VENDOR_KEY, _) => {
                let number = self.number() | 1;
                attribute.set(&number.to_ne_bytes());
            }
            // 24 bits.
            (
                RDMA_NLDEV_ATTR_RES_LQPN
                | RDMA_NLDEV_ATTR_RES_RQPN
                | RDMA_NLDEV_ATTR_RES_SQ_PSN
                | RDMA_NLDEV_ATTR_RES_RQ_PSN,
                _,
            ) => {
                let number = self.roll(1 << 24);
                attribute.set(&number.to_ne_bytes());
            }
            (_, Some(WireType::String)) => {
                let text = self.text(60);
                attribute.set_text(&text);
            }
            (_, Some(WireType::U8)) => attribute.set(&self.number().to_ne_bytes()[..1]),
            (_, Some(WireType::U32 | WireType::S32)) => attribute.set(&self.number().to_ne_bytes()[..4]),
            (_, Some(WireType::U64 | WireType::S64)) => attribute.set(&self.number().to_ne_bytes()),
            // Not the family of an address.
            (_, Some(WireType::Binary)) => {
                let mut bytes = attribute.bytes().to_vec();
                for byte in bytes.iter_mut().skip(2) {
                    if self.once_in(8) {
                        *byte = u8::try_from(self.dice.roll(256)).unwrap();
                    }
                }
                let is_ipv6 = bytes.first() == Some(&10);
                if let Some(first) = bytes.get_mut(8).filter(|_| is_ipv6) {
                    *first |= 0x20;
                }
                attribute.set(&bytes);
            }
            _ => {}
        }
    }
}
