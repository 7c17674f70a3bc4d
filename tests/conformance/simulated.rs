//! Rows on the simulated kernel.

use std::sync::Arc;

use rdma_operator::inventory::Host;
use rdma_operator::machine::document::{Device, Netdev, NetdevKind};
use rdma_operator::machine::{Machine, Simulator};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};

use crate::row::{Act, On};
use crate::{World, datagram};

/// The netdevs that every row has.
const NETDEVS: &str = r#"
netdevs:
  - {index: 1, name: lo, kind: loopback, mac: "00:00:00:00:00:00", mtu: 65536, up: true, carrier: true, addresses: ["127.0.0.1/8"]}
  - {index: 2, name: nd0, kind: dummy, mac: "00:00:5e:00:53:01", mtu: 1500, up: true, carrier: true, addresses: ["fe80::200:5eff:fe00:5301/64"]}
  - {index: 3, name: nd1, kind: dummy, mac: "00:00:5e:00:53:02", mtu: 1500, up: true, carrier: true, addresses: ["fe80::200:5eff:fe00:5302/64"]}
  - {index: 4, name: vl0, kind: vlan, mac: "00:00:5e:00:53:01", mtu: 1500, up: true, carrier: true, lower: nd0}
  - {index: 5, name: rb0, kind: bridge, mac: "00:00:5e:00:53:03", mtu: 1500, up: true, carrier: true}
  - {index: 6, name: dn0, kind: dummy, mac: "00:00:5e:00:53:04", mtu: 1500, up: false, carrier: false}
"#;

pub(crate) struct Simulated(Simulator);

impl Simulated {
    pub(crate) fn new(on: On) -> Self {
        Self(Simulator::new(machine(on.release(), "shared", 0)))
    }

    fn netdev(&self, name: &str) -> Netdev {
        self.0.machine().netdevs.into_iter().find(|netdev| netdev.name == name).unwrap()
    }

    /// The same host with another kernel setting.
    fn again(&mut self, change: impl FnOnce(&mut Machine)) {
        let mut machine = self.0.machine();
        change(&mut machine);
        self.0 = Simulator::new(machine);
    }
}

fn machine(release: &str, mode: &str, other_netns: u32) -> Machine {
    let head = format!(
        "apiVersion: rdma-operator.dev/v1alpha1\nkind: Machine\nmetadata: {{name: rows}}\n\
         kernel: {{release: \"{release}\", netnsMode: {mode}, copyOnFork: true, privilegedQkey: false, monitor: true, \
         modules: [ib_core, ib_uverbs, rdma_cm, rdma_ucm], otherNetns: {other_netns}}}\n\
         charDevices: [rdma_cm]"
    );
    Machine::load(&format!("{head}{NETDEVS}"), "rows").unwrap()
}

/// A device that NEWLINK has not made.
fn hardware() -> Device {
    let text = include_str!("../data/machines/dgx-h100.yaml");
    let device = Machine::load(text, "dgx-h100").unwrap().devices.swap_remove(0);
    Device { name: "fake0".into(), ..device }
}

impl World for Simulated {
    fn host(&self) -> Arc<dyn Host> {
        Arc::new(self.0.clone())
    }

    fn exchange(&mut self, datagram: &[u8]) -> Option<Vec<Vec<u8>>> {
        self.0.exchange(datagram)
    }

    fn netns(&self) -> u32 {
        0
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        match act {
            Act::Link(name, kind, netdev) => self.0.make_link(name, kind, netdev).unwrap(),
            Act::Up(name) => self.0.set_netdev(Netdev { up: true, carrier: true, ..self.netdev(name) }),
            Act::Down(name) => self.0.set_netdev(Netdev { up: false, carrier: false, ..self.netdev(name) }),
            Act::Renamed(from, to) => self.0.rename_netdev(from, to),
            Act::NoAddress(netdev, address) => self.0.remove_address(netdev, address),
            Act::Veth => {
                let ends = [(7, "ve0", "00:00:5e:00:53:05", "ve1"), (8, "ve1", "00:00:5e:00:53:06", "ve0")];
                for (index, name, mac, other) in ends {
                    let (name, mac, lower) = (name.into(), Some(mac.into()), Some(other.into()));
                    let kind = NetdevKind::Veth;
                    self.0.set_netdev(Netdev { index, name, mac, kind, lower, ..self.netdev("nd0") });
                }
            }
            Act::Away(name) => {
                let index =
                    self.0.machine().devices.into_iter().find(|known| known.name == name).unwrap().index;
                let move_it = NldevMessage::new(NldevCommand::Set, vec![A::DevIndex(index), A::NetNsFd(0)]);
                let answer = self.0.exchange(&datagram(&move_it, false)).unwrap();
                assert_eq!(answer[0][16..20], [0; 4], "{name} moves");
            }
            Act::Gone(name) => drop(self.0.remove_netdev(name)),
            Act::Address(netdev, address) => self.0.add_address(netdev, address),
            Act::Hardware => drop(self.0.plug(hardware())),
            Act::Hold(device) => self.0.open_contexts(device, 1),
            Act::NoModules => ["rdma_rxe", "siw"].into_iter().for_each(|name| self.0.forbid_module(name)),
            Act::OtherNetns => self.again(|machine| machine.kernel.other_netns = 1),
            Act::Exclusive => self.again(|machine| {
                machine.kernel.netns_mode = Some(rdma_operator::machine::document::NetnsMode::Exclusive);
            }),
            Act::Nobody => self.0 = self.0.unprivileged(),
        }
        Ok(())
    }
}
