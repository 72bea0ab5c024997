//! AES-128, AES-192 and AES-256 in Galois/Counter Mode.
//!
//! Ref. NIST SP 800-38D; FIPS 197 for the cipher.
//!
//! A block travels between the functions of a row as a `u128` whose most significant byte is the block's first.
//! Counters then add as integers, and the bits of a GHASH operand stand in the order that a carry-less multiplication
//! wants.
//!
//! # Safety
//! The functions of a row need its features. Every call goes through a [`Bound`], which exists
//! only where they do.
#![allow(unsafe_code)]

mod arch;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod blocks;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod ghash;
mod job;
mod lanes;
mod polyval;
mod portable;
#[cfg(target_arch = "x86_64")]
mod side_by_side;
mod state;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;

pub use job::{GcmJob, GcmLanesOps};
pub use lanes::{GCM_LANES, GcmLanes};
pub use polyval::{POLYVAL, Polyval, PolyvalOps};
pub use state::State;

/// A message in pieces, with its key: see [`AeadStream`](crate::aead::AeadStream).
pub type Stream<'k> = crate::aead::Stream<'k, State>;

#[cfg(target_arch = "aarch64")]
use millstream_cpu::Feature;
use millstream_cpu::{FeatureSet, Features};
use zeroize::optimization_barrier;

use crate::aead::{Aead, TAG};
use crate::aes::Schedule;
use crate::compare::begins;
use crate::kernel::{LineBesideKernel, no_padding};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};

/// The feature has no name in the compiler, which counts these instructions as part of `aes`.
#[cfg(target_arch = "aarch64")]
const PMULL: FeatureSet = FeatureSet::of(&[Feature::Pmull]);

const NAME: &str = "aes-gcm";

/// SP 800-38D §5.2.1.1: len(P) ≤ 2^39 - 256 bits.
const MAX_DATA_BYTES: u64 = (1 << 36) - 32;

/// SP 800-38D §5.2.1.1: len(A) and len(IV) ≤ 2^64 - 1 bits.
const MAX_AAD_BYTES: u64 = (1 << 61) - 1;

/// Bytes of a block.
const BLOCK_BYTES: usize = 16;

/// The number of powers of the hash subkey that a key holds: as many as the largest batch has blocks, and more for
/// the tail of a message.
const POWERS: usize = 36;

/// Entries after the lowest power, so that a whole vector can be loaded at any power.
const PADDING: usize = 4;

/// One power of the hash subkey, in the form its row multiplies with.
#[derive(Clone, Copy, Default)]
#[repr(transparent)]
struct Power(u128);

/// The part of a key that a row keeps.
#[repr(C, align(64))]
pub struct Key {
    schedule: Schedule,
    /// H^36 to H^1 in this order, so that the blocks of a message meet falling powers.
    powers: [Power; POWERS + PADDING],
    /// The same powers one 64-bit limb down: see `ghash.rs`.
    shifted: [Power; POWERS + PADDING],
}

impl Drop for Key {
    fn drop(&mut self) {
        self.powers.fill(Power(0));
        self.shifted.fill(Power(0));
        // Without the barrier the compiler would leave the stores out. Volatile stores go only eight bytes at a time.
        optimization_barrier(self);
    }
}

