//! A message whose key is in the service: it is held here, and computed there as a whole.
//!
//! The service has no messages in pieces. So each piece is had by encrypting all of the message again that came so far, under the
//! same nonce: both AEADs encrypt by a keystream, so that decrypts as well. A message that comes in one piece
//! costs one operation.

use millstream::InOut;
use millstream::compare::begins;
use millstream::modes::Direction;
use zeroize::Zeroizing;

use super::TAG;
use crate::error::{Reason, Result};
use crate::remote::{RemoteKey, fits};

/// The longest nonce that a control word has room for, in bytes.
const NONCE: usize = 64;

/// What came so far.
#[derive(Clone)]
pub struct Held {
    nonce: Vec<u8>,
    aad: Vec<u8>,
    data: Zeroizing<Vec<u8>>,
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
    pub fn new(nonce: &[u8]) -> Result<Self> {
        if nonce.len() > NONCE {
            return Err(Reason::INVALID_IV_LENGTH.with("an isolated key takes vectors of at most 64 bytes"));
        }
        Ok(Held {
            nonce: nonce.to_vec(),
            aad: Vec::new(),
            data: Zeroizing::new(Vec::new()),
            so_far: SoFar::Nothing,
        })
    }

    pub fn associate(&mut self, aad: &[u8]) -> Result<()> {
        if !self.data.is_empty() {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("associated data comes before data"));
        }
        fits(self.aad.len() + aad.len())?;
        self.aad.extend_from_slice(aad);
        self.so_far = SoFar::Nothing;
        Ok(())
    }

    /// Passes the next piece; `tag` is what the message should end with, where that is known already.
    pub fn pass(
        &mut self,
        key: &RemoteKey,
        direction: Direction,
        mut data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        let before = self.data.len();
        self.hold(data.input())?;
        let tag = tag.and_then(|tag| <[u8; TAG]>::try_from(tag).ok());
        // The usual case: the message is all there, and its tag is known.
        if let (Direction::Decrypt, 0, Some(tag)) = (direction, before, tag) {
            let output = InOut::separate(&self.data, data.output())?;
            if key.open(&self.nonce, &self.aad, output, &tag)? {
                self.so_far = SoFar::Opened(tag);
                return Ok(());
            }
        }
        let mut output = Zeroizing::new(vec![0; self.data.len()]);
        let tag = key.seal(&self.nonce, &self.aad, InOut::separate(&self.data, &mut output)?)?;
        data.output().copy_from_slice(&output[before..]);
        self.so_far = if direction == Direction::Encrypt { SoFar::Sealed(tag) } else { SoFar::Nothing };
        Ok(())
    }

    fn hold(&mut self, more: &[u8]) -> Result<()> {
        let needed = self.data.len() + more.len();
        fits(needed)?;
        if needed > self.data.capacity() {
            // Vectors that grow leave their bytes behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(needed.max(2 * self.data.capacity())));
            larger.extend_from_slice(&self.data);
            self.data = larger;
        }
        self.data.extend_from_slice(more);
        Ok(())
    }

    /// The tag of a message that was encrypted.
    pub fn tag(self, key: &RemoteKey) -> Result<[u8; TAG]> {
        match self.so_far {
            SoFar::Sealed(tag) => Ok(tag),
            // There is no data.
            _ => key.seal(&self.nonce, &self.aad, InOut::in_place(&mut [])),
        }
    }

    /// Whether the tag of a message that was decrypted begins with `tag`.
    pub fn verify(mut self, key: &RemoteKey, tag: &[u8]) -> Result<bool> {
        if let SoFar::Opened(opened) = self.so_far {
            return Ok(begins(&opened, tag).into());
        }
        let Held { nonce, aad, data, .. } = &mut self;
        if tag.len() == TAG {
            return key.open(nonce, aad, InOut::in_place(data), tag);
        }
        // The service takes no tags of other lengths, so it computes the whole one: over the plaintext.
        key.seal(nonce, aad, InOut::in_place(data))?;
        let whole = key.seal(nonce, aad, InOut::in_place(data))?;
        Ok(begins(&whole, tag).into())
    }
}
