//! What can go wrong, and what the kernel said about it.

use std::{fmt, io, time::Duration};

use super::{
    errno,
    packet::{AttributeList, NldevCommand, NldevMessage, number},
};

/// Why a request or a connection failed.
///
/// The text says what was being done; the cause, with the kernel's errno, is in
/// [`source`](std::error::Error::source) and in [`errno`](Self::errno).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No socket. See [`is_no_rdma`](Self::is_no_rdma).
    #[error("opening the NETLINK_RDMA socket")]
    Open(#[source] io::Error),
    /// The notification group could not be joined. EPERM: kernels before 6.12, which have no notifications, want
    /// CAP_NET_ADMIN for it.
    #[error("joining the RDMA notification group")]
    Join(#[source] io::Error),
    /// The kernel refused the request.
    #[error("{request} was refused{}", Told(.ext_ack))]
    Kernel {
        /// The request.
        request: RequestName,
        /// What the kernel said beside the errno.
        ext_ack: Option<ExtAck>,
        /// The errno.
        source: io::Error,
    },
    /// A list ended with an error: what came before it is not the whole list.
    #[error("{request} broke off{}", Told(.ext_ack))]
    DumpFailed {
        /// The request.
        request: RequestName,
        /// The kernel's code, a negative errno.
        code: i32,
        /// What the kernel said beside the errno.
        ext_ack: Option<ExtAck>,
        /// The errno.
        source: io::Error,
    },
    /// A list ended without the message that says it is complete.
    #[error("{request} ended without NLMSG_DONE")]
    Incomplete {
        /// The request.
        request: RequestName,
    },
    /// The kernel sends empty tables without end, as it does when one object is larger than its buffer. It
    /// would not stop: the connection is ended, or the socket of a [`Listing`](super::Listing).
    #[error("{request} sends only empty tables")]
    NoProgress {
        /// The request.
        request: RequestName,
    },
    /// Acknowledged, but without the data asked for.
    #[error("{request} was acknowledged without data")]
    NoReply {
        /// The request.
        request: RequestName,
    },
    /// A reply that is no NLDEV message.
    #[error("{request} was answered with bytes that cannot be decoded (message type {message_type:#06x})")]
    Undecodable {
        /// The request.
        request: RequestName,
        /// `nlmsg_type` of the reply.
        message_type: u16,
    },
    /// A reply lacks an attribute it cannot do without.
    #[error("{request} was answered without {attribute}")]
    MissingAttribute {
        /// The request.
        request: RequestName,
        /// The kernel's name of the attribute.
        attribute: &'static str,
    },
    /// No answer in time.
    #[error("{request} was not answered within {after:?}")]
    Deadline {
        /// The request.
        request: RequestName,
        /// The time given.
        after: Duration,
    },
    /// The kernel had no room for a message, which may have been the answer. Ask again.
    #[error("{request} may have lost its answer: the socket's receive buffer overran")]
    Overrun {
        /// The request.
        request: RequestName,
    },
    /// The connection has ended. It can be made anew.
    #[error("{request}: the netlink connection has ended")]
    ConnectionClosed {
        /// The request.
        request: RequestName,
    },
    /// The kernel still works on it, on a thread of its own. The same call made again waits for the same work.
    #[error("{request} still runs in the kernel after {after:?}")]
    StillRunning {
        /// The request.
        request: RequestName,
        /// The time since it was started.
        after: Duration,
    },
    /// The thread of a blocking request could not do its work: no thread, no socket, or sending failed.
    #[error("sending {request}")]
    Send {
        /// The request.
        request: RequestName,
        /// The cause.
        source: io::Error,
    },
    /// The request cannot be put into a message, so it was not sent.
    #[error("{request}: {reason}")]
    InvalidRequest {
        /// The request.
        request: RequestName,
        /// What is wrong with it.
        reason: &'static str,
    },
}

/// Result of a request.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The kernel's error number, positive, if it gave one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Open(source) | Self::Join(source) => source.raw_os_error(),
            Self::Kernel { source, .. } | Self::DumpFailed { source, .. } | Self::Send { source, .. } => {
                source.raw_os_error()
            }
            _ => None,
        }
    }

    /// What the kernel said beside the errno.
    pub fn ext_ack(&self) -> Option<&ExtAck> {
        match self {
            Self::Kernel { ext_ack, .. } | Self::DumpFailed { ext_ack, .. } => ext_ack.as_ref(),
            _ => None,
        }
    }

    /// The request that failed.
    pub fn request(&self) -> Option<&RequestName> {
        match self {
            Self::Open(_) | Self::Join(_) => None,
            Self::Kernel { request, .. }
            | Self::DumpFailed { request, .. }
            | Self::Incomplete { request }
            | Self::NoProgress { request }
            | Self::NoReply { request }
            | Self::Undecodable { request, .. }
            | Self::MissingAttribute { request, .. }
            | Self::Deadline { request, .. }
            | Self::Overrun { request }
            | Self::ConnectionClosed { request }
            | Self::StillRunning { request, .. }
            | Self::Send { request, .. }
            | Self::InvalidRequest { request, .. } => Some(request),
        }
    }

    /// Whether this kernel has no RDMA at all (ib_core neither there nor loadable): a normal state of a host.
    pub fn is_no_rdma(&self) -> bool {
        let source = match self {
            Self::Open(source) | Self::Send { source, .. } => source,
            _ => return false,
        };
        matches!(source.raw_os_error(), Some(errno::EPROTONOSUPPORT | errno::EAFNOSUPPORT))
    }

    /// Whether the kernel refused for want of a capability. EPERM of `NEWLINK` has other meanings too.
    pub fn is_permission(&self) -> bool {
        matches!(self.errno(), Some(errno::EPERM | errno::EACCES))
    }

    /// Whether the connection is gone and must be made anew.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::ConnectionClosed { .. })
    }
}

