//! Pure: can a device be given to one network namespace, and how sure is that? From the driver's table by kernel
//! release, never by trying: on some kernels the try alone re-creates the device.

use crate::api::condition::reason;
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

/// How a fact is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Read in the source of this kernel series, or measured on it.
    Known,
    /// From a series before and one after, or of a vendor's build.
    Inferred,
    /// Not at all.
    Unknown,
}

impl Confidence {
    /// The word in RdmaNode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "Known",
            Self::Inferred => "Inferred",
            Self::Unknown => "Unknown",
        }
    }
}

/// A kernel series: 6.12 is (6, 12).
type Series = (u32, u32);

/// The series whose sources the table was read from.
const READ: [Series; 4] = [(6, 1), (6, 12), (7, 2), (7, 3)];

/// Drivers that can move: since which series of [`READ`], at the latest.
const MOVABLE: [(&str, Series); 9] = [
    ("irdma", (6, 1)),
    ("mlx4", (6, 1)),
    ("mlx5", (6, 1)),
    ("hns", (6, 1)),
    ("mana", (6, 12)),
    ("bnxt_re", (6, 12)),
    ("erdma", (6, 12)),
    ("ionic", (7, 3)),
    ("rxe", (7, 3)),
];

/// Drivers that cannot, in any series of [`READ`].
const FIXED: [&str; 9] = ["siw", "efa", "qedr", "cxgb4", "hfi1", "usnic", "vmw_pvrdma", "ocrdma", "mthca"];

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
        (Movable::Later((major, minor)), _) => (
            false,
            reason::KERNEL_TOO_OLD,
            format!("driver {driver} cannot change a device's namespace before Linux {major}.{minor}"),
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

#[derive(Debug, PartialEq, Eq)]
enum Movable {
    Yes,
    Later(Series),
    Never,
    Unknown,
}

fn movable(driver: &str, release: &str) -> (Movable, Confidence) {
    let Some(series) = series(release) else { return (Movable::Unknown, Confidence::Unknown) };
    let exact = if READ.contains(&series) { Confidence::Known } else { Confidence::Inferred };
    if FIXED.contains(&driver) {
        // A series newer than the newest read may have learnt it.
        return (Movable::Never, exact);
    }
    match MOVABLE.iter().find(|(name, _)| *name == driver) {
        None => (Movable::Unknown, Confidence::Unknown),
        Some((_, since)) if series >= *since => (Movable::Yes, exact),
        Some((_, since)) => (Movable::Later(*since), exact),
    }
}

/// `7.3.4+deb13-amd64` → (7, 3)
pub(super) fn series(release: &str) -> Option<Series> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rxe_differs_between_the_two_kernels_and_siw_does_not() {
        assert_eq!(movable("rxe", "7.3.4+deb13-amd64"), (Movable::Yes, Confidence::Known));
        assert_eq!(movable("rxe", "6.12.117+deb13-amd64"), (Movable::Later((7, 3)), Confidence::Known));
        assert_eq!(movable("siw", "7.3.4"), (Movable::Never, Confidence::Known));
        assert_eq!(movable("siw", "6.12.1"), (Movable::Never, Confidence::Known));
    }

    #[test]
    fn series_not_read_are_inferred_and_unknown_drivers_unknown() {
        assert_eq!(movable("mlx5", "6.8.0-1012"), (Movable::Yes, Confidence::Inferred));
        assert_eq!(movable("rxe", "7.4.0"), (Movable::Yes, Confidence::Inferred));
        assert_eq!(movable("nextgen", "7.3.4"), (Movable::Unknown, Confidence::Unknown));
        assert_eq!(movable("mlx5", "garbage"), (Movable::Unknown, Confidence::Unknown));
    }
}
