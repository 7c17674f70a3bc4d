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
//! - lists without what their objects are told apart by ([`IDS`]): we refuse them

use std::collections::HashMap;

use rdma_operator::nl::packet::WireType;
use rdma_operator::nl::packet::number::*;

use super::super::Dice;
use super::rdma_support::Case;
use super::wire::{self, Attribute, Body, Datagram, Value};

/// Beginnings of names.
const NAMES: [&str; 12] = [
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
/// Numbers where things go wrong.
const EDGES: [u64; 10] = [0, 1, 2, 255, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 40, u64::MAX];

/// A changed case.
pub(super) fn change(case: &Case, seed: u64) -> Case {
    let mut dice = Dice(seed);
    for _ in 0..4 {
        dice.roll(2);
    }
    let mut datagrams: Vec<_> = case.lines.iter().filter_map(|line| Datagram::parse(line)).collect();
    let mut change = Change {
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

/// What was recorded for a request with driver details or without stands for both.
fn with_details(datagrams: &[Datagram]) -> Vec<String> {
    let mut lines = Vec::new();
    for exchange in datagrams.chunk_by(|_, next| !next.sent) {
        let Some((request, replies)) = exchange.split_first() else { continue };
        let Some(Body::Attributes(list)) = request.messages.first().map(|message| &message.body) else {
            continue;
        };
        let has_details = list.iter().any(|attribute| attribute.number() == RDMA_NLDEV_ATTR_DRIVER_DETAILS);
        let choices = if has_details && request.sent { vec![0, 1] } else { vec![0] };
        for choice in choices {
            let mut line = request.line();
            if has_details {
                let mut request = Datagram::parse(&line).unwrap();
                if let Body::Attributes(list) = &mut request.messages[0].body {
                    list.iter_mut()
                        .filter(|attribute| attribute.number() == RDMA_NLDEV_ATTR_DRIVER_DETAILS)
                        .for_each(|attribute| attribute.set(&[choice]));
                }
                line = request.line();
            }
            lines.push(line);
            lines.extend(replies.iter().map(Datagram::line));
        }
    }
    lines
}

/// What objects are told apart by is in every message of every kernel; without it we refuse a list.
const IDS: [(u16, &[u16]); 13] = [
    (
        0,
        &[
            RDMA_NLDEV_ATTR_DEV_INDEX,
            RDMA_NLDEV_ATTR_DEV_NAME,
            RDMA_NLDEV_ATTR_PORT_INDEX,
            RDMA_NLDEV_ATTR_RES_LQPN,
            RDMA_NLDEV_ATTR_RES_CM_IDN,
            RDMA_NLDEV_ATTR_RES_CQN,
            RDMA_NLDEV_ATTR_RES_MRN,
            RDMA_NLDEV_ATTR_RES_PDN,
            RDMA_NLDEV_ATTR_RES_CTXN,
            RDMA_NLDEV_ATTR_RES_SRQN,
            RDMA_NLDEV_ATTR_STAT_COUNTER_ID,
            RDMA_NLDEV_ATTR_STAT_MODE,
        ],
    ),
    (
        RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY,
        &[RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX],
    ),
    (
        RDMA_NLDEV_ATTR_RES_QP_ENTRY,
        &[
            RDMA_NLDEV_ATTR_RES_LQPN,
            RDMA_NLDEV_ATTR_PORT_INDEX,
            RDMA_NLDEV_ATTR_MIN_RANGE,
            RDMA_NLDEV_ATTR_MAX_RANGE,
        ],
    ),
    (RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY, &[RDMA_NLDEV_ATTR_RES_CM_IDN, RDMA_NLDEV_ATTR_PORT_INDEX]),
    (RDMA_NLDEV_ATTR_RES_CQ_ENTRY, &[RDMA_NLDEV_ATTR_RES_CQN]),
    (RDMA_NLDEV_ATTR_RES_MR_ENTRY, &[RDMA_NLDEV_ATTR_RES_MRN]),
    (RDMA_NLDEV_ATTR_RES_PD_ENTRY, &[RDMA_NLDEV_ATTR_RES_PDN]),
    (RDMA_NLDEV_ATTR_RES_CTX_ENTRY, &[RDMA_NLDEV_ATTR_RES_CTXN]),
    // Without the list of its QPs rdma(8) leaves a SRQ out; without a type it says BASIC.
    (
        RDMA_NLDEV_ATTR_RES_SRQ_ENTRY,
        &[RDMA_NLDEV_ATTR_RES_SRQN, RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_TYPE],
    ),
    (
        RDMA_NLDEV_ATTR_FRMR_POOL_KEY,
        &[
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ACCESS_FLAGS,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_VENDOR_KEY,
            RDMA_NLDEV_ATTR_FRMR_POOL_KEY_NUM_DMA_BLOCKS,
        ],
    ),
    (
        RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY,
        &[RDMA_NLDEV_ATTR_STAT_COUNTER_ID, RDMA_NLDEV_ATTR_PORT_INDEX, RDMA_NLDEV_ATTR_RES_QP],
    ),
    (RDMA_NLDEV_ATTR_FRMR_POOL_ENTRY, &[RDMA_NLDEV_ATTR_FRMR_POOL_KEY]),
    (
        RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY,
        &[RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR],
    ),
];

fn may_go(parent: u16, number: u16) -> bool {
    number != RDMA_NLDEV_ATTR_RES_RAW
        && !IDS.iter().any(|(nest, ids)| *nest == parent && ids.contains(&number))
}

struct Change {
    renamed: HashMap<String, String>,
    renumbered: HashMap<u32, u32>,
    pids: Vec<u32>,
    /// What lists have become: what is the same in two replies stays the same.
    changed: HashMap<Vec<u8>, Vec<Attribute>>,
    dice: Dice,
}

impl Change {
    fn once_in(&mut self, times: usize) -> bool {
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
            if !keyed && !of_objects && may_go(parent, list[at].number()) && self.once_in(100) {
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

    fn roll(&mut self, sides: u32) -> u32 {
        u32::try_from(self.dice.roll(usize::try_from(sides).unwrap().max(1))).unwrap()
    }

    fn number(&mut self) -> u64 {
        match self.dice.roll(3) {
            0 => EDGES[self.dice.roll(EDGES.len())],
            1 => u64::try_from(self.dice.roll(30)).unwrap(),
            _ => u64::try_from(self.dice.roll(1 << 30)).unwrap() << self.dice.roll(34),
        }
    }

    fn text(&mut self, longest: usize) -> String {
        let name = NAMES[self.dice.roll(NAMES.len())].replace('%', "");
        format!("{name}{}", self.dice.roll(100)).chars().take(longest).collect()
    }

    fn value(&mut self, attribute: &mut Attribute) {
        let number = attribute.number();
        match (number, attribute.wire_type()) {
            (RDMA_NLDEV_ATTR_DEV_INDEX | RDMA_NLDEV_ATTR_DEV_NAME | RDMA_NLDEV_ATTR_PORT_INDEX, _) => {}
            (RDMA_NLDEV_ATTR_RES_PID, _) => {
                let pid = u32::try_from(self.dice.roll(100_000)).unwrap();
                attribute.set(&pid.to_ne_bytes());
            }
            (RDMA_NLDEV_ATTR_RES_KERN_NAME, _) => {
                let text = self.text(10);
                attribute.set_text(&text);
            }
            (RDMA_NLDEV_ATTR_DEV_DIM | RDMA_NLDEV_ATTR_FRMR_POOL_KEY_ATS, _) => {
                attribute.set(&[u8::try_from(self.dice.roll(2)).unwrap()])
            }
            // A run has to end after it starts.
            (RDMA_NLDEV_ATTR_MIN_RANGE, _) => {
                let start = 1 + self.roll(attribute.as_u32().unwrap_or(1));
                attribute.set(&start.to_ne_bytes());
            }
            (RDMA_NLDEV_ATTR_MAX_RANGE, _) => {
                let end = attribute.as_u32().unwrap_or(0) + self.roll(500);
                attribute.set(&end.to_ne_bytes());
            }
            // 24 bits.
            (
                RDMA_NLDEV_ATTR_RES_LQPN
                | RDMA_NLDEV_ATTR_RES_RQPN
                | RDMA_NLDEV_ATTR_RES_SQ_PSN
                | RDMA_NLDEV_ATTR_RES_RQ_PSN,
                _,
            ) => {
                let number = self.roll(1 << 24);
                attribute.set(&number.to_ne_bytes());
            }
            (_, Some(WireType::String)) => {
                let text = self.text(60);
                attribute.set_text(&text);
            }
            (_, Some(WireType::U8)) => attribute.set(&self.number().to_ne_bytes()[..1]),
            (_, Some(WireType::U32 | WireType::S32)) => attribute.set(&self.number().to_ne_bytes()[..4]),
            (_, Some(WireType::U64 | WireType::S64)) => attribute.set(&self.number().to_ne_bytes()),
            // Not the family of an address.
            (_, Some(WireType::Binary)) => {
                let mut bytes = attribute.bytes().to_vec();
                for byte in bytes.iter_mut().skip(2) {
                    if self.once_in(8) {
                        *byte = u8::try_from(self.dice.roll(256)).unwrap();
                    }
                }
                let is_ipv6 = bytes.first() == Some(&10);
                if let Some(first) = bytes.get_mut(8).filter(|_| is_ipv6) {
                    *first |= 0x20;
                }
                attribute.set(&bytes);
            }
            _ => {}
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
