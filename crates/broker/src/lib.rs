//! The broker, and its workers.
#![deny(unsafe_code)]

pub mod worker;