/// The functions of one row. All take any length; only the last piece of a message may end
/// inside a block.
#[derive(Debug)]
pub struct GcmOps {
    /// True if the row keeps round keys and powers in the form of `vector.rs`, as a group of messages needs them.
    powers: bool,
    /// Fills the schedule and the powers of the hash subkey from the key's bytes.
    expand: unsafe fn(&mut Key, &[u8]),
    /// Encrypts a whole message whose pre-counter block is given; returns the tag.
    seal: unsafe fn(&Key, u128, &[u8], InOut<'_>) -> u128,
    /// Decrypts a whole message; returns the tag it should have. The data is passed by reference because the caller
    /// may have to take the plaintext back. A copy of it would be read before the stores that made it have ended.
    open: unsafe fn(&Key, u128, &[u8], &mut InOut<'_>) -> u128,
    /// Encrypts one piece from the given counter block on; returns the GHASH state after it.
    encrypt: unsafe fn(&Key, u128, u128, InOut<'_>) -> u128,
    /// Decrypts one piece, as `encrypt` does.
    decrypt: unsafe fn(&Key, u128, u128, InOut<'_>) -> u128,
    /// The GHASH state after more bytes, filled up with zeros to whole blocks.
    ghash: unsafe fn(&Key, u128, &[u8]) -> u128,
}

/// The kernels of AES-GCM.
pub static GCM: Table<GcmOps> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38D",
        key_bits: &[128, 192, 256],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<GcmOps>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-vaes512-by32",
            requires: arch::x86_64_vaes512::REQUIRES,
            timing: Timing::Constant,
            note: "8 registers of 4 blocks; masked loads and stores for what is not whole",
        },
        ops: arch::x86_64_vaes512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-vaes256-by16",
            requires: arch::x86_64_vaes256::REQUIRES,
            timing: Timing::Constant,
            note: "8 registers of 2 blocks",
        },
        ops: arch::x86_64_vaes256::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-aesni-pclmul-by8",
            requires: arch::x86_64_aesni::REQUIRES,
            timing: Timing::Constant,
            note: "8 registers of a block",
        },
        ops: arch::x86_64_aesni::OPS,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni512-by32",
            requires: arch::x86_64_gfni512::REQUIRES,
            timing: Timing::Constant,
            note: "GFNI in place of AES instructions; 8 registers of 4 blocks",
        },
        ops: arch::x86_64_gfni512::OPS,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-gfni256-by8",
            requires: arch::x86_64_gfni256::REQUIRES,
            timing: Timing::Constant,
            note: "GFNI in place of AES instructions; 4 registers of 2 blocks",
        },
        ops: arch::x86_64_gfni256::OPS,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-permute256-pclmul-by8",
            requires: arch::x86_64_permute256::REQUIRES,
            timing: Timing::Constant,
            note: "S-box by byte shuffles; 4 registers of 2 blocks",
        },
        ops: arch::x86_64_permute256::OPS,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-permute128-pclmul-by4",
            requires: arch::x86_64_permute128::REQUIRES,
            timing: Timing::Constant,
            note: "S-box by byte shuffles; 4 registers of a block",
        },
        ops: arch::x86_64_permute128::OPS,
    },
    #[cfg(all(target_arch = "x86_64", not(fuzzing)))]
    Row {
        kernel: Kernel {
            name: "x86_64-permute128-by4",
            requires: FeatureSet::parse("ssse3"),
            timing: Timing::Constant,
            note: "S-box by byte shuffles; GHASH by integer multiplication with holes",
        },
        ops: arch::x86_64_permute128::INTEGER_OPS,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-ce-pmull-by4",
            requires: arch::aarch64_ce::REQUIRES.union(PMULL),
            timing: Timing::Constant,
            note: "4 registers of a block",
        },
        ops: arch::aarch64_ce::OPS,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-permute-by4",
            requires: arch::aarch64_permute::REQUIRES,
            timing: Timing::Constant,
            note: "S-box by table lookups in registers; GHASH by integer multiplication with holes",
        },
        ops: arch::aarch64_permute::OPS,
    },
    portable::ROW,
];

/// An AES key for Galois/Counter Mode, bound to a kernel.
///
/// The nonce has 1 to 2^61 - 1 bytes. Twelve are the rule: they go into the counter block as they are, while other
/// lengths are hashed first (SP 800-38D §7.1 step 2). `seal` makes tags of 16 bytes. `open` also takes tags cut to
/// 12, 13, 14 or 15 bytes, and to 8 or 4, which SP 800-38D appendix C allows only with its limits on how much one key
/// may open.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::Aead;
/// use millstream_engines::gcm::Gcm;
/// use millstream_engines::{Error, InOut};
///
/// let gcm = Gcm::new(Features::hardware(), &[7; 32])?;
/// let mut buffer = *b"an object";
/// let mut tag = [0; 16];
/// gcm.seal(&[1; 12], b"header", InOut::in_place(&mut buffer), &mut tag)?;
/// gcm.open(&[1; 12], b"header", InOut::in_place(&mut buffer), &tag)?;
/// assert_eq!(&buffer, b"an object");
///
/// tag[0] ^= 1;
/// let forged = gcm.open(&[1; 12], b"header", InOut::in_place(&mut buffer), &tag);
/// assert_eq!(forged, Err(Error::Authentication));
/// # Ok::<(), Error>(())
/// ```
pub struct Gcm {
    kernel: Bound<GcmOps>,
    key: Key,
    _unused: LineBesideKernel,
}

