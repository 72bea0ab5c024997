//! Values whose halves are integers below 2^64, many side by side.
//!
//! Ref. NIST SP 800-38G §5.1.

use std::hint::black_box;

use super::feistel::{LANES, ROUNDS, first_block, halves};
use super::job::{Digit, Ff1Job};
use crate::aes::feistel::{Digits, FeistelRounds, Places};
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
    /// The places of both halves' digits, if a kernel may read and write them.
    places: Option<[Places; 2]>,
}

/// Below this bound one product with a reciprocal of the radix is the exact quotient.
///
/// With m = ceil(2^64 / radix), m·radix is less than radix more than 2^64, so n·m is less than n more than n·2^64 / radix. The quotient
/// is right while n·radix is at most 2^64, and the radix is at most 2^16.
const EXACT: u128 = 1 << 48;

/// So many values pay for the divisions that make the reciprocals of all places.
const SEVERAL: usize = 8;

impl Shape {
    /// Returns nothing if a half is too long. What only pays for several values is left out if there are few.
    pub(super) fn new(radix: u32, len: usize, count: usize) -> Option<Self> {
        let (u, v) = halves(len);
        let values = [power(radix, u)?, power(radix, v)?];
        let moduli = values.map(|value| Modulus::new(value, values[1] <= 1 << 32));
        let bits = 128 - (moduli[1].value - 1).leading_zeros() as usize;
        let reciprocal = u64::MAX / u64::from(radix);
        let exact = moduli[1].value <= EXACT;
        let places = (count >= SEVERAL && moduli[1].value < 1 << 32)
            .then(|| Some([Places::new(radix, u)?, Places::new(radix, v)?]))
            .flatten();
        Some(Shape { radix, len, bytes: bits.div_ceil(8), moduli, reciprocal, exact, places })
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Describes the rounds of values whose integers are below 2^32, and returns nothing for others.
    fn rounds<'a>(
        &self,
        before: &'a [Block; LANES],
        values: usize,
        decrypt: bool,
    ) -> Option<FeistelRounds<'a>> {
        let [u, v] = &self.moduli;
        let of = |modulus: &Modulus| Some((u32::try_from(modulus.value).ok()?, modulus.short));
        let (shift, moduli) = (8 * self.bytes as u32, [of(u)?, of(v)?]);
        Some(FeistelRounds { count: ROUNDS, shift, moduli, before, values, decrypt })
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
    /// floor((2^128 - 1) / value), unless both moduli are at most 2^32.
    reciprocal: u128,
    /// floor((2^64 - 1) / value), if both are.
    short: u64,
}

impl Modulus {
    /// `short` if the larger modulus is at most 2^32: only one of the reciprocals is needed then, and a division of 128 bits takes long.
    fn new(value: u128, short: bool) -> Self {
        match short {
            true => Modulus { value, reciprocal: 0, short: u64::MAX / value as u64 },
            false => Modulus { value, reciprocal: u128::MAX / value, short: 0 },
        }
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

/// A power of the radix, if that is at most 2^64.
fn power(radix: u32, exponent: usize) -> Option<u128> {
    let mut value = 1u128;
    for _ in 0..exponent {
        value *= u128::from(radix);
        if value > 1 << 64 {
            return None;
        }
    }
    Some(value)
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
    absorb_tweaks(cipher, shape, jobs, &mut before);
    let rounds = shape.rounds(&before, count, DECRYPT);
    match (cipher.feistel(), &shape.places, rounds) {
        (Some(kernel), Some(places), Some(rounds)) => {
            let mut digits = bytes_of_right(jobs, right);
            let digits = &mut digits[..count];
            kernel.read(places, digits, (&mut a, &mut b));
            kernel.rounds(&rounds, (&mut a, &mut b));
            kernel.write(places, (&a, &b), digits);
        }
        (kernel, _, rounds) => {
            for lane in 0..count {
                let (first, second) = jobs[lane].digits.split_at(u);
                (a[lane], b[lane]) = (shape.number(first), shape.number(second));
            }
            match kernel.zip(rounds) {
                Some((kernel, rounds)) => kernel.rounds(&rounds, (&mut a, &mut b)),
                None => pass_rounds::<DECRYPT>(cipher, shape, &before[..count], &mut a, &mut b),
            }
            for lane in 0..count {
                if right[lane] {
                    let (first, second) = jobs[lane].digits.split_at_mut(u);
                    shape.write(a[lane], first);
                    shape.write(b[lane], second);
                }
            }
        }
    }
    wipe(&mut before);
    wipe(&mut a);
    wipe(&mut b);
}

/// Returns the digits of the values that are right, and none of the others.
#[inline(always)]
fn bytes_of_right<'a, D: Digit>(
    jobs: &'a mut [&mut Ff1Job<'_, D>],
    right: &[bool; LANES],
) -> [Digits<'a>; LANES] {
    let mut digits: [Digits<'a>; LANES] = std::array::from_fn(|_| <Digits<'a>>::default());
    for ((digits, job), right) in digits.iter_mut().zip(jobs).zip(right) {
        if *right {
            *digits = D::bytes(job.digits);
        }
    }
    digits
}

/// Makes the rounds one after the other, each on all values, with the blocks in memory.
fn pass_rounds<const DECRYPT: bool>(
    cipher: &Forward,
    shape: &Shape,
    before: &[Block],
    first: &mut [u64; LANES],
    second: &mut [u64; LANES],
) {
    let (mut a, mut b) = (first, second);
    let count = before.len();
    let mut blocks = [[0; BLOCK]; LANES];
    for i in 0..ROUNDS {
        let round = if DECRYPT { ROUNDS - 1 - i } else { i };
        let number = u128::from(round) << (8 * shape.bytes);
        let known = if DECRYPT { &*a } else { &*b };
        for lane in 0..count {
            blocks[lane] = changed_block(before[lane], number, known[lane]);
        }
        cipher.encrypt(&mut blocks[..count]);
        let changed = if DECRYPT { &mut *b } else { &mut *a };
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
