//! The messages of each channel, and what they carry.

pub(crate) mod client;
pub(crate) mod key;
pub(crate) mod parts;
pub(crate) mod worker;
