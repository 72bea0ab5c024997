//! Backups of streams in object stores.
//!
//! [`put()`](put::put) cuts a stream into segments. Each becomes an object of its own, a C2SP chunked-encryption message
//! under its own salt; several are sealed and stored at once, in bounded memory. The manifest is written last, so a reader never takes a backup for
//! whole that isn't. [`resume`](put::resume) goes on with what an interruption left.
//!
//! ```
//! use millstream_backup::{Get, Location, Put, Store, get, put};
//! use millstream_cpu::Features;
//! use millstream_files::envelope::{Identity, Recipient};
//!
//! let store = Store::memory();
//! let name = Location::in_memory("pool/now");
//! let key = [7; 32];
//! let options = Put::new(Features::hardware());
//! put::put(&store, &name, &options, &[Recipient::Key(&key)], &mut &b"a stream"[..], &|_| {})?;
//!
//! let mut restored = Vec::new();
//! let options = Get::new(Features::hardware());
//! get::get(&store, &name, &options, &[Identity::Key(&key)], &mut restored, &|_| {})?;
//! assert_eq!(restored, b"a stream");
//! # Ok::<(), millstream_backup::Error>(())
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `location.rs` | addresses of backups, and the stores behind them |
//! | `store.rs` | a store with retries and a limit of bandwidth |
//! | `manifest.rs` | the index and the details of a backup, in their encodings |
//! | `segment.rs` | sealing one segment, and the record of it |
//! | `put.rs`, `get.rs`, `verify.rs`, `list.rs` | the commands |
//!
//! The format is described in `docs/backup-format.md`.
#![forbid(unsafe_code)]

mod error;
pub mod get;
pub mod list;
mod location;
pub mod manifest;
pub mod put;
pub mod segment;
mod store;
pub mod verify;

pub use error::Error;
pub use get::Get;
pub use location::Location;
pub use put::Put;
pub use store::{Policy, Store};

/// Something that happened on the way, for displays.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// So many bytes of the stream were done.
    Bytes(u64),
    /// A segment is in the store.
    Stored {
        /// The segment's number, from 0.
        segment: u64,
        /// The bytes of plaintext.
        bytes: u64,
    },
    /// A segment was in the store from before, with the same plaintext.
    Kept {
        /// The segment's number, from 0.
        segment: u64,
        /// The bytes of plaintext.
        bytes: u64,
    },
    /// A segment was found right.
    Verified {
        /// The segment's number, from 0.
        segment: u64,
    },
}

/// A function that is told of events, from any thread.
pub type Events<'a> = &'a (dyn Fn(Event) + Sync);
