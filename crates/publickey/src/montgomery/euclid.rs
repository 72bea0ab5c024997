//! Greatest common divisors and inverses, in a number of steps that depends on the length alone.
//!
//! Ref. J. Stein, "Computational problems associated with Racah algebra" (1967); R. P. Brent, D. E. Knuth, "The Art of Computer
//! Programming" 2, §4.5.2, algorithm B.

use zeroize::Zeroizing;

use super::{HALF, words};

/// Computes the greatest common divisor of two numbers of equally many words, of which neither is zero.
pub(crate) fn common_divisor(a: &[u64], b: &[u64], out: &mut [u64]) {
    let len = a.len();
    let (mut x, mut y) = (Zeroizing::new([0; HALF]), Zeroizing::new([0; HALF]));
    let (x, y) = (&mut x[..len], &mut y[..len]);
    x.copy_from_slice(a);
    y.copy_from_slice(b);
    // The factors of two that both have.
    let (mut twos, mut both) = (0u64, u64::MAX);
    for _ in 0..64 * len {
        both &= words::mask((x[0] | y[0]) & 1 ^ 1);
        words::halve(x, 0, both);
        words::halve(y, 0, both);
        twos += both & 1;
    }
    // One of them is odd now, and becomes y.
    words::exchange(x, y, words::mask(y[0] & 1 ^ 1));
    for _ in 0..128 * len {
        step(x, y);
        words::halve(x, 0, u64::MAX);
    }
    out.copy_from_slice(y);
    for i in 0..64 * len as u64 {
        let doubles = words::mask(i.wrapping_sub(twos) >> 63);
        let mut carry = 0;
        for word in out.iter_mut() {
            let doubled = *word << 1 | carry;
            carry = *word >> 63;
            *word = words::pick(doubles, doubled, *word);
        }
    }
}

/// Makes the first number even: subtracts the smaller from the larger one if it is odd. The second one stays odd. Returns the masks of
/// an exchange and of a subtraction.
fn step(x: &mut [u64], y: &mut [u64]) -> (u64, u64) {
    let odd = words::mask(x[0] & 1);
    let exchanged = odd & words::less(x, y);
    words::exchange(x, y, exchanged);
    words::subtract(x, y, odd);
    (exchanged, odd)
}

/// Computes the inverse of a reduced number modulo an odd one, if they have no common divisor.
pub(crate) fn inverse(a: u64, modulus: u64) -> Option<u64> {
    let (mut x, mut y) = ([a], [modulus]);
    let (mut u, mut v) = (1u64, 0u64);
    for _ in 0..128 {
        let (exchanged, odd) = step(&mut x, &mut y);
        let difference = (u ^ v) & exchanged;
        (u, v) = (u ^ difference, v ^ difference);
        let (less, borrow) = u.overflowing_sub(v & odd);
        u = less.wrapping_add(modulus & words::mask(u64::from(borrow)));
        // Half of u modulo the modulus.
        let (sum, carry) = u.overflowing_add(modulus & words::mask(u & 1));
        u = sum >> 1 | u64::from(carry) << 63;
        words::halve(&mut x, 0, u64::MAX);
    }
    (words::equal_word(y[0], 1) != 0).then_some(v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::Random;

    fn euclid(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { euclid(b, a % b) }
    }

    #[test]
    fn divisors_are_euclids() {
        let mut random = Random::new(41);
        for _ in 0..300 {
            let common = random.next_u64() >> 40 << random.below(20);
            let (a, b) = ((random.next_u64() >> 45) * common, (random.next_u64() >> 45) * common);
            if a == 0 || b == 0 {
                continue;
            }
            let mut found = [0; 2];
            common_divisor(&[a, 0], &[b, 0], &mut found);
            assert_eq!(found, [euclid(a, b), 0]);
        }
    }

    #[test]
    fn inverses_multiply_to_one() {
        let mut random = Random::new(42);
        for _ in 0..300 {
            let modulus = random.next_u64() >> random.below(60) | 1;
            let a = random.next_u64() % modulus;
            let right = modulus > 1 && euclid(a, modulus) == 1;
            let found = inverse(a, modulus);
            if modulus > 1 {
                assert_eq!(found.is_some(), right, "{a} modulo {modulus}");
            }
            if let Some(found) = found.filter(|_| modulus > 1) {
                assert_eq!(u128::from(a) * u128::from(found) % u128::from(modulus), 1);
            }
        }
    }
}
