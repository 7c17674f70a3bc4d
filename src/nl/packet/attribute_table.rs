//! The one table of NLDEV attributes.
//!
//! Everything the codec knows of an attribute comes from here: its number, its kernel name, its wire type
//! (the Rust type in brackets) and what it means. Source: `enum rdma_nldev_attr` in
//! `include/uapi/rdma/rdma_netlink.h` and the fill functions in `drivers/infiniband/core/nldev.c`, Linux 7.3.
//! "Since" names the release that brought the attribute when that is later than 4.17.

use super::{attribute::attributes, nested::Nested};

attributes! {
    /// Device index, the kernel's key of a device: never changes while the device lives, rarely reused.
    1 DevIndex(u32) = RDMA_NLDEV_ATTR_DEV_INDEX,
    /// Device name, at most 63 bytes.
    2 DevName(String) = RDMA_NLDEV_ATTR_DEV_NAME,
    /// Port number from 1; in the reply to `GET` the number of the last port, which is their count.
    3 PortIndex(u32) = RDMA_NLDEV_ATTR_PORT_INDEX,
    /// Capability bits: `device_cap_flags` in `GET`, `port_cap_flags | port_cap_flags2 << 32` of an IB port in
    /// `PORT_GET`. Not in the kernel's policy: a strict request that carries it is refused.
    4 CapFlags(u64) = RDMA_NLDEV_ATTR_CAP_FLAGS,
    /// Firmware version; absent when the driver has none.
    5 FwVersion(String) = RDMA_NLDEV_ATTR_FW_VERSION,
    /// Node GUID, in host order.
    6 NodeGuid(u64) = RDMA_NLDEV_ATTR_NODE_GUID,
    /// System image GUID, in host order.
    7 SysImageGuid(u64) = RDMA_NLDEV_ATTR_SYS_IMAGE_GUID,
    /// Subnet prefix of an IB port, in host order.
    8 SubnetPrefix(u64) = RDMA_NLDEV_ATTR_SUBNET_PREFIX,
    /// Local identifier of an IB port.
    9 Lid(u32) = RDMA_NLDEV_ATTR_LID,
    /// Local identifier of the subnet manager an IB port obeys.
    10 SmLid(u32) = RDMA_NLDEV_ATTR_SM_LID,
    /// LID mask count of an IB port.
    11 Lmc(u8) = RDMA_NLDEV_ATTR_LMC,
    /// `enum ib_port_state`.
    12 PortState(u8) = RDMA_NLDEV_ATTR_PORT_STATE,
    /// `enum ib_port_phys_state`.
    13 PortPhysState(u8) = RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
    /// `RDMA_NODE_*`.
    14 DevNodeType(u8) = RDMA_NLDEV_ATTR_DEV_NODE_TYPE,
    /// List of [`ResSummaryEntry`](Self::ResSummaryEntry).
    15 ResSummary(Nested) = RDMA_NLDEV_ATTR_RES_SUMMARY,
    /// One kind of resource and how many of it there are.
    16 ResSummaryEntry(Nested) = RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
    /// Kind of resource: `pd`, `cq`, `qp`, `cm_id`, `mr`, `ctx`, `srq`, `comp_cntr` (7.3).
    17 ResSummaryEntryName(String) = RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME,
    /// Objects of that kind alive now.
    18 ResSummaryEntryCurr(u64) = RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR,
    /// List of queue pairs. Its number, 19, is also the value of [`StatRes`](Self::StatRes) for QP counters.
    19 ResQp(Nested) = RDMA_NLDEV_ATTR_RES_QP,
    /// One queue pair; in a shared receive queue a QP number or a range of them.
    20 ResQpEntry(Nested) = RDMA_NLDEV_ATTR_RES_QP_ENTRY,
    /// Local queue pair number.
    21 ResLqpn(u32) = RDMA_NLDEV_ATTR_RES_LQPN,
    /// Remote queue pair number (RC, UC).
    22 ResRqpn(u32) = RDMA_NLDEV_ATTR_RES_RQPN,
    /// Receive queue packet sequence number (RC, UC).
    23 ResRqPsn(u32) = RDMA_NLDEV_ATTR_RES_RQ_PSN,
    /// Send queue packet sequence number.
    24 ResSqPsn(u32) = RDMA_NLDEV_ATTR_RES_SQ_PSN,
    /// `enum ib_mig_state` (RC, UC, XRC).
    25 ResPathMigState(u8) = RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE,
    /// `enum ib_qp_type` of a QP, a CM id or a counter; `enum ib_srq_type` of a shared receive queue.
    26 ResType(u8) = RDMA_NLDEV_ATTR_RES_TYPE,
    /// `enum ib_qp_state` of a QP, `enum rdma_cm_state` of a CM id.
    27 ResState(u8) = RDMA_NLDEV_ATTR_RES_STATE,
    /// Owner of a user object, as a pid in the asking task's pid namespace; absent if not visible there.
    28 ResPid(u32) = RDMA_NLDEV_ATTR_RES_PID,
    /// Kernel module that owns a kernel object.
    29 ResKernName(String) = RDMA_NLDEV_ATTR_RES_KERN_NAME,
    /// List of CM ids.
    30 ResCmId(Nested) = RDMA_NLDEV_ATTR_RES_CM_ID,
    /// One CM id.
    31 ResCmIdEntry(Nested) = RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
    /// `RDMA_PS_*`: port space of a CM id.
    32 ResPs(u32) = RDMA_NLDEV_ATTR_RES_PS,
    /// Source address, a `struct __kernel_sockaddr_storage` (128 bytes).
    33 ResSrcAddr(Vec<u8>) = RDMA_NLDEV_ATTR_RES_SRC_ADDR,
    /// Destination address, a `struct __kernel_sockaddr_storage` (128 bytes).
    34 ResDstAddr(Vec<u8>) = RDMA_NLDEV_ATTR_RES_DST_ADDR,
    /// List of completion queues.
    35 ResCq(Nested) = RDMA_NLDEV_ATTR_RES_CQ,
    /// One completion queue.
    36 ResCqEntry(Nested) = RDMA_NLDEV_ATTR_RES_CQ_ENTRY,
    /// Entries a completion queue can hold.
    37 ResCqe(u32) = RDMA_NLDEV_ATTR_RES_CQE,
    /// Users of a completion queue or protection domain.
    38 ResUsecnt(u64) = RDMA_NLDEV_ATTR_RES_USECNT,
    /// `enum ib_poll_context` of a kernel completion queue: 0 softirq, 1 workqueue, 2 unbound workqueue,
    /// 3 direct.
    39 ResPollCtx(u8) = RDMA_NLDEV_ATTR_RES_POLL_CTX,
    /// List of memory regions. Its number, 40, is also the value of [`StatRes`](Self::StatRes) for MR counters.
    40 ResMr(Nested) = RDMA_NLDEV_ATTR_RES_MR,
    /// One memory region.
    41 ResMrEntry(Nested) = RDMA_NLDEV_ATTR_RES_MR_ENTRY,
    /// Remote key; only for a reader with CAP_NET_ADMIN.
    42 ResRkey(u32) = RDMA_NLDEV_ATTR_RES_RKEY,
    /// Local key; only for a reader with CAP_NET_ADMIN.
    43 ResLkey(u32) = RDMA_NLDEV_ATTR_RES_LKEY,
    /// I/O virtual address. Declared, never sent by any kernel.
    44 ResIova(u64) = RDMA_NLDEV_ATTR_RES_IOVA,
    /// Length of a memory region in bytes.
    45 ResMrlen(u64) = RDMA_NLDEV_ATTR_RES_MRLEN,
    /// List of protection domains.
    46 ResPd(Nested) = RDMA_NLDEV_ATTR_RES_PD,
    /// One protection domain.
    47 ResPdEntry(Nested) = RDMA_NLDEV_ATTR_RES_PD_ENTRY,
    /// Local DMA key of a protection domain; only for a reader with CAP_NET_ADMIN.
    48 ResLocalDmaLkey(u32) = RDMA_NLDEV_ATTR_RES_LOCAL_DMA_LKEY,
    /// Unsafe global remote key; only when the domain has one, for a reader with CAP_NET_ADMIN.
    49 ResUnsafeGlobalRkey(u32) = RDMA_NLDEV_ATTR_RES_UNSAFE_GLOBAL_RKEY,
    /// Index of the network device; only when it lives in the socket's network namespace.
    50 NdevIndex(u32) = RDMA_NLDEV_ATTR_NDEV_INDEX,
    /// Name of the network device, at most 15 bytes; only when it lives in the socket's network namespace.
    51 NdevName(String) = RDMA_NLDEV_ATTR_NDEV_NAME,
    /// Driver details of an object: a flat run of key, optional print type, value. Some drivers set the nest
    /// flag, some do not. Since 4.18.
    52 Driver(Nested) = RDMA_NLDEV_ATTR_DRIVER,
    /// Declared, never sent by any kernel. Since 4.18.
    53 DriverEntry(Nested) = RDMA_NLDEV_ATTR_DRIVER_ENTRY,
    /// Key of a driver detail, or a value that is text. Since 4.18.
    54 DriverString(String) = RDMA_NLDEV_ATTR_DRIVER_STRING,
    /// `enum rdma_nldev_print_type`: 1 asks for hexadecimal. Stands between key and value. Since 4.18.
    55 DriverPrintType(u8) = RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE,
    /// Value of a driver detail. Declared, never sent by a driver of the kernel tree. Since 4.18.
    56 DriverS32(i32) = RDMA_NLDEV_ATTR_DRIVER_S32,
    /// Value of a driver detail. Since 4.18.
    57 DriverU32(u32) = RDMA_NLDEV_ATTR_DRIVER_U32,
    /// Value of a driver detail. Declared, never sent by a driver of the kernel tree. Since 4.18.
    58 DriverS64(i64) = RDMA_NLDEV_ATTR_DRIVER_S64,
    /// Value of a driver detail. Since 4.18.
    59 DriverU64(u64) = RDMA_NLDEV_ATTR_DRIVER_U64,
    /// Id of a protection domain. Since 5.1.
    60 ResPdn(u32) = RDMA_NLDEV_ATTR_RES_PDN,
    /// Id of a completion queue. Since 5.1.
    61 ResCqn(u32) = RDMA_NLDEV_ATTR_RES_CQN,
    /// Id of a memory region. Since 5.1.
    62 ResMrn(u32) = RDMA_NLDEV_ATTR_RES_MRN,
    /// Id of a CM id. Since 5.1.
    63 ResCmIdn(u32) = RDMA_NLDEV_ATTR_RES_CM_IDN,
    /// Id of a user context. Since 5.1.
    64 ResCtxn(u32) = RDMA_NLDEV_ATTR_RES_CTXN,
    /// Type of a soft link to make: `rxe`, `siw`; at most 15 bytes. Since 5.1.
    65 LinkType(String) = RDMA_NLDEV_ATTR_LINK_TYPE,
    /// Network namespace mode: 0 exclusive, 1 shared. Since 5.2.
    66 SysNetnsMode(u8) = RDMA_NLDEV_SYS_ATTR_NETNS_MODE,
    /// Protocol of the device's first port: `ib`, `opa`, `iw`, `roce`, `usnic`. Since 5.2.
    67 DevProtocol(String) = RDMA_NLDEV_ATTR_DEV_PROTOCOL,
    /// Descriptor of a network namespace, a number in the sending task. Since 5.2.
    68 NetNsFd(u32) = RDMA_NLDEV_NET_NS_FD,
    /// Kind of char device asked for: `uverbs`, `umad`, `rdma_cm`; at most 31 bytes. Since 5.3.
    69 ChardevType(String) = RDMA_NLDEV_ATTR_CHARDEV_TYPE,
    /// Name of a char device, such as `uverbs0`. Since 5.3.
    70 ChardevName(String) = RDMA_NLDEV_ATTR_CHARDEV_NAME,
    /// ABI version of a char device. Since 5.3.
    71 ChardevAbi(u64) = RDMA_NLDEV_ATTR_CHARDEV_ABI,
    /// Device number of a char device, as `huge_encode_dev()` packs it. Since 5.3.
    72 Chardev(u64) = RDMA_NLDEV_ATTR_CHARDEV,
    /// `enum rdma_driver_id`. The header's comment says u64; policy and kernel use u32. Since 5.3.
    73 UverbsDriverId(u32) = RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID,
    /// `enum rdma_nl_counter_mode`: 0 none, 1 auto, 2 manual. Since 5.3.
    74 StatMode(u32) = RDMA_NLDEV_ATTR_STAT_MODE,
    /// Whose counters: the attribute number of [`ResQp`](Self::ResQp) or [`ResMr`](Self::ResMr). Since 5.3.
    75 StatRes(u32) = RDMA_NLDEV_ATTR_STAT_RES,
    /// `enum rdma_nl_counter_mask`: 1 by QP type, 2 by pid; 0 switches auto mode off. Since 5.3.
    76 StatAutoModeMask(u32) = RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK,
    /// List of QP counters. Since 5.3.
    77 StatCounter(Nested) = RDMA_NLDEV_ATTR_STAT_COUNTER,
    /// One QP counter. Since 5.3.
    78 StatCounterEntry(Nested) = RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
    /// Id of a QP counter. Since 5.3.
    79 StatCounterId(u32) = RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
    /// Out: list of hardware counters. In (`STAT_SET`): the optional counters to enable, as a flat list of
    /// [`StatHwcounterIndex`](Self::StatHwcounterIndex); the nest flag is obligatory there. Since 5.3.
    80 StatHwcounters(Nested) = RDMA_NLDEV_ATTR_STAT_HWCOUNTERS,
    /// One hardware counter. Since 5.3.
    81 StatHwcounterEntry(Nested) = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
    /// Name of a hardware counter. Since 5.3.
    82 StatHwcounterEntryName(String) = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME,
    /// Value of a hardware counter. Since 5.3.
    83 StatHwcounterEntryValue(u64) = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
    /// Adaptive moderation of completions: 0 off, 1 on. Since 5.3.
    84 DevDim(u8) = RDMA_NLDEV_ATTR_DEV_DIM,
    /// An object as the driver itself describes it. Since 5.9.
    85 ResRaw(Vec<u8>) = RDMA_NLDEV_ATTR_RES_RAW,
    /// List of user contexts. Since 5.13.
    86 ResCtx(Nested) = RDMA_NLDEV_ATTR_RES_CTX,
    /// One user context. Since 5.13.
    87 ResCtxEntry(Nested) = RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
    /// List of shared receive queues. Since 5.13.
    88 ResSrq(Nested) = RDMA_NLDEV_ATTR_RES_SRQ,
    /// One shared receive queue. Since 5.13.
    89 ResSrqEntry(Nested) = RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
    /// Id of a shared receive queue. Since 5.13.
    90 ResSrqn(u32) = RDMA_NLDEV_ATTR_RES_SRQN,
    /// First QP number of a run of them, in a shared receive queue. Since 5.13.
    91 MinRange(u32) = RDMA_NLDEV_ATTR_MIN_RANGE,
    /// Last QP number of a run of them, in a shared receive queue. Since 5.13.
    92 MaxRange(u32) = RDMA_NLDEV_ATTR_MAX_RANGE,
    /// 1: memory registered by a process survives its fork. Since 5.13.
    93 SysCopyOnFork(u8) = RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK,
    /// Index of a hardware counter, for [`StatHwcounters`](Self::StatHwcounters). Since 5.16.
    94 StatHwcounterIndex(u32) = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX,
    /// Only on optional counters: 1 enabled, 0 disabled. Since 5.16.
    95 StatHwcounterDynamic(u8) = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC,
    /// 1: privileged Q_Keys may be set without CAP_NET_RAW. Since 6.7.
    96 SysPrivilegedQkeyMode(u8) = RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE,
    /// 1 asks for the driver's own objects too. Since 6.10.
    97 DriverDetails(u8) = RDMA_NLDEV_ATTR_DRIVER_DETAILS,
    /// Driver's name for the kind of a driver QP: `DCT`, `DCI`, `REG_UMR`. Since 6.10.
    98 ResSubtype(String) = RDMA_NLDEV_ATTR_RES_SUBTYPE,
    /// `enum rdma_nl_dev_type` of a sub-device: 1 SMI. Since 6.11.
    99 DevType(u8) = RDMA_NLDEV_ATTR_DEV_TYPE,
    /// Name of the device a sub-device belongs to. Since 6.11.
    100 ParentName(String) = RDMA_NLDEV_ATTR_PARENT_NAME,
    /// `enum rdma_nl_name_assign_type`: 0 unknown, 1 named by the user. Since 6.11.
    101 NameAssignType(u8) = RDMA_NLDEV_ATTR_NAME_ASSIGN_TYPE,
    /// `enum rdma_nl_notify_event_type`. Since 6.12.
    102 EventType(u8) = RDMA_NLDEV_ATTR_EVENT_TYPE,
    /// 1: the kernel sends notifications. Not in the kernel's policy. Since 6.12.
    103 SysMonitorMode(u8) = RDMA_NLDEV_SYS_ATTR_MONITOR_MODE,
    /// 1: optional counters count with the QP counters of auto mode. Since 6.15.
    104 StatOpcounterEnabled(u8) = RDMA_NLDEV_ATTR_STAT_OPCOUNTER_ENABLED,
    /// List of pools of fast registration memory regions. Since 7.1.
    105 FrmrPools(Nested) = RDMA_NLDEV_ATTR_FRMR_POOLS,
    /// One pool. Since 7.1.
    106 FrmrPoolEntry(Nested) = RDMA_NLDEV_ATTR_FRMR_POOL_ENTRY,
    /// What the regions of a pool have in common. The nest flag is obligatory in requests. Since 7.1.
    107 FrmrPoolKey(Nested) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY,
    /// 1: address translation service. Since 7.1.
    108 FrmrPoolKeyAts(u8) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS,
    /// `IB_ACCESS_*` bits. Since 7.1.
    109 FrmrPoolKeyAccessFlags(u32) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ACCESS_FLAGS,
    /// The driver's own part of the key. Since 7.1.
    110 FrmrPoolKeyVendorKey(u64) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY_VENDOR_KEY,
    /// DMA blocks a region of the pool can map. Since 7.1.
    111 FrmrPoolKeyNumDmaBlocks(u64) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY_NUM_DMA_BLOCKS,
    /// Handles waiting in the pool. Since 7.1.
    112 FrmrPoolQueueHandles(u32) = RDMA_NLDEV_ATTR_FRMR_POOL_QUEUE_HANDLES,
    /// Most handles ever in use at once. Since 7.1.
    113 FrmrPoolMaxInUse(u64) = RDMA_NLDEV_ATTR_FRMR_POOL_MAX_IN_USE,
    /// Handles in use now. Since 7.1.
    114 FrmrPoolInUse(u64) = RDMA_NLDEV_ATTR_FRMR_POOL_IN_USE,
    /// Seconds an unused handle stays in its pool. Only in requests. Since 7.1.
    115 FrmrPoolsAgingPeriod(u32) = RDMA_NLDEV_ATTR_FRMR_POOLS_AGING_PERIOD,
    /// Handles that never age. Since 7.1.
    116 FrmrPoolPinnedHandles(u32) = RDMA_NLDEV_ATTR_FRMR_POOL_PINNED_HANDLES,
    /// Part of the key that belongs to the kernel, when not zero; refused in requests. Since 7.1.
    117 FrmrPoolKeyKernelVendorKey(u64) = RDMA_NLDEV_ATTR_FRMR_POOL_KEY_KERNEL_VENDOR_KEY,
    /// Most objects of that kind the device can have, when known. Since 7.3.
    118 ResSummaryEntryMax(u64) = RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_MAX,
}
