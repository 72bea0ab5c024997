//! AES-XTS: blocks of a disk sector, each tied to its place by a tweak.
//!
//! Ref. IEEE 1619-2018 §5.3 (encryption) and §5.4 (decryption); NIST SP 800-38E.
//!
//! # Safety
//! A kernel's functions are called through its [`Bound`], the witness that its features exist.
#![allow(unsafe_code)]

use millstream_cpu::Features;

use super::arch::rows;
use super::schedule::{Block, Expand, Invert, Schedule};
use super::vector::{Alone, Beside, Chain, Keys, Pass, Vector, load_short, store_short, walk};
use crate::compare::begins;
use crate::kernel::{BesideKernel, no_padding};
use crate::{AlgorithmInfo, Bound, Error, InOut, Kernel, Row, Standing, Table};

const NAME: &str = "aes-xts";

/// The longest data unit, in bytes: 2^20 blocks (SP 800-38E §4).
pub const MAX_DATA_UNIT: usize = 16 << 20;

/// The kernels of AES-XTS.
pub static XTS: Table<XtsOps> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "IEEE 1619-2018, NIST SP 800-38E",
        key_bits: &[256, 512],
    },
    rows!(XtsOps { expand: expand, invert: invert, encrypt: xts_encrypt, decrypt: xts_decrypt }),
    known_answer,
);

/// The place in a data unit at which a pass begins: the unit's tweak before its encryption, and the number of blocks in
/// front.
#[derive(Clone, Copy)]
pub struct Start<'a> {
    tweak: &'a Block,
    blocks: u32,
}

/// The functions of a kernel of AES-XTS. They take the schedules of the data key and the tweak key, the place of the
/// data in its unit, and the data: a data unit of at least one block, or a part of one.
pub struct XtsOps {
    pub(crate) expand: Expand,
    pub(crate) invert: Invert,
    pub(crate) encrypt: unsafe fn(&Schedule, &Schedule, Start<'_>, InOut<'_>),
    pub(crate) decrypt: unsafe fn(&Schedule, &Schedule, Start<'_>, InOut<'_>),
}

/// A pair of AES keys for XTS.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes::Xts};
///
/// let keys: [u8; 32] = std::array::from_fn(|i| i as u8);
/// let disk = Xts::new(Features::hardware(), &keys)?;
/// let mut sector = [0x5a; 512];
/// disk.encrypt(&Xts::sector(7), InOut::in_place(&mut sector))?;
/// disk.decrypt(&Xts::sector(7), InOut::in_place(&mut sector))?;
/// assert_eq!(sector, [0x5a; 512]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Xts {
    forward: Schedule,
    inverse: Schedule,
    tweak: Schedule,
    kernel: Bound<XtsOps>,
    _unused: BesideKernel,
}

no_padding!(Xts: Schedule, Schedule, Schedule, Bound<XtsOps>, BesideKernel);

