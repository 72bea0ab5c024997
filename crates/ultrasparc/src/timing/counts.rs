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
    /// GHASH of 1 KB in software with tables.
    pub ghash_tables_1kb: u64,
    /// GHASH of 1 KB with `xmulx`.
    pub ghash_xmulx_1kb: u64,
}

/// As counted last.
pub const RECORDED: Counts = Counts {
    fast_submit: 55,
    aes_t4_1kb: 3300,
    aes_software_1kb: 30000,
    ghash_tables_1kb: 22000,
    ghash_xmulx_1kb: 2700,
};
