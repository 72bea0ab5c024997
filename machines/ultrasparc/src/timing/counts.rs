//! Instructions that the guest programs of this crate execute, counted on the emulator.
//!
//! `tests/guests.rs` counts them again and compares, so that these numbers stay those of the programs.

use crate::isa::Class;

/// The instructions of the guest programs, by their operation.
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
    /// GHASH of 1 KB in software with a table of 256 entries.
    pub ghash_bytes_1kb: u64,
    /// GHASH of 1 KB with `xmulx`.
    pub ghash_xmulx_1kb: u64,
}

/// The last counts.
pub const RECORDED: Counts = Counts {
    fast_submit: 32,
    aes_t4_1kb: 2087,
    aes_software_1kb: 63702,
    ghash_tables_1kb: 35164,
    ghash_bytes_1kb: 17809,
    ghash_xmulx_1kb: 2083,
};

/// The number of `montmul` and `montsqr` together in one RSA signature by OpenSSL 3.6.3 with its own assembly, behind
/// the bits of the key. Counted with `millstream sparc --cpu t4 --mix openssl pkeyutl -sign`.
pub const RSA_SIGNATURES: [(u64, u64); 3] = [(1024, 1364), (2048, 2588), (4096, 4976)];

/// Bytes of the file whose encryption [`ENC_SOFTWARE`] counts.
pub const ENC_SOFTWARE_BYTES: u64 = 2 << 20;

/// Instructions of each class with which OpenSSL 3.6.3's `openssl enc -aes-128-cbc` encrypts in software on T2: those for a file of 3 MB
/// less those for one of 1 MB. Counted with `millstream sparc --cpu t2 --mix openssl enc`.
pub const ENC_SOFTWARE: [(Class, u64); 13] = [
    (Class::Integer, 45_640_450),
    (Class::Shift, 36_321_536),
    (Class::Load, 32_329_216),
    (Class::Branch, 1_544_192),
    (Class::Store, 961_280),
    (Class::Call, 678_656),
    (Class::Window, 551_424),
    (Class::Vis, 131_840),
    (Class::State, 2304),
    (Class::Atomic, 1536),
    (Class::Multiply, 1280),
    (Class::Trap, 768),
    (Class::Divide, 512),
];
