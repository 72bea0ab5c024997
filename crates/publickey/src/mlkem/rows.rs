//! The kernels for one operation, and the answer that each is asked for.

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::sha3::Keccak;

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::ops::Ops;
use super::portable;
use super::private::PrivateKey;
use super::set::{NAME, SECRET, SEED, Set};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The kernels of ML-KEM, best first.
pub static ML_KEM: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "FIPS 203",
        // The bits of the seed, of whichever set.
        key_bits: &[512],
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
            note: "32 coefficients in a register, two polynomials transformed side by side",
        },
        ops: arch::x86_64_avx512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2",
            requires: FeatureSet::parse("avx2"),
            timing: Timing::Constant,
            note: "16 coefficients in a register, six layers of the transform without leaving it",
        },
        ops: arch::x86_64_avx2::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "the same on arrays of 16 coefficients",
        },
        ops: portable::OPS,
    },
];

/// The secret of ML-KEM-768 for a seed of bytes from 0 on and for a message of bytes from 64 on.
pub(super) const VECTOR: [u8; SECRET] = *b"\x9c\xdd\xd0\x89\xff\xe7\x0e\x39\x96\xe7\x6f\x7c\x8d\x06\x74\x6d\
    \xf3\x4d\x07\xe8\x65\x7b\xc0\xfc\xf2\xbb\x0e\x1c\x30\x84\xae\xa1";

/// The bytes that begin with `first` and count up.
pub(super) fn counting<const N: usize>(first: u8) -> [u8; N] {
    let mut bytes = [first; N];
    for i in 0..N {
        bytes[i] += i as u8;
    }
    bytes
}

fn known_answer(kernel: Bound<Ops>) -> bool {
    let keccak = Keccak::new(Features::none());
    let answer = || {
        let key = PrivateKey::with_kernels(kernel, keccak, Set::MlKem768, &counting::<SEED>(0))?;
        let (ciphertext, secret) = key.public_key().encapsulate_message(&counting(64));
        Ok::<_, Error>(*secret.as_bytes() == VECTOR && key.decapsulate(&ciphertext)? == secret)
    };
    answer().unwrap_or(false)
}
