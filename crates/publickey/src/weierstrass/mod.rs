//! The curves P-256, P-384 and P-521: their keys, and the tables of kernels that ECDSA and ECDH stand on.
//!
//! Ref. SP 800-186 §3.2.1; FIPS 186-5 §6; SEC 1 v2.0 §2.3 (encodings).
mod arch;
pub(crate) mod barrier;
mod curve;
mod digits;
pub(crate) mod example;
pub(crate) mod field;
mod inversion;
pub(crate) mod key;
pub(crate) mod lanes;
pub(crate) mod limbs;
mod manager;
mod multiply;
mod named;
mod operands;
pub(crate) mod ops;
mod point;
pub(crate) mod primes;
mod products;
mod table;
mod vartime;

pub use key::{EncodedPoint, PrivateKey, PublicKey};
pub use lanes::{LanesOps, P256_LANES, P384_LANES, P521_LANES};
pub use manager::{Lanes, PublicJob};
pub use named::{Curve, MAX_BYTES, MAX_POINT};
pub use ops::Ops;
pub use table::{P256, P384, P521};
