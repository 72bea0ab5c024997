//! AES-GCM with vector instructions, written once for vectors of one, two and four blocks.
//!
//! Ref. NIST SP 800-38D §6.4 (GHASH), §6.5 (GCTR), §7.
//!
//! # GHASH
//! A block is an integer whose most significant bit is the coefficient of x^0. Carry-less products
//! of such integers come out one place short; the powers of the hash subkey are kept divided by x
//! to make up for it, as `h`. Write d = d1·2^64 + d0 for a block and let L stand for one limb of
//! 64 bits. Modulo the field's polynomial, h has the same value as `shifted` one limb up:
//!
//! ```text
//! shifted = (h0·2^64 + h1) + h0 × 0xc2·2^56,         h ≡ L·shifted
//! d × h   = d0 × h + L·(d1 × h) ≡ L·(d0 × shifted + d1 × h)
//!         = L·(low + L·high)
//! low     = d0 × shifted.0 + d1 × h.0,   high = d0 × shifted.1 + d1 × h.1
//! ```
//!
//! So a product is two sums of two multiplications each. Any number of products add up in them, and one fold of the
//! lowest limb reduces the total ([`Sum::reduce`]).
//!
//! # Safety
//! A value of a [`Vector`] type is the witness that the processor has that type's instructions:
//! the only functions that make one from nothing are unsafe and are called from a row's functions,
//! inside its target features. Everything here is inlined into those. Pointers come from slices
//! and [`InOut`]s, and stay within the lengths given beside them.
#![allow(unsafe_code)]

use super::{Key, POWERS, lengths};
use crate::InOut;
use crate::aes::schedule::Form;

pub(super) const BLOCK: usize = 16;

/// The longest message that can go without the loop over batches, in bytes. With the pre-counter block and the
/// lengths it has as many blocks as there are powers.
#[cfg(target_arch = "x86_64")]
pub(super) const REACH: usize = (POWERS - 2) * BLOCK;

/// One, two or four blocks side by side.
pub(super) trait Vector: Copy {
    /// The number of blocks.
    const BLOCKS: usize;
    /// The form of the round keys.
    const FORM: Form = Form::Standard;
    /// True if the rounds of AES are a loop: see [`Unit::LOOP`](crate::aes::unit::Unit::LOOP).
    const LOOP: bool = false;
    /// The type of one block.
    type One: Vector<One = Self::One>;

    /// The same block in every place.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn broadcast(block: &[u8; BLOCK]) -> Self;

    /// Loads any bytes.
    ///
    /// # Safety
    /// As [`Vector::broadcast`]; the vector's bytes at `from` can be read.
    unsafe fn load(from: *const u8) -> Self;

    /// Loads the first `n` bytes, and fills up with zeros. `n` may be anything from 0 to the vector's size.
    ///
    /// # Safety
    /// As [`Vector::broadcast`]; `n` bytes at `from` can be read.
    unsafe fn load_part(from: *const u8, n: usize) -> Self;

    /// Does the same as [`Vector::load_part`] for one block.
    ///
    /// # Safety
    /// As [`Vector::load_part`].
    unsafe fn load_block(from: *const u8, n: usize) -> Self::One;

    /// Writes the vector.
    ///
    /// # Safety
    /// Its bytes at `to` can be written.
    unsafe fn store(self, to: *mut u8);

    /// Writes the first `n` bytes.
    ///
    /// # Safety
    /// `n` bytes at `to` can be written.
    unsafe fn store_part(self, to: *mut u8, n: usize);

    /// Does the same as [`Vector::load_part`], one place up: place 0 is zero.
    ///
    /// # Safety
    /// As [`Vector::load_part`]; `n` is at most the size of the other places.
    unsafe fn load_above(from: *const u8, n: usize) -> Self;

    /// Does the same as [`Vector::store_part`], from place 1 on.
    ///
    /// # Safety
    /// As [`Vector::store_part`]; `n` is at most the size of the other places.
    unsafe fn store_above(self, to: *mut u8, n: usize);

    /// Keeps the first `n` bytes, and zeroes the others.
    fn keep(self, n: usize) -> Self;
    /// Keeps the first `n` bytes from place 1 on, and zeroes everything else.
    fn keep_above(self, n: usize) -> Self;

