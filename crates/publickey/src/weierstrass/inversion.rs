//! Inverses modulo an odd prime, in constant time, by division steps.
//!
//! Numbers are signed here, in `L` limbs of 62 bits, of which the highest holds the sign. 62 steps at a time look at the lowest limbs
//! alone, and give a matrix that is then applied to the whole numbers.
//!
//! Ref. D. J. Bernstein, B.-Y. Yang, "Fast constant-time gcd computation and modular inversion", 2019, §8 (the steps), §9 (matrices
//! of many steps); P. Wuille, "Bounds on divsteps iterations in safegcd", 2021 (how many steps are enough from delta = 1/2 on).

use zeroize::Zeroize;

use super::barrier::hidden;
use super::limbs::negative_inverse;

/// The bits of a limb, and the steps of a matrix.
const BITS: usize = 62;
const MASK: u64 = (1 << BITS) - 1;

/// A signed number.
type Signed<const L: usize> = [i64; L];

/// Returns the inverse of a number below an odd prime of `bits` bits, and zero for zero. `L` limbs must have room for two more
/// bits than the prime.
#[inline(always)]
pub(crate) fn invert<const N: usize, const L: usize>(
    number: &[u64; N],
    prime: &[u64; N],
    bits: usize,
) -> [u64; N] {
    let modulus: Signed<L> = split(prime);
    let (mut f, mut g) = (modulus, split::<N, L>(number));
    // Times the number, these are f and g modulo the prime.
    let (mut d, mut e): (Signed<L>, Signed<L>) = ([0; L], [0; L]);
    e[0] = 1;
    let inverse = negative_inverse(prime[0]).wrapping_neg() & MASK;
    // Twice delta, which begins with 1/2: that takes fewer steps than the paper's beginning with 1.
    let mut delta = 1;
    for _ in 0..((45907 * bits + 26313) / 19929).div_ceil(BITS) {
        let matrix = steps(&mut delta, f[0] as u64, g[0] as u64);
        apply(&matrix, &mut f, &mut g);
        apply_modulo(&matrix, &mut d, &mut e, &modulus, inverse);
    }
    // g is zero, and f is 1 or -1, or the prime if the number is zero.
    let sign = mask_of_sign(&f);
    make_positive(&mut d, &modulus);
    negate_if(&mut d, sign);
    make_positive(&mut d, &modulus);
    let result = join(&d);
    for number in [&mut f, &mut g, &mut d, &mut e] {
        number.zeroize();
    }
    result
}

/// The effect of 62 steps, times 2^62: the new f is `u f + v g`, and the new g is `q f + r g`.
struct Matrix {
    u: i64,
    v: i64,
    q: i64,
    r: i64,
}

/// Makes 62 steps from the lowest bits of f and g.
#[inline(always)]
fn steps(delta: &mut i64, mut f: u64, mut g: u64) -> Matrix {
    let (mut u, mut v, mut q, mut r) = (1u64, 0u64, 0u64, 1u64);
    for _ in 0..BITS {
        // If g is odd, f is added to it, or taken from it where delta is above zero; then f becomes the old g, which is the sum of both.
        let odd = hidden((g & 1).wrapping_neg());
        let above = hidden((delta.wrapping_neg() >> 63) as u64);
        let swap = above & odd;
        // The sign is looked at apart from g, which is what the next step waits for.
        let add = |x: u64| ((x ^ above).wrapping_sub(above)) & odd;
        (g, q, r) = (g.wrapping_add(add(f)), q.wrapping_add(add(u)), r.wrapping_add(add(v)));
        (f, u, v) = (f.wrapping_add(g & swap), u.wrapping_add(q & swap) << 1, v.wrapping_add(r & swap) << 1);
        g >>= 1;
        *delta = (*delta ^ swap as i64) - swap as i64 + 2;
    }
    Matrix { u: u as i64, v: v as i64, q: q as i64, r: r as i64 }
}

