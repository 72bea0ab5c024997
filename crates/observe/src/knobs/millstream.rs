//! Millstream itself: `MILLSTREAM_HWCAP`, in the syntax of Solaris's `LD_HWCAP`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "Millstream";

/// The features that kernels ask for. The mask uses the same names.
#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("aes", ""),
    ("pclmul", ""),
    ("sha", ""),
    ("ssse3", ""),
    ("sse4.1", ""),
    ("sse4.2", ""),
    ("avx", ""),
    ("avx2", ""),
    ("bmi1", ""),
    ("bmi2", ""),
    ("adx", ""),
    ("avx512f", ""),
    ("avx512bw", ""),
    ("avx512dq", ""),
    ("avx512vl", ""),
    ("avx512ifma", ""),
    ("avx512vbmi", ""),
    ("avx512vbmi2", ""),
    ("gfni", ""),
    ("vaes", ""),
    ("vpclmul", ""),
    ("sha512", ""),
    ("sm3", ""),
    ("sm4", ""),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[
    ("aes", ""),
    ("pmull", ""),
    ("sha2", ""),
    ("sha3", ""),
    ("sm4", ""),
    ("crc", ""),
    ("sve", ""),
    ("sve2", ""),
];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let known = WORDS.iter().filter(|(name, _)| question.withheld.has(name));
    let list = known.map(|(name, _)| format!("-{name}")).collect::<Vec<_>>().join(" ");
    let variable = millstream_cpu::VARIABLE;
    vec![quiet(NAME, variable, question.appended(variable, " ", &list))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_a_kernel_is_there() {
        let names: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
        let hardware = millstream_cpu::Features::hardware().set();
        for feature in hardware.iter().filter(|feature| feature.name() != "neon") {
            assert!(names.contains(&feature.name()), "{}", feature.name());
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn the_mask_is_understood() {
        let mask =
            super::super::tests::set("MILLSTREAM_HWCAP", "crypto,avx", Some("-bmi2"), "avx512,sha,vaes");
        let mask: millstream_cpu::Mask = mask.unwrap().parse().unwrap();
        let left = millstream_cpu::Features::hardware().masked(mask).set();
        for name in ["aes", "bmi2", "sha", "vaes", "avx512f"] {
            assert!(left.iter().all(|feature| feature.name() != name), "{name}");
        }
    }
}
