//! Keys that are made at random.

use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::Error;
use millstream_publickey::rsa::{self, MAX_PRIVATE_DER};
use millstream_publickey::{Random, ecdsa, mlkem, slhdsa};
use zeroize::Zeroizing;

use crate::algorithms::takes_key;
use crate::pairs::refusal;
use crate::sets::slh_dsa_set;

/// The public exponent of RSA keys, which is everybody's.
const EXPONENT: u64 = 65_537;

/// Bytes of the longest seed of a key on lattices.
const LONGEST_SEED: usize = mlkem::SEED;

/// Makes the bytes of a random key, as [`Key::new`](crate::Key::new) takes them. `len` is the length of the key, of RSA that of the modulus in bytes, which
/// is at least 256 and a multiple of 16. To make a key of RSA takes a good part of a second, and of 4096 bits several. A key of ML-KEM or
/// ML-DSA is a seed: 64 or 32 bytes. One of SLH-DSA is whole, 64, 96 or 128 bytes, and its sets `s` take tens of milliseconds.
///
/// # Errors
/// [`Error::KeyLength`] when the algorithm has no key of that length; [`Error::Parameter`] when the source of random bytes fails.
pub fn generate_key(
    features: Features,
    algorithm: Algorithm,
    len: usize,
    random: &mut dyn Random,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let wrong = |takes| Error::KeyLength { algorithm: algorithm.name(), given: len, takes };
    let curve = match algorithm {
        Algorithm::P256 => Some(ecdsa::Curve::P256),
        Algorithm::P384 => Some(ecdsa::Curve::P384),
        Algorithm::P521 => Some(ecdsa::Curve::P521),
        Algorithm::Rsa => {
            let takes = "256 to 512 bytes, a multiple of 16, as length of the modulus";
            let key = rsa::PrivateKey::generate(features, 8 * len.min(1024), EXPONENT, random);
            let key = key.map_err(|error| match error {
                millstream_publickey::Error::Modulus => wrong(takes),
                error => refusal(error),
            })?;
            let mut der = Zeroizing::new(vec![0; MAX_PRIVATE_DER]);
            let written = key.to_pkcs1(&mut der).map_err(refusal)?;
            der.truncate(written);
            return Ok(der);
        }
        _ => None,
    };
    // An expanded key on lattices has a length of its own, but is not made at random.
    let is_seed = !kept_as_seed(algorithm) || len <= LONGEST_SEED;
    if !takes_key(algorithm, len) || len == 0 || !is_seed {
        return Err(wrong(if is_seed { "another length" } else { "the length of a seed" }));
    }
    // The root follows from the seeds, which are random.
    if let Some(set) = slh_dsa_set(algorithm) {
        return Ok(slhdsa::PrivateKey::generate(features, set, random).map_err(refusal)?.to_bytes());
    }
    let mut bytes = Zeroizing::new(vec![0; len]);
    match curve {
        // A number that is not below the order is drawn again.
        Some(curve) => {
            let key = ecdsa::PrivateKey::generate(features, curve, random).map_err(refusal)?;
            key.write(&mut bytes).map_err(refusal)?;
        }
        None => random.fill(&mut bytes).map_err(refusal)?,
    }
    Ok(bytes)
}

/// Returns true for an algorithm on lattices, whose keys are made as seeds.
fn kept_as_seed(algorithm: Algorithm) -> bool {
    use Algorithm::*;
    matches!(algorithm, MlKem512 | MlKem768 | MlKem1024 | MlDsa44 | MlDsa65 | MlDsa87)
}
