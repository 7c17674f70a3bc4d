//! What is allocated on a device.

use super::super::document::{Object, QueuePair, Resources};
use crate::nl::{Handle, Owner};

/// The resources of a device; `None` where there are none, or the kernel cannot list any.
pub(super) async fn of(handle: &Handle, index: u32, device: &str) -> Option<Resources> {
    let ask = handle.resource();
    // Kernels differ in which kinds they list: what one cannot list is not there.
    let qps = ask.queue_pairs(index).list().await.unwrap_or_default();
    let cqs = ask.completion_queues(index).list().await.unwrap_or_default();
    let mrs = ask.memory_regions(index).list().await.unwrap_or_default();
    let pds = ask.protection_domains(index).list().await.unwrap_or_default();
    let ctxs = ask.contexts(index).list().await.unwrap_or_default();
    let srqs = ask.shared_receive_queues(index).list().await.unwrap_or_default();
    let cm_ids = ask.cm_ids(index).list().await.unwrap_or_default();
    let found = Resources {
        device: device.to_owned(),
        qps: qps
            .into_iter()
            .map(|qp| {
                let (kernel, pid) = owner(qp.owner);
                QueuePair {
                    lqpn: qp.lqpn,
                    qp_type: qp.qp_type.map_or("DRIVER", |kind| kind.as_str()).to_owned(),
                    state: qp.state.map_or("RESET", |state| state.as_str()).to_owned(),
                    kernel,
                    pid,
                }
            })
            .collect(),
        cqs: cqs.into_iter().filter_map(|cq| Some(object(cq.cqn?, cq.owner))).collect(),
        mrs: mrs.into_iter().filter_map(|mr| Some(object(mr.mrn?, mr.owner))).collect(),
        pds: pds.into_iter().filter_map(|pd| Some(object(pd.pdn?, pd.owner))).collect(),
        ctxs: ctxs.into_iter().map(|ctx| object(ctx.ctxn, ctx.owner)).collect(),
        srqs: srqs.into_iter().map(|srq| object(srq.srqn, srq.owner)).collect(),
        cm_ids: cm_ids.into_iter().map(|id| object(id.cm_idn, id.owner)).collect(),
    };
    let lists = [&found.cqs, &found.mrs, &found.pds, &found.ctxs, &found.srqs, &found.cm_ids];
    let empty = found.qps.is_empty() && lists.iter().all(|list| list.is_empty());
    (!empty).then_some(found)
}

fn object(id: u32, by: Owner) -> Object {
    let (kernel, pid) = owner(by);
    Object { id, kernel, pid }
}

fn owner(owner: Owner) -> (Option<String>, Option<u32>) {
    match owner {
        Owner::Kernel(name) => (Some(name), None),
        Owner::Process(pid) => (None, Some(pid)),
        _ => (None, None),
    }
}
