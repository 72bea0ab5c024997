//! The interface between the modes and a processor tier: registers of whole blocks, and proof that their
//! instructions exist.
//!
//! A mode is written once, over [`Vector`], and is safe code. A value of a vector type can only be
//! made from a [`Keys`] of that type, and that only by someone who vouches for the tier's
//! features; so a vector's own operations need no further proof.
//!
//! # Safety
//! The one unsafe function is [`Keys::new`]. Everything here and in the modes is inlined into the
//! tier's `#[target_feature]` functions, which are its only callers.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::schedule::Form;
use super::{Block, Schedule};
use crate::InOut;

/// Round keys, and the proof that the vector type's features exist.
pub(crate) struct Keys<'k, L> {
    schedule: &'k Schedule,
    vector: PhantomData<L>,
}

impl<L> Clone for Keys<'_, L> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Keys<'_, L> {}

impl<'k, L: Vector> Keys<'k, L> {
    /// The round keys of `schedule`, which was expanded by the same tier.
    ///
    /// # Safety
    /// The processor has the features of the vector type.
    #[inline(always)]
    pub(crate) unsafe fn new(schedule: &'k Schedule) -> Self {
        Keys { schedule, vector: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn schedule(&self) -> &'k Schedule {
        self.schedule
    }

    /// A round key in every block of a vector.
    #[inline(always)]
    pub(crate) fn round(&self, i: usize) -> L {
        L::splat(self, &self.schedule.encrypt[i])
    }

    /// The last round key in every block of a vector.
    #[inline(always)]
    fn last_round(&self) -> L {
        // Never more than 14; the mask spares the bounds check.
        self.round((self.schedule.rounds & 15).min(14))
    }
}

/// One register of whole blocks, or a value that stands for one.
pub(crate) trait Vector: Copy {
    /// Blocks in a vector.
    const BLOCKS: usize;
    /// Bytes in a vector.
    const BYTES: usize = 16 * Self::BLOCKS;

