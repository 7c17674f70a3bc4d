//! Counters.

use super::query::Table;
use crate::nl::{
    error::{Error, RequestName, Result},
    handle::Handle,
    packet::{AttributeList, Nested, NldevAttribute, NldevCommand, NldevMessage, number::*},
    view::{
        AutoCriteria, CounterMode, Entry, MrCounters, PortCounterStatus, PortCounters, QpCounter,
        QpCounterMode,
    },
};

/// Requests about counters. Made by [`Handle::stats`].
///
/// Reading asks the driver, every time. Changing needs CAP_NET_ADMIN in the initial user namespace.
#[derive(Debug, Clone)]
pub struct StatsHandle {
    handle: Handle,
}

/// `STAT_RES` of QP counters; the kernel uses the attribute's number as the value.
const OF_QPS: NldevAttribute = NldevAttribute::StatRes(RDMA_NLDEV_ATTR_RES_QP as u32);
/// `STAT_RES` of the counters of memory regions.
const OF_MRS: NldevAttribute = NldevAttribute::StatRes(RDMA_NLDEV_ATTR_RES_MR as u32);

fn place(device: u32, port: u32) -> Vec<NldevAttribute> {
    vec![NldevAttribute::DevIndex(device), NldevAttribute::PortIndex(port)]
}

impl StatsHandle {
    pub(in crate::nl) fn new(handle: Handle) -> Self {
        Self { handle }
    }

    /// The counters of a port (`STAT_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device or port, or the driver has no counters (siw); EMSGSIZE if it has more than
    /// fit into a reply: sysfs has them all but the optional ones.
    pub async fn get(&self, device: u32, port: u32) -> Result<PortCounters> {
        let message = NldevMessage::new(NldevCommand::StatGet, place(device, port));
        self.handle.view(message, PortCounters::from_attributes).await
    }

