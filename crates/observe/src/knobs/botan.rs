//! Botan: `BOTAN_CLEAR_CPUID` lists the features not to use. Botan ignores names that its version does not
//! know.
//!
//! Set-user-ID programs don't read it, and neither does version 2.19, which was tried. Version 3 was not
//! tried.
//!
//! Ref. Botan `doc/api_ref/env_vars.rst`, `src/lib/utils/cpuid`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "Botan";
const VARIABLE: &str = "BOTAN_CLEAR_CPUID";

#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("aes", "aesni,aes_ni"),
    ("pclmul", "clmul"),
    ("sha", "sha,intel_sha"),
    ("ssse3", "ssse3"),
    ("sse4.1", "sse41"),
    ("sse4.2", "sse42"),
    ("rdrand", "rdrand"),
    ("rdseed", "rdseed"),
    ("bmi1", "bmi1"),
    ("bmi2", "bmi2"),
    ("adx", "adx"),
    ("avx2", "avx2"),
    ("avx512f", "avx512,avx512f"),
    ("gfni", "gfni"),
    ("vaes", "avx2_vaes,avx512_aes,avx512_vaes"),
    ("vpclmul", "avx2_clmul,avx512_clmul"),
    ("sha512", "intel_sha512"),
    ("sm3", "intel_sm3"),
    ("sm4", "intel_sm4"),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[
    ("aes", "armv8aes,arm_aes"),
    ("pmull", "armv8pmull,arm_pmull"),
    ("sha2", "armv8sha1,armv8sha2,arm_sha1,arm_sha2"),
    ("sha3", "armv8sha3,armv8sha2_512,arm_sha3,arm_sha2_512"),
    ("sm3", "armv8sm3,arm_sm3"),
    ("sm4", "armv8sm4,arm_sm4"),
    ("sve", "arm_sve"),
];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let list = question.words(WORDS).collect::<Vec<_>>().join(",");
    vec![quiet(NAME, VARIABLE, question.appended(VARIABLE, ",", &list))]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn it_is_put_behind_the_users() {
        let value = set(super::VARIABLE, "pclmul", Some("ssse3"), "pclmul,vpclmul");
        assert_eq!(value.unwrap(), "ssse3,clmul,avx2_clmul,avx512_clmul");
    }
}
