//! A recorded machine as a host that is only read: its sysfs, its NETLINK_RDMA and its netdevs.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::BoxFuture;
use netlink_packet_core::{
    DoneMessage, ErrorMessage, NLM_F_MULTIPART, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use rdma_operator::inventory::{Change, Host, Netdev};
use rdma_operator::machine::Machine;
use rdma_operator::machine::document::{Device, NetdevKind, NetnsMode, Port};
use rdma_operator::machine::errno;
use rdma_operator::nl::packet::{
    AttributeList, NldevAttribute as A, NldevCommand, NldevMessage, RdmaMessage, number,
};
use rdma_operator::nl::{self, ChannelSocket, PhysState, PortState};
use rdma_operator::sysfs::{Sysfs, Tree};
use tokio::sync::mpsc;

type Message = NetlinkMessage<RdmaMessage>;

/// The machine.
#[derive(Debug)]
pub(crate) struct Recorded(Arc<Machine>);

impl Recorded {
    pub(crate) fn new(machine: Machine) -> Self {
        Self(Arc::new(machine))
    }
}

impl Host for Recorded {
    fn release(&self) -> String {
        self.0.kernel.release.clone()
    }

    fn sysfs(&self) -> Sysfs {
        Sysfs::of(Arc::new(Files::of(&self.0)))
    }

    fn has_node(&self, name: &str) -> bool {
        self.0.char_devices.iter().any(|node| node == name)
    }

    fn other_netns(&self) -> u32 {
        self.0.kernel.other_netns
    }

    fn connect(&self) -> nl::Result<nl::Handle> {
        if !self.0.kernel.modules.iter().any(|module| module == "ib_core") {
            return Err(nl::Error::Open(io::Error::from_raw_os_error(nl_errno("EPROTONOSUPPORT"))));
        }
        let (socket, mut peer) = ChannelSocket::pair().map_err(nl::Error::Open)?;
        let blocking = Arc::new(|| Err(io::Error::from(io::ErrorKind::Unsupported)));
        let (connection, handle, _events) = nl::from_socket(socket, blocking);
        tokio::spawn(connection);
        let machine = self.0.clone();
        tokio::spawn(async move {
            while let Some(bytes) = peer.recv().await {
                for datagram in answers(&machine, &bytes) {
                    peer.send(Ok(datagram));
                }
            }
        });
        Ok(handle)
    }

    fn monitor(&self) -> nl::Result<nl::Events> {
        Err(nl::Error::Open(io::Error::from(io::ErrorKind::Unsupported)))
    }

    fn netdevs(&self) -> BoxFuture<'_, Result<Vec<Netdev>, String>> {
        let netdevs = self.0.netdevs.iter().map(|netdev| {
            let kind = match netdev.kind {
                NetdevKind::Ether | NetdevKind::Loopback => None,
                kind => Some(format!("{kind:?}").to_lowercase()),
            };
            let address = |text: &String| {
                let (address, prefix) = text.split_once('/').unwrap();
                (address.parse().unwrap(), prefix.parse().unwrap())
            };
            let mut addresses: Vec<_> = netdev.addresses.iter().map(address).collect();
            addresses.sort();
            Netdev {
                index: netdev.index,
                name: netdev.name.clone(),
                mtu: netdev.mtu,
                up: netdev.up,
                carrier: netdev.carrier,
                kind,
                mac: netdev.mac.clone(),
                pci: netdev.pci.clone(),
                master: netdev.master.clone(),
                lower: netdev.lower.clone(),
                addresses,
                default_route: None,
            }
        });
        let netdevs = netdevs.collect();
        Box::pin(async { Ok(netdevs) })
    }

    fn changes(&self) -> mpsc::Receiver<Change> {
        mpsc::channel(1).1
    }
}

fn nl_errno(name: &str) -> i32 {
    match name {
        "EPROTONOSUPPORT" => 93,
        name => errno::number(name).unwrap(),
    }
}

/// A sysfs in memory.
#[derive(Debug, Default)]
struct Files {
    files: BTreeMap<String, Result<String, i32>>,
    links: BTreeMap<String, PathBuf>,
    folders: BTreeMap<String, BTreeSet<String>>,
}

