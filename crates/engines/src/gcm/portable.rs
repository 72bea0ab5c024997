//! AES-GCM for any processor, in constant time: integer arithmetic alone, no table.
//!
//! Ref. NIST SP 800-38D §6.3 (multiplication), §6.4 (GHASH), §6.5 (GCTR).
//!
//! # Safety
//! The unsafe functions need the instructions of the AES that they are generic over.
#![allow(unsafe_code)]

use millstream_cpu::FeatureSet;

use super::{GcmOps, Key, POWERS, Power, increment, lengths};
use crate::aes::{Block, Schedule, portable};
use crate::{InOut, Kernel, Row, Timing};

pub(super) const ROW: Row<GcmOps> = Row {
    kernel: Kernel {
        name: "portable",
        requires: FeatureSet::EMPTY,
        timing: Timing::Constant,
        note: "bitsliced AES; GHASH by integer multiplication with holes",
    },
    ops: ops::<Bitsliced>(),
};

/// AES on four blocks, with which GHASH by integers makes a row.
///
/// # Safety
/// The processor has the instructions of the implementation; so for all functions here that are generic over one.
pub(super) trait FourBlocks {
    unsafe fn expand(schedule: &mut Schedule, key: &[u8]);
    unsafe fn encrypt(schedule: &Schedule, blocks: &mut [Block; 4]);
}

/// The functions of a row for AES on four blocks.
pub(super) const fn ops<C: FourBlocks>() -> GcmOps {
    GcmOps {
        powers: false,
        expand: expand::<C>,
        seal: seal::<C>,
        open: open::<C>,
        encrypt: encrypt::<C>,
        decrypt: decrypt::<C>,
        ghash,
    }
}

struct Bitsliced;

impl FourBlocks for Bitsliced {
    unsafe fn expand(schedule: &mut Schedule, key: &[u8]) {
        portable::expand(schedule, key);
    }

    unsafe fn encrypt(schedule: &Schedule, blocks: &mut [Block; 4]) {
        portable::encrypt_blocks4(schedule, blocks);
    }
}

unsafe fn expand<C: FourBlocks>(key: &mut Key, bytes: &[u8]) {
    // SAFETY: as the caller; so below.
    unsafe {
        C::expand(&mut key.schedule, bytes);
        key.powers[POWERS - 1] = Power(cipher::<C>(&key.schedule, 0));
    }
}

fn subkey(key: &Key) -> u128 {
    key.powers[POWERS - 1].0
}

unsafe fn seal<C: FourBlocks>(key: &Key, j0: u128, aad: &[u8], data: InOut<'_>) -> u128 {
    // SAFETY: as above.
    unsafe { message::<C, false>(key, j0, aad, data) }
}

unsafe fn open<C: FourBlocks>(key: &Key, j0: u128, aad: &[u8], data: &mut InOut<'_>) -> u128 {
    // SAFETY: as above.
    unsafe { message::<C, true>(key, j0, aad, data.reborrow()) }
}

unsafe fn encrypt<C: FourBlocks>(key: &Key, counter: u128, state: u128, data: InOut<'_>) -> u128 {
    // SAFETY: as above.
    unsafe { piece::<C, false>(key, counter, state, data) }
}

unsafe fn decrypt<C: FourBlocks>(key: &Key, counter: u128, state: u128, data: InOut<'_>) -> u128 {
    // SAFETY: as above.
    unsafe { piece::<C, true>(key, counter, state, data) }
}

/// SP 800-38D §7.1 steps 3 to 6; §7.2 steps 4 to 7.
unsafe fn message<C: FourBlocks, const OPEN: bool>(key: &Key, j0: u128, aad: &[u8], data: InOut<'_>) -> u128 {
    let last = lengths(aad.len() as u64, data.len() as u64);
    let state = ghash(key, 0, aad);
    // SAFETY: as above.
    let (state, pad) =
        unsafe { (piece::<C, OPEN>(key, increment(j0, 1), state, data), cipher::<C>(&key.schedule, j0)) };
    multiply(state ^ last, subkey(key)) ^ pad
}

