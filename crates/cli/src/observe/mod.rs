//! What programs are given of the processor, and what they use of it: the words of `run --without`, `compare` and `trace`.
//!
//! `millstream_observe` does the work; here is how it is asked for and how its results are told.

pub mod compare;
pub mod explain;
pub mod features;
pub mod looking;
mod stable;
pub mod table;
pub mod trace;
pub mod without;