impl Files {
    fn of(machine: &Machine) -> Self {
        let mut files = Self::default();
        for module in &machine.kernel.modules {
            files.folder(&format!("module/{module}"));
        }
        if machine.kernel.modules.iter().any(|module| module == "ib_core") {
            files.folder("class/infiniband");
        }
        for device in &machine.devices {
            files.device(device);
        }
        for fault in &machine.faults {
            files.files.insert(fault.path.clone(), Err(nl_errno(&fault.errno)));
        }
        files
    }

    fn folder(&mut self, path: &str) {
        self.folders.entry(path.to_owned()).or_default();
        if let Some((above, name)) = path.rsplit_once('/') {
            self.folder(above);
            self.folders.get_mut(above).unwrap().insert(name.to_owned());
        }
    }

    fn put(&mut self, path: String, text: impl ToString) {
        let (above, name) = path.rsplit_once('/').unwrap();
        self.folder(above);
        self.folders.get_mut(above).unwrap().insert(name.to_owned());
        self.files.insert(path, Ok(format!("{}\n", text.to_string())));
    }

    fn maybe(&mut self, path: String, text: Option<impl ToString>) {
        if let Some(text) = text {
            self.put(path, text);
        }
    }

    fn texts(&mut self, folder: &str, texts: Option<&BTreeMap<String, String>>) {
        if let Some(texts) = texts {
            self.folder(folder);
            texts.iter().for_each(|(name, text)| self.put(format!("{folder}/{name}"), text));
        }
    }

    fn device(&mut self, device: &Device) {
        let ib = format!("class/infiniband/{}", device.name);
        self.folder(&ib);
        let number = node_type(&device.node_type);
        let word = nl::NodeType::from(number).sysfs_name();
        self.put(format!("{ib}/node_type"), format!("{number}: {word}"));
        self.put(format!("{ib}/node_guid"), &device.node_guid);
        self.put(format!("{ib}/sys_image_guid"), &device.sys_image_guid);
        self.maybe(format!("{ib}/fw_ver"), device.firmware.as_ref());
        self.maybe(format!("{ib}/hca_type"), device.hca_type.as_ref());
        self.maybe(format!("{ib}/board_id"), device.board_id.as_ref());
        self.maybe(format!("{ib}/parent"), device.parent_netdev.as_ref());
        self.texts(&format!("{ib}/hw_counters"), device.hw_counters.as_ref());
        if let Some(pci) = &device.pci {
            let root = pci.root.as_deref().unwrap_or("pci0000:00");
            self.links.insert(format!("{ib}/device"), format!("/sys/devices/{root}/{}", pci.address).into());
            self.maybe(format!("{ib}/device/class"), pci.class.as_ref().map(|id| format!("0x{id}")));
            self.maybe(format!("{ib}/device/vendor"), pci.vendor.as_ref().map(|id| format!("0x{id}")));
            self.maybe(format!("{ib}/device/device"), pci.device.as_ref().map(|id| format!("0x{id}")));
            self.maybe(format!("{ib}/device/numa_node"), pci.numa_node);
            if let Some(physfn) = &pci.physfn {
                self.links
                    .insert(format!("{ib}/device/physfn"), format!("/sys/devices/{root}/{physfn}").into());
            }
            if let Some(driver) = &device.driver {
                let target = format!("/sys/bus/pci/drivers/{driver}").into();
                self.links.insert(format!("{ib}/device/driver"), target);
            }
        }
        if let Some(node) = &device.uverbs {
            let verbs = format!("class/infiniband_verbs/{}", node.name);
            self.put(format!("{verbs}/ibdev"), &device.name);
            self.put(format!("{verbs}/dev"), &node.dev);
            self.maybe(format!("{verbs}/abi_version"), node.abi);
        }
        self.folder(&format!("{ib}/ports"));
        for port in &device.ports {
            self.port(&device.name, &format!("{ib}/ports/{}", port.number), port);
        }
    }

