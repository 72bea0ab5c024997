//! The library itself: versions, texts, processor features, and the names of algorithms.
#![allow(unsafe_code)]
#![allow(clippy::missing_safety_doc)]

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;

use millstream::cwq;

use super::{guard, guard_value, last_text, put, text};
use crate::algorithm::{AlgorithmCode, c_name};
use crate::status::{Status, StatusCode};

/// The version of this header: a program may compare it with millstream_version_number().
pub const MILLSTREAM_VERSION_MAJOR: u32 = 0;
/// See MILLSTREAM_VERSION_MAJOR.
pub const MILLSTREAM_VERSION_MINOR: u32 = 1;
/// See MILLSTREAM_VERSION_MAJOR.
pub const MILLSTREAM_VERSION_PATCH: u32 = 0;

/// The version of the library that runs, as "0.1.0". The text lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_version() -> *const c_char {
    const TEXT: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    TEXT.as_ptr().cast()
}

/// The version of the library that runs, as a number: major * 65536 + minor * 256 + patch.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_version_number() -> u32 {
    MILLSTREAM_VERSION_MAJOR << 16 | MILLSTREAM_VERSION_MINOR << 8 | MILLSTREAM_VERSION_PATCH
}

/// The meaning of a status, in one line. The text lives as long as the library. A number that is no status has a text
/// that says so.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_status_text(status: StatusCode) -> *const c_char {
    let found = Status::ALL.iter().find(|known| StatusCode::from(**known) == status);
    found.map_or(c"no status of this version of the library", |known| known.text()).as_ptr()
}

/// The last failure on this thread, in words that name the thing and what to do about it; "done" when nothing has
/// failed yet. The text lives until the next call of this thread that fails, or its end.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_last_error() -> *const c_char {
    last_text()
}

/// Writes the names of the processor features that this process uses, separated by blanks, to *features: the
/// processor's, less those that the environment variable MILLSTREAM_HWCAP takes away. The text lives as long as the
/// library.
///
/// Fails with MILLSTREAM_STATUS_FEATURES when that variable can't be understood, as everything that
/// makes a key or computes something does; MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_features(features: *mut *const c_char) -> Status {
    static TEXT: OnceLock<CString> = OnceLock::new();
    guard(|| {
        let active = millstream::features()?.set();
        let text = TEXT.get_or_init(|| CString::new(active.to_string()).unwrap_or_default());
        // SAFETY: the caller's promise; see the module.
        unsafe { put("features", features, text.as_ptr()) }
    })
}

/// The name of an algorithm, as "aes-gcm"; NULL where the number stands for none. The text lives as long as the
/// library.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_algorithm_name(algorithm: AlgorithmCode) -> *const c_char {
    guard_value(std::ptr::null(), || Ok(c_name(algorithm.get()?.name()).as_ptr()))
}

/// The algorithm of that name; MILLSTREAM_ALGORITHM_NONE where there is none, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_algorithm_named(name: *const c_char) -> AlgorithmCode {
    guard_value(AlgorithmCode(0), || {
        // SAFETY: the caller's promise; see the module.
        let name = unsafe { text(name) }.and_then(|name| CStr::to_str(name).ok());
        let algorithm = name.and_then(cwq::Algorithm::from_name).unwrap_or(cwq::Algorithm::None);
        Ok(algorithm.into())
    })
}

/// Writes the name of the kernel that computes a hash or checksum in this process, as "x86_64-shani", to *kernel.
/// For what takes a key see millstream_key_kernel(). The text lives as long as the library.
///
/// Fails with MILLSTREAM_STATUS_ALGORITHM for what takes a key, MILLSTREAM_STATUS_ARGUMENT, MILLSTREAM_STATUS_FEATURES,
/// MILLSTREAM_STATUS_NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_algorithm_kernel(
    algorithm: AlgorithmCode,
    kernel: *mut *const c_char,
) -> Status {
    guard(|| {
        let name = c_name(algorithm.kernel()?.name);
        // SAFETY: the caller's promise; see the module.
        unsafe { put("kernel", kernel, name.as_ptr()) }
    })
}

/// Bytes in a hash's digest, and in its HMAC; 0 where the algorithm is no hash.
#[unsafe(no_mangle)]
pub extern "C" fn millstream_digest_length(algorithm: AlgorithmCode) -> usize {
    guard_value(0, || Ok(algorithm.hash()?.output_len()))
}

/// Fills `length` bytes at `output` with random ones that are fit for keys, from the kernel (getrandom(2)). A forked child
/// repeats none of its parent's. A worker's own generator is asked by MILLSTREAM_KIND_RANDOM in a queue of its grant.
///
/// Fails with MILLSTREAM_STATUS_RANDOM when the kernel gives none, MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_random(output: *mut u8, length: usize) -> Status {
    guard(|| {
        let output = super::Out::new("output", output, length)?;
        // SAFETY: the caller's promise; see the module.
        Ok(millstream::random(unsafe { output.get() })?)
    })
}

/// Writes zeros over `length` bytes at `data`, in a way that the compiler can't leave out: for keys and plaintext
/// that are not needed any more. Fails with MILLSTREAM_STATUS_NULL, MILLSTREAM_STATUS_SIZE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn millstream_wipe(data: *mut std::ffi::c_void, length: usize) -> Status {
    use zeroize::Zeroize;
    guard(|| {
        let data = super::Out::new("data", data.cast(), length)?;
        // SAFETY: the caller's promise; see the module.
        unsafe { data.get() }.zeroize();
        Ok(())
    })
}

/// The version in the header must be the package's.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_packages() {
        let text =
            format!("{MILLSTREAM_VERSION_MAJOR}.{MILLSTREAM_VERSION_MINOR}.{MILLSTREAM_VERSION_PATCH}");
        assert_eq!(text, env!("CARGO_PKG_VERSION"));
        // SAFETY: a text that ends with a zero.
        assert_eq!(unsafe { CStr::from_ptr(millstream_version()) }.to_str(), Ok(text.as_str()));
    }
}
