//! What all resources have in common.

use super::{Missing, require};
use crate::nl::packet::{AttributeList, NldevAttribute, NldevCommand, number::*};

/// One object of a resource list, or the reply about one object.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// Index of the device.
    pub device_index: u32,
    /// Name of the device.
    pub device_name: String,
    /// The object's attributes.
    pub attributes: Vec<NldevAttribute>,
}

/// A kind of object that can be listed and looked up.
pub trait Resource: Sized {
    /// Lists and looks up.
    const COMMAND: NldevCommand;
    /// Lists and looks up as the driver describes it, if it can.
    const RAW_COMMAND: Option<NldevCommand>;
    /// The attribute that holds a list.
    const TABLE: u16;
    /// The attribute that holds an object of the list.
    const ENTRY: u16;
    /// Whether looking one up needs its port; where it does not, a port is refused.
    const PER_PORT: bool;

    /// The attribute that holds this id.
    fn id(id: u32) -> NldevAttribute;

    /// The view of an object.
    ///
    /// # Errors
    /// When its id is missing.
    fn from_entry(entry: Entry) -> Result<Self, Missing>;
}

impl Entry {
    /// Of a reply about one object: everything is at the top.
    pub(in crate::nl) fn single(attributes: Vec<NldevAttribute>) -> Result<Self, Missing> {
        Ok(Self {
            device_index: require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX)),
            device_name: require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME)),
            attributes,
        })
    }

    /// Of a message of a list.
    pub(in crate::nl) fn list(
        attributes: Vec<NldevAttribute>,
        table: u16,
        entry: u16,
    ) -> Result<Vec<Self>, Missing> {
        let device_index = require!(attributes.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX));
        let device_name = require!(attributes.get_string(RDMA_NLDEV_ATTR_DEV_NAME));
        let entries = attributes
            .into_iter()
            .filter(|attribute| attribute.number() == table)
            .filter_map(|attribute| attribute.into_nested().ok())
            .flatten()
            .filter(|attribute| attribute.number() == entry)
            .filter_map(|attribute| attribute.into_nested().ok());
        Ok(entries
            .map(|attributes| Self { device_index, device_name: device_name.clone(), attributes })
            .collect())
    }
}

/// Who made an object (`fill_res_name_pid()`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner {
    /// A process, by its pid in the asking task's pid namespace.
    Process(u32),
    /// A module of the kernel.
    Kernel(String),
    /// A process that cannot be seen from here, or is gone.
    Unknown,
}

impl Owner {
    pub(super) fn of(attributes: &[NldevAttribute]) -> Self {
        if let Some(pid) = attributes.get_u32(RDMA_NLDEV_ATTR_RES_PID) {
            return Self::Process(pid);
        }
        attributes.get_string(RDMA_NLDEV_ATTR_RES_KERN_NAME).map_or(Self::Unknown, Self::Kernel)
    }

    /// The pid of a process that can be seen.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Self::Process(pid) => Some(*pid),
            Self::Kernel(_) | Self::Unknown => None,
        }
    }
}

/// A detail only the driver understands (`RDMA_NLDEV_ATTR_DRIVER`); sent when driver details are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DriverDetail {
    /// The driver's name for it.
    pub key: String,
    /// Whether the driver wants the number shown in hexadecimal.
    pub hex: bool,
    /// Its value.
    pub value: DriverValue,
}

/// Value of a [`DriverDetail`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DriverValue {
    /// Text.
    Text(String),
    /// A number; the kernel's types are widened.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
}

impl DriverDetail {
    /// Reads the flat run of key, optional print type and value.
    pub(super) fn of(attributes: &[NldevAttribute]) -> Vec<Self> {
        let mut details = Vec::new();
        let mut key: Option<String> = None;
        let mut hex = false;
        for attribute in attributes.get_nested(RDMA_NLDEV_ATTR_DRIVER).unwrap_or_default() {
            let value = match attribute {
                NldevAttribute::DriverPrintType(kind) => {
                    hex = *kind == 1;
                    continue;
                }
                NldevAttribute::DriverString(text) if key.is_none() => {
                    key = Some(text.clone());
                    continue;
                }
                NldevAttribute::DriverString(text) => DriverValue::Text(text.clone()),
                NldevAttribute::DriverU32(number) => DriverValue::Unsigned(u64::from(*number)),
                NldevAttribute::DriverU64(number) => DriverValue::Unsigned(*number),
                NldevAttribute::DriverS32(number) => DriverValue::Signed(i64::from(*number)),
                NldevAttribute::DriverS64(number) => DriverValue::Signed(*number),
                // Still in the raw list.
                _ => continue,
            };
            if let Some(key) = key.take() {
                details.push(Self { key, hex, value });
            }
            hex = false;
        }
        details
    }
}