    fn port(&mut self, device: &str, folder: &str, port: &Port) {
        let (logical, physical) = states(port);
        self.put(format!("{folder}/state"), format!("{logical}: {}", port.state));
        self.put(format!("{folder}/phys_state"), format!("{physical}: {}", port.phys_state));
        self.put(format!("{folder}/link_layer"), &port.link_layer);
        self.maybe(format!("{folder}/rate"), port.rate.as_ref());
        self.maybe(format!("{folder}/cap_mask"), port.cap_mask.map(|mask| format!("0x{mask:08x}")));
        self.maybe(format!("{folder}/lid"), port.lid.map(|lid| format!("0x{lid:x}")));
        self.maybe(format!("{folder}/sm_lid"), port.sm_lid.map(|lid| format!("0x{lid:x}")));
        self.maybe(format!("{folder}/lid_mask_count"), port.lmc);
        self.folder(&format!("{folder}/gids"));
        for slot in 0..port.gid_table_size {
            self.put(format!("{folder}/gids/{slot}"), "0000:0000:0000:0000:0000:0000:0000:0000");
            for attribute in ["types", "ndevs"] {
                let path = format!("{folder}/gid_attrs/{attribute}/{slot}");
                self.put(path.clone(), "");
                self.files.insert(path, Err(nl_errno("EINVAL")));
            }
        }
        for gid in &port.gids {
            self.put(format!("{folder}/gids/{}", gid.index), &gid.gid);
            self.maybe(format!("{folder}/gid_attrs/types/{}", gid.index), gid.gid_type.as_ref());
            self.maybe(format!("{folder}/gid_attrs/ndevs/{}", gid.index), gid.netdev.as_ref());
        }
        for (slot, key) in port.pkeys.iter().flatten().enumerate() {
            self.put(format!("{folder}/pkeys/{slot}"), key);
        }
        self.texts(&format!("{folder}/counters"), port.counters.as_ref());
        self.texts(&format!("{folder}/hw_counters"), port.hw_counters.as_ref());
        for node in [&port.umad, &port.issm].into_iter().flatten() {
            self.put(format!("class/infiniband_mad/{node}/ibdev"), device);
            self.put(format!("class/infiniband_mad/{node}/port"), port.number);
        }
    }
}

