//! Poly1305 in two 64-bit limbs and a small third one, in constant time. Every kernel uses it for
//! data that is too short for vectors.
//!
//! Ref. RFC 8439 §2.5.

use zeroize::Zeroize;

/// Bytes in a block.
pub(crate) const BLOCK: usize = 16;

/// The accumulator of one message and its one-time key.
#[derive(Clone)]
pub(crate) struct Poly1305 {
    /// The accumulator, below 2^131.
    pub(crate) h: [u64; 3],
    /// The clamped multiplier.
    pub(crate) r: [u64; 2],
    /// The second half of the one-time key, which is added at the end.
    s: [u64; 2],
    /// Powers of the multiplier in the form of the kernel that made them, if one did.
    pub(crate) powers: Option<Powers>,
    /// Blocks that came in pieces too short for a kernel's vectors.
    short: usize,
}

/// Powers of the multiplier for a vector kernel: its own limbs, one power an element.
#[derive(Clone, Zeroize)]
#[repr(align(64))]
pub(crate) struct Powers(pub(crate) [[u64; 8]; 6]);

impl Poly1305 {
    /// Begins a message. RFC 8439 §2.5.1: the first half of the key is clamped.
    #[inline(always)]
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let word = |i: usize| u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|j| key[8 * i + j]));
        let r = [word(0) & 0x0fff_fffc_0fff_ffff, word(1) & 0x0fff_fffc_0fff_fffc];
        Poly1305 { h: [0; 3], r, s: [word(2), word(3)], powers: None, short: 0 }
    }

    /// Returns another MAC of the blocks so far, without the powers, for the few blocks that end
    /// it.
    pub(crate) fn copy(&self) -> Self {
        Poly1305 { h: self.h, r: self.r, s: self.s, powers: None, short: self.short }
    }

    /// Tells whether a piece of so many blocks is worth a kernel's vectors: if it has at least `alone` blocks, for which the
    /// powers are made; or at least `with_powers`, if the powers are there, or so many blocks came in short pieces that the
    /// message would have been worth them.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    #[inline(always)]
    pub(crate) fn is_worth_vectors(&mut self, blocks: usize, alone: usize, with_powers: usize) -> bool {
        if blocks >= alone {
            return true;
        }
        if self.powers.is_none() && self.short < alone {
            self.short += blocks;
            return false;
        }
        blocks >= with_powers
    }

    /// Adds one whole block.
    #[inline(always)]
    pub(crate) fn block(&mut self, block: [u8; BLOCK]) {
        self.h = step(self.h, self.r, u128::from_le_bytes(block), 1);
    }

    /// Adds whole blocks, one after the other.
    #[inline(always)]
    pub(crate) fn blocks(&mut self, data: &[u8]) {
        let (blocks, rest) = data.as_chunks::<BLOCK>();
        debug_assert!(rest.is_empty());
        let mut h = self.h;
        for block in blocks {
            h = step(h, self.r, u128::from_le_bytes(*block), 1);
        }
        self.h = h;
    }

    /// Adds the bytes of a last, incomplete block, filled up with zeros (RFC 8439 §2.8: pad16).
    #[inline(always)]
    pub(crate) fn padded(&mut self, tail: &[u8]) {
        if !tail.is_empty() {
            self.h = step(self.h, self.r, filled_up(tail), 1);
        }
    }

    /// Adds the lengths of associated data and data in bytes, which end an AEAD's message
    /// (RFC 8439 §2.8).
    #[inline(always)]
    pub(crate) fn lengths(&mut self, aad: u64, data: u64) {
        self.h = step(self.h, self.r, u128::from(aad) | u128::from(data) << 64, 1);
    }

    /// Returns the tag: the accumulator reduced modulo 2^130 - 5, plus `s`.
    #[inline(always)]
    pub(crate) fn tag(&self) -> [u8; BLOCK] {
        let [h0, h1, h2] = self.h;
        let low = u128::from(h0) | u128::from(h1) << 64;
        // With h < 2^131 there are at most two moduli to take off: q of them, where q is the
        // part above 2^130 of h + 5, itself corrected by what q more fives carry.
        let folded = h2 >> 2;
        let (low, carry) = low.overflowing_add(u128::from(folded * 5));
        let h2 = (h2 & 3) + u64::from(carry);
        let (reduced, carry) = low.overflowing_add(5);
        let above = (h2 + u64::from(carry)) >> 2;
        let mask = 0u128.wrapping_sub(u128::from(above));
        let h = low ^ (mask & (low ^ reduced));
        h.wrapping_add(u128::from(self.s[0]) | u128::from(self.s[1]) << 64).to_le_bytes()
    }
}

