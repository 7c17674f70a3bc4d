//! Resources against what rdma(8) printed of the same replies.

use std::fmt::{Display, Write};

use crate::nl::{
    CmAddress, CmId, CompletionQueue, DriverDetail, DriverValue, Entry, MemoryRegion, Missing, Owner,
    PollContext, ProtectionDomain, QueuePair, Resource, SharedReceiveQueue, UserContext,
    packet::{Nested, NldevAttribute, NldevMessage},
    tests::fixtures,
};

/// The views of every object of the case's lists; nothing of any object may be lost.
fn objects<R: Resource + PartialEq>(
    case: &fixtures::Case,
    attributes: impl Fn(&R) -> &[NldevAttribute],
) -> Vec<R> {
    let replies = case.replies(|kind, flags| kind == 0x1400 | R::COMMAND.number() && flags & 0x300 != 0);
    let mut objects = Vec::new();
    for reply in replies {
        for entry in Entry::list(reply.attributes, R::TABLE, R::ENTRY).unwrap() {
            let object = R::from_entry(entry.clone()).unwrap();
            assert_eq!(attributes(&object), entry.attributes);
            // rdma(8) asks for the lists of a port twice.
            if !objects.contains(&object) {
                objects.push(object);
            }
        }
    }
    objects
}

/// The lines printed, without the name of the process, which is not the kernel's.
fn printed(case: &fixtures::Case) -> Vec<String> {
    case.text
        .lines()
        .map(|line| match line.split_once(" comm ") {
            Some((before, after)) if before.contains(" pid ") => {
                let rest = after.trim_end().split_once(' ').map_or("", |(_, rest)| rest);
                format!("{before} {rest}").trim_end().to_owned()
            }
            _ => line.trim_end().to_owned(),
        })
        .collect()
}

fn add(line: &mut String, key: &str, value: Option<impl Display>) {
    if let Some(value) = value {
        write!(line, " {key} {value}").unwrap();
    }
}

fn add_owner(line: &mut String, owner: &Owner) {
    match owner {
        Owner::Process(pid) => write!(line, " pid {pid}").unwrap(),
        Owner::Kernel(name) => write!(line, " comm [{name}]").unwrap(),
        Owner::Unknown => {}
    }
}

fn check(names: &[&str], shown: impl Fn(&fixtures::Case) -> Vec<String>) {
    for kernel in fixtures::KERNELS {
        let mut lines = 0;
        for name in names {
            let case = fixtures::case(kernel, name);
            let shown = shown(&case);
            lines += shown.len();
            assert_eq!(shown, printed(&case), "{}", case.name);
        }
        assert!(lines > 0, "{kernel} {names:?}");
    }
}

#[test]
fn queue_pairs_are_those_printed() {
    check(&["res_qp", "res_qp_d", "res_qp_idle", "res_link_qp"], |case| {
        let show = |qp: &QueuePair| {
            let mut line = format!("link {}/{} lqpn {}", qp.device_name, qp.port.unwrap(), qp.lqpn);
            add(&mut line, "rqpn", qp.rqpn);
            add(&mut line, "type", qp.qp_type);
            add(&mut line, "state", qp.state);
            add(&mut line, "rq-psn", qp.rq_psn);
            add(&mut line, "sq-psn", qp.sq_psn);
            add(&mut line, "path-mig-state", qp.path_mig_state);
            add(&mut line, "pdn", qp.pdn);
            add_owner(&mut line, &qp.owner);
            line
        };
        objects(case, |qp: &QueuePair| &qp.attributes).iter().map(show).collect()
    });
}

#[test]
fn cm_ids_are_those_printed() {
    check(&["res_cm_id", "res_cm_id_dd"], |case| {
        let address = |address: Option<CmAddress>| match address {
            Some(CmAddress::Ip(ip)) => Some(ip),
            _ => None,
        };
        let show = |id: &CmId| {
            let mut line = format!("link {}/{} cm-idn {}", id.device_name, id.port.unwrap(), id.cm_idn);
            add(&mut line, "lqpn", id.lqpn);
            add(&mut line, "qp-type", id.qp_type);
            add(&mut line, "state", id.state);
            add(&mut line, "ps", id.port_space);
            add_owner(&mut line, &id.owner);
            add(&mut line, "src-addr", address(id.source));
            add(&mut line, "dst-addr", address(id.destination));
            line
        };
        objects(case, |id: &CmId| &id.attributes).iter().map(show).collect()
    });
}

/// rdma(8) shows each context as the one before it.
fn as_rdma_shows(context: PollContext) -> &'static str {
    match context {
        PollContext::Softirq => "DIRECT",
        PollContext::Workqueue => "SOFTIRQ",
        PollContext::UnboundWorkqueue => "WORKQUEUE",
        PollContext::Direct => "UNBOUND_WORKQUEUE",
        PollContext::Other(_) => "UNKNOWN",
    }
}