    /// `block` in every place.
    fn splat(keys: &Keys<'_, Self>, block: &Block) -> Self;
    /// A whole vector of input, `at` bytes in.
    fn load(keys: &Keys<'_, Self>, data: &InOut<'_>, at: usize) -> Self;
    /// `N` whole vectors of input, which is just as long. The input of few may have been written a moment ago, and is
    /// loaded in the way that waits least for such stores.
    #[inline(always)]
    fn load_all<const N: usize>(keys: &Keys<'_, Self>, data: &InOut<'_>) -> [Self; N] {
        let mut vectors = [Self::load(keys, data, 0); N];
        for i in 1..N {
            vectors[i] = Self::load(keys, data, i * Self::BYTES);
        }
        vectors
    }
    /// A whole vector of output, `at` bytes in.
    fn store(self, data: &mut InOut<'_>, at: usize);
    /// Loads all of the input, which is shorter than a vector, and fills the vector up with zeros.
    fn load_part(keys: &Keys<'_, Self>, data: &InOut<'_>) -> Self;
    /// All of the output, which is shorter than a vector.
    fn store_part(self, data: &mut InOut<'_>);
    /// The first block.
    fn first(self) -> Block;

    fn xor(self, other: Self) -> Self;
    /// Encrypts `N` vectors side by side, together with the mode's work beside them.
    fn encrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N];
    /// Decrypts `N` vectors side by side, together with the mode's work beside them.
    fn decrypt<const N: usize>(
        keys: &Keys<'_, Self>,
        vectors: [Self; N],
        beside: &mut impl Beside<Self>,
    ) -> [Self; N];

    /// The little-endian numbers `start`, `start + 1` and so on.
    fn count(keys: &Keys<'_, Self>, start: u128) -> Self;
    /// Adds `n` to the low 64 bits of each block.
    fn add(self, n: u64) -> Self;
    /// Reverses the bytes of each block.
    fn reverse(self) -> Self;

    /// Returns the same vector, computed at this place in the code. Without this, the compiler would put
    /// the computation off until after the rounds, where it costs time.
    #[inline(always)]
    fn now(self) -> Self {
        self
    }

    /// The last block of `previous`, then all blocks of this vector but the last.
    fn after(self, previous: Self) -> Self;

    /// Each block times x^`k` in the field of XTS, for `k` up to 32.
    fn times_x(self, k: u32) -> Self;
    /// Returns `tweak`, then `tweak` times x, times x^2 and so on.
    fn tweaks(keys: &Keys<'_, Self>, tweak: &Block) -> Self;
}

/// The work of a mode beside the cipher. The rounds leave half of the processor's vector units idle, so
/// work that is done between them costs little.
pub(crate) trait Beside<L: Vector> {
    /// Called once for each vector `i`, between the rounds, to work for later vectors.
    #[inline(always)]
    fn prepare(&mut self, _i: usize) {}

    /// Returns `vector` XOR the mode's part of output vector `i`. The rounds call this with the last
    /// round key, which is XORed anyway, so that the mode's XOR is not on the path from input to output.
    #[inline(always)]
    fn fold(&self, _i: usize, vector: L) -> L {
        vector
    }
}

/// Nothing beside the cipher.
pub(crate) struct Alone;

impl<L: Vector> Beside<L> for Alone {}

/// The XOR of the cipher's output onto data.
pub(crate) struct Onto<'a, 'k, L> {
    pub(crate) keys: Keys<'k, L>,
    pub(crate) data: &'a InOut<'a>,
}

impl<L: Vector> Beside<L> for Onto<'_, '_, L> {
    #[inline(always)]
    fn fold(&self, i: usize, vector: L) -> L {
        vector.xor(L::load(&self.keys, self.data, i * L::BYTES))
    }
}

/// A vector of one block, for the modes where each block waits for the one before.
pub(crate) trait Chain: Vector {
    /// Returns the value that the caller has to XOR into a block before [`Chain::encrypt_whitened`].
    fn whitening(keys: &Keys<'_, Self>) -> Self;
    /// Returns the cipher's output for `x`, XORed with `fold`, where `self = x ^ whitening`. The XOR is
    /// not on the path from one block to the next.
    fn encrypt_whitened(self, keys: &Keys<'_, Self>, fold: Self) -> Self;
}

/// A unit's rounds on every block of a vector: FIPS 197 §5.1 and §5.3.5. See [`Unit`](super::unit::Unit).
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) trait Rounds: Vector {
    /// The form of the round keys, which lanes ask for.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    const FORM: Form;
    /// The number of vectors that go through the rounds side by side.
    const ABREAST: usize;
    /// True if the rounds are a loop, and not written out one after another.
    const LOOP: bool;

    /// Goes from the XOR with the first round key to the first round.
    fn enter(self) -> Self;
    /// Goes from the XOR with the first round key to the inverse cipher's first round.
    fn enter_inverse(self) -> Self;
    /// SubBytes, ShiftRows, MixColumns, AddRoundKey.
    fn enc(self, key: Self) -> Self;
    /// SubBytes, ShiftRows, AddRoundKey.
    fn enc_last(self, key: Self) -> Self;
    /// InvSubBytes, InvShiftRows, InvMixColumns, AddRoundKey.
    fn dec(self, key: Self) -> Self;
    /// InvSubBytes, InvShiftRows, AddRoundKey.
    fn dec_last(self, key: Self) -> Self;
}

/// Defines `Vector::encrypt` and `Vector::decrypt` of a type that has [`Rounds`]. Defaults of the trait could not, because a
/// bitsliced vector has no single rounds.
macro_rules! by_rounds {
    () => {
        #[inline(always)]
        fn encrypt<const N: usize>(
            keys: &Keys<'_, Self>,
            vectors: [Self; N],
            beside: &mut impl Beside<Self>,
        ) -> [Self; N] {
            vector::encrypt(keys, vectors, beside)
        }

        #[inline(always)]
        fn decrypt<const N: usize>(
            keys: &Keys<'_, Self>,
            vectors: [Self; N],
            beside: &mut impl Beside<Self>,
        ) -> [Self; N] {
            vector::decrypt(keys, vectors, beside)
        }
    };
}

pub(crate) use by_rounds;

/// Evaluates an expression for each round but the last: in a loop if the unit asks for that, otherwise once for each
/// number, so that the number is a constant.
macro_rules! each_round {
    ($unit:ident, $rounds:expr, $round:ident => $work:expr) => {
        if $unit::LOOP {
            // Never more than 14; the minimum spares the bounds checks.
            for $round in 1..$rounds.min(14) {
                $work
            }
        } else {
            each_round!($round => $work; 1 2 3 4 5 6 7 8 9);
            if $rounds > 10 {
                each_round!($round => $work; 10 11);
                if $rounds > 12 {
                    each_round!($round => $work; 12 13);
                }
            }
        }
    };
    ($round:ident => $work:expr; $($number:literal)*) => {$({
        let $round: usize = $number;
        $work
    })*};
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(crate) use each_round;

/// [`Vector::encrypt`] from a unit's rounds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn encrypt<L: Rounds, const N: usize>(
    keys: &Keys<'_, L>,
    mut vectors: [L; N],
    beside: &mut impl Beside<L>,
) -> [L; N] {
    const { assert!(N <= 8 && L::ABREAST >= 4) };
    // `N` is at most 8, so there are one or two parts.
    let end = if N > L::ABREAST { L::ABREAST } else { N };
    encrypt_part::<L, N>(keys, &mut vectors, 0, end, beside);
    if N > L::ABREAST {
        encrypt_part::<L, N>(keys, &mut vectors, L::ABREAST, N, beside);
    }
    vectors
}

/// [`encrypt`] for the vectors from `start` to `end`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn encrypt_part<L: Rounds, const N: usize>(
    keys: &Keys<'_, L>,
    vectors: &mut [L; N],
    start: usize,
    end: usize,
    beside: &mut impl Beside<L>,
) {
    let key = keys.round(0);
    for i in start..end {
        vectors[i] = vectors[i].xor(key).enter();
    }
    if L::LOOP {
        for i in start..end {
            beside.prepare(i);
        }
    }
    each_round!(L, keys.schedule.rounds, round => {
        let key = keys.round(round);
        for i in start..end {
            vectors[i] = vectors[i].enc(key);
        }
        if !L::LOOP && round <= end - start {
            beside.prepare(start + round - 1);
        }
    });
    let key = keys.last_round();
    for i in start..end {
        vectors[i] = vectors[i].enc_last(beside.fold(i, key));
    }
}

/// [`Vector::decrypt`] from a unit's rounds.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn decrypt<L: Rounds, const N: usize>(
    keys: &Keys<'_, L>,
    mut vectors: [L; N],
    beside: &mut impl Beside<L>,
) -> [L; N] {
    const { assert!(N <= 8 && L::ABREAST >= 4) };
    // `N` is at most 8, so there are one or two parts.
    let end = if N > L::ABREAST { L::ABREAST } else { N };
    decrypt_part::<L, N>(keys, &mut vectors, 0, end, beside);
    if N > L::ABREAST {
        decrypt_part::<L, N>(keys, &mut vectors, L::ABREAST, N, beside);
    }
    vectors
}

/// [`decrypt`] for the vectors from `start` to `end`.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
fn decrypt_part<L: Rounds, const N: usize>(
    keys: &Keys<'_, L>,
    vectors: &mut [L; N],
    start: usize,
    end: usize,
    beside: &mut impl Beside<L>,
) {
    let key = keys.round(0);
    for i in start..end {
        vectors[i] = vectors[i].xor(key).enter_inverse();
    }
    if L::LOOP {
        for i in start..end {
            beside.prepare(i);
        }
    }
    each_round!(L, keys.schedule.rounds, round => {
        let key = keys.round(round);
        for i in start..end {
            vectors[i] = vectors[i].dec(key);
        }
        if !L::LOOP && round <= end - start {
            beside.prepare(start + round - 1);
        }
    });
    let key = keys.last_round();
    for i in start..end {
        vectors[i] = vectors[i].dec_last(beside.fold(i, key));
    }
}

/// [`Chain::whitening`] for a unit's rounds: the first round key.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn whitening<L: Rounds>(keys: &Keys<'_, L>) -> L {
    keys.round(0)
}

/// [`Chain::encrypt_whitened`] from a unit's rounds. The last of them XORs a key anyway,
/// so `fold` goes in with it.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[inline(always)]
pub(crate) fn encrypt_whitened<L: Rounds>(block: L, keys: &Keys<'_, L>, fold: L) -> L {
    let mut block = block.enter();
    each_round!(L, keys.schedule.rounds, round => block = block.enc(keys.round(round)));
    block.enc_last(keys.last_round().xor(fold))
}

/// Fewer than 16 bytes as a little-endian number: loads that overlap rather than a loop.
#[inline(always)]
pub(crate) fn load_short(bytes: &[u8]) -> u128 {
    let n = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << (8 * (n - 8))
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last)) << (8 * (n - 4));
        u128::from(u64::from(u32::from_le_bytes(*first)) | last)
    } else {
        let mut number = 0;
        for i in 0..n {
            number |= u128::from(bytes[i]) << (8 * i);
        }
        number
    }
}

