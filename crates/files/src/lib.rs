//! File formats: encrypted files of Tink, of `openssl enc`, of Solaris, and ciphertext alone.
//!
//! A format turns a key and a stream's header into a [`Job`]: what to write first, how to cut the stream, and what computes
//! each piece. [`pipeline`] carries the pieces, over several threads where they do not depend on each other. Each format
//! also has `encrypt` and `decrypt` from any reader to any writer, on the caller's thread.
//!
//! ```
//! use millstream_cpu::Features;
//! use millstream_files::tink;
//!
//! let features = Features::hardware();
//! let key = tink::Key::new(&[7; 32])?;
//! let (mut sealed, mut opened) = (Vec::new(), Vec::new());
//! tink::encrypt(features, &b"an object"[..], &mut sealed, &key, b"")?;
//! tink::decrypt(features, &sealed[..], &mut opened, &key, b"")?;
//! assert_eq!(opened, b"an object");
//! # Ok::<(), millstream_files::Error>(())
//! ```
//!
//! | file | holds |
//! | --- | --- |
//! | `tink.rs`, `openssl.rs`, `solaris.rs`, `raw.rs` | one format each |
//! | `keyset.rs`, `passphrase.rs` | what precedes Tink's: its keysets, and a passphrase in place of a key |
//! | `detect.rs` | which format a file looks like |
//! | `cipher.rs`, `pbkdf2.rs` | what formats are made of |
//! | `job.rs`, `pipeline.rs` | a stream ready to be computed, and how its pieces travel |
#![forbid(unsafe_code)]

pub mod cipher;
mod detect;
mod error;
mod job;
pub mod keyset;
pub mod openssl;
pub mod passphrase;
pub mod pbkdf2;
pub mod pipeline;
pub mod raw;
pub mod solaris;
pub mod tink;

pub use detect::{DETECT_LEN, Format, detect};
pub use error::{Error, plain};
pub use job::{Job, Pieces, read_header};
