//! The algorithms of curves and of parameter sets.

use millstream_cwq::Algorithm;
use millstream_publickey::{ecdsa, mldsa, mlkem, slhdsa};

/// Returns the algorithm of a curve's keys.
pub(crate) const fn algorithm_of_curve(curve: ecdsa::Curve) -> Algorithm {
    match curve {
        ecdsa::Curve::P256 => Algorithm::P256,
        ecdsa::Curve::P384 => Algorithm::P384,
        ecdsa::Curve::P521 => Algorithm::P521,
    }
}

/// Returns the algorithm of a parameter set's keys.
pub(crate) const fn algorithm_of_kem(set: mlkem::Set) -> Algorithm {
    match set {
        mlkem::Set::MlKem512 => Algorithm::MlKem512,
        mlkem::Set::MlKem768 => Algorithm::MlKem768,
        mlkem::Set::MlKem1024 => Algorithm::MlKem1024,
    }
}

/// Returns the algorithm of a parameter set's keys.
pub(crate) const fn algorithm_of_signer(set: mldsa::Set) -> Algorithm {
    match set {
        mldsa::Set::MlDsa44 => Algorithm::MlDsa44,
        mldsa::Set::MlDsa65 => Algorithm::MlDsa65,
        mldsa::Set::MlDsa87 => Algorithm::MlDsa87,
    }
}

macro_rules! hash_signers {
    ($($algorithm:ident = $set:ident;)+) => {
        /// Returns the algorithm of the keys of a parameter set of SLH-DSA.
        ///
        /// ```
        /// use millstream_accelerator::algorithm_of_slh_dsa;
        /// use millstream_publickey::slhdsa::Set;
        ///
        /// assert_eq!(algorithm_of_slh_dsa(Set::Sha2_128f).name(), Set::Sha2_128f.name());
        /// ```
        pub const fn algorithm_of_slh_dsa(set: slhdsa::Set) -> Algorithm {
            match set {
                $(slhdsa::Set::$set => Algorithm::$algorithm,)+
            }
        }

        /// Returns the parameter set of an algorithm, if it is SLH-DSA.
        pub const fn slh_dsa_set(algorithm: Algorithm) -> Option<slhdsa::Set> {
            match algorithm {
                $(Algorithm::$algorithm => Some(slhdsa::Set::$set),)+
                _ => None,
            }
        }
    };
}
hash_signers! {
    SlhDsaSha2_128s = Sha2_128s;
    SlhDsaSha2_128f = Sha2_128f;
    SlhDsaSha2_192s = Sha2_192s;
    SlhDsaSha2_192f = Sha2_192f;
    SlhDsaSha2_256s = Sha2_256s;
    SlhDsaSha2_256f = Sha2_256f;
    SlhDsaShake128s = Shake128s;
    SlhDsaShake128f = Shake128f;
    SlhDsaShake192s = Shake192s;
    SlhDsaShake192f = Shake192f;
    SlhDsaShake256s = Shake256s;
    SlhDsaShake256f = Shake256f;
}

/// Returns a key of a parameter set. The root of a key must be that of its seeds.
#[cfg(test)]
pub(crate) fn some_slh_dsa_key(set: slhdsa::Set) -> Vec<u8> {
    let seeds = vec![7; set.seeds_len()];
    let key = slhdsa::PrivateKey::from_seeds(millstream_cpu::Features::hardware(), set, &seeds);
    key.expect("three seeds").to_bytes().to_vec()
}
