//! A message whose key is in the service.
//!
//! A message in one piece costs one operation: it is sealed at once, in case nothing follows, and its input is kept. If
//! more follows, the input goes to the service again, as the first of the message's pieces. The service leaves off each
//! piece with a mid-state: see [`Request::partial_seal`](millstream::queue::Request::partial_seal). So the cost of a
//! message grows with its bytes, however many pieces it has, and no more than one piece is kept.
//!
//! A message that is decrypted in one piece after its tag was set is opened: a key that may only decrypt does no more.

use millstream::InOut;
use millstream::compare::begins;
use millstream::isolated::{ServiceKey, ServiceKeyError};
use millstream::modes::Direction;
use millstream::queue::Piece;
use zeroize::Zeroizing;

use super::TAG;
use crate::append::append;
use crate::error::{Reason, Result};

const LONGEST: usize = ServiceKey::LONGEST;
const PIECE: usize = ServiceKey::PIECE;

/// A key that computes what a message needs: in the product, one in the service.
pub trait Keyed {
    /// Encrypts a message, or decrypts it. Returns the tag over the input, as if that was the plaintext.
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]>;
    /// Decrypts a message if its tag is right, and tells whether it is.
    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<bool>;
    /// Encrypts or decrypts a piece of a message, and returns the mid-state after it.
    fn piece(&self, direction: Direction, piece: Piece<'_>, aad: &[u8], data: InOut<'_>) -> Result<Vec<u8>>;
    /// Returns the tag of a message that ends with that mid-state.
    fn tag(&self, state: &[u8]) -> Result<[u8; TAG]>;
}

impl Keyed for ServiceKey {
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]> {
        Ok(ServiceKey::seal(self, nonce, aad, data)?)
    }

    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<bool> {
        match ServiceKey::open(self, nonce, aad, data, tag) {
            Ok(()) => Ok(true),
            Err(ServiceKeyError::Authentication) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn piece(&self, direction: Direction, piece: Piece<'_>, aad: &[u8], data: InOut<'_>) -> Result<Vec<u8>> {
        Ok(self.partial(direction, piece, aad, data)?)
    }

    fn tag(&self, state: &[u8]) -> Result<[u8; TAG]> {
        Ok(ServiceKey::tag(self, state)?)
    }
}

/// A message so far.
#[derive(Clone)]
pub struct Held {
    nonce: Vec<u8>,
    /// Associated data that the service has not seen.
    aad: Vec<u8>,
    /// The first piece, until another comes.
    first: Zeroizing<Vec<u8>>,
    /// True after data came, when associated data may not come any more.
    has_data: bool,
    /// The mid-state with which the service left the message off.
    state: Option<Vec<u8>>,
    so_far: SoFar,
}

/// The verdict on the message, if it ended here.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SoFar {
    Nothing,
    /// The message has this tag.
    Sealed([u8; TAG]),
    /// The message has the tag that was given.
    Opened([u8; TAG]),
}

impl Held {
    pub fn new(nonce: &[u8]) -> Self {
        Held {
            nonce: nonce.to_vec(),
            aad: Vec::new(),
            first: Zeroizing::default(),
            has_data: false,
            state: None,
            so_far: SoFar::Nothing,
        }
    }

