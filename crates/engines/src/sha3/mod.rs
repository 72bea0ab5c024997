//! SHA-3 and SHAKE: the sponge over the permutation Keccak-f\[1600\].
//!
//! The four are hashes ([`enum@Hash`]) like all others: a block has as many bytes as the sponge's rate, and a kernel absorbs blocks
//! as others compress them. So there is a table for each rate, and the same rows in each. [`Shake`] has output of any length;
//! SHAKE256 runs on the kernels of SHA3-256, whose rate it has.
//!
//! Ref. FIPS 202 §4 (the sponge), §5.1 (padding) and §6 (the functions).

pub(crate) mod arch;
mod permutation;
mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod side_by_side;
mod states;
mod xof;

use millstream_cpu::FeatureSet;

use crate::hash::chain::{self, Chain, Chaining};
use crate::hash::{CompressOps, Hash, LanesOps, job as lane_rows};
use crate::{Bound, Row, Standing, Table};

pub use states::{KECCAK, Keccak, KeccakOps, States, WORDS};
pub use xof::{Shake, Xof, XofKernel, XofReader};

/// Bytes in a block of SHA3-224.
pub const RATE_224: usize = 144;
/// Bytes in a block of SHA3-256, and of SHAKE256.
pub const RATE_256: usize = 136;
/// Bytes in a block of SHA3-384.
pub const RATE_384: usize = 104;
/// Bytes in a block of SHA3-512.
pub const RATE_512: usize = 72;
/// Bytes in a block of SHAKE128.
pub const RATE_SHAKE128: usize = 168;

/// The state of the sponge.
pub(crate) type State = [u64; permutation::WORDS];

/// The byte that ends a message: the two bits that FIPS 202 §6.1 appends, and the first of the padding.
const END: u8 = 0x06;

/// The kernels of a rate, best first.
macro_rules! rows {
    ($rate:ident) => {{
        static ROWS: &[Row<CompressOps<State, $rate>>] = &[
            #[cfg(target_arch = "x86_64")]
            arch::x86_64_avx512::row(),
            #[cfg(target_arch = "x86_64")]
            arch::x86_64_bmi::row(),
            #[cfg(target_arch = "aarch64")]
            arch::aarch64_ce::row(),
            chain::row(
                "portable",
                FeatureSet::EMPTY,
                portable::compress,
                "plain words, no lane complemented",
            ),
        ];
        ROWS
    }};
}

/// The tables of a hash.
macro_rules! tables {
    ($hash:ident $rate:ident $abc:ident: $direct:ident $direct_name:literal, $lanes:ident $lanes_name:literal, $section:literal) => {
        #[doc = concat!("The kernels of ", $section, ", best first.")]
        pub static $direct: Table<CompressOps<State, $rate>> =
            chain::table($direct_name, Standing::Current, "FIPS 202 §6.1", rows!($rate), |kernel| {
                known_answer(kernel, Hash::$hash, $abc)
            });

        #[doc = concat!("The kernels for many messages of ", $section, ", best first.")]
        pub static $lanes: Table<LanesOps<State, $rate>> = {
            static ROWS: &[Row<LanesOps<State, $rate>>] = &[
                #[cfg(target_arch = "x86_64")]
                arch::x86_64_avx512_lanes::row(),
                #[cfg(target_arch = "x86_64")]
                arch::x86_64_avx2_lanes::row(),
                lane_rows::direct_row!(),
            ];
            lane_rows::table($lanes_name, Standing::Current, "FIPS 202 §6.1", ROWS, |kernel| {
                lane_rows::known_answer(kernel, &$direct, Hash::$hash, $abc)
            })
        };
    };
}

tables!(Sha3_224 RATE_224 ABC_224: SHA3_224 "sha3-224", SHA3_224_LANES "sha3-224-lanes", "SHA3-224");
tables!(Sha3_256 RATE_256 ABC_256: SHA3_256 "sha3-256", SHA3_256_LANES "sha3-256-lanes", "SHA3-256");
tables!(Sha3_384 RATE_384 ABC_384: SHA3_384 "sha3-384", SHA3_384_LANES "sha3-384-lanes", "SHA3-384");
tables!(Sha3_512 RATE_512 ABC_512: SHA3_512 "sha3-512", SHA3_512_LANES "sha3-512-lanes", "SHA3-512");

/// The kernels of SHAKE128, best first.
pub static SHAKE128: Table<CompressOps<State, RATE_SHAKE128>> =
    chain::table("shake128", Standing::Current, "FIPS 202 §6.2", rows!(RATE_SHAKE128), shake_known_answer);

