//! The known libraries, and the texts and names that identify them.

use std::fmt;

use memchr::memmem::Finder;

use crate::code::parallel;

/// A library that an image is or contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The name.
    pub name: &'static str,
    /// The version, where the image gives it.
    pub version: Option<Box<str>>,
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.version.iter().try_for_each(|version| write!(f, " {version}"))
    }
}

/// Texts in the read-only data of libraries: the text, whether a version follows it, and the library's name.
///
/// The most specific texts come first, because AWS-LC and BoringSSL keep texts of OpenSSL's.
const TEXTS: &[(&str, bool, &str)] = &[
    ("AWS-LC ", true, "AWS-LC"),
    ("/aws-lc-sys-", true, "aws-lc-sys"),
    ("BoringSSL", false, "BoringSSL"),
    ("OpenSSL ", true, "OpenSSL"),
    ("/ring-", true, "ring"),
    ("/graviola-", true, "graviola"),
    ("/aes-", true, "RustCrypto aes"),
    ("/aes-gcm-", true, "RustCrypto aes-gcm"),
    ("/ghash-", true, "RustCrypto ghash"),
    ("/polyval-", true, "RustCrypto polyval"),
    ("/sha1-", true, "RustCrypto sha1"),
    ("/sha2-", true, "RustCrypto sha2"),
    ("This is Libgcrypt ", true, "libgcrypt"),
    ("Mbed TLS ", true, "Mbed TLS"),
    ("mbed TLS ", true, "Mbed TLS"),
    ("wolfSSL ", true, "wolfSSL"),
    ("Botan ", true, "Botan"),
    ("NSS_DISABLE_HW_AES", false, "NSS"),
    ("NETTLE_FAT_OVERRIDE", false, "nettle"),
    ("GNUTLS_CPUID_OVERRIDE", false, "GnuTLS"),
    ("crates/engines/src/", false, "Millstream"),
];

/// Beginnings of file names, for libraries whose data identifies nothing.
pub(super) const FILES: &[(&str, &str)] = &[
    ("libcrypto", "OpenSSL"),
    ("libsodium", "libsodium"),
    ("libnettle", "nettle"),
    ("libhogweed", "nettle"),
    ("libgnutls", "GnuTLS"),
    ("libgcrypt", "libgcrypt"),
    ("libfreebl", "NSS"),
    ("libbotan", "Botan"),
    ("libmbedcrypto", "Mbed TLS"),
    ("libwolfssl", "wolfSSL"),
    ("libIPSec_MB", "intel-ipsec-mb"),
    ("libisal_crypto", "ISA-L crypto"),
    ("libmillstream", "Millstream"),
    ("libjvm", "HotSpot"),
];

/// Beginnings of function or package names, for programs that hold several libraries.
const FUNCTIONS: &[(&str, &str)] = &[
    ("ring_core_", "ring"),
    ("ring::", "ring"),
    ("aws_lc_", "AWS-LC"),
    ("graviola::", "graviola"),
    ("aes::", "RustCrypto aes"),
    ("aes_gcm::", "RustCrypto aes-gcm"),
    ("ghash::", "RustCrypto ghash"),
    ("polyval::", "RustCrypto polyval"),
    ("sha1::", "RustCrypto sha1"),
    ("sha2::", "RustCrypto sha2"),
    ("millstream_", "Millstream"),
    ("crypto/", "Go crypto"),
    ("vendor/golang.org/x/crypto/", "Go x/crypto"),
    ("golang.org/x/crypto/", "Go x/crypto"),
    ("_nettle_", "nettle"),
    ("nettle_", "nettle"),
    ("_gcry_", "libgcrypt"),
    ("StubRoutines::", "HotSpot"),
];

/// Returns the library that a function's name reveals.
pub fn library_of(function: &str) -> Option<&'static str> {
    let function = function.trim_start_matches('<');
    FUNCTIONS.iter().find(|(start, _)| function.starts_with(start)).map(|(_, library)| *library)
}

/// Returns the known library with a name, among those that read-only data can reveal.
pub(in crate::code) fn name_of(name: &str) -> Option<&'static str> {
    TEXTS.iter().map(|(_, _, known)| *known).find(|known| *known == name)
}

