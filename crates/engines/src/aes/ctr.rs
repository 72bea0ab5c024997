//! AES-CTR: the data XOR the encryption of a counter.
//!
//! The counter block is one 128-bit big-endian number and wraps modulo 2^128.
//!
//! Ref. NIST SP 800-38A §6.5, appendix B.1.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::arch::rows;
use super::schedule::{Block, Expand, KEY_BITS, Schedule};
use super::vector::{Alone, Beside, Keys, Onto, Pass, Vector, walk};
use crate::kernel::{BesideKernel, no_padding};
use crate::modes::{Direction, StreamMode};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table};

/// The kernels of AES-CTR.
pub static CTR: Table<CtrOps> = Table::new(
    AlgorithmInfo {
        name: Ctr::NAME,
        standing: Standing::Current,
        standard: "NIST SP 800-38A §6.5",
        key_bits: KEY_BITS,
    },
    rows!(CtrOps { expand: expand, crypt: ctr }),
    known_answer,
);

/// The functions of a kernel of AES-CTR, for data of any length. The caller repeats `crypt` until it
/// has taken all of the data. The block holds the counter before, and after it the counter of the
/// next whole block.
pub struct CtrOps {
    pub(crate) expand: Expand,
    pub(crate) crypt: unsafe fn(&Schedule, &mut Block, &mut InOut<'_>),
}

/// An AES key for CTR.
///
/// No counter block may be used twice under one key, and nothing protects the ciphertext against
/// changes.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::Ctr};
///
/// let key = Ctr::new(Features::hardware(), &[7; 16])?;
/// let mut data = *b"any length";
/// key.apply(&[9; 16], InOut::in_place(&mut data));
/// key.apply(&[9; 16], InOut::in_place(&mut data));
/// assert_eq!(&data, b"any length");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Ctr {
    pub(super) schedule: Schedule,
    kernel: Bound<CtrOps>,
    _unused: BesideKernel,
}

no_padding!(Ctr: Schedule, Bound<CtrOps>, BesideKernel);

impl Ctr {
    /// A key of 16, 24 or 32 bytes on the best kernel that `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Ctr::with_kernel(CTR.best(features), key)
    }

    /// A key on the given kernel.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    #[inline]
    pub fn with_kernel(kernel: Bound<CtrOps>, key: &[u8]) -> Result<Self, Error> {
        // The key is expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(Ctr::NAME, key).map(|schedule| Ctr {
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

    /// Replaces the key with another of 16, 24 or 32 bytes, for the same kernel. If a key serves one message only, this is
    /// faster than [`Ctr::new`]: nothing is moved, and a key of the same length leaves nothing to wipe.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; the key then stays as it was.
    #[inline]
    pub fn rekey(&mut self, key: &[u8]) -> Result<(), Error> {
        if key.len() != 4 * (self.schedule.rounds - 6) {
            *self = Ctr::with_kernel(self.kernel, key)?;
            return Ok(());
        }
        // SAFETY: `kernel` is bound. It writes the same places as it did for the last key.
        unsafe { (self.kernel.ops().expand)(&mut self.schedule, key) };
        Ok(())
    }

    /// The kernel this key is bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// Encrypts or decrypts one whole object of any length; `iv` is its first counter block.
    #[inline]
    pub fn apply(&self, iv: &Block, data: InOut<'_>) {
        self.run(&mut iv.clone(), data);
    }

    #[inline]
    pub(super) fn run(&self, counter: &mut Block, data: InOut<'_>) {
        let mut data = data.word_by_word();
        while !data.is_empty() {
            // SAFETY: the kernel is bound.
            unsafe { (self.kernel.ops().crypt)(&self.schedule, counter, &mut data) }
        }
    }
}

impl StreamMode for Ctr {
    const NAME: &'static str = "aes-ctr";
    const BLOCK: usize = 16;
    const FEEDBACK: bool = false;

