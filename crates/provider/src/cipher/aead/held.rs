//! A message whose key is in the service: it is held here, and its tag is computed there over the whole.
//!
//! The service has no messages in pieces. A message that comes in one piece costs one operation. For one that comes in
//! several, keystream is fetched ahead: both AEADs encrypt by adding one, so what encrypts zeros under the message's nonce
//! is the keystream. Each fetch begins at the message's first byte, as every operation does, and is twice as long as the
//! last, so that all of them together take no more than four times the message's bytes, however small its pieces
//! are. At the end the tag takes the message once more.
//!
//! Keystream gives away this message and nothing else, and the message is here anyway. It is zeroised with it.

use millstream::InOut;
use millstream::compare::begins;
use millstream::modes::Direction;
use zeroize::Zeroizing;

use super::TAG;
use crate::error::{Reason, Result};
use crate::remote::{LONGEST, RemoteKey, append, fits};

/// What a buffer in the service's memory has besides its bytes. With it a fetch is as long as a power of two, which is what
/// buffers take.
const AROUND: usize = 128;

/// The shortest fetch, in bytes, with what is around it.
const FETCH: usize = 4096;

/// Who computes on whole messages: the key in the service.
pub trait Whole {
    /// Encrypts a message, or decrypts it; returns the tag over the input, as if that was the plaintext.
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]>;
    /// Decrypts a message if its tag is right, and tells whether it is.
    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<bool>;
}

impl Whole for RemoteKey {
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]> {
        RemoteKey::seal(self, nonce, aad, data)
    }

    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<bool> {
        RemoteKey::open(self, nonce, aad, data, tag)
    }
}

/// What came so far.
#[derive(Clone)]
pub struct Held {
    nonce: Vec<u8>,
    aad: Vec<u8>,
    data: Zeroizing<Vec<u8>>,
    /// The keystream from the message's first byte on, as far as it was fetched.
    keystream: Zeroizing<Vec<u8>>,
    so_far: SoFar,
}

/// What is known of the message so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SoFar {
    Nothing,
    /// The tag, as it would be for an end here.
    Sealed([u8; TAG]),
    /// That it has the tag that was given.
    Opened([u8; TAG]),
}

impl Held {
    pub fn new(nonce: &[u8]) -> Self {
        Held {
            nonce: nonce.to_vec(),
            aad: Vec::new(),
            data: Zeroizing::new(Vec::new()),
            keystream: Zeroizing::new(Vec::new()),
            so_far: SoFar::Nothing,
        }
    }

