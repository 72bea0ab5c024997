//! Numbers of many 64-bit words: products, squares, and Montgomery's products of them.
//! Ref. P. L. Montgomery, "Modular Multiplication Without Trial Division", 1985; Ç. K. Koç, T. Acar and B. S. Kaliski,
//! "Analyzing and Comparing Montgomery Multiplication Algorithms", 1996.
//!
//! A number is a slice with the least significant word first, as the T4's `montmul` and the modular arithmetic units of
//! T1 and T2 have it. Nothing here allocates, and the time depends on lengths only, never on values.

/// The longest number that [`montgomery_square`] has room to square for itself: the T4's 2048 bits. Longer ones go
/// through [`montgomery_multiply`].
const SQUARE_WORDS: usize = 32;

/// Returns `sum + a * b + carry` as its low word and its high one, which never overflows.
#[inline(always)]
const fn multiply_add(sum: u64, a: u64, b: u64, carry: u64) -> (u64, u64) {
    let wide = a as u128 * b as u128 + sum as u128 + carry as u128;
    (wide as u64, (wide >> 64) as u64)
}

/// Returns −n⁻¹ modulo 2^64, for an odd `n`. Montgomery's products need it for the lowest word of a modulus.
///
/// ```
/// use millstream_ultrasparc::arithmetic::negative_inverse;
///
/// assert_eq!(negative_inverse(0x7b0027afbacbc6e9), 0xcc94152cf95c8ea7);
/// ```
#[must_use]
pub const fn negative_inverse(n: u64) -> u64 {
    // n is its own inverse modulo 8, and each of Newton's steps doubles the number of right bits.
    let (mut inverse, mut step) = (n, 0);
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(inverse)));
        step += 1;
    }
    inverse.wrapping_neg()
}

/// `x = a · b`.
///
/// ```
/// use millstream_ultrasparc::arithmetic::multiply;
///
/// let mut x = [0; 3];
/// multiply(&mut x, &[u64::MAX, 1], &[2]);
/// assert_eq!(x, [u64::MAX - 1, 3, 0]);
/// ```
///
/// # Panics
/// Unless `x` is as long as `a` and `b` together.
pub fn multiply(x: &mut [u64], a: &[u64], b: &[u64]) {
    assert_eq!(x.len(), a.len() + b.len(), "a product has the words of both its factors");
    x.fill(0);
    for (i, &word) in b.iter().enumerate() {
        x[i + a.len()] = add_product(&mut x[i..i + a.len()], a, word);
    }
}

/// `x = a²`, in which each product of two different words is made once.
///
/// # Panics
/// Unless `x` is twice as long as `a`.
pub fn square(x: &mut [u64], a: &[u64]) {
    assert_eq!(x.len(), 2 * a.len(), "a square has twice the words of its root");
    x.fill(0);
    for (i, &word) in a.iter().enumerate() {
        x[i + a.len()] = add_product(&mut x[2 * i + 1..i + a.len()], &a[i + 1..], word);
    }
    // The products so far count twice, and the squares of the words are added.
    let (mut carry, mut shifted_out) = (0, 0);
    for (pair, &word) in x.as_chunks_mut::<2>().0.iter_mut().zip(a) {
        let doubled = [pair[0] << 1 | shifted_out, pair[1] << 1 | pair[0] >> 63];
        shifted_out = pair[1] >> 63;
        let (low, high) = multiply_add(doubled[0], word, word, carry);
        let (high, over) = high.overflowing_add(doubled[1]);
        *pair = [low, high];
        carry = u64::from(over);
    }
}

/// `x += a * word`, of equal lengths. Returns the word that is carried out.
#[inline(always)]
fn add_product(x: &mut [u64], a: &[u64], word: u64) -> u64 {
    let mut carry = 0;
    for (x, &a) in x.iter_mut().zip(a) {
        (*x, carry) = multiply_add(*x, a, word, carry);
    }
    carry
}