    fn xor(self, other: Self) -> Self;
    fn xor3(self, b: Self, c: Self) -> Self;
    /// Goes from the XOR with the first round key to the first round of AES.
    #[inline(always)]
    fn enter(self) -> Self {
        self
    }
    /// One middle round of AES.
    fn round(self, key: Self) -> Self;
    /// Does nothing, but the compiler keeps all such places in their order. It might otherwise sort the rounds of
    /// several blocks into those of one after the other, which wait for each other. It might also move GHASH behind
    /// the rounds that it stands between, and all the powers would wait for it on the stack. This is for processors
    /// with plenty of registers.
    #[inline(always)]
    fn pin(&mut self) {}
    /// The last round of AES.
    fn last_round(self, key: Self) -> Self;
    /// Returns the carry-less product of a half of each block and a half of each of `other`: the upper half of these
    /// if `A` is 1, of those if `B` is 1.
    fn multiply<const A: i32, const B: i32>(self, other: Self) -> Self;
    /// Reverses the bytes of each block: from memory's order to an integer's, and back.
    fn reverse(self) -> Self;
    /// The 64-bit halves of each block exchanged.
    fn swap(self) -> Self;
    /// The sum in each 32-bit part, which for a block as an integer is inc32 of §6.2.
    fn add32(self, other: Self) -> Self;

    /// The blocks' sum in GF(2^128).
    fn sum(self) -> Self::One;
    /// Place 0.
    fn first(self) -> Self::One;
    /// One block in place 0, zeros in the others.
    fn from_first(first: Self::One) -> Self;
    /// Returns the same vector with place 0 replaced.
    fn with_first(self, first: Self::One) -> Self;
    /// The same block in every place.
    fn repeat(one: Self::One) -> Self;
    /// A block a place, as many as there are places.
    fn join(blocks: &[Self::One]) -> Self;
    /// A block as an integer.
    ///
    /// # Safety
    /// As [`Vector::broadcast`].
    unsafe fn one(value: u128) -> Self::One;
    /// The integer.
    fn value(one: Self::One) -> u128;
    /// The numbers 0, 1, 2, 3, which are added to a repeated counter.
    ///
    /// # Safety
    /// As [`Vector::broadcast`].
    unsafe fn indices() -> Self;
}

/// The first `n` bytes at `from`, at most 16, as the low bytes of a little-endian integer.
///
/// # Safety
/// `n` bytes at `from` can be read.
#[inline(always)]
pub(super) unsafe fn read_part(from: *const u8, n: usize) -> u128 {
    // SAFETY: two loads inside 0..n, which overlap where n is between their sizes and there have
    // the same bits; for less than four bytes the first, the middle and the last.
    unsafe {
        match n {
            16.. => u128::from_le_bytes(from.cast::<[u8; 16]>().read()),
            8.. => {
                let low = u64::from_le_bytes(from.cast::<[u8; 8]>().read());
                let high = u64::from_le_bytes(from.add(n - 8).cast::<[u8; 8]>().read());
                let high = high.checked_shr(8 * (16 - n as u32)).unwrap_or(0);
                u128::from(high) << 64 | u128::from(low)
            }
            4.. => {
                let low = u64::from(u32::from_le_bytes(from.cast::<[u8; 4]>().read()));
                let high = u64::from(u32::from_le_bytes(from.add(n - 4).cast::<[u8; 4]>().read()));
                u128::from(low | high << (8 * (n - 4)))
            }
            1.. => {
                let byte = |i: usize| u32::from(from.add(i).read()) << (8 * i);
                u128::from(byte(0) | byte(n / 2) | byte(n - 1))
            }
            0 => 0,
        }
    }
}

/// Writes the `n` low bytes of `value`, at most 16, in little-endian order.
///
/// # Safety
/// `n` bytes at `to` can be written.
#[inline(always)]
pub(super) unsafe fn write_part(value: u128, to: *mut u8, n: usize) {
    // SAFETY: as in `read_part`.
    unsafe {
        match n {
            16.. => to.cast::<[u8; 16]>().write(value.to_le_bytes()),
            8.. => {
                to.add(n - 8).cast::<[u8; 8]>().write(((value >> (8 * (n - 8))) as u64).to_le_bytes());
                to.cast::<[u8; 8]>().write((value as u64).to_le_bytes());
            }
            4.. => {
                to.add(n - 4).cast::<[u8; 4]>().write(((value as u64 >> (8 * (n - 4))) as u32).to_le_bytes());
                to.cast::<[u8; 4]>().write((value as u32).to_le_bytes());
            }
            1.. => {
                to.add(n - 1).write((value as u32 >> (8 * (n - 1))) as u8);
                to.add(n / 2).write((value as u32 >> (8 * (n / 2))) as u8);
                to.write(value as u8);
            }
            0 => {}
        }
    }
}

