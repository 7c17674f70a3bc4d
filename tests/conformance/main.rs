//! What kernels do, as rows: operation × state × release → errno, events, resulting state. Every row is run against
//! the simulated kernel, and those that can be against the real one this program finds itself on; where they
//! differ, the simulator is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod counters;
mod links;
mod live;
mod releases;
mod requests;
mod row;
mod simulated;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdma_operator::inventory::{Collector, Dirty, Host, Inventory, Kernel};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};
use rdma_operator::nl::{Event, Events};

use row::{Act, On, Op, Part, Row, Then};

/// How long a real kernel may take to bring a state about.
const WAIT: Duration = Duration::from_secs(5);
/// What is to come in events has come then.
const QUIET: Duration = Duration::from_millis(300);

fn rows() -> Vec<Row> {
    [links::rows(), requests::rows(), counters::rows(), releases::rows()].concat()
}

/// A host on which rows are run.
trait World {
    fn host(&self) -> Arc<dyn Host>;
    /// Sends a datagram; `None` when it is not answered.
    fn exchange(&mut self, datagram: &[u8]) -> Option<Vec<Vec<u8>>>;
    /// Brings it about; why it cannot be.
    fn act(&mut self, act: Act) -> Result<(), String>;
    /// A descriptor of a network namespace that is not the initial one.
    fn netns(&self) -> u32;
}

