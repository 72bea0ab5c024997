//! A message whose key is in this process.
//!
//! Most messages are short and come in one piece, though nobody says so beforehand. A kernel that has a whole message
//! does everything in one go; in pieces each step is a call, and a short message takes several times as long. So
//! associated data waits until the data comes, and the first piece of data is treated as if it were all. Its input is
//! kept: if more follows, the message begins again in pieces.

use millstream::InOut;
use millstream::aead::{Aead, AeadState};
use millstream::compare::begins;
use millstream::modes::Direction;
use zeroize::Zeroizing;

use super::TAG;
use super::algorithm::Algorithm;
use crate::error::{Reason, Result};

/// Bytes of nonce for a message that may be computed in one go.
const NONCE: usize = 12;

/// The most associated data that waits, in bytes: TLS and SSH have at most 16.
const AAD: usize = 32;

/// The longest piece that is kept, in bytes: that of a packet. For longer pieces a few calls more cost nothing.
const SHORT: usize = 2048;

/// The longest first piece that may be opened as a whole message without being kept, in bytes: a record of TLS 1.3.
const RECORD: usize = 16384 + 256;

/// The message under way, if there is one, and the associated data and piece that it keeps.
pub struct Local<A: Algorithm> {
    stage: Stage<A::State>,
    nonce: [u8; NONCE],
    aad: [u8; AAD],
    aad_len: usize,
    /// The first piece, when it was taken for a whole message.
    kept: Zeroizing<Vec<u8>>,
}

/// The progress of the message.
#[derive(Clone)]
enum Stage<S> {
    /// There is no message.
    None,
    /// Nothing is computed yet.
    Begun,
    /// The input so far is a whole message with this tag.
    Whole([u8; TAG]),
    /// The same, but the input was not kept: it had the tag that was given, so no more may follow.
    Complete([u8; TAG]),
    /// The message comes in pieces.
    Pieces(S),
}

impl<A: Algorithm> Default for Local<A> {
    fn default() -> Self {
        Local {
            stage: Stage::None,
            nonce: [0; NONCE],
            aad: [0; AAD],
            aad_len: 0,
            kept: Zeroizing::new(Vec::new()),
        }
    }
}

impl<A: Algorithm> Clone for Local<A> {
    fn clone(&self) -> Self {
        let Local { stage, nonce, aad, aad_len, kept } = self;
        Local { stage: stage.clone(), nonce: *nonce, aad: *aad, aad_len: *aad_len, kept: kept.clone() }
    }
}

impl<A: Algorithm> Local<A> {
    pub fn under_way(&self) -> bool {
        !matches!(self.stage, Stage::None)
    }

    pub fn abandon(&mut self) {
        self.stage = Stage::None;
    }

    #[inline]
    pub fn begin(&mut self, key: &A::Key, nonce: &[u8]) -> Result<()> {
        if let Ok(nonce) = nonce.try_into() {
            self.nonce = nonce;
            self.aad_len = 0;
            self.stage = Stage::Begun;
        } else {
            self.stage = Stage::Pieces(A::begin(key, nonce)?);
        }
        Ok(())
    }

    fn aad(&self) -> &[u8] {
        &self.aad[..self.aad_len]
    }