/// `x = a · b · 2^(−64·length) mod n`, with `n0` = −n⁻¹ mod 2^64 ([`negative_inverse`] of the lowest word).
///
/// The result is fully reduced if `a · b < n · 2^(64·length)`, and so whenever one of the factors is less than `n`.
/// Otherwise `n` is subtracted once, and the part beyond the length is lost, as in T1's unit.
///
/// ```
/// use millstream_ultrasparc::arithmetic::montgomery_multiply;
///
/// // Modulo 2^64 − 1 the inverse of 2^64 is 1.
/// let mut x = [0];
/// montgomery_multiply(&mut x, &[6], &[7], &[u64::MAX], 1);
/// assert_eq!(x, [42]);
/// ```
///
/// # Panics
/// Unless all are of one length, of at least a word.
pub fn montgomery_multiply(x: &mut [u64], a: &[u64], b: &[u64], n: &[u64], n0: u64) {
    let length = x.len();
    assert!(length > 0, "a number of no words");
    assert!([a.len(), b.len(), n.len()] == [length; 3], "numbers of different lengths");
    // For the lengths of RSA the compiler knows where the loops end.
    match length {
        8 => interleaved(&mut x[..8], &a[..8], &b[..8], &n[..8], n0),
        16 => interleaved(&mut x[..16], &a[..16], &b[..16], &n[..16], n0),
        _ => interleaved(x, a, b, n, n0),
    }
}

/// Finely integrated operand scanning: each word of `b` multiplies `a`, and the same loop reduces the sum by a word.
/// The two chains of carries don't wait for one another.
#[inline(always)]
fn interleaved(x: &mut [u64], a: &[u64], b: &[u64], n: &[u64], n0: u64) {
    let length = x.len();
    // The slices show the compiler too that the lengths are equal.
    let (a, n) = (&a[..length], &n[..length]);
    x.fill(0);
    let mut top = 0;
    for &word in b {
        let (low, mut product) = multiply_add(x[0], a[0], word, 0);
        let factor = low.wrapping_mul(n0);
        let (_zero, mut reduction) = multiply_add(low, factor, n[0], 0);
        for j in 1..length {
            let (sum, carry) = multiply_add(x[j], a[j], word, product);
            product = carry;
            (x[j - 1], reduction) = multiply_add(sum, factor, n[j], reduction);
        }
        let sum = u128::from(top) + u128::from(product) + u128::from(reduction);
        x[length - 1] = sum as u64;
        top = (sum >> 64) as u64;
    }
    reduce_once(x, top, n);
}

/// `x = a² · 2^(−64·length) mod n`: [`montgomery_multiply`] of `a` by itself, faster.
///
/// # Panics
/// Unless all are of one length, of at least a word.
pub fn montgomery_square(x: &mut [u64], a: &[u64], n: &[u64], n0: u64) {
    let length = x.len();
    assert!([a.len(), n.len()] == [length; 2], "numbers of different lengths");
    match length {
        8 => separated(&mut x[..8], &a[..8], &n[..8], n0),
        16 => separated(&mut x[..16], &a[..16], &n[..16], n0),
        1..=SQUARE_WORDS => separated(x, a, n, n0),
        _ => montgomery_multiply(x, a, a, n, n0),
    }
}

/// Separated operand scanning: the whole square, and then its reduction.
#[inline(always)]
fn separated(x: &mut [u64], a: &[u64], n: &[u64], n0: u64) {
    let length = x.len();
    let mut room = [0; 2 * SQUARE_WORDS];
    let wide = &mut room[..2 * length];
    square(wide, a);
    let mut top = 0;
    for i in 0..length {
        let factor = wide[i].wrapping_mul(n0);
        let carry = add_product(&mut wide[i..i + length], n, factor);
        let sum = u128::from(wide[i + length]) + u128::from(carry) + u128::from(top);
        wide[i + length] = sum as u64;
        top = (sum >> 64) as u64;
    }
    x.copy_from_slice(&wide[length..]);
    reduce_once(x, top, n);
}

