//! Programs that know nothing of Millstream: they get it through OpenSSL, by configuration alone.
//!
//! [`configuration`] makes OpenSSL's configuration, [`module`] finds the provider, [`folder`] is what exists while a
//! program runs, [`service`] holds its keys if it is to be isolated, [`child`] is the program, [`executable`] what can be
//! told about it, and [`report`] says what was computed.

pub mod base;
pub mod child;
pub mod configuration;
pub mod executable;
pub mod folder;
pub mod module;
pub mod report;
pub mod service;