    pub fn associate(&mut self, key: &impl Keyed, aad: &[u8]) -> Result<()> {
        if self.has_data {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("associated data comes before data"));
        }
        self.so_far = SoFar::Nothing;
        for part in aad.chunks(PIECE) {
            if self.aad.len() + part.len() > PIECE {
                self.extend(key, Direction::Encrypt, InOut::in_place(&mut []))?;
            }
            self.aad.extend_from_slice(part);
        }
        Ok(())
    }

    /// Encrypts or decrypts the next piece. `tag` is the tag that the message should end with, where it is known
    /// already.
    pub fn crypt(
        &mut self,
        key: &impl Keyed,
        direction: Direction,
        data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        let tag = tag.filter(|_| direction == Direction::Decrypt).and_then(|tag| tag.try_into().ok());
        self.has_data = true;
        let most = if tag.is_some() { LONGEST } else { PIECE };
        if self.state.is_none() && self.first.is_empty() && data.len() <= most {
            return self.crypt_first(key, direction, data, tag);
        }
        self.so_far = SoFar::Nothing;
        let mut first = std::mem::take(&mut self.first);
        if !first.is_empty() {
            self.extend(key, direction, InOut::in_place(&mut first))?;
        }
        self.extend(key, direction, data)
    }

    /// Takes the first piece, which in most cases is the only one.
    fn crypt_first(
        &mut self,
        key: &impl Keyed,
        direction: Direction,
        mut data: InOut<'_>,
        tag: Option<[u8; TAG]>,
    ) -> Result<()> {
        append(&mut self.first, data.input());
        if let Some(tag) = tag {
            let output = InOut::separate(&self.first, data.output())?;
            if key.open(&self.nonce, &self.aad, output, &tag)? {
                self.so_far = SoFar::Opened(tag);
                return Ok(());
            }
            if self.first.len() > PIECE {
                // Either more of the message follows, or the tag is wrong.
                let first = std::mem::take(&mut self.first);
                return self.extend(key, direction, InOut::separate(&first, data.output())?);
            }
        }
        let tag = key.seal(&self.nonce, &self.aad, InOut::separate(&self.first, data.output())?)?;
        self.so_far = if direction == Direction::Encrypt { SoFar::Sealed(tag) } else { SoFar::Nothing };
        Ok(())
    }

    /// Encrypts or decrypts data in pieces, after the associated data that waits.
    fn extend(&mut self, key: &impl Keyed, direction: Direction, mut data: InOut<'_>) -> Result<()> {
        loop {
            let n = data.len().min(PIECE);
            let piece = match &self.state {
                None => Piece::First(&self.nonce),
                Some(state) => Piece::Next(state),
            };
            self.state = Some(key.piece(direction, piece, &self.aad, data.take(n))?);
            self.aad.clear();
            if data.is_empty() {
                return Ok(());
            }
        }
    }

    /// Ends a message that was encrypted, and returns its tag.
    pub fn tag(mut self, key: &impl Keyed) -> Result<[u8; TAG]> {
        match self.so_far {
            SoFar::Sealed(tag) => Ok(tag),
            _ => self.compute(key),
        }
    }

    /// Computes the tag of the message so far; its first piece counts as plaintext.
    fn compute(&mut self, key: &impl Keyed) -> Result<[u8; TAG]> {
        if self.state.is_some() && !self.aad.is_empty() {
            self.extend(key, Direction::Encrypt, InOut::in_place(&mut []))?;
        }
        match &self.state {
            Some(state) => key.tag(state),
            None => key.seal(&self.nonce, &self.aad, InOut::in_place(&mut self.first)),
        }
    }

    /// Ends a message that was decrypted, and tells whether its tag begins with `tag`.
    pub fn verify(mut self, key: &impl Keyed, tag: &[u8]) -> Result<bool> {
        if let SoFar::Opened(opened) = self.so_far {
            return Ok(begins(&opened, tag).into());
        }
        if self.state.is_none() {
            if let Ok(tag) = tag.try_into() {
                return key.open(&self.nonce, &self.aad, InOut::in_place(&mut self.first), tag);
            }
            // The service takes only whole tags, so it computes the whole one here: over the plaintext.
            self.compute(key)?;
        }
        Ok(begins(&self.compute(key)?, tag).into())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use millstream::aead::{Aead, AeadState};
    use millstream::chacha20poly1305::{ChaCha20Poly1305, State as ChaChaState};
    use millstream::gcm::{Gcm, State as GcmState};

    use super::*;

    /// A key in this process that counts the operations and bytes that would go through the service.
    struct Counting<'k, S: AeadState> {
        key: &'k S::Key,
        begin: fn(&S::Key, &[u8]) -> S,
        operations: Cell<usize>,
        bytes: Cell<usize>,
    }

    impl<'k, S: AeadState> Counting<'k, S> {
        fn new(key: &'k S::Key, begin: fn(&S::Key, &[u8]) -> S) -> Self {
            Counting { key, begin, operations: Cell::new(0), bytes: Cell::new(0) }
        }

        fn count(&self, bytes: usize) {
            self.operations.set(self.operations.get() + 1);
            self.bytes.set(self.bytes.get() + bytes);
        }
    }

    impl<S: AeadState<Key: Aead>> Keyed for Counting<'_, S> {
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

        fn piece(
            &self,
            direction: Direction,
            piece: Piece<'_>,
            aad: &[u8],
            data: InOut<'_>,
        ) -> Result<Vec<u8>> {
            self.count(data.len());
            let mut state = match piece {
                Piece::First(nonce) => (self.begin)(self.key, nonce),
                Piece::Next(state) => S::import(self.key, state)?,
            };
            if !aad.is_empty() {
                state.aad(self.key, aad)?;
            }
            match direction {
                _ if data.is_empty() => {}
                Direction::Encrypt => state.encrypt(self.key, data)?,
                Direction::Decrypt => state.decrypt_unverified(self.key, data)?,
            }
            Ok(state.export().to_vec())
        }

        fn tag(&self, state: &[u8]) -> Result<[u8; TAG]> {
            self.count(0);
            Ok(S::import(self.key, state)?.tag(self.key))
        }
    }

    /// Encrypts or decrypts a message in pieces of that length, ends it, and returns the output.
    fn crypt_all(
        key: &impl Keyed,
        direction: Direction,
        (aad, input): (&[u8], &[u8]),
        piece: usize,
        tag: &[u8; TAG],
        early: bool,
    ) -> Vec<u8> {
        let mut held = Held::new(&[9; 12]);
        for part in aad.chunks(piece) {
            held.associate(key, part).unwrap();
        }
        let mut out = vec![0; input.len()];
        for (input, out) in input.chunks(piece).zip(out.chunks_mut(piece)) {
            let data = InOut::separate(input, out).unwrap();
            held.crypt(key, direction, data, early.then_some(tag)).unwrap();
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

    fn in_pieces<S: AeadState<Key: Aead>>(key: &S::Key, begin: fn(&S::Key, &[u8]) -> S) {
        let plain: Vec<u8> = (0..5_000_000_u32).map(|i| ((i * 7) >> 3) as u8).collect();
        let pieces = [61, 1024, PIECE, 1 << 20, 8 << 20];
        for (len, aad_len) in
            [(0, 6), (1, 0), (100, 6), (5000, 100_000), (300_000, 6), (plain.len(), 200_000)]
        {
            let (plain, aad) = (&plain[..len], &plain[..aad_len]);
            let (mut sealed, mut tag) = (plain.to_vec(), [0; TAG]);
            key.seal(&[9; 12], aad, InOut::in_place(&mut sealed), &mut tag).unwrap();
            for piece in pieces.into_iter().filter(|piece| len / piece < 400) {
                let counting = Counting::new(key, begin);
                assert!(crypt_all(&counting, Direction::Encrypt, (aad, plain), piece, &tag, false) == sealed);
                let bytes = counting.bytes.get();
                assert!(bytes <= len + PIECE, "{bytes} bytes for {len} in pieces of {piece}");
                for early in [false, true] {
                    assert!(
                        crypt_all(&counting, Direction::Decrypt, (aad, &sealed), piece, &tag, early) == plain
                    );
                }
            }
        }
    }

    /// The bytes that go through the service grow with the message, not with the number of its pieces; no message is
    /// too long.
    #[test]
    fn pieces_cost_what_their_bytes_cost() {
        let features = millstream::features().unwrap();
        let gcm = Gcm::new(features, &[7; 32]).unwrap();
        in_pieces::<GcmState>(&gcm, |key, nonce| key.begin(nonce).unwrap());
        let chacha = ChaCha20Poly1305::new(features, &[7; 32]).unwrap();
        in_pieces::<ChaChaState>(&chacha, |key, nonce| key.begin(nonce).unwrap());
    }

    #[test]
    fn associated_data_comes_first_in_pieces_too() {
        let gcm = Gcm::new(millstream::features().unwrap(), &[7; 16]).unwrap();
        let key = Counting::<GcmState>::new(&gcm, |key, nonce| key.begin(nonce).unwrap());
        let mut held = Held::new(&[9; 12]);
        held.associate(&key, b"header").unwrap();
        for piece in 0..3 {
            held.crypt(&key, Direction::Encrypt, InOut::in_place(&mut [1; 10]), None).unwrap();
            assert!(held.associate(&key, b"more").is_err(), "after {piece}");
        }
    }

    #[test]
    fn a_message_in_one_piece_is_one_operation() {
        let gcm = Gcm::new(millstream::features().unwrap(), &[7; 16]).unwrap();
        let key = Counting::<GcmState>::new(&gcm, |key, nonce| key.begin(nonce).unwrap());
        let mut held = Held::new(&[9; 12]);
        held.crypt(&key, Direction::Encrypt, InOut::in_place(&mut [1; 1000]), None).unwrap();
        held.tag(&key).unwrap();
        assert_eq!((key.operations.get(), key.bytes.get()), (1, 1000));
    }
}
