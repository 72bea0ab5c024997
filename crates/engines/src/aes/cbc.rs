//! AES-CBC: each block is XORed with the ciphertext before it, then encrypted.
//!
//! Ref. NIST SP 800-38A §6.2.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::arch::rows;
use super::schedule::{Block, Expand, Invert, KEY_BITS, Schedule};
use super::vector::{Alone, Chain, Keys, Pass, Vector, walk};
use crate::kernel::{BesideKernel, no_padding};
use crate::modes::BlockMode;
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CBC. They differ in decryption; encryption is one block at a time on all.
pub static CBC: Table<CbcOps> = Table::new(
    AlgorithmInfo {
        name: Cbc::NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.2",
        key_bits: KEY_BITS,
    },
    rows!(CbcOps { expand: expand, invert: invert, encrypt: cbc_encrypt, decrypt: cbc_decrypt }),
    known_answer,
);

/// The functions of a kernel of AES-CBC. The data is whole blocks; the block holds the
/// initialisation vector before and the last ciphertext block after.
pub struct CbcOps {
    pub(crate) expand: Expand,
    pub(crate) invert: Invert,
    pub(crate) encrypt: unsafe fn(&Schedule, &mut Block, InOut<'_>),
    pub(crate) decrypt: unsafe fn(&Schedule, &mut Block, InOut<'_>),
}

/// An AES key for CBC.
///
/// CBC alone does not protect against changes to the ciphertext, and its padding must not tell an
/// attacker whether it was right: prefer an AEAD.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::Cbc, modes::BlockMode};
///
/// let key = Cbc::new(Features::hardware(), &[7; 32])?;
/// let mut data = *b"two whole blocks, 32 bytes of it";
/// key.encrypt(&mut [9; 16], InOut::in_place(&mut data));
/// key.decrypt(&mut [9; 16], InOut::in_place(&mut data));
/// assert_eq!(&data, b"two whole blocks, 32 bytes of it");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Cbc {
    pub(crate) forward: Schedule,
    pub(super) inverse: Schedule,
    kernel: Bound<CbcOps>,
    _unused: BesideKernel,
}

no_padding!(Cbc: Schedule, Schedule, Bound<CbcOps>, BesideKernel);

impl Cbc {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Cbc::with_kernel(CBC.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<CbcOps>, key: &[u8]) -> Result<Self, Error> {
        // The key is expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(Cbc::NAME, key).map(|blank| Cbc {
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

impl BlockMode for Cbc {
    const NAME: &'static str = "aes-cbc";
    const BLOCK: usize = 16;
    const IV: usize = 16;

    #[inline]
    fn encrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(16));
        let chain = chain.try_into().expect("a chain of one block");
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().encrypt)(&self.forward, chain, data) }
    }

    #[inline]
    fn decrypt(&self, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(16));
        let chain = chain.try_into().expect("a chain of one block");
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().decrypt)(&self.inverse, chain, data) }
    }
}

/// Encrypts whole blocks. Only the rounds lie between one block and the next, because the XOR with
/// the following plaintext goes in with the last round key.
#[inline(always)]
pub(crate) fn encrypt<L: Chain>(keys: Keys<'_, L>, chain: &mut Block, mut data: InOut<'_>) {
    if data.is_empty() {
        return;
    }
    let whitening = L::whitening(&keys);
    let mut block = L::splat(&keys, chain).xor(L::load(&keys, &data, 0)).xor(whitening);
    while data.len() > 16 {
        let fold = L::load(&keys, &data, 16).xor(whitening);
        block = block.encrypt_whitened(&keys, fold);
        block.xor(fold).store(&mut data.take(16), 0);
    }
    // No block follows, so nothing has to be taken out of this one again.
    let last = block.encrypt_whitened(&keys, whitening.xor(whitening));
    last.store(&mut data, 0);
    *chain = last.first();
}

/// Decrypts whole blocks.
#[inline(always)]
pub(crate) fn decrypt<L: Vector>(keys: Keys<'_, L>, chain: &mut Block, data: InOut<'_>) {
    if data.is_empty() {
        return;
    }
    // In place, the last ciphertext block is about to be overwritten.
    let last = data.load::<16>(data.len() - 16);
    walk(&mut Decrypt { keys, previous: L::splat(&keys, chain) }, data);
    *chain = last;
}

struct Decrypt<'k, L> {
    keys: Keys<'k, L>,
    /// The previous ciphertext, of which only the last block counts.
    previous: L,
}

impl<L: Vector> Pass<L> for Decrypt<'_, L> {
    #[inline(always)]
    fn vectors<const N: usize>(&mut self, mut data: InOut<'_>) {
        let vectors = L::load_all::<N>(&self.keys, &data);
        let vectors = L::decrypt(&self.keys, vectors, &mut Alone);
        for i in 0..N {
            // Loading the ciphertext again costs less than keeping it over the rounds.
            let cipher = L::load(&self.keys, &data, i * L::BYTES);
            vectors[i].xor(cipher.after(self.previous)).store(&mut data, i * L::BYTES);
            self.previous = cipher;
        }
    }

    #[inline(always)]
    fn part(&mut self, mut data: InOut<'_>) {
        let cipher = L::load_part(&self.keys, &data);
        let [vector] = L::decrypt(&self.keys, [cipher], &mut Alone);
        vector.xor(cipher.after(self.previous)).store_part(&mut data);
    }
}

/// NIST SP 800-38A F.2.1, the first two blocks.
fn known_answer(kernel: Bound<CbcOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv: Block = std::array::from_fn(|i| i as u8);
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x7649_abac_8119_b246_cee9_8e9b_12e9_197d_u128, 0x5086_cb9b_5072_19ee_95db_113a_9176_78b2];
    let mut data = plain.map(u128::to_be_bytes);
    let Ok(cbc) = Cbc::with_kernel(kernel, &key) else { return false };
    cbc.encrypt(&mut iv.clone(), InOut::in_place(data.as_flattened_mut()));
    let right = data == cipher.map(u128::to_be_bytes);
    cbc.decrypt(&mut iv.clone(), InOut::in_place(data.as_flattened_mut()));
    right && data == plain.map(u128::to_be_bytes)
}