/// Runs a row; what differs, in a sentence each.
async fn run(world: &mut impl World, row: &Row) -> Vec<String> {
    if let Err(why) = row.before.iter().try_for_each(|act| world.act(*act)) {
        return vec![why];
    }
    let host = world.host();
    let mut collector = Collector::new(Arc::new(Kernel::new(host.clone())));
    let before = collector.collect(&Inventory::default(), &Dirty::all()).await;
    let mut events = host.monitor().unwrap();
    let mut differences = Vec::new();
    let got = match &row.op {
        Op::Ask(command, parts) => ask(world, *command, parts, false, &before),
        Op::List(command, parts) => ask(world, *command, parts, true, &before),
        Op::Happens(act) => {
            let happened = world.act(*act);
            differences.extend(happened.err());
            Some(Told { errno: 0, data: 0, text: None })
        }
    };
    let errno = got.as_ref().map(|told| told.errno);
    if errno != row.errno {
        differences.push(format!("errno {errno:?} instead of {:?}", row.errno));
    }
    let (data, text) = got.map(|told| (told.data, told.text)).unwrap_or_default();
    if row.data.is_some_and(|expected| data != expected) {
        differences.push(format!("{data} messages of data instead of {:?}", row.data));
    }
    if row.says.is_some() && text.as_deref() != row.says {
        differences.push(format!("text {text:?} instead of {:?}", row.says));
    }
    if let Some(expected) = row.events {
        let heard = heard(&mut events).await;
        if heard != expected {
            differences.push(format!("events {heard:?} instead of {expected:?}"));
        }
    }
    let end = Instant::now() + WAIT;
    loop {
        let after = collector.collect(&Inventory::default(), &Dirty::all()).await;
        let wrong: Vec<String> = row.then.iter().filter_map(|then| wrong(then, &after)).collect();
        if wrong.is_empty() || Instant::now() > end {
            differences.extend(wrong);
            return differences;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// What a request is answered with.
struct Told {
    /// 0 for success.
    errno: i32,
    /// Messages of data.
    data: usize,
    /// The text of the extended acknowledgement.
    text: Option<String>,
}

/// A request, or one for a list, as a datagram.
fn datagram(message: &NldevMessage, list: bool) -> Vec<u8> {
    let payload = message.encode();
    // NLM_F_REQUEST and NLM_F_ACK; NLM_F_DUMP for a list.
    let flags: u16 = if list { 0x305 } else { 0x005 };
    let mut datagram = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    datagram.extend(message.message_type().to_ne_bytes());
    datagram.extend(flags.to_ne_bytes());
    datagram.extend(1_u32.to_ne_bytes());
    datagram.extend([0; 4]);
    datagram.extend(payload);
    datagram
}

/// The answer to a request; `None` while the kernel works on it.
fn ask(
    world: &mut impl World,
    command: NldevCommand,
    parts: &[Part],
    list: bool,
    before: &Inventory,
) -> Option<Told> {
    let netns = world.netns();
    let attribute = |part: &Part| match part {
        Part::Is(attribute) => attribute.clone(),
        Part::Netns => A::NetNsFd(netns),
        Part::Dev(name) => A::DevIndex(before.device(name).unwrap_or_else(|| panic!("no {name}")).index),
    };
    let message = NldevMessage::new(command, parts.iter().map(attribute).collect());
    let answer = world.exchange(&datagram(&message, list))?;
    let mut data = 0;
    for mut rest in answer.iter().map(Vec::as_slice) {
        while !rest.is_empty() {
            let length = usize::try_from(u32::from_ne_bytes(rest[..4].try_into().unwrap())).unwrap();
            // NLMSG_ERROR (2) and NLMSG_DONE (3).
            if let (kind @ (2 | 3), 0) = (rest[4], rest[5]) {
                let errno = -i32::from_ne_bytes(rest[16..20].try_into().unwrap());
                return Some(Told {
                    errno,
                    data,
                    text: (kind == 2).then(|| text(&rest[..length])).flatten(),
                });
            }
            data += 1;
            rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        }
    }
    panic!("the answer does not end: {answer:?}");
}

/// NLMSGERR_ATTR_MSG (1) of an NLMSG_ERROR with NLM_F_ACK_TLVS (0x200).
fn text(error: &[u8]) -> Option<String> {
    let flags = u16::from_ne_bytes([error[6], error[7]]);
    // Without NLM_F_CAPPED (0x100) the whole request stands before the attributes.
    let request = usize::try_from(u32::from_ne_bytes(error[20..24].try_into().unwrap())).unwrap();
    let request = if flags & 0x100 == 0 { request.next_multiple_of(4) } else { 16 };
    let mut rest = error.get(20 + request..).filter(|_| flags & 0x200 != 0)?;
    while let [l0, l1, k0, k1, value @ ..] = rest {
        let length = usize::from(u16::from_ne_bytes([*l0, *l1]));
        if u16::from_ne_bytes([*k0, *k1]) == 1 {
            return Some(String::from_utf8_lossy(&value[..length - 5]).into_owned());
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
    None
}

/// Events until none comes any more.
async fn heard(events: &mut Events) -> Vec<String> {
    let mut heard = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(QUIET, events.recv()).await {
        heard.push(match event {
            Event::Register { name, .. } => format!("register {name}"),
            Event::Unregister { name, .. } => format!("unregister {name}"),
            Event::NetdevAttach { name, netdev_name, .. } => format!("attach {name} {netdev_name}"),
            Event::NetdevDetach { name, .. } => format!("detach {name}"),
            Event::NetdevRename { netdev_name, .. } => format!("netdev rename {netdev_name}"),
            Event::Rename { name, .. } => format!("rename {name}"),
            other => format!("{other:?}"),
        });
    }
    heard
}

fn wrong(then: &Then, inventory: &Inventory) -> Option<String> {
    let port = |name: &str| inventory.device(name).map(|device| device.ports[0].clone());
    let gids = |name: &str| -> Vec<String> {
        port(name).into_iter().flat_map(|port| port.gids).map(|gid| gid.gid.to_string()).collect()
    };
    match then {
        Then::Devices(expected) => {
            let mut names: Vec<&str> = inventory.devices.iter().map(|device| device.name.as_str()).collect();
            names.sort_unstable();
            (names != *expected).then(|| format!("devices {names:?} instead of {expected:?}"))
        }
        Then::Port(name, expected) => {
            let state = port(name).and_then(|port| port.state);
            (state.as_deref() != Some(*expected)).then(|| format!("port {state:?} instead of {expected}"))
        }
        Then::Phys(name, expected) => {
            let state = port(name).and_then(|port| port.phys_state);
            (state.as_deref() != Some(*expected)).then(|| format!("physical state {state:?}, not {expected}"))
        }
        Then::Gid(name, gid) => {
            (!gids(name).contains(&(*gid).to_owned())).then(|| format!("no GID {gid} in {:?}", gids(name)))
        }
        Then::NoGid(name, gid) => {
            gids(name).contains(&(*gid).to_owned()).then(|| format!("a GID {gid} in {:?}", gids(name)))
        }
        Then::Best(name, expected) => {
            let best = port(name).and_then(|port| {
                let slot = port.best_gid?;
                port.gids.iter().find(|gid| gid.index == slot).map(|gid| gid.gid.to_string())
            });
            (best.as_deref() != Some(*expected)).then(|| format!("best GID {best:?} instead of {expected}"))
        }
    }
}

#[tokio::test]
async fn the_simulator_behaves_as_every_row_says() {
    let rows = rows();
    let (mut runs, mut differences) = (0, Vec::new());
    for row in &rows {
        for on in row.on {
            runs += 1;
            let wrong = run(&mut simulated::Simulated::new(*on), row).await;
            differences.extend(wrong.iter().map(|what| format!("{} on {on:?}: {what}", row.name)));
        }
    }
    let of = |on: On| rows.iter().filter(|row| row.on.contains(&on)).count();
    let each = [On::V6_1, On::V6_12, On::V7_2, On::V7_3].map(|on| format!("{} on {on:?}", of(on)));
    println!("{} rows, {runs} runs: {}", rows.len(), each.join(", "));
    assert!(rows.len() >= 240, "{}", rows.len());
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root on Linux 6.12 or 7.3 with rxe and siw: cargo xtask test"]
async fn this_kernel_behaves_as_every_row_says() {
    let on = live::series();
    let mut world = live::Live::new().unwrap();
    let (mut ran, mut differences) = (0, Vec::new());
    for row in rows().iter().filter(|row| row.on.contains(&on)) {
        if let Some(why) = row.only_simulated {
            println!("only simulated: {}: {why}", row.name);
            continue;
        }
        ran += 1;
        let mut wrong = run(&mut world, row).await;
        let left = world.clean_up();
        let stop = left.is_err();
        wrong.extend(left.err());
        for what in wrong {
            println!("DIFFERS {}: {what}", row.name);
            differences.push(format!("{}: {what}", row.name));
        }
        if stop {
            break;
        }
    }
    println!("{ran} rows on {on:?}");
    assert!(differences.is_empty(), "{} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(ran >= 80, "{ran}");
}
