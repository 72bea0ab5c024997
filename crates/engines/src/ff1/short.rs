//! Values whose halves are integers below 2^64, many side by side.
//!
//! Ref. NIST SP 800-38G §5.1.

use std::hint::black_box;

use super::feistel::{LANES, ROUNDS, first_block, halves};
use super::job::{Digit, Ff1Job};
use crate::aes::{Block, Forward, wipe};

/// The bytes of the longest half, and of a whole block.
const HALF: usize = 8;
const BLOCK: usize = 16;

/// All that depends on the radix and the length.
pub(super) struct Shape {
    radix: u32,
    len: usize,
    /// The bytes of a half: b of the standard.
    bytes: usize,
    /// The moduli of the halves, radix^u and radix^v.
    moduli: [Modulus; 2],
    /// floor((2^64 - 1) / radix).
    reciprocal: u64,
    /// True if each half is below [`EXACT`].
    exact: bool,
}

/// Below this bound one product with a reciprocal of the radix is the exact quotient.
///
/// With m = ceil(2^64 / radix), m·radix is less than radix more than 2^64, so n·m is less than n more than n·2^64 / radix. The quotient
/// is right while n·radix is at most 2^64, and the radix is at most 2^16.
const EXACT: u128 = 1 << 48;

impl Shape {
    /// Returns nothing if a half is too long.
    pub(super) fn new(radix: u32, len: usize) -> Option<Self> {
        let (u, v) = halves(len);
        let moduli = [Modulus::power(radix, u)?, Modulus::power(radix, v)?];
        let bits = 128 - (moduli[1].value - 1).leading_zeros() as usize;
        let reciprocal = u64::MAX / u64::from(radix);
        let exact = moduli[1].value <= EXACT;
        Some(Shape { radix, len, bytes: bits.div_ceil(8), moduli, reciprocal, exact })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of these digits: NUM of §4.5.
    #[inline(always)]
    fn number<D: Digit>(&self, digits: &[D]) -> u64 {
        let mut number = 0u64;
        for digit in digits {
            number = number.wrapping_mul(self.radix.into()).wrapping_add(digit.number().into());
        }
        number
    }

    /// The digits of a number: STR of §4.5.
    #[inline(always)]
    fn write<D: Digit>(&self, mut number: u64, digits: &mut [D]) {
        let radix = u64::from(self.radix);
        if self.exact {
            let above = self.reciprocal + 1;
            for digit in digits.iter_mut().rev() {
                let quotient = high(number, above);
                *digit = D::of(number.wrapping_sub(quotient.wrapping_mul(radix)) as u16);
                number = quotient;
            }
            return;
        }
        for digit in digits.iter_mut().rev() {
            let quotient = high(number, self.reciprocal);
            // The quotient is at most one too small, as in `reduce64`.
            let rest = number.wrapping_sub(quotient.wrapping_mul(radix));
            let over = 1 ^ (rest.wrapping_sub(radix) >> 63);
            *digit = D::of(rest.wrapping_sub(radix & over.wrapping_neg()) as u16);
            number = quotient.wrapping_add(over);
        }
    }
}

/// A power of the radix up to 2^64, and its reciprocal.
struct Modulus {
    value: u128,
    /// floor((2^128 - 1) / value).
    reciprocal: u128,
    /// floor((2^64 - 1) / value), for values up to 2^32.
    short: u64,
}

impl Modulus {
    fn power(radix: u32, exponent: usize) -> Option<Self> {
        let mut value = 1u128;
        for _ in 0..exponent {
            value *= u128::from(radix);
            if value > 1 << 64 {
                return None;
            }
        }
        let short = if value <= 1 << 32 { (u128::from(u64::MAX) / value) as u64 } else { 0 };
        Some(Modulus { value, reciprocal: u128::MAX / value, short })
    }

    /// Reduces 64 bits modulo at most 2^32. With short = (2^64 - 1 - t) / value, where t is below value, the product is y / value less
    /// y·(1 + t) / (value·2^64), which is below one, so the quotient is at most one too small.
    #[inline(always)]
    fn reduce64(&self, y: u64) -> u64 {
        let value = self.value as u64;
        let quotient = high(y, self.short);
        subtract64(y.wrapping_sub(quotient.wrapping_mul(value)), value)
    }

    /// Reduces 96 bits. The quotient is at most two too small.
    #[inline(always)]
    fn reduce96(&self, y: u128) -> u128 {
        let (low, high) = (u128::from(y as u64), y >> 64);
        let (r0, r1) = (u128::from(self.reciprocal as u64), self.reciprocal >> 64);
        let middle = low * r1 + ((low * r0) >> 64);
        let lower = high * r0 + u128::from(middle as u64);
        let quotient = high * r1 + (middle >> 64) + (lower >> 64);
        let rest = y.wrapping_sub(quotient.wrapping_mul(self.value));
        self.subtract(self.subtract(rest))
    }

