//! ML-DSA, the signature on module lattices, in its three parameter sets.
//!
//! A key keeps what can be computed once: its matrix, expanded, and its vectors, transformed; [`Set::kept_public_len`] and
//! [`Set::kept_private_len`] say how much that is. [`Lanes`] computes many operations at once, of any keys. Then each lane of Keccak belongs to
//! another operation. A signature takes as many candidates as chance has it; a lane whose candidate is accepted takes the next message.
//!
//! | file | holds |
//! | --- | --- |
//! | `set.rs` | the parameter sets |
//! | `tables.rs` | the powers of the primitive root |
//! | `poly.rs` | polynomials |
//! | `ops.rs` | the functions that a kernel has for them; `rows.rs` lists the kernels |
//! | `vector.rs` | the transform and products, written once for every kind of vector; `kernel.rs` compiles them for a row |
//! | `rounding.rs` | the same for high and low bits, hints, bounds and encodings |
//! | `coding.rs` | bits in bytes, rejection, hints in signatures |
//! | `sponge.rs` | the hashes, in lanes of Keccak |
//! | `keys.rs` | making and expanding keys |
//! | `message.rs` | the schemes, and what each signs |
//! | `sign.rs`, `verify.rs` | signatures, several at once |
//! | `jobs.rs`, `lanes.rs` | many operations |
//!
//! # Time
//! No branch, no address and no division depends on a secret, but for two things that the standard allows to be seen: which candidates of a
//! signature are rejected, and which bytes of a stream are passed over when a key is made. `sign.rs` and `coding.rs` say why nothing
//! is learned from them. The time of a matrix's expansion depends on its seed, which is part of the public key. What verifies is public.
//!
//! Ref. FIPS 204.

mod arch;
mod coding;
mod jobs;
mod kernel;
mod keys;
mod lanes;
mod message;
mod ops;
mod poly;
mod portable;
mod private;
mod public;
mod rounding;
mod rows;
mod secret;
mod set;
mod sign;
mod sponge;
mod tables;
#[cfg(test)]
mod tests;
mod vector;
mod verify;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use crate::{Error, Random};

pub use crate::prehash::{CONTEXT_MAX, Prehash};
pub use jobs::{KeyJob, PublicKeyJob, SignJob, VerifyJob};
pub use lanes::{Lanes, MAX_LANES, ML_DSA_LANES};
pub use message::Scheme;
pub use ops::{LanesOps, Ops};
pub use private::PrivateKey;
pub use public::PublicKey;
pub use rows::ML_DSA;
pub use set::{MAX_PUBLIC_KEY, MAX_SIGNATURE, MU, RANDOMNESS, SEED, Set};

/// Private keys on the fastest kernels there are.
impl PrivateKey {
    /// Takes a key in either form for the fastest kernel that `features` allow: a seed of 32 bytes, or [`Set::expanded_key_len`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes. [`Error::Encoding`] if a coefficient in an expanded key is too large (FIPS 204 §7.2,
    /// algorithm 25), or t0 or the hash in it are not those that its other parts give.
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ML_DSA.best(features), features, set, bytes)
    }

    /// Makes the key of a seed: FIPS 204 §6.1, algorithm 6.
    pub fn from_seed(features: Features, set: Set, seed: &[u8; SEED]) -> Self {
        Self::from_seed_with_kernel(ML_DSA.best(features), features, set, seed)
    }

    /// Makes a key of random bytes: FIPS 204 §5.1, algorithm 1.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, set: Set, random: &mut dyn Random) -> Result<Self, Error> {
        let mut seed = Zeroizing::new([0; SEED]);
        random.fill(&mut *seed)?;
        Ok(Self::from_seed(features, set, &seed))
    }
}

/// Public keys on the fastest kernels there are.
impl PublicKey {
    /// Takes a key's encoding of [`Set::public_key_len`] bytes for the fastest kernel that `features` allow, and expands it. Every encoding of
    /// that length is a key (FIPS 204 §7.2, algorithm 23).
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes.
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(ML_DSA.best(features), features, set, bytes)
    }
}
