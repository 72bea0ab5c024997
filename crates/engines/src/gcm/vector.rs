//! AES-GCM with vector instructions, written once for vectors of one, two and four blocks.
//!
//! Ref. NIST SP 800-38D §6.5 (GCTR), §7.
//!
//! # Safety
//! The promises of `blocks.rs` hold here too.
#![allow(unsafe_code)]

use super::blocks::{BLOCK, Vector};
use super::ghash::{self, POLYNOMIAL, Powers, Sum, absorb};
use super::{Key, POWERS, lengths};
use crate::InOut;

/// The longest message that can go without the loop over batches, in bytes. With the pre-counter block and the
/// lengths it has as many blocks as there are powers.
#[cfg(target_arch = "x86_64")]
pub(super) const REACH: usize = (POWERS - 2) * BLOCK;

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
        ghash::powers::<V>(key, subkey);
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

/// Defines the functions of a row for one vector type. `$features` are those that the row requires, `$batch` the
/// vectors that a long message takes at a time, and `$short` the longest message in bytes that is faster without
/// batches.
macro_rules! row {
    ($vector:ty, $batch:literal, $short:expr, $features:literal, $expand:path) => {
        use crate::InOut;
        use crate::aes::schedule::Form as KeyForm;
        use crate::gcm::blocks::Vector as GcmVector;
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
            unsafe { crate::gcm::ghash::ghash::<$vector>(key, state, bytes) }
        }
    };
}

pub(super) use row;