/// Thirty-two ones, then thirty-two zeros: from 32 - n on, a mask of n bytes.
pub(super) static KEEP: [u8; 64] = {
    let mut mask = [0; 64];
    let mut i = 0;
    while i < 32 {
        mask[i] = 0xff;
        i += 1;
    }
    mask
};

/// The factor of the reduction: x^7 + x^2 + x + 1 in the place of a fold.
pub(super) const POLYNOMIAL: u128 = 0xc2 << 56;

/// A sum of products, not yet reduced: `low + L·high`.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    pub(super) low: V,
    pub(super) high: V,
}

impl<V: Vector> Sum<V> {
    /// Multiplies `blocks` by the powers.
    #[inline(always)]
    pub(super) fn product(blocks: V, powers: Powers<V>) -> Self {
        Sum {
            low: blocks.multiply::<0, 0>(powers.shifted).xor(blocks.multiply::<1, 0>(powers.h)),
            high: blocks.multiply::<0, 1>(powers.shifted).xor(blocks.multiply::<1, 1>(powers.h)),
        }
    }

    /// Returns the sum with one more product.
    #[inline(always)]
    pub(super) fn add(self, blocks: V, powers: Powers<V>) -> Self {
        let low = blocks.multiply::<0, 0>(powers.shifted);
        let high = blocks.multiply::<0, 1>(powers.shifted);
        Sum {
            low: self.low.xor3(low, blocks.multiply::<1, 0>(powers.h)),
            high: self.high.xor3(high, blocks.multiply::<1, 1>(powers.h)),
        }
    }

    /// Folds the lowest limb: low.0 ≡ L·(low.0·2^64 + low.0 × 0xc2·2^56).
    #[inline(always)]
    pub(super) fn reduce(self, polynomial: V) -> V {
        self.high.xor3(self.low.swap(), self.low.multiply::<0, 0>(polynomial))
    }

    /// The blocks' sum.
    #[inline(always)]
    fn sum(self) -> Sum<V::One> {
        Sum { low: self.low.sum(), high: self.high.sum() }
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Sum { low: self.low.xor(other.low), high: self.high.xor(other.high) }
    }

    /// The empty sum.
    #[inline(always)]
    pub(super) unsafe fn zero() -> Self {
        // SAFETY: as the caller.
        let zero = unsafe { V::from_first(V::one(0)) };
        Sum { low: zero, high: zero }
    }
}

/// Powers of the hash subkey, one for each place, in both forms.
#[derive(Clone, Copy)]
pub(super) struct Powers<V> {
    pub(super) h: V,
    pub(super) shifted: V,
}

impl<V: Vector> Powers<V> {
    /// Returns both forms of a power that was divided by x.
    #[inline(always)]
    pub(super) fn of(h: V, polynomial: V) -> Self {
        Powers { h, shifted: h.swap().xor(h.multiply::<0, 0>(polynomial)) }
    }

    /// Returns H^`highest` and the next lower powers, the last of them not below H.
    #[inline(always)]
    pub(super) unsafe fn falling(key: &Key, highest: usize) -> Self {
        debug_assert!((1..=POWERS).contains(&highest));
        let at = POWERS - highest;
        // SAFETY: the table goes on for `PADDING` entries after the lowest power.
        unsafe {
            Powers {
                h: V::load(key.powers.as_ptr().add(at).cast()),
                shifted: V::load(key.shifted.as_ptr().add(at).cast()),
            }
        }
    }

    /// H^`n` in every place.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) unsafe fn repeated(key: &Key, n: usize) -> Self {
        let at = POWERS - n;
        // SAFETY: a power is a block's 16 bytes.
        unsafe {
            Powers {
                h: V::broadcast(&*key.powers.as_ptr().add(at).cast()),
                shifted: V::broadcast(&*key.shifted.as_ptr().add(at).cast()),
            }
        }
    }
}

/// Returns the same key, which the compiler takes for another. A loop's loads through it stay in the loop as
/// operands. If they were hoisted, the powers would take all registers and then the stack.
#[inline(always)]
fn afresh(key: &Key) -> &Key {
    let mut at = std::ptr::from_ref(key);
    // Miri does not execute `asm!`.
    if cfg!(not(miri)) {
        // SAFETY: the template is empty, so the pointer comes out as it went in.
        #[allow(clippy::pointers_in_nomem_asm_block)]
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) at, options(nomem, nostack, preserves_flags))
        };
    }
    // SAFETY: it is still the reference it was made from.
    unsafe { &*at }
}

