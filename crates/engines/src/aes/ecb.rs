//! AES-ECB: every block is encrypted for itself. ECB hides no pattern in the data; other modes
//! are built on it.
//!
//! Ref. NIST SP 800-38A §6.1.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::arch::rows;
use super::feistel::Feistel;
use super::schedule::{Expand, Invert, KEY_BITS, Schedule};
use super::vector::{Alone, Keys, Pass, Vector, walk};
use crate::kernel::{BesideKernel, no_padding};
use crate::modes::BlockMode;
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-ECB.
pub static ECB: Table<EcbOps> = Table::new(
    AlgorithmInfo {
        name: Ecb::NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.1",
        key_bits: KEY_BITS,
    },
    rows!(EcbOps {
        expand: expand,
        invert: invert,
        encrypt: ecb_encrypt,
        decrypt: ecb_decrypt,
        feistel: FEISTEL
    }),
    known_answer,
);

/// The functions of a kernel of AES-ECB. The data is whole blocks.
pub struct EcbOps {
    pub(crate) expand: Expand,
    pub(crate) invert: Invert,
    pub(crate) encrypt: unsafe fn(&Schedule, InOut<'_>),
    pub(crate) decrypt: unsafe fn(&Schedule, InOut<'_>),
    /// The rounds of FF1, where they are more than passes of `encrypt`.
    #[cfg_attr(not(feature = "ff1"), allow(dead_code))]
    pub(crate) feistel: Option<Feistel>,
}

/// An AES key for ECB.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::Ecb, modes::BlockMode};
///
/// let key = Ecb::new(Features::hardware(), &[7; 16])?;
/// let mut block = *b"sixteen bytes ok";
/// key.encrypt(&mut [], InOut::in_place(&mut block));
/// key.decrypt(&mut [], InOut::in_place(&mut block));
/// assert_eq!(&block, b"sixteen bytes ok");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Ecb {
    forward: Schedule,
    inverse: Schedule,
    kernel: Bound<EcbOps>,
    _unused: BesideKernel,
}

no_padding!(Ecb: Schedule, Schedule, Bound<EcbOps>, BesideKernel);

impl Ecb {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Ecb::with_kernel(ECB.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<EcbOps>, key: &[u8]) -> Result<Self, Error> {
        // The key is expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(Ecb::NAME, key).map(|blank| Ecb {
            inverse: blank.clone(),
            forward: blank,
            kernel,
            _unused: [0; size_of::<BesideKernel>()],
        });
        if let Ok(this) = &mut this {
            // SAFETY: `kernel` is bound.
            unsafe {
                (kernel.ops().expand)(&mut this.forward, key);
                (kernel.ops().invert)(&this.forward, &mut this.inverse);
            }
        }
        this
    }

    /// The kernel this key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }
}

impl BlockMode for Ecb {
    const NAME: &'static str = "aes-ecb";
    const BLOCK: usize = 16;
    const IV: usize = 0;

    #[inline]
    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(chain.is_empty() && data.len().is_multiple_of(16));
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().encrypt)(&self.forward, data) }
    }

    #[inline]
    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(chain.is_empty() && data.len().is_multiple_of(16));
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().decrypt)(&self.inverse, data) }
    }
}

/// Encrypts, or with the inverse keys decrypts, whole blocks.
#[inline(always)]
pub(crate) fn crypt<L: Vector, const DECRYPT: bool>(keys: Keys<'_, L>, data: InOut<'_>) {
    walk(&mut Ecbs::<L, DECRYPT> { keys }, data);
}

struct Ecbs<'k, L, const DECRYPT: bool> {
    keys: Keys<'k, L>,
}

impl<L: Vector, const DECRYPT: bool> Ecbs<'_, L, DECRYPT> {
    #[inline(always)]
    fn cipher<const N: usize>(&self, vectors: [L; N]) -> [L; N] {
        if DECRYPT {
            L::decrypt(&self.keys, vectors, &mut Alone)
        } else {
            L::encrypt(&self.keys, vectors, &mut Alone)
        }
    }
}

impl<L: Vector, const DECRYPT: bool> Pass<L> for Ecbs<'_, L, DECRYPT> {
    #[inline(always)]
    fn vectors<const N: usize>(&mut self, mut data: InOut<'_>) {
        let vectors = L::load_all::<N>(&self.keys, &data);
        let vectors = self.cipher(vectors);
        for i in 0..N {
            vectors[i].store(&mut data, i * L::BYTES);
        }
    }

    #[inline(always)]
    fn part(&mut self, mut data: InOut<'_>) {
        let [vector] = self.cipher([L::load_part(&self.keys, &data)]);
        vector.store_part(&mut data);
    }
}

/// FIPS 197 appendix C.1.
fn known_answer(kernel: Bound<EcbOps>) -> bool {
    let key: [u8; 16] = std::array::from_fn(|i| i as u8);
    let plain: [u8; 16] = std::array::from_fn(|i| 0x11 * i as u8);
    let mut block = plain;
    let Ok(ecb) = Ecb::with_kernel(kernel, &key) else { return false };
    ecb.encrypt(&mut [], InOut::in_place(&mut block));
    let right = u128::from_be_bytes(block) == 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a;
    ecb.decrypt(&mut [], InOut::in_place(&mut block));
    right && block == plain
}
