//! The kernels for one operation, and the answer that each is asked for.

use millstream_cpu::{FeatureSet, Features};

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::message::Scheme;
use super::ops::Ops;
use super::portable;
use super::private::PrivateKey;
use super::set::{NAME, SEED, Set};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The kernels of ML-DSA, best first.
pub static ML_DSA: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "FIPS 204",
        // The bits of the seed, of whichever set.
        key_bits: &[256],
    },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512",
            requires: FeatureSet::parse("avx512f,avx512bw,avx512vl"),
            timing: Timing::Constant,
            note: "16 coefficients in a register, two polynomials transformed side by side",
        },
        ops: arch::x86_64_avx512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2",
            requires: FeatureSet::parse("avx2"),
            timing: Timing::Constant,
            note: "8 coefficients in a register, six layers of the transform without leaving it",
        },
        ops: arch::x86_64_avx2::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "the same on arrays of 8 coefficients",
        },
        ops: portable::OPS,
    },
];

/// The message of the known answer.
pub(super) const MESSAGE: &[u8] = b"abc";

/// The first bytes of the deterministic signature of ML-DSA-65 for a seed of bytes from 0 on.
pub(super) const VECTOR: [u8; 32] = *b"\x21\xa4\xe3\xc4\x87\xd2\x31\x26\x13\x59\xd0\x25\x24\x1b\xe6\x86\
    \x73\x9d\x89\x3a\xa4\x16\xce\x0c\x5c\xcd\xf0\x57\xcb\x22\x2b\xf6";

/// The bytes that count up from 0.
pub(super) fn seed() -> [u8; SEED] {
    let mut bytes = [0; SEED];
    for i in 0..SEED {
        bytes[i] = i as u8;
    }
    bytes
}

fn known_answer(kernel: Bound<Ops>) -> bool {
    let answer = || {
        let key = PrivateKey::with_kernel(kernel, Features::none(), Set::MlDsa65, &seed())?;
        let signature = key.sign_deterministic(Scheme::Pure(&[]), MESSAGE)?;
        key.public_key().verify(MESSAGE, &signature)?;
        Ok::<_, Error>(signature.starts_with(&VECTOR))
    };
    answer().unwrap_or(false)
}
