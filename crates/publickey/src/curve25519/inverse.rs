//! Inverses modulo p = 2^255 - 19 by division steps, in constant time.
//!
//! A division step halves one of two numbers, after it has added the other or exchanged the two where that keeps the numbers
//! whole. Whatever the numbers are, 590 steps are enough for 256 bits; ten times 62 are done. Steps look at the lowest bits
//! alone, so 62 of them work on single words and give a matrix, which is then applied to the long numbers.
//!
//! Ref. Bernstein and Yang, "Fast constant-time gcd computation and modular inversion" (2019), §8 and §11, in the variant
//! that begins with a difference of one half.

const BITS: u32 = 62;
const MASK: u64 = (1 << BITS) - 1;
/// The matrices: 620 steps.
const ROUNDS: usize = 10;
/// -1 / 19 modulo 2^64, the inverse of p there.
const P_INVERSE: u64 = inverse_of_odd(19).wrapping_neg();

/// A number in limbs of 62 bits, of which the last has the sign.
type Long = [i64; 5];

/// p, with a negative limb: every other is zero.
const P: Long = [-19, 0, 0, 0, 1 << (255 - 4 * BITS)];

/// The numbers that 62 steps make of (f, g), times 2^62: (u f + v g, q f + r g).
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// Returns the inverse of a number below p, and zero for zero. Both have four words, least first.
#[inline]
pub(super) fn invert([w0, w1, w2, w3]: [u64; 4]) -> [u64; 4] {
    let mask = MASK;
    let mut f = P;
    let mut g = [
        (w0 & mask) as i64,
        ((w0 >> 62 | w1 << 2) & mask) as i64,
        ((w1 >> 60 | w2 << 4) & mask) as i64,
        ((w2 >> 58 | w3 << 6) & mask) as i64,
        (w3 >> 56) as i64,
    ];
    // f = d x and g = e x modulo p, all the time.
    let (mut d, mut e) = ([0; 5], [1, 0, 0, 0, 0]);
    let mut zeta = -1;
    for _ in 0..ROUNDS {
        let (next, matrix) = steps(zeta, f[0] as u64, g[0] as u64);
        zeta = next;
        (d, e) = multiply_modulo(&matrix, &d, &e);
        (f, g) = multiply(&matrix, &f, &g);
    }
    // f is 1 or -1 now, or p if the number was zero, and d is in (-2 p, p).
    let sign = f[4] >> 63;
    let mut inverse = add_where_negative(d);
    for limb in &mut inverse {
        *limb = (*limb ^ sign) - sign;
    }
    // Only the last of carried limbs has the number's sign.
    let [l0, l1, l2, l3, l4] = add_where_negative(carried(inverse)).map(|limb| limb as u64);
    [l0 | l1 << 62, l1 >> 2 | l2 << 60, l2 >> 4 | l3 << 58, l3 >> 6 | l4 << 56]
}

/// Does 62 division steps on the lowest words of f and g. `zeta` is the negative of the difference, less one half.
#[inline(always)]
fn steps(mut zeta: i64, mut f: u64, mut g: u64) -> (i64, Matrix) {
    let (mut u, mut v, mut q, mut r) = (1u64, 0u64, 0u64, 1u64);
    for _ in 0..BITS {
        // All ones where the difference is positive, and where g is odd.
        let positive = (zeta >> 63) as u64;
        let odd = 0u64.wrapping_sub(g & 1);
        let signed = |number: u64| (number ^ positive).wrapping_sub(positive) & odd;
        g = g.wrapping_add(signed(f));
        q = q.wrapping_add(signed(u));
        r = r.wrapping_add(signed(v));
        // With both, g - f replaces g, and g replaces f.
        let exchange = positive & odd;
        zeta = (zeta ^ exchange as i64).wrapping_sub(1);
        f = f.wrapping_add(g & exchange);
        u = u.wrapping_add(q & exchange) << 1;
        v = v.wrapping_add(r & exchange) << 1;
        g >>= 1;
    }
    (zeta, Matrix { u: u as i64, v: v as i64, q: q as i64, r: r as i64 })
}

