//! Counters and resources.

use super::answer::{Answer, Done, List, ListFailed, Refused, index, name};
use super::state::State;
use super::words::{qp_state, qp_type};
use crate::machine::document::{Device, Object, Port, QueuePair, Resources};
use crate::nl::errno::{EINVAL, ENOENT, EOPNOTSUPP};
use crate::nl::packet::number::*;
use crate::nl::packet::{AttributeList, Nested, NldevAttribute as A, NldevCommand as C, NldevMessage};

/// `RDMA_COUNTER_MODE_NONE` and `_AUTO`.
const MODE_NONE: u32 = 0;
const MODE_AUTO: u32 = 1;
/// Bits of the automatic mode's mask: type and pid.
const AUTO_MASK: u32 = 3;

impl State {
    /// `nldev_stat_get_doit` and `_dumpit`
    pub(super) fn stat_get(&self, request: &NldevMessage, dump: bool) -> Answer {
        let about = request.get_u32(RDMA_NLDEV_ATTR_STAT_RES);
        let of = |number: u16| about == Some(u32::from(number));
        if dump {
            if !of(RDMA_NLDEV_ATTR_RES_QP) && !of(RDMA_NLDEV_ATTR_RES_MR) {
                return ListFailed(EINVAL);
            }
            return self.of_device_list(request, |_, device| {
                let entries = if of(RDMA_NLDEV_ATTR_RES_QP) { A::StatCounter } else { A::ResMr };
                let attributes = vec![index(device), name(device), entries(Nested::flagged(Vec::new()))];
                List(vec![NldevMessage::new(C::StatGet, attributes)])
            });
        }
        match about {
            None => self.of_port(request, |state, device, port| state.port_counters(device, port)),
            Some(_) if of(RDMA_NLDEV_ATTR_RES_QP) => self.of_port(request, |state, device, port| {
                if request.get_u32(RDMA_NLDEV_ATTR_STAT_COUNTER_ID).is_some() {
                    return Refused(ENOENT, None);
                }
                if request.get_u32(RDMA_NLDEV_ATTR_STAT_MODE).is_none() {
                    return Refused(EINVAL, None);
                }
                let mask = state.counter_modes.get(&(device.index, port.number)).copied().unwrap_or(0);
                let mut attributes = vec![index(device), name(device), A::PortIndex(port.number)];
                attributes.push(A::StatMode(if mask == 0 { MODE_NONE } else { MODE_AUTO }));
                attributes.extend((mask != 0).then_some(A::StatAutoModeMask(mask)));
                Done(vec![NldevMessage::new(C::StatGet, attributes)])
            }),
            Some(_) => Refused(EINVAL, None),
        }
    }

    fn port_counters(&self, device: &Device, port: &Port) -> Answer {
        let Some(counters) = &port.hw_counters else { return Refused(EINVAL, None) };
        let optional = port.optional_counters.iter().flatten();
        let entries = counters
            .iter()
            .filter(|(name, _)| *name != "lifespan")
            .map(|(name, text)| (name, text.trim().parse().unwrap_or(0)))
            .chain(optional.filter(|(_, enabled)| **enabled).map(|(name, _)| (name, 0)))
            .map(|(name, value)| {
                A::StatHwcounterEntry(Nested::flagged(vec![
                    A::StatHwcounterEntryName(name.clone()),
                    A::StatHwcounterEntryValue(value),
                ]))
            });
        let attributes = vec![
            index(device),
            name(device),
            A::PortIndex(port.number),
            A::StatHwcounters(Nested::flagged(entries.collect())),
        ];
        Done(vec![NldevMessage::new(C::StatGet, attributes)])
    }

