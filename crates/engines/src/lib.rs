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
//! [`blocks`], [`cmac`], [`hash`], [`hkdf`], [`hmac`] and [`tls`] are constructions over the engines, and have no
//! portable kernel of their own.
//!
//! A key or a state is bound to a kernel when it is made, from a [`Features`](millstream_cpu::Features)
//! value, and keeps that binding: an operation never detects anything. The tables, the binding and the
//! scheduler of lanes are the crate `millstream-kernel`, re-exported here as [`kernel`].
//!
//! The types here ask for that value explicitly; the crate `millstream` supplies the process's own.
#![deny(unsafe_code)]

pub mod aead;
pub mod aes;
pub mod blocks;
pub mod camellia;
pub mod chacha20poly1305;
pub mod cmac;
pub mod crc;
pub mod des;
pub mod gcm;
pub mod hash;
pub mod hkdf;
pub mod hmac;
pub mod ipsum;
pub mod kasumi;
pub mod md5;
pub mod modes;
pub mod rc4;
pub mod sha1;
pub mod sha256;
pub mod sha512;
pub mod tls;

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
        &&sha512::SHA512,
        &&sha512::SHA512_LANES,
        &&camellia::ECB,
        &&camellia::CBC,
        &&camellia::CTR,
        &&camellia::CBC_LANES,
        &&camellia::CTR_LANES,
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
