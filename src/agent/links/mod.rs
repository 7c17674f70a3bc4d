//! Soft links of this node: observe → [`plan`](plan::plan) (pure) → one step → observe again.

pub mod failure;
mod keeper;
pub mod owned;
pub mod plan;

pub use keeper::{Keeper, Report};
