//! File formats: encrypted files of Tink, of `openssl enc`, of Solaris, of age, C2SP's, and ciphertext alone; and keys.
//!
//! A format turns a key and a stream's header into a [`Job`]: the bytes to write first, the way to cut the
//! stream, and the workers for its pieces. [`pipeline`] passes the pieces through them, over several threads
//! if they do not depend on each other. Each format also has `encrypt` and `decrypt` from any reader to any
//! writer, on the caller's thread.
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
//! | `chunked.rs`, `envelope/` | C2SP's chunked encryption, and files that have their wrapped key in front of it |
//! | `age/` | the files of age, to decrypt |
//! | `small.rs` | many small files of Tink at once |
//! | `keyset/`, `json.rs`, `passphrase.rs`, `sealed_key.rs` | Tink's keysets, JSON with secrets, and the preambles for a passphrase, or a key of a token, in place of a key |
//! | `key/` | keys in files: PKCS#8, SEC 1, PKCS#1, JSON Web Keys, keysets and bytes |
//! | `softhsm/` | the keys in a folder of SoftHSM2 |
//! | `detect.rs` | the recognition of formats |
//! | `cipher.rs`, `pbkdf2.rs` | the ciphers and the key derivation in formats |
//! | `job.rs`, `pipeline.rs` | a stream that is ready to be computed, and the path of its pieces |
#![forbid(unsafe_code)]

pub mod age;
pub mod certificate;
pub mod chunked;
pub mod cipher;
mod detect;
pub mod envelope;
mod error;
mod job;
mod json;
pub mod key;
pub mod keyset;
pub mod openssl;
pub mod passphrase;
pub mod pbkdf2;
pub mod pipeline;
pub mod raw;
pub mod sealed_key;
pub mod small;
pub mod softhsm;
pub mod solaris;
pub mod tink;

pub use detect::{DETECT_LEN, Format, detect};
pub use error::Error;
pub use job::{Job, Pieces, read_header};
