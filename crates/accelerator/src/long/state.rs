//! The state of a cipher, and of a hash or MAC, between two slices.

use millstream_cpu::Features;
use millstream_cwq::Status;
use millstream_engines::aead::AeadState;
use millstream_engines::aes::CmacState;
use millstream_engines::crc::{Crc32, Crc32c};
use millstream_engines::hash::{Hash, Hasher, MidState};
use millstream_engines::hmac::Hmac;
use millstream_engines::ipsum::IpChecksum;
use millstream_engines::kasumi::{F8State, F9State};
use millstream_engines::modes::Direction;
use millstream_engines::rc4::Rc4;
use millstream_engines::{InOut, chacha20poly1305, des, gcm};

use crate::key::KeyRef;
use crate::status::status_of;
use crate::word_keys::WordKeys;
use crate::work::Checksum;

/// A digest, tag or code.
pub(super) type Tag = arrayvec::ArrayVec<u8, 64>;

/// The cipher of an operation. Large states are boxed, because most operations have a chaining value or nothing.
pub(super) enum Cipher {
    None,
    /// All that is kept is a block of ciphertext, or nothing, so that slices of several operations go side by side.
    Chained,
    /// All that is kept is a counter, so that slices of several operations go side by side.
    Counter,
    Xts,
    Rc4(Box<Rc4>),
    KasumiF8(F8State),
    Gcm(Box<gcm::State>),
    ChaCha(Box<chacha20poly1305::State>),
}

impl Cipher {
    /// Passes the next bytes, which begin at `at`, in place. `unused` bits of the last byte have no meaning. Slices that only
    /// keep a chaining value or a counter are executed as operations instead.
    pub(super) fn pass(
        &mut self,
        keys: &WordKeys<'_>,
        direction: Direction,
        tweak: &[u8; 16],
        at: u32,
        bytes: &mut [u8],
        unused: usize,
    ) -> Result<(), Status> {
        let bits = 8 * bytes.len() - unused;
        let data = InOut::in_place(bytes);
        let passed = match (self, keys.key) {
            (Cipher::Rc4(state), _) => {
                state.apply(data);
                Ok(())
            }
            (Cipher::Xts, Some(KeyRef::AesXts(key))) => match direction {
                Direction::Encrypt => key.encrypt_part(tweak, at / 16, data),
                Direction::Decrypt => key.decrypt_part(tweak, at / 16, data),
            },
            (Cipher::KasumiF8(state), Some(KeyRef::KasumiF8(key))) => state.apply(key, data, bits),
            (Cipher::Gcm(state), Some(KeyRef::AesGcm(key))) => crypt(&mut **state, key, direction, data),
            (Cipher::ChaCha(state), Some(KeyRef::ChaCha20Poly1305(key))) => {
                crypt(&mut **state, key, direction, data)
            }
            _ => return Err(Status::Key),
        };
        passed.map_err(status_of)
    }

    /// Adds associated data.
    pub(super) fn aad(&mut self, keys: &WordKeys<'_>, bytes: &[u8]) -> Result<(), Status> {
        let added = match (self, keys.key) {
            (Cipher::Gcm(state), Some(KeyRef::AesGcm(key))) => state.aad(key, bytes),
            (Cipher::ChaCha(state), Some(KeyRef::ChaCha20Poly1305(key))) => state.aad(key, bytes),
            _ => return Err(Status::Key),
        };
        added.map_err(status_of)
    }

    /// Returns the state of an AEAD, to be sealed.
    pub(super) fn export(&self) -> Option<MidState> {
        match self {
            Cipher::Gcm(state) => Some(state.export()),
            Cipher::ChaCha(state) => Some(state.export()),
            _ => None,
        }
    }

    /// Returns the tag of an AEAD, or an empty one for another cipher.
    pub(super) fn tag(&self, keys: &WordKeys<'_>) -> Result<Tag, Status> {
        Ok(match (self, keys.key) {
            (Cipher::Gcm(state), Some(KeyRef::AesGcm(key))) => tag(&state.tag(key)),
            (Cipher::ChaCha(state), Some(KeyRef::ChaCha20Poly1305(key))) => tag(&state.tag(key)),
            (Cipher::Gcm(_) | Cipher::ChaCha(_), _) => return Err(Status::Key),
            _ => Tag::new(),
        })
    }
}

fn crypt<S: AeadState>(
    state: &mut S,
    key: &S::Key,
    direction: Direction,
    data: InOut<'_>,
) -> Result<(), millstream_engines::Error> {
    match direction {
        Direction::Encrypt => state.encrypt(key, data),
        Direction::Decrypt => state.decrypt_unverified(key, data),
    }
}

/// The hash, MAC or checksum of an operation.
pub(super) enum Sum {
    None,
    Crc32(Crc32),
    Crc32c(Crc32c),
    Ip(IpChecksum),
    Hash(Box<Hasher>),
    Hmac(Box<Hmac>),
    Cmac(Box<CmacState>),
    DesMac(des::MacState),
    KasumiF9(F9State),
    /// The code of F9, once it has seen the last bits.
    Code([u8; 4]),
}

