//! Changes a recorded case: other names, indexes and numbers, unknown values, attributes permuted, missing or unknown.
//!
//! Not made, because rdma(8) is known to be wrong there, or differs for a reason:
//!
//! - names of kernel owners longer than 15 letters and of devices longer than 60: it cuts them
//! - bytes that are no UTF-8: it prints them as they are, in JSON too
//! - names of counters with a percent sign: it takes them for formats, and crashes
//! - numbers of QPs and packets above 24 bits: it calls those above 31 negative
//! - runs of QP numbers that end before they start: it leaves them out; up to the largest 32-bit number: it does not end
//! - `system` with `-j`: it prints text; `system` and counters of memory regions with `-o`: it ends no line
//! - switches other than 0 and 1: it says nothing of them or their number, we say on
//! - IPv6 addresses that begin with zeros: the C library writes the rest as an IPv4 address
//! - lists without what their objects are told apart by (`ids.rs`): we refuse them

use std::collections::HashMap;

use rdma_operator::nl::packet::number::*;

use super::super::Dice;
use super::details::with_details;
use super::ids::may_go;
use super::rdma_support::Case;
use super::wire::{self, Attribute, Body, Datagram, Value};

/// Beginnings of names.
pub(super) const NAMES: [&str; 12] = [
    "mlx5_",
    "rxe",
    "rocep65s0f",
    "a b",
    "q\"uote",
    "back\\",
    "ü-",
    "x!y",
    "ibp",
    "<i>",
    "%s%d",
    "very_long_name_of_a_thing_",
];
/// Options of rdma(8): the first 3 fit `system`, all but the last 2 counters of memory regions, all other commands.
const OPTIONS: [&[&str]; 10] = [
    &[],
    &["-d"],
    &["-dd"],
    &["-j"],
    &["-j", "-p"],
    &["-j", "-d"],
    &["-j", "-dd"],
    &["-j", "-p", "-dd"],
    &["-o"],
    &["-o", "-dd"],
];
/// A changed case.
pub(super) fn change(case: &Case, seed: u64) -> Case {
    let mut dice = Dice(seed);
    for _ in 0..4 {
        dice.roll(2);
    }
    let mut datagrams: Vec<_> = case.lines.iter().filter_map(|line| Datagram::parse(line)).collect();
    let mut change = Change {
        drops: !filters_words(case),
        renamed: HashMap::new(),
        renumbered: HashMap::new(),
        pids: Vec::new(),
        changed: HashMap::new(),
        dice,
    };
    change.devices(&datagrams);
    for datagram in &mut datagrams {
        let sent = datagram.sent;
        for message in &mut datagram.messages {
            if let Body::Attributes(list) = &mut message.body {
                change.identify(list);
                if !sent {
                    change.list(list, 0);
                }
            }
        }
    }
    let lines = with_details(&datagrams);
    let command = change.command(&case.command);
    // The shim's processes.
    let known = change.pids.iter().filter(|pid| *pid % 5 != 0);
    let processes = known.map(|pid| (*pid, format!("proc{pid}"))).collect();
    Case {
        name: case.name.clone(),
        command,
        new_tool: true,
        stdout: String::new(),
        said: Vec::new(),
        code: Some(0),
        lines,
        processes,
    }
}

/// rdma(8) lets pass what has nothing to say to a filter on words.
fn filters_words(case: &Case) -> bool {
    const FILTERS: [&str; 8] =
        ["type", "state", "path-mig-state", "qp-type", "ps", "src-addr", "dst-addr", "poll-ctx"];
    case.command.iter().any(|word| FILTERS.contains(&word.as_str()))
}

/// A change under way.
pub(super) struct Change {
    /// Whether attributes may be missing.
    drops: bool,
    renamed: HashMap<String, String>,
    renumbered: HashMap<u32, u32>,
    pids: Vec<u32>,
    /// What lists have become: what is the same in two replies stays the same.
    changed: HashMap<Vec<u8>, Vec<Attribute>>,
    pub(super) dice: Dice,
}