/// Applies a matrix to f and g, and divides by 2^62, which leaves no remainder.
#[inline(always)]
fn apply<const L: usize>(matrix: &Matrix, f: &mut Signed<L>, g: &mut Signed<L>) {
    let (mut a, mut b) = (0i128, 0i128);
    for i in 0..L {
        a += product(matrix.u, f[i]) + product(matrix.v, g[i]);
        b += product(matrix.q, f[i]) + product(matrix.r, g[i]);
        if i > 0 {
            f[i - 1] = (a as u64 & MASK) as i64;
            g[i - 1] = (b as u64 & MASK) as i64;
        }
        a >>= BITS;
        b >>= BITS;
    }
    (f[L - 1], g[L - 1]) = (a as i64, b as i64);
}

/// Applies a matrix to d and e, and divides by 2^62 modulo the prime. Both stay above minus twice the prime and below
/// the prime.
#[inline(always)]
fn apply_modulo<const L: usize>(
    matrix: &Matrix,
    d: &mut Signed<L>,
    e: &mut Signed<L>,
    modulus: &Signed<L>,
    inverse: u64,
) {
    // A negative number counts as that number plus the prime. What is then taken away makes the lowest limb zero.
    let (d_sign, e_sign) = (mask_of_sign(d), mask_of_sign(e));
    let times = |x: i64, y: i64| {
        let start = (x & d_sign) + (y & e_sign);
        let low = (x as u64).wrapping_mul(d[0] as u64).wrapping_add((y as u64).wrapping_mul(e[0] as u64));
        start - (inverse.wrapping_mul(low).wrapping_add(start as u64) & MASK) as i64
    };
    let (d_times, e_times) = (times(matrix.u, matrix.v), times(matrix.q, matrix.r));
    let (mut a, mut b) = (0i128, 0i128);
    for i in 0..L {
        a += product(matrix.u, d[i]) + product(matrix.v, e[i]) + product(d_times, modulus[i]);
        b += product(matrix.q, d[i]) + product(matrix.r, e[i]) + product(e_times, modulus[i]);
        if i > 0 {
            d[i - 1] = (a as u64 & MASK) as i64;
            e[i - 1] = (b as u64 & MASK) as i64;
        }
        a >>= BITS;
        b >>= BITS;
    }
    (d[L - 1], e[L - 1]) = (a as i64, b as i64);
}

/// Returns a mask of ones for a negative number.
#[inline(always)]
fn mask_of_sign<const L: usize>(number: &Signed<L>) -> i64 {
    hidden((number[L - 1] >> 63) as u64) as i64
}

#[inline(always)]
fn product(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

/// Adds the modulus if the number is negative.
#[inline(always)]
fn make_positive<const L: usize>(number: &mut Signed<L>, modulus: &Signed<L>) {
    let (mask, mut carry) = (mask_of_sign(number), 0);
    for i in 0..L {
        carry += number[i] + (modulus[i] & mask);
        number[i] = if i + 1 < L { carry & MASK as i64 } else { carry };
        carry >>= BITS;
    }
}

/// Changes the sign if the mask is all ones.
#[inline(always)]
fn negate_if<const L: usize>(number: &mut Signed<L>, mask: i64) {
    let mut carry = 0;
    for i in 0..L {
        carry += (number[i] ^ mask) - mask;
        number[i] = if i + 1 < L { carry & MASK as i64 } else { carry };
        carry >>= BITS;
    }
}

/// Cuts a number into limbs of 62 bits.
#[inline(always)]
fn split<const N: usize, const L: usize>(number: &[u64; N]) -> Signed<L> {
    std::array::from_fn(|i| {
        let (limb, shift) = (i * BITS / 64, i * BITS % 64);
        let low = number.get(limb).map_or(0, |limb| limb >> shift);
        let high = number.get(limb + 1).map_or(0, |limb| limb << 1 << (63 - shift));
        ((low | high) & MASK) as i64
    })
}

/// Joins the limbs of a number that is not negative and has no more bits than 64 `N`.
#[inline(always)]
fn join<const N: usize, const L: usize>(number: &Signed<L>) -> [u64; N] {
    let mut joined = [0; N];
    for (i, &part) in number.iter().enumerate() {
        let (limb, shift) = (i * BITS / 64, i * BITS % 64);
        if limb < N {
            joined[limb] |= (part as u64) << shift;
        }
        if limb + 1 < N {
            joined[limb + 1] |= part as u64 >> 1 >> (63 - shift);
        }
    }
    joined
}
