//! Numbers of resources that have names.

use std::fmt;

use super::enums::kernel_enum;

kernel_enum! {
    /// `enum ib_qp_type` (`include/rdma/ib_verbs.h`).
    QpType(u8), else "UNKNOWN" {
        /// Subnet management (QP 0).
        Smi = 0 "SMI",
        /// General services (QP 1).
        Gsi = 1 "GSI",
        /// Reliable connected.
        Rc = 2 "RC",
        /// Unreliable connected.
        Uc = 3 "UC",
        /// Unreliable datagram.
        Ud = 4 "UD",
        /// Raw IPv6.
        RawIpv6 = 5 "RAW_IPV6",
        /// Raw Ethertype.
        RawEthertype = 6 "RAW_ETHERTYPE",
        /// Raw packets.
        RawPacket = 8 "RAW_PACKET",
        /// Extended reliable connected, initiator.
        XrcIni = 9 "XRC_INI",
        /// Extended reliable connected, target.
        XrcTgt = 10 "XRC_TGT",
        /// The driver's own kind.
        Driver = 0xff "DRIVER",
    }
}

kernel_enum! {
    /// `enum ib_qp_state` (`include/rdma/ib_verbs.h`).
    QpState(u8), else "UNKNOWN" {
        /// Just made.
        Reset = 0 "RESET",
        /// Initialised.
        Init = 1 "INIT",
        /// Ready to receive.
        Rtr = 2 "RTR",
        /// Ready to send.
        Rts = 3 "RTS",
        /// Send queue drained.
        Sqd = 4 "SQD",
        /// Send queue error.
        Sqe = 5 "SQE",
        /// Error.
        Err = 6 "ERR",
    }
}

kernel_enum! {
    /// `enum ib_mig_state` (`include/rdma/ib_verbs.h`).
    PathMigState(u8), else "UNKNOWN" {
        /// On the path it is meant to be on.
        Migrated = 0 "MIGRATED",
        /// Re-armed.
        Rearm = 1 "REARM",
        /// Armed.
        Armed = 2 "ARMED",
    }
}

kernel_enum! {
    /// `enum ib_srq_type` (`include/uapi/rdma/ib_user_verbs.h`).
    SrqType(u8), else "UNKNOWN" {
        /// Basic.
        Basic = 0 "BASIC",
        /// Extended reliable connected.
        Xrc = 1 "XRC",
        /// Tag matching.
        Tm = 2 "TM",
    }
}

kernel_enum! {
    /// `enum ib_poll_context` (`include/rdma/ib_verbs.h`). rdma(8) up to 7.3 shows each as the one before it.
    PollContext(u8), else "UNKNOWN" {
        /// By softirq.
        Softirq = 0 "SOFTIRQ",
        /// By workqueue.
        Workqueue = 1 "WORKQUEUE",
        /// By unbound workqueue.
        UnboundWorkqueue = 2 "UNBOUND_WORKQUEUE",
        /// By its owner.
        Direct = 3 "DIRECT",
    }
}

kernel_enum! {
    /// `enum rdma_cm_state` (`drivers/infiniband/core/cma_priv.h`).
    CmState(u8), else "UNKNOWN" {
        /// Idle.
        Idle = 0 "IDLE",
        /// Resolving the address.
        AddrQuery = 1 "ADDR_QUERY",
        /// Address resolved.
        AddrResolved = 2 "ADDR_RESOLVED",
        /// Resolving the route.
        RouteQuery = 3 "ROUTE_QUERY",
        /// Route resolved.
        RouteResolved = 4 "ROUTE_RESOLVED",
        /// Connecting or connected.
        Connect = 5 "CONNECT",
        /// Disconnected.
        Disconnect = 6 "DISCONNECT",
        /// Bound.
        AddrBound = 7 "ADDR_BOUND",
        /// Listening.
        Listen = 8 "LISTEN",
        /// The device is going away.
        DeviceRemoval = 9 "DEVICE_REMOVAL",
        /// Going away itself.
        Destroying = 10 "DESTROYING",
        /// Asking for address information. Since 7.x.
        AddrinfoQuery = 11 "ADDRINFO_QUERY",
        /// Address information is there. Since 7.x.
        AddrinfoResolved = 12 "ADDRINFO_RESOLVED",
    }
}

kernel_enum! {
    /// `enum rdma_ucm_port_space` (`include/uapi/rdma/rdma_user_cm.h`). rdma(8) shows `IB` as `IPoIB`.
    PortSpace(u32), else "UNKNOWN" {
        /// IP over InfiniBand.
        Ipoib = 0x0002 "IPoIB",
        /// InfiniBand.
        Ib = 0x013f "IB",
        /// Reliable connections.
        Tcp = 0x0106 "TCP",
        /// Datagrams.
        Udp = 0x0111 "UDP",
    }
}

kernel_enum! {
    /// `enum rdma_nl_counter_mode` (`include/uapi/rdma/rdma_netlink.h`): how QPs are bound to counters.
    CounterMode(u32), else "unknown" {
        /// Not at all.
        None = 0 "none",
        /// By the kernel, by what QPs have in common.
        Auto = 1 "auto",
        /// By hand.
        Manual = 2 "manual",
    }
}
