//! Pure: can a device be given to one network namespace, why not, and how sure is that?

use crate::api::condition::reason;
use crate::inventory::movable::{Confidence, Movable, movable};
use crate::inventory::{Device, NetnsMode, System};

/// The answer for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// It can be moved into a namespace of its own, in the node's present mode.
    pub isolated: bool,
    /// CamelCase reason.
    pub reason: &'static str,
    /// What a pod sees and what it can open.
    pub message: String,
    /// How this is known.
    pub confidence: Confidence,
}

/// Judges one device on one kernel.
#[must_use]
pub fn isolation(system: &System, device: &Device) -> Isolation {
    let (movable, confidence) = movable(&device.driver.name, &system.kernel);
    let driver = &device.driver.name;
    let sees = match system.netns_mode {
        NetnsMode::Shared => "every pod sees it in sysfs and can open only what it was given",
        NetnsMode::Exclusive => "only the host's namespace sees it and can open it",
        NetnsMode::Unknown => "whether other pods see it is not known",
    };
    let (isolated, reason, why) = match (movable, system.netns_mode) {
        (Movable::Unknown, _) => (
            false,
            reason::DRIVER_UNKNOWN,
            format!("whether driver {driver} can change namespaces is not known"),
        ),
        (Movable::Never, _) => {
            (false, reason::DRIVER_CANNOT_MOVE, format!("driver {driver} cannot change a device's namespace"))
        }
        (Movable::Later(since), _) => (
            false,
            reason::KERNEL_TOO_OLD,
            format!("driver {driver} cannot change a device's namespace before Linux {since}"),
        ),
        (Movable::Yes, NetnsMode::Shared) => (
            false,
            reason::SHARED_MODE,
            "the driver can, but the node is in shared mode (ib_core netns_mode=0 at boot changes that)"
                .to_owned(),
        ),
        (Movable::Yes, NetnsMode::Unknown) => {
            (false, reason::NETNS_UNKNOWN, "the kernel does not tell its namespace mode".to_owned())
        }
        (Movable::Yes, NetnsMode::Exclusive) => {
            (true, reason::MOVABLE, "rdma-cni can move it into a pod's namespace".to_owned())
        }
    };
    Isolation { isolated, reason, message: format!("{why}; {sees}"), confidence }
}
