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
#![deny(unsafe_code)]

mod code;
mod messages;
mod place;
mod secure;

pub use code::{Error, MAX_BYTES, Message, Secret, VERSION};
pub use messages::{
    Failures, Grant, GrantStatus, HandOver, KeyPurpose, KeyRefusal, KeyReply, KeyRequest, KeyRules,
    NoncesLeft, Order, QueueCounts, Refusal, Reply, Report, Request, Use, UseStatus, Wanted, WorkerStatus,
};
pub use place::{SERVICE_UID_VARIABLE, SOCKET_VARIABLE, environment, socket, sockets, trusted_uids};

/// Word 0 of the state page while the grant is served.
pub const STATE_LIVE: u64 = 0;
/// Word 0 of the state page when the grant was revoked.
pub const STATE_REVOKED: u64 = 1;
/// Word 0 of the state page when the worker has ended.
pub const STATE_GONE: u64 = 2;
/// Bytes of key memory that each key slot of a grant is charged. A key of any algorithm but Camellia, DES and 3DES that is made from 256
/// bytes or fewer takes no more, so as many of these fit as there are slots; larger ones take the room of several.
pub const KEY_SLOT_BYTES: u64 = 2048;
/// Memory for keys is reserved in pieces of so many bytes.
pub const KEY_PIECE_BYTES: u64 = 16384;
/// Bytes of the state page.
pub const STATE_BYTES: usize = 4096;
/// Bytes of the page in which a worker shows its broker how it gets on: see [`Order::Watch`].
pub const PROGRESS_BYTES: usize = 4096;
/// The word of that page that changes with each turn of the accelerator's thread.
pub const PROGRESS_TURNS: usize = 0;
/// The word that says whose memory the accelerator's thread has touched last in this turn; 0 where it was nobody's.
pub const PROGRESS_WORDS_OF: usize = 1;
/// The word that changes with each such touch.
pub const PROGRESS_TOUCHES: usize = 2;
/// The word that changes whenever the control thread takes something in hand, and when it has done it.
pub const PROGRESS_STEPS: usize = 8;
/// The word that says for which grant that is; 0 where it is for none.
pub const PROGRESS_GRANT: usize = 9;
/// How many words of the page are used.
pub const PROGRESS_WORDS: usize = 16;