/// Round key `round` in every place.
#[inline(always)]
pub(super) unsafe fn round_key<V: Vector>(key: &Key, round: usize) -> V {
    // SAFETY: as the caller.
    unsafe { V::broadcast(&key.schedule.encrypt[round]) }
}

/// The next `N` vectors of counter blocks, after the first key addition of AES.
#[inline(always)]
unsafe fn begin<V: Vector, const N: usize>(key: &Key, counter: &mut V, step: V) -> [V; N] {
    let mut state = [*counter; N];
    // SAFETY: as the caller.
    let whitening = unsafe { round_key::<V>(key, 0) };
    for j in 0..N {
        state[j] = counter.reverse().xor(whitening).enter();
        *counter = counter.add32(step);
    }
    state
}

/// Middle round `round` of AES on all states.
#[inline(always)]
unsafe fn round_of<V: Vector, const N: usize>(key: &Key, state: &mut [V; N], round: usize) {
    // SAFETY: as the caller.
    let round_key = unsafe { round_key::<V>(key, round) };
    for j in 0..N {
        state[j] = state[j].round(round_key);
        state[j].pin();
    }
}

/// The next `N` vectors of counter blocks, before the last round of AES.
#[inline(always)]
unsafe fn states<V: Vector, const ROUNDS: usize, const N: usize>(
    key: &Key,
    counter: &mut V,
    step: V,
) -> [V; N] {
    // SAFETY: as the caller.
    unsafe {
        let mut state = begin::<V, N>(key, counter, step);
        for round in 1..ROUNDS {
            round_of(key, &mut state, round);
        }
        state
    }
}

/// Encrypts or decrypts `data` up to its last bytes, fewer than `N` vectors. Returns those bytes, the counter for
/// them, and the GHASH state, not yet reduced. If `LAST`, the state comes multiplied by the power that the last
/// bytes and the lengths require.
///
/// GHASH runs one batch behind, so that its multiplications stand between the rounds of AES and
/// wait for nothing.
#[inline(always)]
unsafe fn batches<'a, V: Vector, const ROUNDS: usize, const OPEN: bool, const LAST: bool, const N: usize>(
    key: &Key,
    mut counter: V,
    mut hash: V::One,
    mut data: InOut<'a>,
) -> (V, Sum<V::One>, InOut<'a>) {
    let batch = N * BLOCK * V::BLOCKS;
    // SAFETY: as the caller.
    unsafe {
        let step = V::repeat(V::one(V::BLOCKS as u128));
        let polynomial = V::repeat(V::one(POLYNOMIAL));
        let states = states::<V, ROUNDS, N>(key, &mut counter, step);
        let mut text = cover::<V, ROUNDS, OPEN, N>(key, states, data.take(batch));
        while data.len() >= batch {
            let key = afresh(key);
            text[0] = text[0].xor(V::from_first(hash));
            let mut state = begin::<V, N>(key, &mut counter, step);
            let mut sum = Sum::zero();
            if V::LOOP {
                sum = ghash_of(key, &text, 0);
                for round in 1..ROUNDS {
                    round_of(key, &mut state, round);
                }
            } else {
                // The rounds are a macro, because the compiler does not unroll a loop as long as this.
                macro_rules! rounds {
                    ($($round:literal)*) => {$(
                        if $round < ROUNDS {
                            round_of(key, &mut state, $round);
                            if $round > 1 && $round <= N + 1 {
                                sum = sum.add(text[$round - 2], Powers::falling(key, (N + 2 - $round) * V::BLOCKS));
                                sum.low.pin();
                                sum.high.pin();
                            }
                        }
                    )*};
                }
                rounds!(1 2 3 4 5 6 7 8 9 10 11 12 13);
            }
            hash = sum.reduce(polynomial).sum();
            text = cover::<V, ROUNDS, OPEN, N>(key, state, data.take(batch));
        }
        text[0] = text[0].xor(V::from_first(hash));
        let beyond = if LAST { data.len().div_ceil(BLOCK) + 1 } else { 0 };
        if N * V::BLOCKS + beyond <= POWERS {
            return (counter, ghash_of(key, &text, beyond).sum(), data);
        }
        hash = ghash_of(key, &text, 0).reduce(polynomial).sum();
        (counter, Sum::product(hash, Powers::falling(key, beyond)), data)
    }
}

