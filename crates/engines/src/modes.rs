//! Modes of operation over any block cipher: the passes that a cipher provides, and the streaming
//! forms made from them.
//!
//! Ref. NIST SP 800-38A §6 (ECB, CBC, CFB, CTR); PKCS #7 padding, RFC 5652 §6.3.

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq, ConstantTimeGreater};
use zeroize::Zeroize;

use crate::{Error, InOut};

/// The largest block of any cipher here, in bytes.
pub const MAX_BLOCK: usize = 16;

/// The direction of a cipher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Turns plaintext into ciphertext.
    Encrypt,
    /// Turns ciphertext into plaintext.
    Decrypt,
}

/// The bytes that fill the last block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// No bytes: the data must be whole blocks.
    None,
    /// PKCS #7: one byte to a whole block of bytes, each of which is their number.
    Pkcs7,
}

/// A mode that works on whole blocks: ECB, CBC.
pub trait BlockMode {
    /// The name, as in `aes-cbc`.
    const NAME: &'static str;
    /// Bytes in a block.
    const BLOCK: usize;
    /// Bytes of initialisation vector: [`Self::BLOCK`], or 0 for ECB.
    const IV: usize;

    /// Encrypts whole blocks. `chain` (`IV` bytes) holds the initialisation vector before, and the
    /// vector for the next call after.
    ///
    /// # Panics
    /// When `data` is not whole blocks or `chain` is not `IV` bytes.
    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>);

    /// Decrypts whole blocks, as [`BlockMode::encrypt`].
    ///
    /// # Panics
    /// When `data` is not whole blocks or `chain` is not `IV` bytes.
    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>);

    /// Passes whole blocks in the given direction.
    ///
    /// # Panics
    /// When `data` is not whole blocks or `chain` is not `IV` bytes.
    fn pass(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        match direction {
            Direction::Encrypt => self.encrypt(chain, data),
            Direction::Decrypt => self.decrypt(chain, data),
        }
    }
}

/// One message through a [`BlockMode`] in pieces of any length.
///
/// ```no_run
/// use millstream_engines::modes::{BlockMode, BlockStream, Direction, Padding};
/// # fn example<M: BlockMode>(mode: &M) -> Result<(), millstream_engines::Error> {
/// let mut stream = BlockStream::new(mode, &[0; 16], Direction::Encrypt, Padding::Pkcs7)?;
/// let mut out = [0; 64];
/// let mut n = stream.update(b"in pieces ", &mut out)?;
/// n += stream.update(b"of any length", &mut out[n..])?;
/// n += stream.finish(&mut out[n..])?;
/// # Ok(()) }
/// ```
pub struct BlockStream<'k, M: BlockMode> {
    mode: &'k M,
    direction: Direction,
    padding: Padding,
    chain: [u8; MAX_BLOCK],
    /// Input bytes not yet passed on: fewer than a block, or one whole block when padding is to
    /// be removed, because that block may be the last.
    held: [u8; MAX_BLOCK],
    filled: usize,
}

impl<'k, M: BlockMode> BlockStream<'k, M> {
    /// Begins a message. `iv` has `M::IV` bytes.
    ///
    /// # Errors
    /// [`Error::NonceLength`] when `iv` has another length.
    pub fn new(mode: &'k M, iv: &[u8], direction: Direction, padding: Padding) -> Result<Self, Error> {
        let mut chain = [0; MAX_BLOCK];
        chain[..M::IV].copy_from_slice(exact_iv(M::NAME, M::IV, iv)?);
        Ok(BlockStream { mode, direction, padding, chain, held: [0; MAX_BLOCK], filled: 0 })
    }

    /// Returns the number of bytes that [`BlockStream::update`] writes for `input` more bytes.
    pub fn update_len(&self, input: usize) -> usize {
        let total = self.filled + input;
        let keep = if self.holds_back() && total > 0 { 1 } else { 0 };
        (total - keep) / M::BLOCK * M::BLOCK
    }

    fn holds_back(&self) -> bool {
        self.direction == Direction::Decrypt && self.padding == Padding::Pkcs7
    }

