//! Mid-states of messages under a key, in a form that their clients keep: nobody but an accelerator with the same key can
//! read or change them.
//!
//! A message that comes in pieces has a state between two of them, which the client must not see: the state of an HMAC is as
//! good as its key, and a client who could choose the state of a CMAC would have blocks encrypted. An accelerator that kept
//! it would need memory for every message that any client has begun, and an end for each. So it seals the state and gives it
//! to the client, who can have as many as he likes, copy them, and forget them. A copy lets him do nothing that he could not
//! do with the key's handle: compute the MAC of another message that begins alike.
//!
//! The form is that of a synthetic initialisation vector (as in RFC 5297): a MAC of the state, and the state under a keystream
//! that begins with the MAC. Equal states look alike, and no nonce has to be counted or remembered, here or where the key
//! moves to. MAC and keystream are HMAC-SHA256. Their key is the SHA-256 of a block of its own, which no operation of any
//! algorithm computes, and the other key's bytes.

use arrayvec::ArrayVec;
use millstream_cpu::Features;
use millstream_cwq::{Algorithm, Opcode, Status};
use millstream_engines::compare::begins;
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::hmac::HmacKey;
use zeroize::{Zeroize, Zeroizing};

/// Bytes of the MAC in front.
const MAC: usize = 32;

/// The most bytes of a sealed state: `iv_len` counts no more.
const LONGEST: usize = u8::MAX as usize;

/// A block of the hash, so that a key's bytes begin the next.
const BLOCK: usize = 64;

/// The text in front of a key's bytes.
const LABEL: &[u8] = b"Millstream: what seals the mid-states of messages under a key";

/// The first byte of what the MAC and the keystream are over.
const OVER_STATE: u8 = 1;
const KEYSTREAM: u8 = 2;

/// A sealed state.
pub(crate) type Sealed = ArrayVec<u8, LONGEST>;

/// Seals and opens the mid-states of messages under one key. It holds only the bytes of its own key and expands them each
/// time, because an expanded key has unused bytes, which take along leftovers of the stack when it is moved.
pub(crate) struct Sealer {
    features: Features,
    algorithm: Algorithm,
    key: Zeroizing<[u8; 32]>,
}

impl Sealer {
    /// Makes a sealer for messages under the key of an algorithm that has these bytes.
    pub(crate) fn new(features: Features, algorithm: Algorithm, key: &[u8]) -> Self {
        let mut label = [0; BLOCK];
        label[..LABEL.len()].copy_from_slice(LABEL);
        label[BLOCK - 1] = algorithm as u8;
        let mut hasher = Hasher::new(features, Hash::Sha256);
        hasher.update(&label);
        hasher.update(key);
        let mut sealer = Sealer { features, algorithm, key: Zeroizing::default() };
        sealer.key.copy_from_slice(&hasher.finish());
        sealer
    }

    fn expanded(&self) -> HmacKey {
        HmacKey::new(self.features, Hash::Sha256, &*self.key)
    }

    /// Computes the MAC of a state.
    fn mac(&self, key: &HmacKey, opcode: Opcode, state: &[u8]) -> [u8; MAC] {
        let mut hmac = key.start();
        hmac.update(&[OVER_STATE, opcode as u8, self.algorithm as u8]);
        hmac.update(state);
        let mut mac = [0; MAC];
        mac.copy_from_slice(&hmac.finish());
        mac
    }

    /// Adds the keystream that begins with a MAC.
    fn add_keystream(key: &HmacKey, mac: &[u8; MAC], bytes: &mut [u8]) {
        let mut input = [0; MAC + 2];
        input[0] = KEYSTREAM;
        input[2..].copy_from_slice(mac);
        for (count, part) in (0..).zip(bytes.chunks_mut(MAC)) {
            input[1] = count;
            let keystream = key.sign(&input);
            part.iter_mut().zip(&keystream[..]).for_each(|(byte, key)| *byte ^= key);
        }
    }

    /// Seals the state of a message whose pieces have that opcode.
    pub(crate) fn seal(&self, opcode: Opcode, state: &[u8]) -> Sealed {
        let key = self.expanded();
        let mac = self.mac(&key, opcode, state);
        let mut sealed: Sealed = mac.iter().chain(state).copied().collect();
        Sealer::add_keystream(&key, &mac, &mut sealed[MAC..]);
        sealed
    }

    /// Returns the state that was sealed.
    ///
    /// # Errors
    /// [`Status::MidState`] when it was sealed under another key, or for something else, or not at all.
    pub(crate) fn open(&self, opcode: Opcode, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, Status> {
        let (mac, state) = sealed.split_first_chunk().ok_or(Status::MidState)?;
        let (key, mut state) = (self.expanded(), Zeroizing::new(state.to_vec()));
        Sealer::add_keystream(&key, mac, &mut state);
        let mut right = self.mac(&key, opcode, &state);
        let same = begins(&right, mac);
        right.zeroize();
        if bool::from(same) { Ok(state) } else { Err(Status::MidState) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealer(algorithm: Algorithm, key: &[u8]) -> Sealer {
        Sealer::new(Features::none(), algorithm, key)
    }

    #[test]
    fn what_was_sealed_is_opened_by_the_same_key_for_the_same_purpose() {
        let of = sealer(Algorithm::AesCmac, &[7; 16]);
        for len in [0, 1, 31, 32, 33, 64, 207, 223] {
            let state: Vec<u8> = (0..len).collect();
            let sealed = of.seal(Opcode::PartialMac, &state);
            assert_eq!(of.open(Opcode::PartialMac, &sealed).unwrap()[..], state);
            assert_eq!(sealer(Algorithm::AesCmac, &[7; 16]).seal(Opcode::PartialMac, &state), sealed);
            for (other, opcode) in [
                (sealer(Algorithm::AesCmac, &[8; 16]), Opcode::PartialMac),
                (sealer(Algorithm::AesGcm, &[7; 16]), Opcode::PartialMac),
                (sealer(Algorithm::AesCmac, &[7; 16]), Opcode::PartialAead),
            ] {
                assert_eq!(other.open(opcode, &sealed).err(), Some(Status::MidState));
            }
        }
    }

    #[test]
    fn every_bit_counts_and_nothing_shows() {
        let of = sealer(Algorithm::Sha256, b"Jefe");
        let state = [0; 100];
        let sealed = of.seal(Opcode::PartialMac, &state);
        for bit in 0..8 * sealed.len() {
            let mut other = sealed.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(of.open(Opcode::PartialMac, &other).err(), Some(Status::MidState), "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(of.open(Opcode::PartialMac, &sealed[..len]).err(), Some(Status::MidState));
        }
        // No block of the keystream comes twice.
        let blocks: std::collections::HashSet<_> = sealed.chunks(MAC).collect();
        assert_eq!(blocks.len(), sealed.len().div_ceil(MAC));
        let ones: u32 = sealed.iter().map(|byte| byte.count_ones()).sum();
        assert!((8 * sealed.len() as u32 * 2 / 5..8 * sealed.len() as u32 * 3 / 5).contains(&ones));
    }
}
