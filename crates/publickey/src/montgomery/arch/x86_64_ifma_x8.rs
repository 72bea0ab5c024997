//! Powers modulo eight numbers at once with AVX-512 IFMA: a number in each lane, its limbs of 52 bits one after another.
//! Numbers of 20 limbs, as the primes of RSA-2048 are, are multiplied in registers.
//!
//! Ref. S. Gueron, "Efficient software implementations of modular exponentiation" (2012).

use std::arch::x86_64::*;

use zeroize::Zeroizing;

pub(crate) use super::x86_64_ifma_x8_products::LANES;
use super::x86_64_ifma_x8_products::{Numbers, Wide, load, multiply, reduce, square, store};
use super::x86_64_ifma_x8_registers as registers;
use crate::montgomery::modulus::Modulus;
use crate::montgomery::power::{PublicPower, SecretPower, TABLE, WINDOW, window, windows};
use crate::montgomery::radix52::{LIMB, join, limbs_lanes};

/// Computes up to eight powers modulo numbers that take equally many limbs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn powers(jobs: &mut [SecretPower<'_>]) {
    let Some(first) = jobs.first() else { return };
    match limbs_lanes(first.modulus.len()) {
        10 => powers_of::<10>(jobs),
        20 => powers_of::<20>(jobs),
        30 => powers_of::<30>(jobs),
        _ => powers_of::<40>(jobs),
    }
}

/// Computes up to eight powers with public exponents modulo numbers that take equally many limbs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn powers_public(jobs: &mut [PublicPower<'_>]) {
    let Some(first) = jobs.first() else { return };
    match limbs_lanes(first.modulus.len()) {
        20 => powers_public_of::<20>(jobs),
        30 => powers_public_of::<30>(jobs),
        40 => powers_public_of::<40>(jobs),
        50 => powers_public_of::<50>(jobs),
        60 => powers_public_of::<60>(jobs),
        70 => powers_public_of::<70>(jobs),
        _ => powers_public_of::<80>(jobs),
    }
}

/// A modulus in each lane. Lanes without a job have the modulus one.
struct Fields<const K: usize> {
    modulus: Zeroizing<Numbers<K>>,
    square: Zeroizing<Numbers<K>>,
    inverse: Zeroizing<Numbers<1>>,
    product: Zeroizing<Wide<K>>,
}

