//! How algorithms are called in a policy.

use millstream_cwq::{Algorithm, AlgorithmSet};

/// Every algorithm and its name.
const NAMES: &[(&str, Algorithm)] = &[
    ("aes-ecb", Algorithm::AesEcb),
    ("aes-cbc", Algorithm::AesCbc),
    ("aes-ctr", Algorithm::AesCtr),
    ("aes-cfb", Algorithm::AesCfb),
    ("aes-xts", Algorithm::AesXts),
    ("aes-gcm", Algorithm::AesGcm),
    ("aes-cmac", Algorithm::AesCmac),
    ("chacha20-poly1305", Algorithm::ChaCha20Poly1305),
    ("camellia-ecb", Algorithm::CamelliaEcb),
    ("camellia-cbc", Algorithm::CamelliaCbc),
    ("camellia-ctr", Algorithm::CamelliaCtr),
    ("des-ecb", Algorithm::DesEcb),
    ("des-cbc", Algorithm::DesCbc),
    ("des-cfb", Algorithm::DesCfb),
    ("des-mac", Algorithm::DesMac),
    ("rc4", Algorithm::Rc4),
    ("kasumi-f8", Algorithm::KasumiF8),
    ("kasumi-f9", Algorithm::KasumiF9),
    ("md5", Algorithm::Md5),
    ("sha1", Algorithm::Sha1),
    ("sha224", Algorithm::Sha224),
    ("sha256", Algorithm::Sha256),
    ("sha384", Algorithm::Sha384),
    ("sha512", Algorithm::Sha512),
    ("sha512-256", Algorithm::Sha512_256),
    ("crc32", Algorithm::Crc32),
    ("crc32c", Algorithm::Crc32c),
    ("ip-checksum", Algorithm::IpChecksum),
];

/// The algorithms that a name stands for; one that ends in `*` stands for all that begin so.
pub(super) fn named(name: &str) -> Option<AlgorithmSet> {
    let is_meant = |each: &str| match name.strip_suffix('*') {
        Some(beginning) => each.starts_with(beginning),
        None => each == name,
    };
    let meant: AlgorithmSet =
        NAMES.iter().filter(|(each, _)| is_meant(each)).map(|(_, algorithm)| *algorithm).collect();
    (!meant.is_empty()).then_some(meant)
}

/// All names, for a message.
pub(super) fn names() -> String {
    NAMES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_its_name() {
        assert_eq!(named("*"), Some(AlgorithmSet::all()));
        for algorithm in AlgorithmSet::all().iter() {
            let mut names = NAMES.iter().filter(|(_, each)| *each == algorithm).map(|(name, _)| *name);
            let name = names.next().expect("a name");
            assert_eq!(names.next(), None);
            assert_eq!(named(name), Some([algorithm].into_iter().collect()));
        }
    }

    #[test]
    fn a_star_stands_for_all_that_begin_so() {
        assert_eq!(named("camellia-*").unwrap().len(), 3);
        assert_eq!(named("aes-gcm*").unwrap().len(), 1);
        assert_eq!(named("blowfish"), None);
        assert_eq!(named("blow*"), None);
    }
}