/// Finds the libraries that an image itself contains. It may mention those that it is linked to, so they are
/// left out.
pub(in crate::code) fn held(parts: &[Vec<u8>], needed: &[String]) -> Vec<Library> {
    let is_linked = |library: &Library| {
        let mut files = FILES.iter().filter(|(_, name)| *name == library.name);
        files.any(|(start, _)| needed.iter().any(|file| file.starts_with(start)))
    };
    let mut found = in_data(parts);
    found.retain(|library| !is_linked(library));
    found
}

/// Finds every library that read-only data mentions.
fn in_data(parts: &[Vec<u8>]) -> Vec<Library> {
    let mut found: Vec<Library> = Vec::new();
    // Threads are worth their start only for much data.
    let is_much = parts.iter().map(Vec::len).sum::<usize>() > 1 << 20;
    let told = parallel::map(TEXTS, if is_much { 1 } else { TEXTS.len() }, |(text, has_version, _)| {
        let finder = Finder::new(text);
        parts.iter().find_map(|part| {
            finder.find_iter(part).find_map(|at| {
                let version = version(&part[at + text.len()..]);
                (version.is_some() || !has_version).then(|| version.filter(|_| *has_version))
            })
        })
    });
    for ((_, _, name), library) in TEXTS.iter().zip(told) {
        let Some(version) = library else { continue };
        // OpenSSL's descendants mention OpenSSL.
        let is_heir = matches!(*name, "OpenSSL" | "BoringSSL");
        let has_parent =
            found.iter().any(|other| matches!(other.name, "AWS-LC" | "aws-lc-sys" | "BoringSSL"));
        if !(is_heir && has_parent) && found.iter().all(|other| other.name != *name) {
            found.push(Library { name, version });
        }
    }
    found
}

/// Returns the dotted number at the start of a text: `3.0.19`, `1.1.1w`.
fn version(text: &[u8]) -> Option<Box<str>> {
    let length = text.iter().take(24).position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.')?;
    let version = std::str::from_utf8(&text[..length]).ok()?.trim_end_matches('.');
    (version.starts_with(|first: char| first.is_ascii_digit()) && version.contains('.'))
        .then(|| version.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_say_what_they_are() {
        let part = |text: &str| {
            in_data(&[text.as_bytes().to_vec()]).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(part("see OpenSSL docs\0OpenSSL 3.0.19 27 Jan 2026\0"), ["OpenSSL 3.0.19"]);
        assert_eq!(part("OpenSSL 1.1.1 (compatible; BoringSSL)\0"), ["BoringSSL"]);
        assert_eq!(part("OpenSSL 1.1.1 \0AWS-LC 1.42.0\0"), ["AWS-LC 1.42.0"]);
        let rust =
            part("/r/src/index/ring-0.17.8/src/aead.rs\0/aes-0.8.4/src/ni.rs\0/aes-gcm-0.10.3/src/lib.rs\0");
        assert_eq!(rust, ["ring 0.17.8", "RustCrypto aes 0.8.4", "RustCrypto aes-gcm 0.10.3"]);
        assert!(part("/usr/share/ring-tones/").is_empty());
    }

    #[test]
    fn a_program_does_not_hold_what_it_is_linked_to() {
        let texts = [b"OpenSSL 3.0.20 1 Jan 2026\0nettle: NETTLE_FAT_OVERRIDE\0".to_vec()];
        let held = |needed: &[&str]| {
            let needed: Vec<String> = needed.iter().map(|name| (*name).to_owned()).collect();
            held(&texts, &needed).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(held(&["libc.so.6"]), ["OpenSSL 3.0.20", "nettle"]);
        assert_eq!(held(&["libc.so.6", "libcrypto.so.3"]), ["nettle"]);
    }

    #[test]
    fn functions_name_their_library() {
        assert_eq!(library_of("crypto/internal/fips140/aes/gcm.gcmAesEnc"), Some("Go crypto"));
        assert_eq!(library_of("aws_lc_0_29_0_aes_hw_encrypt"), Some("AWS-LC"));
    }
}