    /// `nldev_stat_get_counter_status_doit`
    pub(super) fn stat_status(&self, request: &NldevMessage) -> Answer {
        self.of_port(request, |_, device, port| {
            if port.hw_counters.is_none() {
                return Refused(EINVAL, None);
            }
            let entries = (0..).zip(counters(port)).map(|(index, (name, enabled))| {
                let mut entry =
                    vec![A::StatHwcounterEntryName(name.to_owned()), A::StatHwcounterIndex(index)];
                entry.extend(enabled.map(|enabled| A::StatHwcounterDynamic(u8::from(enabled))));
                A::StatHwcounterEntry(Nested::flagged(entry))
            });
            let attributes = vec![
                index(device),
                name(device),
                A::PortIndex(port.number),
                A::StatHwcounters(Nested::flagged(entries.collect())),
            ];
            Done(vec![NldevMessage::new(C::StatGetStatus, attributes)])
        })
    }

    /// `nldev_stat_set_doit`
    pub(super) fn stat_set(&mut self, request: &NldevMessage) -> Answer {
        let numbers =
            (request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), request.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX));
        let (Some(device_index), Some(number)) = numbers else { return Refused(EINVAL, None) };
        let Some((device, port)) = self.port(device_index, number) else { return Refused(EINVAL, None) };
        let reply = NldevMessage::new(C::StatSet, vec![index(device), name(device), A::PortIndex(number)]);
        if let Some(wanted) = request.get_nested(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS) {
            if port.optional_counters.is_none() {
                return Refused(EOPNOTSUPP, None);
            }
            let known: Vec<(String, bool)> =
                counters(port).map(|(name, enabled)| (name.to_owned(), enabled.is_some())).collect();
            let mut enabled = Vec::new();
            for attribute in wanted {
                let A::StatHwcounterIndex(place) = attribute else { return Refused(EINVAL, None) };
                match usize::try_from(*place).ok().and_then(|place| known.get(place)) {
                    Some((name, true)) => enabled.push(name.clone()),
                    _ => return Refused(EINVAL, None),
                }
            }
            let port = self
                .device_mut(device_index)
                .and_then(|device| device.ports.iter_mut().find(|port| port.number == number));
            for (name, on) in port.into_iter().flat_map(|port| port.optional_counters.iter_mut().flatten()) {
                *on = enabled.contains(name);
            }
            return Done(vec![reply]);
        }
        let mode = request.get_u32(RDMA_NLDEV_ATTR_STAT_MODE);
        if request.get_u32(RDMA_NLDEV_ATTR_STAT_RES) != Some(u32::from(RDMA_NLDEV_ATTR_RES_QP)) {
            return Refused(EINVAL, None);
        }
        match mode {
            Some(MODE_AUTO) => {
                let mask = request.get_u32(RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK).unwrap_or(0);
                if mask & !AUTO_MASK != 0 {
                    return Refused(EINVAL, None);
                }
                if port.hw_counters.is_none() {
                    return Refused(EOPNOTSUPP, None);
                }
                self.counter_modes.insert((device_index, number), mask);
                Done(vec![reply])
            }
            Some(_) => Refused(ENOENT, None),
            None => Refused(EINVAL, None),
        }
    }

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
        let entries = counts.into_iter().map(|(kind, number)| {
            A::ResSummaryEntry(Nested::flagged(vec![
                A::ResSummaryEntryName(kind.to_owned()),
                A::ResSummaryEntryCurr(number),
            ]))
        });
        let summary = A::ResSummary(Nested::flagged(entries.collect()));
        NldevMessage::new(C::ResGet, vec![index(device), name(device), summary])
    }

    fn resources(&self, device: &Device) -> Option<&Resources> {
        self.machine.resources.iter().find(|resources| resources.device == device.name)
    }

    /// Lists of objects and single ones.
    pub(super) fn objects(&self, request: &NldevMessage, dump: bool) -> Answer {
        let command = request.command;
        let Some(kind) = Kind::of(command) else {
            // Raw views are the driver's own.
            return if dump { ListFailed(EINVAL) } else { Refused(EINVAL, None) };
        };
        if dump {
            return self.of_device_list(request, |state, device| {
                let entries = kind.entries(state.resources(device));
                let entries = entries.into_iter().map(|(_, entry)| (kind.entry)(Nested::flagged(entry)));
                let list = (kind.list)(Nested::flagged(entries.collect()));
                List(vec![NldevMessage::new(command, vec![index(device), name(device), list])])
            });
        }
        self.of_device(request, |state, device| {
            let Some(wanted) = request.get_u32(kind.id) else { return Refused(EINVAL, None) };
            let found = kind.entries(state.resources(device)).into_iter().find(|(id, _)| *id == wanted);
            let Some((_, entry)) = found else { return Refused(ENOENT, None) };
            let attributes = [index(device), name(device)].into_iter().chain(entry).collect();
            Done(vec![NldevMessage::new(command, attributes)])
        })
    }
}

