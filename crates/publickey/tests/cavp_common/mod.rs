//! The hashes in the files of NIST's CAVP.
#![allow(dead_code, reason = "each test uses a part")]

use millstream_engines::hash::Hash;
use millstream_testkit::cavp::{self, Case};

/// Returns the hash of a case whose section begins with `name`: `[P-256]`, which implies SHA-1, or `[P-256,SHA-224]`.
pub fn section(case: &Case, name: &str) -> Option<Hash> {
    match cavp::section(case, name)? {
        "" => Some(Hash::Sha1),
        name => hash(name),
    }
}

/// Returns a hash that is named with or without a dash.
pub fn hash(name: &str) -> Option<Hash> {
    Some(match name.replace("SHA-", "SHA").as_str() {
        "SHA1" => Hash::Sha1,
        "SHA224" => Hash::Sha224,
        "SHA256" => Hash::Sha256,
        "SHA384" => Hash::Sha384,
        "SHA512" => Hash::Sha512,
        _ => return None,
    })
}