/// The digest of "abc" by SHA3-224, from NIST's examples.
const ABC_224: &[u8] = b"\xe6\x42\x82\x4c\x3f\x8c\xf2\x4a\xd0\x92\x34\xee\x7d\x3c\x76\x6f\
    \xc9\xa3\xa5\x16\x8d\x0c\x94\xad\x73\xb4\x6f\xdf";

/// The digest of "abc" by SHA3-256, from NIST's examples.
const ABC_256: &[u8] = b"\x3a\x98\x5d\xa7\x4f\xe2\x25\xb2\x04\x5c\x17\x2d\x6b\xd3\x90\xbd\
    \x85\x5f\x08\x6e\x3e\x9d\x52\x5b\x46\xbf\xe2\x45\x11\x43\x15\x32";

/// The digest of "abc" by SHA3-384, from NIST's examples.
const ABC_384: &[u8] = b"\xec\x01\x49\x82\x88\x51\x6f\xc9\x26\x45\x9f\x58\xe2\xc6\xad\x8d\
    \xf9\xb4\x73\xcb\x0f\xc0\x8c\x25\x96\xda\x7c\xf0\xe4\x9b\xe4\xb2\
    \x98\xd8\x8c\xea\x92\x7a\xc7\xf5\x39\xf1\xed\xf2\x28\x37\x6d\x25";

/// The digest of "abc" by SHA3-512, from NIST's examples.
const ABC_512: &[u8] = b"\xb7\x51\x85\x0b\x1a\x57\x16\x8a\x56\x93\xcd\x92\x4b\x6b\x09\x6e\
    \x08\xf6\x21\x82\x74\x44\xf7\x0d\x88\x4f\x5d\x02\x40\xd2\x71\x2e\
    \x10\xe1\x16\xe9\x19\x2a\xf3\xc9\x1a\x7e\xc5\x76\x47\xe3\x93\x40\
    \x57\x34\x0b\x4c\xf4\x08\xd5\xa5\x65\x92\xf8\x27\x4e\xec\x53\xf0";

/// The first bytes of SHAKE128 of the empty message, from NIST's examples.
const EMPTY_SHAKE128: &[u8; 16] = b"\x7f\x9c\x2b\xa4\xe8\x8f\x82\x7d\x61\x60\x45\x50\x76\x05\x85\x3e";

fn known_answer<const RATE: usize>(
    kernel: Bound<CompressOps<State, RATE>>,
    hash: Hash,
    abc: &'static [u8],
) -> bool {
    let mut out = [0; crate::hash::MAX_DIGEST];
    let out = &mut out[..abc.len()];
    Chain { kernel, state: State::initial(hash) }.digest(0, b"abc").write(out);
    out == abc
}

fn shake_known_answer(kernel: Bound<CompressOps<State, RATE_SHAKE128>>) -> bool {
    let mut out = [0; 16];
    xof::of_nothing(kernel).squeeze(&mut out);
    out == *EMPTY_SHAKE128
}

/// Adds bytes to those of the state from `at` on: FIPS 202 §4, step 6.
#[inline(always)]
fn mix(state: &mut State, mut at: usize, mut data: &[u8]) {
    while !data.is_empty() {
        let in_word = at % 8;
        let (head, rest) = data.split_at(data.len().min(8 - in_word));
        let mut bytes = [0; 8];
        bytes[in_word..in_word + head.len()].copy_from_slice(head);
        state[at / 8] ^= u64::from_le_bytes(bytes);
        at += head.len();
        data = rest;
    }
}

impl Chaining for State {
    const LEN: usize = size_of::<Self>();
    const OUTPUT: usize = crate::hash::MAX_DIGEST;
    const END: u8 = END;
    const SPONGE: bool = true;

    #[inline(always)]
    fn mix(&mut self, bytes: &[u8]) {
        mix(self, 0, bytes);
    }

    #[inline(always)]
    fn initial(_: Hash) -> Self {
        [0; permutation::WORDS]
    }

    #[inline(always)]
    fn write(&self, out: &mut [u8]) {
        for (bytes, word) in out.chunks_mut(8).zip(self) {
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
    }

    fn read(bytes: &[u8]) -> Self {
        let mut words = [0; permutation::WORDS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        words
    }

    /// FIPS 202 §5.1: the padding ends with a bit that is set, wherever it began.
    #[inline(always)]
    fn write_length(last_block: &mut [u8], _: u64) {
        if let Some(last) = last_block.last_mut() {
            *last |= 0x80;
        }
    }
}
