//! The one table of NLDEV commands.
//!
//! Source: `enum rdma_nldev_command` in `include/uapi/rdma/rdma_netlink.h` and `nldev_cb_table` in
//! `drivers/infiniband/core/nldev.c`, Linux 7.3.

use std::fmt;

macro_rules! commands {
    ($( $(#[$doc:meta])* $number:literal $variant:ident = $kernel:ident [$($flag:ident)*], )*) => {
        /// What a message of the NLDEV client asks for or answers: the low ten bits of `nlmsg_type`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum NldevCommand {
            $( $(#[$doc])* $variant, )*
            /// A command this table does not have, by number.
            Other(u16),
        }

        impl NldevCommand {
            /// Every command of the table, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// The kernel's number of the command.
            pub fn number(self) -> u16 {
                match self {
                    $( Self::$variant => $number, )*
                    Self::Other(number) => number,
                }
            }

            /// The kernel's name of the command; `None` for one the table does not have.
            pub fn kernel_name(self) -> Option<&'static str> {
                match self {
                    $( Self::$variant => Some(stringify!($kernel)), )*
                    Self::Other(_) => None,
                }
            }

            fn flags(self) -> &'static [Flag] {
                match self {
                    $( Self::$variant => &[$( Flag::$flag, )*], )*
                    Self::Other(_) => &[],
                }
            }
        }

        impl From<u16> for NldevCommand {
            fn from(number: u16) -> Self {
                match number {
                    $( $number => Self::$variant, )*
                    other => Self::Other(other),
                }
            }
        }
    };
}

/// How the kernel serves a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    /// One request, one object.
    Do,
    /// A list of objects.
    Dump,
    /// Needs CAP_NET_ADMIN in the initial user namespace.
    Admin,
}

commands! {
    /// Never sent.
    0 Unspec = RDMA_NLDEV_CMD_UNSPEC [],
    /// A device, or all of them.
    1 Get = RDMA_NLDEV_CMD_GET [Do Dump],
    /// Rename a device, move it to a network namespace, or set its adaptive moderation: one of them.
    2 Set = RDMA_NLDEV_CMD_SET [Do Admin],
    /// Make a soft link. Since 5.1.
    3 NewLink = RDMA_NLDEV_CMD_NEWLINK [Do Admin],
    /// Remove a soft link. Blocks while a process holds the device (siw; rxe before 7.3). Since 5.1.
    4 DelLink = RDMA_NLDEV_CMD_DELLINK [Do Admin],
    /// A port, or all of a device. A single port is answered as [`Get`](Self::Get).
    5 PortGet = RDMA_NLDEV_CMD_PORT_GET [Do Dump],
    /// Settings of the whole RDMA subsystem. Since 5.2.
    6 SysGet = RDMA_NLDEV_CMD_SYS_GET [Do],
    /// Change a setting of the whole RDMA subsystem. Since 5.2.
    7 SysSet = RDMA_NLDEV_CMD_SYS_SET [Do Admin],
    /// How many objects of each kind a device has.
    9 ResGet = RDMA_NLDEV_CMD_RES_GET [Do Dump],
    /// Queue pairs.
    10 ResQpGet = RDMA_NLDEV_CMD_RES_QP_GET [Do Dump],
    /// CM ids.
    11 ResCmIdGet = RDMA_NLDEV_CMD_RES_CM_ID_GET [Do Dump],
    /// Completion queues.
    12 ResCqGet = RDMA_NLDEV_CMD_RES_CQ_GET [Do Dump],
    /// Memory regions.
    13 ResMrGet = RDMA_NLDEV_CMD_RES_MR_GET [Do Dump],
    /// Protection domains.
    14 ResPdGet = RDMA_NLDEV_CMD_RES_PD_GET [Do Dump],
    /// A char device. Since 5.3.
    15 GetChardev = RDMA_NLDEV_CMD_GET_CHARDEV [Do],
    /// Bind QPs to counters, enable optional counters. Since 5.3.
    16 StatSet = RDMA_NLDEV_CMD_STAT_SET [Do Admin],
    /// Counters. Since 5.3.
    17 StatGet = RDMA_NLDEV_CMD_STAT_GET [Do Dump],
    /// Unbind a QP from a counter. Answered as [`StatSet`](Self::StatSet). Since 5.3.
    18 StatDel = RDMA_NLDEV_CMD_STAT_DEL [Do Admin],
    /// Queue pairs as the driver describes them. Since 5.9.
    19 ResQpGetRaw = RDMA_NLDEV_CMD_RES_QP_GET_RAW [Do Dump Admin],
    /// Completion queues as the driver describes them. Since 5.9.
    20 ResCqGetRaw = RDMA_NLDEV_CMD_RES_CQ_GET_RAW [Do Dump Admin],
    /// Memory regions as the driver describes them. Since 5.9.
    21 ResMrGetRaw = RDMA_NLDEV_CMD_RES_MR_GET_RAW [Do Dump Admin],
    /// User contexts. Since 5.13.
    22 ResCtxGet = RDMA_NLDEV_CMD_RES_CTX_GET [Do Dump],
    /// Shared receive queues. Since 5.13.
    23 ResSrqGet = RDMA_NLDEV_CMD_RES_SRQ_GET [Do Dump],
    /// Which counters a port has, and which of the optional ones are enabled. Since 5.16.
    24 StatGetStatus = RDMA_NLDEV_CMD_STAT_GET_STATUS [Do],
    /// Shared receive queues as the driver describes them. Since 6.7.
    25 ResSrqGetRaw = RDMA_NLDEV_CMD_RES_SRQ_GET_RAW [Do Dump Admin],
    /// Make a sub-device. Since 6.11.
    26 NewDev = RDMA_NLDEV_CMD_NEWDEV [Do Admin],
    /// Remove a sub-device. Since 6.11.
    27 DelDev = RDMA_NLDEV_CMD_DELDEV [Do Admin],
    /// A notification; never a request. Since 6.12.
    28 Monitor = RDMA_NLDEV_CMD_MONITOR [],
    /// Pools of fast registration memory regions. Since 7.1.
    29 FrmrPoolsGet = RDMA_NLDEV_CMD_FRMR_POOLS_GET [Dump],
    /// Set the aging of those pools, or pin handles. Since 7.1.
    30 FrmrPoolsSet = RDMA_NLDEV_CMD_FRMR_POOLS_SET [Do Admin],
}

impl NldevCommand {
    /// Whether the kernel answers it for one object.
    pub fn has_doit(self) -> bool {
        self.flags().contains(&Flag::Do)
    }

    /// Whether the kernel answers it with a list.
    pub fn has_dump(self) -> bool {
        self.flags().contains(&Flag::Dump)
    }

    /// Whether the sender needs CAP_NET_ADMIN in the initial user namespace.
    pub fn needs_admin(self) -> bool {
        self.flags().contains(&Flag::Admin)
    }
}

impl fmt::Display for NldevCommand {
    /// The kernel's name without its prefix (`PORT_GET`), or the number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kernel_name() {
            Some(name) => f.write_str(name.trim_start_matches("RDMA_NLDEV_CMD_")),
            None => write!(f, "NLDEV command {}", self.number()),
        }
    }
}
