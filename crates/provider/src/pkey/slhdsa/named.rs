//! The parameter sets of SLH-DSA, and what OpenSSL calls them.
//!
//! Ref. RFC 9909 §3 (object identifiers).

use std::ffi::CStr;

use millstream::publickey::slhdsa::Set;

/// The last number of the first object identifier, below 2.16.840.1.101.3.4.3.
pub const FIRST: usize = 20;

/// A parameter set, and what it is called.
pub struct Named {
    pub set: Set,
    /// OpenSSL's names of the type of key and of the signature.
    pub names: &'static CStr,
    /// The name that OpenSSL writes.
    pub name: &'static CStr,
    /// OpenSSL's short name of the object.
    pub short: &'static CStr,
    /// The object identifier, of keys and of signatures.
    pub oid: &'static CStr,
}

impl Named {
    /// Returns NIST's category of security. Ref. FIPS 205 §11, table 2.
    pub const fn category(&self) -> usize {
        match self.set.node_len() {
            16 => 1,
            24 => 3,
            _ => 5,
        }
    }
}

/// Makes a C string of texts.
macro_rules! c {
    ($($text:expr),+) => {
        match CStr::from_bytes_with_nul(concat!($($text,)+ "\0").as_bytes()) {
            Ok(text) => text,
            Err(_) => panic!("a text that ends with zero"),
        }
    };
}

macro_rules! named {
    ($set:ident, $name:literal, $short:literal, $last:literal) => {
        Named {
            set: Set::$set,
            names: c!($name, ":", $short, ":2.16.840.1.101.3.4.3.", $last),
            name: c!($name),
            short: c!($short),
            oid: c!("2.16.840.1.101.3.4.3.", $last),
        }
    };
}

/// The parameter sets, in the order of their object identifiers.
pub static NAMED: [Named; 12] = [
    named!(Sha2_128s, "SLH-DSA-SHA2-128s", "id-slh-dsa-sha2-128s", "20"),
    named!(Sha2_128f, "SLH-DSA-SHA2-128f", "id-slh-dsa-sha2-128f", "21"),
    named!(Sha2_192s, "SLH-DSA-SHA2-192s", "id-slh-dsa-sha2-192s", "22"),
    named!(Sha2_192f, "SLH-DSA-SHA2-192f", "id-slh-dsa-sha2-192f", "23"),
    named!(Sha2_256s, "SLH-DSA-SHA2-256s", "id-slh-dsa-sha2-256s", "24"),
    named!(Sha2_256f, "SLH-DSA-SHA2-256f", "id-slh-dsa-sha2-256f", "25"),
    named!(Shake128s, "SLH-DSA-SHAKE-128s", "id-slh-dsa-shake-128s", "26"),
    named!(Shake128f, "SLH-DSA-SHAKE-128f", "id-slh-dsa-shake-128f", "27"),
    named!(Shake192s, "SLH-DSA-SHAKE-192s", "id-slh-dsa-shake-192s", "28"),
    named!(Shake192f, "SLH-DSA-SHAKE-192f", "id-slh-dsa-shake-192f", "29"),
    named!(Shake256s, "SLH-DSA-SHAKE-256s", "id-slh-dsa-shake-256s", "30"),
    named!(Shake256f, "SLH-DSA-SHAKE-256f", "id-slh-dsa-shake-256f", "31"),
];
