//! Counters.

use super::answer::{Answer, Done, ListFailed, Refused, index, name};
use super::objects::{MEMORY_REGIONS, queue_pair_id, table};
use super::soft::RXE_COUNTERS;
use super::state::State;
use crate::machine::document::{Device, Port};
use crate::nl::errno::{EINVAL, ENOENT, ENOMEM, EOPNOTSUPP};
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
            return self.of_device_list(request, |state, device| {
                // No QP is bound to a counter. An MR has those of its driver, and soft devices have none.
                let mrs = state.resources(device).filter(|_| of(RDMA_NLDEV_ATTR_RES_MR));
                let mrs = mrs.into_iter().flat_map(|resources| &resources.mrs);
                let entries = mrs.map(|mr| A::ResMrEntry(Nested::plain(vec![A::ResMrn(mr.id)]))).collect();
                table(C::StatGet, device, A::ResMr, entries)
            });
        }
        match about {
            None => self.of_port(request, |state, device, port| state.port_counters(device, port)),
            Some(_) if of(RDMA_NLDEV_ATTR_RES_QP) => self.of_port(request, |state, device, port| {
                if request.find(RDMA_NLDEV_ATTR_STAT_COUNTER_ID).is_some() {
                    return Refused(ENOENT, None);
                }
                if request.get_u32(RDMA_NLDEV_ATTR_STAT_MODE).is_none() {
                    return Refused(EINVAL, None);
                }
                let mode = state.counter_modes.get(&(device.index, port.number)).copied();
                let (mask, optional) = mode.unwrap_or_default();
                let mut attributes = vec![index(device), name(device), A::PortIndex(port.number)];
                attributes.push(A::StatMode(if mask == 0 { MODE_NONE } else { MODE_AUTO }));
                if mask != 0 {
                    attributes.push(A::StatAutoModeMask(mask));
                    let told = state.release.binds_optional_counters();
                    attributes.extend(told.then_some(A::StatOpcounterEnabled(u8::from(optional))));
                }
                Done(vec![NldevMessage::new(C::StatGet, attributes)])
            }),
            Some(_) if of(RDMA_NLDEV_ATTR_RES_MR) => {
                self.object(request, &MEMORY_REGIONS, |id, _| vec![A::ResMrn(id)])
            }
            Some(_) => Refused(EINVAL, None),
        }
    }

    fn port_counters(&self, device: &Device, port: &Port) -> Answer {
        let Some(files) = &port.hw_counters else { return Refused(EINVAL, None) };
        let shown = counters(port).into_iter().filter(|(_, enabled)| enabled.unwrap_or(true));
        let entries = shown.map(|(name, _)| {
            let value = files.get(name).and_then(|text| text.trim().parse().ok());
            A::StatHwcounterEntry(Nested::flagged(vec![
                A::StatHwcounterEntryName(name.to_owned()),
                A::StatHwcounterEntryValue(value.unwrap_or(0)),
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
        let (has_counters, optional) = (port.hw_counters.is_some(), optional_places(port));
        let mut reply = vec![index(device), name(device), A::PortIndex(number)];
        let mode = request.get_u32(RDMA_NLDEV_ATTR_STAT_MODE);
        let wanted = request.find(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
        if mode.is_none() && wanted.is_none() {
            return Refused(EINVAL, None);
        }
        if let Some(mode) = mode {
            match self.set_mode(request, (device_index, number), mode, has_counters) {
                Ok(bound) => reply.extend(bound),
                Err(errno) => return Refused(errno, None),
            }
        }
        if let Some(wanted) = wanted {
            if !has_counters {
                return Refused(EINVAL, None);
            }
            let mut enabled = Vec::new();
            for entry in wanted.as_nested().unwrap_or_default() {
                // Whatever its number, the kernel reads it as an index.
                match entry.as_u32().and_then(|place| optional.get(usize::try_from(place).ok()?)) {
                    Some(Some(name)) => enabled.push(name.clone()),
                    _ => return Refused(EINVAL, None),
                }
            }
            let device = self.device_mut(device_index);
            let port = device.and_then(|device| device.ports.iter_mut().find(|port| port.number == number));
            for (name, on) in port.into_iter().flat_map(|port| port.optional_counters.iter_mut().flatten()) {
                *on = enabled.contains(name);
            }
        }
        Done(vec![NldevMessage::new(C::StatSet, reply)])
    }

    /// `nldev_stat_set_mode_doit`: what the reply then has more.
    fn set_mode(
        &mut self,
        request: &NldevMessage,
        port: (u32, u32),
        mode: u32,
        has_counters: bool,
    ) -> Result<Vec<A>, i32> {
        if request.get_u32(RDMA_NLDEV_ATTR_STAT_RES) != Some(u32::from(RDMA_NLDEV_ATTR_RES_QP)) {
            return Err(EINVAL);
        }
        let automatic = self.counter_modes.get(&port).is_some_and(|(mask, _)| *mask != 0);
        if mode == MODE_AUTO {
            let mask = request.get_u32(RDMA_NLDEV_ATTR_STAT_AUTO_MODE_MASK).unwrap_or(0);
            if !has_counters {
                return Err(EOPNOTSUPP);
            }
            if mask & !AUTO_MASK != 0 {
                return Err(EINVAL);
            }
            let optional = request.get_u8(RDMA_NLDEV_ATTR_STAT_OPCOUNTER_ENABLED);
            self.counter_modes.insert(port, (mask, optional.is_some_and(|on| on != 0)));
            return Ok(Vec::new());
        }
        // Any other value binds one QP.
        let Some(number) = request.get_u32(RDMA_NLDEV_ATTR_RES_LQPN) else { return Err(EINVAL) };
        let counter = request.find(RDMA_NLDEV_ATTR_STAT_COUNTER_ID).is_some();
        if !counter && !has_counters {
            return Err(EOPNOTSUPP);
        }
        if automatic {
            return Err(EINVAL);
        }
        if counter || !self.has_queue_pair(port.0, number) {
            return Err(ENOENT);
        }
        // No driver here makes counters for QPs.
        Err(ENOMEM)
    }

    fn has_queue_pair(&self, device: u32, id: u32) -> bool {
        let Some(device) = self.device(device) else { return false };
        let mut all = self.resources(device).into_iter().flat_map(|resources| &resources.qps);
        all.any(|qp| queue_pair_id(qp, device) == id)
    }

    /// `nldev_stat_del_doit`: as no QP is bound to a counter, none can be taken from it.
    pub(super) fn stat_del(&self, request: &NldevMessage) -> Answer {
        let number = |number| request.get_u32(number);
        let qp = u32::from(RDMA_NLDEV_ATTR_RES_QP);
        let all = (number(RDMA_NLDEV_ATTR_STAT_COUNTER_ID), number(RDMA_NLDEV_ATTR_RES_LQPN));
        let (Some(_), Some(lqpn)) = all else { return Refused(EINVAL, None) };
        if number(RDMA_NLDEV_ATTR_STAT_RES) != Some(qp) {
            return Refused(EINVAL, None);
        }
        self.of_port(request, |state, device, _| {
            Refused(if state.has_queue_pair(device.index, lqpn) { EINVAL } else { ENOENT }, None)
        })
    }
}

/// By index, the names of those counters that are optional.
fn optional_places(port: &Port) -> Vec<Option<String>> {
    counters(port).into_iter().map(|(name, enabled)| enabled.map(|_| name.to_owned())).collect()
}

/// All counters of a port by index: the fixed ones, then the optional ones and whether they are enabled. A document
/// has them by name; of rxe the order is known.
fn counters(port: &Port) -> Vec<(&str, Option<bool>)> {
    let files = port.hw_counters.iter().flatten().map(|(name, _)| name.as_str());
    let mut fixed: Vec<&str> = files.filter(|name| *name != "lifespan").collect();
    let place = |name: &str| RXE_COUNTERS.iter().position(|known| *known == name);
    if fixed.iter().all(|name| place(name).is_some()) {
        fixed.sort_by_key(|name| place(name));
    }
    let optional = port.optional_counters.iter().flatten();
    let optional = optional.map(|(name, enabled)| (name.as_str(), Some(*enabled)));
    fixed.into_iter().map(|name| (name, None)).chain(optional).collect()
}
