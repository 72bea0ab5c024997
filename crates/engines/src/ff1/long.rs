//! Values of any length, as integers of as many limbs as they need.
//!
//! A sum modulo a power of the radix is made digit by digit with carries, so no integer is reduced: of the MAC's integer only the
//! lowest digits are needed, which divisions by a power of the radix give.
//!
//! Ref. NIST SP 800-38G §5.1.

use zeroize::Zeroizing;

use super::feistel::{ROUNDS, first_block, halves};
use super::job::Digit;
use crate::aes::{Block, Forward};

/// Several digits at a time, as one of a larger radix below 2^32.
struct Group {
    /// The digits of a group.
    count: usize,
    /// The radix to the power of `count`.
    radix: u64,
    /// floor((2^64 - 1) / radix).
    reciprocal: u64,
    /// The same of the radix itself.
    digit_radix: u64,
    digit_reciprocal: u64,
}

impl Group {
    fn new(digit_radix: u32) -> Self {
        let digit_radix = u64::from(digit_radix);
        let (mut radix, mut count) = (digit_radix, 1);
        while radix * digit_radix <= 1 << 32 {
            radix *= digit_radix;
            count += 1;
        }
        Group {
            count,
            radix,
            reciprocal: u64::MAX / radix,
            digit_radix,
            digit_reciprocal: u64::MAX / digit_radix,
        }
    }
}

/// Encrypts or decrypts digits that were checked.
pub(super) fn crypt<const DECRYPT: bool, D: Digit>(
    cipher: &Forward,
    radix: u32,
    tweak: &[u8],
    digits: &mut [D],
) {
    let group = Group::new(radix);
    let (u, v) = halves(digits.len());
    // §5.1 steps 3 and 4.
    let bytes = bytes_of(radix, v);
    let sum_len = 4 * bytes.div_ceil(4) + 4;
    let first = first_block(radix, digits.len(), tweak.len());
    let tail = (tweak.len() + bytes + 1).next_multiple_of(16);
    let mut q = Zeroizing::new(vec![0; tail]);
    q[..tweak.len()].copy_from_slice(tweak);
    let mut sum = Zeroizing::new(vec![0; sum_len.next_multiple_of(16)]);
    let mut limbs = Zeroizing::new(vec![0u32; sum_len.div_ceil(4)]);
    let mut added = Zeroizing::new(vec![0u16; v]);
    let half = |digits: &[D]| Zeroizing::new(digits.iter().map(|digit| digit.number()).collect::<Vec<u16>>());
    let (mut a, mut b) = (half(&digits[..u]), half(&digits[u..]));
    for i in 0..ROUNDS {
        let round = if DECRYPT { ROUNDS - 1 - i } else { i };
        let known = if DECRYPT { &a } else { &b };
        q[tail - bytes - 1] = round;
        write_number(&group, known, &mut limbs, &mut q[tail - bytes..]);
        pseudo_random(cipher, first, &q, &mut sum);
        let changed = if DECRYPT { &mut b } else { &mut a };
        let added = &mut added[..changed.len()];
        lowest_digits(&group, &sum[..sum_len], &mut limbs, added);
        add_digits::<DECRYPT>(radix, changed, added);
        std::mem::swap(&mut a, &mut b);
    }
    for (digit, number) in digits.iter_mut().zip(a.iter().chain(b.iter())) {
        *digit = D::of(*number);
    }
}

