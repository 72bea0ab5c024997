//! The versioned messages between clients, broker and workers.
//!
//! Every message begins with the protocol's version and a number that says which message it is. Its fields
//! follow, little-endian, in the order in which they are declared. Descriptors go beside a message, in the
//! order that its documentation gives. A message is at most [`MAX_BYTES`] long. Malformed bytes give an
//! [`Error`], never a panic, and a message of another version is told apart from nonsense.
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

mod attributes;
mod certificate;
mod code;
mod messages;
mod place;
mod secure;

pub use attributes::{Attributes, AttributesError, MOST_LABEL_BYTES, usage};
pub use certificate::{CERTIFICATE, CertificateParts, PKCS11_TAG};
pub use code::{Error, MAX_BYTES, MOST_KEY_BYTES, MOST_OBJECT_BYTES, Message, Secret, VERSION};
pub use messages::client::{Refusal, Reply, Request};
pub use messages::key::{KeyPurpose, KeyRefusal, KeyReply, KeyRequest};
pub use messages::parts::{
    Failures, Grant, GrantStatus, KeyRules, Presigned, QueueCounts, TokenHolder, TokenStatus, Use, UseStatus,
    Wanted, WorkerStatus,
};
pub use messages::worker::{HandOver, NoncesLeft, Order, Report, Tried};
pub use place::{SERVICE_UID_VARIABLE, SOCKET_VARIABLE, environment, socket, sockets, trusted_uids};
pub use secure::has_more_rights;

/// Word 0 of the state page while the grant is served.
pub const STATE_LIVE: u64 = 0;
/// Word 0 of the state page when the grant was revoked.
pub const STATE_REVOKED: u64 = 1;
/// Word 0 of the state page when the worker has ended.
pub const STATE_GONE: u64 = 2;
/// The bytes of key memory that each key slot of a grant is charged. A key made from at most 256 bytes takes
/// no more than this, unless it is for Camellia, DES or 3DES, so a grant can hold as many of these as it has
/// slots. Larger keys take the room of several.
pub const KEY_SLOT_BYTES: u64 = 2048;
/// The granularity of reserved key memory.
pub const KEY_PIECE_BYTES: u64 = 16384;
/// The size of the state page.
pub const STATE_BYTES: usize = 4096;
/// The size of the page in which a worker shows its progress to the broker: see [`Order::Watch`].
pub const PROGRESS_BYTES: usize = 4096;
/// The word of that page that changes with each turn of the accelerator's thread.
pub const PROGRESS_TURNS: usize = 0;
/// The word that names the grant whose memory the accelerator's thread has touched last in this turn; 0 for
/// none.
pub const PROGRESS_WORDS_OF: usize = 1;
/// The word that changes with each such touch.
pub const PROGRESS_TOUCHES: usize = 2;
/// The word that changes whenever the control thread begins or finishes a piece of work.
pub const PROGRESS_STEPS: usize = 8;
/// The word that names the grant for which the control thread works; 0 for none.
pub const PROGRESS_GRANT: usize = 9;
/// The number of words of the page that are in use.
pub const PROGRESS_WORDS: usize = 16;