no_padding!(Gcm: Key, Bound<GcmOps>, LineBesideKernel);

impl Gcm {
    /// A key of 16, 24 or 32 bytes for the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Gcm::with_kernel(GCM.best(features), key)
    }

    /// A key of 16, 24 or 32 bytes for the kernel given.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<GcmOps>, key: &[u8]) -> Result<Self, Error> {
        let blank = [Power(0); POWERS + PADDING];
        let schedule = Schedule::blank(NAME, key)?;
        let mut gcm = Gcm {
            kernel,
            _unused: [0; size_of::<LineBesideKernel>()],
            key: Key { schedule, powers: blank, shifted: blank },
        };
        // SAFETY: `kernel` is bound.
        unsafe { (kernel.ops().expand)(&mut gcm.key, key) };
        Ok(gcm)
    }

    /// Replaces the key with another of 16, 24 or 32 bytes, for the same kernel. If a key serves one message only,
    /// this is faster than [`Gcm::new`]: nothing is moved, and a key of the same length leaves nothing to wipe.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; the key then stays as it was.
    pub fn rekey(&mut self, key: &[u8]) -> Result<(), Error> {
        if key.len() != 4 * (self.key.schedule.rounds - 6) {
            *self = Gcm::with_kernel(self.kernel, key)?;
            return Ok(());
        }
        // SAFETY: `kernel` is bound. It writes the same places as it did for the last key.
        unsafe { (self.kernel.ops().expand)(&mut self.key, key) };
        Ok(())
    }

    /// The kernel this key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Begins a message in pieces, whose state borrows nothing.
    ///
    /// # Errors
    /// [`Error::NonceLength`] when the nonce is empty.
    pub fn begin(&self, nonce: &[u8]) -> Result<State, Error> {
        self.pre_counter(nonce).map(State::new)
    }

    /// Begins a message in pieces.
    ///
    /// # Errors
    /// [`Error::NonceLength`] when the nonce is empty.
    pub fn stream(&self, nonce: &[u8]) -> Result<Stream<'_>, Error> {
        Ok(Stream::new(self, self.begin(nonce)?))
    }

    /// The pre-counter block, SP 800-38D §7.1 step 2.
    #[inline(always)]
    fn pre_counter(&self, nonce: &[u8]) -> Result<u128, Error> {
        if let Some((a, b)) = nonce.split_first_chunk::<8>()
            && let Ok(b) = b.try_into()
        {
            let (a, b) = (u64::from_be_bytes(*a), u32::from_be_bytes(b));
            return Ok(u128::from(a) << 64 | u128::from(b) << 32 | 1);
        }
        self.hashed_pre_counter(nonce)
    }

    #[cold]
    fn hashed_pre_counter(&self, nonce: &[u8]) -> Result<u128, Error> {
        if nonce.is_empty() || nonce.len() as u64 > MAX_AAD_BYTES {
            return Err(Error::NonceLength {
                algorithm: NAME,
                given: nonce.len(),
                takes: "1 to 2^61 - 1 bytes, best 12",
            });
        }
        let length = (nonce.len() as u128 * 8).to_be_bytes();
        let ghash = self.kernel.ops().ghash;
        // SAFETY: `kernel` is bound.
        unsafe { Ok(ghash(&self.key, ghash(&self.key, 0, nonce), &length)) }
    }

    /// Takes back the output of a failed `open`.
    #[cold]
    fn withdraw(&self, j0: u128, mut data: InOut<'_>) -> Error {
        if data.is_in_place() {
            // SAFETY: `kernel` is bound. The same keystream turns the plaintext into ciphertext.
            unsafe { (self.kernel.ops().seal)(&self.key, j0, &[], data) };
        } else {
            data.output().fill(0);
        }
        Error::Authentication
    }
}