/// GHASH of `N` vectors, multiplied by H^`beyond`.
#[inline(always)]
unsafe fn ghash_of<V: Vector, const N: usize>(key: &Key, text: &[V; N], beyond: usize) -> Sum<V> {
    // SAFETY: as the caller.
    unsafe {
        let mut sum = Sum::product(text[0], Powers::falling(key, N * V::BLOCKS + beyond));
        for j in 1..N {
            sum = sum.add(text[j], Powers::falling(key, (N - j) * V::BLOCKS + beyond));
        }
        sum
    }
}

/// Computes the last round for `N` whole vectors of data. Returns the ciphertext for GHASH.
#[inline(always)]
unsafe fn cover<V: Vector, const ROUNDS: usize, const OPEN: bool, const N: usize>(
    key: &Key,
    mut state: [V; N],
    mut data: InOut<'_>,
) -> [V; N] {
    let vector = BLOCK * V::BLOCKS;
    // SAFETY: as the caller, whose data is `N` vectors long.
    unsafe {
        let (from, to) = (data.input_ptr(), data.output_ptr());
        let last = round_key::<V>(key, ROUNDS);
        for j in 0..N {
            let input = V::load(from.add(j * vector));
            let output = state[j].last_round(last.xor(input));
            output.store(to.add(j * vector));
            state[j] = if OPEN { input.reverse() } else { output.reverse() };
        }
    }
    state
}

/// Encrypts or decrypts the last bytes, fewer than the powers of the hash subkey reach over, and adds them to a sum.
/// The first block has the power `power`, and `carry` is added to it.
#[inline(always)]
unsafe fn rest<V: Vector, const ROUNDS: usize, const OPEN: bool>(
    key: &Key,
    mut counter: V,
    mut power: usize,
    mut sum: Sum<V>,
    mut carry: V,
    mut data: InOut<'_>,
) -> Sum<V> {
    let vector = BLOCK * V::BLOCKS;
    // SAFETY: as the caller.
    unsafe {
        while !data.is_empty() {
            let n = data.len();
            if n > 3 * vector {
                let part = data.take(n.min(4 * vector));
                sum = some::<V, ROUNDS, OPEN, 4>(key, &mut counter, power, sum, carry, part);
            } else if n > vector {
                let part = data.take(n.min(2 * vector));
                sum = some::<V, ROUNDS, OPEN, 2>(key, &mut counter, power, sum, carry, part);
            } else {
                let part = data.take(n);
                sum = some::<V, ROUNDS, OPEN, 1>(key, &mut counter, power, sum, carry, part);
            }
            power = power.wrapping_sub((n - data.len()) / BLOCK);
            carry = V::from_first(V::one(0));
        }
    }
    sum
}

/// Does the same as [`rest`], for exactly `N` vectors of which the last may be partly filled.
#[inline(always)]
unsafe fn some<V: Vector, const ROUNDS: usize, const OPEN: bool, const N: usize>(
    key: &Key,
    counter: &mut V,
    power: usize,
    mut sum: Sum<V>,
    carry: V,
    mut data: InOut<'_>,
) -> Sum<V> {
    let vector = BLOCK * V::BLOCKS;
    // SAFETY: as the caller; all vectors but the last are whole, and that one has `n` bytes.
    unsafe {
        let (from, to) = (data.input_ptr(), data.output_ptr());
        let n = data.len() - (N - 1) * vector;
        let step = V::repeat(V::one(V::BLOCKS as u128));
        let last = round_key::<V>(key, ROUNDS);
        let state = states::<V, ROUNDS, N>(key, counter, step);
        for j in 0..N {
            let (from, to) = (from.add(j * vector), to.add(j * vector));
            let whole = j < N - 1 || n == vector;
            let input = if whole { V::load(from) } else { V::load_part(from, n) };
            let output = state[j].last_round(last.xor(input));
            let mut text = if OPEN { input } else { output };
            if whole {
                output.store(to);
            } else {
                output.store_part(to, n);
                text = text.keep(n);
            }
            text = text.reverse();
            if j == 0 {
                text = text.xor(carry);
            }
            sum = sum.add(text, Powers::falling(key, power - j * V::BLOCKS));
        }
    }
    sum
}

