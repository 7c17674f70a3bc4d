//! What the kernel reports by itself.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt, channel::mpsc};

use super::packet::{AttributeList, NldevAttribute, NldevMessage, number::*};

/// A notification (`enum rdma_nl_notify_event_type`, since 6.12; `Rename` and `NetdevRename` since 6.13).
///
/// Nothing is reported for port state, speed, MTU, GIDs, counters and moves between network namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A device has been registered.
    Register {
        /// Device index.
        index: u32,
        /// Device name.
        name: String,
    },
    /// A device is gone; its network devices are detached without a word.
    Unregister {
        /// Device index.
        index: u32,
        /// Device name.
        name: String,
    },
    /// A port got a network device.
    NetdevAttach {
        /// Device index.
        index: u32,
        /// Device name.
        name: String,
        /// Port number.
        port: u32,
        /// Network device index.
        netdev_index: u32,
        /// Network device name.
        netdev_name: String,
    },
    /// A port lost its network device.
    NetdevDetach {
        /// Device index.
        index: u32,
        /// Device name.
        name: String,
        /// Port number.
        port: u32,
    },
    /// A device has a new name.
    Rename {
        /// Device index.
        index: u32,
        /// The new name.
        name: String,
    },
    /// A network device of some port has a new name. The kernel does not say which port.
    NetdevRename {
        /// Network device index.
        netdev_index: u32,
        /// The new name.
        netdev_name: String,
    },
    /// An event this library does not know, by its type, with what it carried.
    Unknown(u8, Vec<NldevAttribute>),
    /// Something happened that cannot be told apart: events were lost, or one came without its attributes, as
    /// happens when the network device lives in another namespace. Read everything again.
    Resync,
}

impl Event {
    fn parse(message: &NldevMessage) -> Option<Self> {
        let index = || message.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX);
        let name = || message.get_string(RDMA_NLDEV_ATTR_DEV_NAME);
        let port = || message.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX);
        let netdev_index = || message.get_u32(RDMA_NLDEV_ATTR_NDEV_INDEX);
        let netdev_name = || message.get_string(RDMA_NLDEV_ATTR_NDEV_NAME);
        Some(match message.get_u8(RDMA_NLDEV_ATTR_EVENT_TYPE)? {
            0 => Self::Register { index: index()?, name: name()? },
            1 => Self::Unregister { index: index()?, name: name()? },
            2 => Self::NetdevAttach {
                index: index()?,
                name: name()?,
                port: port()?,
                netdev_index: netdev_index()?,
                netdev_name: netdev_name()?,
            },
            3 => Self::NetdevDetach { index: index()?, name: name()?, port: port()? },
            4 => Self::Rename { index: index()?, name: name()? },
            5 => Self::NetdevRename { netdev_index: netdev_index()?, netdev_name: netdev_name()? },
            other => Self::Unknown(other, message.attributes.clone()),
        })
    }
}

impl From<NldevMessage> for Event {
    /// An event that lacks what its type must carry is a [`Resync`](Event::Resync).
    fn from(message: NldevMessage) -> Self {
        Self::parse(&message).unwrap_or(Self::Resync)
    }
}

/// The events of a connection, as a [`Stream`]. They end with the connection.
///
/// Nothing is ever dropped here, so a reader must keep up; the kernel itself drops when the socket is full, and
/// then says so ([`Event::Resync`]).
#[derive(Debug)]
pub struct Events {
    received: mpsc::UnboundedReceiver<Event>,
}

impl Events {
    pub(super) fn new(received: mpsc::UnboundedReceiver<Event>) -> Self {
        Self { received }
    }

    /// The next event; `None` once the connection has ended.
    pub async fn recv(&mut self) -> Option<Event> {
        self.received.next().await
    }
}

impl Stream for Events {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        Pin::new(&mut self.received).poll_next(cx)
    }
}