    #[inline]
    fn blocks(&self, _: Direction, chain: &mut [u8], data: InOut<'_>) {
        assert!(data.len().is_multiple_of(16));
        self.run(chain.try_into().expect("a chain of one block"), data);
    }

    #[inline]
    fn pad(&self, chain: &mut [u8], pad: &mut [u8]) {
        assert!(pad.len() == 16);
        pad.fill(0);
        self.blocks(Direction::Encrypt, chain, InOut::in_place(pad));
    }
}

/// Encrypts or decrypts the data, takes it off `data`, and moves the counter on.
///
/// Vectors count in the low 64 bits only. This function stops where those bits wrap, which happens
/// once in 2^64 blocks, and the caller calls it again. A loop here would make the compiler load all
/// round keys ahead of it, and an object of one block would pay for that.
#[inline(always)]
pub(crate) fn crypt<L: Vector>(keys: Keys<'_, L>, counter: &mut Block, data: &mut InOut<'_>) {
    let number = u128::from_be_bytes(*counter);
    let blocks = data.len().div_ceil(16) as u64;
    // The number of blocks before the wrap; 0 stands for 2^64 of them.
    let room = (number as u64).wrapping_neg();
    let run = if room.wrapping_sub(1) < blocks { room } else { blocks };
    let bytes = data.len().min(run as usize * 16);
    walk(&mut Counter { keys, number: L::count(&keys, number) }, data.take(bytes));
    *counter = number.wrapping_add(run.into()).to_be_bytes();
}

/// Encrypts or decrypts one of many objects. An object shorter than eight vectors goes through the
/// rounds in one step, so that the processor has several objects under way.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn crypt_one<L: Vector>(keys: Keys<'_, L>, key: &Ctr, counter: &Block, mut data: InOut<'_>) {
    let number = u128::from_be_bytes(*counter);
    if (number as u64).checked_add(data.len() as u64 / 16 + 8 * L::BLOCKS as u64).is_none() {
        return key.apply(counter, data);
    }
    let mut pass = Counter { keys, number: L::count(&keys, number) };
    if data.len() >= 8 * L::BYTES {
        pass.eights(data.take(data.len() - data.len() % (8 * L::BYTES)));
    }
    match data.len().div_ceil(L::BYTES) {
        0 => {}
        1 => pass.short::<1>(data),
        2 => pass.short::<2>(data),
        3 => pass.short::<3>(data),
        4 => pass.short::<4>(data),
        5..=6 => pass.short::<6>(data),
        _ => pass.short::<8>(data),
    }
}

#[cfg(target_arch = "x86_64")]
impl<L: Vector> Counter<'_, L> {
    /// Encrypts or decrypts the end of an object: at most `N` vectors, of which the last need not be
    /// whole.
    #[inline(always)]
    fn short<const N: usize>(&self, data: InOut<'_>) {
        let mut vectors = [self.number.reverse(); N];
        for i in 1..N {
            vectors[i] = self.number.add((i * L::BLOCKS) as u64).reverse();
        }
        let whole = data.len() - data.len() % L::BYTES;
        let (mut whole, mut end) = data.split_at(whole);
        let mut onto = OntoShort { keys: self.keys, whole: &whole, end: &end };
        let vectors = L::encrypt(&self.keys, vectors, &mut onto);
        for i in 0..N {
            if !whole.is_empty() {
                vectors[i].store(&mut whole.take(L::BYTES), 0);
            } else {
                if !end.is_empty() {
                    vectors[i].store_part(&mut end);
                }
                return;
            }
        }
    }
}

/// The same as [`Onto`], for data that ends in any vector.
#[cfg(target_arch = "x86_64")]
struct OntoShort<'a, 'k, L> {
    keys: Keys<'k, L>,
    whole: &'a InOut<'a>,
    end: &'a InOut<'a>,
}

