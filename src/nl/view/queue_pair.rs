//! Queue pairs, shared receive queues and CM ids.

use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

use super::{
    CmState, DriverDetail, Entry, Missing, Owner, PathMigState, PortSpace, QpState, QpType, Resource,
    SrqType, require,
};
use crate::nl::packet::{AttributeList, NldevAttribute, NldevCommand, number::*};

/// A queue pair (`fill_res_qp_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePair {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port; some QPs have none yet.
    pub port: Option<u32>,
    /// Local number.
    pub lqpn: u32,
    /// Protection domain, of user objects.
    pub pdn: Option<u32>,
    /// Remote number (RC, UC).
    pub rqpn: Option<u32>,
    /// Receive queue packet sequence number (RC, UC).
    pub rq_psn: Option<u32>,
    /// Send queue packet sequence number.
    pub sq_psn: Option<u32>,
    /// Path migration (RC, UC, XRC).
    pub path_mig_state: Option<PathMigState>,
    /// Kind.
    pub qp_type: Option<QpType>,
    /// State.
    pub state: Option<QpState>,
    /// The driver's name for the kind: `DCT`, `DCI`, `REG_UMR`. Since 6.10.
    pub subtype: Option<String>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl QueuePair {
    /// The id to look it up by, which for the special QPs 0 and 1, one of each on every port, is not the number the
    /// kernel shows: their port is in the topmost byte (`rdma_restrack_add()`).
    pub fn id(&self) -> u32 {
        match (self.qp_type, self.port) {
            (Some(QpType::Smi | QpType::Gsi), Some(port)) => self.lqpn | port << 24,
            _ => self.lqpn,
        }
    }
}

impl Resource for QueuePair {
    const COMMAND: NldevCommand = NldevCommand::ResQpGet;
    const RAW_COMMAND: Option<NldevCommand> = Some(NldevCommand::ResQpGetRaw);
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_QP;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_QP_ENTRY;
    const PER_PORT: bool = true;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResLqpn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            port: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX),
            lqpn: require!(attributes.get_u32(RDMA_NLDEV_ATTR_RES_LQPN)),
            pdn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_PDN),
            rqpn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_RQPN),
            rq_psn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_RQ_PSN),
            sq_psn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_SQ_PSN),
            path_mig_state: attributes.get_u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE).map(PathMigState::from),
            qp_type: attributes.get_u8(RDMA_NLDEV_ATTR_RES_TYPE).map(QpType::from),
            state: attributes.get_u8(RDMA_NLDEV_ATTR_RES_STATE).map(QpState::from),
            subtype: attributes.get_string(RDMA_NLDEV_ATTR_RES_SUBTYPE),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// A shared receive queue (`fill_res_srq_entry()`). Since 5.13.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedReceiveQueue {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id.
    pub srqn: u32,
    /// Kind.
    pub srq_type: Option<SrqType>,
    /// Protection domain.
    pub pdn: Option<u32>,
    /// Completion queue (XRC, TM).
    pub cqn: Option<u32>,
    /// The QPs that use it, as runs of numbers from first to last.
    pub qps: Vec<(u32, u32)>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for SharedReceiveQueue {
    const COMMAND: NldevCommand = NldevCommand::ResSrqGet;
    const RAW_COMMAND: Option<NldevCommand> = Some(NldevCommand::ResSrqGetRaw);
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_SRQ;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_SRQ_ENTRY;
    const PER_PORT: bool = false;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResSrqn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        let qps = attributes.get_nested(RDMA_NLDEV_ATTR_RES_QP).unwrap_or_default().iter();
        let qps = qps.filter_map(|entry| {
            let entry = entry.as_nested()?;
            match entry.get_u32(RDMA_NLDEV_ATTR_RES_LQPN) {
                Some(one) => Some((one, one)),
                None => Some((
                    entry.get_u32(RDMA_NLDEV_ATTR_MIN_RANGE)?,
                    entry.get_u32(RDMA_NLDEV_ATTR_MAX_RANGE)?,
                )),
            }
        });
        Ok(Self {
            device_index,
            device_name,
            srqn: require!(attributes.get_u32(RDMA_NLDEV_ATTR_RES_SRQN)),
            srq_type: attributes.get_u8(RDMA_NLDEV_ATTR_RES_TYPE).map(SrqType::from),
            pdn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_PDN),
            cqn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_CQN),
            qps: qps.collect(),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// A connection manager id (`fill_res_cm_id_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CmId {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port; a listener on all has none.
    pub port: Option<u32>,
    /// Id.
    pub cm_idn: u32,
    /// Its queue pair, once it has one.
    pub lqpn: Option<u32>,
    /// Kind of that queue pair.
    pub qp_type: Option<QpType>,
    /// State.
    pub state: Option<CmState>,
    /// Port space.
    pub port_space: Option<PortSpace>,
    /// Local address, once bound.
    pub source: Option<CmAddress>,
    /// Remote address.
    pub destination: Option<CmAddress>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for CmId {
    const COMMAND: NldevCommand = NldevCommand::ResCmIdGet;
    const RAW_COMMAND: Option<NldevCommand> = None;
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_CM_ID;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY;
    const PER_PORT: bool = true;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResCmIdn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            port: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX),
            cm_idn: require!(attributes.get_u32(RDMA_NLDEV_ATTR_RES_CM_IDN)),
            lqpn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_LQPN),
            qp_type: attributes.get_u8(RDMA_NLDEV_ATTR_RES_TYPE).map(QpType::from),
            state: attributes.get_u8(RDMA_NLDEV_ATTR_RES_STATE).map(CmState::from),
            port_space: attributes.get_u32(RDMA_NLDEV_ATTR_RES_PS).map(PortSpace::from),
            source: CmAddress::of(&attributes, RDMA_NLDEV_ATTR_RES_SRC_ADDR),
            destination: CmAddress::of(&attributes, RDMA_NLDEV_ATTR_RES_DST_ADDR),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// Address of a [`CmId`]: a `struct __kernel_sockaddr_storage`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CmAddress {
    /// IPv4 or IPv6.
    Ip(SocketAddr),
    /// Of another family, such as AF_IB (27); its bytes are in the raw list.
    Other {
        /// Address family.
        family: u16,
    },
}

