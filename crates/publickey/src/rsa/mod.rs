//! RSA with moduli of 1024 to 4096 bits: signatures, encryption and keys.
//!
//! [`PrivateKey`] and [`PublicKey`] do one operation at a time, [`Lanes`] many at once. A private operation goes through the
//! Chinese remainder theorem, and the public operation must lead back to its input before the result leaves: a fault in one half
//! would otherwise reveal the factors (Boneh, DeMillo and Lipton, 1997).
//!
//! # Blinding
//! An attacker who measures time or cache lines learns nothing from these kernels: they execute the same instructions at the
//! same addresses whatever the numbers are. So blinding is not needed against such an attacker, and plain operations go without it. Power and electromagnetic radiation
//! do depend on the numbers, as may the frequency of the processor under load. [`PrivateKey::blinded`] gives the
//! attacker no input of his choice: the base is multiplied by the power of a random number, at the price of a second private operation.
//!
//! Ref. RFC 8017; FIPS 186-5 §5 and appendix A.1.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod arch;
mod blinded;
mod der;
mod encoding;
mod example;
mod generate;
mod implicit;
mod job;
mod lanes;
mod lengths;
mod numbers;
mod oaep;
mod pkcs1;
mod portable;
mod private;
mod pss;
mod public;
mod public_job;

use millstream_cpu::{FeatureSet, Features};
use millstream_kernel::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

pub use blinded::Blinded;
pub use der::{MAX_PRIVATE_DER, MAX_PUBLIC_DER};
pub use encoding::{MAX_BYTES, Oaep, Pss};
pub use job::{Job, LanesOps};
pub use lanes::{Lanes, RSA_LANES};
pub use private::{Component, Components, PrivateKey};
pub use public::PublicKey;
pub use public_job::PublicJob;

pub(crate) use numbers::{Halves, Number, Private, Public};

/// Bits of the shortest modulus.
pub const MIN_BITS: usize = 1024;
/// Bits of the longest modulus.
pub const MAX_BITS: usize = 4096;

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// Raises a number to the public exponent.
    public: unsafe fn(&Public, &Number, &mut Number),
    /// Raises a number to the secret exponents modulo both primes.
    halves: unsafe fn(&Private, &Number, &mut Halves),
}

/// The kernels of RSA, best first.
pub static RSA: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: "rsa",
        standing: Standing::Current,
        standard: "RFC 8017 §5",
        key_bits: &[1024, 2048, 3072, 4096],
    },
    ROWS,
    known_answer,
);

static ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512ifma-by1",
            requires: FeatureSet::parse("avx512f,avx512ifma"),
            timing: Timing::Constant,
            note: "52-bit limbs in vectors, both primes in step; the modulus scaled so that a limb is its own quotient",
        },
        ops: arch::x86_64_avx512ifma::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "words of 64 bits, multiplied and reduced in one loop",
        },
        ops: portable::OPS,
    },
];

/// A private and a public operation that lead back, and the power that another implementation has computed.
fn known_answer(kernel: Bound<Ops>) -> bool {
    let Ok(key) = PrivateKey::with_kernel(kernel, Features::none(), &example::COMPONENTS) else {
        return false;
    };
    let (mut power, mut back) = ([0; 128], [0; 128]);
    let right =
        key.raw(&example::INPUT, &mut power).is_ok() && key.public_key().raw(&power, &mut back).is_ok();
    right && power == example::OUTPUT && back == example::INPUT
}
