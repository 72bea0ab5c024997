//! Ciphers, hashes, MACs and checksums: for each a table of kernels, one of which is bound to
//! the processor at hand.
//!
//! Every engine is a folder of the same words. It has the files that its algorithm has a use for:
//!
//! | file | holds |
//! | --- | --- |
//! | `mod.rs` | types, the table of kernels, the known answer |
//! | `schedule.rs` | the expanded key |
//! | `portable.rs` | the kernel for any processor, in constant time |
//! | `vector.rs` | one message in vector registers, written once for several tiers |
//! | `job.rs` | one message's work for the lanes, and a lane kernel's functions |
//! | `lanes.rs` | many messages at once: the lane manager and its table of kernels |
//! | `side_by_side.rs` | the messages in their lanes, written once for several tiers |
//! | `arch/` | one file for each processor tier |
//!
//! [`blocks`], [`cmac`], `ff1`, [`fernet`], [`gcm_siv`], [`hash`], [`hkdf`], [`hmac`], [`keywrap`], [`siv`], [`tls`] and [`xaes`]
//! are constructions over the engines, and have no portable kernel of their own.
//!
//! A key or a state is bound to a kernel when it is made, from a [`Features`](millstream_cpu::Features)
//! value, and keeps that binding: an operation never detects anything. The tables, the binding and the
//! scheduler of lanes are the crate `millstream-kernel`, re-exported here as [`kernel`].
//!
//! The types here ask for that value explicitly; the crate `millstream` supplies the process's own.
//!
//! # To add a cipher
//!
//! A cipher is its folder here and a row for each of its modes in the accelerator. What else knows ciphers by name either
//! does not compile without the new one, or is a list that a test compares. In this order:
//!
//! 1. **Its folder**, of the files above. A cipher of 16-byte blocks implements [`blocks::Cipher`], whose page names the
//!    parts that it gets from there: modes, known answers, lanes, planes of bits and of bytes, and the algebra of S-boxes. The
//!    folder holds only what is the cipher's own. `schedule.rs` makes subkeys in rows of 16 bytes, for both directions;
//!    `sbox.rs` has the S-box as linear maps around the inversion in a field; `portable.rs` passes blocks in planes of bits, and
//!    `sliced.rs` in planes of bytes; `arch/` has a file for each tier, with the S-box by the tier's instructions and the
//!    functions compiled for its features; `mod.rs` and `lanes.rs` have the tables and name the types. Any other cipher brings
//!    types of its own that implement [`modes::BlockMode`], [`modes::StreamMode`] or [`aead::Aead`].
//! 2. **Its tables** in [`engines()`]: those of one message first, then those of lanes.
//! 3. **Its tests**, `tests/NAME.rs`, on every row that the processor has: the standard's examples, every number of blocks beyond
//!    the widest row, every split of a stream, guard pages, every number of messages in the lanes, and every subset of the features,
//!    compared with another implementation. Its names go into the list in `tests/registry.rs`.
//! 4. **Its trials** of constant time, a line for each table in `crates/constant-time/src/direct.rs` or `lanes.rs`.
//! 5. **Its numbers**, which never change: a line for each mode in `crates/cwq/src/code.rs`, and its arms in `usage.rs`.
//! 6. **Its rows** in `crates/accelerator/src/algorithms/rows.rs`, which explains them. `tests/accelerator/case.rs` and `purpose.rs` have their
//!    own list of what each algorithm takes, and `vectors.rs` has published answers of each. The tests of
//!    `crates/broker/tests/worker` have such lists, too.
//! 7. **Its names** in the faces: `crates/millstream/src/lib.rs` re-exports the folder; `crates/capi/src/algorithm.rs` has the numbers for
//!    C and `stream.rs` its streams; `crates/provider/src/algorithms/ciphers.rs` has OpenSSL's names and object identifiers;
//!    `crates/files/src/cipher.rs` has those of `encrypt -a`. The compiler then names the matches of `speed` in `crates/cli`.
//! 8. **Its words**: `cargo xtask generate` renews the C header and the table of kernels; `docs/openssl.md`, `docs/faq.md` and
//!    CHANGELOG.md have lists for people.
//!
//! The scheduler, the broker, the policy's names, `caps` and `check` need no change. These then say what is
//! wrong:
//!
//! * `cargo test -p millstream-engines --lib`: the S-box that the algebra gives is the standard's table.
//! * `tests/registry.rs`: every row of every table gives its known answer, and a table that [`engines()`] lacks is named.
//! * `tests/features.rs`: no row reaches code that is compiled for more features than the row requires.
//! * `cargo test --release -p millstream-constant-time`: no branch and no address depends on key or data. A table without a trial is named.
//! * `cargo check -p millstream-accelerator`: a number without a row is refused when the table of costs is computed, as is a row
//!   that forgets a direction.
//! * `cargo test -p millstream-accelerator`: rows take the keys that the engine takes; every algorithm has a vector; every operation gives
//!   the same alone, in lanes, in slices, and under every order of words.
//! * `cargo test -p millstream-capi`: the header's numbers are those of control words; every cipher gives in C, whole and in
//!   pieces, what it gives in Rust.
//! * `cargo test -p millstream-provider --test ciphers`, `tests/openssl.rs` and `crates/cli/tests/openssl.rs`: the same bytes, names and errors as
//!   OpenSSL's own cipher. The lists at their heads say what is offered; nothing else notices a name that a face lacks.
//! * `cargo test -p millstream-broker --test worker`: keys leave nothing in a worker's memory.
//!
//! SM4 was added so, in one commit that touches nothing else:
//!
//! ```text
//!  CHANGELOG.md                                    |  2 ++
//!  crates/accelerator/src/algorithms/rows.rs       | 27 ++++++++++++++++++++++++++
//!  crates/accelerator/tests/accelerator/case.rs    |  8 ++++++--
//!  crates/accelerator/tests/accelerator/purpose.rs |  2 +-
//!  crates/accelerator/tests/accelerator/vectors.rs | 36 ++++++++++++++++++++++++++++++++++-
//!  crates/broker/tests/worker/secrets.rs           |  3 ++-
//!  crates/broker/tests/worker/shares.rs            |  2 +-
//!  crates/capi/include/millstream.h                | 16 ++++++++++++++--
//!  crates/capi/src/algorithm.rs                    |  9 +++++++++
//!  crates/capi/src/ffi/direct.rs                   |  2 +-
//!  crates/capi/src/ffi/stream.rs                   |  2 +-
//!  crates/capi/src/stream.rs                       |  3 +++
//!  crates/capi/tests/agree.rs                      |  5 +++--
//!  crates/cli/src/speed/algorithm.rs               |  3 +++
//!  crates/cli/src/speed/ways/batch.rs              | 10 +++++++---
//!  crates/cli/src/speed/ways/direct.rs             |  6 +++++-
//!  crates/cli/src/speed/ways/openssl.rs            |  1 +
//!  crates/cli/src/speed/ways/pkcs11.rs             |  2 ++
//!  crates/cli/src/speed/ways/queue.rs              |  3 +++
//!  crates/cli/tests/openssl.rs                     |  6 ++++--
//!  ...
//!  48 files changed, 1510 insertions(+), 33 deletions(-)
//! ```
#![deny(unsafe_code)]

