//! Soft links of this node: observe → [`plan`](plan::plan) (pure) → one step → observe again.

pub mod failure;
pub mod owned;
pub mod plan;
