//! Releases that the lab has not: what their sources say, so that a change of the simulator shows.

use rdma_operator::nl::errno::{EEXIST, EINVAL, ENFILE, EOPNOTSUPP, EPERM};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand as C};

use crate::links::{add, del};
use crate::requests::{ask, chardev, list, name, unknown};
use crate::row::{Act, On, Op, Part, Row, Then};
use Act::{Away, Exclusive, Hardware, Hold, Link, OtherNetns, Renamed};
use Part::{Dev, Is};
use Then::{Devices, Port};

pub(crate) fn rows() -> Vec<Row> {
    let one = &[Link("c0", "rxe", "nd0")];
    let port = |number| Is(A::PortIndex(number));
    let old = |row: Row| row.on(&[On::V6_1]).simulated("the lab has no Linux 6.1");
    let late = |row: Row| row.on(&[On::V7_2]).simulated("the lab has no Linux 7.2");
    let both = |row: Row| row.on(&[On::V6_1, On::V7_2]).simulated("the lab has neither Linux 6.1 nor 7.2");
    vec![
        both(Row::new("rxe", add("c0", "rxe", "nd0"), 0).then(&[Devices(&["c0"]), Port("c0", "ACTIVE")])),
        both(Row::new("rxe on a VLAN", add("c0", "rxe", "vl0"), EPERM)),
        both(Row::new("a second rxe", add("c1", "rxe", "nd0"), EEXIST).after(one)),
        both(Row::new("rxe of a taken name", add("c0", "rxe", "nd1"), ENFILE).after(one)),
        both(
            Row::new("removing a held rxe", del("c0"), 0)
                .after(&[one[0], Hold("c0")])
                .waits()
                .then(&[Devices(&[])]),
        ),
        both(
            Row::new("move rxe in exclusive mode", ask(C::Set, &[Dev("c0"), Part::Netns]), EOPNOTSUPP)
                .after(&[Exclusive, OtherNetns, one[0]])
                .then(&[Devices(&["c0"])]),
        ),
        both(
            Row::new("move and rename in shared mode", ask(C::Set, &[Dev("c0"), Part::Netns, name("c9")]), 0)
                .after(&[OtherNetns, one[0]])
                .then(&[Devices(&["c9"])]),
        ),
        both(
            Row::new("rxe of a name that went to another namespace", add("fake0", "rxe", "nd0"), ENFILE)
                .after(&[Exclusive, OtherNetns, Hardware, Away("fake0")]),
        ),
        both(Row::new("queue pairs", list(C::ResQpGet, &[Dev("c0")]), 0).after(one).data(1)),
        both(Row::new("MAD node", ask(C::GetChardev, &[chardev("umad"), Dev("c0"), port(1)]), 0).after(one)),
        old(Row::new("no events", add("c0", "rxe", "nd0"), 0).events(&[])),
        old(Row::new("rename without an event", ask(C::Set, &[Dev("c0"), name("c9")]), 0)
            .after(one)
            .then(&[Devices(&["c9"])])
            .events(&[])),
        old(Row::new("set with an unknown attribute", ask(C::Set, &[Dev("c0"), unknown()]), 0).after(one)),
        old(Row::new("get with an unknown attribute", ask(C::Get, &[Dev("c0"), unknown()]), 0).after(one)),
        old(Row::new("settings with an unknown attribute", ask(C::SysGet, &[unknown()]), EINVAL)
            .says("Unknown attribute type")),
        old(Row::new("a Q_Key mode", ask(C::SysSet, &[Is(A::SysPrivilegedQkeyMode(1))]), EINVAL)
            .says("Unknown attribute type")),
        old(Row::new("a sub-device", ask(C::NewDev, &[Dev("c0"), name("s0"), Is(A::DevType(1))]), EINVAL)
            .after(one)),
        old(Row::new("raw shared receive queues", list(C::ResSrqGetRaw, &[Dev("c0")]), EINVAL).after(one)),
        old(Row::new("pools", list(C::FrmrPoolsGet, &[Dev("c0")]), EINVAL).after(one)),
        late(Row::new("events", add("c0", "rxe", "nd0"), 0).events(&["register c0", "attach c0 nd0"])),
        late(Row::new("rename", ask(C::Set, &[Dev("c0"), name("c9")]), 0).after(one).events(&["rename c9"])),
        late(
            Row::new("its netdev gets another name", Op::Happens(Renamed("nd0", "nx0")), 0)
                .after(one)
                .events(&["netdev rename nx0"]),
        ),
        late(
            Row::new("set with an unknown attribute", ask(C::Set, &[Dev("c0"), unknown()]), EINVAL)
                .after(one)
                .says("Unknown attribute type"),
        ),
        late(Row::new("settings with an unknown attribute", ask(C::SysGet, &[unknown()]), 0)),
        late(Row::new("pools", list(C::FrmrPoolsGet, &[Dev("c0")]), 0).after(one).data(0)),
    ]
}
