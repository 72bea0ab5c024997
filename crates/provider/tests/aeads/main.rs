//! AEADs against OpenSSL's own, and against published vectors.
//!
//! Their keys are in this process, or, where `MILLSTREAM_SOCKET` names a service, in that.
#![allow(unsafe_code)]

mod calls;
mod common;
mod messages;
mod records;
#[path = "../support/mod.rs"]
mod support;