pub mod aead;
pub mod aes;
pub mod blocks;
pub mod camellia;
pub mod chacha20poly1305;
pub mod cmac;
pub mod crc;
pub mod des;
pub mod fernet;
#[cfg(feature = "ff1")]
pub mod ff1;
pub mod gcm;
pub mod gcm_siv;
pub mod hash;
pub mod hkdf;
pub mod hmac;
pub mod ipsum;
pub mod kasumi;
pub mod keywrap;
#[cfg(target_arch = "x86_64")]
mod masked;
pub mod md5;
pub mod modes;
pub mod rc4;
pub mod sha1;
pub mod sha256;
pub mod sha3;
pub mod sha512;
pub mod siv;
pub mod sm4;
pub mod tls;
pub mod xaes;

pub use millstream_kernel::{self as kernel, compare, error, inout, lanes};
pub use millstream_kernel::{
    AlgorithmInfo, Bound, Crossover, Engine, Error, InOut, Kernel, Row, Standing, Table, Timing,
};

/// Every engine of this crate, in the order in which reports list them.
pub fn engines() -> &'static [&'static dyn Engine] {
    static ENGINES: &[&dyn Engine] = &[
        &&aes::ECB,
        &&aes::CBC,
        &&aes::CTR,
        &&aes::CFB,
        &&gcm::GCM,
        &&gcm::GCM_LANES,
        &&gcm::POLYVAL,
        &&aes::XTS,
        &&aes::CMAC,
        &&aes::CBC_LANES,
        &&aes::CTR_LANES,
        &&aes::CFB_LANES,
        &&aes::CMAC_LANES,
        &&chacha20poly1305::CHACHA20_POLY1305,
        &&chacha20poly1305::CHACHA20_POLY1305_LANES,
        &&sha256::SHA256,
        &&sha256::SHA256_LANES,
        &&sha256::SHA256_FOLD,
        &&sha512::SHA512,
        &&sha512::SHA512_LANES,
        &&sha512::SHA512_FOLD,
        &&sha3::SHA3_224,
        &&sha3::SHA3_256,
        &&sha3::SHA3_384,
        &&sha3::SHA3_512,
        &&sha3::SHAKE128,
        &&sha3::KECCAK,
        &&sha3::SHA3_224_LANES,
        &&sha3::SHA3_256_LANES,
        &&sha3::SHA3_384_LANES,
        &&sha3::SHA3_512_LANES,
        &&camellia::ECB,
        &&camellia::CBC,
        &&camellia::CTR,
        &&camellia::CBC_LANES,
        &&camellia::CTR_LANES,
        &&sm4::ECB,
        &&sm4::CBC,
        &&sm4::CTR,
        &&sm4::CBC_LANES,
        &&sm4::CTR_LANES,
        &&kasumi::UEA1,
        &&kasumi::UIA1,
        &&kasumi::UEA1_LANES,
        &&kasumi::UIA1_LANES,
        &&md5::MD5,
        &&md5::MD5_LANES,
        &&sha1::SHA1,
        &&sha1::SHA1_LANES,
        &&des::ECB,
        &&des::CBC,
        &&des::CFB,
        &&des::MAC,
        &&des::TRIPLE_ECB,
        &&des::TRIPLE_CBC,
        &&des::TRIPLE_CFB,
        &&des::CBC_LANES,
        &&des::CFB_LANES,
        &&des::MAC_LANES,
        &&des::TRIPLE_CBC_LANES,
        &&des::TRIPLE_CFB_LANES,
        &&rc4::RC4,
        &&tls::SEAL,
        &&crc::CRC32,
        &&crc::CRC32C,
        &&ipsum::IP_CHECKSUM,
    ];
    ENGINES
}