/// A request as error texts name it: `PORT_GET of device 3 port 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestName {
    /// The command.
    pub command: NldevCommand,
    /// Whether it asked for a list.
    pub dump: bool,
    /// The device index it named.
    pub device: Option<u32>,
    /// The port it named.
    pub port: Option<u32>,
    /// The device name or kind of char device it named.
    pub name: Option<String>,
}

impl RequestName {
    /// The name of this request.
    pub fn new(message: &NldevMessage, dump: bool) -> Self {
        let name = message
            .get_string(number::RDMA_NLDEV_ATTR_DEV_NAME)
            .or_else(|| message.get_string(number::RDMA_NLDEV_ATTR_CHARDEV_TYPE));
        Self {
            command: message.command,
            dump,
            device: message.get_u32(number::RDMA_NLDEV_ATTR_DEV_INDEX),
            port: message.get_u32(number::RDMA_NLDEV_ATTR_PORT_INDEX),
            name,
        }
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.command)?;
        if self.dump {
            f.write_str(" list")?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name:?}")?;
        }
        if let Some(device) = self.device {
            write!(f, " of device {device}")?;
        }
        if let Some(port) = self.port {
            write!(f, " port {port}")?;
        }
        Ok(())
    }
}

/// The kernel's extended acknowledgement (`NLMSGERR_ATTR_*`, `include/uapi/linux/netlink.h`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtAck {
    /// What is wrong, in the kernel's words.
    pub message: Option<String>,
    /// Where in the request the offending attribute starts, in bytes from its netlink header.
    pub offset: Option<u32>,
}

/// `": text"` when the kernel gave a text.
struct Told<'a>(&'a Option<ExtAck>);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_ref().and_then(|ext_ack| ext_ack.message.as_deref()) {
            Some(message) => write!(f, ": {message}"),
            None => Ok(()),
        }
    }
}
