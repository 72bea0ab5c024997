//! Readers of vectors that are installed and not kept here: NIST's CAVP responses, as published in the PyPI
//! package `cryptography_vectors`. `cargo xtask vectors` installs them to `target/vectors`.
//!
//! Ref. NIST CAVP, "Response file" format: `[Section]` lines, `NAME = value` lines, blank lines
//! between cases.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// One case: its values by name, including those of its section's header.
pub type Case = BTreeMap<String, String>;

/// The files of hashed messages, below `hashes`: the engines' name of the hash, the file, and the number of its cases.
pub const HASHES: &[(&str, &str, usize)] = &[
    ("md5", "MD5/rfc-1321.txt", 7),
    ("sha1", "SHA1/SHA1ShortMsg.rsp", 65),
    ("sha1", "SHA1/SHA1LongMsg.rsp", 64),
    ("sha224", "SHA2/SHA224ShortMsg.rsp", 65),
    ("sha224", "SHA2/SHA224LongMsg.rsp", 64),
    ("sha256", "SHA2/SHA256ShortMsg.rsp", 65),
    ("sha256", "SHA2/SHA256LongMsg.rsp", 64),
    ("sha384", "SHA2/SHA384ShortMsg.rsp", 129),
    ("sha384", "SHA2/SHA384LongMsg.rsp", 128),
    ("sha512", "SHA2/SHA512ShortMsg.rsp", 129),
    ("sha512", "SHA2/SHA512LongMsg.rsp", 128),
    ("sha512-256", "SHA2/SHA512_256ShortMsg.rsp", 129),
    ("sha512-256", "SHA2/SHA512_256LongMsg.rsp", 128),
    ("sha3-224", "SHA3/SHA3_224ShortMsg.rsp", 145),
    ("sha3-224", "SHA3/SHA3_224LongMsg.rsp", 100),
    ("sha3-256", "SHA3/SHA3_256ShortMsg.rsp", 137),
    ("sha3-256", "SHA3/SHA3_256LongMsg.rsp", 100),
    ("sha3-384", "SHA3/SHA3_384ShortMsg.rsp", 105),
    ("sha3-384", "SHA3/SHA3_384LongMsg.rsp", 100),
    ("sha3-512", "SHA3/SHA3_512ShortMsg.rsp", 73),
    ("sha3-512", "SHA3/SHA3_512LongMsg.rsp", 100),
];

/// Returns the folder of the vectors of Python's cryptography.
pub fn directory() -> PathBuf {
    all().join("cryptography_vectors")
}

/// Returns the folder of all vectors: `MILLSTREAM_VECTORS`, else `target/vectors` of this workspace.
fn all() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/vectors");
    std::env::var_os("MILLSTREAM_VECTORS").map_or(default, PathBuf::from)
}

/// Returns the text of a vector file, such as `ciphers/AES/GCM/gcmEncryptExtIV128.rsp`.
///
/// # Panics
/// When the vectors are not installed, naming the command that installs them.
pub fn text(file: &str) -> String {
    read(&directory().join(file))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("{}: {error}; run `cargo xtask vectors` to install the published vectors", path.display())
    })
}

/// Returns the cases of a response file.
///
/// # Panics
/// The same as for [`text`].
pub fn cases(file: &str) -> Vec<Case> {
    parse(&text(file))
}

/// Returns the cases of NIST's ACVP vectors: `keyGen`, `sigGen` or `sigVer` of `mldsa` and `slhdsa`, `keyGen` or `encapDecap` of `mlkem`.
///
/// # Panics
/// The same as for [`text`].
pub fn acvp(algorithm: &str, operation: &str) -> Vec<Case> {
    parse(&read(&all().join(algorithm).join(operation).with_extension("rsp")))
}

/// Returns the cases of a response file's text.
pub fn parse(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut section = Case::new();
    let mut case = Case::new();
    let mut in_headers = false;
    for line in text.lines().map(str::trim).chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            if !in_headers {
                section.clear();
            }
            in_headers = true;
            let (name, value) = header.split_once('=').unwrap_or((header, ""));
            section.insert(name.trim().to_owned(), value.trim().to_owned());
        } else if line.is_empty() {
            if !case.is_empty() {
                let mut whole = section.clone();
                whole.append(&mut case);
                cases.push(whole);
            }
        } else {
            in_headers = false;
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            case.insert(name.trim().to_owned(), value.trim().to_owned());
        }
    }
    cases
}

/// Returns the text behind `name` in a header of the case's section: `SHA-224` in `[P-256,SHA-224]`, and nothing in `[P-256]`.
pub fn section<'c>(case: &'c Case, name: &str) -> Option<&'c str> {
    case.keys().find_map(|key| match key.strip_prefix(name)? {
        "" => Some(""),
        rest => rest.strip_prefix(','),
    })
}

/// Returns a number in `len` bytes, or in as many as it has if these are more.
///
/// # Panics
/// When there are other characters than hexadecimal digits.
pub fn number(digits: &str, len: usize) -> Vec<u8> {
    let digits = digits.trim_start_matches('0');
    crate::hex(&format!("{digits:0>width$}", width = (2 * len).max(digits.len().next_multiple_of(2))))
}

/// Returns the verdict that a case names.
///
/// # Panics
/// When it names none.
pub fn passes(case: &Case) -> bool {
    match case["Result"].chars().next() {
        Some('P') => true,
        Some('F') => false,
        _ => panic!("{case:?} has no verdict"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_length() {
        assert_eq!(number("001ab", 4), [0, 0, 1, 0xab]);
        assert_eq!(number("123456789", 4), [1, 0x23, 0x45, 0x67, 0x89]);
        assert_eq!(number("0", 0), []);
        let cases = parse("[P-256,SHA-224]\n\nResult = P (0 )\n\n[P-256]\n\nResult = F (1)\n");
        assert_eq!((section(&cases[0], "P-256"), section(&cases[1], "P-256")), (Some("SHA-224"), Some("")));
        assert_eq!(section(&cases[0], "P-2"), None);
        assert!(passes(&cases[0]) && !passes(&cases[1]));
    }

    #[test]
    fn sections_and_cases() {
        let cases = parse(
            "# head\n[ENCRYPT]\n\n[Keylen = 128]\n\nCOUNT = 0\nKEY = 00\n\nCOUNT = 1\nKEY = 01\nFAIL\n\n[DECRYPT]\n\nCOUNT = 0\n",
        );
        assert_eq!(cases.len(), 3);
        assert_eq!(cases[1]["KEY"], "01");
        assert!(cases[1].contains_key("FAIL"));
        assert!(cases[0].contains_key("ENCRYPT") && cases[0]["Keylen"] == "128");
        assert!(cases[2].contains_key("DECRYPT") && !cases[2].contains_key("ENCRYPT"));
    }
}
