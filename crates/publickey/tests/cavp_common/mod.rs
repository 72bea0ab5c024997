//! Sections, numbers and verdicts in the files of NIST's CAVP.
#![allow(dead_code, reason = "each test uses a part")]

use millstream_engines::hash::Hash;
use millstream_testkit::cavp::Case;
use millstream_testkit::hex;

/// Returns the hash of a case whose section begins with `name`: `[P-256]`, which implies SHA-1, or `[P-256,SHA-224]`.
pub fn section(case: &Case, name: &str) -> Option<Hash> {
    case.keys().find_map(|key| match key.strip_prefix(name)? {
        "" => Some(Hash::Sha1),
        rest => hash(rest.strip_prefix(',')?),
    })
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

/// Returns a number in `len` bytes, or in as many as it has if these are more.
pub fn number(digits: &str, len: usize) -> Vec<u8> {
    let digits = digits.trim_start_matches('0');
    hex(&format!("{digits:0>width$}", width = (2 * len).max(digits.len().next_multiple_of(2))))
}

/// Returns the verdict that a case names.
pub fn passes(case: &Case) -> bool {
    match case["Result"].chars().next() {
        Some('P') => true,
        Some('F') => false,
        _ => panic!("{case:?} has no verdict"),
    }
}
