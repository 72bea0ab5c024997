//! Public keys that words bring with them.

use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::Error;
use millstream_publickey::mldsa;

use super::{Recipient, VerifyingKey};

/// A public key that a word brings with it.
pub(crate) enum CarriedPublic {
    Expanded(VerifyingKey),
    /// The encoding of a key of ML-DSA. Works expand such keys side by side.
    MlDsa(mldsa::Set, Box<[u8]>),
    /// The same of ML-KEM, of the algorithm of a parameter set.
    MlKem(Algorithm, Box<[u8]>),
}

impl CarriedPublic {
    /// Takes a key's encoding.
    ///
    /// # Errors
    /// Those of [`VerifyingKey::new`].
    pub(crate) fn new(features: Features, algorithm: Algorithm, bytes: &[u8]) -> Result<Self, Error> {
        let fits = |len: usize, takes| match bytes.len() {
            given if given == len => Ok(bytes.into()),
            given => Err(Error::DataLength { algorithm: algorithm.name(), given: given as u64, takes }),
        };
        let signer =
            |set: mldsa::Set, takes| Ok(CarriedPublic::MlDsa(set, fits(set.public_key_len(), takes)?));
        match algorithm {
            Algorithm::MlDsa44 => signer(mldsa::Set::MlDsa44, "1312 bytes of a public key"),
            Algorithm::MlDsa65 => signer(mldsa::Set::MlDsa65, "1952 bytes of a public key"),
            Algorithm::MlDsa87 => signer(mldsa::Set::MlDsa87, "2592 bytes of a public key"),
            Algorithm::MlKem512 | Algorithm::MlKem768 | Algorithm::MlKem1024 => {
                Recipient::of(algorithm, bytes)?;
                Ok(CarriedPublic::MlKem(algorithm, bytes.into()))
            }
            _ => VerifyingKey::new(features, algorithm, bytes).map(CarriedPublic::Expanded),
        }
    }
}
