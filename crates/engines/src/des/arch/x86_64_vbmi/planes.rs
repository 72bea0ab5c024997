//! One S-box of 64 blocks to a register, or two S-boxes of 32. A look-up serves a whole register, and what an S-box takes in is put
//! together by ternary logic.
//!
//! The keys are where they cost least. A round's key is added to what the S-boxes take in, which is the sum of an older half and the
//! S-boxes' output; so the halves go through the rounds with the keys added, and each round adds what takes the old key off and the
//! new one on.
//!
//! # Safety
//! Inlined into entry points that have the features of [`super::LANES`].

use core::arch::x86_64::*;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use zeroize::{Zeroize, optimization_barrier};

use super::eights::{AND_OR, COLUMNS, SIX, inputs, join, look_up, reversed, splat};
use super::layouts::{Half, Layout};
use crate::des::arch::x86_64_avx512::{Lines, transpose};
use crate::des::planes::{ENTER, LEAVE, PAIRS, SECOND, SUBSTITUTE};
use crate::des::schedule::{MAX_ROUNDS, Schedule};
use crate::des::side_by_side::{Form, Row};
use crate::des::wiring;
use crate::modes::Direction;

/// The words that are added before a cipher's rounds, to the right half, and in each of them.
const STEPS: usize = 1 + 16;

/// The most of them, for three ciphers and after the last, and so many that they are whole lines.
const MOST_STEPS: usize = (3 * STEPS + 1_usize).next_multiple_of(8);

/// Puts what is added in each step: the key before, which is taken off, and the one behind.
#[inline(always)]
fn put_steps<T: Copy>(keys: &[T], add: impl Fn(T, T) -> T, mut put: impl FnMut(usize, T)) {
    let ciphers = keys.as_chunks::<16>().0;
    for (cipher, keys) in ciphers.iter().enumerate() {
        let first = STEPS * cipher;
        put(first, if cipher == 0 { keys[0] } else { add(ciphers[cipher - 1][15], keys[0]) });
        put(first + 1, keys[1]);
        for round in 1..15 {
            put(first + 1 + round, add(keys[round - 1], keys[round + 1]));
        }
        put(first + 16, keys[14]);
    }
    put(STEPS * ciphers.len(), ciphers[ciphers.len() - 1][15]);
}

/// The words that are added to all blocks, step by step.
trait Steps<const P: usize> {
    fn ciphers(&self) -> usize;

    /// # Safety
    /// The kernel's features exist; so in all that follow.
    unsafe fn step(&self, step: usize) -> Half<P>;
}

/// The same for all blocks. It has room on a small stack.
pub(super) struct OneKey<L: Layout<P>, const P: usize> {
    steps: [L::OneKey; MOST_STEPS],
    ciphers: usize,
}

impl<L: Layout<P>, const P: usize> OneKey<L, P> {
    #[inline(always)]
    pub(super) unsafe fn new(schedule: &Schedule, direction: Direction) -> Self {
        let groups = schedule.groups(direction);
        let mut keys = OneKey { steps: [L::OneKey::default(); MOST_STEPS], ciphers: groups.len() / 16 };
        let mut ordered = Row::<MAX_ROUNDS>::default();
        // SAFETY: as the caller says; eight words are a line.
        unsafe {
            for (inputs, ordered) in groups.chunks_exact(8).zip(ordered.0.chunks_exact_mut(8)) {
                let inputs = _mm512_loadu_si512(inputs.as_ptr().cast());
                let indices = look_up(&ENTER, _mm512_or_si512(inputs, splat(wiring::SECOND)));
                _mm512_storeu_si512(ordered.as_mut_ptr().cast(), _mm512_and_si512(indices, splat(SIX)));
            }
            put_steps(
                &ordered.0[..groups.len()],
                |a, b| a ^ b,
                |step, key| keys.steps[step] = L::one_key(key),
            );
        }
        ordered.zeroize();
        keys
    }

    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        self.steps = [L::OneKey::default(); MOST_STEPS];
        optimization_barrier(self);
    }
}

impl<L: Layout<P>, const P: usize> Steps<P> for OneKey<L, P> {
    #[inline(always)]
    fn ciphers(&self) -> usize {
        self.ciphers
    }