unsafe fn piece<C: FourBlocks, const OPEN: bool>(
    key: &Key,
    mut counter: u128,
    mut state: u128,
    mut data: InOut<'_>,
) -> u128 {
    while !data.is_empty() {
        let mut part = data.take(data.len().min(4 * 16));
        let mut pads = [0, 1, 2, 3].map(|i| increment(counter, i).to_be_bytes());
        // SAFETY: as above.
        unsafe { C::encrypt(&key.schedule, &mut pads) };
        // The input is read once, so that the same bytes are hashed and decrypted.
        let mut buffer = [0; 4 * 16];
        let text = &mut buffer[..part.len()];
        text.copy_from_slice(part.input());
        if OPEN {
            state = ghash(key, state, text);
        }
        for (byte, pad) in text.iter_mut().zip(pads.as_flattened()) {
            *byte ^= pad;
        }
        if !OPEN {
            state = ghash(key, state, text);
        }
        part.output().copy_from_slice(text);
        counter = increment(counter, 4);
    }
    state
}

fn ghash(key: &Key, mut state: u128, bytes: &[u8]) -> u128 {
    for chunk in bytes.chunks(16) {
        let mut block = [0; 16];
        block[..chunk.len()].copy_from_slice(chunk);
        state = multiply(state ^ u128::from_be_bytes(block), subkey(key));
    }
    state
}

/// X • Y, SP 800-38D §6.3. The most significant bit is the coefficient of x^0.
pub(super) fn multiply(x: u128, y: u128) -> u128 {
    let (x1, x0) = ((x >> 64) as u64, x as u64);
    let (y1, y0) = ((y >> 64) as u64, y as u64);
    // Karatsuba: three products of 64 bits.
    let low = carryless(x0, y0);
    let high = carryless(x1, y1);
    let middle = carryless(x0 ^ x1, y0 ^ y1) ^ low ^ high;
    // The product of two reversed polynomials is reversed, and one place short.
    let low_half = low ^ middle << 64;
    let high_half = high ^ middle >> 64;
    reduce(high_half << 1 | low_half >> 127, low_half << 1)
}

/// Reduces the polynomial `high + low x^128`, its bits reversed, modulo x^128 + x^7 + x^2 + x +
/// 1.
fn reduce(high: u128, low: u128) -> u128 {
    // The 128 coefficients above come down once, because x^128 = x^7 + x^2 + x + 1. The ones that
    // pass the far end come down a second time.
    let down = |v: u128| v ^ v >> 1 ^ v >> 2 ^ v >> 7;
    let over = low << 127 ^ low << 126 ^ low << 121;
    high ^ down(low) ^ down(over)
}

/// The 127-bit product of two polynomials of 64 bits.
fn carryless(x: u64, y: u64) -> u128 {
    let low = carryless_low(x, y);
    // The upper half is the lower half of the product of the reversed operands, reversed.
    let high = carryless_low(x.reverse_bits(), y.reverse_bits()).reverse_bits() >> 1;
    u128::from(high) << 64 | u128::from(low)
}

/// Returns the lower 64 bits of the product. Each operand is cut into four, with one bit in four
/// used. No more than fifteen bits then meet in a place below the highest nibble, and the carries
/// of their sum stay in the hole above it.
fn carryless_low(x: u64, y: u64) -> u64 {
    const HOLES: u64 = 0x1111_1111_1111_1111;
    let mut product = 0;
    for i in 0..4 {
        let mut sum = 0;
        for j in 0..4 {
            let k = (i + 4 - j) % 4;
            sum ^= (x & HOLES << j).wrapping_mul(y & HOLES << k);
        }
        product |= sum & HOLES << i;
    }
    product
}

/// Encrypts one block with AES.
unsafe fn cipher<C: FourBlocks>(schedule: &Schedule, block: u128) -> u128 {
    let mut blocks = [block.to_be_bytes(); 4];
    // SAFETY: as above.
    unsafe { C::encrypt(schedule, &mut blocks) };
    u128::from_be_bytes(blocks[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes SP 800-38D §6.3 step by step.
    fn multiply_by_shifts(x: u128, y: u128) -> u128 {
        let (mut z, mut v) = (0, y);
        for i in 0..128 {
            if x >> (127 - i) & 1 == 1 {
                z ^= v;
            }
            v = if v & 1 == 1 { v >> 1 ^ 0xe1 << 120 } else { v >> 1 };
        }
        z
    }

    #[test]
    fn miri_multiplication_is_that_of_the_standard() {
        let mut random = millstream_testkit::Random::new(1);
        let mut value = || u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        for _ in 0..200 {
            let (x, y) = (value(), value());
            assert_eq!(multiply(x, y), multiply_by_shifts(x, y));
        }
        assert_eq!(multiply(u128::MAX, u128::MAX), multiply_by_shifts(u128::MAX, u128::MAX));
    }
}