    pub fn associate(&mut self, aad: &[u8]) -> Result<()> {
        if !self.data.is_empty() {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("associated data comes before data"));
        }
        fits(self.aad.len().saturating_add(aad.len()))?;
        self.aad.extend_from_slice(aad);
        self.so_far = SoFar::Nothing;
        Ok(())
    }

    /// Passes the next piece; `tag` is what the message should end with, where that is known already.
    pub fn pass(
        &mut self,
        key: &impl Whole,
        direction: Direction,
        data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        let before = self.data.len();
        fits(before.saturating_add(data.len()))?;
        append(&mut self.data, data.input());
        if before == 0 {
            self.pass_first(key, direction, data, tag)
        } else {
            self.pass_more(key, before, data)
        }
    }

    /// The first piece, which in most cases is the only one.
    fn pass_first(
        &mut self,
        key: &impl Whole,
        direction: Direction,
        mut data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        let tag = tag.and_then(|tag| <[u8; TAG]>::try_from(tag).ok());
        if let (Direction::Decrypt, Some(tag)) = (direction, tag) {
            let output = InOut::separate(&self.data, data.output())?;
            if key.open(&self.nonce, &self.aad, output, &tag)? {
                self.so_far = SoFar::Opened(tag);
                return Ok(());
            }
        }
        let tag = key.seal(&self.nonce, &self.aad, InOut::separate(&self.data, data.output())?)?;
        self.so_far = if direction == Direction::Encrypt { SoFar::Sealed(tag) } else { SoFar::Nothing };
        Ok(())
    }

    /// A piece that `before` bytes came before: its keystream is added.
    fn pass_more(&mut self, key: &impl Whole, before: usize, mut data: InOut<'_>) -> Result<()> {
        self.so_far = SoFar::Nothing;
        self.fetch(key)?;
        let piece = self.data[before..].iter().zip(&self.keystream[before..]);
        data.output().iter_mut().zip(piece).for_each(|(out, (byte, key))| *out = byte ^ key);
        Ok(())
    }

    /// Sees to it that there is keystream for all that came.
    fn fetch(&mut self, key: &impl Whole) -> Result<()> {
        let needed = self.data.len();
        if self.keystream.len() >= needed {
            return Ok(());
        }
        let ahead = (needed + AROUND).next_power_of_two().max(FETCH) - AROUND;
        let mut keystream = Zeroizing::new(vec![0; ahead.min(LONGEST - AROUND).max(needed)]);
        key.seal(&self.nonce, &[], InOut::in_place(&mut keystream))?;
        self.keystream = keystream;
        Ok(())
    }

    /// The tag of a message that was encrypted.
    pub fn tag(mut self, key: &impl Whole) -> Result<[u8; TAG]> {
        match self.so_far {
            SoFar::Sealed(tag) => Ok(tag),
            _ => key.seal(&self.nonce, &self.aad, InOut::in_place(&mut self.data)),
        }
    }

    /// Whether the tag of a message that was decrypted begins with `tag`.
    pub fn verify(mut self, key: &impl Whole, tag: &[u8]) -> Result<bool> {
        if let SoFar::Opened(opened) = self.so_far {
            return Ok(begins(&opened, tag).into());
        }
        let Held { nonce, aad, data, .. } = &mut self;
        if let Ok(tag) = tag.try_into() {
            return key.open(nonce, aad, InOut::in_place(data), tag);
        }
        // The service takes no tags of other lengths, so it computes the whole one: over the plaintext.
        key.seal(nonce, aad, InOut::in_place(data))?;
        let whole = key.seal(nonce, aad, InOut::in_place(data))?;
        Ok(begins(&whole, tag).into())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use millstream::aead::Aead;
    use millstream::chacha20poly1305::ChaCha20Poly1305;
    use millstream::gcm::Gcm;

    use super::*;

    /// A key in this process that counts what would go through the service.
    struct Counting<'k, A> {
        key: &'k A,
        operations: Cell<usize>,
        bytes: Cell<usize>,
    }

    impl<'k, A: Aead> Counting<'k, A> {
        fn new(key: &'k A) -> Self {
            Counting { key, operations: Cell::new(0), bytes: Cell::new(0) }
        }

        fn count(&self, bytes: usize) {
            self.operations.set(self.operations.get() + 1);
            self.bytes.set(self.bytes.get() + bytes);
        }
    }

    impl<A: Aead> Whole for Counting<'_, A> {
        fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]> {
            self.count(data.len());
            let mut tag = [0; TAG];
            self.key.seal(nonce, aad, data, &mut tag)?;
            Ok(tag)
        }

        fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<bool> {
            self.count(data.len());
            Ok(self.key.open(nonce, aad, data, tag).is_ok())
        }
    }

    /// Passes a message in pieces of that length, and ends it; what came out.
    fn pass(
        key: &impl Whole,
        direction: Direction,
        input: &[u8],
        piece: usize,
        tag: &[u8; TAG],
        early: bool,
    ) -> Vec<u8> {
        let mut held = Held::new(&[9; 12]);
        held.associate(b"header").unwrap();
        let mut out = vec![0; input.len()];
        for (input, out) in input.chunks(piece).zip(out.chunks_mut(piece)) {
            let data = InOut::separate(input, out).unwrap();
            held.pass(key, direction, data, early.then_some(tag)).unwrap();
        }
        match direction {
            Direction::Encrypt => assert_eq!(held.tag(key).unwrap(), *tag),
            Direction::Decrypt => {
                assert!(held.clone().verify(key, &tag[..12]).unwrap());
                assert!(!held.clone().verify(key, &[tag[0] ^ 1; TAG]).unwrap());
                assert!(held.verify(key, tag).unwrap());
            }
        }
        out
    }

    fn in_pieces<A: Aead>(key: A) {
        let plain: Vec<u8> = (0..300_000_u32).map(|i| ((i * 7) >> 3) as u8).collect();
        for len in [0, 1, 100, 5000, plain.len()] {
            let plain = &plain[..len];
            let (mut sealed, mut tag) = (plain.to_vec(), [0; TAG]);
            key.seal(&[9; 12], b"header", InOut::in_place(&mut sealed), &mut tag).unwrap();
            for piece in [61, 1024, 65_536, 1 << 20].into_iter().filter(|piece| len < 10_000 || *piece > 1000)
            {
                let counting = Counting::new(&key);
                assert!(pass(&counting, Direction::Encrypt, plain, piece, &tag, false) == sealed);
                let bytes = counting.bytes.get();
                assert!(bytes <= 6 * len + FETCH, "{bytes} bytes for {len} in pieces of {piece}");
                for early in [false, true] {
                    assert!(pass(&counting, Direction::Decrypt, &sealed, piece, &tag, early) == plain);
                }
            }
        }
    }

    /// What goes through the service grows with the message, and not with the number of its pieces.
    #[test]
    fn pieces_cost_what_their_bytes_cost() {
        let features = millstream::features().unwrap();
        in_pieces(Gcm::new(features, &[7; 32]).unwrap());
        in_pieces(ChaCha20Poly1305::new(features, &[7; 32]).unwrap());
    }

    #[test]
    fn a_message_in_one_piece_is_one_operation() {
        let gcm = Gcm::new(millstream::features().unwrap(), &[7; 16]).unwrap();
        let key = Counting::new(&gcm);
        let mut held = Held::new(&[9; 12]);
        held.pass(&key, Direction::Encrypt, InOut::in_place(&mut [1; 1000]), None).unwrap();
        held.tag(&key).unwrap();
        assert_eq!((key.operations.get(), key.bytes.get()), (1, 1000));
    }
}
