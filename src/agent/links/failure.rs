//! Pure: why a soft link cannot be made or removed, from what the kernel says, as a reason and what to do.

use std::fmt;
use std::time::Duration;

use crate::api::LinkType;

/// Why a soft link is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure.
    pub reason: Reason,
    /// What happened and what to do.
    pub message: String,
    /// The kernel's error number.
    pub errno: Option<i32>,
}

/// The reasons of DESIGN's error table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The netdev is not there.
    NetdevNotFound,
    /// rxe cannot be made on a VLAN.
    VlanNotSupported,
    /// The netdev has a link of that type already.
    NetdevInUse,
    /// Another device has the name.
    NameConflict,
    /// The driver's module is neither loaded nor loadable.
    ModuleMissing,
    /// A capability is missing, or UDP port 4791 is taken.
    PermissionDenied,
    /// siw cannot be made on this netdev.
    NetdevNotSupported,
    /// The kernel cannot make links.
    KernelTooOld,
    /// The link is there; its port is down.
    PortDown,
    /// Something uses the link.
    InUse,
    /// Nothing that has a reason of its own.
    KernelError,
    /// The ownership file cannot be written.
    StateNotWritable,
    /// It has been asked for, and is not there yet.
    Creating,
}

impl Reason {
    /// CamelCase.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NetdevNotFound => "NetdevNotFound",
            Self::VlanNotSupported => "VlanNotSupported",
            Self::NetdevInUse => "NetdevInUse",
            Self::NameConflict => "NameConflict",
            Self::ModuleMissing => "ModuleMissing",
            Self::PermissionDenied => "PermissionDenied",
            Self::NetdevNotSupported => "NetdevNotSupported",
            Self::KernelTooOld => "KernelTooOld",
            Self::PortDown => "PortDown",
            Self::InUse => "InUse",
            Self::KernelError => "KernelError",
            Self::StateNotWritable => "StateNotWritable",
            Self::Creating => "Creating",
        }
    }

    /// How long to leave it before the next try, after `attempts` failed ones. A terminal reason ends when the
    /// spec or the netdev changes; it is looked at every five minutes all the same.
    #[must_use]
    pub fn retry_after(self, attempts: u32) -> Duration {
        match self {
            Self::VlanNotSupported | Self::NameConflict | Self::NetdevNotSupported | Self::KernelTooOld => {
                Duration::from_secs(300)
            }
            Self::ModuleMissing => Duration::from_secs(60),
            _ => Duration::from_secs(1 << attempts.min(6)),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known beside the errno.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// rxe or siw.
    pub link_type: LinkType,
    /// The device name asked for.
    pub device: &'a str,
    /// The netdev.
    pub netdev: &'a str,
    /// Kind of a virtual netdev: `vlan`, `bond`, …
    pub netdev_kind: Option<&'a str>,
    /// The driver's module is loaded or built in.
    pub module_loaded: bool,
    /// The kernel's own words, if it had any.
    pub kernel_text: Option<&'a str>,
}

const EPERM: i32 = 1;
const ENOMEM: i32 = 12;
const EEXIST: i32 = 17;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENFILE: i32 = 23;
const EOPNOTSUPP: i32 = 95;
const EPROTONOSUPPORT: i32 = 93;

/// The failure of a NEWLINK that the kernel answered with `errno`.
#[must_use]
pub fn of_add(errno: i32, attempt: Attempt<'_>) -> Failure {
    let Attempt { link_type, device, netdev, .. } = attempt;
    let kind = link_type.as_str();
    let (reason, message) = match errno {
        ENODEV => (Reason::NetdevNotFound, format!("netdev {netdev} is not there")),
        EPERM if link_type == LinkType::Rxe && attempt.netdev_kind == Some("vlan") => (
            Reason::VlanNotSupported,
            format!(
                "rxe cannot be made on VLAN {netdev}: make it on its parent, which gets the VLAN's GIDs too"
            ),
        ),
        EPERM => (
            Reason::PermissionDenied,
            format!(
                "the kernel refused {kind} on {netdev}: the agent needs CAP_NET_ADMIN in the host's user namespace{}",
                if link_type == LinkType::Rxe {
                    "; on Linux 7.2 and later, UDP port 4791 may be taken"
                } else {
                    ""
                }
            ),
        ),
        EEXIST => (Reason::NetdevInUse, format!("{netdev} has a {kind} link already")),
        ENFILE => (
            Reason::NameConflict,
            format!("another RDMA device is called {device}: choose another deviceName"),
        ),
        ENOMEM if link_type == LinkType::Siw => (
            Reason::NetdevNotSupported,
            format!("siw cannot be made on {netdev}, which has no parent device"),
        ),
        EINVAL if !attempt.module_loaded => (
            Reason::ModuleMissing,
            format!(
                "the kernel cannot load {}: install the package with the distribution's extra kernel modules (linux-modules-extra, kernel-modules-extra), or build with {}",
                module(link_type),
                if link_type == LinkType::Rxe { "CONFIG_RDMA_RXE" } else { "CONFIG_RDMA_SIW" }
            ),
        ),
        EINVAL if link_type == LinkType::Siw => {
            (Reason::NetdevNotSupported, format!("siw cannot be made on a netdev like {netdev}"))
        }
        EOPNOTSUPP | EPROTONOSUPPORT => {
            (Reason::KernelTooOld, "this kernel cannot make RDMA links (Linux 5.1 and later can)".to_owned())
        }
        _ => (Reason::KernelError, format!("the kernel refused {kind} {device} on {netdev}: errno {errno}")),
    };
    let message = match attempt.kernel_text {
        Some(text) if !text.is_empty() => format!("{message} (the kernel says: {text})"),
        _ => message,
    };
    Failure { reason, message, errno: Some(errno) }
}

/// The module of a link type.
#[must_use]
pub fn module(link_type: LinkType) -> &'static str {
    match link_type {
        LinkType::Rxe => "rdma_rxe",
        LinkType::Siw => "siw",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(link_type: LinkType) -> Attempt<'static> {
        Attempt {
            link_type,
            device: "soft0",
            netdev: "eth0",
            netdev_kind: None,
            module_loaded: true,
            kernel_text: None,
        }
    }

    #[test]
    fn each_errno_of_the_table_has_its_reason() {
        use LinkType::{Rxe, Siw};
        let vlan = Attempt { netdev_kind: Some("vlan"), ..attempt(Rxe) };
        let no_module = Attempt { module_loaded: false, ..attempt(Rxe) };
        let cases = [
            (ENODEV, attempt(Rxe), Reason::NetdevNotFound),
            (EPERM, vlan, Reason::VlanNotSupported),
            (EEXIST, attempt(Rxe), Reason::NetdevInUse),
            (ENFILE, attempt(Rxe), Reason::NameConflict),
            (EINVAL, no_module, Reason::ModuleMissing),
            (EINVAL, attempt(Rxe), Reason::KernelError),
            (EPERM, attempt(Rxe), Reason::PermissionDenied),
            (EPERM, Attempt { netdev_kind: Some("vlan"), ..attempt(Siw) }, Reason::PermissionDenied),
            (ENOMEM, attempt(Siw), Reason::NetdevNotSupported),
            (ENOMEM, attempt(Rxe), Reason::KernelError),
            (EOPNOTSUPP, attempt(Rxe), Reason::KernelTooOld),
            (5, attempt(Siw), Reason::KernelError),
        ];
        for (errno, attempt, reason) in cases {
            let failure = of_add(errno, attempt);
            assert_eq!(failure.reason, reason, "errno {errno} {attempt:?}");
            assert_eq!(failure.errno, Some(errno));
        }
    }

    #[test]
    fn b59_a_vlan_gets_the_hint_and_is_not_retried_soon() {
        let failure = of_add(EPERM, Attempt { netdev_kind: Some("vlan"), ..attempt(LinkType::Rxe) });
        assert!(failure.message.contains("parent"), "{}", failure.message);
        assert!(failure.reason.retry_after(0) >= Duration::from_secs(300));
    }

    #[test]
    fn b66_enomem_of_siw_is_not_said_to_be_about_memory() {
        let failure = of_add(ENOMEM, attempt(LinkType::Siw));
        assert!(!failure.message.contains("memory"), "{}", failure.message);
    }

    #[test]
    fn the_kernels_words_are_kept() {
        let said =
            Attempt { kernel_text: Some("Attribute failed policy validation"), ..attempt(LinkType::Rxe) };
        assert!(
            of_add(EINVAL, said).message.ends_with("(the kernel says: Attribute failed policy validation)")
        );
    }
}