impl Aead for Gcm {
    const NAME: &'static str = NAME;

    #[inline]
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error> {
        let j0 = self.pre_counter(nonce)?;
        check_length(data.len() as u64)?;
        // SAFETY: `kernel` is bound.
        let value = unsafe { (self.kernel.ops().seal)(&self.key, j0, aad, data) };
        *tag = value.to_be_bytes();
        Ok(())
    }

    /// Decrypts `data` if `tag` is right. The comparison takes the same time wherever the tags differ.
    ///
    /// # Errors
    /// [`Error::Authentication`] when the tag does not match: a separate output is then zero, and a
    /// buffer opened in place holds its ciphertext again. [`Error::NonceLength`] or [`Error::DataLength`]
    /// before anything is written.
    #[inline]
    fn open(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error> {
        self.open_checked(nonce, aad, data, tag)
    }
}

impl Gcm {
    /// Does the same as [`Aead::open`], with a tag that was cut to `tag_len` bytes: 15, 14, 13, 12, 8 or 4, or 16 for
    /// a whole one (SP 800-38D §5.2.1.2). The caller's protocol sets the length, never a sender: a tag of any other
    /// length is refused, and an attacker who guesses one of 4 bytes needs 2^32 trials.
    ///
    /// # Errors
    /// The errors of [`Aead::open`]; [`Error::TagLength`] when `tag` is not `tag_len` bytes long, or that is no
    /// length of a tag.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_engines::aead::Aead;
    /// use millstream_engines::gcm::Gcm;
    /// use millstream_engines::{Error, InOut};
    ///
    /// let gcm = Gcm::new(Features::hardware(), &[7; 16])?;
    /// let (mut message, mut tag) = (*b"a protocol whose tags have 12 bytes", [0; 16]);
    /// gcm.seal(&[1; 12], b"", InOut::in_place(&mut message), &mut tag)?;
    ///
    /// let shorter = gcm.open_cut(&[1; 12], b"", InOut::in_place(&mut message), &tag[..4], 12);
    /// assert!(matches!(shorter, Err(Error::TagLength { given: 4, .. })));
    /// gcm.open_cut(&[1; 12], b"", InOut::in_place(&mut message), &tag[..12], 12)?;
    /// assert_eq!(&message, b"a protocol whose tags have 12 bytes");
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    pub fn open_cut(
        &self,
        nonce: &[u8],
        aad: &[u8],
        data: InOut<'_>,
        tag: &[u8],
        tag_len: usize,
    ) -> Result<(), Error> {
        check_tag_length(tag, tag_len)?;
        self.open_checked(nonce, aad, data, tag)
    }

    /// Opens with a tag whose length was checked.
    #[inline(always)]
    fn open_checked(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8]) -> Result<(), Error> {
        let j0 = self.pre_counter(nonce)?;
        check_length(data.len() as u64)?;
        // SAFETY: `kernel` is bound.
        let value = unsafe { (self.kernel.ops().open)(&self.key, j0, aad, &mut data) };
        if tags_match(value, tag) { Ok(()) } else { Err(self.withdraw(j0, data)) }
    }
}

#[inline(always)]
fn check_length(bytes: u64) -> Result<(), Error> {
    if bytes > MAX_DATA_BYTES {
        return Err(Error::DataLength { algorithm: NAME, given: bytes, takes: "at most 2^36 - 32 bytes" });
    }
    Ok(())
}

/// Requires that `expected` is a length of a tag (SP 800-38D §5.2.1.2), and that the tag has it.
#[inline(always)]
fn check_tag_length(tag: &[u8], expected: usize) -> Result<(), Error> {
    match expected {
        12..=16 | 8 | 4 if tag.len() == expected => Ok(()),
        12..=16 | 8 | 4 => Err(Error::TagLength {
            algorithm: NAME,
            given: tag.len(),
            takes: "as many bytes as the caller expects",
        }),
        given => Err(tag_length(given)),
    }
}