    /// Takes the modulus off if it fits.
    #[inline(always)]
    fn subtract(&self, x: u128) -> u128 {
        let less = x.wrapping_sub(self.value);
        // The compiler would branch on the sign.
        let mask = black_box(((less >> 127) as u64).wrapping_neg());
        less.wrapping_add(self.value & (u128::from(mask) << 64 | u128::from(mask)))
    }
}

/// The upper half of a product.
#[inline(always)]
fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[inline(always)]
fn subtract64(x: u64, value: u64) -> u64 {
    let less = x.wrapping_sub(value);
    less.wrapping_add(value & (less >> 63).wrapping_neg())
}

/// Encrypts or decrypts the values that are `right`, all of one length and at most [`LANES`].
pub(super) fn crypt<const DECRYPT: bool, D: Digit>(
    cipher: &Forward,
    shape: &Shape,
    jobs: &mut [&mut Ff1Job<'_, D>],
    right: &[bool; LANES],
) {
    let (u, _) = halves(shape.len);
    let count = jobs.len();
    // The state of CBC before the block that changes from round to round, with what never changes in that block.
    let mut before = [[0; BLOCK]; LANES];
    let (mut a, mut b) = ([0u64; LANES], [0u64; LANES]);
    let mut blocks = [[0; BLOCK]; LANES];
    absorb_tweaks(cipher, shape, jobs, &mut before);
    for lane in 0..count {
        let (first, second) = jobs[lane].digits.split_at(u);
        (a[lane], b[lane]) = (shape.number(first), shape.number(second));
    }
    for i in 0..ROUNDS {
        let round = if DECRYPT { ROUNDS - 1 - i } else { i };
        let number = u128::from(round) << (8 * shape.bytes);
        let known = if DECRYPT { &a } else { &b };
        for lane in 0..count {
            blocks[lane] = changed_block(before[lane], number, known[lane]);
        }
        cipher.encrypt(&mut blocks[..count]);
        let changed = if DECRYPT { &mut b } else { &mut a };
        let modulus = &shape.moduli[usize::from(round % 2 == 1)];
        if shape.bytes <= 4 {
            let value = modulus.value as u64;
            for lane in 0..count {
                let y = modulus.reduce64((u128::from_be_bytes(blocks[lane]) >> 64) as u64);
                let y = if DECRYPT { value - y } else { y };
                changed[lane] = subtract64(changed[lane].wrapping_add(y), value);
            }
        } else {
            for lane in 0..count {
                let y = modulus.reduce96(u128::from_be_bytes(blocks[lane]) >> 32);
                let y = if DECRYPT { modulus.value - y } else { y };
                changed[lane] = modulus.subtract(u128::from(changed[lane]) + y) as u64;
            }
        }
        std::mem::swap(&mut a, &mut b);
    }
    for lane in 0..count {
        if right[lane] {
            let (first, second) = jobs[lane].digits.split_at_mut(u);
            shape.write(a[lane], first);
            shape.write(b[lane], second);
        }
    }
    wipe(&mut before);
    wipe(&mut a);
    wipe(&mut b);
    wipe(&mut blocks);
}

/// Passes P and what comes before the last block of Q through CBC (§5.1 steps 5 and 6), and adds the tweak's end.
#[inline(always)]
fn absorb_tweaks<D>(
    cipher: &Forward,
    shape: &Shape,
    jobs: &[&mut Ff1Job<'_, D>],
    states: &mut [Block; LANES],
) {
    debug_assert!(shape.bytes <= HALF);
    let states = &mut states[..jobs.len()];
    // The tweak of a column is one for all of its values, and its state is then computed once.
    if let Some(same) =
        jobs.first().filter(|first| jobs.iter().all(|job| std::ptr::eq(job.tweak, first.tweak)))
    {
        let mut state = [first_block(shape.radix, shape.len, same.tweak.len())];
        cipher.encrypt(&mut state);
        absorb_rest(cipher, shape, same.tweak, &mut state[0]);
        states.fill(state[0]);
        return wipe(&mut state);
    }
    for (state, job) in states.iter_mut().zip(jobs) {
        *state = first_block(shape.radix, shape.len, job.tweak.len());
    }
    cipher.encrypt(states);
    for (state, job) in states.iter_mut().zip(jobs) {
        absorb_rest(cipher, shape, job.tweak, state);
    }
}

/// Passes a tweak through CBC, and adds its end. The last block takes that, if it leaves room for a half and the round's number.
#[inline(always)]
fn absorb_rest(cipher: &Forward, shape: &Shape, mut tweak: &[u8], state: &mut Block) {
    let room = BLOCK - 1 - shape.bytes;
    while tweak.len() > room {
        let (block, rest) = tweak.split_at(tweak.len().min(BLOCK));
        add(state, block);
        cipher.encrypt(std::slice::from_mut(state));
        tweak = rest;
    }
    add(state, tweak);
}

/// The block that changes from round to round: a half's integer at its end, and in front of that the round's number.
#[inline(always)]
fn changed_block(before: Block, number: u128, known: u64) -> Block {
    (u128::from_ne_bytes(before) ^ (number | u128::from(known)).to_be()).to_ne_bytes()
}

#[inline(always)]
fn add(state: &mut Block, bytes: &[u8]) {
    for (state, byte) in state.iter_mut().zip(bytes) {
        *state ^= byte;
    }
}
