//! Ed25519, the signature on edwards25519, with its variants Ed25519ctx and Ed25519ph.
//!
//! # What verifies
//! [`PublicKey::verify`] is strict as RFC 8032 §5.1.7 is. The key's and the signature's points have to be encoded as §5.1.3
//! says: y is below p, and the sign of x = 0 is clear. S has to be below the order L. The equation is the one without the
//! cofactor, S B = R + k A, as in OpenSSL: the encoding of S B - k A must be that of R. Points of small order are not
//! refused, since the standard does not refuse them. OpenSSL differs in one thing: it takes a key whose y is not below p.
//!
//! [`PublicKey::verify_zip215`] takes what ZIP 215 takes: any encoding of the two points, and the equation with the
//! cofactor, 8 S B = 8 R + 8 k A. S has to be below L there too.
//!
//! Ref. RFC 8032 §5.1; ZIP 215 of the Zcash improvement proposals.
//!
//! # Safety
//! Each call through a table's functions is covered by the [`Bound`] it goes through.
#![allow(unsafe_code)]

mod arch;
mod check;
mod lanes;
mod private;
mod public;
mod scheme;
#[cfg(test)]
mod tests;

use millstream_cpu::{FeatureSet, Features};

use crate::curve25519::scalar::Scalar;
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};
use check::Check;

pub use check::Rules;
pub use lanes::{ED25519_LANES, KeyJob, LANES, Lanes, LanesOps, PublicKeyJob, SignJob, VerifyJob};
pub use private::PrivateKey;
pub use public::PublicKey;
pub use scheme::Scheme;

const NAME: &str = "ed25519";

/// Bytes of a private key, the seed, and of a public key.
pub const KEY: usize = 32;
/// Bytes of a signature.
pub const SIGNATURE: usize = 64;
/// The longest context, in bytes.
pub const CONTEXT_MAX: usize = 255;

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// The encoding of a secret scalar's multiple of the base point.
    multiply_base: unsafe fn(&Scalar) -> [u8; KEY],
    /// Returns true if a signature's equation holds. The time depends on all that it is given.
    check_vartime: unsafe fn(&Check) -> bool,
}

/// The kernels of Ed25519, best first.
pub static ED25519: Table<Ops> = Table::new(
    AlgorithmInfo { name: NAME, standing: Standing::Current, standard: "RFC 8032 §5.1", key_bits: &[256] },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-bmi2",
            requires: FeatureSet::parse("avx2,bmi2"),
            timing: Timing::Constant,
            note: "the portable limbs, multiplied by MULX; tables read in vectors",
        },
        ops: arch::x86_64_bmi2::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "51-bit limbs in 128-bit products",
        },
        ops: check::PORTABLE,
    },
];

/// RFC 8032 §7.1, test 2: the private key, the public key, and the signature of the byte 72.
const SEED: &[u8; KEY] = b"\x4c\xcd\x08\x9b\x28\xff\x96\xda\x9d\xb6\xc3\x46\xec\x11\x4e\x0f\
    \x5b\x8a\x31\x9f\x35\xab\xa6\x24\xda\x8c\xf6\xed\x4f\xb8\xa6\xfb";
const PUBLIC: &[u8; KEY] = b"\x3d\x40\x17\xc3\xe8\x43\x89\x5a\x92\xb7\x0a\xa7\x4d\x1b\x7e\xbc\
    \x9c\x98\x2c\xcf\x2e\xc4\x96\x8c\xc0\xcd\x55\xf1\x2a\xf4\x66\x0c";
const MESSAGE: &[u8] = b"\x72";
const SIGNED: &[u8; SIGNATURE] = b"\x92\xa0\x09\xa9\xf0\xd4\xca\xb8\x72\x0e\x82\x0b\x5f\x64\x25\x40\
    \xa2\xb2\x7b\x54\x16\x50\x3f\x8f\xb3\x76\x22\x23\xeb\xdb\x69\xda\
    \x08\x5a\xc1\xe4\x3e\x15\x99\x6e\x45\x8f\x36\x13\xd0\xf1\x1d\x8c\
    \x38\x7b\x2e\xae\xb4\x30\x2a\xee\xb0\x0d\x29\x16\x12\xbb\x0c\x00";

fn known_answer(kernel: Bound<Ops>) -> bool {
    let answer = || {
        let key = PrivateKey::with_kernel(kernel, Features::none(), SEED)?;
        let signature = key.sign(MESSAGE);
        key.public_key().verify(MESSAGE, &signature)?;
        Ok::<bool, Error>(signature == *SIGNED && key.public_key().as_bytes() == PUBLIC)
    };
    answer().unwrap_or(false)
}