/// Takes the last bytes of a message, the lengths, and the encrypted pre-counter block, and returns the tag.
///
/// The first vector has in place 0 the pre-counter block for its counter, and for GHASH `first`, which is the last
/// block of associated data together with all before it.
#[inline(always)]
unsafe fn finish<V: Vector, const ROUNDS: usize, const OPEN: bool>(
    key: &Key,
    mut head_counter: V,
    counter: V,
    first: V::One,
    others: Sum<V::One>,
    mut data: InOut<'_>,
) -> u128 {
    // SAFETY: as the caller; `n` bytes are taken off the data before they are touched.
    unsafe {
        let power = data.len().div_ceil(BLOCK) + 2;
        let step = V::repeat(V::one(V::BLOCKS as u128));
        let mut head = data.take(data.len().min(BLOCK * (V::BLOCKS - 1)));
        let n = head.len();

        let [state] = states::<V, ROUNDS, 1>(key, &mut head_counter, step);
        let input = V::load_above(head.input_ptr(), n);
        let output = state.last_round(round_key::<V>(key, ROUNDS).xor(input));
        output.store_above(head.output_ptr(), n);
        let text = if OPEN { input } else { output.keep_above(n) };
        let text = text.reverse().xor(V::from_first(first));
        let sum = Sum::product(text, Powers::falling(key, power));

        let counter = counter.add32(step);
        let none = V::from_first(V::one(0));
        let sum = rest::<V, ROUNDS, OPEN>(key, counter, power.wrapping_sub(V::BLOCKS), sum, none, data);
        let hash = sum.sum().plus(others).reduce(V::one(POLYNOMIAL));
        V::value(hash.xor(output.first().reverse()))
    }
}

/// Seals or opens a message no longer than [`REACH`], SP 800-38D §7.1 steps 2 to 6, §7.2 steps 3 to 7.
#[inline(always)]
pub(super) unsafe fn short<V: Vector, const ROUNDS: usize, const OPEN: bool>(
    key: &Key,
    j0: u128,
    aad: &[u8],
    data: InOut<'_>,
) -> u128 {
    // SAFETY: as the caller.
    unsafe {
        let (before, block) =
            if aad.len() <= BLOCK { (&[][..], aad) } else { aad.split_at((aad.len() - 1) & !(BLOCK - 1)) };
        let mut first = V::load_block(block.as_ptr(), block.len()).reverse();
        if !before.is_empty() {
            first = first.xor(absorb::<V>(key, V::one(0), before));
        }
        let last = V::one(lengths(aad.len() as u64, data.len() as u64));
        let j0 = V::one(j0);
        let counter = V::repeat(j0).add32(V::indices());
        let others = Sum::product(last, Powers::falling(key, 1));
        finish::<V, ROUNDS, OPEN>(key, counter, counter, first, others, data)
    }
}

/// Seals or opens a message of at least one batch.
#[inline(always)]
pub(super) unsafe fn long<V: Vector, const ROUNDS: usize, const OPEN: bool, const N: usize>(
    key: &Key,
    j0: u128,
    aad: &[u8],
    data: InOut<'_>,
) -> u128 {
    // SAFETY: as the caller.
    unsafe {
        let last = V::one(lengths(aad.len() as u64, data.len() as u64));
        let hash = absorb::<V>(key, V::one(0), aad);
        let j0 = V::one(j0);
        let counter = V::repeat(j0.add32(V::one(1))).add32(V::indices());
        let (counter, hashed, data) = batches::<V, ROUNDS, OPEN, true, N>(key, counter, hash, data);
        // Place 0 of the next vector belongs to the pre-counter block, so the counters go one back.
        let counter = counter.add32(V::repeat(V::one(0xffff_ffff)));
        let others = hashed.add(last, Powers::falling(key, 1));
        finish::<V, ROUNDS, OPEN>(key, counter.with_first(j0), counter, V::one(0), others, data)
    }
}

/// Passes one piece of a message, SP 800-38D §7.1 steps 3 and 5 over it alone.
#[inline(always)]
pub(super) unsafe fn piece<V: Vector, const ROUNDS: usize, const OPEN: bool, const N: usize>(
    key: &Key,
    counter: u128,
    hash: u128,
    data: InOut<'_>,
) -> u128 {
    // SAFETY: as the caller.
    unsafe {
        let counter = V::repeat(V::one(counter)).add32(V::indices());
        let polynomial = V::one(POLYNOMIAL);
        let (counter, hash, data) = if data.len() >= N * BLOCK * V::BLOCKS {
            let (counter, sum, data) = batches::<V, ROUNDS, OPEN, false, N>(key, counter, V::one(hash), data);
            (counter, sum.reduce(polynomial), data)
        } else {
            (counter, V::one(hash), data)
        };
        if data.is_empty() {
            return V::value(hash);
        }
        let power = data.len().div_ceil(BLOCK);
        let sum = rest::<V, ROUNDS, OPEN>(key, counter, power, Sum::zero(), V::from_first(hash), data);
        V::value(sum.sum().reduce(polynomial))
    }
}

