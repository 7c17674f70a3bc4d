//! Settings of the whole subsystem, and char devices.

use super::{DriverId, Missing, NetnsMode, require};
use crate::nl::packet::{AttributeList, NldevAttribute, number::*};

/// What `SYS_GET` shows (`nldev_sys_get_doit()`). A setting the kernel does not know yet is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemInfo {
    /// Which network namespaces see a device.
    pub netns_mode: Option<NetnsMode>,
    /// Whether privileged Q_Keys may be set without CAP_NET_RAW. Since 6.7.
    pub privileged_qkey: Option<bool>,
    /// Whether the kernel sends notifications. Since 6.12.
    pub monitor: Option<bool>,
    /// Whether memory a process registered survives its fork. Since 5.13.
    pub copy_on_fork: Option<bool>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl SystemInfo {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// None: every attribute is optional.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        let flag = |number| attributes.get_u8(number).map(|value| value != 0);
        Ok(Self {
            netns_mode: attributes.get_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE).map(NetnsMode::from),
            privileged_qkey: flag(RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE),
            monitor: flag(RDMA_NLDEV_SYS_ATTR_MONITOR_MODE),
            copy_on_fork: flag(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK),
            attributes,
        })
    }
}

/// A char device as `GET_CHARDEV` shows it (`nldev_get_chardev()`). The reply does not say whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CharDevice {
    /// Name below `/dev/infiniband` and in sysfs: `uverbs0`.
    pub name: String,
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
    /// ABI version; 0 if the kernel gave none.
    pub abi: u64,
    /// The driver's id; uverbs only, and not of every driver.
    pub driver_id: Option<DriverId>,
    /// Everything the kernel sent.
    pub attributes: Vec<NldevAttribute>,
}

impl CharDevice {
    /// The view of a reply's attributes.
    ///
    /// # Errors
    /// When name or device number is missing.
    pub fn from_attributes(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        let (major, minor) = device_number(require!(attributes.get_u64(RDMA_NLDEV_ATTR_CHARDEV)));
        Ok(Self {
            name: require!(attributes.get_string(RDMA_NLDEV_ATTR_CHARDEV_NAME)),
            major,
            minor,
            abi: attributes.get_u64(RDMA_NLDEV_ATTR_CHARDEV_ABI).unwrap_or(0),
            driver_id: attributes.get_u32(RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID).map(DriverId::from),
            attributes,
        })
    }
}

/// Major and minor of a number packed by `huge_encode_dev()` (`include/linux/kdev_t.h`): the minor's low byte,
/// twelve bits of major, twelve more bits of minor.
fn device_number(packed: u64) -> (u32, u32) {
    // The kernel packs into 32 bits; what is above them means nothing.
    let packed = (packed & 0xffff_ffff) as u32;
    ((packed >> 8) & 0xfff, (packed & 0xff) | ((packed >> 12) & 0xf_ff00))
}

#[cfg(test)]
mod tests {
    use super::device_number;

    #[test]
    fn device_number_is_unpacked() {
        assert_eq!(device_number(0xe7c0), (231, 192));
        assert_eq!(device_number(0x0120_e701), (231, 0x1201));
    }
}
