//! Counters.

use super::{CounterMode, Entry, Missing, Owner, QpType, require};
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

/// A hardware counter and its value (`rdma_nl_stat_hwcounter_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HwCounter {
    /// The driver's name for it.
    pub name: String,
    /// Value; what it counts, in which unit and since when is the driver's.
    pub value: u64,
}

/// Counters of a port (`stat_get_doit_default_counter()`). Disabled optional counters are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounters {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port number.
    pub port: u32,
    /// The counters, in the driver's order.
    pub counters: Vec<HwCounter>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl PortCounters {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When device or port is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        Ok(Self {
            device_index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            device_name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            port: require!(attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX)),
            counters: counters(&attributes),
            attributes,
        })
    }
}

fn counters(attributes: &[NldevAttribute]) -> Vec<HwCounter> {
    entries(attributes)
        .filter_map(|entry| {
            Some(HwCounter {
                name: entry.get_string(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)?,
                value: entry.get_u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE)?,
            })
        })
        .collect()
}

fn entries(attributes: &[NldevAttribute]) -> impl Iterator<Item = &[NldevAttribute]> {
    attributes
        .get_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS)
        .unwrap_or_default()
        .iter()
        .filter_map(NldevAttribute::as_nested)
}

/// A counter a port has, whether it counts or not (`RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY` of `STAT_GET_STATUS`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CounterStatus {
    /// The driver's name for it.
    pub name: String,
    /// Its index, for requests.
    pub index: u32,
    /// Of an optional counter, whether it is enabled; `None` for those that always count.
    pub enabled: Option<bool>,
}

/// Which counters a port has (`nldev_stat_get_counter_status_doit()`). Since 5.16.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PortCounterStatus {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port number.
    pub port: u32,
    /// The counters, in the driver's order.
    pub counters: Vec<CounterStatus>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl PortCounterStatus {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When device or port is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        let counters = entries(&attributes)
            .filter_map(|entry| {
                Some(CounterStatus {
                    name: entry.get_string(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME)?,
                    index: entry.get_u32(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX)?,
                    enabled: entry.get_u8(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC).map(|on| on != 0),
                })
            })
            .collect();
        Ok(Self {
            device_index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            device_name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            port: require!(attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX)),
            counters,
            attributes,
        })
    }

    /// The optional counters.
    pub fn optional(&self) -> impl Iterator<Item = &CounterStatus> {
        self.counters.iter().filter(|counter| counter.enabled.is_some())
    }
}

/// How a port's QPs are bound to counters (`STAT_GET` with `STAT_MODE`, `stat_get_doit_qp()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QpCounterMode {
    /// The mode.
    pub mode: CounterMode,
    /// In auto mode: what the QPs of one counter have in common.
    pub criteria: Option<AutoCriteria>,
    /// In auto mode: whether optional counters count along. Since 6.15.
    pub optional_counters: Option<bool>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl QpCounterMode {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When the mode is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        Ok(Self {
            mode: CounterMode::from(require!(attributes.get_u32(RDMA_NLDEV_ATTR_STAT_MODE))),
            criteria: attributes.get_u32(RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK).map(AutoCriteria),
            optional_counters: attributes.get_u8(RDMA_NLDEV_ATTR_STAT_OPCOUNTER_ENABLED).map(|on| on != 0),
            attributes,
        })
    }
}

/// `enum rdma_nl_counter_mask`: what the QPs of one automatic counter have in common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AutoCriteria(pub u32);

impl AutoCriteria {
    /// Nothing: auto mode is off.
    pub const OFF: Self = Self(0);
    /// Kind of QP.
    pub const QP_TYPE: Self = Self(1);
    /// Process.
    pub const PID: Self = Self(2);

    /// This and the other.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether everything in `other` is in this.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// A counter and the QPs bound to it (`fill_res_counter_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QpCounter {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Port number.
    pub port: Option<u32>,
    /// Id.
    pub id: u32,
    /// How QPs get bound to it.
    pub mode: Option<CounterMode>,
    /// Kind of its QPs, if that is a criterion.
    pub qp_type: Option<QpType>,
    /// Process of its QPs, if that is a criterion.
    pub owner: Owner,
    /// Local numbers of its QPs.
    pub lqpns: Vec<u32>,
    /// The counters, in the driver's order.
    pub counters: Vec<HwCounter>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl QpCounter {
    pub(in crate::nl) fn from_entry(entry: Entry) -> Result<Self, Missing> {
        let Entry { device_index, device_name, attributes } = entry;
        let qps = attributes.get_nested(RDMA_NLDEV_ATTR_RES_QP).unwrap_or_default();
        let lqpns = qps.iter().filter_map(|qp| qp.as_nested()?.get_u32(RDMA_NLDEV_ATTR_RES_LQPN)).collect();
        Ok(Self {
            device_index,
            device_name,
            port: attributes.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX),
            id: require!(attributes.get_u32(RDMA_NLDEV_ATTR_STAT_COUNTER_ID)),
            mode: attributes.get_u32(RDMA_NLDEV_ATTR_STAT_MODE).map(CounterMode::from),
            qp_type: attributes.get_u8(RDMA_NLDEV_ATTR_RES_TYPE).map(QpType::from),
            owner: Owner::of(&attributes),
            lqpns,
            counters: counters(&attributes),
            attributes,
        })
    }
}

/// Counters of a memory region: page faults and the like (`fill_stat_mr_entry()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MrCounters {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// Id of the region.
    pub mrn: u32,
    /// The counters, in the driver's order.
    pub counters: Vec<HwCounter>,
    /// Everything the kernel sent of it.
    pub attributes: Vec<NldevAttribute>,
}

impl MrCounters {
    pub(in crate::nl) fn from_entry(entry: Entry) -> Result<Self, Missing> {
        let Entry { device_index, device_name, attributes } = entry;
        Ok(Self {
            device_index,
            device_name,
            mrn: require!(attributes.get_u32(RDMA_NLDEV_ATTR_RES_MRN)),
            counters: counters(&attributes),
            attributes,
        })
    }
}