/// `x −= n` if the number of `x` with `top` above it is not less than `n`. A part that is then still above `x` is lost.
///
/// # Panics
/// Unless `n` is as long as `x`.
pub fn reduce_once(x: &mut [u64], top: u64, n: &[u64]) {
    assert_eq!(x.len(), n.len(), "numbers of different lengths");
    let mut borrow = false;
    for (x, &n) in x.iter().zip(n) {
        (_, borrow) = x.borrowing_sub(n, borrow);
    }
    let less = top < u64::from(borrow);
    let mask = u64::from(less).wrapping_sub(1);
    borrow = false;
    for (x, &n) in x.iter_mut().zip(n) {
        (*x, borrow) = x.borrowing_sub(n & mask, borrow);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Long numbers as slow and plain as can be: bit by bit.
    pub(crate) mod plain {
        pub fn add(x: &mut Vec<u64>, a: &[u64]) {
            let mut carry = 0;
            x.resize(x.len().max(a.len()) + 1, 0);
            for (i, x) in x.iter_mut().enumerate() {
                let sum = u128::from(*x) + u128::from(a.get(i).copied().unwrap_or(0)) + carry;
                *x = sum as u64;
                carry = sum >> 64;
            }
        }

        fn less(x: &[u64], n: &[u64]) -> bool {
            let at = |number: &[u64], i: usize| number.get(i).copied().unwrap_or(0);
            let words = x.len().max(n.len());
            (0..words)
                .rev()
                .map(|i| at(x, i).cmp(&at(n, i)))
                .find(|order| order.is_ne())
                .is_some_and(|o| o.is_lt())
        }

        fn subtract(x: &mut [u64], n: &[u64]) {
            let mut borrow = 0i128;
            for (i, x) in x.iter_mut().enumerate() {
                let difference = i128::from(*x) - i128::from(n.get(i).copied().unwrap_or(0)) + borrow;
                *x = difference as u64;
                borrow = difference >> 64;
            }
        }

        fn shift_left(x: &mut [u64], bit: u64) {
            let mut carry = bit;
            for x in x {
                (*x, carry) = (*x << 1 | carry, *x >> 63);
            }
        }

        pub fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
            let mut x = vec![0; a.len() + b.len() + 1];
            for i in (0..b.len() * 64).rev() {
                shift_left(&mut x, 0);
                if b[i / 64] >> (i % 64) & 1 != 0 {
                    add(&mut x, a);
                    x.pop();
                }
            }
            assert_eq!(x.pop(), Some(0));
            x
        }

        /// `x mod n`, by long division.
        pub fn modulo(x: &[u64], n: &[u64]) -> Vec<u64> {
            let mut rest = vec![0; n.len() + 1];
            for i in (0..x.len() * 64).rev() {
                shift_left(&mut rest, x[i / 64] >> (i % 64) & 1);
                if !less(&rest, n) {
                    subtract(&mut rest, n);
                }
            }
            assert_eq!(rest.pop(), Some(0));
            rest
        }
    }

    /// Numbers that look random, and are the same each time.
    pub(crate) struct Numbers(pub u64);

    impl Numbers {
        pub(crate) fn word(&mut self) -> u64 {
            // SplitMix64.
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        }

        pub(crate) fn words(&mut self, length: usize) -> Vec<u64> {
            (0..length).map(|_| self.word()).collect()
        }
    }

    /// Words with many ones and zeros, where carries go far.
    fn steep(numbers: &mut Numbers, length: usize) -> Vec<u64> {
        let choices = [0, 1, u64::MAX, u64::MAX - 1, 1 << 63];
        (0..length).map(|_| choices[numbers.word() as usize % choices.len()]).collect()
    }

    #[test]
    fn products_are_those_of_plain_arithmetic() {
        let mut numbers = Numbers(1);
        for length in 0..=40 {
            for make in [Numbers::words, steep] {
                let (a, b) = (make(&mut numbers, length), make(&mut numbers, length / 2 + 1));
                let mut x = vec![7; a.len() + b.len()];
                multiply(&mut x, &a, &b);
                assert_eq!(x, plain::multiply(&a, &b), "{length}");
                let mut x = vec![7; 2 * length];
                square(&mut x, &a);
                assert_eq!(x, plain::multiply(&a, &a), "{length}");
            }
        }
    }

    /// Times 2^(64·length) and reduced, the result must be the product reduced: that needs no inverse.
    fn check_montgomery(a: &[u64], b: &[u64], n: &[u64]) {
        let (length, n0) = (n.len(), negative_inverse(n[0]));
        let mut x = vec![7; length];
        montgomery_multiply(&mut x, a, b, n, n0);
        assert_eq!(plain::modulo(&x, n), x, "not reduced: {length} words");
        let mut shifted = vec![0; length];
        shifted.extend(&x);
        assert_eq!(plain::modulo(&shifted, n), plain::modulo(&plain::multiply(a, b), n), "{length} words");

        let mut squared = vec![7; length];
        montgomery_square(&mut squared, a, n, n0);
        montgomery_multiply(&mut x, a, a, n, n0);
        assert_eq!(squared, x, "the square of {length} words");
    }

    #[test]
    fn montgomery_products_of_every_length() {
        let mut numbers = Numbers(2);
        for length in (1..=40).chain([64, 100]) {
            for make in [Numbers::words, steep] {
                let mut n = make(&mut numbers, length);
                n[0] |= 1;
                if n[1..].iter().all(|&word| word == 0) {
                    n[length - 1] |= 5;
                }
                let a = plain::modulo(&make(&mut numbers, length), &n);
                let b = plain::modulo(&make(&mut numbers, length), &n);
                check_montgomery(&a, &b, &n);
            }
        }
    }

    #[test]
    fn the_greatest_numbers_of_the_greatest_modulus() {
        for length in 1..=33 {
            let n = vec![u64::MAX; length];
            let mut a = n.clone();
            a[0] -= 1;
            check_montgomery(&a, &a, &n);
        }
    }

    #[test]
    fn factors_that_are_not_reduced_are_reduced_once() {
        // T1's unit, one word: (a·b + m·n)/2^64 is at least 2^64 here; n is subtracted once, the rest is lost.
        let (a, n) = (u64::MAX, 3);
        let n0 = negative_inverse(n);
        let product = u128::from(a) * u128::from(a);
        let factor = u128::from((product as u64).wrapping_mul(n0));
        let (sum, over) = product.overflowing_add(factor * u128::from(n));
        let expected = ((sum >> 64 | u128::from(over) << 64) - u128::from(n)) as u64;
        let mut x = [0];
        montgomery_multiply(&mut x, &[a], &[a], &[n], n0);
        assert_eq!(x, [expected]);
        montgomery_square(&mut x, &[a], &[n], n0);
        assert_eq!(x, [expected]);
    }

    #[test]
    fn reduced_once() {
        // OpenSPARC T1's spu_mared.s: less, equal, greater.
        let n = [0xaaaa_aaaa_aaaa, 0x0234_23df_fffe, 0xabc];
        let mut x = [0x2342_3423_eadb, 0x0234_23ef_d234, 0xabc];
        let expected = [0xffff_7897_8979_4031, 0xfd235, 0];
        reduce_once(&mut x, 0, &n);
        assert_eq!(x, expected);
        let mut x = n;
        reduce_once(&mut x, 0, &n);
        assert_eq!(x, [0; 3]);
        reduce_once(&mut x, 0, &n);
        assert_eq!(x, [0; 3]);
        // A word above.
        let mut x = [1, 0, 0];
        reduce_once(&mut x, 1, &[2, 0, 0]);
        assert_eq!(x, [u64::MAX; 3]);
    }

    #[test]
    fn inverses() {
        for n in [1, 3, 5, 0x7b00_27af_bacb_c6e9, u64::MAX, u64::MAX - 2] {
            assert_eq!(n.wrapping_mul(negative_inverse(n)), u64::MAX, "{n:x}");
        }
        assert_eq!(negative_inverse(0x7b00_27af_bacb_c6e9), 0xcc94_152c_f95c_8ea7);
    }
}