impl Tree for Files {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.files.get(path.to_str().unwrap()) {
            Some(Ok(text)) => Ok(text.clone().into_bytes()),
            Some(Err(errno)) => Err(io::Error::from_raw_os_error(*errno)),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = self.folders.get(path.to_str().unwrap());
        names.map(|names| names.iter().cloned().collect()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn target(&self, path: &Path) -> io::Result<PathBuf> {
        self.links.get(path.to_str().unwrap()).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.folders.contains_key(path.to_str().unwrap())
    }
}

fn node_type(word: &str) -> u8 {
    let words = ["CA", "SWITCH", "ROUTER", "RNIC", "USNIC", "USNIC_UDP", "UNSPECIFIED"];
    u8::try_from(words.iter().position(|known| *known == word).unwrap() + 1).unwrap()
}

fn states(port: &Port) -> (u8, u8) {
    let logical = (0..=5).find(|number| PortState::from(*number).as_str() == port.state).unwrap();
    let physical =
        (1..=7).find(|number| PhysState::from(*number).sysfs_name().replace(' ', "") == port.phys_state);
    (logical, physical.unwrap())
}

/// What the kernel sends for a request.
fn answers(machine: &Machine, bytes: &[u8]) -> Vec<Vec<u8>> {
    let request = Message::deserialize(bytes).unwrap();
    let NetlinkPayload::InnerMessage(RdmaMessage::Nldev(asked)) = &request.payload else { return Vec::new() };
    let dump = request.header.flags & 0x300 == 0x300;
    let reply = |flags: u16, payload: NetlinkPayload<RdmaMessage>| {
        let mut header = NetlinkHeader::default();
        header.sequence_number = request.header.sequence_number;
        header.flags = flags;
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        bytes
    };
    let mut sent = Vec::new();
    let code = match data(machine, asked, dump) {
        Ok(messages) => {
            let flags = if dump { NLM_F_MULTIPART } else { 0 };
            let command = asked.command;
            sent.extend(messages.into_iter().map(|attributes| {
                reply(flags, RdmaMessage::from(NldevMessage::new(command, attributes)).into())
            }));
            0
        }
        Err(name) => -nl_errno(name),
    };
    if dump && code == 0 {
        sent.push(reply(NLM_F_MULTIPART, NetlinkPayload::Done(DoneMessage::default())));
    } else {
        let mut error = ErrorMessage::default();
        error.code = std::num::NonZeroI32::new(code);
        error.header = vec![0; 16];
        sent.push(reply(0x100, NetlinkPayload::Error(error)));
    }
    sent
}

fn data(machine: &Machine, asked: &NldevMessage, dump: bool) -> Result<Vec<Vec<A>>, &'static str> {
    let device = || {
        let index = asked.attributes.get_u32(number::RDMA_NLDEV_ATTR_DEV_INDEX);
        machine.devices.iter().find(|device| Some(device.index) == index).ok_or("EINVAL")
    };
    match asked.command {
        NldevCommand::Get if dump => Ok(machine.devices.iter().map(of_device).collect()),
        NldevCommand::Get => Ok(vec![of_device(device()?)]),
        NldevCommand::PortGet => {
            let device = device()?;
            let wanted = asked.attributes.get_u32(number::RDMA_NLDEV_ATTR_PORT_INDEX);
            let port = device.ports.iter().find(|port| Some(port.number) == wanted).ok_or("EINVAL")?;
            Ok(vec![of_port(device, port)])
        }
        NldevCommand::SysGet => Ok(vec![of_system(machine)]),
        NldevCommand::GetChardev => {
            let node = device()?.uverbs.as_ref().ok_or("EOPNOTSUPP")?;
            let (major, minor) = node.dev.split_once(':').unwrap();
            let (major, minor): (u64, u64) = (major.parse().unwrap(), minor.parse().unwrap());
            let mut attributes = vec![
                A::Chardev(minor & 0xff | major << 8 | (minor & !0xff) << 12),
                A::ChardevAbi(node.abi.unwrap_or(0).into()),
                A::ChardevName(node.name.clone()),
            ];
            attributes.extend(node.driver_id.map(A::UverbsDriverId));
            Ok(vec![attributes])
        }
        _ if dump => Ok(Vec::new()),
        _ => Err("EINVAL"),
    }
}

fn guid(text: &str) -> u64 {
    text.parse::<nl::Guid>().unwrap().0
}

fn of_device(device: &Device) -> Vec<A> {
    let mut attributes = vec![
        A::DevIndex(device.index),
        A::DevName(device.name.clone()),
        A::PortIndex(u32::try_from(device.ports.len()).unwrap()),
        A::NodeGuid(guid(&device.node_guid)),
        A::SysImageGuid(guid(&device.sys_image_guid)),
        A::DevNodeType(node_type(&device.node_type)),
    ];
    attributes.extend(device.firmware.clone().map(A::FwVersion));
    attributes.extend(device.cap_flags.map(A::CapFlags));
    attributes.extend(device.adaptive_moderation.map(|on| A::DevDim(on.into())));
    attributes.extend(device.name_assign_type.map(A::NameAssignType));
    attributes.extend(device.protocol.clone().map(A::DevProtocol));
    attributes.extend(device.device_type.as_ref().map(|_| A::DevType(1)));
    attributes.extend(device.parent.clone().map(A::ParentName));
    attributes
}

fn of_port(device: &Device, port: &Port) -> Vec<A> {
    let (logical, physical) = states(port);
    let mut attributes = vec![
        A::DevIndex(device.index),
        A::DevName(device.name.clone()),
        A::PortIndex(port.number),
        A::PortState(logical),
        A::PortPhysState(physical),
    ];
    if let Some(prefix) = &port.subnet_prefix {
        attributes.push(A::SubnetPrefix(guid(prefix)));
        attributes.extend(port.lid.map(A::Lid));
        attributes.extend(port.sm_lid.map(A::SmLid));
        attributes.extend(port.lmc.map(A::Lmc));
    }
    attributes.extend(port.netdev.clone().map(A::NdevName));
    attributes
}

fn of_system(machine: &Machine) -> Vec<A> {
    let kernel = &machine.kernel;
    let mode = kernel.netns_mode.map(|mode| A::SysNetnsMode((mode == NetnsMode::Shared).into()));
    let flag = |flag: Option<bool>, attribute: fn(u8) -> A| flag.map(|on| attribute(on.into()));
    [
        mode,
        flag(kernel.copy_on_fork, A::SysCopyOnFork),
        flag(kernel.privileged_qkey, A::SysPrivilegedQkeyMode),
        flag(kernel.monitor, A::SysMonitorMode),
    ]
    .into_iter()
    .flatten()
    .collect()
}