    pub fn associate(&mut self, key: &A::Key, aad: &[u8]) -> Result<()> {
        if let Stage::Begun = self.stage
            && let Some(place) = self.aad[self.aad_len..].get_mut(..aad.len())
        {
            place.copy_from_slice(aad);
            self.aad_len += aad.len();
            return Ok(());
        }
        if let Stage::Whole(_) | Stage::Complete(_) = self.stage {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("associated data comes before data"));
        }
        // No data has come yet, so the direction does not matter.
        Ok(self.pieces(key, Direction::Encrypt)?.aad(key, aad)?)
    }

    #[inline(always)]
    pub fn crypt(
        &mut self,
        key: &A::Key,
        direction: Direction,
        data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        if let Stage::Pieces(state) = &mut self.stage {
            return crypt_piece(state, key, direction, data);
        }
        self.crypt_first(key, direction, data, tag)
    }

    #[inline(never)]
    fn crypt_first(
        &mut self,
        key: &A::Key,
        direction: Direction,
        mut data: InOut<'_>,
        tag: Option<&[u8]>,
    ) -> Result<()> {
        if let Stage::Begun = self.stage {
            let short = data.len() <= SHORT;
            match (direction, tag.and_then(|tag| <[u8; TAG]>::try_from(tag).ok())) {
                (Direction::Encrypt, _) if short => {
                    let mut tag = [0; TAG];
                    self.keep(data.input());
                    key.seal(&self.nonce, self.aad(), data, &mut tag)?;
                    self.stage = Stage::Whole(tag);
                    return Ok(());
                }
                (Direction::Decrypt, Some(tag)) if data.len() <= RECORD => {
                    if short {
                        self.keep(data.input());
                    }
                    // If the tag is wrong for the first piece, the input is untouched or restored.
                    if key.open(&self.nonce, self.aad(), data.reborrow(), &tag).is_ok() {
                        self.stage = if short { Stage::Whole(tag) } else { Stage::Complete(tag) };
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        crypt_piece(self.pieces(key, direction)?, key, direction, data)
    }

    fn keep(&mut self, piece: &[u8]) {
        self.kept.clear();
        // The vector gets its greatest capacity at once: one that grows leaves its bytes behind.
        self.kept.reserve_exact(SHORT);
        self.kept.extend_from_slice(piece);
    }

    /// Turns the message into one in pieces, with all input so far.
    #[cold]
    fn pieces(&mut self, key: &A::Key, direction: Direction) -> Result<&mut A::State> {
        if let Stage::Begun | Stage::Whole(_) = self.stage {
            let mut state = A::begin(key, &self.nonce)?;
            state.aad(key, self.aad())?;
            if let Stage::Whole(_) = self.stage {
                crypt_piece(&mut state, key, direction, InOut::in_place(&mut self.kept))?;
            }
            self.stage = Stage::Pieces(state);
        }
        match &mut self.stage {
            Stage::Pieces(state) => Ok(state),
            Stage::Complete(_) => Err(Reason::CIPHER_OPERATION_FAILED
                .with("the tag was right for what came before: no more may come")),
            _ => Err(NO_MESSAGE),
        }
    }

    /// Ends the message, and returns its tag.
    pub fn tag(&mut self, key: &A::Key) -> Result<[u8; TAG]> {
        let tag = match &self.stage {
            Stage::Whole(tag) | Stage::Complete(tag) => *tag,
            Stage::Pieces(state) => state.tag(key),
            Stage::Begun => {
                let mut tag = [0; TAG];
                key.seal(&self.nonce, self.aad(), InOut::in_place(&mut []), &mut tag)?;
                tag
            }
            Stage::None => return Err(NO_MESSAGE),
        };
        self.stage = Stage::None;
        Ok(tag)
    }

    /// Ends the message, and tells whether its tag begins with `tag`.
    pub fn verify(&mut self, key: &A::Key, tag: &[u8]) -> Result<bool> {
        // Tags of any length are accepted, as by the default provider.
        Ok(begins(&self.tag(key)?, tag).into())
    }
}

#[inline(always)]
fn crypt_piece<S: AeadState>(
    state: &mut S,
    key: &S::Key,
    direction: Direction,
    data: InOut<'_>,
) -> Result<()> {
    match direction {
        Direction::Encrypt => state.encrypt(key, data)?,
        Direction::Decrypt => state.decrypt_unverified(key, data)?,
    }
    Ok(())
}

pub const NO_MESSAGE: Reason =
    Reason::CIPHER_OPERATION_FAILED.with("no message is under way: set a vector for each");
