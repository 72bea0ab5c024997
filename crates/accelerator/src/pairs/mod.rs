//! The public-key sub-unit: signatures, agreements, decryption and public keys, with private keys of any algorithm.
//!
//! Works of one kind go side by side in the engines' lanes, whoever they are from and whatever their keys.

mod agree;
mod carried;
mod long_sign;
mod mlkem;
mod presigned;
mod public_key;
mod random;
mod rsa;
mod scheme;
mod sign;
mod verify;

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_publickey::{
    Error as PairError, ecdsa, ed25519, mldsa as mldsa_engine, mlkem as mlkem_engine, rsa as rsa_engine,
    slhdsa, x25519,
};

use crate::source::UnitRandom;
pub(crate) use agree::Agree;
pub(crate) use carried::CarriedPublic;
pub(crate) use long_sign::LongSign;
pub(crate) use mlkem::{Decapsulate, Encapsulate, Recipient, SECRET_BYTES};
pub(crate) use presigned::Presigned;
pub use presigned::{Presignatures, Watch};
pub(crate) use public_key::PublicKey;
pub(crate) use rsa::Rsa;
pub(crate) use scheme::has_context;
pub use scheme::{DecryptionScheme, MlDsaInput, SignatureScheme};
pub(crate) use sign::Sign;
pub(crate) use verify::{Verify, VerifyWith, no_context};
pub use verify::{VerifyingKey, VerifyingKeyRef};

/// The works that are handed to lanes at a time, a multiple of what lanes hold.
const BATCH: usize = 32;

/// The lanes for private keys.
#[derive(Clone)]
pub(crate) struct Pairs {
    ed25519: ed25519::Lanes,
    x25519: x25519::Lanes,
    curves: ecdsa::Lanes,
    rsa: rsa_engine::Lanes,
    kems: mlkem_engine::Lanes,
    signers: mldsa_engine::Lanes,
    hash_signers: slhdsa::Lanes,
    pub(crate) presigned: Presigned,
}

impl Pairs {
    /// Chooses the best kernels that `features` allow.
    pub(crate) fn new(features: Features) -> Self {
        Pairs {
            ed25519: ed25519::Lanes::new(features),
            x25519: x25519::Lanes::new(features),
            curves: ecdsa::Lanes::new(features),
            rsa: rsa_engine::Lanes::new(features),
            kems: mlkem_engine::Lanes::new(features),
            signers: mldsa_engine::Lanes::new(features),
            hash_signers: slhdsa::Lanes::new(features),
            presigned: Presigned::default(),
        }
    }
}

impl Pairs {
    /// Returns true when the pool of presignatures wants more.
    pub(crate) fn wants_presignatures(&mut self) -> bool {
        self.presigned.pool().is_some_and(|pool| pool.wants(&self.curves))
    }

    /// Makes presignatures for the pool, and returns true if they were made.
    pub(crate) fn presign(&mut self, features: Features, random: Option<UnitRandom<'_>>) -> bool {
        let Pairs { presigned, curves, .. } = self;
        let (Some(pool), Some(mut random)) = (presigned.pool(), random) else { return false };
        pool.fill(features, curves, &mut random)
    }
}

impl fmt::Debug for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pairs { curves, rsa, kems, signers, hash_signers, .. } = self;
        let (curves, rsa) = (curves.kernel().name, rsa.kernel().name);
        write!(f, "Pairs({curves}, {rsa}, {kems:?}, {signers:?}, {hash_signers:?})")
    }
}

/// Returns an error of a public-key engine as one of the engines'.
#[cold]
pub(crate) fn refusal(error: PairError) -> Error {
    let rsa = |name, takes| Error::Parameter { algorithm: "rsa", name, given: 0, takes };
    match error {
        PairError::Length { algorithm, given, takes, .. } => {
            Error::DataLength { algorithm, given: given as u64, takes }
        }
        PairError::Point { algorithm }
        | PairError::Encoding { algorithm, .. }
        | PairError::Scalar { algorithm } => Error::Peer { algorithm },
        PairError::Signature | PairError::Padding => Error::Authentication,
        PairError::Message => Error::DataLength {
            algorithm: "rsa",
            given: 0,
            takes: "a message that the modulus has room for, and a number below the modulus",
        },
        PairError::Modulus | PairError::Exponent => {
            rsa("key", "two primes of half the modulus of 1024 to 4096 bits, and exponents that fit them")
        }
        PairError::Random => rsa("source of random bytes", "one that works: see `Unit::seed`"),
        // Nothing else is left of the known errors.
        _ => rsa("result", "one that verifies: the processor or the key is faulty, and nothing was released"),
    }
}