#[cfg(target_arch = "x86_64")]
impl<L: Vector> Beside<L> for OntoShort<'_, '_, L> {
    #[inline(always)]
    fn fold(&self, i: usize, vector: L) -> L {
        if (i + 1) * L::BYTES <= self.whole.len() {
            vector.xor(L::load(&self.keys, self.whole, i * L::BYTES))
        } else if i * L::BYTES == self.whole.len() && !self.end.is_empty() {
            vector.xor(L::load_part(&self.keys, self.end))
        } else {
            vector
        }
    }
}

struct Counter<'k, L> {
    keys: Keys<'k, L>,
    /// The counters of the next vector, little-endian.
    number: L,
}

impl<L: Vector> Pass<L> for Counter<'_, L> {
    #[inline(always)]
    fn vectors<const N: usize>(&mut self, mut data: InOut<'_>) {
        let mut vectors = [self.number.reverse(); N];
        for i in 1..N {
            vectors[i] = self.number.add((i * L::BLOCKS) as u64).reverse();
        }
        self.number = self.number.add((N * L::BLOCKS) as u64);
        let vectors = L::encrypt(&self.keys, vectors, &mut Onto { keys: self.keys, data: &data });
        for i in 0..N {
            vectors[i].store(&mut data, i * L::BYTES);
        }
    }

    #[inline(always)]
    fn part(&mut self, mut data: InOut<'_>) {
        let [vector] = L::encrypt(&self.keys, [self.number.reverse()], &mut Alone);
        L::load_part(&self.keys, &data).xor(vector).store_part(&mut data);
    }

    #[inline(always)]
    fn eights(&mut self, mut data: InOut<'_>) {
        let step = L::BLOCKS as u64;
        let after = self.number.add((data.len() / 16) as u64);
        let mut ahead = [self.number.reverse(); 8];
        for i in 1..8 {
            self.number = self.number.add(step);
            ahead[i] = self.number.reverse();
        }
        while !data.is_empty() {
            let mut eight = data.take(8 * L::BYTES);
            let mut beside = CountAhead { keys: self.keys, data: &eight, number: self.number, ahead };
            let vectors = L::encrypt(&self.keys, ahead, &mut beside);
            (self.number, ahead) = (beside.number, beside.ahead);
            for i in 0..8 {
                vectors[i].store(&mut eight, i * L::BYTES);
            }
        }
        self.number = after;
    }
}

/// The XOR of keystream onto data, while the next counter blocks are made.
struct CountAhead<'a, 'k, L> {
    keys: Keys<'k, L>,
    data: &'a InOut<'a>,
    /// The counters of the last vector in `ahead`, little-endian.
    number: L,
    ahead: [L; 8],
}

impl<L: Vector> Beside<L> for CountAhead<'_, '_, L> {
    #[inline(always)]
    fn prepare(&mut self, i: usize) {
        self.number = self.number.add(L::BLOCKS as u64);
        self.ahead[i] = self.number.reverse().now();
    }

    #[inline(always)]
    fn fold(&self, i: usize, vector: L) -> L {
        vector.xor(L::load(&self.keys, self.data, i * L::BYTES))
    }
}

/// NIST SP 800-38A F.5.1, the first two blocks.
fn known_answer(kernel: Bound<CtrOps>) -> bool {
    let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
    let iv = 0xf0f1_f2f3_f4f5_f6f7_f8f9_fafb_fcfd_feff_u128.to_be_bytes();
    let plain = [0x6bc1_bee2_2e40_9f96_e93d_7e11_7393_172a_u128, 0xae2d_8a57_1e03_ac9c_9eb7_6fac_45af_8e51];
    let cipher = [0x874d_6191_b620_e326_1bef_6864_990d_b6ce_u128, 0x9806_f66b_7970_fdff_8617_187b_b9ff_fdff];
    let mut data = plain.map(u128::to_be_bytes);
    let Ok(ctr) = Ctr::with_kernel(kernel, &key) else { return false };
    ctr.apply(&iv, InOut::in_place(data.as_flattened_mut()));
    data == cipher.map(u128::to_be_bytes)
}