/// All counters of a port by index: the fixed ones, then the optional ones and whether they are enabled.
fn counters(port: &Port) -> impl Iterator<Item = (&str, Option<bool>)> {
    let fixed = port.hw_counters.iter().flatten().filter(|(name, _)| *name != "lifespan");
    let optional = port.optional_counters.iter().flatten();
    fixed
        .map(|(name, _)| (name.as_str(), None))
        .chain(optional.map(|(name, enabled)| (name.as_str(), Some(*enabled))))
}

/// An object's id and attributes.
type Entry = (u32, Vec<A>);

/// A kind of object.
struct Kind {
    list: fn(Nested) -> A,
    entry: fn(Nested) -> A,
    id: u16,
    of: fn(&Resources) -> Vec<Entry>,
}

impl Kind {
    fn of(command: C) -> Option<Self> {
        Some(match command {
            C::ResQpGet => Self {
                list: A::ResQp,
                entry: A::ResQpEntry,
                id: RDMA_NLDEV_ATTR_RES_LQPN,
                of: |resources| resources.qps.iter().map(|qp| (qp.lqpn, queue_pair(qp))).collect(),
            },
            C::ResCqGet => Self {
                list: A::ResCq,
                entry: A::ResCqEntry,
                id: RDMA_NLDEV_ATTR_RES_CQN,
                of: |resources| objects(&resources.cqs, A::ResCqn),
            },
            C::ResMrGet => Self {
                list: A::ResMr,
                entry: A::ResMrEntry,
                id: RDMA_NLDEV_ATTR_RES_MRN,
                of: |resources| objects(&resources.mrs, A::ResMrn),
            },
            C::ResPdGet => Self {
                list: A::ResPd,
                entry: A::ResPdEntry,
                id: RDMA_NLDEV_ATTR_RES_PDN,
                of: |resources| objects(&resources.pds, A::ResPdn),
            },
            C::ResCtxGet => Self {
                list: A::ResCtx,
                entry: A::ResCtxEntry,
                id: RDMA_NLDEV_ATTR_RES_CTXN,
                of: |resources| objects(&resources.ctxs, A::ResCtxn),
            },
            C::ResSrqGet => Self {
                list: A::ResSrq,
                entry: A::ResSrqEntry,
                id: RDMA_NLDEV_ATTR_RES_SRQN,
                of: |resources| objects(&resources.srqs, A::ResSrqn),
            },
            C::ResCmIdGet => Self {
                list: A::ResCmId,
                entry: A::ResCmIdEntry,
                id: RDMA_NLDEV_ATTR_RES_CM_IDN,
                of: |resources| objects(&resources.cm_ids, A::ResCmIdn),
            },
            _ => return None,
        })
    }

    fn entries(&self, resources: Option<&Resources>) -> Vec<Entry> {
        resources.map(self.of).unwrap_or_default()
    }
}

fn queue_pair(qp: &QueuePair) -> Vec<A> {
    let mut entry = vec![A::ResLqpn(qp.lqpn)];
    entry.extend(qp.pid.map(A::ResPid));
    entry.extend(qp.kernel.clone().map(A::ResKernName));
    entry.extend([A::ResSqPsn(0), A::ResType(qp_type(&qp.qp_type)), A::ResState(qp_state(&qp.state))]);
    entry
}

fn objects(list: &[Object], id: fn(u32) -> A) -> Vec<Entry> {
    let entry = |object: &Object| {
        let mut entry = vec![id(object.id)];
        entry.extend(object.pid.map(A::ResPid));
        entry.extend(object.kernel.clone().map(A::ResKernName));
        entry
    };
    list.iter().map(|object| (object.id, entry(object))).collect()
}
