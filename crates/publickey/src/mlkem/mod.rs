//! ML-KEM, the key encapsulation on module lattices, in its three parameter sets.
//!
//! A key keeps what can be computed once: its matrix, expanded, and the hash of its public key; [`Set::kept_public_len`] and
//! [`Set::kept_private_len`] say how much that is. [`Lanes`] computes many operations at once, of any keys. Then each lane of Keccak belongs to another operation, and hashes that one operation has to do one after
//! another are done for all.
//!
//! | file | holds |
//! | --- | --- |
//! | `set.rs` | the parameter sets |
//! | `tables.rs` | the powers of the primitive root |
//! | `poly.rs` | polynomials |
//! | `ops.rs` | the functions that a kernel has for them; `rows.rs` lists the kernels |
//! | `vector.rs` | these functions, written once for every kind of vector; `kernel.rs` compiles them for a row |
//! | `coding.rs` | bits in bytes, noise, rejection |
//! | `sponge.rs` | the hashes, in lanes of Keccak |
//! | `kpke.rs` | the encryption under the KEM |
//! | `kem.rs` | encapsulation and decapsulation |
//!
//! # Time
//! No branch, no address and no division depends on a secret. The time of a matrix's expansion depends on its seed, which is
//! part of the public key. A ciphertext that was not made for a key takes the same time as one that was.
//!
//! Ref. FIPS 203.

mod arch;
mod coding;
mod kem;
mod kernel;
mod kpke;
mod lanes;
mod ops;
mod poly;
mod portable;
mod private;
mod public;
mod rows;
mod secret;
mod set;
mod sponge;
mod tables;
mod vector;

use millstream_cpu::Features;
use millstream_engines::sha3::Keccak;
use zeroize::Zeroizing;

use crate::{Error, Random};

pub use lanes::{DecapsulateJob, EncapsulateJob, KeyJob, Lanes, MAX_LANES, ML_KEM_LANES, PublicKeyJob};
pub use ops::{LanesOps, Ops};
pub use private::PrivateKey;
pub use public::{PublicKey, SharedSecret};
pub use rows::ML_KEM;
pub use set::{MAX_CIPHERTEXT, MAX_PUBLIC_KEY, MESSAGE, SECRET, SEED, Set};

/// Private keys on the fastest kernels there are.
impl PrivateKey {
    /// Takes a key in either form for the fastest kernel that `features` allow: a seed of 64 bytes, or [`Set::expanded_key_len`] bytes.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes. [`Error::Encoding`] if the hash in an expanded key is not that of the public key in
    /// it (the check of FIPS 203 §7.3), or a number in that public key is not below q.
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernels(ML_KEM.best(features), Keccak::new(features), set, bytes)
    }

    /// Makes the key of a seed: FIPS 203 §6.1, algorithm 16.
    pub fn from_seed(features: Features, set: Set, seed: &[u8; SEED]) -> Self {
        Self::from_seed_with_kernels(ML_KEM.best(features), Keccak::new(features), set, seed)
    }

    /// Makes a key of random bytes: FIPS 203 §7.1.
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
    /// Takes a key's encoding of [`Set::public_key_len`] bytes for the fastest kernel that `features` allow, and expands it.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes, and [`Error::Encoding`] if a number in it is not below q (the check of FIPS 203
    /// §7.2).
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernels(ML_KEM.best(features), Keccak::new(features), set, bytes)
    }
}
