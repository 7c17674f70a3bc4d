//! Rows on the kernel this program runs on.

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use rdma_operator::inventory::{Host, LiveHost, Options};
use rdma_operator::nl::blocking_kernel;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::World;
use crate::row::{Act, On};

/// Makes the netdevs that every row has, as far as they are not there.
const SET_UP: &str = "set -e; modprobe -a ib_uverbs rdma_ucm dummy bridge 8021q
    for n in nd0 nd1; do [ -e /sys/class/net/$n ] || ip link add $n type dummy; ip link set $n up; done
    [ -e /sys/class/net/vl0 ] || ip link add link nd0 name vl0 type vlan id 7; ip link set vl0 up
    [ -e /sys/class/net/rb0 ] || ip link add rb0 type bridge; ip link set rb0 up
    [ -e /sys/class/net/dn0 ] || ip link add dn0 type dummy; ip link set dn0 down";
/// Removes all soft links: before the first row there is no RDMA device, so they are the rows'.
const NO_LINKS: &str = "for d in /sys/class/infiniband/*; do
    [ -e $d ] && rdma link delete ${d##*/} 2>/dev/null; done; ls /sys/class/infiniband 2>/dev/null; true";
/// A namespace goes a while after its name, and the mode does not change before.
const SHARED: &str = "read shared < /sys/module/ib_core/parameters/netns_mode; [ $shared = Y ] && exit 0
    for n in 1 2 3 4 5 6 7 8 9; do
    rdma system set netns shared 2>/dev/null && exit 0; sleep 0.3; done; rdma system set netns shared";
const NO_MODULES: &str = "mkdir -p /run/modprobe.d; rmmod rdma_rxe siw 2>/dev/null
    printf 'install rdma_rxe /bin/false\ninstall siw /bin/false\n' > /run/modprobe.d/rows.conf";
/// How long a request may take before its row is said to wait.
const ANSWER: Duration = Duration::from_secs(3);
const CLEAN: Duration = Duration::from_secs(20);

/// Runs a script; what it printed, or what it said when it failed.
fn shell(script: &str) -> Result<String, String> {
    let output = Command::new("sh").args(["-c", script]).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{script}: {}: {}", output.status, said.trim())),
    }
}

pub(crate) fn series() -> On {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    match release.split('.').take(2).collect::<Vec<_>>()[..] {
        ["6", "12"] => On::V6_12,
        ["7", "3"] => On::V7_3,
        _ => panic!("no rows are about {release}"),
    }
}

type Answer = Vec<Vec<u8>>;

#[derive(Default)]
pub(crate) struct Live {
    /// What has been done and is to be undone.
    acts: Vec<Act>,
    /// Verbs nodes that a row holds open.
    held: Vec<File>,
    /// The namespace that a row moves devices to.
    netns: Option<File>,
    /// Requests are sent without CAP_NET_ADMIN.
    nobody: bool,
    /// A request that the kernel has not answered.
    waiting: Option<Receiver<Answer>>,
}

impl Live {
    pub(crate) fn new() -> Result<Self, String> {
        let devices = shell("ls /sys/class/infiniband 2>/dev/null; true")?;
        if !devices.is_empty() {
            return Err(format!("rows need a node without RDMA devices: here are {devices}"));
        }
        shell(SET_UP).map(|_| Self::default())
    }

    /// As before the first row; why it cannot be.
    pub(crate) fn clean_up(&mut self) -> Result<(), String> {
        self.held.clear();
        self.netns = None;
        self.nobody = false;
        if self.waiting.take().is_some_and(|answer| answer.recv_timeout(CLEAN).is_err()) {
            return Err("the kernel does not answer though nobody holds the device".to_owned());
        }
        // Latest first, but for the soft links and the mode, which a request may have changed.
        while let Some(act) = self.acts.pop() {
            undo(act)?;
        }
        shell(SHARED)?;
        let end = Instant::now() + CLEAN;
        loop {
            let left = shell(NO_LINKS)?;
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("cannot be taken away: {left}"));
            }
        }
    }
}

