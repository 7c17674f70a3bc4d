//! What kernels do, as rows: operation × state × release → errno, events, resulting state. Every row is run against
//! the simulated kernel, and those that can be against the real one this program finds itself on; where they
//! differ, the simulator is wrong.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod links;
mod live;
mod requests;
mod row;
mod simulated;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdma_operator::inventory::{Collector, Dirty, Host, Inventory, Kernel};
use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand, NldevMessage};
use rdma_operator::nl::{Event, Events};

use row::{Act, Op, Part, Row, Then};

/// How long a real kernel may take to bring a state about.
const WAIT: Duration = Duration::from_secs(5);
/// What is to come in events has come then.
const QUIET: Duration = Duration::from_millis(300);

fn rows() -> Vec<Row> {
    links::rows().into_iter().chain(requests::rows()).collect()
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
            Some(0)
        }
    };
    if got != row.errno {
        differences.push(format!("errno {got:?} instead of {:?}", row.errno));
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

/// The errno of a request's answer, 0 for success.
fn ask(
    world: &mut impl World,
    command: NldevCommand,
    parts: &[Part],
    list: bool,
    before: &Inventory,
) -> Option<i32> {
    let netns = world.netns();
    let attribute = |part: &Part| match part {
        Part::Is(attribute) => attribute.clone(),
        Part::Netns => A::NetNsFd(netns),
        Part::Dev(name) => A::DevIndex(before.device(name).unwrap_or_else(|| panic!("no {name}")).index),
    };
    let message = NldevMessage::new(command, parts.iter().map(attribute).collect());
    let payload = message.encode();
    // NLM_F_REQUEST and NLM_F_ACK; NLM_F_DUMP for a list.
    let flags: u16 = if list { 0x305 } else { 0x005 };
    let mut datagram = u32::try_from(16 + payload.len()).unwrap().to_ne_bytes().to_vec();
    datagram.extend(message.message_type().to_ne_bytes());
    datagram.extend(flags.to_ne_bytes());
    datagram.extend(1_u32.to_ne_bytes());
    datagram.extend([0; 4]);
    datagram.extend(payload);
    let answer = world.exchange(&datagram)?;
    // The last message of the last datagram is NLMSG_ERROR (2) or NLMSG_DONE (3).
    let mut rest = answer.last().expect("an answer").as_slice();
    loop {
        let length = usize::try_from(u32::from_ne_bytes(rest[..4].try_into().unwrap())).unwrap();
        let next = length.next_multiple_of(4).min(rest.len());
        if next == rest.len() {
            assert!(matches!(rest[4], 2 | 3), "the answer ends: {rest:?}");
            return Some(-i32::from_ne_bytes(rest[16..20].try_into().unwrap()));
        }
        rest = &rest[next..];
    }
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
    println!("{} rows, {runs} runs", rows.len());
    assert!(rows.len() >= 80, "{}", rows.len());
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