/// [`absorb`] with integers.
#[inline(always)]
pub(super) unsafe fn ghash<V: Vector>(key: &Key, state: u128, bytes: &[u8]) -> u128 {
    // SAFETY: as the caller.
    unsafe { V::value(absorb::<V>(key, V::one(state), bytes)) }
}

/// The GHASH state after `bytes`, filled up with zeros to whole blocks.
#[inline(always)]
unsafe fn absorb<V: Vector>(key: &Key, mut hash: V::One, bytes: &[u8]) -> V::One {
    let vector = BLOCK * V::BLOCKS;
    // SAFETY: as the caller; a vector is loaded whole only where it is inside the chunk.
    unsafe {
        for chunk in bytes.chunks(POWERS * BLOCK) {
            let mut power = chunk.len().div_ceil(BLOCK);
            let mut carry = V::from_first(hash);
            let mut sum = Sum::zero();
            let mut at = 0;
            while at < chunk.len() {
                let (from, n) = (chunk.as_ptr().add(at), chunk.len() - at);
                let text = if n >= vector { V::load(from) } else { V::load_part(from, n) };
                sum = sum.add(text.reverse().xor(carry), Powers::falling(key, power));
                carry = V::from_first(V::one(0));
                power = power.wrapping_sub(V::BLOCKS);
                at += vector;
            }
            hash = sum.sum().reduce(V::one(POLYNOMIAL));
        }
    }
    hash
}

/// Fills the table of powers once the schedule is there.
#[inline(always)]
pub(super) unsafe fn powers<V: Vector>(key: &mut Key) {
    // SAFETY: as the caller.
    unsafe {
        let zero = u128::from_be_bytes([0; BLOCK]);
        let subkey = match key.schedule.rounds {
            10 => block::<V::One, 10>(key, zero),
            12 => block::<V::One, 12>(key, zero),
            _ => block::<V::One, 14>(key, zero),
        };
        // The subkey is divided by x, whose inverse is x^127 + x^6 + x + 1.
        let over = 0u128.wrapping_sub(subkey >> 127);
        let h = V::one(subkey << 1 ^ over & (0xc2 << 120 | 1));
        let polynomial = V::one(POLYNOMIAL);
        let times = |power, by| Sum::product(power, by).reduce(polynomial);
        // The lowest powers are built in registers. A vector loaded from blocks that were stored singly would wait
        // until all of them are in the cache.
        let h2 = times(h, Powers::of(h, polynomial));
        let by_h2 = Powers::of(h2, polynomial);
        let lowest = match V::BLOCKS {
            1 => V::join(&[h]),
            2 => V::join(&[h2, h]),
            _ => V::join(&[times(h2, by_h2), times(h, by_h2), h2, h]),
        };
        let mut n = V::BLOCKS;
        let mut highest = put(key, n, lowest, V::repeat(polynomial));
        while n < POWERS {
            highest = double::<V>(key, n, highest);
            n *= 2;
        }
    }
}

/// E(K, `value`).
#[inline(always)]
unsafe fn block<V: Vector<One = V>, const ROUNDS: usize>(key: &Key, value: u128) -> u128 {
    // SAFETY: as the caller.
    unsafe {
        let mut counter = V::one(value);
        let [state] = states::<V, ROUNDS, 1>(key, &mut counter, V::one(0));
        V::value(state.last_round(round_key::<V>(key, ROUNDS)).reverse())
    }
}

/// Makes H^(n+1) to H^(2n): the powers from H^1 to H^n, multiplied by H^n, which is in place 0 of `highest`. `n` is a
/// multiple of the places. Returns the highest powers that it made.
#[inline(always)]
unsafe fn double<V: Vector>(key: &mut Key, n: usize, mut highest: Powers<V>) -> Powers<V> {
    // SAFETY: as the caller.
    unsafe {
        let polynomial = V::repeat(V::one(POLYNOMIAL));
        // All that follows waits for this power, and from the table it would come later.
        let by = Powers { h: V::repeat(highest.h.first()), shifted: V::repeat(highest.shifted.first()) };
        for i in 1..=n.min(POWERS - n) / V::BLOCKS {
            let h = Powers::falling(key, i * V::BLOCKS).h;
            highest = put(key, n + i * V::BLOCKS, Sum::product(h, by).reduce(polynomial), polynomial);
        }
        highest
    }
}

