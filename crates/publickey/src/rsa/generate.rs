//! Key generation with primes that are probable.
//!
//! The number of candidates that were refused shows in the time that a key takes, as do the tests that refused them. They are drawn
//! independently of each other, so that they tell nothing of the primes. All else takes a time that depends on the sizes alone.
//!
//! Ref. FIPS 186-5 appendix A.1.1 and A.1.3; table B.1 for the rounds.

use millstream_cpu::Features;
use millstream_kernel::Bound;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{Components, MAX_BITS, MAX_BYTES, Ops, PrivateKey, RSA};
use crate::montgomery::{HALF, Modulus, WORDS, euclid, is_probable_prime, passes_sieve, power, words};
use crate::{Error, Random};

/// Bits of the shortest modulus that is generated (FIPS 186-5 §5.1).
const MIN_GENERATED: usize = 2048;

/// The square root of two, times 2^63, rounded up: the least topmost word of a prime.
const LEAST_TOP: u64 = 0xb504_f333_f9de_6485;

impl PrivateKey {
    /// Generates a key of 2048 to 4096 bits, a multiple of 128, with an odd public exponent larger than 2^16, on the fastest kernel that
    /// `features` allow. 65537 is the usual exponent.
    ///
    /// ```no_run
    /// use millstream_cpu::Features;
    /// use millstream_publickey::{Error, Random, rsa::PrivateKey};
    ///
    /// fn make(random: &mut dyn Random) -> Result<PrivateKey, Error> {
    ///     PrivateKey::generate(Features::hardware(), 3072, 65_537, random)
    /// }
    /// ```
    ///
    /// # Errors
    /// [`Error::Modulus`] for another size; [`Error::Exponent`] for another exponent; [`Error::Random`] when the source fails, or gives no prime in a number of
    /// candidates in which there is one as good as always.
    pub fn generate(
        features: Features,
        bits: usize,
        exponent: u64,
        random: &mut dyn Random,
    ) -> Result<Self, Error> {
        PrivateKey::generate_with_kernel(RSA.best(features), features, bits, exponent, random)
    }

    /// Does the same with a given kernel, which the key uses later.
    ///
    /// # Errors
    /// Fails as [`PrivateKey::generate`].
    pub fn generate_with_kernel(
        kernel: Bound<Ops>,
        features: Features,
        bits: usize,
        exponent: u64,
        random: &mut dyn Random,
    ) -> Result<Self, Error> {
        if !(MIN_GENERATED..=MAX_BITS).contains(&bits) || !bits.is_multiple_of(128) {
            return Err(Error::Modulus);
        }
        if exponent & 1 == 0 || exponent >> 16 == 0 {
            return Err(Error::Exponent);
        }
        let mut numbers = Box::new(Numbers::zero(bits / 128));
        // FIPS 186-5 A.1.3, steps 4 and 5, with as many candidates as it allows.
        let len = numbers.len;
        draw_prime(&mut numbers.p[..len], exponent, 5 * bits, random, |_| true)?;
        let p = numbers.p;
        let p = Zeroizing::new(p);
        draw_prime(&mut numbers.q[..len], exponent, 10 * bits, random, |q| are_apart(&p[..len], q))?;
        numbers.derive(exponent)?;
        numbers.key(kernel, features, exponent)
    }
}

/// The numbers of a key under way.
#[derive(Zeroize, ZeroizeOnDrop)]
struct Numbers {
    /// Words of a prime.
    len: usize,
    p: [u64; HALF],
    q: [u64; HALF],
    modulus: [u64; WORDS],
    exponent: [u64; WORDS],
    dp: [u64; HALF],
    dq: [u64; HALF],
    inverse: [u64; HALF],
}

impl Numbers {
    fn zero(len: usize) -> Self {
        Numbers {
            len,
            p: [0; HALF],
            q: [0; HALF],
            modulus: [0; WORDS],
            exponent: [0; WORDS],
            dp: [0; HALF],
            dq: [0; HALF],
            inverse: [0; HALF],
        }
    }

    /// Computes everything else from the primes.
    fn derive(&mut self, public: u64) -> Result<(), Error> {
        let len = self.len;
        let (mut below_p, mut below_q) = (Zeroizing::new(self.p), Zeroizing::new(self.q));
        below_p[0] ^= 1;
        below_q[0] ^= 1;
        let (below_p, below_q) = (&below_p[..len], &below_q[..len]);
        words::multiply(&self.p[..len], &self.q[..len], &mut self.modulus[..2 * len]);
        // The least common multiple of p - 1 and q - 1.
        let (mut divisor, mut rest) = (Zeroizing::new([0; HALF]), Zeroizing::new([0; HALF]));
        euclid::common_divisor(below_p, below_q, &mut divisor[..len]);
        let mut multiple = Zeroizing::new([0; WORDS]);
        words::multiply(below_p, below_q, &mut multiple[..2 * len]);
        words::divide(&mut multiple[..2 * len], &divisor[..len], &mut rest[..len]);
        private_exponent(&multiple[..2 * len], public, &mut self.exponent[..2 * len])?;
        words::remainder(&self.exponent[..2 * len], below_p, &mut self.dp[..len]);
        words::remainder(&self.exponent[..2 * len], below_q, &mut self.dq[..len]);
        // A private exponent this short is not allowed: step (b) of A.1.1. It is as likely as guessing p.
        if words::is_zero(&self.exponent[len..2 * len]) != 0 {
            return Err(Error::Random);
        }
        // The inverse of q modulo the prime p is its power to p - 2.
        let mut field = Box::new(Modulus::<HALF>::empty());
        field.set(&self.p[..len], len);
        let mut exponent = Zeroizing::new(self.p);
        words::subtract(&mut exponent[..len], &[2], u64::MAX);
        power(&field, &self.q, &exponent[..], &mut self.inverse);
        Ok(())
    }

