//! One ChaCha20-Poly1305 message's work, and the functions that a lane kernel has for a group of them.
//!
//! Ref. RFC 8439 §2.8.

use super::{ChaCha20Poly1305, NONCE};
use crate::aead::{Aead, TAG};
use crate::{Crossover, Error, InOut};

/// The longest text that stands beside others, in bytes. A longer one fills all lanes by itself.
const LONGEST: usize = 1024;

/// One message for [`ChaCha20Poly1305Lanes`](super::ChaCha20Poly1305Lanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::chacha20poly1305::{ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes};
/// use millstream_engines::{Error, InOut};
///
/// let features = Features::hardware();
/// let (lanes, key) = (ChaCha20Poly1305Lanes::new(features), ChaCha20Poly1305::new(features, &[7; 32])?);
/// let mut buffers = [*b"first object", *b"other object"];
/// let nonces = [[1; 12], [2; 12]];
///
/// let [first, other] = &mut buffers;
/// let mut first = ChaCha20Poly1305Job::new(&key, &nonces[0], b"", InOut::in_place(first));
/// let mut other = ChaCha20Poly1305Job::new(&key, &nonces[1], b"", InOut::in_place(other));
/// lanes.seal(&mut [&mut first, &mut other]);
/// lanes.open(&mut [&mut first, &mut other]);
/// assert_eq!([first.result, other.result], [Ok(()); 2]);
///
/// other.tag[3] ^= 1;
/// lanes.seal(&mut [&mut first]);
/// lanes.open(&mut [&mut first, &mut other]);
/// assert_eq!([first.result, other.result], [Ok(()), Err(Error::Authentication)]);
/// # Ok::<(), Error>(())
/// ```
pub struct ChaCha20Poly1305Job<'a> {
    /// The key, on any kernel.
    pub key: &'a ChaCha20Poly1305,
    /// The nonce, 12 bytes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: `seal` writes it, unless the result is an error; `open` reads it.
    pub tag: [u8; TAG],
    /// The result of [`Aead::seal`] or [`Aead::open`] of [`ChaCha20Poly1305`], which also say what the output
    /// then holds.
    pub result: Result<(), Error>,
}

impl<'a> ChaCha20Poly1305Job<'a> {
    /// A message with a tag of zeros.
    #[inline]
    pub const fn new(key: &'a ChaCha20Poly1305, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        ChaCha20Poly1305Job { key, nonce, aad, data, tag: [0; TAG], result: Ok(()) }
    }

    /// Returns true if the message can stand beside others.
    #[inline(always)]
    pub(super) fn fits(&self) -> bool {
        self.nonce.len() == NONCE && self.data.len() <= LONGEST
    }

    /// Works on this message alone, with its key's own kernel.
    pub(super) fn direct<const OPEN: bool>(&mut self) {
        let data = self.data.reborrow();
        self.result = if OPEN {
            self.key.open(self.nonce, self.aad, data, &self.tag)
        } else {
            self.key.seal(self.nonce, self.aad, data, &mut self.tag)
        };
    }

    /// The key, as the words of the state.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn key_words(&self) -> &'a [u32; 8] {
        &self.key.key.0
    }

    /// Returns the error for a tag that does not match, and zeroes a separate output. In place the ciphertext
    /// is still there, because nothing was decrypted.
    #[cfg(target_arch = "x86_64")]
    #[cold]
    pub(super) fn refuse(&mut self) -> Error {
        if !self.data.is_in_place() {
            self.data.output().fill(0);
        }
        Error::Authentication
    }
}

/// Seals or opens messages that fit, as many as there are lanes or fewer.
pub(super) type GroupFn = unsafe fn(&mut [&mut ChaCha20Poly1305Job<'_>]);

/// The functions of one row.
#[derive(Debug)]
pub struct ChaCha20Poly1305LanesOps {
    /// The number of messages that stand side by side.
    pub(super) width: usize,
    /// The least number of messages for which lanes pay.
    pub(super) crossover: Crossover,
    /// Encrypts and authenticates.
    pub(super) seal: GroupFn,
    /// Authenticates, and decrypts authentic messages.
    pub(super) open: GroupFn,
}

impl ChaCha20Poly1305LanesOps {
    /// Makes the row's functions for a kernel that works on `width` messages at once.
    #[cfg(target_arch = "x86_64")]
    pub(super) const fn new(width: usize, crossover: Crossover, seal: GroupFn, open: GroupFn) -> Self {
        ChaCha20Poly1305LanesOps { width, crossover, seal, open }
    }
}
