//! ChaCha20-Poly1305, the AEAD.
//!
//! Ref. RFC 8439.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod arch;
mod job;
mod lanes;
mod object;
mod poly1305;
mod portable;
#[cfg(target_arch = "x86_64")]
mod side_by_side;
mod state;
mod vector;

use millstream_cpu::{FeatureSet, Features};
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::aead::{Aead, TAG};
use crate::compare::begins;
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table, Timing};
use poly1305::Poly1305;

pub use job::{ChaCha20Poly1305Job, ChaCha20Poly1305LanesOps};
pub use lanes::{CHACHA20_POLY1305_LANES, ChaCha20Poly1305Lanes};
pub use state::State;

/// An object in pieces, with its key: see [`AeadStream`](crate::aead::AeadStream).
pub type Stream<'k> = crate::aead::Stream<'k, State>;

const NAME: &str = "chacha20-poly1305";

/// Bytes of key.
pub const KEY: usize = 32;
/// Bytes of nonce.
pub const NONCE: usize = 12;
/// The longest object, in bytes: block numbers 1 to 2^32 - 1 (RFC 8439 §2.8).
pub const DATA_MAX: u64 = ((1 << 32) - 1) * 64;

/// The key, as the words of the state.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(32))]
struct Key([u32; 8]);

/// The nonce, as the words of the state.
type Nonce = [u32; 3];

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// Encrypts an object in one go and returns its tag.
    seal: unsafe fn(&Key, &Nonce, &[u8], InOut<'_>) -> [u8; TAG],
    /// Decrypts an object in one go if its tag is right, and returns true if it was.
    open: unsafe fn(&Key, &Nonce, &[u8], InOut<'_>, &[u8; TAG]) -> bool,
    /// Encrypts or decrypts from a block number on.
    keystream: unsafe fn(&Key, &Nonce, u32, InOut<'_>),
    /// Adds whole blocks to a MAC.
    authenticate: unsafe fn(&mut Poly1305, &[u8]),
}

/// The kernels of ChaCha20-Poly1305.
pub static CHACHA20_POLY1305: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::Current, standard: "RFC 8439 §2.8", key_bits: &[256] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-by16",
            requires: FeatureSet::parse("avx512f,avx512bw,avx512vl,avx512ifma"),
            timing: Timing::Constant,
            note: "16 blocks in bulk, up to 20 in the first pass; Poly1305 in 52-bit multiply-adds by 8",
        },
        ops: arch::x86_64_avx512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2-by8",
            requires: FeatureSet::parse("avx2,bmi2"),
            timing: Timing::Constant,
            note: "eight blocks in bulk; Poly1305 in 26-bit limbs by 4",
        },
        ops: arch::x86_64_avx2::OPS,
    },
    #[cfg(target_arch = "aarch64")]
    Row {
        kernel: Kernel {
            name: "aarch64-neon-by4",
            requires: FeatureSet::parse("neon"),
            timing: Timing::Constant,
            note: "four blocks in vectors; Poly1305 in 64-bit limbs",
        },
        ops: arch::aarch64_neon::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "a block at a time in 32-bit words; Poly1305 in 64-bit limbs",
        },
        ops: portable::OPS,
    },
];

/// A ChaCha20-Poly1305 key, bound to a kernel.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::aead::Aead;
/// use millstream_engines::{InOut, chacha20poly1305::ChaCha20Poly1305};
///
/// let key = ChaCha20Poly1305::new(Features::hardware(), &[7; 32])?;
/// let (nonce, aad) = ([0; 12], b"header");
/// let mut object = *b"to keep and to check";
/// let mut tag = [0; 16];
/// key.seal(&nonce, aad, InOut::in_place(&mut object), &mut tag)?;
/// key.open(&nonce, aad, InOut::in_place(&mut object), &tag)?;
/// assert_eq!(&object, b"to keep and to check");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[derive(Clone)]
pub struct ChaCha20Poly1305 {
    kernel: Bound<Ops>,
    key: Key,
}

