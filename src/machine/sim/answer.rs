//! Requests and their answers: what `nldev_cb_table` and its permissions decide, and reading.

use super::effects::Effects;
use super::policy;
use super::state::{State, umad_device};
use super::words::{device_number, encode_device, node_type, phys_state, port_state};
use crate::machine::document::{Device, NetnsMode, Port};
use crate::nl::errno::{EINVAL, EOPNOTSUPP, EPERM};
use crate::nl::packet::number::*;
use crate::nl::packet::{AttributeList, NldevAttribute as A, NldevCommand, NldevMessage};

/// A text for the extended acknowledgement.
pub(super) type Text = Option<&'static str>;

/// What becomes of a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// One object's data, or nothing, and the acknowledgement.
    Done(Vec<NldevMessage>),
    /// A list.
    List(Vec<NldevMessage>),
    /// A list that fails: the code is in NLMSG_DONE.
    ListFailed(i32),
    /// An error.
    Refused(i32, Text),
    /// The kernel works until nobody has the device of this index open, and then acknowledges.
    Waits(u32),
}

pub(super) use Answer::{Done, List, ListFailed, Refused, Waits};

impl State {
    /// Answers a request. `dump`: it asks for a list; `admin`: its sender has CAP_NET_ADMIN.
    pub(super) fn answer(
        &mut self,
        request: &NldevMessage,
        dump: bool,
        admin: bool,
        effects: &mut Effects,
    ) -> Answer {
        let command = request.command;
        let any = command.has_dump() || command.has_doit();
        if !self.release.knows(command) || !any {
            return Refused(EINVAL, None);
        }
        if command.needs_admin() && !admin {
            return Refused(EPERM, None);
        }
        let served = if dump { command.has_dump() } else { command.has_doit() };
        if !served {
            return Refused(EINVAL, None);
        }
        use NldevCommand as C;
        // A list of all devices looks at no attribute.
        if !(dump && matches!(command, C::Get | C::ResGet))
            && let Err(text) = policy::check(self.release, command, &request.encode())
        {
            return if dump { ListFailed(EINVAL) } else { Refused(EINVAL, Some(text)) };
        }
        match (command, dump) {
            (C::Get, true) => List(self.listed().map(|device| self.device_message(device)).collect()),
            (C::Get, false) => {
                self.of_device(request, |state, device| Done(vec![state.device_message(device)]))
            }
            (C::PortGet, true) => self.of_device_list(request, |state, device| {
                List(device.ports.iter().map(|port| state.port_message(C::PortGet, device, port)).collect())
            }),
            (C::PortGet, false) => self
                .of_port(request, |state, device, port| Done(vec![state.port_message(C::Get, device, port)])),
            (C::SysGet, _) => Done(vec![self.system_message()]),
            (C::GetChardev, _) => self.chardev(request),
            (C::Set, _) => self.set(request, effects),
            (C::NewLink, _) => self.new_link(request, effects),
            (C::DelLink, _) => self.del_link(request, effects),
            (C::SysSet, _) => self.sys_set(request),
            (C::NewDev, _) => self.new_dev(request, effects),
            (C::DelDev, _) => self.del_dev(request, effects),
            (C::StatGet, _) => self.stat_get(request, dump),
            (C::StatGetStatus, _) => self.stat_status(request),
            (C::StatSet, _) => self.stat_set(request),
            (C::StatDel, _) => self.stat_del(request),
            (C::ResGet, true) => List(self.listed().map(|device| self.summary(device)).collect()),
            (C::ResGet, false) => self.of_device(request, |state, device| Done(vec![state.summary(device)])),
            // No device here has pools.
            (C::FrmrPoolsGet, _) => self.of_device_list(request, |_, _| List(Vec::new())),
            (C::FrmrPoolsSet, _) => self.of_device(request, |_, _| {
                let asked = |number| request.find(number).is_some();
                match asked(RDMA_NLDEV_ATTR_FRMR_POOLS_AGING_PERIOD)
                    || asked(RDMA_NLDEV_ATTR_FRMR_POOL_PINNED_HANDLES)
                {
                    true => Refused(EINVAL, None),
                    false => Done(Vec::new()),
                }
            }),
            _ => self.objects(request, dump),
        }
    }

