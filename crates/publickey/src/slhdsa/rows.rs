//! The kernels, and the answer that each is asked for.

use millstream_cpu::{FeatureSet, Features};

#[cfg(target_arch = "x86_64")]
use super::arch;
use super::message::Scheme;
use super::ops::Ops;
use super::portable;
use super::private::PrivateKey;
use super::set::{NAME, Set};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

/// The kernels of SLH-DSA, best first.
pub static SLH_DSA: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "FIPS 205",
        // The bits of a private key without the public one.
        key_bits: &[256, 384, 512],
    },
    ROWS,
    known_answer,
);

const ROWS: &[Row<Ops>] = &[
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx512",
            requires: FeatureSet::parse("avx512f,avx512bw,avx512vl,bmi1,bmi2"),
            timing: Timing::Constant,
            note: "hashes of one operation side by side, their blocks put together with AVX-512",
        },
        ops: arch::x86_64_avx512::OPS,
    },
    #[cfg(target_arch = "x86_64")]
    Row {
        kernel: Kernel {
            name: "x86_64-avx2",
            requires: FeatureSet::parse("avx2,bmi1,bmi2"),
            timing: Timing::Constant,
            note: "hashes of one operation side by side, their blocks put together with AVX2",
        },
        ops: arch::x86_64_avx2::OPS,
    },
    Row {
        kernel: Kernel {
            name: "portable",
            requires: FeatureSet::EMPTY,
            timing: Timing::Constant,
            note: "the same on plain words",
        },
        ops: portable::OPS,
    },
];

/// The message of the known answer.
const MESSAGE: &[u8] = b"abc";

/// The last bytes of the public keys, and of the deterministic signatures, of seeds of bytes from 0 on.
const VECTORS: [(Set, [u8; 8], [u8; 8]); 3] = [
    (
        Set::Sha2_128f,
        [0x86, 0xae, 0xec, 0x2e, 0x2b, 0xb9, 0xe1, 0xb5],
        [0x1f, 0x00, 0xf8, 0xbd, 0x01, 0x66, 0xb6, 0x76],
    ),
    (
        Set::Sha2_192f,
        [0x34, 0x0e, 0xc0, 0x24, 0x19, 0xa2, 0x87, 0x0e],
        [0xe5, 0x4c, 0x4b, 0x25, 0x20, 0x41, 0xaa, 0x46],
    ),
    (
        Set::Shake128f,
        [0x32, 0x80, 0x17, 0x67, 0xfd, 0x78, 0x63, 0x71],
        [0xd6, 0xbd, 0x76, 0x66, 0xb8, 0xa7, 0xc2, 0xe5],
    ),
];

fn known_answer(kernel: Bound<Ops>) -> bool {
    let mut seeds = [0; 72];
    for i in 0..seeds.len() {
        seeds[i] = i as u8;
    }
    let right = |(set, public, signed): &(Set, [u8; 8], [u8; 8])| {
        let seeds = &seeds[..set.seeds_len()];
        let key = PrivateKey::from_seeds_with_kernel(kernel, Features::none(), *set, seeds)?;
        let signature = key.sign_deterministic(Scheme::Pure(&[]), MESSAGE)?;
        key.public_key().verify(MESSAGE, &signature)?;
        Ok::<_, Error>(key.public_key().as_bytes().ends_with(public) && signature.ends_with(signed))
    };
    VECTORS.iter().all(|vector| right(vector).unwrap_or(false))
}
