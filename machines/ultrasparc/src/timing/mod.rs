//! A model of the machines' time, in cycles.
//!
//! [`parameters`] is every number of it, with where it comes from; [`model`] puts them together where a formula will do,
//! [`simulation`] where units, strands and queues get in one another's way. [`history`] holds what Sun and Oracle published
//! against what the model says.
//!
//! The model is one of costs, not of pipelines: the cycles of an instruction are those of its class, wherever it
//! stands.

pub mod counts;
pub mod history;
pub mod model;
pub mod parameters;
pub mod simulation;
