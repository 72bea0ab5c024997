//! One AES-GCM message's work, and the functions that a lane kernel has for a group of them.
//!
//! Ref. NIST SP 800-38D §7.

use super::{Gcm, check_tag_length, tag_length};
use crate::aead::{Aead, TAG};
use crate::{Crossover, Error, InOut};

/// The number of messages that stand side by side.
pub(super) const MESSAGES: usize = 4;

/// The longest text that stands beside others, in bytes. The direct kernel is about as busy with a longer
/// one. (Kernels count in the last byte of a counter block, which goes up to 253 blocks.)
pub(super) const LONGEST: usize = 2048;

pub(super) const BLOCK: usize = 16;

/// The shape of a message that can't stand beside others.
pub(super) const ALONE: u32 = 0;

/// The messages of a group.
pub(super) type Group<'a, 'b> = [&'a mut GcmJob<'b>; MESSAGES];

/// The tags of a group.
pub(super) type Tags = [[u8; TAG]; MESSAGES];

/// One message for [`GcmLanes`](super::GcmLanes).
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::gcm::{Gcm, GcmJob, GcmLanes};
/// use millstream_engines::{Error, InOut};
///
/// let features = Features::hardware();
/// let (lanes, key) = (GcmLanes::new(features), Gcm::new(features, &[7; 16])?);
/// let mut buffers = [*b"first object", *b"other object"];
/// let nonces = [[1; 12], [2; 12]];
///
/// let [first, other] = &mut buffers;
/// let mut first = GcmJob::new(&key, &nonces[0], b"", InOut::in_place(first));
/// let mut other = GcmJob::new(&key, &nonces[1], b"", InOut::in_place(other));
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
pub struct GcmJob<'a> {
    /// The key, of any size and on any kernel.
    pub key: &'a Gcm,
    /// The nonce, of any length that [`Gcm`] takes. A message with a nonce of 12 bytes may share
    /// lanes.
    pub nonce: &'a [u8],
    /// Associated data.
    pub aad: &'a [u8],
    /// The data to encrypt or decrypt.
    pub data: InOut<'a>,
    /// The tag: `seal` writes all of it, unless the result is an error; `open` reads it.
    pub tag: [u8; TAG],
    /// The number of bytes of the tag that `open` compares: 16, or as few as [`Gcm::open_cut`] takes.
    pub tag_len: usize,
    /// The result of [`Aead::seal`] or [`Aead::open`] of [`Gcm`], which also say what the output then
    /// holds.
    pub result: Result<(), Error>,
}

impl<'a> GcmJob<'a> {
    /// A message with a tag of zeros, all 16 bytes long.
    #[inline]
    pub const fn new(key: &'a Gcm, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        GcmJob { key, nonce, aad, data, tag: [0; TAG], tag_len: TAG, result: Ok(()) }
    }

    /// Returns the rounds of AES and the blocks of text, in the upper and the lower byte, or
    /// [`ALONE`] if the message can't stand beside others. (AES-192 is too rare for its code to pay.)
    #[inline(always)]
    pub(super) fn shape<const OPEN: bool>(&self) -> u32 {
        let fits = self.nonce.len() == 12
            && self.data.len() <= LONGEST
            && self.key.kernel.ops().powers
            && self.key.key.schedule.rounds != 12
            && (!OPEN
                || self
                    .tag
                    .get(..self.tag_len)
                    .is_some_and(|tag| check_tag_length(tag, self.tag_len).is_ok()));
        let blocks = self.data.len().div_ceil(BLOCK);
        if fits { (self.key.key.schedule.rounds << 8 | blocks) as u32 } else { ALONE }
    }

    /// Returns the associated data up to its last block, and the last block.
    #[inline(always)]
    pub(super) fn split_aad(&self) -> (&'a [u8], &'a [u8]) {
        self.aad.split_at(self.aad.len().saturating_sub(1) / BLOCK * BLOCK)
    }

    /// Works on this message alone, with its key's own kernel.
    pub(super) fn direct<const OPEN: bool>(&mut self) {
        let data = self.data.reborrow();
        self.result = if !OPEN {
            self.key.seal(self.nonce, self.aad, data, &mut self.tag)
        } else if let Some(tag) = self.tag.get(..self.tag_len) {
            self.key.open_cut(self.nonce, self.aad, data, tag, self.tag_len)
        } else {
            Err(tag_length(self.tag_len))
        };
    }

    /// Takes the plaintext back after a tag that does not match.
    #[cold]
    pub(super) fn withdraw(&mut self) -> Error {
        match self.key.pre_counter(self.nonce) {
            Ok(j0) => self.key.withdraw(j0, self.data.reborrow()),
            Err(error) => error,
        }
    }
}

/// Encrypts or decrypts a group of messages, and returns the tags that they should have. The caller
/// passes each message's GHASH state before the last block of its associated data, and true if all
/// have the same key and as many blocks of text.
pub(super) type GroupFn = unsafe fn(&mut Group<'_, '_>, &[u128; MESSAGES], bool) -> Tags;

/// The functions of one row.
#[derive(Debug)]
pub struct GcmLanesOps {
    /// The least number of messages for which lanes pay.
    pub(super) crossover: Crossover,
    /// Encrypts a group and computes its tags.
    pub(super) seal: GroupFn,
    /// Decrypts a group and computes its tags.
    pub(super) open: GroupFn,
}

impl GcmLanesOps {
    /// Makes the row's functions for a kernel that works on a group at once.
    #[cfg(target_arch = "x86_64")]
    pub(super) const fn new(seal: GroupFn, open: GroupFn) -> Self {
        let crossover = Crossover(&[(LONGEST, MESSAGES), (usize::MAX, usize::MAX)]);
        GcmLanesOps { crossover, seal, open }
    }
}
