//! ML-KEM, the key encapsulation on module lattices, in its three parameter sets.
//!
//! A key keeps what can be computed once: its matrix, expanded, and the hash of its public key. [`Lanes`] computes many operations
//! at once, of any keys. Then each lane of Keccak belongs to another operation, and hashes that one operation has to do one after
//! another are done for all.
//!
//! | file | holds |
//! | --- | --- |
//! | `set.rs` | the parameter sets |
//! | `tables.rs` | the powers of the primitive root |
//! | `poly.rs` | polynomials, and the functions that a kernel has for them |
//! | `vector.rs` | these functions, written once for every kind of vector |
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
mod kpke;
mod lanes;
mod poly;
mod portable;
mod private;
mod public;
mod set;
mod sponge;
mod tables;
mod vector;

use millstream_cpu::{FeatureSet, Features};
use millstream_engines::sha3::Keccak;

use self::poly::{Factor, Poly};
use crate::{AlgorithmInfo, Bound, Error, Kernel, Row, Standing, Table, Timing};

pub use lanes::{
    DecapsulateJob, EncapsulateJob, KeyJob, Lanes, LanesOps, MAX_LANES, ML_KEM_LANES, PublicKeyJob,
};
pub use private::PrivateKey;
pub use public::{PublicKey, SharedSecret};
pub use set::Set;

const NAME: &str = "ml-kem";

/// Bytes of a private key's seed: the standard's d and z.
pub const SEED: usize = 64;

/// Bytes of a shared secret.
pub const SECRET: usize = 32;

/// The random bytes of which an encapsulation is made: the standard's m.
pub const MESSAGE: usize = 32;

/// Bytes of the longest public key, that of ML-KEM-1024.
pub const MAX_PUBLIC_KEY: usize = Set::MlKem1024.public_key_len();

/// Bytes of the longest ciphertext, that of ML-KEM-1024.
pub const MAX_CIPHERTEXT: usize = Set::MlKem1024.ciphertext_len();

/// The functions of a kernel: see the engine's functions of the same names.
#[derive(Clone, Copy, Debug)]
pub struct Ops {
    ntt: unsafe fn(&mut [Poly]),
    inverse: unsafe fn(&mut [Poly]),
    factor: unsafe fn(&[Poly], &mut [Factor]),
    multiply: unsafe fn(&[Poly], usize, &[Factor], &mut Poly),
    add: unsafe fn(&mut Poly, &Poly),
    subtract_from: unsafe fn(&mut Poly, &Poly),
    sample_vartime: unsafe fn(&[u8], &mut Poly, usize) -> usize,
    arrange: unsafe fn(&mut [Poly]),
    noise2: unsafe fn(&[u8; 128], &mut Poly),
    compress: unsafe fn(&Poly, usize, &mut [u8]),
    decompress: unsafe fn(&[u8], usize, &mut Poly),
    encode: unsafe fn(&Poly, &mut [u8]),
    decode: unsafe fn(&[u8], &mut Poly) -> bool,
}

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
const VECTOR: [u8; SECRET] = *b"\x9c\xdd\xd0\x89\xff\xe7\x0e\x39\x96\xe7\x6f\x7c\x8d\x06\x74\x6d\
    \xf3\x4d\x07\xe8\x65\x7b\xc0\xfc\xf2\xbb\x0e\x1c\x30\x84\xae\xa1";

/// The bytes that begin with `first` and count up.
fn counting<const N: usize>(first: u8) -> [u8; N] {
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

/// Returns the bytes if there are as many as there have to be.
fn bytes_of<'a>(
    set: Set,
    what: &'static str,
    bytes: &'a [u8],
    len: usize,
    takes: &'static str,
) -> Result<&'a [u8], Error> {
    if bytes.len() == len {
        return Ok(bytes);
    }
    Err(Error::Length { algorithm: set.name(), what, given: bytes.len(), takes })
}
