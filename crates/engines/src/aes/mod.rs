//! AES-128, AES-192 and AES-256 and their modes.
//!
//! Ref. FIPS 197.

pub(crate) mod schedule;

pub use schedule::Schedule;
