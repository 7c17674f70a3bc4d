//! Resources and counters.

use rdma_operator::nl::errno::{EINVAL, ENOENT, ENOMEM, EOPNOTSUPP};
use rdma_operator::nl::packet::{Nested, NldevAttribute as A, NldevCommand as C, number};

use crate::requests::{ask, list, nobody};
use crate::row::{Act, On, Part, Row};
use Act::Link;
use Part::{Dev, Is};

const QP: u32 = number::RDMA_NLDEV_ATTR_RES_QP as u32;
const MR: u32 = number::RDMA_NLDEV_ATTR_RES_MR as u32;
/// The id of port 1's GSI queue pair.
const GSI: u32 = 1 << 24 | 1;
const UNKNOWN: &str = "Unknown attribute type";

/// STAT_SET on port 1 of c0.
fn set(parts: &[Part]) -> crate::row::Op {
    ask(C::StatSet, &[&[Dev("c0"), Is(A::PortIndex(1))], parts].concat())
}

pub(crate) fn rows() -> Vec<Row> {
    let rxe = &[Link("c0", "rxe", "nd0")];
    let siw = &[Link("c0", "siw", "nd0")];
    let port = |number| Is(A::PortIndex(number));
    let of = |number| Is(A::StatRes(number));
    let mode = |number| Is(A::StatMode(number));
    let optional = |list| Is(A::StatHwcounters(list));
    vec![
        // resources
        Row::new("counts of all", list(C::ResGet, &[]), 0).after(rxe).data(1),
        Row::new("counts of one", ask(C::ResGet, &[Dev("c0")]), 0).after(rxe).data(1),
        Row::new("counts of no device", ask(C::ResGet, &[nobody()]), EINVAL),
        Row::new("queue pairs", list(C::ResQpGet, &[Dev("c0")]), 0).after(rxe).data(1),
        Row::new("queue pairs of siw", list(C::ResQpGet, &[Dev("c0")]), 0).after(siw).data(0),
        Row::new("queue pairs of a port", list(C::ResQpGet, &[Dev("c0"), port(1)]), 0).after(rxe).data(1),
        Row::new("queue pairs of port 2", list(C::ResQpGet, &[Dev("c0"), port(2)]), EINVAL).after(rxe),
        Row::new("domains of rxe", list(C::ResPdGet, &[Dev("c0")]), 0).after(rxe).data(1),
        Row::new("completion queues of rxe", list(C::ResCqGet, &[Dev("c0")]), 0).after(rxe).data(1),
        Row::new("memory regions of rxe", list(C::ResMrGet, &[Dev("c0")]), 0).after(rxe).data(0),
        Row::new("contexts of rxe", list(C::ResCtxGet, &[Dev("c0")]), 0).after(rxe).data(0),
        Row::new("shared receive queues of rxe", list(C::ResSrqGet, &[Dev("c0")]), 0).after(rxe).data(0),
        Row::new("CM ids of rxe", list(C::ResCmIdGet, &[Dev("c0")]), 0).after(rxe).data(0),
        Row::new("a domain", ask(C::ResPdGet, &[Dev("c0"), Is(A::ResPdn(0))]), 0).after(rxe).data(1),
        Row::new("a domain of a port", ask(C::ResPdGet, &[Dev("c0"), port(1), Is(A::ResPdn(0))]), EINVAL)
            .after(rxe),
        Row::new("a completion queue", ask(C::ResCqGet, &[Dev("c0"), Is(A::ResCqn(0))]), 0)
            .after(rxe)
            .data(1),
        // The ids of GSI queue pairs carry their port.
        Row::new("a GSI queue pair", ask(C::ResQpGet, &[Dev("c0"), port(1), Is(A::ResLqpn(GSI))]), 0)
            .after(rxe)
            .data(1),
        Row::new(
            "a GSI queue pair by its number alone",
            ask(C::ResQpGet, &[Dev("c0"), port(1), Is(A::ResLqpn(1))]),
            ENOENT,
        )
        .after(rxe),
        Row::new("a queue pair without a port", ask(C::ResQpGet, &[Dev("c0"), Is(A::ResLqpn(GSI))]), EINVAL)
            .after(rxe),
        Row::new("a CM id without a port", ask(C::ResCmIdGet, &[Dev("c0"), Is(A::ResCmIdn(0))]), EINVAL)
            .after(rxe),
        Row::new("no such CM id", ask(C::ResCmIdGet, &[Dev("c0"), port(1), Is(A::ResCmIdn(0))]), ENOENT)
            .after(rxe),
        Row::new("raw queue pairs of rxe", list(C::ResQpGetRaw, &[Dev("c0")]), EINVAL).after(rxe),
        Row::new("raw queue pairs of siw", list(C::ResQpGetRaw, &[Dev("c0")]), 0).after(siw).data(0),
        Row::new("raw memory regions of rxe", list(C::ResMrGetRaw, &[Dev("c0")]), 0).after(rxe).data(0),
        Row::new("a raw completion queue", ask(C::ResCqGetRaw, &[Dev("c0"), Is(A::ResCqn(0))]), EINVAL)
            .after(rxe),
        Row::new("no such raw memory region", ask(C::ResMrGetRaw, &[Dev("c0"), Is(A::ResMrn(9))]), ENOENT)
            .after(rxe),
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
        Row::new("automatic counters by type", set(&[of(QP), mode(1), Is(A::StatAutoModeMask(1))]), 0)
            .after(rxe)
            .data(1),
        Row::new("no automatic counters", set(&[of(QP), mode(1)]), 0).after(rxe).data(1),
        Row::new("automatic counters of siw", set(&[of(QP), mode(1)]), EOPNOTSUPP).after(siw),
        Row::new("automatic counters of no kind", set(&[mode(1)]), EINVAL).after(rxe),
        Row::new("automatic counters of memory regions", set(&[of(MR), mode(1)]), EINVAL).after(rxe),
        Row::new(
            "automatic counters with the optional ones",
            set(&[of(QP), mode(1), Is(A::StatOpcounterEnabled(1))]),
            EINVAL,
        )
        .on(&[On::V6_12])
        .after(rxe)
        .says(UNKNOWN),
        Row::new(
            "automatic counters with the optional ones",
            set(&[of(QP), mode(1), Is(A::StatOpcounterEnabled(1))]),
            0,
        )
        .on(&[On::V7_3])
        .after(rxe),
        Row::new("a counter for no queue pair", set(&[of(QP), mode(2)]), EINVAL).after(rxe),
        Row::new("a counter for a queue pair", set(&[of(QP), mode(2), Is(A::ResLqpn(9999))]), ENOENT)
            .after(rxe),
        Row::new("a counter for a GSI queue pair", set(&[of(QP), mode(2), Is(A::ResLqpn(GSI))]), ENOMEM)
            .after(rxe),
        Row::new("a counter of siw", set(&[of(QP), mode(2), Is(A::ResLqpn(1))]), EOPNOTSUPP).after(siw),
        Row::new(
            "a queue pair to a counter that is not there",
            set(&[of(QP), mode(2), Is(A::ResLqpn(GSI)), Is(A::StatCounterId(7))]),
            ENOENT,
        )
        .after(rxe),
        Row::new("no optional counter of rxe", set(&[optional(Nested::flagged(Vec::new()))]), 0).after(rxe),
        Row::new("no optional counter of siw", set(&[optional(Nested::flagged(Vec::new()))]), EINVAL)
            .after(siw),
        Row::new(
            "a counter that is not optional",
            set(&[optional(Nested::flagged(vec![A::StatHwcounterIndex(0)]))]),
            EINVAL,
        )
        .after(rxe),
        Row::new("optional counters without the flag", set(&[optional(Nested::plain(Vec::new()))]), EINVAL)
            .after(rxe)
            .says("NLA_F_NESTED is missing"),
        Row::new("how queue pairs are counted", ask(C::StatGet, &[Dev("c0"), port(1), of(QP), mode(0)]), 0)
            .after(rxe)
            .data(1),
        Row::new("how siw's are counted", ask(C::StatGet, &[Dev("c0"), port(1), of(QP), mode(0)]), 0)
            .after(siw)
            .data(1),
        Row::new("no question about counters", ask(C::StatGet, &[Dev("c0"), port(1), of(QP)]), EINVAL)
            .after(rxe),
        Row::new(
            "no such counter",
            ask(C::StatGet, &[Dev("c0"), port(1), of(QP), Is(A::StatCounterId(7))]),
            ENOENT,
        )
        .after(rxe),
        Row::new(
            "counters of no memory region",
            ask(C::StatGet, &[Dev("c0"), of(MR), Is(A::ResMrn(9999))]),
            ENOENT,
        )
        .after(rxe),
        Row::new(
            "counters of a port's memory region",
            ask(C::StatGet, &[Dev("c0"), port(1), of(MR), Is(A::ResMrn(9999))]),
            EINVAL,
        )
        .after(rxe),
        Row::new("counters of no kind", ask(C::StatGet, &[Dev("c0"), port(1), of(1)]), EINVAL).after(rxe),
        Row::new("counters of queue pairs", list(C::StatGet, &[Dev("c0"), of(QP)]), 0).after(rxe).data(0),
        Row::new("counters of memory regions", list(C::StatGet, &[Dev("c0"), of(MR)]), 0).after(rxe).data(0),
        Row::new("counters of queue pairs of no device", list(C::StatGet, &[nobody(), of(QP)]), EINVAL),
        Row::new("take nothing from a counter", ask(C::StatDel, &[Dev("c0"), port(1)]), EINVAL).after(rxe),
        Row::new(
            "take no queue pair from a counter",
            ask(C::StatDel, &[Dev("c0"), port(1), of(QP), Is(A::StatCounterId(7)), Is(A::ResLqpn(9999))]),
            ENOENT,
        )
        .after(rxe),
        Row::new(
            "take a queue pair from a counter it has not",
            ask(C::StatDel, &[Dev("c0"), port(1), of(QP), Is(A::StatCounterId(7)), Is(A::ResLqpn(GSI))]),
            EINVAL,
        )
        .after(rxe),
        Row::new(
            "take a memory region from a counter",
            ask(C::StatDel, &[Dev("c0"), port(1), of(MR), Is(A::StatCounterId(7)), Is(A::ResLqpn(GSI))]),
            EINVAL,
        )
        .after(rxe),
    ]
}
