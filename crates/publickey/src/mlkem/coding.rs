//! Numbers of a few bits in bytes, noise, and rejection: the parts that are the same on every processor.
//!
//! Ref. FIPS 203 §4.2.1 and §4.2.2.

use super::poly::{N, Poly};
use super::tables::Q;

/// Writes eight numbers of `D` bits. Every two of them have been put together, in the 32 bits of both.
#[inline(always)]
pub(super) fn pack<const D: usize>(pairs: [u32; 4], out: &mut [u8]) {
    let four = |first, second| u64::from(first) | u64::from(second) << (2 * D);
    let eight = u128::from(four(pairs[0], pairs[1])) | u128::from(four(pairs[2], pairs[3])) << (4 * D);
    out.copy_from_slice(&eight.to_le_bytes()[..D]);
}

/// Reads eight numbers of `D` bits.
#[inline(always)]
pub(super) fn unpack<const D: usize>(bytes: &[u8]) -> [i16; 8] {
    let (fours, mut numbers) = (fours::<D>(bytes), [0; 8]);
    for j in 0..8 {
        numbers[j] = (fours[j / 4] >> (D * (j % 4)) & ((1 << D) - 1)) as i16;
    }
    numbers
}

/// Returns the first four of eight numbers in `D` bytes, and the other four.
#[inline(always)]
fn fours<const D: usize>(bytes: &[u8]) -> [u64; 2] {
    if D >= 8 {
        // The last eight bytes begin in the midst of the first four numbers.
        let mut ends = [[0; 8]; 2];
        ends[0].copy_from_slice(&bytes[..8]);
        ends[1].copy_from_slice(&bytes[D - 8..D]);
        let [first, last] = ends.map(u64::from_le_bytes);
        return [first, last >> (64 - 4 * D)];
    }
    let mut eight = 0;
    for i in 0..D {
        eight |= u64::from(bytes[i]) << (8 * i);
    }
    [eight, eight >> (4 * D)]
}

/// Differences of two sums of two bits each: FIPS 203 §4.2.2, algorithm 8 for eta = 2.
#[inline(always)]
pub(super) fn noise2(bytes: &[u8; 128], poly: &mut Poly) {
    let (pairs, _) = poly.0.as_chunks_mut::<2>();
    for i in 0..128 {
        let sums = (bytes[i] & 0x55) + (bytes[i] >> 1 & 0x55);
        pairs[i][0] = i16::from(sums & 3) - i16::from(sums >> 2 & 3);
        pairs[i][1] = i16::from(sums >> 4 & 3) - i16::from(sums >> 6);
    }
}

/// Differences of two sums of three bits each: the same for eta = 3.
pub(super) fn noise3(bytes: &[u8; 192], poly: &mut Poly) {
    let (threes, _) = bytes.as_chunks::<3>();
    for (numbers, three) in poly.0.as_chunks_mut::<4>().0.iter_mut().zip(threes) {
        let bits = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        let sums = (bits & 0x24_9249) + (bits >> 1 & 0x24_9249) + (bits >> 2 & 0x24_9249);
        for (i, number) in numbers.iter_mut().enumerate() {
            *number = (sums >> (6 * i) & 7) as i16 - (sums >> (6 * i + 3) & 7) as i16;
        }
    }
}

/// Numbers of 12 bits that are below q: FIPS 203 §4.2.2, algorithm 7. Returns how many there are with the first `have`.
#[inline(always)]
pub(super) fn sample_vartime(bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
    let mut have = have;
    for three in bytes.as_chunks::<3>().0 {
        let both = u32::from_le_bytes([three[0], three[1], three[2], 0]);
        for number in [both & 0xfff, both >> 12] {
            if have < N && number < Q as u32 {
                poly.0[have] = number as i16;
                have += 1;
            }
        }
    }
    have
}
