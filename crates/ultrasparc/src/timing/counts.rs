//! Instructions that the guest programs of this crate execute, counted on the emulator.
//!
//! `tests/guests.rs` counts them again and compares, so that these are what the programs do.

/// Instructions of the guest programs, by what they compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Submitting an operation over the fast path: the control word, the doorbell, and one look at its completion.
    pub fast_submit: u64,
    /// AES-128-CBC of 1 KB with the T4's instructions.
    pub aes_t4_1kb: u64,
    /// AES-128-CBC of 1 KB in software with tables.
    pub aes_software_1kb: u64,
    /// GHASH of 1 KB in software with a table of 16 entries.
    pub ghash_tables_1kb: u64,
    /// The same with one of 256.
    pub ghash_bytes_1kb: u64,
    /// GHASH of 1 KB with `xmulx`.
    pub ghash_xmulx_1kb: u64,
}

/// As counted last.
pub const RECORDED: Counts = Counts {
    fast_submit: 32,
    aes_t4_1kb: 2087,
    aes_software_1kb: 63702,
    ghash_tables_1kb: 35164,
    ghash_bytes_1kb: 17809,
    ghash_xmulx_1kb: 2083,
};

/// `montmul` and `montsqr` together, of one RSA signature by OpenSSL 3.6.3 with its own assembly: bits of the key, and how
/// many. Counted with `millstream sparc --cpu t4 --mix openssl pkeyutl -sign`.
pub const RSA_SIGNATURES: [(u64, u64); 3] = [(1024, 1364), (2048, 2588), (4096, 4976)];