    /// Of the device that DEV_INDEX names.
    pub(super) fn of_device(
        &self,
        request: &NldevMessage,
        answer: impl FnOnce(&Self, &Device) -> Answer,
    ) -> Answer {
        let device = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX).and_then(|index| self.device(index));
        device.map_or(Refused(EINVAL, None), |device| answer(self, device))
    }

    /// As [`of_device`](Self::of_device), for a list.
    pub(super) fn of_device_list(
        &self,
        request: &NldevMessage,
        answer: impl FnOnce(&Self, &Device) -> Answer,
    ) -> Answer {
        match self.of_device(request, answer) {
            Refused(errno, _) => ListFailed(errno),
            other => other,
        }
    }

    /// Of the port that DEV_INDEX and PORT_INDEX name.
    pub(super) fn of_port(
        &self,
        request: &NldevMessage,
        answer: impl FnOnce(&Self, &Device, &Port) -> Answer,
    ) -> Answer {
        let numbers =
            (request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX), request.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX));
        let (Some(index), Some(number)) = numbers else { return Refused(EINVAL, None) };
        self.port(index, number).map_or(Refused(EINVAL, None), |(device, port)| answer(self, device, port))
    }

    fn device_message(&self, device: &Device) -> NldevMessage {
        let last = device.ports.iter().map(|port| port.number).max().unwrap_or(0);
        let mut attributes = vec![index(device), name(device), A::PortIndex(last)];
        attributes.extend(device.cap_flags.map(A::CapFlags));
        attributes.extend(device.firmware.clone().map(A::FwVersion));
        attributes.push(A::NodeGuid(guid(&device.node_guid)));
        attributes.push(A::SysImageGuid(guid(&device.sys_image_guid)));
        attributes.push(A::DevNodeType(node_type(&device.node_type)));
        if self.release.has_dim() {
            attributes.extend(device.adaptive_moderation.map(|dim| A::DevDim(u8::from(dim))));
        }
        if self.release.has_name_assign_type() {
            // RDMA_DEVICE_TYPE_SMI
            attributes.extend(device.device_type.as_ref().map(|_| A::DevType(1)));
            attributes.extend(device.parent.clone().map(A::ParentName));
            attributes.extend(device.name_assign_type.map(A::NameAssignType));
        }
        if self.release.has_protocol() {
            attributes.extend(device.protocol.clone().map(A::DevProtocol));
        }
        NldevMessage::new(NldevCommand::Get, attributes)
    }

    fn port_message(&self, command: NldevCommand, device: &Device, port: &Port) -> NldevMessage {
        let mut attributes = vec![index(device), name(device), A::PortIndex(port.number)];
        if port.link_layer == "InfiniBand" {
            attributes.extend(port.cap_mask.map(|mask| A::CapFlags(u64::from(mask))));
            attributes.push(A::SubnetPrefix(port.subnet_prefix.as_deref().map_or(0, guid)));
            attributes.push(A::Lid(port.lid.unwrap_or(0)));
            attributes.push(A::SmLid(port.sm_lid.unwrap_or(0)));
            attributes.push(A::Lmc(port.lmc.unwrap_or(0)));
        }
        attributes.push(A::PortState(port_state(&port.state)));
        attributes.push(A::PortPhysState(phys_state(&port.phys_state)));
        if let Some(netdev) = port.netdev.as_deref().and_then(|name| self.netdev(name)) {
            attributes.push(A::NdevIndex(netdev.index));
            attributes.push(A::NdevName(netdev.name.clone()));
        }
        NldevMessage::new(command, attributes)
    }

    fn system_message(&self) -> NldevMessage {
        let kernel = &self.machine.kernel;
        let mut attributes = Vec::new();
        let shared = kernel.netns_mode != Some(NetnsMode::Exclusive);
        attributes.push(A::SysNetnsMode(u8::from(shared)));
        if self.release.has_privileged_qkey() {
            attributes.extend(kernel.privileged_qkey.map(|on| A::SysPrivilegedQkeyMode(u8::from(on))));
        }
        if self.release.has_events() {
            attributes.extend(kernel.monitor.map(|on| A::SysMonitorMode(u8::from(on))));
        }
        if self.release.has_copy_on_fork() {
            attributes.extend(kernel.copy_on_fork.map(|on| A::SysCopyOnFork(u8::from(on))));
        }
        NldevMessage::new(NldevCommand::SysGet, attributes)
    }

    fn chardev(&mut self, request: &NldevMessage) -> Answer {
        let Some(kind) = request.get_string(RDMA_NLDEV_ATTR_CHARDEV_TYPE) else {
            return Refused(EINVAL, None);
        };
        let device = request.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX);
        let port = request.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX);
        let there = match (device, port) {
            (None, port) => port.is_none(),
            (Some(index), None) => self.device(index).is_some(),
            (Some(index), Some(number)) => self.port(index, number).is_some(),
        };
        if !there {
            return Refused(EINVAL, None);
        }
        // A client that is not there is asked for as the module rdma-client-TYPE.
        match (kind.as_str(), device) {
            ("uverbs", Some(index)) => {
                self.load_module("ib_uverbs");
                let node = self.device(index).and_then(|device| device.uverbs.as_ref());
                let Some(node) = node else { return Refused(EOPNOTSUPP, None) };
                if port.is_some() {
                    return Refused(EINVAL, None);
                }
                let mut attributes = Vec::new();
                attributes.extend(node.driver_id.map(A::UverbsDriverId));
                let (major, minor) = device_number(&node.dev).unwrap_or_default();
                attributes.push(A::Chardev(encode_device(major, minor)));
                attributes.push(A::ChardevAbi(u64::from(node.abi.unwrap_or(0))));
                attributes.push(A::ChardevName(node.name.clone()));
                Done(vec![NldevMessage::new(NldevCommand::GetChardev, attributes)])
            }
            ("umad", Some(index)) => {
                self.load_module("ib_umad");
                let ports = self.device(index).map(|device| &device.ports).into_iter().flatten();
                let nodes: Vec<_> =
                    ports.filter_map(|port| Some((port.number, port.umad.as_ref()?))).collect();
                match port {
                    _ if nodes.is_empty() => Refused(EOPNOTSUPP, None),
                    None => Refused(EINVAL, None),
                    Some(number) => match nodes.into_iter().find(|(of, _)| *of == number) {
                        None => Refused(EOPNOTSUPP, None),
                        Some((_, umad)) => {
                            let number = umad.strip_prefix("umad").and_then(|number| number.parse().ok());
                            Done(vec![node(umad, umad_device(number.unwrap_or(0)), 5)])
                        }
                    },
                }
            }
            ("rdma_cm", None) if self.load_module("rdma_ucm") => Done(vec![node("rdma_cm", (10, 260), 4)]),
            _ => Refused(EOPNOTSUPP, None),
        }
    }
}

fn node(name: &str, (major, minor): (u32, u32), abi: u64) -> NldevMessage {
    let device = encode_device(u64::from(major), u64::from(minor));
    let attributes = vec![A::Chardev(device), A::ChardevAbi(abi), A::ChardevName(name.to_owned())];
    NldevMessage::new(NldevCommand::GetChardev, attributes)
}

pub(super) fn index(device: &Device) -> A {
    A::DevIndex(device.index)
}

pub(super) fn name(device: &Device) -> A {
    A::DevName(device.name.clone())
}

/// A GUID in host order.
fn guid(text: &str) -> u64 {
    text.parse::<crate::nl::Guid>().map_or(0, |guid| guid.0)
}
