//! NETLINK_RDMA: what rdma(8) and the agent know about devices, and how they change them.
//!
//! Two layers, neither of which imports anything else of this crate. [`packet`] turns messages into bytes and back
//! without loss. Above it a [`Connection`] owns the socket, a [`Handle`] makes requests and gives typed views,
//! and [`Events`] brings what the kernel reports by itself.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (handle, _events) = rdma_operator::nl::connect()?;
//! for device in handle.device().list().await? {
//!     for (number, port) in handle.port(device.index).all(device.port_count).await {
//!         let state = port?.state.map_or("?", |state| state.as_str());
//!         println!("{}/{number} {state}", device.name);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod blocking;
mod channel;
mod codec;
mod connection;
pub mod errno;
mod error;
mod event;
mod ext_ack;
mod handle;
mod own_socket;
mod own_thread;
pub mod packet;
mod reply;
mod request;
#[cfg(test)]
mod tests;
mod view;

pub use blocking::{BlockingSocket, OpenBlocking, RunningRequest, kernel as blocking_kernel};
pub use channel::{ChannelPeer, ChannelSender, ChannelSocket};
pub use codec::RdmaCodec;
pub use connection::{
    Connection, DEFAULT_TIMEOUT, RDMA_NL_GROUP_NOTIFY, from_socket, new_connection, new_monitor_connection,
};
pub use error::{Error, ExtAck, RequestName, Result};
pub use event::{Event, Events};
pub use handle::Handle;
pub use own_thread::{connect, connect_monitor};
pub use reply::Replies;
pub use request::{
    ChardevHandle, DeviceHandle, FrmrHandle, LinkHandle, LinkKind, Listing, PortHandle, Query, RawQuery,
    ResourceHandle, StatsHandle, SystemHandle,
};
pub use view::{
    AutoCriteria, CharDevice, CmAddress, CmId, CmState, CompletionQueue, CounterMode, CounterStatus, Device,
    DeviceType, DriverDetail, DriverId, DriverValue, Entry, EventType, FrmrPool, FrmrPoolKey, Guid,
    HwCounter, MemoryRegion, Missing, MrCounters, NameAssignType, NetnsMode, NodeType, Owner, ParseGuidError,
    PathMigState, PhysState, PollContext, Port, PortCounterStatus, PortCounters, PortSpace, PortState,
    ProtectionDomain, QpCounter, QpCounterMode, QpState, QpType, QueuePair, RawResource, Resource,
    ResourceSummary, SharedReceiveQueue, SrqType, SummaryEntry, SystemInfo, UserContext,
};