/// Takes away what an act has left, but for RDMA devices.
fn undo(act: Act) -> Result<(), String> {
    let done = match act {
        Act::Up(_) | Act::Down(_) | Act::Gone(_) => shell(SET_UP),
        Act::Renamed(from, to) => {
            shell(&format!("[ ! -e /sys/class/net/{to} ] || ip link set {to} name {from}"))
        }
        Act::Address(netdev, address) => shell(&format!(
            "[ ! -e /sys/class/net/{netdev} ] || {{ ip addr del {address} dev {netdev} 2>/dev/null
            ! ip -o addr show dev {netdev} | grep -qF ' {address} '; }}"
        )),
        Act::Veth => shell("[ ! -e /sys/class/net/ve0 ] || ip link del ve0"),
        Act::Hardware => shell("rmmod fakehca"),
        Act::OtherNetns => shell("ip netns delete rows"),
        Act::NoModules => shell("rm /run/modprobe.d/rows.conf"),
        Act::Link(..) | Act::NoAddress(..) | Act::Hold(_) | Act::Nobody | Act::Exclusive | Act::Away(_) => {
            Ok(String::new())
        }
    };
    done.map(drop).map_err(|why| format!("after {act:?}: {why}"))
}

impl Drop for Live {
    fn drop(&mut self) {
        let cleaned =
            self.clean_up().and_then(|()| shell("for n in vl0 nd0 nd1 rb0 dn0; do ip link del $n; done"));
        if let Err(why) = cleaned {
            println!("not cleaned up: {why}");
        }
    }
}

impl World for Live {
    fn host(&self) -> Arc<dyn Host> {
        Arc::new(LiveHost::new(Options { sysfs: "/sys".into(), dev: "/dev".into() }))
    }

    fn exchange(&mut self, datagram: &[u8]) -> Option<Answer> {
        let (sender, answer) = mpsc::channel();
        let (nobody, datagram) = (self.nobody, datagram.to_vec());
        thread::spawn(move || {
            if nobody {
                // The kernel asks for the capability of the thread that sends.
                let mut mine = capabilities(None).unwrap();
                mine.effective.remove(CapabilitySet::NET_ADMIN);
                set_capabilities(None, mine).unwrap();
            }
            drop(sender.send(blocking_kernel()().unwrap().exchange(&datagram).unwrap()));
        });
        match answer.recv_timeout(ANSWER) {
            Ok(answer) => Some(answer),
            Err(_) => {
                self.waiting = Some(answer);
                None
            }
        }
    }

    fn netns(&self) -> u32 {
        self.netns.as_ref().map_or(u32::MAX, |file| file.as_raw_fd().try_into().unwrap())
    }

    fn act(&mut self, act: Act) -> Result<(), String> {
        self.acts.push(act);
        let done = match act {
            Act::Link(name, kind, netdev) => {
                // With the time that its attachment takes to be told.
                shell(&format!("rdma link add {name} type {kind} netdev {netdev} && sleep 0.2"))
            }
            Act::Up(name) => shell(&format!("ip link set {name} up")),
            Act::Down(name) => shell(&format!("ip link set {name} down")),
            Act::Renamed(from, to) => shell(&format!("ip link set {from} name {to}")),
            Act::NoAddress(netdev, address) => shell(&format!("ip addr del {address} dev {netdev}")),
            Act::Veth => {
                shell("ip link add ve0 type veth peer name ve1 && ip link set ve0 up && ip link set ve1 up")
            }
            Act::Away(device) => shell(&format!("rdma dev set {device} netns rows")),
            Act::Gone(name) => shell(&format!("ip link del {name}")),
            Act::Address(netdev, address) => shell(&format!("ip addr add {address} dev {netdev}")),
            Act::Hardware => shell("modprobe fakehca devices=1 ports=2"),
            Act::OtherNetns => {
                let made = shell("ip netns add rows");
                self.netns = File::open("/run/netns/rows").ok();
                made
            }
            Act::Hold(device) => {
                let script =
                    format!("basename $(dirname $(grep -lx {device} /sys/class/infiniband_verbs/*/ibdev))");
                shell(&script).and_then(|node| {
                    let path = format!("/dev/infiniband/{}", node.trim());
                    let file = File::options().read(true).write(true).open(&path);
                    self.held.push(file.map_err(|error| format!("{path}: {error}"))?);
                    Ok(String::new())
                })
            }
            Act::NoModules => shell(NO_MODULES),
            Act::Exclusive => shell("rdma system set netns exclusive"),
            Act::Nobody => {
                self.nobody = true;
                Ok(String::new())
            }
        };
        done.map(drop).map_err(|why| format!("{act:?}: {why}"))
    }
}
