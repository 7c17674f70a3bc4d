//! Making and removing soft links, and what happens to them.

use rdma_operator::nl::errno::{EEXIST, EINVAL, ENFILE, ENODEV, EPERM};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand as C};

use crate::row::{Act, On, Op, Part, Row, Then};
use Act::{
    Address, Away, Down, Exclusive, Gone, Hardware, Hold, Link, NoAddress, NoModules, Nobody, OtherNetns,
    Renamed, Up, Veth,
};
use Then::{Best, Devices, Gid, NoGid, Phys, Port};

/// The longest name there is: 63 bytes.
pub(crate) const LONGEST: &str = "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc";
pub(crate) const FAILED: &str = "Attribute failed policy validation";

/// NEWLINK.
pub(crate) fn add(name: &str, kind: &str, netdev: &str) -> Op {
    let attributes = [A::DevName(name.into()), A::LinkType(kind.into()), A::NdevName(netdev.into())];
    Op::Ask(C::NewLink, attributes.map(Part::Is).into())
}

pub(crate) fn del(name: &'static str) -> Op {
    Op::Ask(C::DelLink, vec![Part::Dev(name)])
}

pub(crate) fn rows() -> Vec<Row> {
    let one = &[Link("c0", "rxe", "nd0")];
    let mut rows = vec![
        Row::new("rxe", add("c0", "rxe", "nd0"), 0)
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")])
            .events(&["register c0", "attach c0 nd0"]),
        Row::new("siw", add("c0", "siw", "nd0"), 0)
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")])
            .events(&["register c0", "attach c0 nd0"]),
        Row::new("rxe on lo", add("c0", "rxe", "lo"), 0).then(&[Devices(&["c0"])]),
        Row::new("siw on lo", add("c0", "siw", "lo"), 0).then(&[Devices(&["c0"])]),
        Row::new("rxe on a bridge", add("c0", "rxe", "rb0"), 0).then(&[Devices(&["c0"])]),
        Row::new("rxe on a VLAN", add("c0", "rxe", "vl0"), EPERM).then(&[Devices(&[])]).events(&[]),
        Row::new("siw on a VLAN", add("c0", "siw", "vl0"), 0).then(&[Devices(&["c0"])]),
        Row::new("rxe on a netdev that is down", add("c0", "rxe", "dn0"), 0).then(&[Port("c0", "DOWN")]),
        Row::new("siw on a netdev that is down", add("c0", "siw", "dn0"), 0).then(&[Port("c0", "DOWN")]),
        Row::new("its netdev comes up", Op::Happens(Up("dn0")), 0)
            .after(&[Link("c0", "rxe", "dn0")])
            .then(&[Port("c0", "ACTIVE")]),
        Row::new("a second rxe", add("c1", "rxe", "nd0"), EEXIST).after(one).then(&[Devices(&["c0"])]),
        Row::new("a second rxe of a taken name", add("c0", "rxe", "nd0"), EEXIST).after(one),
        Row::new("a second siw", add("c1", "siw", "nd0"), EEXIST).after(&[Link("c0", "siw", "nd0")]),
        Row::new("siw beside rxe", add("c1", "siw", "nd0"), 0).after(one).then(&[Devices(&["c0", "c1"])]),
        Row::new("rxe beside siw", add("c1", "rxe", "nd0"), 0)
            .after(&[Link("c0", "siw", "nd0")])
            .then(&[Devices(&["c0", "c1"])]),
        Row::new("two rxe on two netdevs", add("c1", "rxe", "nd1"), 0)
            .after(one)
            .then(&[Devices(&["c0", "c1"])]),
        Row::new("rxe of a taken name", add("c0", "rxe", "nd1"), ENFILE).after(one),
        Row::new("siw of an rxe's name", add("c0", "siw", "nd1"), ENFILE).after(one),
        Row::new("rxe of hardware's name", add("fake0", "rxe", "nd0"), ENFILE).after(&[Hardware]),
        Row::new("no such netdev", add("c0", "rxe", "nosuch"), ENODEV).then(&[Devices(&[])]),
        Row::new("no such netdev for siw", add("c0", "siw", "nosuch"), ENODEV),
        Row::new("a netdev that has gone", add("c0", "rxe", "nd1"), ENODEV).after(&[Gone("nd1")]),
        Row::new("an unknown type", add("c0", "nosuch", "nd0"), EINVAL),
        Row::new("an empty type", add("c0", "", "nd0"), EINVAL),
        Row::new("a name with a percent sign", add("c%d", "rxe", "nd0"), EINVAL),
        Row::new("an empty name", add("", "rxe", "nd0"), EINVAL),
        Row::new("a name with a slash", add("c/0", "rxe", "nd0"), 0).then(&[Devices(&["c!0"])]),
        Row::new("a name of 63 bytes", add(LONGEST, "rxe", "nd0"), 0).then(&[Devices(&[LONGEST])]),
        Row::new("a name of 64 bytes", add(&"c".repeat(64), "rxe", "nd0"), 0).then(&[Devices(&[LONGEST])]),
        Row::new("a name of 65 bytes", add(&"c".repeat(65), "rxe", "nd0"), EINVAL)
            .then(&[Devices(&[])])
            .says(FAILED),
        Row::new("a netdev's name of 16 bytes", add("c0", "rxe", &"n".repeat(16)), ENODEV),
        Row::new("a netdev's name of 17 bytes", add("c0", "rxe", &"n".repeat(17)), EINVAL).says(FAILED),
        Row::new("a type of 17 bytes", add("c0", &"t".repeat(17), "nd0"), EINVAL).says(FAILED),
        Row::new("rxe on veth", add("c0", "rxe", "ve0"), 0)
            .after(&[Veth])
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")]),
        Row::new("siw on veth", add("c0", "siw", "ve0"), 0)
            .after(&[Veth])
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")]),
        Row::new("the other end of its veth goes", Op::Happens(Gone("ve1")), 0)
            .after(&[Veth, Link("c0", "rxe", "ve0")])
            .then(&[Devices(&[])]),
        Row::new("the other end of its veth goes down", Op::Happens(Down("ve1")), 0)
            .after(&[Veth, Link("c0", "rxe", "ve0")])
            .then(&[Port("c0", "DOWN"), Phys("c0", "POLLING")])
            .events(&[]),
        Row::new("the other end of siw's veth goes down", Op::Happens(Down("ve1")), 0)
            .after(&[Veth, Link("c0", "siw", "ve0")])
            .then(&[Port("c0", "DOWN"), Phys("c0", "DISABLED")])
            .events(&[]),
        Row::new("its netdev goes down", Op::Happens(Down("nd0")), 0)
            .after(one)
            .then(&[Devices(&["c0"]), Port("c0", "DOWN"), Phys("c0", "DISABLED")])
            .events(&[]),
        Row::new("siw's netdev goes down", Op::Happens(Down("nd0")), 0)
            .after(&[Link("c0", "siw", "nd0")])
            .then(&[Devices(&["c0"]), Port("c0", "DOWN")])
            .events(&[]),
        Row::new("its netdev gets another name", Op::Happens(Renamed("nd1", "nx1")), 0)
            .on(&[On::V6_12])
            .after(&[Link("c0", "rxe", "nd1")])
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")])
            .events(&[]),
        Row::new("its netdev gets another name", Op::Happens(Renamed("nd1", "nx1")), 0)
            .on(&[On::V7_3])
            .after(&[Link("c0", "rxe", "nd1")])
            .then(&[Devices(&["c0"]), Port("c0", "ACTIVE")])
            .events(&["netdev rename nx1"]),
        Row::new("a netdev of no device gets another name", Op::Happens(Renamed("nd1", "nx1")), 0)
            .after(one)
            .events(&[]),
        Row::new("making on a netdev by its new name", add("c0", "rxe", "nx1"), 0)
            .after(&[Renamed("nd1", "nx1")])
            .then(&[Devices(&["c0"])]),
        Row::new("making on a netdev by its old name", add("c0", "rxe", "nd1"), ENODEV)
            .after(&[Renamed("nd1", "nx1")]),
        Row::new("an address goes", Op::Happens(NoAddress("nd0", "198.51.100.7/24")), 0)
            .after(&[one[0], Address("nd0", "198.51.100.7/24")])
            .then(&[NoGid("c0", "::ffff:198.51.100.7")]),
        Row::new("rxe of a name that went to another namespace", add("fake0", "rxe", "nd0"), ENFILE)
            .on(&[On::V6_12])
            .after(&[Exclusive, OtherNetns, Hardware, Away("fake0")])
            .then(&[Devices(&[])]),
        Row::new("rxe of a name that went to another namespace", add("fake0", "rxe", "nd0"), 0)
            .on(&[On::V7_3])
            .after(&[Exclusive, OtherNetns, Hardware, Away("fake0")])
            .then(&[Devices(&["fake0"])]),
        Row::new("no rxe module", add("c0", "rxe", "nd0"), EINVAL).after(&[NoModules]),
        Row::new("no siw module", add("c0", "siw", "nd0"), EINVAL).after(&[NoModules]),
        Row::new("making without the capability", add("c0", "rxe", "nd0"), EPERM).after(&[Nobody]),
        Row::new("removing without the capability", del("c0"), EPERM)
            .after(&[one[0], Nobody])
            .then(&[Devices(&["c0"])]),
        Row::new("removing rxe", del("c0"), 0).after(one).then(&[Devices(&[])]).events(&["unregister c0"]),
        Row::new("removing siw", del("c0"), 0)
            .after(&[Link("c0", "siw", "nd0")])
            .then(&[Devices(&[])])
            .events(&["unregister c0"]),
        Row::new("removing hardware", del("fake0"), EINVAL).after(&[Hardware]).then(&[Devices(&["fake0"])]),
        Row::new("removing no device", Op::Ask(C::DelLink, vec![Part::Is(A::DevIndex(9999))]), EINVAL),
        Row::new("removing without an index", Op::Ask(C::DelLink, Vec::new()), EINVAL),
        Row::new("removing a held rxe", del("c0"), 0)
            .on(&[On::V6_12])
            .after(&[one[0], Hold("c0")])
            .waits()
            .then(&[Devices(&[])])
            .events(&[]),
        Row::new("removing a held rxe", del("c0"), 0)
            .on(&[On::V7_3])
            .after(&[one[0], Hold("c0")])
            .then(&[Devices(&[])]),
        Row::new("removing a held siw", del("c0"), 0)
            .after(&[Link("c0", "siw", "nd0"), Hold("c0")])
            .waits()
            .then(&[Devices(&[])])
            .events(&[]),
        Row::new("the netdev goes", Op::Happens(Gone("nd1")), 0)
            .after(&[Link("c0", "rxe", "nd1"), Link("c1", "siw", "nd1"), Link("c2", "rxe", "nd0")])
            .then(&[Devices(&["c2"])]),
        Row::new("the netdev of one goes", Op::Happens(Gone("nd1")), 0)
            .after(&[Link("c0", "rxe", "nd1")])
            .then(&[Devices(&[])])
            .events(&["unregister c0"]),
        Row::new("the netdev below a VLAN goes", Op::Happens(Gone("nd0")), 0)
            .after(&[Link("c0", "siw", "vl0")])
            .then(&[Devices(&[])]),
        Row::new("an address comes", Op::Happens(Address("nd0", "198.51.100.7/24")), 0)
            .after(one)
            .then(&[Gid("c0", "::ffff:198.51.100.7"), Best("c0", "::ffff:198.51.100.7")]),
        Row::new("an address of the VLAN comes", Op::Happens(Address("vl0", "203.0.113.7/24")), 0)
            .after(one)
            .then(&[Gid("c0", "::ffff:203.0.113.7")]),
        Row::new("an address of another netdev comes", Op::Happens(Address("nd1", "203.0.113.9/24")), 0)
            .after(one)
            .then(&[NoGid("c0", "::ffff:203.0.113.9")]),
    ];
    for (what, missing) in [("name", 0), ("type", 1), ("netdev", 2)] {
        let Op::Ask(command, mut parts) = add("c0", "rxe", "nd0") else { continue };
        parts.remove(missing);
        let name = match what {
            "name" => "making without a name",
            "type" => "making without a type",
            _ => "making without a netdev",
        };
        rows.push(Row::new(name, Op::Ask(command, parts), EINVAL).then(&[Devices(&[])]));
    }
    rows
}
