//! Powers modulo one number with AVX-512 IFMA: limbs of 52 bits side by side in vectors.
//!
//! The modulus N is replaced by a multiple that is 2^52 S - 1. A number F then becomes `F / 2^52` modulo N when its lowest limb q is
//! taken off and `q S` is added to the limbs above: the limb that is taken off is itself the quotient, so that no
//! multiplication stands between a step and the next. Numbers stay below twice the multiple, and are reduced in the end.
//!
//! Ref. S. Gueron and V. Krasnov, "Software implementation of modular exponentiation, using advanced vector instructions
//! architectures" (2012).
//!
//! # Safety
//! Loads and stores are of whole vectors in arrays of theirs.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use zeroize::{Zeroize, Zeroizing};

use crate::montgomery::modulus::Modulus;
use crate::montgomery::power::{TABLE, WINDOW, window, windows};
use crate::montgomery::radix52::{LIMB, join, limb, limbs_alone};

/// A modulus, a base, a secret exponent, and where the power goes.
pub(crate) struct Secret<'a, const W: usize> {
    pub(crate) modulus: &'a Modulus<W>,
    /// The base, which is reduced.
    pub(crate) base: &'a [u64; W],
    pub(crate) exponent: &'a [u64; W],
    pub(crate) out: &'a mut [u64; W],
}

/// Computes two powers modulo numbers of equally many words, of at most 32. Both are computed in step, because one alone leaves the multipliers idle while it
/// waits for its quotients.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn power_pair<const W: usize>(pair: [Secret<'_, W>; 2]) {
    match limbs_alone(pair[0].modulus.len()).div_ceil(8) {
        2 => pair_of::<2, W>(pair),
        3 => pair_of::<3, W>(pair),
        4 => pair_of::<4, W>(pair),
        5 => pair_of::<5, W>(pair),
        _ => pair_of::<6, W>(pair),
    }
}

/// Computes a power with a secret exponent of any number of words, modulo a number of 2048 bits or more.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn power_alone<const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64; W],
    exponent: &[u64],
    out: &mut [u64; W],
) {
    match limbs_alone(modulus.len()).div_ceil(8) {
        6 => alone_of::<6, W>(modulus, base, exponent, out),
        7 => alone_of::<7, W>(modulus, base, exponent, out),
        8 => alone_of::<8, W>(modulus, base, exponent, out),
        9 => alone_of::<9, W>(modulus, base, exponent, out),
        _ => alone_of::<10, W>(modulus, base, exponent, out),
    }
}

/// Computes a power with a public exponent that is odd and not one.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(crate) fn power_public<const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64; W],
    exponent: u64,
    out: &mut [u64; W],
) {
    match limbs_alone(modulus.len()).div_ceil(8) {
        3 => public_of::<3, W>(modulus, base, exponent, out),
        4 => public_of::<4, W>(modulus, base, exponent, out),
        5 => public_of::<5, W>(modulus, base, exponent, out),
        6 => public_of::<6, W>(modulus, base, exponent, out),
        7 => public_of::<7, W>(modulus, base, exponent, out),
        8 => public_of::<8, W>(modulus, base, exponent, out),
        9 => public_of::<9, W>(modulus, base, exponent, out),
        _ => public_of::<10, W>(modulus, base, exponent, out),
    }
}

/// A number in limbs.
#[derive(Clone, Copy, Zeroize)]
#[repr(C, align(64))]
struct Limbs<const V: usize>([[u64; 8]; V]);

impl<const V: usize> Limbs<V> {
    const ZERO: Self = Limbs([[0; 8]; V]);

    fn of(words: &[u64]) -> Self {
        let mut limbs = Limbs::ZERO;
        for (i, out) in limbs.0.as_flattened_mut().iter_mut().enumerate() {
            *out = limb(words, i);
        }
        limbs
    }