impl Xts {
    /// Expands the data key, then the tweak key (32 bytes for AES-128, 64 for AES-256), for the best kernel that
    /// `features` allow.
    ///
    /// # Errors
    /// [`Error::KeyLength`]; [`Error::WeakKey`] when the two are equal.
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        Xts::with_kernel(XTS.best(features), key)
    }

    /// The keys on the given kernel.
    ///
    /// # Errors
    /// As for [`Xts::new`].
    #[inline]
    pub fn with_kernel(kernel: Bound<XtsOps>, key: &[u8]) -> Result<Self, Error> {
        if key.len() != 32 && key.len() != 64 {
            return Err(Error::KeyLength { algorithm: NAME, given: key.len(), takes: "32 or 64 bytes" });
        }
        let (data_key, tweak_key) = key.split_at(key.len() / 2);
        if begins(data_key, tweak_key).into() {
            return Err(Error::WeakKey { algorithm: NAME });
        }
        Xts::expanded(kernel, key)
    }

    /// Expands the keys, whose length was checked. The keys may be equal.
    fn expanded(kernel: Bound<XtsOps>, key: &[u8]) -> Result<Self, Error> {
        let (data_key, tweak_key) = key.split_at(key.len() / 2);
        // The keys are expanded in place, because moving a schedule costs as much as making one.
        let mut this = Schedule::blank(NAME, data_key).map(|blank| Xts {
            inverse: blank.clone(),
            tweak: blank.clone(),
            forward: blank,
            kernel,
            _unused: [0; size_of::<BesideKernel>()],
        });
        if let Ok(this) = &mut this {
            // SAFETY: `kernel` is bound.
            unsafe {
                (kernel.ops().expand)(&mut this.forward, data_key);
                (kernel.ops().expand)(&mut this.tweak, tweak_key);
                (kernel.ops().invert)(&this.forward, &mut this.inverse);
            }
        }
        this
    }

    /// The kernel these keys are bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel.kernel()
    }

    /// The tweak of a sector with this number: the number, little-endian (IEEE 1619 §5.1).
    pub fn sector(number: u128) -> Block {
        number.to_le_bytes()
    }

    /// Encrypts one data unit of 16 bytes to [`MAX_DATA_UNIT`]; the length need not be whole blocks.
    ///
    /// # Errors
    /// [`Error::DataLength`].
    #[inline]
    pub fn encrypt(&self, tweak: &Block, data: InOut<'_>) -> Result<(), Error> {
        self.encrypt_part(tweak, 0, data)
    }

    /// Encrypts a part of a data unit, `blocks` blocks from its beginning. Every part has at least 16 bytes, and all but
    /// the last are whole blocks: the last two blocks of a unit that is not whole blocks belong together.
    ///
    /// # Errors
    /// [`Error::DataLength`], also when the part ends beyond [`MAX_DATA_UNIT`].
    #[inline]
    pub fn encrypt_part(&self, tweak: &Block, blocks: u32, data: InOut<'_>) -> Result<(), Error> {
        check_part(blocks, data.len())?;
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().encrypt)(&self.forward, &self.tweak, Start { tweak, blocks }, data) };
        Ok(())
    }

    /// Decrypts one data unit, as [`Xts::encrypt`].
    ///
    /// # Errors
    /// [`Error::DataLength`].
    #[inline]
    pub fn decrypt(&self, tweak: &Block, data: InOut<'_>) -> Result<(), Error> {
        self.decrypt_part(tweak, 0, data)
    }

    /// Decrypts a part of a data unit, as [`Xts::encrypt_part`].
    ///
    /// # Errors
    /// As [`Xts::encrypt_part`].
    #[inline]
    pub fn decrypt_part(&self, tweak: &Block, blocks: u32, data: InOut<'_>) -> Result<(), Error> {
        check_part(blocks, data.len())?;
        // SAFETY: the kernel is bound.
        unsafe { (self.kernel.ops().decrypt)(&self.inverse, &self.tweak, Start { tweak, blocks }, data) };
        Ok(())
    }
}

/// A pair of keys for AES-XTS that only decrypts, and whose halves may be equal. It reads data that was encrypted
/// before programs refused such keys. (SP 800-38E and IEEE 1619 demand that the halves differ; nothing new should be
/// written under equal ones.)
pub struct XtsDecryption(Xts);

impl XtsDecryption {
    /// Does the same as [`Xts::new`], but the halves may be equal.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn new(features: Features, key: &[u8]) -> Result<Self, Error> {
        if key.len() != 32 && key.len() != 64 {
            return Err(Error::KeyLength { algorithm: NAME, given: key.len(), takes: "32 or 64 bytes" });
        }
        Xts::expanded(XTS.best(features), key).map(XtsDecryption)
    }

    /// The kernel these keys are bound to.
    pub fn kernel(&self) -> &'static Kernel {
        self.0.kernel()
    }

    /// Decrypts one data unit, as [`Xts::decrypt`] does.
    ///
    /// # Errors
    /// As [`Xts::decrypt`].
    pub fn decrypt(&self, tweak: &Block, data: InOut<'_>) -> Result<(), Error> {
        self.0.decrypt(tweak, data)
    }
}