impl CmAddress {
    fn of(attributes: &[NldevAttribute], number: u16) -> Option<Self> {
        let (NldevAttribute::ResSrcAddr(bytes) | NldevAttribute::ResDstAddr(bytes)) =
            attributes.find(number)?
        else {
            return None;
        };
        Self::parse(bytes)
    }

    /// Family in host order, port and addresses in network order (`sockaddr_in`, `sockaddr_in6`).
    fn parse(bytes: &[u8]) -> Option<Self> {
        const AF_INET: u16 = 2;
        const AF_INET6: u16 = 10;
        let at = |start: usize, len: usize| bytes.get(start..start + len);
        let family = u16::from_ne_bytes(at(0, 2)?.try_into().ok()?);
        let port = || at(2, 2)?.try_into().ok().map(u16::from_be_bytes);
        Some(match family {
            AF_INET => {
                let ip: [u8; 4] = at(4, 4)?.try_into().ok()?;
                Self::Ip(SocketAddrV4::new(ip.into(), port()?).into())
            }
            AF_INET6 => {
                let flow = u32::from_be_bytes(at(4, 4)?.try_into().ok()?);
                let ip: [u8; 16] = at(8, 16)?.try_into().ok()?;
                let scope = u32::from_ne_bytes(at(24, 4)?.try_into().ok()?);
                Self::Ip(SocketAddrV6::new(Ipv6Addr::from(ip), port()?, flow, scope).into())
            }
            family => Self::Other { family },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::CmAddress;

    #[test]
    fn addresses_are_read() {
        let v4 = [&2_u16.to_ne_bytes()[..], &[0x1c, 0x20, 10, 1, 0, 1]].concat();
        assert_eq!(CmAddress::parse(&v4), Some(CmAddress::Ip("10.1.0.1:7200".parse().unwrap())));
        let mut v6 = [&10_u16.to_ne_bytes()[..], &[0, 80], &[0; 4], &[0; 15], &[1]].concat();
        v6.extend(3_u32.to_ne_bytes());
        assert_eq!(CmAddress::parse(&v6), Some(CmAddress::Ip("[::1%3]:80".parse().unwrap())));
        assert_eq!(CmAddress::parse(&27_u16.to_ne_bytes()), Some(CmAddress::Other { family: 27 }));
        assert_eq!(CmAddress::parse(&v6[..20]), None);
        assert_eq!(CmAddress::parse(&[]), None);
    }
}
