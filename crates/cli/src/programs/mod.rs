//! Programs that know nothing of Millstream. They get it through OpenSSL, by configuration alone.
//!
//! [`configuration`] makes OpenSSL's configuration, [`module`] finds the provider, [`folder`] holds the files
//! that exist while a program runs, [`service`] holds its keys if it is to be isolated, [`child`] runs the
//! program, [`executable`] reads facts from its file, and [`report`] says what was computed.

pub mod base;
pub mod child;
pub mod configuration;
pub mod executable;
pub mod folder;
pub mod module;
pub mod report;
pub mod service;
