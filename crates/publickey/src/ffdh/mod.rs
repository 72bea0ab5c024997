//! Diffie and Hellman's key agreement in a finite field, in the groups ffdhe2048, ffdhe3072 and ffdhe4096.
//!
//! The primes are safe: the group's order `(p - 1) / 2` is prime, so that 1 and p - 1 are the only elements of small order. A peer's key
//! that is none of these gives away no more of a private key than whether it is odd.
//!
//! Ref. RFC 7919 §3, §5.1 and appendix A; SP 800-56A Rev. 3 §5.6.2.3.2 (partial validation), §5.7.1.1.
//!
//! # Safety
//! Each call through the table's functions is covered by the [`Bound`] in the key.
#![allow(unsafe_code)]

mod arch;
mod group;
mod key;
mod portable;
mod primes;

use millstream_cpu::FeatureSet;

use crate::montgomery::{Modulus, WORDS};
use crate::{AlgorithmInfo, Bound, Kernel, Row, Standing, Table, Timing};

pub use group::{Group, MAX_BYTES};
pub use key::{Encoded, PrivateKey, PublicKey, SharedSecret};

const NAME: &str = "ffdh";

/// A number below a prime.
type Number = [u64; WORDS];

/// The functions of a kernel.
#[derive(Debug)]
pub struct Ops {
    /// Raises a number below the modulus to a secret exponent, whose number of words is public.
    power: unsafe fn(&Modulus<WORDS>, &Number, &[u64], &mut Number),
}

/// The kernels of finite-field agreement, best first.
pub static FFDH: Table<Ops> = Table::new(
    AlgorithmInfo {
        name: NAME,
        standing: Standing::Current,
        standard: "RFC 7919",
        key_bits: &[2048, 3072, 4096],
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
            note: "52-bit limbs in vectors; the modulus scaled so that a limb is its own quotient",
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

/// The first and the last 16 bytes of 2 to the power of 0x0102..20 in ffdhe2048, from another implementation.
const POWER: [[u8; 16]; 2] = [
    [0x0e, 0xef, 0x0c, 0x0e, 0xae, 0x9c, 0x65, 0xa3, 0x33, 0x2c, 0xdc, 0x74, 0x2b, 0x58, 0x56, 0x1d],
    [0xf5, 0x0c, 0x33, 0x77, 0xb9, 0xa3, 0x8a, 0x27, 0xae, 0x04, 0x8f, 0x56, 0x05, 0xa4, 0xdc, 0xbf],
];

/// A public key, and that both sides of an agreement come to the same secret.
fn known_answer(kernel: Bound<Ops>) -> bool {
    let private: [u8; 32] = std::array::from_fn(|i| i as u8 + 1);
    let group = Group::Ffdhe2048;
    let keys = [&private[..], &[7; 29]].map(|bytes| PrivateKey::with_kernel(kernel, group, bytes));
    let [Ok(one), Ok(other)] = keys else { return false };
    let (public, peer) = (one.public_key(), other.public_key());
    let (Ok(secret), Ok(same)) = (one.agree(&peer), other.agree(&public)) else { return false };
    let bytes = public.to_bytes();
    bytes[..16] == POWER[0] && bytes[group.bytes() - 16..] == POWER[1] && *secret == *same
}
