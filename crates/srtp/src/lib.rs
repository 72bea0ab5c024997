//! Millstream behind libsrtp2: programs that protect media with that library use Millstream's engines unchanged.
//!
//! The shared object `libmillstream-srtp.so` is preloaded, or linked in front of libsrtp2. It has a `srtp_init` of its own, which calls the
//! library's and then replaces the types of cipher and authentication function that are registered there: AES in counter mode
//! (RFC 3711 §4.1.1, RFC 6188), AES-GCM (RFC 7714) and HMAC-SHA1 (RFC 3711 §4.2.1). libsrtp2 examines each new type with its own published
//! vectors and with random packets, and keeps its own type where one fails.
//!
//! ```text
//! program ── libsrtp2: sessions, replay, packets ── a type (cipher, auth) ── state (icm, gcm, sha1) ── engines
//! ```
//!
//! ```text
//! $ LD_PRELOAD=/usr/lib/x86_64-linux-gnu/millstream/libmillstream-srtp.so gst-launch-1.0 ...
//! $ millstream run gst-launch-1.0 ...      # the same, and says what was computed
//! ```
//!
//! Programs that send to many receivers at once find sessions of SRTP in [`millstream::srtp`].
//!
//! Packets are counted in the file of counters that the environment variable `MILLSTREAM_TALLY` names, as the OpenSSL provider does.
#![deny(unsafe_code)]

mod abi;
mod auth;
mod cipher;
mod count;
mod gcm;
mod given;
mod icm;
mod init;
mod sha1;
mod vectors;

pub use init::srtp_init;
