//! What the kernel reports by itself.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use futures::{Stream, StreamExt, channel::mpsc};

use super::packet::{AttributeList, NldevAttribute, NldevMessage, number::*};
use super::view::EventType;

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
    /// An event of a type this library does not know, or one without all that its type carries: the kernel sends
    /// nothing but the type when the network device lives in another namespace. Read again what it may be about.
    Unknown {
        /// Its type: a number of `enum rdma_nl_notify_event_type`.
        kind: u8,
        /// Everything it carried.
        attributes: Vec<NldevAttribute>,
    },
    /// Something happened, but not even its type is known: events were lost, or what came cannot be decoded. Read
    /// everything again.
    Resync,
}

impl Event {
    /// What an event of a known type says, if it has all of it.
    fn known(kind: u8, message: &NldevMessage) -> Option<Self> {
        let index = || message.get_u32(RDMA_NLDEV_ATTR_DEV_INDEX);
        let name = || message.get_string(RDMA_NLDEV_ATTR_DEV_NAME);
        let port = || message.get_u32(RDMA_NLDEV_ATTR_PORT_INDEX);
        let netdev_index = || message.get_u32(RDMA_NLDEV_ATTR_NDEV_INDEX);
        let netdev_name = || message.get_string(RDMA_NLDEV_ATTR_NDEV_NAME);
        Some(match EventType::from(kind) {
            EventType::Register => Self::Register { index: index()?, name: name()? },
            EventType::Unregister => Self::Unregister { index: index()?, name: name()? },
            EventType::NetdevAttach => Self::NetdevAttach {
                index: index()?,
                name: name()?,
                port: port()?,
                netdev_index: netdev_index()?,
                netdev_name: netdev_name()?,
            },
            EventType::NetdevDetach => Self::NetdevDetach { index: index()?, name: name()?, port: port()? },
            EventType::Rename => Self::Rename { index: index()?, name: name()? },
            EventType::NetdevRename => {
                Self::NetdevRename { netdev_index: netdev_index()?, netdev_name: netdev_name()? }
            }
            EventType::Other(_) => return None,
        })
    }
}

impl From<NldevMessage> for Event {
    /// An event without a type is a [`Resync`](Event::Resync).
    fn from(message: NldevMessage) -> Self {
        match message.get_u8(RDMA_NLDEV_ATTR_EVENT_TYPE) {
            Some(kind) => {
                Self::known(kind, &message).unwrap_or(Self::Unknown { kind, attributes: message.attributes })
            }
            None => Self::Resync,
        }
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
