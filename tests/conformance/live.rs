//! Rows on the kernel this program runs on.

use std::process::Command;
use std::sync::Arc;

use rdma_operator::inventory::{Host, LiveHost, Options};
use rdma_operator::nl::{BlockingSocket, blocking_kernel};

use crate::World;
use crate::row::{Act, On};

/// Makes the netdevs that every row has, as far as they are not there.
const SET_UP: &str = "modprobe -a ib_uverbs rdma_ucm dummy bridge 8021q
    for n in nd0 nd1; do ip link show $n > /dev/null 2>&1 || ip link add $n type dummy; ip link set $n up; done
    ip link show vl0 > /dev/null 2>&1 || ip link add link nd0 name vl0 type vlan id 7; ip link set vl0 up
    ip link show rb0 > /dev/null 2>&1 || ip link add rb0 type bridge; ip link set rb0 up
    ip link show dn0 > /dev/null 2>&1 || ip link add dn0 type dummy; ip link set dn0 down";
/// Takes away what a row has made, by the names that rows use: nobody else's.
const CLEAN_UP: &str =
    "for d in c0 c1 c2 c9 'c!0' $(printf 'c%.0s' $(seq 63)); do rdma link delete $d 2>/dev/null; done
    rmmod fakehca 2>/dev/null
    ip netns delete rows 2>/dev/null
    for n in nd0 nd1 vl0; do ip -4 addr flush dev $n 2>/dev/null; done";

fn shell(script: &str) {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    if !said.trim().is_empty() {
        println!("{script}: {said}");
    }
}

pub(crate) fn series() -> On {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    match release.split('.').take(2).collect::<Vec<_>>()[..] {
        ["6", "12"] => On::V6_12,
        ["7", "3"] => On::V7_3,
        _ => panic!("no rows are about {release}"),
    }
}

pub(crate) struct Live(Box<dyn BlockingSocket>);

impl Live {
    pub(crate) fn new() -> Self {
        let world = Self(blocking_kernel()().unwrap());
        world.clean_up();
        world
    }

    pub(crate) fn clean_up(&self) {
        shell(&format!("{CLEAN_UP}\n{SET_UP}"));
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        shell(&format!("{CLEAN_UP}\nfor n in vl0 nd0 nd1 rb0 dn0; do ip link del $n; done"));
    }
}

impl World for Live {
    fn host(&self) -> Arc<dyn Host> {
        Arc::new(LiveHost::new(Options { sysfs: "/sys".into(), dev: "/dev".into() }))
    }

    fn exchange(&mut self, datagram: &[u8]) -> Option<Vec<Vec<u8>>> {
        Some(self.0.exchange(datagram).unwrap())
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Link(name, kind, netdev) => {
                shell(&format!("rdma link add {name} type {kind} netdev {netdev}"))
            }
            Act::Up(name) => shell(&format!("ip link set {name} up")),
            Act::Gone(name) => shell(&format!("ip link del {name}")),
            Act::Address(netdev, address) => shell(&format!("ip addr add {address} dev {netdev}")),
            Act::Hardware => shell("modprobe fakehca"),
            Act::OtherNetns => shell("ip netns add rows"),
            Act::Hold(_) | Act::NoModules | Act::Exclusive | Act::Nobody => {
                panic!("{act:?} is only simulated")
            }
        }
    }
}
