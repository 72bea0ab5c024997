//! The versioned messages between clients, broker and workers.
//!
//! Every message begins with the protocol's version and a number that says which message it is; then come its
//! fields, little-endian, in the order in which they are declared. Descriptors go beside a message, in the order that
//! its documentation gives. A message is at most [`MAX_BYTES`] long. What can't be understood is a [`Error`], never a
//! panic, and a message of another version is told from nonsense.
//!
//! | channel | requests | answers |
//! | --- | --- | --- |
//! | client and broker | [`Request`] | [`Reply`] |
//! | client and worker, for keys | [`KeyRequest`] | [`KeyReply`] |
//! | broker and worker | [`Order`] | [`Report`] |
//! | worker and worker, when a grant moves | | [`HandOver`] |
//!
//! ```
//! use millstream_protocol::{Message, Request};
//!
//! let bytes = Request::Revoke { grant: 7 }.encode();
//! assert_eq!(Request::decode(&bytes)?, Request::Revoke { grant: 7 });
//! # Ok::<(), millstream_protocol::Error>(())
//! ```
#![forbid(unsafe_code)]

mod code;
mod messages;
mod place;

pub use code::{Error, MAX_BYTES, Message, Secret, VERSION};
pub use messages::{
    Failures, Grant, GrantStatus, HandOver, KeyRefusal, KeyReply, KeyRequest, Order, QueueCounts, Refusal,
    Reply, Report, Request, Wanted, WorkerStatus,
};
pub use place::{SOCKET_VARIABLE, socket, sockets};

/// Word 0 of the state page while the grant is served.
pub const STATE_LIVE: u64 = 0;
/// Word 0 of the state page when the grant was revoked.
pub const STATE_REVOKED: u64 = 1;
/// Word 0 of the state page when the worker has ended.
pub const STATE_GONE: u64 = 2;
/// Bytes of the state page.
pub const STATE_BYTES: usize = 4096;
