//! The PKCS #11 module of Millstream: programs that know PKCS #11 use the keys of its tokens unchanged.
//!
//! ```text
//! program ── C functions (abi) ── sessions ── operations ── engines
//!                                    └─ slots ── objects ── a store of files, or the service
//! ```
//!
//! The module offers the interfaces 2.40, 3.0 and 3.2 by `C_GetInterface`, and 2.40 by `C_GetFunctionList`. Sessions, public attributes and
//! search are in the process of the program. So are the keys of a store of files; those of the service are not, and operations with them go there.
//!
//! # Threads and forks
//! Calls in different sessions do not wait for each other, but for the moment in which a table is changed. A forked child has to initialise
//! again (`CKR_CRYPTOKI_NOT_INITIALIZED` says so), and its parent goes on undisturbed.
//!
//! Ref. OASIS PKCS #11 Specification v3.2.
#![deny(unsafe_code)]

pub mod abi;
mod mechanism;
mod module;
mod object;
mod operation;
mod refusal;
mod session;
mod text;
mod token;