impl<const K: usize> Fields<K> {
    fn of<'m, const W: usize>(moduli: impl Iterator<Item = &'m Modulus<W>>) -> Self {
        let mut fields = Fields {
            modulus: Zeroizing::new(Numbers::ZERO),
            square: Zeroizing::new(Numbers::ZERO),
            inverse: Zeroizing::new(Numbers::ZERO),
            product: Zeroizing::new(Wide::ZERO),
        };
        for (lane, modulus) in moduli.enumerate().take(LANES) {
            fields.modulus.set(lane, modulus.words());
            fields.square.set(lane, &modulus.radix52.square_lanes);
            fields.inverse.0[0][lane] = modulus.inverse() & LIMB;
        }
        fields
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply(&mut self, a: &Numbers<K>, b: &Numbers<K>, out: &mut Numbers<K>) {
        *out = *a;
        self.multiply_by(out, b);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply_by(&mut self, a: &mut Numbers<K>, b: &Numbers<K>) {
        let Fields { modulus, inverse, product, .. } = self;
        let inverse = &inverse.0[0];
        if let (Some(limbs), Some(a), Some(b)) = (modulus.0.as_array(), a.0.as_mut_array(), b.0.as_array()) {
            return registers::multiply_by(a, b, registers::Modulus { limbs, inverse });
        }
        multiply(a, b, product);
        reduce(modulus, load(inverse), product, a);
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn square(&mut self, a: &mut Numbers<K>) {
        let Fields { modulus, inverse, product, .. } = self;
        let inverse = &inverse.0[0];
        if let (Some(limbs), Some(a), Some(product)) =
            (modulus.0.as_array(), a.0.as_mut_array(), product.limbs().as_mut_array())
        {
            return registers::square(a, registers::Modulus { limbs, inverse }, product);
        }
        square(a, product);
        reduce(modulus, load(inverse), product, a);
    }

    /// Multiplies by R.
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn enter(&mut self, a: &Numbers<K>, out: &mut Numbers<K>) {
        let square = std::mem::replace(&mut self.square, Zeroizing::new(Numbers::ZERO));
        self.multiply(a, &square, out);
        self.square = square;
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn powers_of<const K: usize>(jobs: &mut [SecretPower<'_>]) {
    let mut fields = Fields::<K>::of(jobs.iter().map(|job| job.modulus));
    let mut table = Zeroizing::new([Numbers::<K>::ZERO; TABLE]);
    let mut acc = Zeroizing::new(Numbers::<K>::ZERO);
    let mut one = Numbers::<K>::ZERO;
    one.0[0] = [1; LANES];
    let mut words = 0;
    for (lane, job) in jobs.iter().enumerate() {
        acc.set(lane, &job.base);
        words = words.max(job.modulus.len());
    }
    fields.enter(&one, &mut table[0]);
    fields.enter(&acc, &mut table[1]);
    for i in 2..TABLE {
        let (below, this) = table.split_at_mut(i);
        if i % 2 == 0 {
            this[0] = below[i / 2];
            fields.square(&mut this[0]);
        } else {
            fields.multiply(&below[i - 1], &below[1], &mut this[0]);
        }
    }
    let mut factor = Zeroizing::new(Numbers::<K>::ZERO);
    let mut product = Zeroizing::new(Numbers::<K>::ZERO);
    for step in (0..windows(words, WINDOW)).rev() {
        let mut index = [0; LANES];
        for (index, job) in index.iter_mut().zip(jobs.iter()) {
            *index = window(job.exponent, step, WINDOW);
        }
        look_up(&table, &index, &mut factor);
        if step == windows(words, WINDOW) - 1 {
            *acc = *factor;
            continue;
        }
        for _ in 0..WINDOW {
            fields.square(&mut acc);
        }
        fields.multiply_by(&mut acc, &factor);
    }
    fields.multiply(&acc, &one, &mut product);
    for (lane, job) in jobs.iter_mut().enumerate() {
        finish(&product, lane, job.modulus, &mut job.out);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn powers_public_of<const K: usize>(jobs: &mut [PublicPower<'_>]) {
    let mut fields = Fields::<K>::of(jobs.iter().map(|job| job.modulus));
    let mut base = Zeroizing::new(Numbers::<K>::ZERO);
    let mut most = 3;
    for (lane, job) in jobs.iter().enumerate() {
        base.set(lane, &job.base);
        most = most.max(job.exponent);
    }
    let mut entered = Zeroizing::new(Numbers::<K>::ZERO);
    fields.enter(&base, &mut entered);
    // Lanes whose exponent is shorter begin with one.
    let mut acc = Zeroizing::new(Numbers::<K>::ZERO);
    let mut product = Zeroizing::new(Numbers::<K>::ZERO);
    let mut one = Numbers::<K>::ZERO;
    one.0[0] = [1; LANES];
    fields.enter(&one, &mut acc);
    for bit in (0..=most.ilog2()).rev() {
        let bits = |job: &PublicPower<'_>| job.exponent >> bit & 1;
        let with = jobs.iter().enumerate().fold(0, |with, (lane, job)| with | (bits(job) as u8) << lane);
        if bit < most.ilog2() {
            fields.square(&mut acc);
        }
        if bit == 0 {
            // All exponents are odd. The last factor is not in Montgomery's representation, and takes the product out of it.
            fields.multiply(&acc, &base, &mut product);
        } else if bit == most.ilog2() {
            blend(with, &entered, &mut acc);
        } else if with != 0 {
            fields.multiply(&acc, &entered, &mut product);
            blend(with, &product, &mut acc);
        }
    }
    for (lane, job) in jobs.iter_mut().enumerate() {
        finish(&product, lane, job.modulus, &mut job.out);
    }
}

/// Takes over the lanes whose bit is set.
#[target_feature(enable = "avx512f")]
fn blend<const K: usize>(with: u8, from: &Numbers<K>, into: &mut Numbers<K>) {
    for i in 0..K {
        let blended = _mm512_mask_mov_epi64(load(&into.0[i]), with, load(&from.0[i]));
        store(&mut into.0[i], blended);
    }
}

/// Joins the limbs of a lane, whose number is below twice the modulus, and reduces it.
fn finish<const K: usize, const W: usize>(
    numbers: &Numbers<K>,
    lane: usize,
    modulus: &Modulus<W>,
    out: &mut [u64; W],
) {
    let n = modulus.len();
    let mut joined = Zeroizing::new([[0; W]; 2]);
    let joined = joined.as_flattened_mut();
    join(numbers.0.iter().map(|limbs| limbs[lane] & LIMB), &mut joined[..n + 1]);
    out.fill(0);
    out[..n].copy_from_slice(&joined[..n]);
    modulus.reduce_once(&mut out[..n], joined[n]);
}

/// Reads an entry of the table for each lane, and all others under masks.
#[target_feature(enable = "avx512f")]
fn look_up<const K: usize>(table: &[Numbers<K>; TABLE], index: &[u64; LANES], out: &mut Numbers<K>) {
    // An entry's mask is made anew for each part. With 20 limbs the whole entry fits into registers, and the table is read in one go; with more,
    // two wide parts were slower than several narrow ones.
    match K {
        20 => look_up_parts::<K, 20>(table, index, out),
        _ => look_up_parts::<K, 10>(table, index, out),
    }
}

/// Reads so many limbs of the entries at a time.
#[inline]
#[target_feature(enable = "avx512f")]
fn look_up_parts<const K: usize, const PART: usize>(
    table: &[Numbers<K>; TABLE],
    index: &[u64; LANES],
    out: &mut Numbers<K>,
) {
    let index = load(index);
    for begin in (0..K).step_by(PART) {
        let mut found = [_mm512_setzero_si512(); PART];
        for i in 0..TABLE {
            let here = _mm512_cmpeq_epi64_mask(index, _mm512_set1_epi64(i as i64));
            let limbs = &table[i].0[begin..begin + PART];
            for j in 0..PART {
                found[j] = _mm512_mask_mov_epi64(found[j], here, load(&limbs[j]));
            }
        }
        let limbs = &mut out.0[begin..begin + PART];
        for j in 0..PART {
            store(&mut limbs[j], found[j]);
        }
    }
}