#[cold]
fn tag_length(given: usize) -> Error {
    Error::TagLength { algorithm: NAME, given, takes: "12 to 16 bytes, 8 or 4" }
}

/// Returns true if `tag` is the beginning of the tag `value`. The time depends on the length alone.
#[inline(always)]
fn tags_match(value: u128, tag: &[u8]) -> bool {
    begins(&value.to_be_bytes(), tag).into()
}

/// The last block of GHASH, SP 800-38D §7.1 step 5: both lengths in bits.
#[inline(always)]
const fn lengths(aad_bytes: u64, data_bytes: u64) -> u128 {
    (aad_bytes as u128) << 67 | (data_bytes as u128) << 3
}

/// Applies inc32 `blocks` times, SP 800-38D §6.2: the last 32 bits of the block count, and the others stay.
#[inline(always)]
const fn increment(counter: u128, blocks: u32) -> u128 {
    counter >> 32 << 32 | (counter as u32).wrapping_add(blocks) as u128
}

/// Test case 4 of the specification submitted to NIST (McGrew and Viega, "The Galois/Counter Mode
/// of Operation", appendix B).
mod example {
    pub(super) const KEY: [u8; 16] = 0xfeffe9928665731c6d6a8f9467308308_u128.to_be_bytes();
    pub(super) const NONCE: [u8; 12] =
        [0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88];
    pub(super) const AAD: [u8; 20] = [
        0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab,
        0xad, 0xda, 0xd2,
    ];
    pub(super) const PLAIN: [u8; 60] = bytes([
        0xd9313225f88406e5a55909c5aff5269a,
        0x86a7a9531534f7da2e4c303d8a318a72,
        0x1c3c0c95956809532fcf0e2449a6b525,
        0xb16aedf5aa0de657ba637b3900000000,
    ]);
    pub(super) const CIPHER: [u8; 60] = bytes([
        0x42831ec2217774244b7221b784d0d49c,
        0xe3aa212f2c02a4e035c17e2329aca12e,
        0x21d514b25466931c7d8f6a5aac84aa05,
        0x1ba30b396a0aac973d58e09100000000,
    ]);
    pub(super) const TAG: [u8; 16] = 0x5bc94fbc3221a5db94fae95ae7121a47_u128.to_be_bytes();

    const fn bytes(blocks: [u128; 4]) -> [u8; 60] {
        let mut bytes = [0; 60];
        let mut i = 0;
        while i < bytes.len() {
            bytes[i] = blocks[i / 16].to_be_bytes()[i % 16];
            i += 1;
        }
        bytes
    }
}

fn known_answer(kernel: Bound<GcmOps>) -> bool {
    let Ok(gcm) = Gcm::with_kernel(kernel, &example::KEY) else { return false };
    let (mut buffer, mut tag) = (example::PLAIN, [0; TAG]);
    let sealed = gcm.seal(&example::NONCE, &example::AAD, InOut::in_place(&mut buffer), &mut tag);
    let right = buffer == example::CIPHER && tag == example::TAG;
    let opened = gcm.open(&example::NONCE, &example::AAD, InOut::in_place(&mut buffer), &tag);
    sealed.is_ok() && right && opened.is_ok() && buffer == example::PLAIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_length_limits() {
        assert_eq!(check_length(MAX_DATA_BYTES), Ok(()));
        assert!(matches!(check_length(MAX_DATA_BYTES + 1), Err(Error::DataLength { .. })));
        assert_eq!(check_length(MAX_DATA_BYTES + 1).unwrap_err().to_string().matches("2^36 - 32").count(), 1);
    }

    #[test]
    fn miri_counters_wrap_in_32_bits() {
        assert_eq!(increment(7 << 32 | 0xffff_ffff, 2), 7 << 32 | 1);
    }
}