    /// Takes the next piece and writes the complete blocks. Returns the number of bytes written,
    /// which [`BlockStream::update_len`] tells in advance.
    ///
    /// # Errors
    /// [`Error::OutputLength`] when `output` is shorter than that; nothing is taken then.
    pub fn update(&mut self, mut input: &[u8], output: &mut [u8]) -> Result<usize, Error> {
        let total = self.update_len(input.len());
        if output.len() < total {
            return Err(Error::OutputLength { given: output.len(), needed: total });
        }
        let mut written = 0;
        if self.filled > 0 && total > 0 {
            let more = M::BLOCK - self.filled;
            self.held[self.filled..M::BLOCK].copy_from_slice(&input[..more]);
            input = &input[more..];
            let pass = InOut::separate(&self.held[..M::BLOCK], &mut output[..M::BLOCK])?;
            self.mode.pass(self.direction, &mut self.chain[..M::IV], pass);
            self.filled = 0;
            written = M::BLOCK;
        }
        let (whole, rest) = input.split_at(if total > 0 { total - written } else { 0 });
        if !whole.is_empty() {
            let pass = InOut::separate(whole, &mut output[written..total])?;
            self.mode.pass(self.direction, &mut self.chain[..M::IV], pass);
        }
        self.held[self.filled..self.filled + rest.len()].copy_from_slice(rest);
        self.filled += rest.len();
        Ok(total)
    }

    /// Ends the message: writes the padded last block, or removes the padding. Returns the bytes
    /// written, at most one block; `output` must have room for a whole one unless nothing is held.
    ///
    /// # Errors
    /// [`Error::DataLength`] when the message is not whole blocks and must be; [`Error::Padding`]
    /// when the padding is not valid; [`Error::OutputLength`].
    pub fn finish(mut self, output: &mut [u8]) -> Result<usize, Error> {
        match (self.padding, self.direction) {
            (Padding::None, _) if self.filled == 0 => Ok(0),
            (Padding::Pkcs7, Direction::Encrypt) => {
                let n = M::BLOCK - self.filled;
                self.held[self.filled..M::BLOCK].fill(n as u8);
                let mut last = self.last_block();
                room(output, M::BLOCK)?.copy_from_slice(&last[..M::BLOCK]);
                last.zeroize();
                Ok(M::BLOCK)
            }
            (Padding::Pkcs7, Direction::Decrypt) if self.filled == M::BLOCK => {
                room(output, M::BLOCK)?;
                let mut last = self.last_block();
                let kept = unpad(&last[..M::BLOCK]);
                if let Ok(n) = kept {
                    output[..n].copy_from_slice(&last[..n]);
                }
                last.zeroize();
                kept
            }
            _ => Err(Error::DataLength {
                algorithm: M::NAME,
                given: self.filled as u64,
                takes: "whole blocks",
            }),
        }
    }

    fn last_block(&mut self) -> [u8; MAX_BLOCK] {
        let mut block = self.held;
        self.mode.pass(self.direction, &mut self.chain[..M::IV], InOut::in_place(&mut block[..M::BLOCK]));
        block
    }
}

impl<M: BlockMode> Drop for BlockStream<'_, M> {
    fn drop(&mut self) {
        self.held.zeroize();
        self.chain.zeroize();
    }
}

/// Returns the number of bytes that remain of a decrypted last block without its PKCS #7 padding.
/// The time depends on the block's length only.
///
/// # Errors
/// [`Error::Padding`] when it is not valid padding.
pub fn unpad(block: &[u8]) -> Result<usize, Error> {
    let size = block.len() as u8;
    let n = block[block.len() - 1];
    let mut good = !n.ct_eq(&0) & !n.ct_gt(&size);
    for (i, byte) in block.iter().enumerate() {
        let in_padding = n.ct_gt(&(size - 1 - i as u8));
        good &= byte.ct_eq(&n) | !in_padding;
    }
    let kept = u8::conditional_select(&0, &size.wrapping_sub(n), good);
    if Choice::into(good) { Ok(kept as usize) } else { Err(Error::Padding) }
}

/// A mode that works on any number of bytes, byte by byte: CTR, CFB.
///
/// The position inside a block is kept by the caller's [`ByteStream`]; a pass starts at a block's
/// beginning and may end inside one.
pub trait StreamMode {
    /// The name, as in `aes-ctr`.
    const NAME: &'static str;
    /// Bytes in a block, and in the initialisation vector.
    const BLOCK: usize;

