//! Devices.

use super::{DeviceType, Guid, Missing, NameAssignType, NodeType, require};
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

/// A device as `GET` shows it (`fill_dev_info()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// The kernel's key of the device.
    pub index: u32,
    /// Name. In exclusive namespace mode from 7.3 on it is unique in its network namespace only.
    pub name: String,
    /// Number of the last port; ports count from 1.
    pub port_count: u32,
    /// `device_cap_flags`, see `enum ib_uverbs_device_cap_flags`.
    pub cap_flags: Option<u64>,
    /// Firmware version; soft devices have none.
    pub firmware: Option<String>,
    /// Node GUID.
    pub node_guid: Option<Guid>,
    /// System image GUID: the same for all devices of one chip or board.
    pub sys_image_guid: Option<Guid>,
    /// Kind of node.
    pub node_type: Option<NodeType>,
    /// Protocol of the first port: `ib`, `opa`, `iw`, `roce`, `usnic`.
    pub protocol: Option<String>,
    /// Whether completion moderation adapts itself.
    pub adaptive_moderation: Option<bool>,
    /// Kind of sub-device; only on those. Since 6.11.
    pub device_type: Option<DeviceType>,
    /// Name of the device a sub-device belongs to. Since 6.11.
    pub parent: Option<String>,
    /// Who named it. Since 6.11.
    pub name_assign_type: Option<NameAssignType>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl Device {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When index or name is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        Ok(Self {
            index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            port_count: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX).unwrap_or(0),
            cap_flags: attributes.get_u64(RDMA_NLDEV_ATTR_CAP_FLAGS),
            firmware: attributes.get_string(RDMA_NLDEV_ATTR_FW_VERSION),
            node_guid: attributes.get_u64(RDMA_NLDEV_ATTR_NODE_GUID).map(Guid),
            sys_image_guid: attributes.get_u64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID).map(Guid),
            node_type: attributes.get_u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE).map(NodeType::from),
            protocol: attributes.get_string(RDMA_NLDEV_ATTR_DEV_PROTOCOL),
            adaptive_moderation: attributes.get_u8(RDMA_NLDEV_ATTR_DEV_DIM).map(|dim| dim != 0),
            device_type: attributes.get_u8(RDMA_NLDEV_ATTR_DEV_TYPE).map(DeviceType::from),
            parent: attributes.get_string(RDMA_NLDEV_ATTR_PARENT_NAME),
            name_assign_type: attributes.get_u8(RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE).map(NameAssignType::from),
            attributes,
        })
    }
}