/// Applies the matrix to (f, g), which is exact: the lowest 62 bits of both results are zero.
#[inline(always)]
fn multiply(matrix: &Matrix, f: &Long, g: &Long) -> (Long, Long) {
    let row = |a: i64, b: i64| {
        let mut row = [0; 5];
        let mut sum = product(a, f[0]) + product(b, g[0]);
        for i in 1..5 {
            sum = (sum >> BITS) + product(a, f[i]) + product(b, g[i]);
            row[i - 1] = (sum as u64 & MASK) as i64;
        }
        row[4] = (sum >> BITS) as i64;
        row
    };
    (row(matrix.u, matrix.v), row(matrix.q, matrix.r))
}

/// Applies the matrix to (d, e) modulo p. Numbers in (-2 p, p) give such numbers.
#[inline(always)]
fn multiply_modulo(matrix: &Matrix, d: &Long, e: &Long) -> (Long, Long) {
    let (negative_d, negative_e) = (d[4] >> 63, e[4] >> 63);
    let row = |a: i64, b: i64| {
        // p is added to a negative number first, as a part of the multiple that makes the lowest bits zero.
        let multiple = (a & negative_d).wrapping_add(b & negative_e);
        let mut sum = product(a, d[0]) + product(b, e[0]);
        let rest = (sum as u64).wrapping_mul(P_INVERSE).wrapping_add(multiple as u64) & MASK;
        let multiple = multiple.wrapping_sub(rest as i64);
        sum += product(multiple, P[0]);
        let mut row = [0; 5];
        for i in 1..5 {
            sum = (sum >> BITS) + product(a, d[i]) + product(b, e[i]);
            if i == 4 {
                sum += product(multiple, P[4]);
            }
            row[i - 1] = (sum as u64 & MASK) as i64;
        }
        row[4] = (sum >> BITS) as i64;
        row
    };
    (row(matrix.u, matrix.v), row(matrix.q, matrix.r))
}

/// Adds p if the number is negative.
#[inline(always)]
fn add_where_negative(number: Long) -> Long {
    let negative = number[4] >> 63;
    let mut limbs = number;
    limbs[0] += P[0] & negative;
    limbs[4] += P[4] & negative;
    carried(limbs)
}

#[inline(always)]
fn carried(number: Long) -> Long {
    let mut limbs = number;
    for i in 0..4 {
        limbs[i + 1] += limbs[i] >> BITS;
        limbs[i] &= MASK as i64;
    }
    limbs
}

#[inline(always)]
fn product(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

/// The inverse of an odd number modulo 2^64. Each round doubles the bits that are right, and three are at first.
const fn inverse_of_odd(number: u64) -> u64 {
    let mut inverse = number;
    let mut bits = 3;
    while bits < 64 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(number.wrapping_mul(inverse)));
        bits *= 2;
    }
    inverse
}

#[cfg(test)]
mod tests {
    use millstream_testkit::Random;

    use super::super::field::Fe;

    #[test]
    fn miri_long_both_inverses_are_the_same() {
        let mut random = Random::new(1);
        let mut numbers: Vec<Fe> =
            (0..if cfg!(miri) { 2 } else { 20_000 }).map(|_| Fe::from_bytes(&random.array())).collect();
        for low in 0..40 {
            numbers.push(Fe::small(low));
            numbers.push(Fe::small(low).neg());
        }
        for shift in 0..255 {
            let mut words = [0; 4];
            words[shift / 64] = 1 << (shift % 64);
            numbers.push(Fe::from_words(words));
        }
        for number in numbers {
            assert!(number.invert().equals(number.power_for_inverse()), "{number:?}");
        }
    }
}
