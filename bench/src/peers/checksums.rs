//! Peers for the checksums: two crates, zlib, and the loop a program would write itself.
//!
//! # Safety
//! zlib's `crc32` reads the input it is given and nothing else.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_uint, c_ulong};

use super::dl::Library;
use super::{Peer, Row};
use crate::case::{Algorithm, Case};

/// The crates crc32fast and crc32c.
pub struct Crates;

impl Peer for Crates {
    fn name(&self) -> &str {
        "crates"
    }

    fn version(&self) -> String {
        env!("CRC_VERSIONS").to_owned()
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::Crc32 => Row::new("crc32fast", |io| {
                io.tag[..4].copy_from_slice(&crc32fast::hash(io.input).to_be_bytes());
            }),
            Algorithm::Crc32c => Row::new("crc32c", |io| {
                io.tag[..4].copy_from_slice(&crc32c::crc32c(io.input).to_be_bytes());
            }),
            _ => None,
        }
    }
}

/// A plain loop, as the compiler vectorises it.
pub struct Loop;

/// Returns the complement of the one's complement sum of 16-bit words, summed 32 bits at a time in the
/// machine's own byte order (RFC 1071 §2).
fn ip_checksum(data: &[u8]) -> [u8; 2] {
    let (words, rest) = data.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let mut sum: u64 = words.iter().map(|&word| u64::from(u32::from_ne_bytes(word))).sum();
    sum += u64::from(u32::from_ne_bytes(last));
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    (!(sum as u16)).to_ne_bytes()
}

impl Peer for Loop {
    fn name(&self) -> &str {
        "loop"
    }

    fn version(&self) -> String {
        "a plain Rust loop over 32-bit words".to_owned()
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        match case.algorithm {
            Algorithm::IpChecksum => Row::new("sum", |io| {
                io.tag[..2].copy_from_slice(&ip_checksum(io.input));
            }),
            Algorithm::IpChecksumCopy => Row::new("memcpy, then sum", |io| {
                io.output.copy_from_slice(io.input);
                io.tag[..2].copy_from_slice(&ip_checksum(io.output));
            }),
            _ => None,
        }
    }
}

struct Zlib {
    version: String,
    crc32: unsafe extern "C" fn(c_ulong, *const u8, c_uint) -> c_ulong,
}

/// The system's zlib.
pub fn zlib() -> Result<Box<dyn Peer>, String> {
    let absent = |why: String| format!("zlib: {why}");
    let library = Library::open("libz.so.1").map_err(absent)?;
    // SAFETY: the types are those of `zlib.h`; the version is a static C string.
    unsafe {
        let version: unsafe extern "C" fn() -> *const c_char =
            library.symbol("zlibVersion").map_err(absent)?;
        let version = format!("zlib {}", CStr::from_ptr(version()).to_string_lossy());
        Ok(Box::new(Zlib { version, crc32: library.symbol("crc32").map_err(absent)? }))
    }
}

impl Peer for Zlib {
    fn name(&self) -> &str {
        "zlib"
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn row(&self, case: &Case, _size: usize) -> Option<Row> {
        if case.algorithm != Algorithm::Crc32 {
            return None;
        }
        let crc32 = self.crc32;
        Row::new("crc32", move |io| {
            // SAFETY: the input is that long.
            let crc = unsafe { crc32(0, io.input.as_ptr(), io.input.len() as c_uint) } as u32;
            io.tag[..4].copy_from_slice(&crc.to_be_bytes());
        })
    }
}