impl ChaCha20Poly1305 {
    /// A key on the fastest kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 32 bytes.
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(CHACHA20_POLY1305.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 32 bytes.
    pub fn with_kernel(kernel: Bound<Ops>, key: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; KEY] = key.try_into().map_err(|_| Error::KeyLength {
            algorithm: NAME,
            given: key.len(),
            takes: "32 bytes",
        })?;
        let mut words = Key([0; 8]);
        for (word, bytes) in words.0.iter_mut().zip(bytes.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        Ok(ChaCha20Poly1305 { kernel, key: words })
    }

    /// Replaces the key with another of 32 bytes, for the same kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; the key then stays as it was.
    pub fn rekey(&mut self, key: &[u8]) -> Result<(), Error> {
        *self = ChaCha20Poly1305::with_kernel(self.kernel, key)?;
        Ok(())
    }

    /// The kernel in use.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Begins one object in pieces, whose state borrows nothing.
    ///
    /// # Errors
    /// [`Error::NonceLength`] unless the nonce has 12 bytes.
    pub fn begin(&self, nonce: &[u8]) -> Result<State, Error> {
        Ok(State::new(self, nonce_words(nonce)?))
    }

    /// Begins one object in pieces.
    ///
    /// # Errors
    /// [`Error::NonceLength`] unless the nonce has 12 bytes.
    pub fn stream(&self, nonce: &[u8]) -> Result<Stream<'_>, Error> {
        Ok(Stream::new(self, self.begin(nonce)?))
    }

    #[inline(always)]
    fn keystream(&self, nonce: &Nonce, counter: u32, data: InOut<'_>) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().keystream)(&self.key, nonce, counter, data) }
    }

    #[inline(always)]
    fn authenticate(&self, mac: &mut Poly1305, blocks: &[u8]) {
        // SAFETY: `self.kernel` is bound.
        unsafe { (self.kernel.ops().authenticate)(mac, blocks) }
    }
}

impl Aead for ChaCha20Poly1305 {
    const NAME: &'static str = NAME;

    #[inline]
    fn seal(&self, nonce: &[u8], aad: &[u8], data: InOut<'_>, tag: &mut [u8; TAG]) -> Result<(), Error> {
        let nonce = nonce_words(nonce)?;
        check_length(data.len() as u64)?;
        // SAFETY: `self.kernel` is bound.
        *tag = unsafe { (self.kernel.ops().seal)(&self.key, &nonce, aad, data) };
        Ok(())
    }

    #[inline]
    fn open(&self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; TAG]) -> Result<(), Error> {
        let nonce = nonce_words(nonce)?;
        check_length(data.len() as u64)?;
        // SAFETY: `self.kernel` is bound.
        if unsafe { (self.kernel.ops().open)(&self.key, &nonce, aad, data.reborrow(), tag) } {
            return Ok(());
        }
        // A separate output is zeroed. In place the ciphertext is still there, because nothing
        // was decrypted.
        if !data.is_in_place() {
            data.output().fill(0);
        }
        Err(Error::Authentication)
    }
}

#[inline(always)]
fn nonce_words(nonce: &[u8]) -> Result<Nonce, Error> {
    let bytes: &[u8; NONCE] = nonce.try_into().map_err(|_| Error::NonceLength {
        algorithm: NAME,
        given: nonce.len(),
        takes: "12 bytes",
    })?;
    let words = bytes.as_chunks().0;
    Ok([0, 1, 2].map(|i| u32::from_le_bytes(words[i])))
}

/// Compares two tags in constant time.
#[inline(always)]
fn tags_match(computed: &[u8; TAG], given: &[u8; TAG]) -> bool {
    begins(computed, given).into()
}

#[inline(always)]
fn check_length(given: u64) -> Result<(), Error> {
    if given > DATA_MAX {
        return Err(Error::DataLength { algorithm: NAME, given, takes: "at most 2^38 - 64 bytes" });
    }
    Ok(())
}

/// The example of RFC 8439 §2.8.2.
mod example {
    pub(super) const KEY: [u8; super::KEY] = {
        let mut key = [0; super::KEY];
        let mut i = 0;
        while i < key.len() {
            key[i] = 0x80 + i as u8;
            i += 1;
        }
        key
    };
    pub(super) const NONCE: [u8; super::NONCE] = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47];
    pub(super) const AAD: [u8; 12] = [0x50, 0x51, 0x52, 0x53, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7];
    pub(super) const PLAIN: [u8; 114] = *b"Ladies and Gentlemen of the class of '99: If I could \
        offer you only one tip for the future, sunscreen would be it.";
    /// The tag over the ciphertext, which therefore confirms the ciphertext too.
    pub(super) const TAG: [u8; 16] = 0x1ae1_0b59_4f09_e26a_7e90_2ecb_d060_0691_u128.to_be_bytes();
}

fn known_answer(kernel: Bound<Ops>) -> bool {
    let Ok(cipher) = ChaCha20Poly1305::with_kernel(kernel, &example::KEY) else { return false };
    let (mut text, mut tag) = (example::PLAIN, [0; TAG]);
    let sealed = cipher.seal(&example::NONCE, &example::AAD, InOut::in_place(&mut text), &mut tag);
    let opened = cipher.open(&example::NONCE, &example::AAD, InOut::in_place(&mut text), &tag);
    sealed.is_ok() && tag == example::TAG && opened.is_ok() && text == example::PLAIN
}
