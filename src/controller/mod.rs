//! The cluster side: follow Nodes, RdmaNodes, SoftRdmaLinks and agent pods; plan; write what differs.
//!
//! [`plan::plan`] is pure and looks at everything; this module feeds it and carries out what it says.

mod execute;
pub mod lease;
pub mod link_status;
pub mod plan;
mod run;
pub mod world;

pub use run::{Settings, run};
