//! What a row is.

use rdma_operator::nl::packet::{NldevAttribute as A, NldevCommand as C};

/// A kernel series that rows are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    V6_1,
    V6_12,
    V7_2,
    V7_3,
}

impl On {
    /// Those of the lab.
    pub(crate) const BOTH: [Self; 2] = [Self::V6_12, Self::V7_3];

    pub(crate) fn release(self) -> &'static str {
        match self {
            Self::V6_1 => "6.1.0-44-amd64",
            Self::V7_2 => "7.2.6+deb13-amd64",
            Self::V6_12 => "6.12.117+deb13-amd64",
            Self::V7_3 => "7.3.4+deb13-amd64",
        }
    }
}

/// Something that happens on a host. Each has the netdevs nd0, nd1 (dummies, up), vl0 (a VLAN on nd0), rb0 (a
/// bridge, up) and dn0 (a dummy, down), and no RDMA device.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// A soft link: name, type, netdev.
    Link(&'static str, &'static str, &'static str),
    Up(&'static str),
    Down(&'static str),
    Gone(&'static str),
    /// A netdev gets another name.
    Renamed(&'static str, &'static str),
    Address(&'static str, &'static str),
    NoAddress(&'static str, &'static str),
    /// The netdevs ve0 and ve1, two ends of a veth, up.
    Veth,
    /// The device fake0, which NEWLINK has not made.
    Hardware,
    /// A process opens a device and keeps it open.
    Hold(&'static str),
    /// No module of soft links is installed.
    NoModules,
    /// A network namespace besides the initial one.
    OtherNetns,
    Exclusive,
    /// A device goes to that namespace.
    Away(&'static str),
    /// The requests come from a process without CAP_NET_ADMIN.
    Nobody,
}

/// A part of a request.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// DEV_INDEX of the device of this name.
    Dev(&'static str),
    /// NET_NS_FD of another network namespace.
    Netns,
    Is(A),
}

/// What is tried.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Ask(C, Vec<Part>),
    List(C, Vec<Part>),
    Happens(Act),
}

/// What holds afterwards.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    /// All devices by name, sorted.
    Devices(&'static [&'static str]),
    Port(&'static str, &'static str),
    /// The port's physical state.
    Phys(&'static str, &'static str),
    /// A slot with this GID.
    Gid(&'static str, &'static str),
    NoGid(&'static str, &'static str),
    /// The best GID's slot is the one with this GID.
    Best(&'static str, &'static str),
}

/// One row: operation × state × releases → errno, events, resulting state.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) on: &'static [On],
    pub(crate) before: Vec<Act>,
    pub(crate) op: Op,
    /// 0: success; `None`: the kernel does not answer while the state lasts.
    pub(crate) errno: Option<i32>,
    pub(crate) then: Vec<Then>,
    /// Messages of data in the answer, where the row is about them.
    pub(crate) data: Option<usize>,
    /// What the extended acknowledgement says.
    pub(crate) says: Option<&'static str>,
    /// Notifications in their order, where the row is about them.
    pub(crate) events: Option<&'static [&'static str]>,
    /// Why no real kernel runs it.
    pub(crate) only_simulated: Option<&'static str>,
}

impl Row {
    pub(crate) fn new(name: &'static str, op: Op, errno: i32) -> Self {
        Self {
            name,
            on: &On::BOTH,
            before: Vec::new(),
            op,
            errno: Some(errno),
            then: Vec::new(),
            data: None,
            says: None,
            events: None,
            only_simulated: None,
        }
    }

    pub(crate) fn on(mut self, on: &'static [On]) -> Self {
        self.on = on;
        self
    }

    pub(crate) fn after(mut self, acts: &[Act]) -> Self {
        self.before.extend(acts);
        self
    }

    pub(crate) fn waits(mut self) -> Self {
        self.errno = None;
        self
    }

    pub(crate) fn then(mut self, then: &[Then]) -> Self {
        self.then.extend(then);
        self
    }

    pub(crate) fn data(mut self, messages: usize) -> Self {
        self.data = Some(messages);
        self
    }

    pub(crate) fn says(mut self, text: &'static str) -> Self {
        self.says = Some(text);
        self
    }

    pub(crate) fn events(mut self, events: &'static [&'static str]) -> Self {
        self.events = Some(events);
        self
    }

    pub(crate) fn simulated(mut self, why: &'static str) -> Self {
        self.only_simulated = Some(why);
        self
    }
}
