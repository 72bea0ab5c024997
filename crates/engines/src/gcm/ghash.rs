//! GHASH with vectors of blocks, and the powers of its subkey.
//!
//! Ref. NIST SP 800-38D §6.4.
//!
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
//! The promises of `blocks.rs` hold here too.
#![allow(unsafe_code)]

use super::blocks::{BLOCK, Vector};
use super::{Key, POWERS};

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
    pub(super) fn sum(self) -> Sum<V::One> {
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

/// [`absorb`] with integers.
#[inline(always)]
pub(super) unsafe fn ghash<V: Vector>(key: &Key, state: u128, bytes: &[u8]) -> u128 {
    // SAFETY: as the caller.
    unsafe { V::value(absorb::<V>(key, V::one(state), bytes)) }
}

/// The GHASH state after `bytes`, filled up with zeros to whole blocks.
#[inline(always)]
pub(super) unsafe fn absorb<V: Vector>(key: &Key, mut hash: V::One, bytes: &[u8]) -> V::One {
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

/// Fills the table with the powers of the hash subkey.
#[inline(always)]
pub(super) unsafe fn powers<V: Vector>(key: &mut Key, subkey: u128) {
    // SAFETY: as the caller.
    unsafe {
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
