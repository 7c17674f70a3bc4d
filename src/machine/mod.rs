//! Machine documents: a host as its kernel shows it, to be loaded, written, and simulated.

mod anonymise;
mod check;
mod check_devices;
pub mod document;
pub mod errno;
mod locate;
mod pseudonym;
pub mod sim;
pub mod snapshot;
mod tree;
mod words;
mod write;

pub use check::{API_VERSION, Error};
pub use document::Machine;
pub use sim::Simulator;

#[cfg(test)]
mod tests;