    /// Which counters a port has, and which optional ones are enabled (`STAT_GET_STATUS`). Since 5.16.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn status(&self, device: u32, port: u32) -> Result<PortCounterStatus> {
        let message = NldevMessage::new(NldevCommand::StatGetStatus, place(device, port));
        self.handle.view(message, PortCounterStatus::from_attributes).await
    }

    /// Enables the optional counters with these indexes and disables all others of the port (`STAT_SET`).
    ///
    /// # Errors
    /// EINVAL if an index is not that of an optional counter, EOPNOTSUPP if the driver has none, EPERM. What came
    /// before the one that failed is done.
    pub async fn set_optional(&self, device: u32, port: u32, indexes: &[u32]) -> Result<()> {
        let indexes = indexes.iter().copied().map(NldevAttribute::StatHwcounterIndex).collect();
        let mut attributes = place(device, port);
        attributes.push(NldevAttribute::StatHwcounters(Nested::flagged(indexes)));
        self.handle.doit(NldevMessage::new(NldevCommand::StatSet, attributes)).await.map(drop)
    }

    /// Enables these optional counters of a port besides those that are.
    ///
    /// Reads the status first: not safe against somebody else who does the same.
    ///
    /// # Errors
    /// As [`status`](Self::status) and [`set_optional`](Self::set_optional); [`Error::InvalidRequest`] if a name is
    /// not that of an optional counter.
    pub async fn enable(&self, device: u32, port: u32, names: &[&str]) -> Result<()> {
        self.switch(device, port, names, true).await
    }

    /// Disables these optional counters of a port and leaves the others.
    ///
    /// # Errors
    /// As [`enable`](Self::enable).
    pub async fn disable(&self, device: u32, port: u32, names: &[&str]) -> Result<()> {
        self.switch(device, port, names, false).await
    }

    async fn switch(&self, device: u32, port: u32, names: &[&str], on: bool) -> Result<()> {
        let status = self.status(device, port).await?;
        if !names.iter().all(|name| status.optional().any(|counter| counter.name == *name)) {
            let message = NldevMessage::new(NldevCommand::StatSet, place(device, port));
            let request = RequestName::new(&message, false);
            return Err(Error::InvalidRequest { request, reason: "no optional counter of that name" });
        }
        let wanted = status.optional().filter(|counter| {
            if names.contains(&counter.name.as_str()) { on } else { counter.enabled == Some(true) }
        });
        let indexes: Vec<_> = wanted.map(|counter| counter.index).collect();
        self.set_optional(device, port, &indexes).await
    }

    /// How a port's QPs are bound to counters (`STAT_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device or port.
    pub async fn qp_mode(&self, device: u32, port: u32) -> Result<QpCounterMode> {
        let mut attributes = place(device, port);
        // Its presence asks for the mode, whatever the value.
        attributes.extend([NldevAttribute::StatMode(CounterMode::Manual.number()), OF_QPS]);
        let message = NldevMessage::new(NldevCommand::StatGet, attributes);
        self.handle.view(message, QpCounterMode::from_attributes).await
    }

    /// Has the kernel bind QPs to counters by what they have in common; [`AutoCriteria::OFF`] ends that
    /// (`STAT_SET`). `optional_counters` has the optional counters count along; kernels before 6.15 refuse it, so
    /// `None` leaves it out.
    ///
    /// # Errors
    /// EBUSY if a QP is bound by hand, EOPNOTSUPP if the driver cannot, EINVAL for unknown criteria, EPERM.
    pub async fn set_qp_auto(
        &self,
        device: u32,
        port: u32,
        criteria: AutoCriteria,
        optional_counters: Option<bool>,
    ) -> Result<()> {
        let mut attributes = place(device, port);
        attributes.extend([
            OF_QPS,
            NldevAttribute::StatMode(CounterMode::Auto.number()),
            NldevAttribute::StatAutoModeMask(criteria.0),
        ]);
        attributes.extend(optional_counters.map(|on| NldevAttribute::StatOpcounterEnabled(on.into())));
        self.handle.doit(NldevMessage::new(NldevCommand::StatSet, attributes)).await.map(drop)
    }

    /// Binds a QP to a counter by hand, or to a new one (`STAT_SET`). Gives the counter's id.
    ///
    /// # Errors
    /// EINVAL in auto mode or if the driver cannot, ENOENT if there is no such QP or counter, EPERM.
    pub async fn bind_qp(&self, device: u32, port: u32, lqpn: u32, counter: Option<u32>) -> Result<u32> {
        // The order of rdma(8); the kernel does not mind.
        let mut attributes = vec![NldevAttribute::StatMode(CounterMode::Manual.number()), OF_QPS];
        attributes.extend(place(device, port));
        attributes.push(NldevAttribute::ResLqpn(lqpn));
        attributes.extend(counter.map(NldevAttribute::StatCounterId));
        let message = NldevMessage::new(NldevCommand::StatSet, attributes);
        let request = RequestName::new(&message, false);
        let Some(reply) = self.handle.doit(message).await? else { return Err(Error::NoReply { request }) };
        reply
            .get_u32(RDMA_NLDEV_ATTR_STAT_COUNTER_ID)
            .ok_or(Error::MissingAttribute { request, attribute: "RDMA_NLDEV_ATTR_STAT_COUNTER_ID" })
    }

    /// Unbinds a QP from a counter (`STAT_DEL`).
    ///
    /// # Errors
    /// EINVAL in auto mode or if the QP is not bound to it, EPERM.
    pub async fn unbind_qp(&self, device: u32, port: u32, lqpn: u32, counter: u32) -> Result<()> {
        // Attributes and order of rdma(8); the kernel does not read the mode.
        let mut attributes = vec![NldevAttribute::StatMode(CounterMode::Manual.number()), OF_QPS];
        attributes.extend(place(device, port));
        attributes.extend([NldevAttribute::StatCounterId(counter), NldevAttribute::ResLqpn(lqpn)]);
        self.handle.doit(NldevMessage::new(NldevCommand::StatDel, attributes)).await.map(drop)
    }

    /// The counters QPs are bound to, of a device or one of its ports (`STAT_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device or port.
    pub async fn qp_counters(&self, device: u32, port: Option<u32>) -> Result<Vec<QpCounter>> {
        let mut attributes = vec![NldevAttribute::DevIndex(device)];
        attributes.extend(port.map(NldevAttribute::PortIndex));
        attributes.push(OF_QPS);
        let message = NldevMessage::new(NldevCommand::StatGet, attributes);
        let (table, entry) = (RDMA_NLDEV_ATTR_STAT_COUNTER, RDMA_NLDEV_ATTR_STAT_COUNTER_ENTRY);
        Table::new(&message, table, entry, QpCounter::from_entry).list(&self.handle, message, |_| true).await
    }

    /// One counter QPs are bound to (`STAT_GET`).
    ///
    /// # Errors
    /// ENOENT if there is none, EINVAL if there is no such device or port.
    pub async fn qp_counter(&self, device: u32, port: u32, counter: u32) -> Result<QpCounter> {
        let mut attributes = place(device, port);
        attributes.extend([OF_QPS, NldevAttribute::StatCounterId(counter)]);
        let message = NldevMessage::new(NldevCommand::StatGet, attributes);
        self.handle.view(message, |attributes| QpCounter::from_entry(Entry::single(attributes)?)).await
    }

    /// The counters of all memory regions of a device (`STAT_GET`).
    ///
    /// # Errors
    /// EINVAL if there is no such device.
    pub async fn mr_counters(&self, device: u32) -> Result<Vec<MrCounters>> {
        let message =
            NldevMessage::new(NldevCommand::StatGet, vec![NldevAttribute::DevIndex(device), OF_MRS]);
        let (table, entry) = (RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY);
        Table::new(&message, table, entry, MrCounters::from_entry).list(&self.handle, message, |_| true).await
    }

    /// The counters of one memory region (`STAT_GET`).
    ///
    /// # Errors
    /// ENOENT if there is none, EINVAL if there is no such device.
    pub async fn mr_counter(&self, device: u32, mrn: u32) -> Result<MrCounters> {
        let attributes = vec![NldevAttribute::DevIndex(device), OF_MRS, NldevAttribute::ResMrn(mrn)];
        let message = NldevMessage::new(NldevCommand::StatGet, attributes);
        self.handle.view(message, |attributes| MrCounters::from_entry(Entry::single(attributes)?)).await
    }
}
