//! AES-CFB128: the data XOR the encryption of the ciphertext block before it.
//!
//! Ref. NIST SP 800-38A §6.3, with segments of 128 bits.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::arch::rows;
use super::schedule::{Block, Expand, KEY_BITS, Schedule};
use super::vector::{Alone, Chain, Keys, Onto, Pass, Vector, walk};
use crate::kernel::{BesideKernel, no_padding};
use crate::modes::{Direction, StreamMode};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CFB128. They differ in decryption; encryption is one block at a time on all.
pub static CFB: Table<CfbOps> = Table::new(
    AlgorithmInfo {
        name: Cfb::NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.3",
        key_bits: KEY_BITS,
    },
    rows!(CfbOps { expand: expand, encrypt: cfb_encrypt, decrypt: cfb_decrypt }),
    known_answer,
);

/// The functions of a kernel of AES-CFB128, for data of any length. The block holds the
/// initialisation vector before. If the data was whole blocks, it holds the last ciphertext block
/// after.
pub struct CfbOps {
    pub(crate) expand: Expand,
    pub(crate) encrypt: unsafe fn(&Schedule, &mut Block, InOut<'_>),
    pub(crate) decrypt: unsafe fn(&Schedule, &mut Block, InOut<'_>),
}

/// An AES key for CFB128.
///
/// No vector may be used twice under one key, and nothing protects the ciphertext against changes.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::Cfb};
///
/// let key = Cfb::new(Features::hardware(), &[7; 16])?;
/// let mut data = *b"any length";
/// key.encrypt(&[9; 16], InOut::in_place(&mut data));
/// key.decrypt(&[9; 16], InOut::in_place(&mut data));
/// assert_eq!(&data, b"any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Cfb {
    pub(super) schedule: Schedule,
    kernel: Bound<CfbOps>,
    _unused: BesideKernel,
}

no_padding!(Cfb: Schedule, Bound<CfbOps>, BesideKernel);

impl Cfb {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Cfb::with_kernel(CFB.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<CfbOps>, key: &[u8]) -> Result<Self, Error> {
        // The key is expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(Cfb::NAME, key).map(|schedule| Cfb {
            schedule,
            kernel,
            _unused: [0; size_of::<BesideKernel>()],
        });
        if let Ok(this) = &mut this {
            // SAFETY: `kernel` is bound.
            unsafe { (kernel.ops().expand)(&mut this.schedule, key) };
        }
        this
    }

    /// The kernel this key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Encrypts one whole object of any length.
    #[inline]
    pub fn encrypt(&self, iv: &Block, data: InOut<'_>) {
        self.run(Direction::Encrypt, &mut iv.clone(), data);
    }

    /// Decrypts one whole object of any length.
    #[inline]
    pub fn decrypt(&self, iv: &Block, data: InOut<'_>) {
        self.run(Direction::Decrypt, &mut iv.clone(), data);
    }

    #[inline]
    fn run(&self, direction: Direction, chain: &mut Block, data: InOut<'_>) {
        let run = match direction {
            Direction::Encrypt => self.kernel.ops().encrypt,
            Direction::Decrypt => self.kernel.ops().decrypt,
        };
        // SAFETY: the kernel is bound.
        unsafe { run(&self.schedule, chain, data) }
    }
}

impl StreamMode for Cfb {
    const NAME: &'static str = "aes-cfb128";
    const BLOCK: usize = 16;
    const FEEDBACK: bool = true;

    #[inline]
    fn blocks(&self, direction: Direction, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(16));
        self.run(direction, chain.try_into().expect("a chain of one block"), data);
    }

    #[inline]
    fn pad(&self, chain: &mut [u8], pad: &mut [u8]) {
        assert!(pad.len() == 16);
        pad.fill(0);
        self.blocks(Direction::Encrypt, chain, InOut::in_place(pad));
    }
}

/// Encrypts data of any length. The XOR with the plaintext, and with the first round key of the next
/// block, goes in with the last round key.
#[inline(always)]
pub(crate) fn encrypt<L: Chain>(keys: Keys<'_, L>, chain: &mut Block, mut data: InOut<'_>) {
    let whitening = L::whitening(&keys);
    let mut block = L::splat(&keys, chain).xor(whitening);
    while data.len() >= 16 {
        let mut one = data.take(16);
        block = block.encrypt_whitened(&keys, L::load(&keys, &one, 0).xor(whitening));
        block.xor(whitening).store(&mut one, 0);
    }
    if !data.is_empty() {
        block = block.encrypt_whitened(&keys, L::load_part(&keys, &data).xor(whitening));
        block.xor(whitening).store_part(&mut data);
    }
    *chain = block.xor(whitening).first();
}

/// Decrypts data of any length.
#[inline(always)]
pub(crate) fn decrypt<L: Vector>(keys: Keys<'_, L>, chain: &mut Block, data: InOut<'_>) {
    let whole = data.len() - data.len() % 16;
    // In place, the last ciphertext block is about to be overwritten.
    let last = if whole > 0 { data.load(whole - 16) } else { *chain };
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
        let mut vectors = [self.previous; N];
        for i in 0..N {
            let cipher = L::load(&self.keys, &data, i * L::BYTES);
            vectors[i] = cipher.after(self.previous);
            self.previous = cipher;
        }
        // Loading the data again costs less than keeping it over the rounds.
        let vectors = L::encrypt(&self.keys, vectors, &mut Onto { keys: self.keys, data: &data });
        for i in 0..N {
            vectors[i].store(&mut data, i * L::BYTES);
        }
    }

    #[inline(always)]
    fn part(&mut self, mut data: InOut<'_>) {
        let cipher = L::load_part(&self.keys, &data);
        let [vector] = L::encrypt(&self.keys, [cipher.after(self.previous)], &mut Alone);
        cipher.xor(vector).store_part(&mut data);
    }
}

/// NIST SP 800-38A F.3.13, the first two blocks.
fn known_answer(kernel: Bound<CfbOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv: Block = std::array::from_fn(|i| i as u8);
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x3b3f_d92e_b72d_ad20_3334_49f8_e83c_fb4a_u128, 0xc8a6_4537_a0b3_a93f_cde3_cdad_9f1c_e58b];
    let mut data = plain.map(u128::to_be_bytes);
    let Ok(cfb) = Cfb::with_kernel(kernel, &key) else { return false };
    cfb.encrypt(&iv, InOut::in_place(data.as_flattened_mut()));
    let right = data == cipher.map(u128::to_be_bytes);
    cfb.decrypt(&iv, InOut::in_place(data.as_flattened_mut()));
    right && data == plain.map(u128::to_be_bytes)
}
