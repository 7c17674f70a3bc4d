//! All other requests.

use rdma_operator::nl::errno::{EBUSY, EEXIST, EINVAL, EOPNOTSUPP, EPERM};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand as C, RawAttribute};

use crate::links::{FAILED, LONGEST};
use crate::row::{Act, On, Op, Part, Row, Then};
use Act::{Exclusive, Hardware, Link, Nobody, OtherNetns};
use Part::{Dev, Is};
use Then::Devices;

/// Bad file descriptor.
const EBADF: i32 = 9;
const CANNOT: &str = "Device does not support namespace changes (no disassociate support)";
const SHARED: &str = "Cannot change net namespace of RDMA device in shared netns mode";

pub(crate) fn ask(command: C, parts: &[Part]) -> Op {
    Op::Ask(command, parts.to_vec())
}

pub(crate) fn list(command: C, parts: &[Part]) -> Op {
    Op::List(command, parts.to_vec())
}

/// DEV_INDEX of no device.
pub(crate) fn nobody() -> Part {
    Is(A::DevIndex(9999))
}

pub(crate) fn name(text: &str) -> Part {
    Is(A::DevName(text.into()))
}

pub(crate) fn chardev(kind: &str) -> Part {
    Is(A::ChardevType(kind.into()))
}

/// An attribute that no kernel knows.
pub(crate) fn unknown() -> Part {
    Is(RawAttribute::new(500, vec![0; 4]).into())
}

/// NET_NS_FD of no descriptor.
fn bad_netns() -> Part {
    Is(A::NetNsFd(u32::MAX))
}

