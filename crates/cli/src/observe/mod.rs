//! Features that programs are given, and features that they use: the text of `run --without`, `compare` and
//! `trace`.
//!
//! `millstream_observe` does the work. The options and the reports are here.

pub mod compare;
pub mod explain;
pub mod features;
pub mod looking;
mod stable;
pub mod table;
pub mod trace;
pub mod without;
