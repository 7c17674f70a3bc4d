//! The handle: making requests.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage};
use netlink_proto::{ConnectionHandle, sys::SocketAddr};
use tokio::time::Instant;

use super::{
    connection::Shared,
    error::{Error, RequestName, Result},
    packet::{NldevCommand, NldevMessage, RdmaMessage},
    reply::{Messages, Replies},
    request::{
        ChardevHandle, DeviceHandle, FrmrHandle, LinkHandle, PortHandle, ResourceHandle, StatsHandle,
        SystemHandle,
    },
};

/// Makes requests. Cheap to clone; all clones use one connection.
///
/// Every request ends within the handle's timeout, whatever the kernel, the socket or the connection do.
#[derive(Clone)]
pub struct Handle {
    // Dropped before `requests`, whose end wakes the connection to see whether anybody is left.
    shared: Arc<Shared>,
    requests: ConnectionHandle<RdmaMessage>,
    timeout: Duration,
}

impl Handle {
    pub(super) fn new(
        shared: Arc<Shared>,
        requests: ConnectionHandle<RdmaMessage>,
        timeout: Duration,
    ) -> Self {
        Self { shared, requests, timeout }
    }

    /// The same connection with another time a request may take.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self { timeout, ..self.clone() }
    }

    /// What a request may take.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether the connection has ended. Nothing but a new connection helps then.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Devices.
    pub fn device(&self) -> DeviceHandle {
        DeviceHandle::new(self.clone())
    }

    /// Ports of the device with this index.
    pub fn port(&self, device: u32) -> PortHandle {
        PortHandle::new(self.clone(), device)
    }

    /// Settings of the whole subsystem.
    pub fn system(&self) -> SystemHandle {
        SystemHandle::new(self.clone())
    }

    /// Char devices.
    pub fn chardev(&self) -> ChardevHandle {
        ChardevHandle::new(self.clone())
    }

    /// Resources: what processes and the kernel have allocated on a device.
    pub fn resource(&self) -> ResourceHandle {
        ResourceHandle::new(self.clone())
    }

    /// Counters.
    pub fn stats(&self) -> StatsHandle {
        StatsHandle::new(self.clone())
    }

    /// Pools of fast registration memory regions.
    pub fn frmr(&self) -> FrmrHandle {
        FrmrHandle::new(self.clone())
    }

    /// Soft links.
    pub fn link(&self) -> LinkHandle {
        LinkHandle::new(self.clone())
    }

    /// Sends a request for one object; the replies come as they arrive.
    pub fn send_doit(&self, message: NldevMessage) -> Replies {
        Replies::new(self.clone(), message, Ask::Acknowledged, self.deadline())
    }

    /// Sends a request for a list; the replies come as they arrive. What arrives faster than it is read is held:
    /// [`Query::stream`](super::Query::stream) is not so.
    ///
    /// The kernel runs one list at a time on a socket: while one runs, another is asked for again until it gets its
    /// turn or its time is up.
    pub fn send_dump(&self, message: NldevMessage) -> Replies {
        Replies::new(self.clone(), message, Ask::List, self.deadline())
    }

    /// Asks for one object; `None` when the kernel only acknowledged.
    ///
    /// # Errors
    /// See [`Replies::next`].
    pub async fn doit(&self, message: NldevMessage) -> Result<Option<NldevMessage>> {
        let mut replies = self.send_doit(message);
        let mut data = None;
        while let Some(reply) = replies.next().await {
            data = Some(reply?);
        }
        Ok(data)
    }

    /// Asks for a whole list.
    ///
    /// # Errors
    /// See [`Replies::next`]. A list that is not known to be complete is an error.
    pub async fn dump(&self, message: NldevMessage) -> Result<Vec<NldevMessage>> {
        let mut messages = Vec::new();
        let take = |message| {
            messages.push(message);
            Ok(())
        };
        self.dump_with(message, take).await?;
        Ok(messages)
    }

    /// Asks for a whole list and hands on each message of it.
    pub(super) async fn dump_with(
        &self,
        message: NldevMessage,
        mut take: impl FnMut(NldevMessage) -> Result<()>,
    ) -> Result<()> {
        let deadline = self.deadline();
        // Lists made by this call queue up here rather than annoy the kernel.
        let Ok(_turn) = tokio::time::timeout_at(deadline, self.shared.dumps.lock()).await else {
            return Err(Error::Deadline { request: RequestName::new(&message, true), after: self.timeout });
        };
        let mut replies = Replies::new(self.clone(), message, Ask::List, deadline);
        while let Some(reply) = replies.next().await {
            take(reply?)?;
        }
        Ok(())
    }

    /// Asks for one object and makes a view of it.
    pub(super) async fn view<V>(&self, message: NldevMessage, view: View<V>) -> Result<V> {
        let request = RequestName::new(&message, false);
        let ask = if always_answered(message.command) { Ask::Object } else { Ask::Acknowledged };
        let mut replies = Replies::new(self.clone(), message, ask, self.deadline());
        let mut data = None;
        while let Some(reply) = replies.next().await {
            data = Some(reply?);
        }
        match data {
            Some(reply) => parse(reply, request, view),
            None => Err(Error::NoReply { request }),
        }
    }

    /// Asks for a list of objects that come one a message, and makes a view of each.
    pub(super) async fn views<V>(&self, message: NldevMessage, view: View<V>) -> Result<Vec<V>> {
        let request = RequestName::new(&message, true);
        let replies = self.dump(message).await?;
        replies.into_iter().map(|reply| parse(reply, request.clone(), view)).collect()
    }

    /// Sends a request on a thread of its own; see [`Blocking`](super::blocking).
    pub(super) async fn block(
        &self,
        message: NldevMessage,
        keep: Option<std::os::fd::OwnedFd>,
    ) -> Result<()> {
        self.shared.blocking.run(message, keep, self.timeout).await
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Hands a request to the connection.
    pub(super) fn submit(&self, message: NldevMessage, ask: Ask) -> Messages {
        // The kernel takes any bit of NLM_F_DUMP for a dump: nothing but these flags is ever sent.
        let flags = NLM_F_REQUEST
            | match ask {
                Ask::Object => 0,
                Ask::Acknowledged => NLM_F_ACK,
                Ask::List => NLM_F_ACK | NLM_F_DUMP,
            };
        let mut message = NetlinkMessage::from(RdmaMessage::from(message));
        message.header.flags = flags;
        match self.shared.submit(|| self.requests.request(message, SocketAddr::new(0, 0))) {
            Ok(messages) => Box::pin(messages.map(Ok)),
            // The only failure is a connection that is gone, which an ended stream says too.
            Err(_) => Box::pin(futures::stream::empty()),
        }
    }
}

/// How a request is asked, which decides what ends its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// For one object: one message, or an error. No acknowledgement after it, which would be one more to receive.
    Object,
    /// Ends with an acknowledgement, whether or not a message came before it.
    Acknowledged,
    /// For all of a kind.
    List,
}

/// Requests that the kernel never answers by an acknowledgement alone. They are asked for each device and port, again
/// and again.
fn always_answered(command: NldevCommand) -> bool {
    use NldevCommand::{Get, GetChardev, PortGet, SysGet};
    matches!(command, Get | PortGet | SysGet | GetChardev)
}

/// Makes a view of a reply; the error names the attribute that is missing.
pub(super) type View<V> =
    fn(Vec<super::packet::NldevAttribute>) -> std::result::Result<V, super::view::Missing>;

fn parse<V>(reply: NldevMessage, request: RequestName, view: View<V>) -> Result<V> {
    view(reply.attributes)
        .map_err(|missing| Error::MissingAttribute { request, attribute: missing.attribute })
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("timeout", &self.timeout)
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}