    fn one() -> Self {
        let mut limbs = Limbs::ZERO;
        limbs.0[0][0] = 1;
        limbs
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(&self) -> [__m512i; V] {
        let mut vectors = [_mm512_setzero_si512(); V];
        for v in 0..V {
            // SAFETY: an array of eight words is a vector.
            vectors[v] = unsafe { _mm512_loadu_si512(self.0[v].as_ptr().cast()) };
        }
        vectors
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(&mut self, vectors: [__m512i; V]) {
        for v in 0..V {
            // SAFETY: an array of eight words is a vector.
            unsafe { _mm512_storeu_si512(self.0[v].as_mut_ptr().cast(), vectors[v]) };
        }
    }
}

/// A modulus as the multiplication takes it.
struct Field<const V: usize> {
    limbs: usize,
    scaled: Zeroizing<Limbs<V>>,
    square: Zeroizing<Limbs<V>>,
}

impl<const V: usize> Field<V> {
    fn of<const W: usize>(modulus: &Modulus<W>) -> Self {
        Field {
            limbs: limbs_alone(modulus.len()),
            scaled: Zeroizing::new(Limbs::of(&modulus.radix52.scaled)),
            square: Zeroizing::new(Limbs::of(&modulus.radix52.square_alone)),
        }
    }

    /// Multiplies and divides by R.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn multiply(&self, a: &Limbs<V>, b: &Limbs<V>) -> Limbs<V> {
        let mut out = Limbs::ZERO;
        multiply(&self.scaled, self.limbs, a, b, &mut out);
        out
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn pair_of<const V: usize, const W: usize>(pair: [Secret<'_, W>; 2]) {
    let n = pair[0].modulus.len();
    let fields: [Field<V>; 2] = [Field::of(pair[0].modulus), Field::of(pair[1].modulus)];
    let mut tables = Zeroizing::new([[Limbs::<V>::ZERO; TABLE]; 2]);
    for half in 0..2 {
        let (field, table) = (&fields[half], &mut tables[half]);
        table[0] = field.multiply(&Limbs::one(), &field.square);
        table[1] = field.multiply(&Limbs::of(pair[half].base), &field.square);
        for i in 2..TABLE {
            table[i] = field.multiply(&table[i - 1], &table[1]);
        }
    }
    let scaled = [&*fields[0].scaled, &*fields[1].scaled];
    let mut acc = Zeroizing::new([Limbs::<V>::ZERO; 2]);
    let mut factor = Zeroizing::new([Limbs::<V>::ZERO; 2]);
    for step in (0..windows(n, WINDOW)).rev() {
        for half in 0..2 {
            look_up(&tables[half], window(pair[half].exponent, step, WINDOW), &mut factor[half]);
        }
        if step == windows(n, WINDOW) - 1 {
            std::mem::swap(&mut acc, &mut factor);
            continue;
        }
        for _ in 0..WINDOW {
            multiply_pair(&scaled, fields[0].limbs, &mut acc, None);
        }
        multiply_pair(&scaled, fields[0].limbs, &mut acc, Some(&factor));
    }
    for (half, secret) in pair.into_iter().enumerate() {
        acc[half] = fields[half].multiply(&acc[half], &Limbs::one());
        finish(secret.modulus, &acc[half], secret.out);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn alone_of<const V: usize, const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64; W],
    exponent: &[u64],
    out: &mut [u64; W],
) {
    let field = Field::<V>::of(modulus);
    let mut table = Zeroizing::new([Limbs::<V>::ZERO; TABLE]);
    table[0] = field.multiply(&Limbs::one(), &field.square);
    table[1] = field.multiply(&Limbs::of(base), &field.square);
    for i in 2..TABLE {
        table[i] = field.multiply(&table[i - 1], &table[1]);
    }
    let mut acc = Zeroizing::new(table[0]);
    let mut factor = Zeroizing::new(Limbs::ZERO);
    for step in (0..windows(exponent.len(), WINDOW)).rev() {
        for _ in 0..WINDOW {
            *acc = field.multiply(&acc, &acc);
        }
        look_up(&table, window(exponent, step, WINDOW), &mut factor);
        *acc = field.multiply(&acc, &factor);
    }
    *acc = field.multiply(&acc, &Limbs::one());
    finish(modulus, &acc, out);
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn public_of<const V: usize, const W: usize>(
    modulus: &Modulus<W>,
    base: &[u64; W],
    exponent: u64,
    out: &mut [u64; W],
) {
    let field = Field::<V>::of(modulus);
    let base = Zeroizing::new(Limbs::<V>::of(base));
    let entered = Zeroizing::new(field.multiply(&base, &field.square));
    let mut acc = entered.clone();
    for bit in (0..exponent.ilog2()).rev() {
        *acc = field.multiply(&acc, &acc);
        if bit == 0 {
            // The last factor is not in Montgomery's representation, and takes the product out of it.
            *acc = field.multiply(&acc, &base);
        } else if exponent >> bit & 1 == 1 {
            *acc = field.multiply(&acc, &entered);
        }
    }
    finish(modulus, &acc, out);
}

/// Reduces a number below twice the multiple of the modulus.
fn finish<const V: usize, const W: usize>(modulus: &Modulus<W>, limbs: &Limbs<V>, out: &mut [u64; W]) {
    let n = modulus.len();
    let mut wide = Zeroizing::new([[0; W]; 2]);
    let wide = wide.as_flattened_mut();
    join(limbs.0.as_flattened().iter().copied(), &mut wide[..2 * n]);
    out.fill(0);
    modulus.reduce(&mut wide[..2 * n], out);
}

/// Reads an entry of the table, and all others under a mask.
#[inline]
#[target_feature(enable = "avx512f")]
fn look_up<const V: usize>(table: &[Limbs<V>; TABLE], index: u64, out: &mut Limbs<V>) {
    let index = _mm512_set1_epi64(index as i64);
    let mut found = [_mm512_setzero_si512(); V];
    for i in 0..TABLE {
        let here = _mm512_cmpeq_epi64_mask(index, _mm512_set1_epi64(i as i64));
        let entry = table[i].load();
        for v in 0..V {
            found[v] = _mm512_mask_mov_epi64(found[v], here, entry[v]);
        }
    }
    out.store(found);
}

/// Multiplies two numbers below twice the multiple of the modulus, and divides by R. The product is below that, too.
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply<const V: usize>(scaled: &Limbs<V>, limbs: usize, a: &Limbs<V>, b: &Limbs<V>, out: &mut Limbs<V>) {
    let zero = _mm512_setzero_si512();
    let (scaled, a, b) = (scaled.load(), a.load(), &b.0.as_flattened()[..limbs]);
    let mut quotient = zero;
    let mut digit = _mm512_set1_epi64(b[0] as i64);
    let mut sum = [zero; V];
    for v in 0..V {
        sum[v] = _mm512_madd52lo_epu64(zero, a[v], digit);
    }
    for i in 1..limbs {
        let next = _mm512_set1_epi64(b[i] as i64);
        let mut more = [zero; V];
        for v in 0..V {
            more[v] = _mm512_madd52lo_epu64(zero, a[v], next);
            more[v] = _mm512_madd52hi_epu64(more[v], a[v], digit);
            more[v] = _mm512_madd52hi_epu64(more[v], scaled[v], quotient);
        }
        (sum, quotient) = step(sum, more, &scaled);
        digit = next;
    }
    let mut more = [zero; V];
    for v in 0..V {
        more[v] = _mm512_madd52hi_epu64(zero, a[v], digit);
        more[v] = _mm512_madd52hi_epu64(more[v], scaled[v], quotient);
    }
    (sum, quotient) = step(sum, more, &scaled);
    let mut above = [zero; V];
    for v in 0..V {
        above[v] = _mm512_madd52hi_epu64(zero, scaled[v], quotient);
    }
    out.store(carry(sum, above));
}

/// Multiplies two pairs of numbers in step; squares where there is no factor.
#[target_feature(enable = "avx512f,avx512ifma")]
fn multiply_pair<const V: usize>(
    scaled: &[&Limbs<V>; 2],
    limbs: usize,
    acc: &mut [Limbs<V>; 2],
    factor: Option<&[Limbs<V>; 2]>,
) {
    let zero = _mm512_setzero_si512();
    let a = [acc[0].load(), acc[1].load()];
    let scaled = [scaled[0].load(), scaled[1].load()];
    let b = factor.unwrap_or(acc);
    let b = [&b[0].0.as_flattened()[..limbs], &b[1].0.as_flattened()[..limbs]];
    let mut quotient = [zero; 2];
    let first = |half: usize| match factor {
        Some(_) => _mm512_set1_epi64(b[half][0] as i64),
        // The lowest limb is in a register already.
        None => _mm512_broadcastq_epi64(_mm512_castsi512_si128(a[half][0])),
    };
    let mut digit = [first(0), first(1)];
    let mut sum = [[zero; V]; 2];
    for half in 0..2 {
        for v in 0..V {
            sum[half][v] = _mm512_madd52lo_epu64(zero, a[half][v], digit[half]);
        }
    }
    for i in 1..limbs {
        for half in 0..2 {
            let next = _mm512_set1_epi64(b[half][i] as i64);
            let mut more = [zero; V];
            for v in 0..V {
                more[v] = _mm512_madd52lo_epu64(zero, a[half][v], next);
                more[v] = _mm512_madd52hi_epu64(more[v], a[half][v], digit[half]);
                more[v] = _mm512_madd52hi_epu64(more[v], scaled[half][v], quotient[half]);
            }
            (sum[half], quotient[half]) = step(sum[half], more, &scaled[half]);
            digit[half] = next;
        }
    }
    for half in 0..2 {
        let mut more = [zero; V];
        for v in 0..V {
            more[v] = _mm512_madd52hi_epu64(zero, a[half][v], digit[half]);
            more[v] = _mm512_madd52hi_epu64(more[v], scaled[half][v], quotient[half]);
        }
        (sum[half], quotient[half]) = step(sum[half], more, &scaled[half]);
        let mut above = [zero; V];
        for v in 0..V {
            above[v] = _mm512_madd52hi_epu64(zero, scaled[half][v], quotient[half]);
        }
        acc[half].store(carry(sum[half], above));
    }
}

/// Takes the lowest limb off, and adds what is to come to the limbs above. Returns the limb in all elements, too.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn step<const V: usize>(
    sum: [__m512i; V],
    mut more: [__m512i; V],
    scaled: &[__m512i; V],
) -> ([__m512i; V], __m512i) {
    let quotient = _mm512_broadcastq_epi64(_mm512_castsi512_si128(sum[0]));
    let mut next = [_mm512_setzero_si512(); V];
    for v in 0..V {
        more[v] = _mm512_madd52lo_epu64(more[v], scaled[v], quotient);
        let above = if v + 1 < V { sum[v + 1] } else { _mm512_setzero_si512() };
        next[v] = _mm512_alignr_epi64::<1>(above, sum[v]);
    }
    let carried = _mm512_srli_epi64::<52>(sum[0]);
    next[0] = _mm512_mask_add_epi64(next[0], 1, next[0], carried);
    for v in 0..V {
        next[v] = _mm512_add_epi64(next[v], more[v]);
    }
    (next, quotient)
}

/// Adds limbs that belong one place higher, and carries until every limb has 52 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry<const V: usize>(mut sum: [__m512i; V], above: [__m512i; V]) -> [__m512i; V] {
    let mask = _mm512_set1_epi64(LIMB as i64);
    sum = carry_once(sum, above);
    // A limb now exceeds 52 bits by two at most.
    sum = carry_once(sum, [_mm512_setzero_si512(); V]);
    // The carries left are ones: each comes from a limb that is too large, and goes on through limbs that are full.
    let (mut beyond, mut full) = ([0u8; 16], [0u8; 16]);
    for v in 0..V {
        beyond[v] = _mm512_cmpgt_epu64_mask(sum[v], mask);
        full[v] = _mm512_cmpeq_epu64_mask(sum[v], mask);
    }
    let carried = if V <= 8 {
        let (beyond, full) = (low_half(beyond), low_half(full));
        u128::from((beyond << 1).wrapping_add(full) ^ full)
    } else {
        let (beyond, full) = (u128::from_le_bytes(beyond), u128::from_le_bytes(full));
        (beyond << 1).wrapping_add(full) ^ full
    };
    for v in 0..V {
        let here = (carried >> (8 * v)) as u8;
        sum[v] = _mm512_mask_add_epi64(sum[v], here, sum[v], _mm512_set1_epi64(1));
        sum[v] = _mm512_and_si512(sum[v], mask);
    }
    sum
}

fn low_half(masks: [u8; 16]) -> u64 {
    let mut word = 0;
    for v in 0..8 {
        word |= u64::from(masks[v]) << (8 * v);
    }
    word
}

/// Adds to each limb the next lower one's carry, and a limb that belongs there.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry_once<const V: usize>(sum: [__m512i; V], mut above: [__m512i; V]) -> [__m512i; V] {
    let mask = _mm512_set1_epi64(LIMB as i64);
    let mut out = [_mm512_setzero_si512(); V];
    let mut below = _mm512_setzero_si512();
    for v in 0..V {
        above[v] = _mm512_add_epi64(above[v], _mm512_srli_epi64::<52>(sum[v]));
        let moved = _mm512_alignr_epi64::<7>(above[v], below);
        out[v] = _mm512_add_epi64(_mm512_and_si512(sum[v], mask), moved);
        below = above[v];
    }
    out
}
