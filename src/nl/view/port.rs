//! Ports.

use super::{Guid, Missing, PhysState, PortState, require};
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

/// A port as `PORT_GET` shows it (`fill_port_info()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port number, from 1.
    pub port: u32,
    /// `port_cap_flags | port_cap_flags2 << 32`; InfiniBand ports only.
    pub cap_flags: Option<u64>,
    /// Subnet prefix; InfiniBand ports only.
    pub subnet_prefix: Option<Guid>,
    /// Local identifier; InfiniBand ports only.
    pub lid: Option<u32>,
    /// Local identifier of the subnet manager; InfiniBand ports only.
    pub sm_lid: Option<u32>,
    /// LID mask count: how many low bits of the LID are free to choose a path by; InfiniBand ports only.
    pub lmc: Option<u8>,
    /// Logical state.
    pub state: Option<PortState>,
    /// Physical state.
    pub phys_state: Option<PhysState>,
    /// Index of the network device; only when it lives in the network namespace of the socket.
    pub netdev_index: Option<u32>,
    /// Name of the network device; only when it lives in the network namespace of the socket.
    pub netdev_name: Option<String>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl Port {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When device index, device name or port number is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        Ok(Self {
            device_index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            device_name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            port: require!(attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX)),
            cap_flags: attributes.get_u64(RDMA_NLDEV_ATTR_CAP_FLAGS),
            subnet_prefix: attributes.get_u64(RDMA_NLDEV_ATTR_SUBNET_PREFIX).map(Guid),
            lid: attributes.get_u32(RDMA_NLDEV_ATTR_LID),
            sm_lid: attributes.get_u32(RDMA_NLDEV_ATTR_SM_LID),
            lmc: attributes.get_u8(RDMA_NLDEV_ATTR_LMC),
            state: attributes.get_u8(RDMA_NLDEV_ATTR_PORT_STATE).map(PortState::from),
            phys_state: attributes.get_u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE).map(PhysState::from),
            netdev_index: attributes.get_u32(RDMA_NLDEV_ATTR_NDEV_INDEX),
            netdev_name: attributes.get_string(RDMA_NLDEV_ATTR_NDEV_NAME),
            attributes,
        })
    }
}
