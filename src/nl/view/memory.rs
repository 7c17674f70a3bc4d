//! Completion queues, memory regions, protection domains, user contexts, and raw descriptions.

use super::{DriverDetail, Entry, Missing, Owner, PollContext, Resource, require};
use crate::nl::packet::{AttributeList, NldevAttribute, NldevCommand, number::*};

/// A completion queue (`fill_res_cq_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompletionQueue {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id; kernels before 5.1 send none.
    pub cqn: Option<u32>,
    /// Entries it can hold.
    pub cqe: Option<u32>,
    /// Objects that use it.
    pub users: Option<u64>,
    /// How a kernel queue is polled.
    pub poll_context: Option<PollContext>,
    /// Whether completion moderation adapts itself.
    pub adaptive_moderation: Option<bool>,
    /// User context, of user objects.
    pub ctxn: Option<u32>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for CompletionQueue {
    const COMMAND: NldevCommand = NldevCommand::ResCqGet;
    const RAW_COMMAND: Option<NldevCommand> = Some(NldevCommand::ResCqGetRaw);
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_CQ;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_CQ_ENTRY;
    const PER_PORT: bool = false;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResCqn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            cqn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_CQN),
            cqe: attributes.get_u32(RDMA_NLDEV_ATTR_RES_CQE),
            users: attributes.get_u64(RDMA_NLDEV_ATTR_RES_USECNT),
            poll_context: attributes.get_u8(RDMA_NLDEV_ATTR_RES_POLL_CTX).map(PollContext::from),
            adaptive_moderation: attributes.get_u8(RDMA_NLDEV_ATTR_DEV_DIM).map(|dim| dim != 0),
            ctxn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_CTXN),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// A memory region (`fill_res_mr_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryRegion {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id; kernels before 5.1 send none.
    pub mrn: Option<u32>,
    /// Remote key; only for a reader with CAP_NET_ADMIN.
    pub rkey: Option<u32>,
    /// Local key; only for a reader with CAP_NET_ADMIN.
    pub lkey: Option<u32>,
    /// Length in bytes.
    pub length: Option<u64>,
    /// Protection domain, of user objects.
    pub pdn: Option<u32>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for MemoryRegion {
    const COMMAND: NldevCommand = NldevCommand::ResMrGet;
    const RAW_COMMAND: Option<NldevCommand> = Some(NldevCommand::ResMrGetRaw);
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_MR;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_MR_ENTRY;
    const PER_PORT: bool = false;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResMrn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            mrn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_MRN),
            rkey: attributes.get_u32(RDMA_NLDEV_ATTR_RES_RKEY),
            lkey: attributes.get_u32(RDMA_NLDEV_ATTR_RES_LKEY),
            length: attributes.get_u64(RDMA_NLDEV_ATTR_RES_MRLEN),
            pdn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_PDN),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// A protection domain (`fill_res_pd_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectionDomain {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id; kernels before 5.1 send none.
    pub pdn: Option<u32>,
    /// Local DMA key; only for a reader with CAP_NET_ADMIN.
    pub local_dma_lkey: Option<u32>,
    /// Unsafe global remote key; only when there is one, for a reader with CAP_NET_ADMIN.
    pub unsafe_global_rkey: Option<u32>,
    /// Objects that use it.
    pub users: Option<u64>,
    /// User context, of user objects.
    pub ctxn: Option<u32>,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for ProtectionDomain {
    const COMMAND: NldevCommand = NldevCommand::ResPdGet;
    const RAW_COMMAND: Option<NldevCommand> = None;
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_PD;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_PD_ENTRY;
    const PER_PORT: bool = false;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResPdn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            pdn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_PDN),
            local_dma_lkey: attributes.get_u32(RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY),
            unsafe_global_rkey: attributes.get_u32(RDMA_NLDEV_ATTR_RES_UNSAFE_GLOBAL_RKEY),
            users: attributes.get_u64(RDMA_NLDEV_ATTR_RES_USECNT),
            ctxn: attributes.get_u32(RDMA_NLDEV_ATTR_RES_CTXN),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// A user context: a process that has the device open (`fill_res_ctx_entry()`). Since 5.13.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserContext {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id.
    pub ctxn: u32,
    /// Who made it.
    pub owner: Owner,
    /// What only the driver understands.
    pub driver: Vec<DriverDetail>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl Resource for UserContext {
    const COMMAND: NldevCommand = NldevCommand::ResCtxGet;
    const RAW_COMMAND: Option<NldevCommand> = None;
    const TABLE: u16 = RDMA_NLDEV_ATTR_RES_CTX;
    const ENTRY: u16 = RDMA_NLDEV_ATTR_RES_CTX_ENTRY;
    const PER_PORT: bool = false;

    fn id(id: u32) -> NldevAttribute {
        NldevAttribute::ResCtxn(id)
    }

    fn from_entry(Entry { device_index, device_name, attributes }: Entry) -> Result<Self, Missing> {
        Ok(Self {
            device_index,
            device_name,
            ctxn: require!(attributes.get_u32(RDMA_NLDEV_ATTR_RES_CTXN)),
            owner: Owner::of(&attributes),
            driver: DriverDetail::of(&attributes),
            attributes,
        })
    }
}

/// An object as the driver itself describes it (`RDMA_NLDEV_ATTR_RES_RAW`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawResource {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// The driver's description: for mlx5 the firmware's context of the object.
    pub raw: Vec<u8>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl RawResource {
    pub(in crate::nl) fn from_entry(entry: Entry) -> Result<Self, Missing> {
        let Entry { device_index, device_name, attributes } = entry;
        let Some(NldevAttribute::ResRaw(raw)) = attributes.find(RDMA_NLDEV_ATTR_RES_RAW) else {
            return Err(Missing { attribute: "RDMA_NLDEV_ATTR_RES_RAW" });
        };
        Ok(Self { device_index, device_name, raw: raw.clone(), attributes })
    }
}
