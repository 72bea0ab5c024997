//! The C library: `glibc.cpu.hwcaps` in `GLIBC_TUNABLES` selects its string and mathematical functions and
//! the folders of libraries. Cryptographic libraries don't read it, so it serves `--without avx512` and the
//! like.
//!
//! Set-user-ID programs don't read it. If the same tunable stands twice, the later value counts.
//!
//! Tried with glibc 2.36.
//!
//! Ref. glibc manual, "Hardware Capability Tunables"; `sysdeps/x86/cpu-tunables.c`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "glibc";
const VARIABLE: &str = "GLIBC_TUNABLES";

#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("sse3", "-SSE3"),
    ("ssse3", "-SSSE3"),
    ("sse4.1", "-SSE4_1"),
    ("sse4.2", "-SSE4_2"),
    ("popcnt", "-POPCNT"),
    ("lzcnt", "-LZCNT"),
    ("movbe", "-MOVBE"),
    ("bmi1", "-BMI1"),
    ("bmi2", "-BMI2"),
    ("avx", "-AVX"),
    ("fma", "-FMA"),
    ("fma4", "-FMA4"),
    ("avx2", "-AVX2"),
    ("avx512f", "-AVX512F"),
    ("avx512dq", "-AVX512DQ"),
    ("avx512bw", "-AVX512BW"),
    ("avx512vl", "-AVX512VL"),
    ("avx512cd", "-AVX512CD"),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    const KEY: &str = "glibc.cpu.hwcaps=";
    let before = question.now(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let (own, others): (Vec<&str>, Vec<&str>) = before
        .iter()
        .flat_map(|value| value.split(':'))
        .filter(|part| !part.is_empty())
        .partition(|part| part.starts_with(KEY));
    let own = own.last().map(|part| &part[KEY.len()..]);
    let list = own.into_iter().chain(question.words(WORDS)).collect::<Vec<_>>().join(",");
    let tunable = format!("{KEY}{list}");
    vec![quiet(NAME, VARIABLE, others.into_iter().chain([&*tunable]).collect::<Vec<_>>().join(":"))]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn other_tunables_stay() {
        let before = "glibc.malloc.check=1:glibc.cpu.hwcaps=-ERMS";
        let value = set(super::VARIABLE, "avx512", Some(before), "avx512,avx512bw");
        assert_eq!(value.unwrap(), "glibc.malloc.check=1:glibc.cpu.hwcaps=-ERMS,-AVX512F,-AVX512BW");
        assert_eq!(set(super::VARIABLE, "aes", None, "aes"), None);
    }
}
