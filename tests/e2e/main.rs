//! The whole thing on a real cluster with real soft RDMA: `cargo xtask test` brings the lab up and runs these, one
//! after the other in the order of their names. Alone, each says that it needs the lab.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod admission;
mod agent;
mod cli;
mod controller;
mod lab;
mod links;
mod machine;
mod pods;
#[path = "../rdma_support/poll_context.rs"]
mod poll_context;
mod uninstall;
