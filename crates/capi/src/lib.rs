//! libmillstream
#![deny(unsafe_code)]

pub mod algorithm;
mod direct;
pub mod ffi;
mod key;
mod pass;
mod queue;
pub mod status;
pub mod stream;
