//! The eight lanes against one number at a time, with limbs as great as their types allow.
//!
//! # Safety
//! The processor's features are looked at before the functions that need them are called.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use millstream_cpu::{FeatureSet, Features};
use millstream_testkit::{Random, skip};

use super::super::field::Fe;
use super::field::{Factor8, Product8};
use super::words::{Words, array, vector};

const LANES: usize = 8;
/// The greatest limb of a product, of a factor, and a factor's fifth.
const PRODUCT_MAX: u64 = (12 << 52) - 1;
const FACTOR_MAX: u64 = (1 << 52) - 1;
const TOP_MAX: u64 = (1 << 47) + (1 << 11) - 1;

/// Five limbs of each lane.
type Limbs = [[u64; 5]; LANES];

/// The number of five limbs of 52 bits.
fn number(limbs: &[u64; 5]) -> Fe {
    let weight = Fe::from_words([1 << 52, 0, 0, 0]);
    limbs.iter().rev().fold(Fe::ZERO, |sum, &limb| sum.mul(weight).add(Fe::from_words([limb, 0, 0, 0])))
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn vectors(limbs: &Limbs) -> [__m512i; 5] {
    let mut vectors = [_mm512_setzero_si512(); 5];
    for i in 0..5 {
        let mut column = [0; LANES];
        for lane in 0..LANES {
            column[lane] = limbs[lane][i];
        }
        vectors[i] = vector(&column);
    }
    vectors
}

/// Compares each lane with a number, and the limbs with the bounds of a factor.
#[target_feature(enable = "avx512f,avx512ifma")]
fn check(what: &str, factor: Factor8, expected: [Fe; LANES]) {
    let words = factor.to_words().to_array();
    let top = array(factor.limbs()[4]);
    for lane in 0..LANES {
        assert_eq!(words[lane], expected[lane].to_words(), "{what}, lane {lane}");
        assert!(top[lane] <= TOP_MAX, "{what}, lane {lane}: the fifth limb is {:x}", top[lane]);
    }
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn compare(a: &Limbs, b: &Limbs, c: &Limbs, x: &Limbs, y: &Limbs) {
    let each = |f: &dyn Fn(usize) -> Fe| {
        let mut numbers = [Fe::ZERO; LANES];
        for (lane, number) in numbers.iter_mut().enumerate() {
            // Multiplying by one makes the number tight.
            *number = f(lane).mul(Fe::ONE);
        }
        numbers
    };
    let [na, nb, nc, nx, ny] = [a, b, c, x, y].map(|limbs| limbs.each_ref().map(number));
    let (pa, pb, pc) = (Product8::new(vectors(a)), Product8::new(vectors(b)), Product8::new(vectors(c)));
    let (fx, fy) = (Factor8::new(vectors(x)), Factor8::new(vectors(y)));
    let twice = |lane: usize| na[lane].add(na[lane]).mul(Fe::ONE);
    check("factor", pa.factor(), na);
    check("add", pa.add(pb), each(&|i| na[i].add(nb[i])));
    check("sub", pa.sub(pb), each(&|i| na[i].sub(nb[i])));
    check("sub_both", pa.sub_both(pb, pc), each(&|i| na[i].sub(nb[i]).mul(Fe::ONE).sub(nc[i])));
    check("twice_plus", pa.twice_plus(pb), each(&|i| twice(i).add(nb[i])));
    check("twice_less", pa.twice_less(pb), each(&|i| twice(i).sub(nb[i])));
    check("twice_plus_less", pa.twice_plus_less(pb, pc), each(&|i| twice(i).add(nb[i]).sub(nc[i])));
    let scaled = each(&|i| na[i].add(nx[i].times_small(121_665)));
    check("add_times_small", pa.add_times_small(fx, 121_665), scaled);
    check("number", fx.number().factor(), nx);
    check("mul", fx.mul(fy).factor(), each(&|i| nx[i].mul(ny[i])));
    check("square", fx.square().factor(), each(&|i| nx[i].square()));
    check("power_for_root", fx.power_for_root(), each(&|i| nx[i].power_for_root()));
    check(
        "select",
        fx.select(0b0110_1001, fy),
        each(&|i| if 0b0110_1001 >> i & 1 == 1 { ny[i] } else { nx[i] }),
    );
    let mut zeros = 0;
    let mut signs = 0;
    for lane in 0..LANES {
        zeros |= u8::from(nx[lane].equals(Fe::ZERO)) << lane;
        signs |= (nx[lane].sign() as u8) << lane;
    }
    assert_eq!((fx.zeros(), fx.signs()), (zeros, signs));
    if zeros == 0 {
        check("invert", fx.invert(), each(&|i| nx[i].invert()));
    }
    // The columns of a product keep to their bound.
    for limbs in [fx.mul(fy), fx.square()].map(|product| product.limbs()) {
        for limb in limbs {
            assert!(array(limb).iter().all(|&word| word <= PRODUCT_MAX));
        }
    }
}

#[test]
fn lanes_compute_as_one_at_a_time() {
    if !Features::hardware().contains(FeatureSet::parse("avx512f,avx512ifma")) {
        skip("lanes of curve25519: they need avx512f and avx512ifma");
        return;
    }
    let mut random = Random::new(1);
    // Each limb is the greatest, zero, or any other.
    let mut limbs = |max: u64, top: u64| {
        let mut limbs = [[0; 5]; LANES];
        for lane in &mut limbs {
            for (i, limb) in lane.iter_mut().enumerate() {
                let max = if i == 4 { top } else { max };
                *limb = match random.below(4) {
                    0 => max,
                    1 => 0,
                    _ => random.next_u64() % (max + 1),
                };
            }
        }
        limbs
    };
    for round in 0..2000 {
        let (products, factors) = if round == 0 {
            (
                [[[PRODUCT_MAX; 5]; LANES]; 3],
                [[[FACTOR_MAX, FACTOR_MAX, FACTOR_MAX, FACTOR_MAX, TOP_MAX]; LANES]; 2],
            )
        } else {
            ([0; 3].map(|_| limbs(PRODUCT_MAX, PRODUCT_MAX)), [0; 2].map(|_| limbs(FACTOR_MAX, TOP_MAX)))
        };
        // SAFETY: the features have been looked at.
        unsafe { compare(&products[0], &products[1], &products[2], &factors[0], &factors[1]) };
    }
}

/// Numbers around p are reduced, in whatever lane they are.
#[test]
fn lanes_reduce_words() {
    if !Features::hardware().contains(FeatureSet::parse("avx512f,avx512ifma")) {
        skip("lanes of curve25519: they need avx512f and avx512ifma");
        return;
    }
    for low in (0..=u64::MAX).rev().take(64).chain(0..64) {
        for high in [[u64::MAX, u64::MAX, u64::MAX >> 1], [u64::MAX; 3], [0; 3]] {
            let words = [low, high[0], high[1], high[2]];
            let other = [low ^ 1, 5, 6, 7];
            let mut lanes = [words; LANES];
            lanes[3] = other;
            // SAFETY: the features have been looked at.
            let reduced = unsafe { Factor8::from_words(&Words::load(&lanes)).to_words().to_array() };
            let mut expected = [Fe::from_words(words).to_words(); LANES];
            expected[3] = Fe::from_words(other).to_words();
            assert_eq!(reduced, expected);
        }
    }
}
