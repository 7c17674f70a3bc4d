//! Resources: how many objects there are, and which.

use super::answer::{Answer, Done, List, ListFailed, Refused, index, name};
use super::soft;
use super::state::{State, is_rxe};
use super::words::{qp_state, qp_type};
use crate::machine::document::{Device, Object, QueuePair, Resources};
use crate::nl::errno::{EINVAL, ENOENT};
use crate::nl::packet::number::*;
use crate::nl::packet::{AttributeList, Nested, NldevAttribute as A, NldevCommand as C, NldevMessage};

/// IB_POLL_UNBOUND_WORKQUEUE
const UNBOUND_WORKQUEUE: u8 = 2;

impl State {
    /// `fill_res_info`
    pub(super) fn summary(&self, device: &Device) -> NldevMessage {
        let resources = self.resources(device);
        let count = |number: Option<usize>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
        let mut counts = vec![
            ("pd", count(resources.map(|r| r.pds.len()))),
            ("cq", count(resources.map(|r| r.cqs.len()))),
            ("qp", count(resources.map(|r| r.qps.len()))),
            ("cm_id", count(resources.map(|r| r.cm_ids.len()))),
            ("mr", count(resources.map(|r| r.mrs.len()))),
            ("ctx", u64::from(self.context_count(device))),
            ("srq", count(resources.map(|r| r.srqs.len()))),
        ];
        if self.release.counts_completion_counters() {
            counts.push(("comp_cntr", 0));
        }
        let most = if self.release.tells_most() { soft::most(device) } else { &[] };
        let entries = counts.into_iter().map(|(kind, number)| {
            let mut entry = vec![A::ResSummaryEntryName(kind.to_owned()), A::ResSummaryEntryCurr(number)];
            let most = most.iter().find(|(of, _)| *of == kind);
            entry.extend(most.map(|(_, most)| A::ResSummaryEntryMax(*most)));
            A::ResSummaryEntry(Nested::plain(entry))
        });
        let summary = A::ResSummary(Nested::plain(entries.collect()));
        NldevMessage::new(C::ResGet, vec![index(device), name(device), summary])
    }

    pub(super) fn resources(&self, device: &Device) -> Option<&Resources> {
        self.machine.resources.iter().find(|resources| resources.device == device.name)
    }

    /// Lists of objects and single ones.
    pub(super) fn objects(&self, request: &NldevMessage, dump: bool) -> Answer {
        let command = request.command;
        let Some((kind, raw)) = Kind::of(command) else {
            return if dump { ListFailed(EINVAL) } else { Refused(EINVAL, None) };
        };
        if !dump {
            // Raw views are the driver's own, and no driver here has any: that shows once there is an object.
            return match self.object(request, kind, |_, entry| entry) {
                Done(_) if raw => Refused(EINVAL, None),
                answer => answer,
            };
        }
        self.of_device_list(request, |state, device| {
            let port = request.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX);
            if port.is_some_and(|number| device.ports.iter().all(|port| port.number != number)) {
                return Refused(EINVAL, None);
            }
            let entries = kind.entries(state.resources(device), device);
            if raw && !entries.is_empty() {
                return Refused(EINVAL, None);
            }
            let entries = entries.into_iter().map(|(_, entry)| (kind.entry)(Nested::plain(entry)));
            table(command, device, kind.list, entries.collect())
        })
    }

    /// `res_get_common_doit`
    pub(super) fn object(
        &self,
        request: &NldevMessage,
        kind: &Kind,
        shown: impl Fn(u32, Vec<A>) -> Vec<A>,
    ) -> Answer {
        self.of_device(request, |state, device| {
            let Some(wanted) = request.get_u32(kind.id) else { return Refused(EINVAL, None) };
            let port = request.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX);
            let known = |number: u32| device.ports.iter().any(|port| port.number == number);
            if port.is_some() != kind.of_port || !port.is_none_or(known) {
                return Refused(EINVAL, None);
            }
            let entries = kind.entries(state.resources(device), device);
            let Some((id, entry)) = entries.into_iter().find(|(id, _)| *id == wanted) else {
                return Refused(ENOENT, None);
            };
            let attributes = [index(device), name(device)].into_iter().chain(shown(id, entry)).collect();
            Done(vec![NldevMessage::new(request.command, attributes)])
        })
    }
}

/// A list of objects; of none it has no message at all.
pub(super) fn table(command: C, device: &Device, list: fn(Nested) -> A, entries: Vec<A>) -> Answer {
    if entries.is_empty() {
        return List(Vec::new());
    }
    let attributes = vec![index(device), name(device), list(Nested::plain(entries))];
    List(vec![NldevMessage::new(command, attributes)])
}

/// An object's id and attributes.
type Entry = (u32, Vec<A>);

/// A kind of object.
pub(super) struct Kind {
    list: fn(Nested) -> A,
    entry: fn(Nested) -> A,
    id: u16,
    /// One is asked for by its port too; of the others the port must not be said.
    of_port: bool,
    of: fn(&Resources, &Device) -> Vec<Entry>,
}