pub(crate) fn rows() -> Vec<Row> {
    let rxe = &[Link("c0", "rxe", "nd0")];
    let siw = &[Link("c0", "siw", "nd0")];
    let both = &[Link("c0", "rxe", "nd0"), Link("c1", "rxe", "nd1")];
    let port = |number| Is(A::PortIndex(number));
    vec![
        // GET and PORT_GET
        Row::new("all devices of none", list(C::Get, &[]), 0),
        Row::new("a device", ask(C::Get, &[Dev("c0")]), 0).after(rxe),
        Row::new("no device", ask(C::Get, &[nobody()]), EINVAL),
        Row::new("a device without an index", ask(C::Get, &[]), EINVAL),
        Row::new("reading without the capability", list(C::Get, &[]), 0).after(&[Nobody]),
        Row::new("a port", ask(C::PortGet, &[Dev("c0"), port(1)]), 0).after(rxe),
        Row::new("port 0", ask(C::PortGet, &[Dev("c0"), port(0)]), EINVAL).after(rxe),
        Row::new("port 2 of one", ask(C::PortGet, &[Dev("c0"), port(2)]), EINVAL).after(rxe),
        Row::new("a port without a number", ask(C::PortGet, &[Dev("c0")]), EINVAL).after(rxe),
        Row::new("all ports", list(C::PortGet, &[Dev("c0")]), 0).after(rxe),
        Row::new("all ports of no device", list(C::PortGet, &[nobody()]), EINVAL),
        // SET
        Row::new("rename", ask(C::Set, &[Dev("c0"), name("c9")]), 0)
            .on(&[On::V7_3])
            .after(rxe)
            .then(&[Devices(&["c9"])])
            .events(&["rename c9"]),
        Row::new("rename", ask(C::Set, &[Dev("c0"), name("c9")]), 0)
            .on(&[On::V6_12])
            .after(rxe)
            .then(&[Devices(&["c9"])])
            .events(&[]),
        Row::new("rename to the same", ask(C::Set, &[Dev("c0"), name("c0")]), 0)
            .after(rxe)
            .then(&[Devices(&["c0"])]),
        Row::new("rename to a taken name", ask(C::Set, &[Dev("c0"), name("c1")]), EEXIST)
            .after(both)
            .then(&[Devices(&["c0", "c1"])]),
        Row::new("rename no device", ask(C::Set, &[nobody(), name("c9")]), EINVAL),
        Row::new("rename without the capability", ask(C::Set, &[Dev("c0"), name("c9")]), EPERM)
            .after(&[rxe[0], Nobody]),
        Row::new("set nothing", ask(C::Set, &[Dev("c0")]), 0).after(rxe),
        Row::new("moderation on", ask(C::Set, &[Dev("c0"), Is(A::DevDim(1))]), 0).after(rxe),
        Row::new("move in shared mode", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
            .after(&[OtherNetns, rxe[0]]),
        Row::new("move rxe in exclusive mode", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
            .on(&[On::V6_12])
            .after(&[Exclusive, OtherNetns, rxe[0]]),
        Row::new("move rxe in exclusive mode", ask(C::Set, &[Dev("c0"), Part::Netns]), 0)
            .on(&[On::V7_3])
            .after(&[Exclusive, OtherNetns, rxe[0]])
            .then(&[Devices(&[])]),
        Row::new("move siw in exclusive mode", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
            .after(&[Exclusive, OtherNetns, siw[0]]),
        Row::new("rename to nothing", ask(C::Set, &[Dev("c0"), name("")]), EINVAL)
            .after(rxe)
            .then(&[Devices(&["c0"])]),
        Row::new("rename to 64 bytes", ask(C::Set, &[Dev("c0"), name(&"c".repeat(64))]), 0)
            .after(rxe)
            .then(&[Devices(&[LONGEST])]),
        Row::new("rename to 65 bytes", ask(C::Set, &[Dev("c0"), name(&"c".repeat(65))]), EINVAL)
            .after(rxe)
            .then(&[Devices(&["c0"])])
            .says(FAILED),
        Row::new("moderation of no meaning", ask(C::Set, &[Dev("c0"), Is(A::DevDim(2))]), EINVAL).after(rxe),
        Row::new("set with an unknown attribute", ask(C::Set, &[Dev("c0"), unknown()]), EINVAL)
            .after(rxe)
            .says("Unknown attribute type"),
        Row::new(
            "set with an attribute that is only sent",
            ask(C::Set, &[Dev("c0"), Is(A::CapFlags(0))]),
            EINVAL,
        )
        .after(rxe)
        .says("Unsupported attribute"),
        Row::new(
            "set with a firmware version",
            ask(C::Set, &[Dev("c0"), Is(A::FwVersion("1.2".into()))]),
            EINVAL,
        )
        .after(rxe)
        .says(FAILED),
        Row::new(
            "set with a number of eight bytes",
            ask(C::Set, &[Dev("c0"), Is(RawAttribute::new(84, vec![1; 8]).into())]),
            EINVAL,
        )
        .after(rxe)
        .says("invalid attribute length"),
        Row::new("get with an unknown attribute", ask(C::Get, &[Dev("c0"), unknown()]), 0).after(rxe).data(1),
        Row::new("settings with an unknown attribute", ask(C::SysGet, &[unknown()]), 0).data(1),
        Row::new("why there is no move in shared mode", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
            .on(&[On::V7_3])
            .after(&[OtherNetns, siw[0]])
            .says(SHARED),
        Row::new("why siw does not move", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
            .on(&[On::V7_3])
            .after(&[Exclusive, OtherNetns, siw[0]])
            .says(CANNOT),
        Row::new("move hardware", ask(C::Set, &[Dev("fake0"), Part::Netns]), 0)
            .after(&[Exclusive, OtherNetns, Hardware])
            .then(&[Devices(&[])])
            .events(&[]),
        Row::new("move by a bad descriptor", ask(C::Set, &[Dev("c0"), bad_netns()]), EBADF)
            .on(&[On::V6_12])
            .after(rxe),
        Row::new("move by a bad descriptor", ask(C::Set, &[Dev("c0"), bad_netns()]), EBADF)
            .on(&[On::V7_3])
            .after(rxe)
            .says("Invalid target net namespace fd"),
        Row::new("move and rename in shared mode", ask(C::Set, &[Dev("c0"), Part::Netns, name("c9")]), 0)
            .on(&[On::V6_12])
            .after(&[OtherNetns, rxe[0]])
            .then(&[Devices(&["c9"])]),
        Row::new(
            "move and rename in shared mode",
            ask(C::Set, &[Dev("c0"), Part::Netns, name("c9")]),
            EOPNOTSUPP,
        )
        .on(&[On::V7_3])
        .after(&[OtherNetns, rxe[0]])
        .then(&[Devices(&["c0"])])
        .says(SHARED),
        Row::new("move and rename rxe", ask(C::Set, &[Dev("c0"), Part::Netns, name("c9")]), 0)
            .on(&[On::V6_12])
            .after(&[Exclusive, OtherNetns, rxe[0]])
            .then(&[Devices(&["c9"])]),
        Row::new("move and rename rxe", ask(C::Set, &[Dev("c0"), Part::Netns, name("c9")]), 0)
            .on(&[On::V7_3])
            .after(&[Exclusive, OtherNetns, rxe[0]])
            .then(&[Devices(&[])]),
        Row::new("move and rename to nothing", ask(C::Set, &[Dev("c0"), Part::Netns, name("")]), EINVAL)
            .after(&[Exclusive, OtherNetns, rxe[0]])
            .then(&[Devices(&["c0"])]),
        // SYS_GET and SYS_SET
        Row::new("settings", ask(C::SysGet, &[]), 0),
        Row::new("the mode as it is", ask(C::SysSet, &[Is(A::SysNetnsMode(1))]), 0).after(&[OtherNetns]),
        Row::new("another mode beside a namespace", ask(C::SysSet, &[Is(A::SysNetnsMode(0))]), EBUSY)
            .after(&[OtherNetns]),
        Row::new("another mode", ask(C::SysSet, &[Is(A::SysNetnsMode(0))]), 0),
        Row::new("a mode of no meaning", ask(C::SysSet, &[Is(A::SysNetnsMode(2))]), EINVAL),
        Row::new("no setting", ask(C::SysSet, &[]), EINVAL),
        Row::new("a Q_Key mode of no meaning", ask(C::SysSet, &[Is(A::SysPrivilegedQkeyMode(2))]), EINVAL),
        // GET_CHARDEV
        Row::new("verbs node", ask(C::GetChardev, &[chardev("uverbs"), Dev("c0")]), 0).after(rxe),
        Row::new(
            "verbs node of a port",
            ask(C::GetChardev, &[chardev("uverbs"), Dev("c0"), port(1)]),
            EINVAL,
        )
        .after(rxe),
        Row::new("verbs node of no device", ask(C::GetChardev, &[chardev("uverbs"), nobody()]), EINVAL),
        Row::new("MAD node without a port", ask(C::GetChardev, &[chardev("umad"), Dev("c0")]), EINVAL)
            .after(rxe),
        Row::new("MAD node of siw", ask(C::GetChardev, &[chardev("umad"), Dev("c0"), port(1)]), EOPNOTSUPP)
            .after(siw),
        Row::new(
            "subnet manager's node",
            ask(C::GetChardev, &[chardev("issm"), Dev("c0"), port(1)]),
            EOPNOTSUPP,
        )
        .after(rxe),
        Row::new("rdma_cm of a device", ask(C::GetChardev, &[chardev("rdma_cm"), Dev("c0")]), EOPNOTSUPP)
            .after(rxe),
        Row::new("rdma_cm", ask(C::GetChardev, &[chardev("rdma_cm")]), 0).data(1),
        Row::new("verbs node without a device", ask(C::GetChardev, &[chardev("uverbs")]), EOPNOTSUPP),
        Row::new("MAD node", ask(C::GetChardev, &[chardev("umad"), Dev("c0"), port(1)]), 0)
            .after(rxe)
            .data(1),
        Row::new("MAD node of port 2", ask(C::GetChardev, &[chardev("umad"), Dev("c0"), port(2)]), EINVAL)
            .after(rxe),
        Row::new(
            "MAD node of siw without a port",
            ask(C::GetChardev, &[chardev("umad"), Dev("c0")]),
            EOPNOTSUPP,
        )
        .after(siw),
        Row::new("MAD node without a device", ask(C::GetChardev, &[chardev("umad")]), EOPNOTSUPP),
        Row::new("MAD node of no device", ask(C::GetChardev, &[chardev("umad"), nobody(), port(1)]), EINVAL),
        Row::new(
            "a node of a port without a device",
            ask(C::GetChardev, &[chardev("umad"), port(1)]),
            EINVAL,
        ),
        Row::new("a node of a type of 33 bytes", ask(C::GetChardev, &[chardev(&"u".repeat(33))]), EINVAL),
        Row::new("a node of no meaning", ask(C::GetChardev, &[chardev("nosuch")]), EOPNOTSUPP),
        Row::new("a node without a type", ask(C::GetChardev, &[Dev("c0")]), EINVAL).after(rxe),
        // sub-devices and pools
        Row::new(
            "a sub-device of rxe",
            ask(C::NewDev, &[Dev("c0"), name("s0"), Is(A::DevType(1))]),
            EOPNOTSUPP,
        )
        .after(rxe),
        Row::new(
            "a sub-device of no device",
            ask(C::NewDev, &[nobody(), name("s0"), Is(A::DevType(1))]),
            EINVAL,
        ),
        Row::new(
            "a sub-device of hardware",
            ask(C::NewDev, &[Dev("fake0"), name("s0"), Is(A::DevType(1))]),
            0,
        )
        .after(&[Hardware])
        .then(&[Devices(&["fake0", "s0"])]),
        Row::new(
            "a sub-device of 15 bytes and more",
            ask(C::NewDev, &[Dev("fake0"), name("sssssssssssssssss"), Is(A::DevType(1))]),
            0,
        )
        .after(&[Hardware])
        .then(&[Devices(&["fake0", "sssssssssssssss"])]),
        Row::new("a sub-device without a type", ask(C::NewDev, &[Dev("fake0"), name("s0")]), EINVAL)
            .after(&[Hardware]),
        Row::new("delete hardware as a sub-device", ask(C::DelDev, &[Dev("fake0")]), EOPNOTSUPP)
            .after(&[Hardware]),
        Row::new("delete a sub-device that is none", ask(C::DelDev, &[Dev("c0")]), EOPNOTSUPP).after(rxe),
        Row::new("pools of a kernel without", list(C::FrmrPoolsGet, &[Dev("c0")]), EINVAL)
            .on(&[On::V6_12])
            .after(rxe),
        Row::new("pools", list(C::FrmrPoolsGet, &[Dev("c0")]), 0).on(&[On::V7_3]).after(rxe).data(0),
        Row::new("pools set to nothing", ask(C::FrmrPoolsSet, &[Dev("c0")]), 0).on(&[On::V7_3]).after(rxe),
        Row::new(
            "aging of pools that are not there",
            ask(C::FrmrPoolsSet, &[Dev("c0"), Is(A::FrmrPoolsAgingPeriod(60))]),
            EINVAL,
        )
        .on(&[On::V7_3])
        .after(rxe),
        Row::new("one pool", ask(C::FrmrPoolsGet, &[Dev("c0")]), EINVAL).after(rxe),
        // what is no request
        Row::new("a notification as a request", ask(C::Monitor, &[]), EINVAL),
        Row::new("a command of no number", ask(C::Other(99), &[]), EINVAL),
        Row::new("a change as a list", list(C::NewLink, &[name("c0")]), EINVAL),
        Row::new("a change as a list without the capability", list(C::NewLink, &[name("c0")]), EPERM)
            .after(&[Nobody]),
        Row::new("raw queue pairs without the capability", list(C::ResQpGetRaw, &[Dev("c0")]), EPERM)
            .after(&[rxe[0], Nobody]),
        Row::new("a notification as a request without the capability", ask(C::Monitor, &[]), EINVAL)
            .after(&[Nobody]),
        Row::new("settings as a list without the capability", list(C::SysGet, &[]), EINVAL).after(&[Nobody]),
        Row::new("settings as a list", list(C::SysGet, &[]), EINVAL),
    ]
}
