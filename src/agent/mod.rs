//! The node side: publish what the node has, keep its soft links, feed the kubelet.

pub mod isolation;
pub mod links;
mod publish;
mod resolver;
mod run;
pub mod standalone;
pub mod status;
pub mod wanted;

pub use publish::Inputs;
pub use run::{Settings, run, run_standalone};