/// The bytes of radix^digits - 1.
fn bytes_of(radix: u32, digits: usize) -> usize {
    let mut limbs = vec![1u32];
    for _ in 0..digits {
        let mut carry = 0;
        for limb in &mut limbs {
            let product = u64::from(*limb) * u64::from(radix) + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
        if carry > 0 {
            limbs.push(carry as u32);
        }
    }
    let mut limbs = &mut limbs[..];
    for limb in limbs.iter_mut() {
        let borrows;
        (*limb, borrows) = limb.overflowing_sub(1);
        if !borrows {
            break;
        }
    }
    while let [rest @ .., 0] = limbs {
        limbs = rest;
    }
    let top = limbs.last().map_or(0, |limb| 32 - limb.leading_zeros() as usize);
    (32 * limbs.len().saturating_sub(1) + top).div_ceil(8)
}

/// Writes the number of these digits, big-endian.
fn write_number(group: &Group, digits: &[u16], limbs: &mut [u32], to: &mut [u8]) {
    limbs.fill(0);
    let first = digits.len() % group.count;
    let mut used = 0;
    let (head, rest) = digits.split_at(first);
    for part in std::iter::once(head).chain(rest.chunks(group.count)) {
        let mut carry = 0u64;
        for digit in part {
            carry = carry * group.digit_radix + u64::from(*digit);
        }
        used = (used + 1).min(limbs.len());
        for limb in &mut limbs[..used] {
            let product = u64::from(*limb) * group.radix + carry;
            *limb = product as u32;
            carry = product >> 32;
        }
    }
    for (i, byte) in to.iter_mut().rev().enumerate() {
        *byte = (limbs[i / 4] >> (8 * (i % 4))) as u8;
    }
}

/// R and the blocks after it, §5.1 steps 6.ii and 6.iii.
fn pseudo_random(cipher: &Forward, first: Block, q: &[u8], sum: &mut [u8]) {
    let mut state = [first];
    cipher.encrypt(&mut state);
    for block in q.as_chunks::<16>().0 {
        for (state, byte) in state[0].iter_mut().zip(block) {
            *state ^= byte;
        }
        cipher.encrypt(&mut state);
    }
    let blocks = sum.as_chunks_mut::<16>().0;
    for (j, block) in blocks.iter_mut().enumerate() {
        *block = (u128::from_be_bytes(state[0]) ^ j as u128).to_be_bytes();
    }
    // The first block is R itself.
    cipher.encrypt(&mut blocks[1..]);
    state = [[0; 16]];
    zeroize::optimization_barrier(&state);
}

/// The lowest digits of a big-endian number, most significant first.
fn lowest_digits(group: &Group, number: &[u8], limbs: &mut [u32], digits: &mut [u16]) {
    for (limb, bytes) in limbs.iter_mut().zip(number.rchunks(4)) {
        *limb = bytes.iter().fold(0, |limb, byte| limb << 8 | u32::from(*byte));
    }
    for part in digits.rchunks_mut(group.count) {
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let quotient;
            (quotient, rest) = divide(rest << 32 | u64::from(*limb), group.radix, group.reciprocal);
            *limb = quotient as u32;
        }
        for digit in part.iter_mut().rev() {
            let last;
            (rest, last) = divide(rest, group.digit_radix, group.digit_reciprocal);
            *digit = last as u16;
        }
    }
}

/// Divides by a divisor up to 2^32 in constant time. The reciprocal's quotient is at most two too small.
#[inline(always)]
fn divide(number: u64, divisor: u64, reciprocal: u64) -> (u64, u64) {
    let mut quotient = ((u128::from(number) * u128::from(reciprocal)) >> 64) as u64;
    let mut rest = number.wrapping_sub(quotient.wrapping_mul(divisor));
    for _ in 0..2 {
        let over = 1 ^ (rest.wrapping_sub(divisor) >> 63);
        rest = rest.wrapping_sub(divisor & over.wrapping_neg());
        quotient += over;
    }
    (quotient, rest)
}

/// Adds digits modulo the power of the radix that has as many, or subtracts them.
fn add_digits<const SUBTRACT: bool>(radix: u32, digits: &mut [u16], others: &[u16]) {
    let mut carry = 0;
    for (digit, other) in digits.iter_mut().zip(others).rev() {
        let (digit_value, other) = (u32::from(*digit), u32::from(*other));
        if SUBTRACT {
            let difference = digit_value.wrapping_sub(other).wrapping_sub(carry);
            carry = difference >> 31;
            *digit = difference.wrapping_add(radix & carry.wrapping_neg()) as u16;
        } else {
            let reduced = (digit_value + other + carry).wrapping_sub(radix);
            let below = reduced >> 31;
            carry = 1 ^ below;
            *digit = reduced.wrapping_add(radix & below.wrapping_neg()) as u16;
        }
    }
}