#[test]
fn completion_queues_are_those_printed() {
    check(&["res_cq_d", "res_cq_dd"], |case| {
        let show = |cq: &CompletionQueue| {
            let mut line = format!("dev {} cqn {}", cq.device_name, cq.cqn.unwrap());
            add(&mut line, "cqe", cq.cqe);
            add(&mut line, "users", cq.users);
            add(&mut line, "poll-ctx", cq.poll_context.map(as_rdma_shows));
            add(
                &mut line,
                "adaptive-moderation",
                cq.adaptive_moderation.map(|on| if on { "on" } else { "off" }),
            );
            add(&mut line, "ctxn", cq.ctxn);
            add_owner(&mut line, &cq.owner);
            line
        };
        objects(case, |cq: &CompletionQueue| &cq.attributes).iter().map(show).collect()
    });
}

#[test]
fn memory_regions_are_those_printed() {
    check(&["res_mr", "res_mr_dd"], |case| {
        let show = |mr: &MemoryRegion| {
            let mut line = format!("dev {} mrn {}", mr.device_name, mr.mrn.unwrap());
            add(&mut line, "rkey", mr.rkey.map(|key| format!("{key:#x}")));
            add(&mut line, "lkey", mr.lkey.map(|key| format!("{key:#x}")));
            add(&mut line, "mrlen", mr.length);
            add(&mut line, "pdn", mr.pdn);
            add_owner(&mut line, &mr.owner);
            line
        };
        objects(case, |mr: &MemoryRegion| &mr.attributes).iter().map(show).collect()
    });
}

#[test]
fn protection_domains_are_those_printed() {
    check(&["res_pd", "res_pd_dd"], |case| {
        let show = |pd: &ProtectionDomain| {
            let mut line = format!("dev {} pdn {}", pd.device_name, pd.pdn.unwrap());
            add(&mut line, "local_dma_lkey", pd.local_dma_lkey.map(|key| format!("{key:#x}")));
            add(&mut line, "users", pd.users);
            add(&mut line, "ctxn", pd.ctxn);
            add_owner(&mut line, &pd.owner);
            line
        };
        objects(case, |pd: &ProtectionDomain| &pd.attributes).iter().map(show).collect()
    });
}

#[test]
fn contexts_are_those_printed() {
    check(&["res_ctx", "res_ctx_dd"], |case| {
        let show = |ctx: &UserContext| {
            let mut line = format!("dev {} ctxn {}", ctx.device_name, ctx.ctxn);
            add_owner(&mut line, &ctx.owner);
            line
        };
        objects(case, |ctx: &UserContext| &ctx.attributes).iter().map(show).collect()
    });
}

#[test]
fn shared_receive_queues_are_those_printed() {
    check(&["res_srq_d", "res_srq_dd"], |case| {
        let range = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let show = |srq: &SharedReceiveQueue| {
            let mut line = format!("dev {} srqn {}", srq.device_name, srq.srqn);
            add(&mut line, "type", srq.srq_type);
            let qps: Vec<_> = srq.qps.iter().map(range).collect();
            add(&mut line, "lqpn", (!qps.is_empty()).then(|| qps.join(",")));
            add(&mut line, "pdn", srq.pdn);
            add(&mut line, "cqn", srq.cqn);
            add_owner(&mut line, &srq.owner);
            line
        };
        objects(case, |srq: &SharedReceiveQueue| &srq.attributes).iter().map(show).collect()
    });
}

fn qp_of(driver: Vec<NldevAttribute>) -> Result<QueuePair, Missing> {
    let attributes = vec![
        NldevAttribute::ResLqpn(1),
        NldevAttribute::Driver(Nested::plain(driver)),
        NldevAttribute::ResType(255),
    ];
    let message = NldevMessage::new(crate::nl::packet::NldevCommand::ResQpGet, attributes);
    QueuePair::from_entry(Entry { device_index: 0, device_name: "x".into(), attributes: message.attributes })
}

#[test]
fn driver_details_are_read_in_order() {
    use NldevAttribute as A;
    let qp = qp_of(vec![
        A::DriverString("sqid".into()),
        A::DriverU32(7),
        A::DriverString("flags".into()),
        A::DriverPrintType(1),
        A::DriverU64(0xf0),
        A::DriverString("state".into()),
        A::DriverString("up".into()),
        A::DriverString("delta".into()),
        A::DriverS32(-1),
        A::DriverString("without a value".into()),
    ])
    .unwrap();
    let detail = |key: &str, hex, value| DriverDetail { key: key.into(), hex, value };
    assert_eq!(
        qp.driver,
        [
            detail("sqid", false, DriverValue::Unsigned(7)),
            detail("flags", true, DriverValue::Unsigned(0xf0)),
            detail("state", false, DriverValue::Text("up".into())),
            detail("delta", false, DriverValue::Signed(-1)),
        ]
    );
    assert_eq!(qp.qp_type.unwrap().as_str(), "DRIVER");
}
