//! SLH-DSA, the stateless signature on hashes, in its twelve parameter sets.
//!
//! A signature is tens of thousands to millions of short hashes, nearly all of them independent of one another. The hashes of one operation
//! fill the lanes of the hash kernels: the chains of one-time keys, the leaves and the nodes of trees. [`Lanes`] computes several operations
//! at once in the same lanes, which pays for verification.
//!
//! A private key keeps the uppermost of its trees, which every signature has a path of: [`Set::kept_private_len`] says how much that is. The
//! hashes of the sets of SHA-2 begin with a block of the public seed, and the chaining value behind it is kept, too.
//!
//! The sets `s` have short signatures, and the sets `f` are some twenty times faster to sign with. Verification is fast with all.
//!
//! | file | holds |
//! | --- | --- |
//! | `set.rs` | the parameter sets |
//! | `address.rs` | the addresses of hashes |
//! | `group.rs` | the tasks in the lanes |
//! | `sha2.rs`, `shake.rs` | the hashes in lanes, written once; `kernel.rs` compiles them for a row |
//! | `ops.rs` | the functions that a kernel has; `rows.rs` lists the kernels |
//! | `tree.rs` | trees and paths |
//! | `fors.rs`, `hypertree.rs` | the two parts of a signature, and how they are verified |
//! | `message.rs` | the schemes, and the leaves that a message chooses |
//! | `work.rs` | the operations that run side by side |
//! | `sign.rs`, `verify.rs` | signatures, several at once |
//! | `jobs.rs`, `lanes.rs` | many operations |
//!
//! # Time
//! No branch and no address depends on a secret. Which leaves sign, and at which step of its chain a one-time key is cut, follows from the
//! message and the signature, which are public. What verifies is public.
//!
//! Ref. FIPS 205.

mod address;
mod arch;
mod fors;
mod group;
mod hypertree;
mod jobs;
mod kernel;
mod lanes;
mod message;
mod ops;
mod portable;
mod private;
mod public;
mod rows;
mod secret;
mod set;
mod sha2;
mod shake;
mod sign;
mod tree;
mod verify;
mod work;

use millstream_cpu::Features;
use zeroize::Zeroizing;

use crate::{Error, Random};

pub use crate::prehash::{CONTEXT_MAX, Prehash};
pub use jobs::{KeyJob, SignJob, VerifyJob};
pub use lanes::Lanes;
pub use message::Scheme;
pub use ops::Ops;
pub use private::PrivateKey;
pub use public::PublicKey;
pub use rows::SLH_DSA;
pub use set::{MAX_PUBLIC_KEY, MAX_SIGNATURE, Set};

/// Private keys on the fastest kernels there are.
impl PrivateKey {
    /// Takes a key's encoding of [`Set::private_key_len`] bytes for the fastest kernel that `features` allow. This takes as long as making a
    /// key, because the key's uppermost tree is computed.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes. [`Error::Encoding`] if the root in it is not the one that its seeds give.
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(SLH_DSA.best(features), features, set, bytes)
    }

    /// Makes the key of three seeds, one behind the other: the standard's SK.seed, SK.prf and PK.seed (FIPS 205 §9.1, algorithm 18).
    ///
    /// # Errors
    /// [`Error::Length`] unless there are [`Set::seeds_len`] bytes.
    pub fn from_seeds(features: Features, set: Set, seeds: &[u8]) -> Result<Self, Error> {
        Self::from_seeds_with_kernel(SLH_DSA.best(features), features, set, seeds)
    }

    /// Makes a key of random bytes: FIPS 205 §10.1, algorithm 21.
    ///
    /// # Errors
    /// What `random` fails with.
    pub fn generate(features: Features, set: Set, random: &mut dyn Random) -> Result<Self, Error> {
        let mut seeds = Zeroizing::new(vec![0; set.seeds_len()]);
        random.fill(&mut seeds)?;
        Self::from_seeds(features, set, &seeds)
    }
}

/// Public keys on the fastest kernels there are.
impl PublicKey {
    /// Takes a key's encoding of [`Set::public_key_len`] bytes for the fastest kernel that `features` allow. Every encoding of that length is
    /// a key.
    ///
    /// # Errors
    /// [`Error::Length`] for another number of bytes.
    pub fn new(features: Features, set: Set, bytes: &[u8]) -> Result<Self, Error> {
        Self::with_kernel(SLH_DSA.best(features), features, set, bytes)
    }
}
