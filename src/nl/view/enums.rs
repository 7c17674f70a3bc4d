//! Numbers of the kernel that have names. A number without one is kept.

use std::fmt;

/// An enum over a number of the kernel, with the texts rdma(8) prints.
macro_rules! kernel_enum {
    (
        $(#[$doc:meta])*
        $name:ident($number:ty), else $unknown:literal {
            $( $(#[$vdoc:meta])* $variant:ident = $value:literal $text:literal, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$vdoc])* $variant, )*
            /// A number this library has no name for.
            Other($number),
        }

        impl $name {
            /// The kernel's number.
            pub fn number(self) -> $number {
                match self {
                    $( Self::$variant => $value, )*
                    Self::Other(number) => number,
                }
            }

            /// The text rdma(8) prints.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $text, )*
                    Self::Other(_) => $unknown,
                }
            }
        }

        impl From<$number> for $name {
            fn from(number: $number) -> Self {
                match number {
                    $( $value => Self::$variant, )*
                    other => Self::Other(other),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

pub(super) use kernel_enum;

kernel_enum! {
    /// `RDMA_NODE_*` (`include/rdma/ib_verbs.h`): what kind of node a device is.
    NodeType(u8), else "unknown" {
        /// Channel adapter: InfiniBand and RoCE, also rxe.
        Ca = 1 "ca",
        /// InfiniBand switch.
        Switch = 2 "switch",
        /// InfiniBand router.
        Router = 3 "router",
        /// iWARP adapter, also siw.
        Rnic = 4 "rnic",
        /// Cisco usNIC.
        Usnic = 5 "usnic",
        /// Cisco usNIC over UDP.
        UsnicUdp = 6 "usnic_udp",
        /// Neither, such as EFA.
        Unspecified = 7 "unspecified",
    }
}

impl NodeType {
    /// The text of `/sys/class/infiniband/DEV/node_type` after the number.
    pub fn sysfs_name(self) -> &'static str {
        match self {
            Self::Ca => "CA",
            Self::Switch => "switch",
            Self::Router => "router",
            Self::Rnic => "RNIC",
            Self::Usnic => "usNIC",
            Self::UsnicUdp => "usNIC UDP",
            Self::Unspecified => "unspecified",
            Self::Other(_) => "<unknown>",
        }
    }
}

kernel_enum! {
    /// `enum ib_port_state` (`include/rdma/ib_verbs.h`).
    PortState(u8), else "UNKNOWN" {
        /// No change; never the state of a port.
        Nop = 0 "NOP",
        /// Down.
        Down = 1 "DOWN",
        /// Link up, not yet configured by the subnet manager.
        Init = 2 "INIT",
        /// Configured, not yet active.
        Armed = 3 "ARMED",
        /// Traffic flows.
        Active = 4 "ACTIVE",
        /// Active, but the link is in recovery.
        ActiveDefer = 5 "ACTIVE_DEFER",
    }
}

kernel_enum! {
    /// `enum ib_port_phys_state` (`include/rdma/ib_verbs.h`).
    PhysState(u8), else "UNKNOWN" {
        /// No change; never the state of a port.
        Nop = 0 "NOP",
        /// Asleep.
        Sleep = 1 "SLEEP",
        /// Looking for a peer.
        Polling = 2 "POLLING",
        /// Disabled.
        Disabled = 3 "DISABLED",
        /// Configuration training, which rdma(8) calls ARMED.
        Training = 4 "ARMED",
        /// Up.
        LinkUp = 5 "LINK_UP",
        /// Recovering from errors.
        LinkErrorRecovery = 6 "LINK_ERROR_RECOVER",
        /// Under test.
        PhyTest = 7 "PHY_TEST",
        /// Omni-Path: offline.
        OpaOffline = 9 "OPA_OFFLINE",
        /// Omni-Path: under test.
        OpaTest = 11 "OPA_TEST",
    }
}

impl PhysState {
    /// The text of `ports/N/phys_state` in sysfs after the number.
    pub fn sysfs_name(self) -> &'static str {
        match self {
            Self::Sleep => "Sleep",
            Self::Polling => "Polling",
            Self::Disabled => "Disabled",
            Self::Training => "PortConfigurationTraining",
            Self::LinkUp => "LinkUp",
            Self::LinkErrorRecovery => "LinkErrorRecovery",
            Self::PhyTest => "Phy Test",
            Self::Nop | Self::OpaOffline | Self::OpaTest | Self::Other(_) => "<unknown>",
        }
    }
}

kernel_enum! {
    /// `RDMA_NLDEV_SYS_ATTR_NETNS_MODE` (`include/uapi/rdma/rdma_netlink.h`): which network namespaces see a device.
    NetnsMode(u8), else "unknown" {
        /// Only the one the device is in.
        Exclusive = 0 "exclusive",
        /// All.
        Shared = 1 "shared",
    }
}

kernel_enum! {
    /// `enum rdma_nl_dev_type` (`include/uapi/rdma/rdma_netlink.h`): kind of a sub-device.
    DeviceType(u8), else "unknown" {
        /// Subnet management interface of a multi-plane device.
        Smi = 1 "smi",
    }
}

kernel_enum! {
    /// `enum rdma_nl_name_assign_type` (`include/uapi/rdma/rdma_netlink.h`): who named a device.
    NameAssignType(u8), else "unknown" {
        /// Not known, most often the kernel.
        Unknown = 0 "unknown",
        /// A user: soft links and sub-devices. udev leaves such names alone.
        User = 1 "user",
    }
}

kernel_enum! {
    /// `enum rdma_driver_id` (`include/uapi/rdma/ib_user_ioctl_verbs.h`).
    DriverId(u32), else "unknown" {
        /// No driver id.
        Unknown = 0 "unknown",
        /// NVIDIA ConnectX-4 and later.
        Mlx5 = 1 "mlx5",
        /// NVIDIA ConnectX-3.
        Mlx4 = 2 "mlx4",
        /// Chelsio T3.
        Cxgb3 = 3 "cxgb3",
        /// Chelsio T4 and later.
        Cxgb4 = 4 "cxgb4",
        /// Mellanox InfiniHost.
        Mthca = 5 "mthca",
        /// Broadcom NetXtreme-E.
        BnxtRe = 6 "bnxt_re",
        /// Emulex OneConnect.
        Ocrdma = 7 "ocrdma",
        /// NetEffect.
        Nes = 8 "nes",
        /// Intel E800 and X722.
        Irdma = 9 "irdma",
        /// VMware paravirtual.
        VmwPvrdma = 10 "vmw_pvrdma",
        /// Marvell FastLinQ.
        Qedr = 11 "qedr",
        /// HiSilicon.
        Hns = 12 "hns",
        /// Cisco.
        Usnic = 13 "usnic",
        /// Soft RoCE.
        Rxe = 14 "rxe",
        /// Omni-Path.
        Hfi1 = 15 "hfi1",
        /// QLogic InfiniBand.
        Qib = 16 "qib",
        /// AWS Elastic Fabric Adapter.
        Efa = 17 "efa",
        /// Soft iWARP.
        Siw = 18 "siw",
        /// Alibaba.
        Erdma = 19 "erdma",
        /// Microsoft Azure.
        Mana = 20 "mana",
        /// AMD Pensando.
        Ionic = 21 "ionic",
    }
}

kernel_enum! {
    /// `enum rdma_nl_notify_event_type`: what a notification is about.
    EventType(u8), else "UNKNOWN" {
        /// A device has been registered.
        Register = 0 "REGISTER",
        /// A device is gone.
        Unregister = 1 "UNREGISTER",
        /// A port got a network device.
        NetdevAttach = 2 "NETDEV_ATTACH",
        /// A port lost its network device.
        NetdevDetach = 3 "NETDEV_DETACH",
        /// A device has a new name (since 6.13).
        Rename = 4 "RENAME",
        /// A network device of some port has a new name (since 6.13).
        NetdevRename = 5 "NETDEV_RENAME",
    }
}
