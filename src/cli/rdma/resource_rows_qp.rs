//! Queue pairs, CM ids and shared receive queues as rows.

use super::filter::{Cell, Filterable, Kind};
use super::output::Row;
use super::resource_rows::{Shown, View, driver, owner};
use crate::nl::{CmAddress, CmId, PortSpace, QpType, QueuePair, SharedReceiveQueue};

impl Filterable for QueuePair {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("lqpn", Kind::Numbers),
        ("rqpn", Kind::Numbers),
        ("pid", Kind::Numbers),
        ("sq-psn", Kind::Numbers),
        ("rq-psn", Kind::Numbers),
        ("type", Kind::Words),
        ("path-mig-state", Kind::Words),
        ("state", Kind::Words),
        ("pdn", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "lqpn" => Some(self.lqpn.into()),
            "rqpn" => self.rqpn.map(Cell::from),
            "pid" => self.owner.pid().map(Cell::from),
            "sq-psn" => self.sq_psn.map(Cell::from),
            "rq-psn" => self.rq_psn.map(Cell::from),
            "type" => self.qp_type.map(|kind| kind.as_str().into()),
            "path-mig-state" => self.path_mig_state.map(|state| state.as_str().into()),
            "state" => self.state.map(|state| state.as_str().into()),
            "pdn" => self.pdn.map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for QueuePair {
    const ID: &'static str = "lqpn";

    fn port(&self) -> Option<u32> {
        self.port
    }

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_port(Some(self.device_index), &self.device_name, self.port);
        row.field("lqpn", self.lqpn);
        row.maybe("rqpn", self.rqpn);
        row.maybe("type", self.qp_type.map(|kind| kind.as_str()));
        // Only a type of the driver has one.
        row.maybe("subtype", self.subtype.as_deref().filter(|_| self.qp_type == Some(QpType::Driver)));
        row.maybe("state", self.state.map(|state| state.as_str()));
        row.maybe("rq-psn", self.rq_psn);
        row.maybe("sq-psn", self.sq_psn);
        row.maybe("path-mig-state", self.path_mig_state.map(|state| state.as_str()));
        row.maybe("pdn", self.pdn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

impl Filterable for CmId {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("cm-idn", Kind::Numbers),
        ("lqpn", Kind::Numbers),
        ("qp-type", Kind::Words),
        ("state", Kind::Words),
        ("ps", Kind::Words),
        ("pid", Kind::Numbers),
        ("src-addr", Kind::Words),
        ("src-port", Kind::Numbers),
        ("dst-addr", Kind::Words),
        ("dst-port", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        let ip = |address: Option<CmAddress>| match address? {
            CmAddress::Ip(address) => Some(address),
            _ => None,
        };
        match filter {
            "cm-idn" => Some(self.cm_idn.into()),
            "lqpn" => self.lqpn.map(Cell::from),
            "qp-type" => self.qp_type.map(|kind| kind.as_str().into()),
            "state" => self.state.map(|state| state.as_str().into()),
            "ps" => self.port_space.map(|space| port_space(space).into()),
            "pid" => self.owner.pid().map(Cell::from),
            "src-addr" => ip(self.source).map(|address| Cell::Word(address.ip().to_string().into())),
            "src-port" => ip(self.source).map(|address| u32::from(address.port()).into()),
            "dst-addr" => ip(self.destination).map(|address| Cell::Word(address.ip().to_string().into())),
            "dst-port" => ip(self.destination).map(|address| u32::from(address.port()).into()),
            _ => None,
        }
    }
}

impl Shown for CmId {
    const ID: &'static str = "cm-idn";

    fn port(&self) -> Option<u32> {
        self.port
    }

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_port(Some(self.device_index), &self.device_name, self.port);
        row.field("cm-idn", self.cm_idn);
        row.maybe("lqpn", self.lqpn);
        row.maybe("qp-type", self.qp_type.map(|kind| kind.as_str()));
        row.maybe("state", self.state.map(|state| state.as_str()));
        row.maybe("ps", self.port_space.map(port_space));
        owner(&mut row, &self.owner, view.host);
        row.maybe("src-addr", self.source.map(address));
        row.maybe("dst-addr", self.destination.map(address));
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}

fn port_space(space: PortSpace) -> &'static str {
    match space {
        PortSpace::Other(_) => "---",
        known => known.as_str(),
    }
}

/// rdma(8) writes `ADDRESS:PORT` for IPv6 too.
fn address(address: CmAddress) -> String {
    match address {
        CmAddress::Ip(address) => format!("{}:{}", address.ip(), address.port()),
        CmAddress::Other { family } => format!("family-{family}"),
    }
}

impl Filterable for SharedReceiveQueue {
    const FILTERS: &'static [(&'static str, Kind)] = &[
        ("srqn", Kind::Numbers),
        ("type", Kind::Words),
        ("lqpn", Kind::Numbers),
        ("pdn", Kind::Numbers),
        ("cqn", Kind::Numbers),
        ("pid", Kind::Numbers),
    ];

    fn cell(&self, filter: &str) -> Option<Cell<'_>> {
        match filter {
            "srqn" => Some(self.srqn.into()),
            "type" => self.srq_type.map(|kind| kind.as_str().into()),
            "lqpn" => Some(Cell::Runs(&self.qps)),
            "pdn" => self.pdn.map(Cell::from),
            "cqn" => self.cqn.map(Cell::from),
            "pid" => self.owner.pid().map(Cell::from),
            _ => None,
        }
    }
}

impl Shown for SharedReceiveQueue {
    const ID: &'static str = "srqn";

    fn row(&self, view: &View<'_>) -> Row {
        let mut row = Row::of_device(self.device_index, &self.device_name);
        row.field("srqn", self.srqn);
        row.maybe("type", self.srq_type.map(|kind| kind.as_str()));
        let run = |(first, last): (u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        let runs: Vec<_> = view.filters.within("lqpn", &self.qps).into_iter().map(run).collect();
        if !runs.is_empty() {
            row.text(format!("lqpn {} ", runs.join(",")));
            row.json("lqpn", runs);
        }
        row.maybe("pdn", self.pdn);
        row.maybe("cqn", self.cqn);
        owner(&mut row, &self.owner, view.host);
        driver(&mut row, view, &self.attributes, &self.driver);
        row
    }
}