    /// Makes the key, with all checks of one that comes from outside, and uses it once.
    fn key(&self, kernel: Bound<Ops>, features: Features, public: u64) -> Result<PrivateKey, Error> {
        let all: [&[u64]; 7] =
            [&self.modulus, &self.exponent, &self.p, &self.q, &self.dp, &self.dq, &self.inverse];
        let mut bytes = Zeroizing::new([[0; MAX_BYTES]; 7]);
        for (words, bytes) in all.into_iter().zip(bytes.iter_mut()) {
            words::write(words, bytes);
        }
        let [modulus, private_exponent, p, q, dp, dq, inverse] = &*bytes;
        let public_exponent = &public.to_be_bytes();
        let components = Components { modulus, public_exponent, private_exponent, p, q, dp, dq, inverse };
        let key = PrivateKey::with_kernel(kernel, features, &components)?;
        let mut trial = [2; MAX_BYTES];
        let mut out = Zeroizing::new([0; MAX_BYTES]);
        let size = key.size();
        trial[0] = 0;
        key.raw(&trial[..size], &mut out[..size])?;
        Ok(key)
    }
}

/// Draws candidates until one is prime and fits.
fn draw_prime(
    prime: &mut [u64],
    exponent: u64,
    candidates: usize,
    random: &mut dyn Random,
    fits: impl Fn(&[u64]) -> bool,
) -> Result<(), Error> {
    let len = prime.len();
    let mut bytes = Zeroizing::new([0; 8 * HALF]);
    // A topmost word is large enough in three draws of ten.
    let (mut left, mut draws) = (candidates, 16 * candidates);
    while left > 0 && draws > 0 {
        draws -= 1;
        random.fill(&mut bytes[..8 * len])?;
        words::read(&bytes[..8 * len], prime);
        prime[0] |= 1;
        if prime[len - 1] < LEAST_TOP || !fits(prime) {
            continue;
        }
        left -= 1;
        if !passes_sieve(prime) || !is_coprime(prime, exponent) {
            continue;
        }
        if is_probable_prime(prime, rounds(64 * len), random)? {
            return Ok(());
        }
    }
    Err(Error::Random)
}

/// Rounds of the test of Miller and Rabin, by the bits of the prime: FIPS 186-5 table B.1.
fn rounds(bits: usize) -> usize {
    if bits < 1536 { 5 } else { 4 }
}

/// Returns true when the exponent has no divisor in common with the prime less one.
fn is_coprime(prime: &[u64], exponent: u64) -> bool {
    let (mut rest, mut order) = ([0], Zeroizing::new([0; HALF]));
    order[..prime.len()].copy_from_slice(prime);
    order[0] ^= 1;
    words::remainder(&order[..prime.len()], &[exponent], &mut rest);
    let coprime = euclid::inverse(rest[0], exponent).is_some();
    rest.zeroize();
    coprime
}

/// Returns true when two primes differ in their topmost 100 bits: FIPS 186-5 A.1.3, step 5.5.
fn are_apart(p: &[u64], q: &[u64]) -> bool {
    let len = p.len();
    let mut difference = Zeroizing::new([0; HALF]);
    let difference = &mut difference[..len];
    difference.copy_from_slice(p);
    let negative = words::mask(words::subtract(difference, q, u64::MAX));
    let mut other = Zeroizing::new([0; HALF]);
    let other = &mut other[..len];
    other.copy_from_slice(q);
    words::subtract(other, p, u64::MAX);
    words::exchange(difference, other, negative);
    let top = difference[len - 1] | difference[len - 2] >> 28;
    words::equal_word(top, 0) == 0
}

/// Computes the inverse of a public exponent modulo an even number M. With `k = -1/M` modulo the exponent it is `(1 + k M) / e`.
fn private_exponent(multiple: &[u64], public: u64, out: &mut [u64]) -> Result<(), Error> {
    let len = multiple.len();
    let mut rest = [0];
    words::remainder(multiple, &[public], &mut rest);
    let inverse = Zeroizing::new([euclid::inverse(rest[0], public).ok_or(Error::Exponent)?]);
    rest.zeroize();
    let factor = Zeroizing::new([public.wrapping_sub(inverse[0])]);
    let mut product = Zeroizing::new([0; WORDS + 1]);
    words::multiply(multiple, &factor[..], &mut product[..len + 1]);
    words::add(&mut product[..len + 1], &[1], u64::MAX);
    words::divide(&mut product[..len + 1], &[public], &mut rest);
    out.copy_from_slice(&product[..len]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_that_are_close_are_noticed() {
        let mut p = [0u64; 16];
        p[15] = LEAST_TOP;
        p[3] = 7;
        assert!(!are_apart(&p, &p));
        let mut q = p;
        q[14] ^= 1 << 27;
        assert!(!are_apart(&p, &q));
        assert!(!are_apart(&q, &p));
        q[14] ^= 1 << 28;
        assert!(are_apart(&p, &q));
        assert!(are_apart(&q, &p));
        // The smaller one by little, across a word.
        let (mut r, mut s) = (p, p);
        r[15] += 1;
        s[14] = u64::MAX;
        assert!(!are_apart(&r, &s));
        assert!(!are_apart(&s, &r));
    }
}
