//! Tests over recorded messages and over a scripted kernel.

mod blocking;
pub(in crate::nl) mod fixtures;
mod kernel;
mod listing;
mod monitor;
mod requests;
mod resources;
mod traps;
