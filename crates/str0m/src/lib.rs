//! Millstream behind [str0m](https://github.com/algesten/str0m): WebRTC peers protect their media with Millstream's engines.
//!
//! str0m takes its cryptography from a [`CryptoProvider`]. [`provider`] returns one whose parts for SRTP are Millstream's: AES in counter
//! mode with HMAC-SHA1 (RFC 3711), AEAD_AES_128_GCM and AEAD_AES_256_GCM (RFC 7714), the derivation of their keys, and the digests and
//! the HMAC-SHA1 that STUN and fingerprints need. The handshake of DTLS (RFC 5764) stays with the provider that it is given.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Instant;
//!
//! use str0m::Rtc;
//!
//! let provider = millstream_str0m::provider(str0m::crypto::from_feature_flags())?;
//! let rtc = Rtc::builder().set_crypto_provider(Arc::new(provider)).build(Instant::now());
//! assert!(rtc.is_alive());
//! # Ok::<(), millstream::Error>(())
//! ```
//!
//! `install_process_default()` on what [`provider`] returns makes it that of all peers of a process.
//!
//! str0m hands over one packet at a time, so packets are not protected side by side. A server that sends one packet to many receivers
//! does that with [`millstream::srtp`]. Keys of sessions come from the handshake, and are in the process, as with str0m's other providers.
//!
//! A packet that is not authentic leaves zeros in the output. Keys are zeroised when str0m drops a cipher.
#![deny(unsafe_code)]

mod cipher;
mod digest;
mod srtp;

use millstream::Error;
use str0m::crypto::CryptoProvider;

/// Returns a provider that computes with Millstream's engines, and leaves DTLS to another provider, `base`.
///
/// ```
/// use str0m::crypto::from_feature_flags;
///
/// let provider = millstream_str0m::provider(from_feature_flags())?;
/// assert_eq!(provider.sha256_provider.sha256(b"abc")[..4], [0xba, 0x78, 0x16, 0xbf]);
/// # Ok::<(), millstream::Error>(())
/// ```
///
/// # Errors
/// [`Error::Mask`] when `MILLSTREAM_HWCAP` names an unknown feature.
pub fn provider(base: CryptoProvider) -> Result<CryptoProvider, Error> {
    millstream::features()?;
    Ok(CryptoProvider {
        srtp_provider: &Engines,
        sha1_hmac_provider: &Engines,
        sha1_provider: &Engines,
        sha256_provider: &Engines,
        ..base
    })
}

/// The engines that the process's features allow, as str0m's traits ask for them. A value is had by [`provider`] alone.
#[derive(Debug)]
struct Engines;

impl Engines {
    /// Returns the process's features.
    fn features(&self) -> millstream::Features {
        millstream::features()
            .expect("the features of a process stay as they were when the provider was made")
    }
}
