//! Typed views of replies.
//!
//! A view has the fields a reader wants and, in `attributes`, everything the kernel sent, in order: nothing a newer
//! kernel adds is lost. A field is optional where some kernel or driver leaves it out.

mod counter;
mod device;
mod entry;
mod enums;
mod frmr;
mod guid;
mod memory;
mod port;
mod queue_pair;
mod resource_enums;
mod summary;
mod system;
#[cfg(test)]
mod tests;

pub use counter::{
    AutoCriteria, CounterStatus, HwCounter, MrCounters, PortCounterStatus, PortCounters, QpCounter,
    QpCounterMode,
};
pub use device::Device;
pub use entry::{DriverDetail, DriverValue, Entry, Owner, Resource};
pub use enums::{DeviceType, DriverId, EventType, NameAssignType, NetnsMode, NodeType, PhysState, PortState};
pub use frmr::{FrmrPool, FrmrPoolKey};
pub use guid::{Guid, ParseGuidError};
pub use memory::{CompletionQueue, MemoryRegion, ProtectionDomain, RawResource, UserContext};
pub use port::Port;
pub use queue_pair::{CmAddress, CmId, QueuePair, SharedReceiveQueue};
pub use resource_enums::{
    CmState, CounterMode, PathMigState, PollContext, PortSpace, QpState, QpType, SrqType,
};
pub use summary::{ResourceSummary, SummaryEntry};
pub use system::{CharDevice, SystemInfo};

/// A reply lacks an attribute that its view cannot do without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{attribute} is missing")]
#[non_exhaustive]
pub struct Missing {
    /// The kernel's name of the attribute.
    pub attribute: &'static str,
}

/// `list.get_xyz(NUMBER)` or a [`Missing`] that names it.
macro_rules! require {
    ($list:ident . $get:ident($number:ident)) => {
        $list.$get($number).ok_or($crate::nl::view::Missing { attribute: stringify!($number) })?
    };
}

use require;
