//! A set of algorithms, as a grant may use.

use std::fmt;

use crate::Algorithm;

/// A set of [`Algorithm`]s, as a bit for each number.
///
/// [`Algorithm::None`] is no algorithm, so it is in no set.
///
/// ```
/// use millstream_cwq::{Algorithm, AlgorithmSet};
///
/// let current: AlgorithmSet = [Algorithm::AesGcm, Algorithm::Sha256].into_iter().collect();
/// assert!(current.contains(Algorithm::AesGcm) && !current.contains(Algorithm::Md5));
/// assert_eq!(AlgorithmSet::from_bits(current.to_bits()), current);
/// assert!(AlgorithmSet::all().iter().all(|algorithm| AlgorithmSet::all().contains(algorithm)));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct AlgorithmSet(u128);

/// A bit for each algorithm there is.
const ALL: u128 = {
    let (mut bits, mut at) = (0, 0);
    while at < Algorithm::ALL.len() {
        bits |= bit(Algorithm::ALL[at]);
        at += 1;
    }
    bits
};

const fn bit(algorithm: Algorithm) -> u128 {
    // `None` is number 0.
    1 << algorithm as u8 & !1
}

impl AlgorithmSet {
    /// Returns the set of all algorithms.
    pub const fn all() -> Self {
        AlgorithmSet(ALL)
    }

    /// Returns the set of the algorithms whose keys are private keys. They take microseconds where others take nanoseconds, so
    /// accelerators that others share serve either these or the rest.
    pub const fn private_keys() -> Self {
        use Algorithm::*;
        let curves = bit(Ed25519) | bit(X25519) | bit(P256) | bit(P384) | bit(P521);
        let lattices =
            bit(MlKem512) | bit(MlKem768) | bit(MlKem1024) | bit(MlDsa44) | bit(MlDsa65) | bit(MlDsa87);
        let sha2 = bit(SlhDsaSha2_128s)
            | bit(SlhDsaSha2_128f)
            | bit(SlhDsaSha2_192s)
            | bit(SlhDsaSha2_192f)
            | bit(SlhDsaSha2_256s)
            | bit(SlhDsaSha2_256f);
        let shake = bit(SlhDsaShake128s)
            | bit(SlhDsaShake128f)
            | bit(SlhDsaShake192s)
            | bit(SlhDsaShake192f)
            | bit(SlhDsaShake256s)
            | bit(SlhDsaShake256f);
        AlgorithmSet(curves | bit(Rsa) | lattices | sha2 | shake)
    }

    /// Returns the algorithms that are not in the other set.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        AlgorithmSet(self.0 & !other.0)
    }

    /// Returns the empty set.
    pub const fn empty() -> Self {
        AlgorithmSet(0)
    }

    /// Adds an algorithm.
    pub const fn insert(&mut self, algorithm: Algorithm) {
        self.0 |= bit(algorithm);
    }

    /// Takes an algorithm away.
    pub const fn remove(&mut self, algorithm: Algorithm) {
        self.0 &= !bit(algorithm);
    }

    /// Returns true when the algorithm is in the set.
    #[inline(always)]
    pub const fn contains(self, algorithm: Algorithm) -> bool {
        self.0 & bit(algorithm) != 0
    }

    /// Returns true when the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns how many algorithms are in the set.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Returns the algorithms that are in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        AlgorithmSet(self.0 & other.0)
    }

    /// Returns the set in one number: bit `n` for the algorithm of number `n`.
    pub const fn to_bits(self) -> u128 {
        self.0
    }

    /// Returns the set of such a number. Bits that are no algorithm of this version are left out.
    pub const fn from_bits(bits: u128) -> Self {
        AlgorithmSet(bits & ALL)
    }

    /// Returns the algorithms of the set, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Algorithm> {
        Algorithm::ALL.iter().copied().filter(move |algorithm| self.contains(*algorithm))
    }
}

impl From<u128> for AlgorithmSet {
    fn from(bits: u128) -> Self {
        AlgorithmSet::from_bits(bits)
    }
}

impl From<AlgorithmSet> for u128 {
    fn from(set: AlgorithmSet) -> Self {
        set.to_bits()
    }
}

impl FromIterator<Algorithm> for AlgorithmSet {
    fn from_iter<I: IntoIterator<Item = Algorithm>>(algorithms: I) -> Self {
        let mut set = AlgorithmSet::empty();
        set.extend(algorithms);
        set
    }
}

impl Extend<Algorithm> for AlgorithmSet {
    fn extend<I: IntoIterator<Item = Algorithm>>(&mut self, algorithms: I) {
        algorithms.into_iter().for_each(|algorithm| self.insert(algorithm));
    }
}

impl fmt::Debug for AlgorithmSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_what_was_put_in() {
        for &algorithm in Algorithm::ALL {
            let real = algorithm != Algorithm::None;
            let mut set = AlgorithmSet::empty();
            assert!(!set.contains(algorithm));
            set.insert(algorithm);
            assert_eq!(set.contains(algorithm), real);
            assert_eq!(set.iter().collect::<Vec<_>>(), if real { vec![algorithm] } else { vec![] });
            assert_eq!(AlgorithmSet::all().contains(algorithm), real);
            set.remove(algorithm);
            assert!(set.is_empty());
        }
        assert_eq!(AlgorithmSet::all().len(), Algorithm::ALL.len() - 1);
    }

    #[test]
    fn bits_that_are_no_algorithm_are_left_out() {
        assert_eq!(AlgorithmSet::from_bits(u128::MAX), AlgorithmSet::all());
        assert_eq!(AlgorithmSet::from_bits(1), AlgorithmSet::empty());
    }
}
