//! Objects as rows, the fields of rdma(8) in its order: what all have in common, and memory and completion queues.

use serde_json::Value;

use super::filter::{Cell, Filterable, Filters, Kind};
use super::output::Row;
use super::session::Host;
use crate::nl::packet::{AttributeList, NldevAttribute, number::RDMA_NLDEV_ATTR_DRIVER};
use crate::nl::{
    CompletionQueue, DriverDetail, DriverValue, FrmrPool, MemoryRegion, Owner, ProtectionDomain, RawResource,
    ResourceSummary, UserContext,
};

/// How rows are made.
pub(super) struct View<'a> {
    /// Knows the names of processes.
    pub(super) host: &'a dyn Host,
    /// Number of `-d`.
    pub(super) details: u8,
    /// What was asked for.
    pub(super) filters: &'a Filters,
}

/// An object that is a row.
pub(super) trait Shown: Filterable {
    /// The filter that is its id; none if it cannot be looked up.
    const ID: &'static str;

    /// Its port, if it has one.
    fn port(&self) -> Option<u32> {
        None
    }

    /// Its row.
    fn row(&self, view: &View<'_>) -> Row;
}

/// How many objects of each kind: `0: rxe0: pd 4/100 cq 3 `.
pub(super) fn summary_row(summary: &ResourceSummary) -> Row {
    let mut row = Row::default();
    row.text(format!("{}: {}: ", summary.device_index, summary.device_name));
    row.json("ifindex", summary.device_index);
    row.json("ifname", summary.device_name.as_str());
    for entry in &summary.entries {
        row.json(entry.name.as_str(), entry.current);
        match entry.max {
            Some(max) => {
                row.text(format!("{} {}/{max} ", entry.name, entry.current));
                row.json(format!("{}-max", entry.name), max);
            }
            None => row.text(format!("{} {} ", entry.name, entry.current)),
        }
    }
    row
}

/// A driver's own description. The kernel does not say which port such an object is on.
pub(super) fn raw_row(object: &RawResource, per_port: bool) -> Row {
    let mut row = match per_port {
        true => Row::of_port(Some(object.device_index), &object.device_name, None),
        false => Row::of_device(object.device_index, &object.device_name),
    };
    let bytes: Vec<_> = object.raw.iter().map(u8::to_string).collect();
    row.text(format!("data <{}>", bytes.join(",")));
    row.json("data", object.raw.clone());
    row
}

pub(super) fn owner(row: &mut Row, owner: &Owner, host: &dyn Host) {
    match owner {
        Owner::Process(pid) => {
            row.field("pid", *pid);
            row.maybe("comm", host.process_name(*pid));
        }
        Owner::Kernel(name) => {
            row.text(format!("comm [{name}] "));
            row.json("comm", name.as_str());
        }
        _ => {}
    }
}

/// Width after which driver details go on below.
const LINE: usize = 80;

pub(super) fn driver(
    row: &mut Row,
    view: &View<'_>,
    attributes: &[NldevAttribute],
    details: &[DriverDetail],
) {
    if view.details < 2 || attributes.find(RDMA_NLDEV_ATTR_DRIVER).is_none() {
        return;
    }
    row.indent();
    let mut width = 0;
    for DriverDetail { key, hex, value, .. } in details {
        if width > LINE {
            row.indent();
            width = 0;
        }
        let (text, json) = match value {
            DriverValue::Text(text) => (text.clone(), Value::from(text.as_str())),
            DriverValue::Unsigned(number) if *hex => (format!("{number:#x}"), Value::from(*number)),
            DriverValue::Signed(number) if *hex => (format!("{number:#x}"), Value::from(*number)),
            DriverValue::Unsigned(number) => (number.to_string(), Value::from(*number)),
            DriverValue::Signed(number) => (number.to_string(), Value::from(*number)),
        };
        let field = format!("drv_{key} {text} ");
        // rdma(8) counts bytes, and no texts.
        width += if matches!(value, DriverValue::Text(_)) { 0 } else { field.len() };
        row.text(field);
        row.json(format!("drv_{key}"), json);
    }
}

impl Filterable for CompletionQueue {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("cqn", Kind::Numbers),
        ("users", Kind::Numbers),
        ("poll-ctx", Kind::Words),
        ("pid", Kind::Numbers),
        ("ctxn", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "cqn" => self.cqn.map(Cell::from),
            "users" => self.users.map(Cell::from),
            "poll-ctx" => self.poll_context.map(|context| context.as_str().into()),
            "pid" => self.owner.pid().map(Cell::from),
            "ctxn" => self.ctxn.map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for CompletionQueue {
    const ID: &'static str = "cqn";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        row.maybe("cqn", self.cqn);
        row.maybe("cqe", self.cqe);
        row.maybe("users", self.users);
        row.maybe("poll-ctx", self.poll_context.map(|context| context.as_str()));
        row.on_off("adaptive-moderation", self.adaptive_moderation);
        row.maybe("ctxn", self.ctxn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

impl Filterable for MemoryRegion {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("mrn", Kind::Numbers),
        ("rkey", Kind::Numbers),
        ("lkey", Kind::Numbers),
        ("mrlen", Kind::Numbers),
        ("pid", Kind::Numbers),
        ("pdn", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "mrn" => self.mrn.map(Cell::from),
            "rkey" => self.rkey.map(Cell::from),
            "lkey" => self.lkey.map(Cell::from),
            "mrlen" => self.length.map(Cell::from),
            "pid" => self.owner.pid().map(Cell::from),
            "pdn" => self.pdn.map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for MemoryRegion {
    const ID: &'static str = "mrn";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        row.maybe("mrn", self.mrn);
        row.hex("rkey", self.rkey);
        row.hex("lkey", self.lkey);
        row.maybe("mrlen", self.length);
        row.maybe("pdn", self.pdn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

impl Filterable for ProtectionDomain {
    const FILTERS: &'static [(&'static str, Kind)] =
        &[("pdn", Kind::Numbers), ("users", Kind::Numbers), ("pid", Kind::Numbers), ("ctxn", Kind::Numbers)];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "pdn" => self.pdn.map(Cell::from),
            "users" => self.users.map(Cell::from),
            "pid" => self.owner.pid().map(Cell::from),
            "ctxn" => self.ctxn.map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for ProtectionDomain {
    const ID: &'static str = "pdn";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        row.maybe("pdn", self.pdn);
        row.hex("local_dma_lkey", self.local_dma_lkey);
        row.maybe("users", self.users);
        row.hex("unsafe_global_rkey", self.unsafe_global_rkey);
        row.maybe("ctxn", self.ctxn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

impl Filterable for UserContext {
    const FILTERS: &'static [(&'static str, Kind)] = &[("ctxn", Kind::Numbers), ("pid", Kind::Numbers)];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "ctxn" => Some(self.ctxn.into()),
            "pid" => self.owner.pid().map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for UserContext {
    const ID: &'static str = "ctxn";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        row.field("ctxn", self.ctxn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

impl Filterable for FrmrPool {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("ats", Kind::Numbers),
        ("access_flags", Kind::Numbers),
        ("vendor_key", Kind::Numbers),
        ("num_dma_blocks", Kind::Numbers),
        ("queue", Kind::Numbers),
        ("in_use", Kind::Numbers),
        ("max_in_use", Kind::Numbers),
        ("pinned", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "ats" => Some(u32::from(self.key.ats).into()),
            "access_flags" => Some(self.key.access_flags.into()),
            "vendor_key" => Some(self.key.vendor_key.into()),
            "num_dma_blocks" => Some(self.key.num_dma_blocks.into()),
            "queue" => self.queue_handles.map(Cell::from),
            "in_use" => self.in_use.map(Cell::from),
            "max_in_use" => self.max_in_use.map(Cell::from),
            "pinned" => self.pinned_handles.map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for FrmrPool {
    /// The kernel only lists them.
    const ID: &'static str = "";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        let (key, ats) = (&self.key, u32::from(self.key.ats));
        let text = format!("{:x}:{:x}:{:x}:{ats:x}", key.vendor_key, key.num_dma_blocks, key.access_flags);
        row.field("key", text);
        if view.details > 0 {
            row.field("ats", ats);
            row.field("access_flags", key.access_flags);
            row.field("vendor_key", key.vendor_key);
            row.field("num_dma_blocks", key.num_dma_blocks);
            row.maybe("kernel_vendor_key", Some(self.kernel_vendor_key).filter(|key| *key != 0));
        }
        row.maybe("queue", self.queue_handles);
        row.maybe("in_use", self.in_use);
        row.maybe("max_in_use", self.max_in_use);
        row.maybe("pinned", self.pinned_handles);
        row
    }
}
