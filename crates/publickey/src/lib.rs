//! Public-key cryptography: for each primitive a table of kernels for one operation at a time, and a table of lanes.
//!
//! A key is bound to a kernel when it is made, from a [`Features`](millstream_cpu::Features) value, and keeps that
//! binding. Many operations go through a lane manager, whose jobs have keys and results of their own.
//!
//! No secret decides a branch or an address. What works on public values alone may take a time that depends on them, and
//! has `_vartime` in its name.
#![deny(unsafe_code)]

pub mod curve25519;
mod curve448;
pub mod ecdh;
pub mod ecdsa;
pub mod ed25519;
pub mod ed448;
mod error;
pub mod ffdh;
pub mod hpke;
pub mod hybrid;
mod lattice;
pub mod mldsa;
pub mod mlkem;
mod montgomery;
mod prehash;
mod random;
pub mod rsa;
pub mod slhdsa;
pub mod weierstrass;
pub mod x25519;
pub mod x448;

pub use error::Error;
pub use millstream_kernel::{
    self as kernel, AlgorithmInfo, Bound, Engine, Kernel, Row, Standing, Table, Timing,
};
pub use random::Random;

/// Every engine of this crate, in the order in which reports list them.
pub fn engines() -> &'static [&'static dyn Engine] {
    static ENGINES: &[&dyn Engine] = &[
        &&x25519::X25519,
        &&x25519::X25519_LANES,
        &&ed25519::ED25519,
        &&ed25519::ED25519_LANES,
        &&ed448::ED448,
        &&x448::X448,
        &&weierstrass::P256,
        &&weierstrass::P384,
        &&weierstrass::P521,
        &&weierstrass::P256_LANES,
        &&weierstrass::P384_LANES,
        &&weierstrass::P521_LANES,
        &&ffdh::FFDH,
        &&mldsa::ML_DSA,
        &&mldsa::ML_DSA_LANES,
        &&mlkem::ML_KEM,
        &&mlkem::ML_KEM_LANES,
        &&rsa::RSA,
        &&rsa::RSA_LANES,
        &&slhdsa::SLH_DSA,
    ];
    ENGINES
}
