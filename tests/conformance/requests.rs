//! All other requests.

use rdma_operator::nl::errno::{EBUSY, EEXIST, EINVAL, ENOENT, EOPNOTSUPP, EPERM};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand as C, number};

use crate::row::{Act, On, Op, Part, Row, Then};
use Act::{Exclusive, Link, Nobody, OtherNetns};
use Part::{Dev, Is};
use Then::Devices;

const QP: u32 = number::RDMA_NLDEV_ATTR_RES_QP as u32;

fn ask(command: C, parts: &[Part]) -> Op {
    Op::Ask(command, parts.to_vec())
}

fn list(command: C, parts: &[Part]) -> Op {
    Op::List(command, parts.to_vec())
}

/// DEV_INDEX of no device.
fn nobody() -> Part {
    Is(A::DevIndex(9999))
}

fn name(text: &str) -> Part {
    Is(A::DevName(text.into()))
}

fn chardev(kind: &str) -> Part {
    Is(A::ChardevType(kind.into()))
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
        Row::new("a node of no meaning", ask(C::GetChardev, &[chardev("nosuch")]), EOPNOTSUPP),
        Row::new("a node without a type", ask(C::GetChardev, &[Dev("c0")]), EINVAL).after(rxe),
        // resources
        Row::new("counts of all", list(C::ResGet, &[]), 0).after(rxe),
        Row::new("counts of no device", ask(C::ResGet, &[nobody()]), EINVAL),
        Row::new("queue pairs", list(C::ResQpGet, &[Dev("c0")]), 0).after(rxe),
        Row::new("queue pairs of no device", list(C::ResQpGet, &[nobody()]), EINVAL),
        Row::new("no such memory region", ask(C::ResMrGet, &[Dev("c0"), Is(A::ResMrn(9999))]), ENOENT)
            .after(rxe),
        Row::new("no such domain", ask(C::ResPdGet, &[Dev("c0"), Is(A::ResPdn(9999))]), ENOENT).after(rxe),
        Row::new("no such context", ask(C::ResCtxGet, &[Dev("c0"), Is(A::ResCtxn(9999))]), ENOENT).after(rxe),
        Row::new("a memory region without its id", ask(C::ResMrGet, &[Dev("c0")]), EINVAL).after(rxe),
        // counters
        Row::new("counters of rxe", ask(C::StatGet, &[Dev("c0"), port(1)]), 0).after(rxe),
        Row::new("counters of siw", ask(C::StatGet, &[Dev("c0"), port(1)]), EINVAL).after(siw),
        Row::new("counters of port 2", ask(C::StatGet, &[Dev("c0"), port(2)]), EINVAL).after(rxe),
        Row::new("counters as a list of nothing", list(C::StatGet, &[Dev("c0")]), EINVAL).after(rxe),
        Row::new("which counters rxe has", ask(C::StatGetStatus, &[Dev("c0"), port(1)]), 0).after(rxe),
        Row::new("which counters siw has", ask(C::StatGetStatus, &[Dev("c0"), port(1)]), EINVAL).after(siw),
        Row::new("counters set to nothing", ask(C::StatSet, &[Dev("c0"), port(1)]), EINVAL).after(rxe),
        Row::new(
            "automatic counters by what is not known",
            ask(
                C::StatSet,
                &[Dev("c0"), port(1), Is(A::StatRes(QP)), Is(A::StatMode(1)), Is(A::StatAutoModeMask(0xf0))],
            ),
            EINVAL,
        )
        .after(rxe),
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
        Row::new("delete a sub-device that is none", ask(C::DelDev, &[Dev("c0")]), EOPNOTSUPP).after(rxe),
        Row::new("pools of a kernel without", list(C::FrmrPoolsGet, &[Dev("c0")]), EINVAL)
            .on(&[On::V6_12])
            .after(rxe),
        Row::new("pools", list(C::FrmrPoolsGet, &[Dev("c0")]), 0).on(&[On::V7_3]).after(rxe),
        Row::new("one pool", ask(C::FrmrPoolsGet, &[Dev("c0")]), EINVAL).after(rxe),
        // what is no request
        Row::new("a notification as a request", ask(C::Monitor, &[]), EINVAL),
        Row::new("a command of no number", ask(C::Other(99), &[]), EINVAL),
        Row::new("a change as a list", list(C::NewLink, &[name("c0")]), EINVAL),
        Row::new("settings as a list", list(C::SysGet, &[]), EINVAL),
    ]
}