    #[inline(always)]
    unsafe fn step(&self, step: usize) -> Half<P> {
        // SAFETY: as the caller says.
        unsafe { L::for_all(&self.steps[step]) }
    }
}

/// Something else for each block.
pub(super) struct ManyKeys<L: Layout<P>, const P: usize> {
    steps: [[MaybeUninit<__m512i>; P]; MOST_STEPS],
    ciphers: usize,
    layout: PhantomData<L>,
}

impl<L: Layout<P>, const P: usize> ManyKeys<L, P> {
    #[inline(always)]
    pub(super) unsafe fn new(schedules: &[&Schedule], used: usize, direction: Direction) -> Self {
        let (ciphers, layout) = (schedules[0].rounds() / 16, PhantomData);
        let mut keys = ManyKeys { steps: [[MaybeUninit::uninit(); P]; MOST_STEPS], ciphers, layout };
        for eight in 0..P {
            // Blocks that are not used have some key.
            let schedule = |n: usize| schedules[(8 * eight + n).min(used - 1)];
            // SAFETY: as the caller says; eight rounds are a line.
            unsafe {
                let mut rounds = [_mm512_setzero_si512(); MAX_ROUNDS];
                for (at, line) in rounds[..16 * ciphers].as_chunks_mut::<8>().0.iter_mut().enumerate() {
                    for n in 0..8 {
                        line[n] =
                            _mm512_loadu_si512(schedule(n).groups(direction)[8 * at..][..8].as_ptr().cast());
                    }
                    transpose(line);
                }
                let add = |a, b| _mm512_xor_si512(a, b);
                put_steps(&rounds[..16 * ciphers], add, |step, key| {
                    keys.steps[step][eight].write(key);
                });
                rounds = [_mm512_setzero_si512(); MAX_ROUNDS];
                optimization_barrier(&rounds);
            }
        }
        for step in &mut keys.steps[..=STEPS * ciphers] {
            // SAFETY: as the caller says; all registers of the step were written.
            unsafe {
                let mut x = [_mm512_setzero_si512(); P];
                for p in 0..P {
                    x[p] = _mm512_or_si512(step[p].assume_init(), splat(SECONDS));
                }
                x = L::look_up(&ENTER, L::gather(x));
                for p in 0..P {
                    step[p].write(_mm512_and_si512(x[p], splat(SIX)));
                }
            }
        }
        keys
    }

    #[inline(always)]
    pub(super) fn wipe(&mut self) {
        self.steps[..=STEPS * self.ciphers].fill([MaybeUninit::zeroed(); P]);
        optimization_barrier(self);
    }
}

impl<L: Layout<P>, const P: usize> Steps<P> for ManyKeys<L, P> {
    #[inline(always)]
    fn ciphers(&self) -> usize {
        self.ciphers
    }

    #[inline(always)]
    unsafe fn step(&self, step: usize) -> Half<P> {
        assert!(step <= STEPS * self.ciphers);
        // SAFETY: all steps up to this one were written.
        unsafe {
            let mut half = [_mm512_setzero_si512(); P];
            for p in 0..P {
                half[p] = self.steps[step][p].assume_init();
            }
            half
        }
    }
}

/// [`SECOND`] in the bytes of those S-boxes that are second in their registers.
const SECONDS: u64 = {
    let mut seconds = [0; 8];
    let mut p = 0;
    while p < 4 {
        seconds[PAIRS[p][1]] = SECOND;
        p += 1;
    }
    u64::from_ne_bytes(seconds)
};

impl<L: Layout<P>, const P: usize, const W: usize> Form<W> for OneKey<L, P> {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<W>, _: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt::<L, P, W>(self, blocks) }
    }
}

impl<L: Layout<P>, const P: usize, const W: usize> Form<W> for ManyKeys<L, P> {
    type Transfer = Lines;

    #[inline(always)]
    unsafe fn crypt(&self, blocks: &mut Row<W>, _: usize) {
        // SAFETY: as the caller says.
        unsafe { crypt::<L, P, W>(self, blocks) }
    }
}

