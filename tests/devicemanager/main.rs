//! The device plugin against the real kubelet's device manager, which is part of the lab's programs: with its
//! checkpoint file, and in its own folder, which a private mount namespace puts into a temporary one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, unreachable_pub, dead_code)]

#[path = "../support/kubelet_host.rs"]
mod host;
mod kubelet;
mod restarts;
