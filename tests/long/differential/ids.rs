//! Attributes that are never missing.

use rdma_operator::nl::packet::number::*;

/// What objects are told apart by is in every message of every kernel; without it we refuse a list.
const IDS: [(u16, &[u16]); 13] = [
    (
        0,
        &[
            RDMA_NLDEV_ATTR_DEV_INDEX,
            RDMA_NLDEV_ATTR_DEV_NAME,
            RDMA_NLDEV_ATTR_PORT_INDEX,
            RDMA_NLDEV_ATTR_RES_LQPN,
            RDMA_NLDEV_ATTR_RES_CM_IDN,
            RDMA_NLDEV_ATTR_RES_CQN,
            RDMA_NLDEV_ATTR_RES_MRN,
            RDMA_NLDEV_ATTR_RES_PDN,
            RDMA_NLDEV_ATTR_RES_CTXN,
            RDMA_NLDEV_ATTR_RES_SRQN,
            RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
            RDMA_NLDEV_ATTR_STAT_MODE,
            // Without it rdma(8) says that it is off, we say nothing.
            RDMA_NLDEV_ATTR_STAT_OPCOUNTER_ENABLED,
        ],
    ),
    (
        RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
        &[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX],
    ),
    (
        RDMA_NLDEV_ATTR_RES_QP_ENTRY,
        &[
            RDMA_NLDEV_ATTR_RES_LQPN,
            RDMA_NLDEV_ATTR_PORT_INDEX,
            RDMA_NLDEV_ATTR_MIN_RANGE,
            RDMA_NLDEV_ATTR_MAX_RANGE,
        ],
    ),
    (RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, &[RDMA_NLDEV_ATTR_RES_CM_IDN, RDMA_NLDEV_ATTR_PORT_INDEX]),
    (RDMA_NLDEV_ATTR_RES_CQ_ENTRY, &[RDMA_NLDEV_ATTR_RES_CQN]),
    (RDMA_NLDEV_ATTR_RES_MR_ENTRY, &[RDMA_NLDEV_ATTR_RES_MRN]),
    (RDMA_NLDEV_ATTR_RES_PD_ENTRY, &[RDMA_NLDEV_ATTR_RES_PDN]),
    (RDMA_NLDEV_ATTR_RES_CTX_ENTRY, &[RDMA_NLDEV_ATTR_RES_CTXN]),
    // Without the list of its QPs rdma(8) leaves a SRQ out; without a type it says BASIC.
    (
        RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
        &[RDMA_NLDEV_ATTR_RES_SRQN, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_TYPE],
    ),
    (
        RDMA_NLDEV_ATTR_FRMR_POOL_KEY,
        &[
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ACCESS_FLAGS,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_VENDOR_KEY,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_NUM_DMA_BLOCKS,
        ],
    ),
    (
        RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
        &[RDMA_NLDEV_ATTR_STAT_COUNTER_ID, RDMA_NLDEV_ATTR_PORT_INDEX, RDMA_NLDEV_ATTR_RES_QP],
    ),
    (RDMA_NLDEV_ATTR_FRMR_POOL_ENTRY, &[RDMA_NLDEV_ATTR_FRMR_POOL_KEY]),
    (
        RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
        &[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR],
    ),
];

/// Whether an attribute of this nest may be missing.
pub(super) fn may_go(parent: u16, number: u16) -> bool {
    number != RDMA_NLDEV_ATTR_RES_RAW
        && !IDS.iter().any(|(nest, ids)| *nest == parent && ids.contains(&number))
}