/// Requires that a part lies in a data unit of allowed length.
#[inline(always)]
fn check_part(blocks: u32, len: usize) -> Result<(), Error> {
    let before = blocks as usize * 16;
    if len < 16 { check_length(len) } else { check_length(before.saturating_add(len)) }
}

/// x^(2^i) in the field of the tweaks, for every i that a data unit has blocks for.
static POWERS: [u128; 21] = {
    let mut powers = [0; 21];
    let mut power = 2;
    let mut i = 0;
    while i < powers.len() {
        powers[i] = power;
        power = product(power, power);
        i += 1;
    }
    powers
};

/// The product of two tweaks, by x^128 + x^7 + x^2 + x + 1 (IEEE 1619-2018 §5.2).
const fn product(a: u128, b: u128) -> u128 {
    let (mut sum, mut shifted, mut bit) = (0, a, 0);
    while bit < 128 {
        // There is no branch on a bit of the tweak, which is secret.
        sum ^= shifted & 0_u128.wrapping_sub(b >> bit & 1);
        shifted = shifted << 1 ^ 0x87 & 0_u128.wrapping_sub(shifted >> 127);
        bit += 1;
    }
    sum
}

/// Returns the tweak `blocks` blocks further on. The number of blocks is no secret.
#[cold]
fn advanced(tweak: &Block, blocks: u32) -> Block {
    let mut tweak = u128::from_le_bytes(*tweak);
    for (i, power) in POWERS.iter().enumerate() {
        if blocks >> i & 1 == 1 {
            tweak = product(tweak, *power);
        }
    }
    tweak.to_le_bytes()
}

#[inline(always)]
fn check_length(len: usize) -> Result<(), Error> {
    if (16..=MAX_DATA_UNIT).contains(&len) {
        return Ok(());
    }
    Err(Error::DataLength { algorithm: NAME, given: len as u64, takes: "16 bytes to 2^20 blocks" })
}

/// Encrypts, or with the inverse keys decrypts, a data unit of at least one block. `keys` are the
/// data key's on both vector types.
#[inline(always)]
pub(crate) fn crypt<L: Vector, One: Chain, const DECRYPT: bool>(
    keys: (Keys<'_, L>, Keys<'_, One>),
    tweak_keys: Keys<'_, One>,
    start: Start<'_>,
    mut data: InOut<'_>,
) {
    let [tweak] = One::encrypt(&tweak_keys, [One::splat(&tweak_keys, start.tweak)], &mut Alone);
    let mut tweak = tweak.first();
    if start.blocks > 0 {
        tweak = advanced(&tweak, start.blocks);
    }
    if data.len() == 16 {
        // The tweaks of more blocks would only be made in vain.
        let (block, tweak) = (One::load(&keys.1, &data, 0), One::splat(&keys.1, &tweak));
        return tweaked::<_, DECRYPT>(&keys.1, block, tweak).store(&mut data, 0);
    }
    let mut pass = Tweaked::<L, DECRYPT> { keys: keys.0, tweaks: L::tweaks(&keys.0, &tweak) };
    let rest = data.len() % 16;
    if rest == 0 {
        return walk(&mut pass, data);
    }
    // The last whole block is left out: it shares its ciphertext with the partial block after it.
    let whole = data.len() - rest - 16;
    walk(&mut pass, data.take(whole));
    let first = One::splat(&keys.1, &pass.tweaks.first());
    let second = first.times_x(1);
    let in_order = if DECRYPT { [second, first] } else { [first, second] };
    steal::<One, DECRYPT>(&keys.1, in_order, data);
}

