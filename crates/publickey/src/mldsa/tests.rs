//! The arithmetic of every kernel against the standard's definitions.

use millstream_cpu::Features;
use millstream_engines::sha3::Keccak;

use super::ops::Engine;
use super::poly::{N, Poly};
use super::rows::ML_DSA;
use super::set::Gamma2;
use super::tables::Q;

fn engines() -> Vec<Engine> {
    let features = Features::hardware();
    ML_DSA.available(features).map(|kernel| Engine::new(kernel, Keccak::new(features))).collect()
}

/// FIPS 204 §7.4, algorithm 36, with divisions.
fn decomposed(x: i32, gamma2: i32) -> (i32, i32) {
    let mut low = x.rem_euclid(2 * gamma2);
    if low > gamma2 {
        low -= 2 * gamma2;
    }
    if x - low == Q - 1 { (0, low - 1) } else { ((x - low) / (2 * gamma2), low) }
}

/// Every number there is, by both divisors.
#[test]
fn every_number_is_split_as_the_standard_says() {
    for engine in engines() {
        for gamma2 in [Gamma2::Of88, Gamma2::Of32] {
            for first in (0..Q).step_by(N) {
                let mut low = Poly::ZERO;
                for i in 0..N {
                    low.0[i] = (first + i as i32).min(Q - 1);
                }
                let numbers = low;
                let mut high = Poly::ZERO;
                engine.decompose(&mut low, gamma2, &mut high);
                for i in 0..N {
                    let expected = decomposed(numbers.0[i], gamma2.value());
                    assert_eq!((high.0[i], low.0[i]), expected, "{}", numbers.0[i]);
                }
            }
        }
    }
}

/// A hint of low bits and a product gives the high bits of the sum back, at every place where something changes.
#[test]
fn hints_correct_high_bits() {
    for engine in engines() {
        for gamma2 in [Gamma2::Of88, Gamma2::Of32] {
            let bound = gamma2.value();
            let near = |x: i32| (x - 2..=x + 2).collect::<Vec<_>>();
            let products: Vec<_> = [-bound + 3, -1, 0, 1, bound - 3].into_iter().flat_map(near).collect();
            let lows = [-bound + 300, 0, bound - 300, -bound + 203, bound - 203].into_iter().flat_map(near);
            for low in lows {
                for high in 0..(Q - 1) / (2 * bound) {
                    let x = (high * 2 * bound + low).rem_euclid(Q);
                    let (expected, low) = decomposed(x, bound);
                    let (mut hint, mut product, mut moved) = (Poly::ZERO, Poly::ZERO, Poly::ZERO);
                    let highs = Poly([expected; N]);
                    for i in 0..N {
                        hint.0[i] = low;
                        product.0[i] = products[i % products.len()].clamp(1 - bound, bound - 1);
                        moved.0[i] = (x + product.0[i]).rem_euclid(Q);
                    }
                    let wanted: Vec<i32> =
                        moved.0.iter().map(|x| i32::from(decomposed(*x, bound).0 != expected)).collect();
                    let ones = engine.hint(&mut hint, &product, &highs, gamma2);
                    assert_eq!(hint.0[..], wanted[..]);
                    assert_eq!(ones as i32, wanted.iter().sum::<i32>());
                    engine.use_hint(&mut moved, &hint, gamma2);
                    assert_eq!(moved.0, highs.0);
                }
            }
            let mut hint = Poly::ZERO;
            let mut product = Poly::ZERO;
            product.0[200] = -bound;
            assert!(engine.hint(&mut hint, &product, &Poly::ZERO, gamma2) > N);
        }
    }
}

/// Products of polynomials are those of the schoolbook, modulo X^256 + 1, even where every number is as large as it can be.
#[test]
fn products_are_those_of_the_schoolbook() {
    let patterns: [fn(usize) -> i32; 4] =
        [|_| Q - 1, |i| if i % 2 == 0 { Q - 1 } else { 1 - Q }, |i| (i * i * 7919 % 8_380_417) as i32, |_| 1];
    for engine in engines() {
        for (a, b) in [(0, 0), (0, 1), (1, 2), (2, 3), (2, 2)] {
            let polys = [a, b].map(|pattern| {
                let mut poly = Poly::ZERO;
                (0..N).for_each(|i| poly.0[i] = patterns[pattern](i));
                poly
            });
            let mut expected = [0_i64; N];
            for i in 0..N {
                for j in 0..N {
                    let product = i64::from(polys[0].0[i]) * i64::from(polys[1].0[j]) % i64::from(Q);
                    let sign = if i + j < N { 1 } else { -1 };
                    expected[(i + j) % N] = (expected[(i + j) % N] + sign * product) % i64::from(Q);
                }
            }
            let mut transformed = polys;
            engine.ntt(&mut transformed);
            let mut sum = [Poly::ZERO];
            engine.multiply(&transformed[..1], &transformed[1..], &mut sum[0]);
            engine.inverse(&mut sum);
            for i in 0..N {
                assert!(sum[0].0[i].abs() < Q);
                assert_eq!(
                    i64::from(sum[0].0[i]).rem_euclid(i64::from(Q)),
                    expected[i].rem_euclid(i64::from(Q))
                );
            }
        }
    }
}