/// (h + block + 2^128 top) r, reduced to less than 5 * 2^128; `top` is 1 for a whole block.
#[inline(always)]
pub(crate) fn step(h: [u64; 3], r: [u64; 2], block: u128, top: u64) -> [u64; 3] {
    let (h0, carry) = h[0].overflowing_add(block as u64);
    let (h1, carry1) = h[1].overflowing_add((block >> 64) as u64);
    let (h1, carry2) = h1.overflowing_add(u64::from(carry));
    let h2 = h[2] + top + u64::from(carry1) + u64::from(carry2);

    // r[1] is a multiple of 4, so 2^128 r[1] = 2^130 (r[1] / 4) = 5 (r[1] / 4), exactly.
    let s1 = r[1] + (r[1] >> 2);
    let d0 = wide(h0, r[0]) + wide(h1, s1);
    let d1 = wide(h0, r[1]) + wide(h1, r[0]) + u128::from(h2 * s1);
    let d2 = h2 * r[0];

    let d1 = d1 + (d0 >> 64);
    let d2 = d2 + (d1 >> 64) as u64;
    let low = u128::from(d0 as u64) | u128::from(d1 as u64) << 64;
    let (low, carry) = low.overflowing_add(u128::from((d2 >> 2) + (d2 & !3)));
    [low as u64, (low >> 64) as u64, (d2 & 3) + u64::from(carry)]
}

/// Returns 1 to 15 bytes as a little-endian number. Two overlapping loads make it; a copy of so
/// few bytes would cost a call.
#[inline(always)]
pub(crate) fn filled_up(tail: &[u8]) -> u128 {
    let n = tail.len();
    let upper_half = |low: u64, high: u64, size: usize| {
        // The second load holds the last `size` bytes, of which the first load has some already.
        u128::from(low) | u128::from(high) << (8 * (n - size))
    };
    if let (Some(low), Some(high)) = (tail.first_chunk(), tail.last_chunk()) {
        upper_half(u64::from_le_bytes(*low), u64::from_le_bytes(*high), 8)
    } else if let (Some(low), Some(high)) = (tail.first_chunk(), tail.last_chunk()) {
        upper_half(u32::from_le_bytes(*low).into(), u32::from_le_bytes(*high).into(), 4)
    } else {
        let middle = u64::from(tail[n / 2]) << (8 * (n / 2));
        upper_half(u64::from(tail[0]) | middle, tail[n - 1].into(), 1)
    }
}

#[inline(always)]
fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Drop for Poly1305 {
    #[inline(always)]
    fn drop(&mut self) {
        self.h = [0; 3];
        self.r = [0; 2];
        self.s = [0; 2];
        if let Some(powers) = &mut self.powers {
            powers.0 = [[0; 8]; 6];
        }
        // The barrier keeps the stores above from being dropped as dead.
        zeroize::optimization_barrier(self);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::{cavp, hex, hex_array};

    fn poly1305(key: &[u8; 32], message: &[u8]) -> [u8; 16] {
        let mut mac = Poly1305::new(key);
        let (whole, tail) = message.split_at(message.len() / BLOCK * BLOCK);
        mac.blocks(whole);
        if !tail.is_empty() {
            // Poly1305 alone marks the end with a one bit, while the AEAD fills the block up with
            // zeros.
            let mut block = [0; BLOCK];
            block[..tail.len()].copy_from_slice(tail);
            block[tail.len()] = 1;
            mac.h = step(mac.h, mac.r, u128::from_le_bytes(block), 0);
        }
        mac.tag()
    }

    /// RFC 8439 §2.5.2 and the vectors of appendix A.3.
    #[test]
    fn published_tags() {
        let key = hex_array("85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b");
        let tag = poly1305(&key, b"Cryptographic Forum Research Group");
        assert_eq!(tag, hex_array("a8061dc1305136c6c22b8baf0c0127a9"));
        let cases = cavp::cases("poly1305/rfc7539.txt");
        for case in &cases {
            assert_eq!(poly1305(&hex_array(&case["KEY"]), &hex(&case["MSG"])).to_vec(), hex(&case["TAG"]));
        }
        assert_eq!(cases.len(), 11);
    }
}