/// Encrypts or decrypts the last whole block and the partial block after it, with their tweaks in the order of use:
/// IEEE 1619 §5.3.2 and §5.4.2.
#[inline(always)]
fn steal<One: Chain, const DECRYPT: bool>(keys: &Keys<'_, One>, tweaks: [One; 2], data: InOut<'_>) {
    let (mut whole, mut part) = data.split_at(16);
    let first = One::load(keys, &whole, 0);
    let first = u128::from_le_bytes(tweaked::<_, DECRYPT>(keys, first, tweaks[0]).first());
    // The partial block's bytes are followed by as many bytes of the first result as make a block.
    let kept = u128::MAX << (8 * part.len());
    let padded = load_short(part.input()) | first & kept;
    store_short(part.output(), first);
    let padded = One::splat(keys, &padded.to_le_bytes());
    tweaked::<_, DECRYPT>(keys, padded, tweaks[1]).store(&mut whole, 0);
}

/// The cipher of one vector between two XORs with its tweaks: IEEE 1619 §5.3.1 and §5.4.1.
#[inline(always)]
fn tweaked<L: Vector, const DECRYPT: bool>(keys: &Keys<'_, L>, vector: L, tweaks: L) -> L {
    let [vector] = cipher::<_, _, DECRYPT>(keys, [vector.xor(tweaks)], &mut Under { tweaks: [tweaks] });
    vector
}

/// The cipher, or its inverse.
#[inline(always)]
fn cipher<L: Vector, const N: usize, const DECRYPT: bool>(
    keys: &Keys<'_, L>,
    vectors: [L; N],
    beside: &mut impl Beside<L>,
) -> [L; N] {
    if DECRYPT { L::decrypt(keys, vectors, beside) } else { L::encrypt(keys, vectors, beside) }
}

/// The XOR of the output with its tweaks.
struct Under<L, const N: usize> {
    tweaks: [L; N],
}

impl<L: Vector, const N: usize> Beside<L> for Under<L, N> {
    #[inline(always)]
    fn fold(&self, i: usize, vector: L) -> L {
        vector.xor(self.tweaks[i])
    }
}

/// The XOR of the output with its tweaks, while the next ones are made.
struct TweakAhead<L> {
    tweaks: [L; 8],
    ahead: [L; 8],
}

impl<L: Vector> Beside<L> for TweakAhead<L> {
    #[inline(always)]
    fn prepare(&mut self, i: usize) {
        self.ahead[i] = self.tweaks[i].times_x(8 * L::BLOCKS as u32).now();
    }

    #[inline(always)]
    fn fold(&self, i: usize, vector: L) -> L {
        vector.xor(self.tweaks[i])
    }
}

struct Tweaked<'k, L, const DECRYPT: bool> {
    keys: Keys<'k, L>,
    /// The tweaks of the next vector.
    tweaks: L,
}

impl<L: Vector, const DECRYPT: bool> Tweaked<'_, L, DECRYPT> {
    /// The tweaks of the next `N` vectors.
    #[inline(always)]
    fn side_by_side<const N: usize>(&self) -> [L; N] {
        let mut tweaks = [self.tweaks; N];
        // Times x^8, a shift by a byte, is cheaper than by another power.
        let stride = 8 / L::BLOCKS;
        for i in 0..N {
            if i > 0 && i < stride {
                tweaks[i] = self.tweaks.times_x((i * L::BLOCKS) as u32);
            } else if i > 0 {
                tweaks[i] = tweaks[i % stride].times_x((i / stride * 8) as u32);
            }
        }
        tweaks
    }

    /// The cipher of `N` vectors between two XORs with `tweaks`.
    #[inline(always)]
    fn cipher<const N: usize>(&self, tweaks: [L; N], mut data: InOut<'_>, beside: &mut impl Beside<L>) {
        let mut vectors = tweaks;
        for i in 0..N {
            vectors[i] = L::load(&self.keys, &data, i * L::BYTES).xor(tweaks[i]);
        }
        let vectors = cipher::<_, _, DECRYPT>(&self.keys, vectors, beside);
        for i in 0..N {
            vectors[i].store(&mut data, i * L::BYTES);
        }
    }
}