/// Writes the first bytes of a little-endian number, fewer than 16, as [`load_short`] reads them.
#[inline(always)]
pub(crate) fn store_short(bytes: &mut [u8], number: u128) {
    let n = bytes.len();
    if n >= 8 {
        bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
        bytes[n - 8..].copy_from_slice(&((number >> (8 * (n - 8))) as u64).to_le_bytes());
    } else if n >= 4 {
        bytes[..4].copy_from_slice(&(number as u32).to_le_bytes());
        bytes[n - 4..].copy_from_slice(&((number >> (8 * (n - 4))) as u32).to_le_bytes());
    } else {
        for i in 0..n {
            bytes[i] = (number >> (8 * i)) as u8;
        }
    }
}

/// The work of a parallel mode on vectors side by side.
pub(crate) trait Pass<L: Vector> {
    /// `N` whole vectors.
    fn vectors<const N: usize>(&mut self, data: InOut<'_>);
    /// The end of the data: fewer bytes than a vector, and at least one.
    fn part(&mut self, data: InOut<'_>);

    /// Groups of eight vectors, at least one.
    #[inline(always)]
    fn eights(&mut self, mut data: InOut<'_>) {
        while !data.is_empty() {
            self.vectors::<8>(data.take(8 * L::BYTES));
        }
    }
}

/// Takes a pass over all of `data`: eight vectors at a time, then the rest in smaller groups. The
/// smaller groups don't wait for each other, so the processor overlaps them.
#[inline(always)]
pub(crate) fn walk<L: Vector>(pass: &mut impl Pass<L>, mut data: InOut<'_>) {
    if data.len() >= 8 * L::BYTES {
        pass.eights(data.take(data.len() - data.len() % (8 * L::BYTES)));
    }
    if data.len() >= 4 * L::BYTES {
        pass.vectors::<4>(data.take(4 * L::BYTES));
    }
    if data.len() >= 2 * L::BYTES {
        pass.vectors::<2>(data.take(2 * L::BYTES));
    }
    if data.len() >= L::BYTES {
        pass.vectors::<1>(data.take(L::BYTES));
    }
    if !data.is_empty() {
        pass.part(data);
    }
}