/// Keeps falling powers from H^`highest` on, in both forms, and returns them.
#[inline(always)]
unsafe fn put<V: Vector>(key: &mut Key, highest: usize, h: V, polynomial: V) -> Powers<V> {
    let at = POWERS - highest;
    let both = Powers::of(h, polynomial);
    // SAFETY: `highest` is at least the number of places, so the vector is inside the table.
    unsafe {
        both.h.store(key.powers.as_mut_ptr().add(at).cast());
        both.shifted.store(key.shifted.as_mut_ptr().add(at).cast());
    }
    both
}

/// Defines the functions of a row for one vector type. `$features` are those that the row requires, `$batch` the
/// vectors that a long message takes at a time, and `$short` the longest message in bytes that is faster without
/// batches.
macro_rules! row {
    ($vector:ty, $batch:literal, $short:expr, $features:literal, $expand:path) => {
        use crate::InOut;
        use crate::aes::schedule::Form as KeyForm;
        use crate::gcm::vector::Vector as GcmVector;
        use crate::gcm::{GcmOps, Key};

        pub(in crate::gcm) const REQUIRES: millstream_cpu::FeatureSet =
            millstream_cpu::FeatureSet::parse($features);

        pub(in crate::gcm) const OPS: GcmOps = GcmOps {
            powers: matches!(<$vector as GcmVector>::FORM, KeyForm::Standard),
            expand,
            seal,
            open,
            encrypt,
            decrypt,
            ghash,
        };

        #[target_feature(enable = $features)]
        fn expand(key: &mut Key, bytes: &[u8]) {
            // SAFETY: this function has the instructions.
            unsafe {
                $expand(&mut key.schedule, bytes);
                vector::powers::<$vector>(key)
            }
        }

        #[target_feature(enable = $features)]
        fn seal(key: &Key, j0: u128, aad: &[u8], data: InOut<'_>) -> u128 {
            match key.schedule.rounds {
                10 => message::<10, false>(key, j0, aad, data),
                12 => message::<12, false>(key, j0, aad, data),
                _ => message::<14, false>(key, j0, aad, data),
            }
        }

        #[target_feature(enable = $features)]
        fn open(key: &Key, j0: u128, aad: &[u8], data: &mut InOut<'_>) -> u128 {
            let data = data.reborrow();
            match key.schedule.rounds {
                10 => message::<10, true>(key, j0, aad, data),
                12 => message::<12, true>(key, j0, aad, data),
                _ => message::<14, true>(key, j0, aad, data),
            }
        }

        #[target_feature(enable = $features)]
        #[inline]
        fn message<const ROUNDS: usize, const OPEN: bool>(
            key: &Key,
            j0: u128,
            aad: &[u8],
            data: InOut<'_>,
        ) -> u128 {
            if data.len() > $short {
                return long::<ROUNDS, OPEN>(key, j0, aad, data);
            }
            // SAFETY: this function has the instructions.
            unsafe { vector::short::<$vector, ROUNDS, OPEN>(key, j0, aad, data) }
        }

        #[target_feature(enable = $features)]
        #[inline(never)]
        fn long<const ROUNDS: usize, const OPEN: bool>(
            key: &Key,
            j0: u128,
            aad: &[u8],
            data: InOut<'_>,
        ) -> u128 {
            // SAFETY: this function has the instructions.
            unsafe { vector::long::<$vector, ROUNDS, OPEN, $batch>(key, j0, aad, data) }
        }

        #[target_feature(enable = $features)]
        fn encrypt(key: &Key, counter: u128, state: u128, data: InOut<'_>) -> u128 {
            piece::<false>(key, counter, state, data)
        }

        #[target_feature(enable = $features)]
        fn decrypt(key: &Key, counter: u128, state: u128, data: InOut<'_>) -> u128 {
            piece::<true>(key, counter, state, data)
        }

        #[target_feature(enable = $features)]
        fn piece<const OPEN: bool>(key: &Key, counter: u128, state: u128, data: InOut<'_>) -> u128 {
            // SAFETY: this function has the instructions.
            unsafe {
                match key.schedule.rounds {
                    10 => vector::piece::<$vector, 10, OPEN, $batch>(key, counter, state, data),
                    12 => vector::piece::<$vector, 12, OPEN, $batch>(key, counter, state, data),
                    _ => vector::piece::<$vector, 14, OPEN, $batch>(key, counter, state, data),
                }
            }
        }

        #[target_feature(enable = $features)]
        fn ghash(key: &Key, state: u128, bytes: &[u8]) -> u128 {
            // SAFETY: this function has the instructions.
            unsafe { vector::ghash::<$vector>(key, state, bytes) }
        }
    };
}

pub(super) use row;