impl<L: Vector, const DECRYPT: bool> Pass<L> for Tweaked<'_, L, DECRYPT> {
    #[inline(always)]
    fn vectors<const N: usize>(&mut self, data: InOut<'_>) {
        let tweaks = self.side_by_side::<N>();
        self.tweaks = self.tweaks.times_x((N * L::BLOCKS) as u32);
        self.cipher(tweaks, data, &mut Under { tweaks });
    }

    #[inline(always)]
    fn eights(&mut self, mut data: InOut<'_>) {
        let mut tweaks = self.side_by_side::<8>();
        while !data.is_empty() {
            let mut beside = TweakAhead { tweaks, ahead: tweaks };
            self.cipher(tweaks, data.take(8 * L::BYTES), &mut beside);
            tweaks = beside.ahead;
        }
        self.tweaks = tweaks[0];
    }

    #[inline(always)]
    fn part(&mut self, mut data: InOut<'_>) {
        let vector = L::load_part(&self.keys, &data);
        tweaked::<_, DECRYPT>(&self.keys, vector, self.tweaks).store_part(&mut data);
        self.tweaks = self.tweaks.times_x(data.len() as u32 / 16);
    }
}

/// IEEE 1619 annex B, vector 2.
fn known_answer(kernel: Bound<XtsOps>) -> bool {
    let mut key = [0x11; 32];
    key[16..].fill(0x22);
    let cipher = [0xc454_185e_6a16_936e_3933_4038_acef_838b_u128, 0xfb18_6fff_7480_adc4_2893_82ec_d6d3_94f0];
    let tweak = Xts::sector(0x33_3333_3333);
    let mut data = [0x44; 32];
    let Ok(xts) = Xts::with_kernel(kernel, &key) else { return false };
    let encrypted = xts.encrypt(&tweak, InOut::in_place(&mut data)).is_ok();
    let right = data == *cipher.map(u128::to_be_bytes).as_flattened();
    encrypted && right && xts.decrypt(&tweak, InOut::in_place(&mut data)).is_ok() && data == [0x44; 32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_in_parts_is_the_unit() {
        let key: [u8; 64] = std::array::from_fn(|i| i as u8);
        for kernel in XTS.available(Features::hardware()) {
            let xts = Xts::with_kernel(kernel, &key).expect("two keys");
            for len in [64, 65, 79, 400, 4096 + 5] {
                let unit: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut whole = unit.clone();
                xts.encrypt(&Xts::sector(9), InOut::in_place(&mut whole)).expect("a unit");
                for cut in [16, 32, 48, len / 32 * 16] {
                    let mut parts = unit.clone();
                    let (first, second) = parts.split_at_mut(cut);
                    xts.encrypt_part(&Xts::sector(9), 0, InOut::in_place(first)).expect("a part");
                    let blocks = cut as u32 / 16;
                    if second.len() < 16 {
                        continue;
                    }
                    xts.encrypt_part(&Xts::sector(9), blocks, InOut::in_place(second)).expect("a part");
                    assert_eq!(parts, whole, "{len} bytes cut at {cut}");
                    let (first, second) = parts.split_at_mut(cut);
                    xts.decrypt_part(&Xts::sector(9), blocks, InOut::in_place(second)).expect("a part");
                    xts.decrypt_part(&Xts::sector(9), 0, InOut::in_place(first)).expect("a part");
                    assert_eq!(parts, unit, "{len} bytes cut at {cut}");
                }
            }
            let mut block = [0; 16];
            assert!(xts.encrypt_part(&[0; 16], 1 << 20, InOut::in_place(&mut block)).is_err());
        }
    }
}