    /// Passes whole blocks; `chain` holds the counter or the last ciphertext block, before and
    /// after.
    ///
    /// # Panics
    /// When `data` is not whole blocks or `chain` is not one block.
    fn blocks(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>);

    /// Writes the pad for the next block over `pad` and moves `chain` on, for data that ends
    /// inside a block. For CFB the caller puts the ciphertext into `chain` as it becomes known.
    ///
    /// # Panics
    /// When `chain` or `pad` is not one block.
    fn pad(&self, chain: &mut [u8], pad: &mut [u8]);

    /// True if the ciphertext goes back into the chaining value (CFB).
    const FEEDBACK: bool;
}

/// One message through a [`StreamMode`] in pieces of any length.
pub struct ByteStream<'k, M: StreamMode> {
    mode: &'k M,
    direction: Direction,
    chain: [u8; MAX_BLOCK],
    pad: [u8; MAX_BLOCK],
    /// Bytes of `pad` already used; 0 when there is no pad.
    used: usize,
}

impl<'k, M: StreamMode> ByteStream<'k, M> {
    /// Begins a message. `iv` has `M::BLOCK` bytes: the first counter block, or the vector.
    ///
    /// # Errors
    /// [`Error::NonceLength`] when `iv` has another length.
    pub fn new(mode: &'k M, iv: &[u8], direction: Direction) -> Result<Self, Error> {
        let mut chain = [0; MAX_BLOCK];
        chain[..M::BLOCK].copy_from_slice(exact_iv(M::NAME, M::BLOCK, iv)?);
        Ok(ByteStream { mode, direction, chain, pad: [0; MAX_BLOCK], used: 0 })
    }

    /// Passes the next piece, of any length.
    pub fn update(&mut self, mut data: InOut<'_>) {
        if self.used > 0 {
            let n = data.len().min(M::BLOCK - self.used);
            self.through_pad(data.take(n));
        }
        let (blocks, tail) = data.split_blocks(M::BLOCK);
        if !blocks.is_empty() {
            self.mode.blocks(self.direction, &mut self.chain[..M::BLOCK], blocks);
        }
        if !tail.is_empty() {
            self.mode.pad(&mut self.chain[..M::BLOCK], &mut self.pad[..M::BLOCK]);
            self.through_pad(tail);
        }
    }

    fn through_pad(&mut self, mut data: InOut<'_>) {
        for i in 0..data.len() {
            let [byte] = data.load::<1>(i);
            let out = byte ^ self.pad[self.used];
            data.store(i, [out]);
            if M::FEEDBACK {
                self.chain[self.used] = if self.direction == Direction::Encrypt { out } else { byte };
            }
            self.used += 1;
        }
        self.used %= M::BLOCK;
    }
}

impl<M: StreamMode> Drop for ByteStream<'_, M> {
    fn drop(&mut self) {
        self.pad.zeroize();
        self.chain.zeroize();
    }
}

/// Returns `iv` itself, if its length is right for the mode.
fn exact_iv<'a>(algorithm: &'static str, len: usize, iv: &'a [u8]) -> Result<&'a [u8], Error> {
    if iv.len() == len {
        return Ok(iv);
    }
    let takes = match len {
        0 => "none",
        8 => "8 bytes",
        _ => "16 bytes",
    };
    Err(Error::NonceLength { algorithm, given: iv.len(), takes })
}

/// Returns the first `needed` bytes of `output`.
fn room(output: &mut [u8], needed: usize) -> Result<&mut [u8], Error> {
    let given = output.len();
    output.get_mut(..needed).ok_or(Error::OutputLength { given, needed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unpad_takes_every_valid_padding_and_no_other() {
        for n in 1..=16usize {
            let mut block = [0x55; 16];
            block[16 - n..].fill(n as u8);
            assert_eq!(unpad(&block), Ok(16 - n));
            for i in 16 - n..15 {
                let mut bad = block;
                bad[i] ^= 1;
                assert_eq!(unpad(&bad), Err(Error::Padding), "padding {n}, byte {i}");
            }
        }
        assert_eq!(unpad(&[0; 16]), Err(Error::Padding));
        assert_eq!(unpad(&[17; 16]), Err(Error::Padding));
        assert_eq!(unpad(&[9; 8]), Err(Error::Padding));
        assert_eq!(unpad(&[8; 8]), Ok(0));
    }
}