/// Ciphers `8 * P` blocks.
#[inline(always)]
unsafe fn crypt<L: Layout<P>, const P: usize, const W: usize>(keys: &impl Steps<P>, blocks: &mut Row<W>) {
    const { assert!(W == 8 * P) }
    let rows = blocks.0.as_mut_ptr().cast::<__m512i>();
    // SAFETY: as the caller says; a row is so many aligned registers.
    unsafe {
        let mut x = [_mm512_setzero_si512(); P];
        for n in 0..P {
            x[n] = reversed(*rows.add(n));
        }
        let (mut l, mut r) = (enter::<L, P>(x, COLUMNS[0]), enter::<L, P>(x, COLUMNS[1]));
        for cipher in 0..keys.ciphers() {
            let at = STEPS * cipher;
            r = sum(r, keys.step(at));
            for i in (1..STEPS).step_by(2) {
                l = round::<L, P>(l, r, keys.step(at + i));
                r = round::<L, P>(r, l, keys.step(at + i + 1));
            }
            (l, r) = (r, l);
        }
        r = sum(r, keys.step(STEPS * keys.ciphers()));
        let (l, r) = (L::scatter(L::look_up(&LEAVE, l)), L::scatter(L::look_up(&LEAVE, r)));
        for n in 0..P {
            *rows.add(n) = join(l[n], r[n]);
        }
    }
}

/// Returns one half of blocks, which are given with their bytes reversed, as indices.
#[inline(always)]
unsafe fn enter<L: Layout<P>, const P: usize>(mut blocks: Half<P>, columns: u64) -> Half<P> {
    // SAFETY: as the caller says; so in all that follow.
    unsafe {
        for register in &mut blocks {
            let inputs = inputs(*register, columns);
            *register = _mm512_ternarylogic_epi32::<AND_OR>(inputs, splat(SIX), splat(SECONDS));
        }
        L::look_up(&ENTER, L::gather(blocks))
    }
}

#[inline(always)]
unsafe fn sum<const P: usize>(mut a: Half<P>, b: Half<P>) -> Half<P> {
    for p in 0..P {
        // SAFETY: as above.
        a[p] = unsafe { _mm512_xor_si512(a[p], b[p]) };
    }
    a
}

/// The ternary functions `a ^ b ^ c`, and `b` where `a` is set and otherwise `c`.
const XOR: i32 = 0x96;
const SELECT: i32 = 0xca;

/// Does something for each number below eight, written out: the compiler then knows the number, and keeps arrays in registers.
macro_rules! for_eight {
    ($number:ident => $do:expr) => {
        for_eight!($number, 0 1 2 3 4 5 6 7 => $do)
    };
    ($number:ident, $($value:literal)+ => $do:expr) => {
        $({
            const $number: usize = $value;
            $do
        })+
    };
}

/// Returns the sum of the old half, what the S-boxes make of the other one, and the keys.
#[inline(always)]
unsafe fn round<L: Layout<P>, const P: usize>(old: Half<P>, half: Half<P>, keys: Half<P>) -> Half<P> {
    // SAFETY: as above.
    unsafe {
        let feeders = L::feeders(L::look_up(&SUBSTITUTE, half));
        let mut new = old;
        for_eight!(TO => if TO < P {
            let mut taken = None;
            for_eight!(FROM => taken = take(taken, feeders[FROM], L::ROUTES[TO][FROM]));
            let taken = taken.expect("each S-box is fed");
            new[TO] = _mm512_ternarylogic_epi64::<XOR>(old[TO], taken, keys[TO]);
        });
        new
    }
}

/// Takes those bits that a register gives, beside what was taken before.
#[inline(always)]
unsafe fn take(taken: Option<__m512i>, feeder: __m512i, given: [u8; 2]) -> Option<__m512i> {
    if given == [0; 2] {
        return taken;
    }
    let Some(taken) = taken else { return Some(feeder) };
    let [a, b] = given.map(|bits| i64::from_ne_bytes([bits; 8]));
    // SAFETY: as above.
    unsafe {
        let bits = _mm512_set_epi64(b, b, a, a, b, b, a, a);
        Some(_mm512_ternarylogic_epi64::<SELECT>(bits, feeder, taken))
    }
}
