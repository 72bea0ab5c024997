//! NSS: one variable for each feature. Only its presence counts, so `=0` turns the feature off too.
//!
//! Set-user-ID programs don't read them.
//!
//! Tried with NSS 3.87 on x86-64; not tried on AArch64.
//!
//! Ref. NSS `lib/freebl/blinit.c`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "NSS";

#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("aes", "NSS_DISABLE_HW_AES"),
    ("pclmul", "NSS_DISABLE_PCLMUL"),
    ("sha", "NSS_DISABLE_HW_SHA"),
    ("adx", "NSS_DISABLE_ADX"),
    ("avx", "NSS_DISABLE_AVX"),
    ("avx2", "NSS_DISABLE_AVX2"),
    ("ssse3", "NSS_DISABLE_SSSE3"),
    ("sse4.1", "NSS_DISABLE_SSE4_1"),
    ("sse4.2", "NSS_DISABLE_SSE4_2"),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[
    ("aes", "NSS_DISABLE_HW_AES"),
    ("pmull", "NSS_DISABLE_PMULL"),
    ("sha2", "NSS_DISABLE_HW_SHA1"),
    ("sha2", "NSS_DISABLE_HW_SHA2"),
];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    question.words(WORDS).map(|variable| quiet(NAME, variable, "1")).collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn each_feature_has_its_variable() {
        assert_eq!(set("NSS_DISABLE_HW_AES", "aes", None, "aes").unwrap(), "1");
        assert_eq!(set("NSS_DISABLE_PCLMUL", "aes", None, "aes,pclmul"), None);
    }
}