const QUEUE_PAIRS: Kind = Kind {
    list: A::ResQp,
    entry: A::ResQpEntry,
    id: RDMA_NLDEV_ATTR_RES_LQPN,
    of_port: true,
    of: |resources, device| {
        resources.qps.iter().map(|qp| (queue_pair_id(qp, device), queue_pair(qp, device))).collect()
    },
};
const CM_IDS: Kind = Kind {
    list: A::ResCmId,
    entry: A::ResCmIdEntry,
    id: RDMA_NLDEV_ATTR_RES_CM_IDN,
    of_port: true,
    of: |resources, _| objects(&resources.cm_ids, A::ResCmIdn, |_| Vec::new()),
};
const COMPLETION_QUEUES: Kind = Kind {
    list: A::ResCq,
    entry: A::ResCqEntry,
    id: RDMA_NLDEV_ATTR_RES_CQN,
    of_port: false,
    of: |resources, device| {
        objects(&resources.cqs, A::ResCqn, |object| match of_core(object, device) {
            true => vec![A::ResCqe(1023), A::ResUsecnt(2), A::ResPollCtx(UNBOUND_WORKQUEUE), A::DevDim(0)],
            false => Vec::new(),
        })
    },
};
pub(super) const MEMORY_REGIONS: Kind = Kind {
    list: A::ResMr,
    entry: A::ResMrEntry,
    id: RDMA_NLDEV_ATTR_RES_MRN,
    of_port: false,
    of: |resources, _| objects(&resources.mrs, A::ResMrn, |_| Vec::new()),
};
const PROTECTION_DOMAINS: Kind = Kind {
    list: A::ResPd,
    entry: A::ResPdEntry,
    id: RDMA_NLDEV_ATTR_RES_PDN,
    of_port: false,
    of: |resources, device| {
        objects(&resources.pds, A::ResPdn, |object| match of_core(object, device) {
            true => vec![A::ResUsecnt(1)],
            false => Vec::new(),
        })
    },
};
const CONTEXTS: Kind = Kind {
    list: A::ResCtx,
    entry: A::ResCtxEntry,
    id: RDMA_NLDEV_ATTR_RES_CTXN,
    of_port: false,
    of: |resources, _| objects(&resources.ctxs, A::ResCtxn, |_| Vec::new()),
};
const SHARED_RECEIVE_QUEUES: Kind = Kind {
    list: A::ResSrq,
    entry: A::ResSrqEntry,
    id: RDMA_NLDEV_ATTR_RES_SRQN,
    of_port: false,
    of: |resources, _| objects(&resources.srqs, A::ResSrqn, |_| Vec::new()),
};

impl Kind {
    /// What a command is about, and whether it asks for the raw view.
    fn of(command: C) -> Option<(&'static Self, bool)> {
        Some(match command {
            C::ResQpGet => (&QUEUE_PAIRS, false),
            C::ResQpGetRaw => (&QUEUE_PAIRS, true),
            C::ResCqGet => (&COMPLETION_QUEUES, false),
            C::ResCqGetRaw => (&COMPLETION_QUEUES, true),
            C::ResMrGet => (&MEMORY_REGIONS, false),
            C::ResMrGetRaw => (&MEMORY_REGIONS, true),
            C::ResPdGet => (&PROTECTION_DOMAINS, false),
            C::ResCtxGet => (&CONTEXTS, false),
            C::ResSrqGet => (&SHARED_RECEIVE_QUEUES, false),
            C::ResSrqGetRaw => (&SHARED_RECEIVE_QUEUES, true),
            C::ResCmIdGet => (&CM_IDS, false),
            _ => return None,
        })
    }

    fn entries(&self, resources: Option<&Resources>, device: &Device) -> Vec<Entry> {
        resources.map(|resources| (self.of)(resources, device)).unwrap_or_default()
    }
}

/// `rdma_restrack_add`: every port has a GSI and an SMI queue pair of the same number, so their ids carry the port.
pub(super) fn queue_pair_id(qp: &QueuePair, device: &Device) -> u32 {
    let port = device.ports.first().map_or(1, |port| port.number);
    match qp.qp_type.as_str() {
        "GSI" | "SMI" => qp.lqpn | port << 24,
        _ => qp.lqpn,
    }
}

fn queue_pair(qp: &QueuePair, device: &Device) -> Vec<A> {
    // A document does not say the port; where there is one it is that.
    let port = device.ports.first().filter(|_| device.ports.len() == 1);
    let mut entry: Vec<A> = port.map(|port| A::PortIndex(port.number)).into_iter().collect();
    entry.push(A::ResLqpn(qp.lqpn));
    entry.extend(qp.pid.map(A::ResPid));
    entry.extend(qp.kernel.clone().map(A::ResKernName));
    entry.extend([A::ResSqPsn(0), A::ResType(qp_type(&qp.qp_type)), A::ResState(qp_state(&qp.state))]);
    entry
}

fn objects(list: &[Object], id: fn(u32) -> A, more: impl Fn(&Object) -> Vec<A>) -> Vec<Entry> {
    let entry = |object: &Object| {
        let mut entry = more(object);
        entry.push(id(object.id));
        entry.extend(object.pid.map(A::ResPid));
        entry.extend(object.kernel.clone().map(A::ResKernName));
        entry
    };
    list.iter().map(|object| (object.id, entry(object))).collect()
}

/// What ib_core has of every rxe for MADs: the only objects whose sizes are known without a document.
fn of_core(object: &Object, device: &Device) -> bool {
    is_rxe(device) && object.kernel.as_deref() == Some("ib_core")
}