impl Sum {
    pub(super) fn checksum(features: Features, checksum: Checksum) -> Self {
        match checksum {
            Checksum::Crc32 => Sum::Crc32(Crc32::new(features)),
            Checksum::Crc32c => Sum::Crc32c(Crc32c::new(features)),
            Checksum::Ip => Sum::Ip(IpChecksum::new(features)),
        }
    }

    pub(super) fn hash(features: Features, hash: Hash, before: Option<&[u8]>) -> Result<Self, Status> {
        let hasher = match before {
            Some(state) => Hasher::import(features, hash, state).map_err(status_of)?,
            None => Hasher::new(features, hash),
        };
        Ok(Sum::Hash(Box::new(hasher)))
    }

    /// Adds the next bytes. F9 must know the last of them: `last` is then the direction, and how many of their bits have no
    /// meaning.
    pub(super) fn add(
        &mut self,
        keys: &WordKeys<'_>,
        bytes: &[u8],
        last: Option<(u8, usize)>,
    ) -> Result<(), Status> {
        match (&mut *self, keys.key) {
            (Sum::None | Sum::Code(_), _) => {}
            (Sum::Crc32(sum), _) => sum.update(bytes),
            (Sum::Crc32c(sum), _) => sum.update(bytes),
            (Sum::Ip(sum), _) => sum.update(bytes),
            (Sum::Hash(hasher), _) => hasher.update(bytes),
            (Sum::Hmac(hmac), _) => hmac.update(bytes),
            (Sum::Cmac(state), Some(KeyRef::AesCmac(key))) => state.update(key, bytes),
            (Sum::DesMac(state), Some(KeyRef::DesMac(key))) => state.update(key, bytes),
            (Sum::KasumiF9(_), Some(KeyRef::KasumiF9(key))) => return self.add_f9(key, bytes, last),
            _ => return Err(Status::Key),
        }
        Ok(())
    }

    fn add_f9(
        &mut self,
        key: &millstream_engines::kasumi::F9,
        bytes: &[u8],
        last: Option<(u8, usize)>,
    ) -> Result<(), Status> {
        let Some((direction, unused)) = last else {
            if let Sum::KasumiF9(state) = self {
                state.update(key, bytes);
            }
            return Ok(());
        };
        if let Sum::KasumiF9(state) = std::mem::replace(self, Sum::None) {
            let code = state.finish(key, direction, bytes, 8 * bytes.len() - unused).map_err(status_of)?;
            *self = Sum::Code(code);
        }
        Ok(())
    }

    /// Returns the state of a MAC, to be sealed.
    pub(super) fn export(&self) -> Option<MidState> {
        match self {
            Sum::Hmac(hmac) => Some(hmac.export_message()),
            Sum::Cmac(state) => Some(state.export()),
            _ => None,
        }
    }

    /// Returns the digest or tag, or an empty one for a checksum.
    pub(super) fn tag(&self, keys: &WordKeys<'_>) -> Result<Tag, Status> {
        Ok(match (self, keys.key) {
            (Sum::Hash(hasher), _) => tag(&hasher.as_ref().clone().finish()),
            (Sum::Hmac(hmac), _) => tag(&hmac.as_ref().clone().finish()),
            (Sum::Cmac(state), Some(KeyRef::AesCmac(key))) => tag(&state.tag(key)),
            (Sum::DesMac(state), Some(KeyRef::DesMac(key))) => tag(&state.tag(key)),
            (Sum::Code(code), _) => tag(code),
            (Sum::Cmac(_) | Sum::DesMac(_), _) => return Err(Status::Key),
            _ => Tag::new(),
        })
    }

    /// Returns the value of a checksum.
    pub(super) fn value(&self) -> u32 {
        match self {
            Sum::Crc32(sum) => sum.value(),
            Sum::Crc32c(sum) => sum.value(),
            Sum::Ip(sum) => u32::from(sum.value()),
            _ => 0,
        }
    }
}

fn tag(bytes: &[u8]) -> Tag {
    bytes.iter().copied().take(64).collect()
}

/// Computes the chaining value or counter of the next slice, after one that read and wrote these bytes. `last_in` is the
/// last block that was read.
pub(super) fn next_chain(
    cipher: &Cipher,
    iv_len: usize,
    direction: Direction,
    chain: &mut [u8; 16],
    last_in: &[u8; 16],
    out: &[u8],
) {
    let block = if iv_len == 8 { 8 } else { 16 };
    match cipher {
        Cipher::Counter => {
            let blocks = (out.len() / 16) as u128;
            *chain = u128::from_be_bytes(*chain).wrapping_add(blocks).to_be_bytes();
        }
        // A slice that ends the message may be no whole block.
        _ if out.len() < block || iv_len == 0 => {}
        _ if direction == Direction::Encrypt => {
            chain[..block].copy_from_slice(&out[out.len() - block..]);
        }
        _ => chain[..block].copy_from_slice(&last_in[16 - block..]),
    }
}
