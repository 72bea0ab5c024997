//! The common parts of tests: buffers with guard pages, repeatable random bytes, readers for published
//! vectors, and the account of which kernels a test ran.

pub mod cavp;
mod guard;
pub mod install;
pub mod keys;
mod openssl;
mod program;
mod ran;
mod random;

pub use guard::Guarded;
pub use openssl::{newest_openssl, refuse_built_for_tests};
pub use program::copy_program;
pub use ran::{MIRI_LACKS, Ran, executes, feature_subsets, skip};
pub use random::Random;

/// Returns a place for the stores of tests that do not test durability: memory, where there is such a file system. Each change of a store waits for
/// the disk, which a busy machine lets wait for seconds.
pub fn memory() -> std::path::PathBuf {
    let memory = std::path::Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

/// Returns bytes from hexadecimal text; blanks are ignored.
///
/// # Panics
/// When the text is not hexadecimal.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| (b as char).to_digit(16).unwrap_or_else(|| panic!("not hexadecimal: {text}")) as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2), "half a byte: {text}");
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Returns an array from hexadecimal text.
///
/// # Panics
/// When the text is not `N` bytes of hexadecimal.
pub fn hex_array<const N: usize>(text: &str) -> [u8; N] {
    hex(text).try_into().unwrap_or_else(|v: Vec<u8>| panic!("{} bytes where {N} are needed", v.len()))
}