impl Change {
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.dice.roll(times) == 0
    }

    /// Other names and indexes for the devices; their order stays: the kernel's lists have it.
    fn devices(&mut self, datagrams: &[Datagram]) {
        let (mut names, mut indexes) = (Vec::new(), Vec::new());
        for message in datagrams.iter().flat_map(|datagram| &datagram.messages) {
            let Body::Attributes(list) = &message.body else { continue };
            for attribute in list {
                match attribute.number() {
                    RDMA_NLDEV_ATTR_DEV_INDEX => indexes.extend(attribute.as_u32()),
                    RDMA_NLDEV_ATTR_DEV_NAME => names.extend(attribute.as_text().map(str::to_owned)),
                    _ => {}
                }
            }
        }
        names.sort();
        names.dedup();
        indexes.sort_unstable();
        indexes.dedup();
        for (at, name) in names.into_iter().enumerate() {
            let new = format!("{}{at}", NAMES[self.dice.roll(NAMES.len())]);
            self.renamed.insert(name, new);
        }
        let mut next = u32::try_from(self.dice.roll(3)).unwrap();
        for index in indexes {
            self.renumbered.insert(index, next);
            next += 1 + u32::try_from(self.dice.roll(1000)).unwrap();
        }
    }

    /// The names and indexes of devices in a message.
    fn identify(&self, list: &mut [Attribute]) {
        for attribute in list {
            match attribute.number() {
                RDMA_NLDEV_ATTR_DEV_INDEX => {
                    let new = attribute.as_u32().and_then(|index| self.renumbered.get(&index));
                    if let Some(new) = new {
                        attribute.set(&new.to_ne_bytes());
                    }
                }
                RDMA_NLDEV_ATTR_DEV_NAME | RDMA_NLDEV_ATTR_PARENT_NAME => {
                    if let Some(new) = attribute.as_text().and_then(|name| self.renamed.get(name)) {
                        attribute.set_text(new);
                    }
                }
                _ => {}
            }
        }
    }

    fn list(&mut self, list: &mut Vec<Attribute>, parent: u16) {
        let key = wire::list_bytes(list);
        if let Some(known) = self.changed.get(&key) {
            list.clone_from(known);
            return;
        }
        let keyed = list.iter().any(|attribute| attribute.number() == RDMA_NLDEV_ATTR_DRIVER_STRING);
        // The order of objects and which there are has to be the same in a list of a port and one of a device.
        let of_objects = list.iter().all(|attribute| matches!(attribute.value, Value::Nest(_)));
        let mut at = 0;
        while at < list.len() {
            if self.drops && !keyed && !of_objects && may_go(parent, list[at].number()) && self.once_in(100) {
                list.remove(at);
                continue;
            }
            let number = list[at].number();
            if let Value::Nest(inner) = &mut list[at].value {
                self.list(inner, number);
            } else if self.once_in(3) && !(keyed && list[at].number() == RDMA_NLDEV_ATTR_DRIVER_PRINT_TYPE) {
                self.value(&mut list[at]);
            }
            if list[at].number() == RDMA_NLDEV_ATTR_RES_PID {
                self.pids.extend(list[at].as_u32());
            }
            at += 1;
        }
        // Key and value belong together.
        if !keyed && !of_objects {
            self.order(list);
        }
        self.changed.insert(key, list.clone());
    }

    fn order(&mut self, list: &mut Vec<Attribute>) {
        if self.once_in(4) {
            for at in (1..list.len()).rev() {
                list.swap(at, self.dice.roll(at + 1));
            }
        }
        if self.once_in(20) {
            let number = [126, 200, 1000, 0x3fff][self.dice.roll(4)];
            let at = self.dice.roll(list.len() + 1);
            list.insert(at, Attribute::new(number, vec![1; self.dice.roll(12)]));
        }
    }

    /// The command with other options and the new names.
    fn command(&mut self, words: &[String]) -> Vec<String> {
        let raw = words.iter().any(|word| word == "-r").then(|| "-r".to_owned());
        let is_system = words.iter().any(|word| word.starts_with("sys"));
        let is_mr_statistic =
            words.iter().any(|word| word.starts_with("stat")) && words.iter().any(|word| word == "mr");
        let choices = match (is_system, is_mr_statistic) {
            (true, _) => 3,
            (_, true) => OPTIONS.len() - 2,
            _ => OPTIONS.len(),
        };
        let options = OPTIONS[self.dice.roll(choices)].iter().map(|option| (*option).to_owned());
        let rest = words.iter().filter(|word| !word.starts_with('-')).map(|word| {
            let (name, port) = word.split_at(word.find('/').unwrap_or(word.len()));
            self.renamed.get(name).map_or_else(|| word.clone(), |new| format!("{new}{port}"))
        });
        raw.into_iter().chain(options).chain(rest).collect()
    }
}
