//! Sessions of SRTP and SRTCP for programs that have no library for them, or too many receivers for one: a sender protects one packet
//! for any number of receivers, or packets of any number of streams, side by side in lanes.
//!
//! ```
//! use millstream::srtp::{Outgoing, Profile, Receiver, Sender, protect_many};
//!
//! let profile = Profile::AeadAes128Gcm;
//! let keys: Vec<[u8; 28]> = (0..64).map(|i| [i; 28]).collect();
//! let mut senders = keys.iter().map(|key| Sender::new(profile, key)).collect::<Result<Vec<_>, _>>()?;
//! // One packet: version 2, sequence number 1, source 7, and 160 bytes of media.
//! let packet = [&[0x80, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7][..], &[0x55; 160]].concat();
//! let mut places = vec![Vec::new(); senders.len()];
//! let mut outgoing: Vec<_> = senders
//!     .iter_mut()
//!     .zip(&mut places)
//!     .map(|(sender, place)| Outgoing::new(sender, &packet, place))
//!     .collect();
//! protect_many(&mut outgoing)?;
//! assert!(outgoing.iter().all(|outgoing| outgoing.result().is_ok()));
//!
//! let mut receiver = Receiver::new(profile, &keys[9])?;
//! assert_eq!(receiver.unprotect(&mut places[9])?, packet.len());
//! assert_eq!(places[9][..packet.len()], packet);
//! # Ok::<(), millstream::srtp::Error>(())
//! ```
//!
//! Headers with extensions stay in the clear (RFC 6904 is not there), packets have no master key identifier, and the key derivation
//! rate is 0, as in WebRTC.
//!
//! Ref. RFC 3711, RFC 6188 (256-bit keys), RFC 7714 (AES-GCM), RFC 5764 §4.1.2 (profiles).

mod incoming;
mod index;
mod keys;
mod lanes;
mod many;
mod packet;
mod place;
mod receiver;
mod sender;

use std::fmt;

use crate::EngineError;

pub use incoming::Incoming;
pub use many::{Outgoing, protect_many};
pub use place::Place;
pub use receiver::Receiver;
pub use sender::Sender;

/// The algorithms of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// `SRTP_AES128_CM_HMAC_SHA1_80`: AES-128 in counter mode, tags of 10 bytes.
    Aes128CmSha1Tag80,
    /// `SRTP_AES128_CM_HMAC_SHA1_32`: the same with tags of 4 bytes; those of RTCP have 10.
    Aes128CmSha1Tag32,
    /// `AES_256_CM_HMAC_SHA1_80` (RFC 6188): AES-256 in counter mode, tags of 10 bytes.
    Aes256CmSha1Tag80,
    /// `SRTP_AEAD_AES_128_GCM`: tags of 16 bytes.
    AeadAes128Gcm,
    /// `SRTP_AEAD_AES_256_GCM`: tags of 16 bytes.
    AeadAes256Gcm,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 5] = [
        Profile::Aes128CmSha1Tag80,
        Profile::Aes128CmSha1Tag32,
        Profile::Aes256CmSha1Tag80,
        Profile::AeadAes128Gcm,
        Profile::AeadAes256Gcm,
    ];

    /// Returns the bytes of a master key.
    pub const fn key_len(self) -> usize {
        match self {
            Profile::Aes128CmSha1Tag80 | Profile::Aes128CmSha1Tag32 | Profile::AeadAes128Gcm => 16,
            Profile::Aes256CmSha1Tag80 | Profile::AeadAes256Gcm => 32,
        }
    }

    /// Returns the bytes of a master salt.
    pub const fn salt_len(self) -> usize {
        if self.is_aead() { 12 } else { 14 }
    }

    /// Returns the bytes of a tag behind a packet of RTP.
    pub const fn tag_len(self) -> usize {
        match self {
            Profile::Aes128CmSha1Tag80 | Profile::Aes256CmSha1Tag80 => 10,
            Profile::Aes128CmSha1Tag32 => 4,
            Profile::AeadAes128Gcm | Profile::AeadAes256Gcm => 16,
        }
    }

    /// Returns the bytes of a tag behind a packet of RTCP.
    pub const fn rtcp_tag_len(self) -> usize {
        if self.is_aead() { 16 } else { 10 }
    }

    const fn is_aead(self) -> bool {
        matches!(self, Profile::AeadAes128Gcm | Profile::AeadAes256Gcm)
    }
}

/// The reason why a packet was not protected, or is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A master key and salt of another length than the profile has.
    KeyLength {
        /// Bytes that were given.
        given: usize,
        /// Bytes that the profile has.
        takes: usize,
    },
    /// Bytes that are no packet of version 2, or end within their header.
    Malformed,
    /// The tag is not right: another key, or a packet that was changed.
    Authentication,
    /// A packet with this number was protected or accepted before.
    Replayed,
    /// The number is so far behind that it can't be known whether it was there before.
    Old,
    /// There are as many sources as a session has.
    Sources,
    /// All numbers of a source are used up: the session needs a new master key.
    Exhausted,
    /// The environment variable `MILLSTREAM_HWCAP` can't be understood.
    Features,
    /// An engine refused the packet.
    Engine(EngineError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::KeyLength { given, takes } => {
                write!(f, "a master key and salt of {given} bytes; the profile takes {takes}")
            }
            Error::Malformed => f.write_str("no packet of RTP version 2, or one that ends within its header"),
            Error::Authentication => f.write_str("authentication failed: another key, or a changed packet"),
            Error::Replayed => f.write_str("a packet with this number was there before"),
            Error::Old => f.write_str("the packet's number is too far behind the newest"),
            Error::Sources => f.write_str("the session has as many sources as fit; begin another"),
            Error::Exhausted => f.write_str("all packet numbers are used up; agree on a new master key"),
            Error::Features => f.write_str("MILLSTREAM_HWCAP names a feature that is not known"),
            Error::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Authentication => Error::Authentication,
            error => Error::Engine(error),
        }
    }
}
