//! Numbers of a few bits in bytes, rejection, hints in signatures: the parts that are the same on every processor.
//!
//! Ref. FIPS 204 §7.1 and §7.3.

use super::poly::{N, Poly};
use super::set::Set;
use super::tables::Q;

/// Writes numbers of `D` bits. Every two of them have been put together, in the 64 bits of both.
#[inline(always)]
pub(super) fn pack<const D: i32>(pairs: &Poly, out: &mut [u8]) {
    let bits = D as usize;
    let pair = |at: usize| u128::from(pairs.0[at] as u32) | u128::from(pairs.0[at + 1] as u32) << 32;
    for i in 0..N / 8 {
        let mut fours = [0_u128; 2];
        for j in 0..2 {
            let at = 8 * i + 4 * j;
            fours[j] = pair(at) | pair(at + 2) << (2 * bits);
        }
        let out = &mut out[bits * i..bits * (i + 1)];
        if bits <= 16 {
            let eight = fours[0] | fours[1] << (4 * bits);
            out.copy_from_slice(&eight.to_le_bytes()[..bits]);
        } else {
            // Four numbers have whole bytes.
            let (first, second) = out.split_at_mut(bits / 2);
            first.copy_from_slice(&fours[0].to_le_bytes()[..bits / 2]);
            second.copy_from_slice(&fours[1].to_le_bytes()[..bits / 2]);
        }
    }
}

/// Reads numbers of `D` bits, at most 16.
#[inline(always)]
pub(super) fn unpack<const D: usize>(bytes: &[u8], poly: &mut Poly) {
    for i in 0..N / 8 {
        let mut eight = [0; 16];
        eight[..D].copy_from_slice(&bytes[D * i..D * (i + 1)]);
        let eight = u128::from_le_bytes(eight);
        for j in 0..8 {
            poly.0[8 * i + j] = (eight >> (D * j)) as i32 & ((1 << D) - 1);
        }
    }
}

/// Numbers of 23 bits that are below q: FIPS 204 §7.3, algorithms 14 and 30. Returns how many there are with the first `have`.
#[inline(always)]
pub(super) fn sample_vartime(bytes: &[u8], poly: &mut Poly, have: usize) -> usize {
    let mut have = have;
    for three in bytes.as_chunks::<3>().0 {
        let number = i32::from_le_bytes([three[0], three[1], three[2] & 0x7f, 0]);
        if have < N && number < Q {
            poly.0[have] = number;
            have += 1;
        }
    }
    have
}

/// Numbers between -eta and eta, of half bytes that are small enough: FIPS 204 §7.3, algorithms 15 and 31. Returns how many there are with
/// the first `have`.
///
/// Nothing branches on a half byte, and a number is written before it is known whether it counts. Where it is written tells which half bytes did
/// not count. That says nothing about the others, as each half byte is drawn independently.
#[inline(always)]
pub(super) fn sample_small(bytes: &[u8], eta: i32, poly: &mut Poly, have: usize) -> usize {
    let mut have = have;
    for &byte in bytes {
        for half in [i32::from(byte & 15), i32::from(byte >> 4)] {
            // 205 / 1024 is nearly a fifth.
            let (number, limit) = if eta == 2 { (half - ((205 * half) >> 10) * 5, 15) } else { (half, 9) };
            if have < N {
                poly.0[have] = eta - number;
            }
            have += ((half - limit) as u32 >> 31) as usize;
        }
    }
    have.min(N)
}

/// A challenge while it is drawn.
#[derive(Clone, Copy)]
pub(super) struct Draw {
    signs: u64,
    next: usize,
}

impl Draw {
    /// Begins with the first 8 bytes of the stream, which are the signs.
    pub(super) fn new(set: Set, signs: u64) -> Self {
        Draw { signs, next: N - set.tau() }
    }

    /// Draws from more bytes of the stream: FIPS 204 §7.3, algorithm 29, lines 6 to 13. Returns true when the challenge is complete.
    pub(super) fn draw_vartime(&mut self, bytes: &[u8], poly: &mut Poly) -> bool {
        for &byte in bytes {
            if self.next == N {
                return true;
            }
            let place = usize::from(byte);
            if place <= self.next {
                poly.0[self.next] = poly.0[place];
                poly.0[place] = 1 - 2 * (self.signs & 1) as i32;
                self.signs >>= 1;
                self.next += 1;
            }
        }
        self.next == N
    }
}

/// Writes a hint, whose ones are public: FIPS 204 §7.1, algorithm 20.
pub(super) fn pack_hint(set: Set, hint: &[Poly], out: &mut [u8]) {
    let (places, ends) = out.split_at_mut(set.ones());
    places.fill(0);
    let mut count = 0;
    for (poly, end) in hint.iter().zip(ends) {
        for place in (0..N).filter(|place| poly.0[*place] != 0) {
            places[count] = place as u8;
            count += 1;
        }
        *end = count as u8;
    }
}

/// Reads a hint. Returns false unless it is the one encoding that its ones have: FIPS 204 §7.1, algorithm 21.
pub(super) fn unpack_hint(set: Set, bytes: &[u8], hint: &mut [Poly]) -> bool {
    let (places, ends) = bytes.split_at(set.ones());
    let mut from = 0;
    for (poly, &end) in hint.iter_mut().zip(ends) {
        *poly = Poly::ZERO;
        let Some(now) = places.get(from..usize::from(end)) else { return false };
        if !now.is_sorted_by(|a, b| a < b) {
            return false;
        }
        for &place in now {
            poly.0[usize::from(place)] = 1;
        }
        from = usize::from(end);
    }
    places[from..].iter().all(|place| *place == 0)
}
