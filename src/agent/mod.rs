//! The node side: publish what the node has, keep its soft links, feed the kubelet.

pub mod isolation;
pub mod links;
