//! Go: `cpu.NAME=off` in `GODEBUG`. Every program made by Go's own compiler obeys it, even a static or
//! stripped one.
//!
//! The runtime and `golang.org/x/sys/cpu` both read it, each with its own list of names. Each prints a line
//! on standard error if it doesn't know a name or requires the feature. Names that all versions of both know
//! cause no output.
//!
//! Tried with Go 1.26 on x86-64; not tried on AArch64.
//!
//! Ref. `internal/cpu/cpu_x86.go`, `cpu_arm64.go`; `golang.org/x/sys/cpu`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "Go";
const VARIABLE: &str = "GODEBUG";

/// Names that cause no output.
const QUIET: &[&str] = &["adx", "aes", "pclmulqdq"];

#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("aes", "aes"),
    ("pclmul", "pclmulqdq"),
    ("sha", "sha"),
    ("vpclmul", "vpclmulqdq"),
    ("adx", "adx"),
    ("popcnt", "popcnt"),
    ("sse3", "sse3"),
    ("ssse3", "ssse3"),
    ("sse4.1", "sse41"),
    ("sse4.2", "sse42"),
    ("avx", "avx"),
    ("avx2", "avx2"),
    ("bmi1", "bmi1"),
    ("bmi2", "bmi2"),
    ("fma", "fma"),
    ("avx512f", "avx512f"),
    ("avx512cd", "avx512cd"),
    ("avx512bw", "avx512bw"),
    ("avx512dq", "avx512dq"),
    ("avx512vl", "avx512vl"),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[
    ("aes", "aes"),
    ("pmull", "pmull"),
    ("sha2", "sha1"),
    ("sha2", "sha2"),
    ("sha3", "sha512"),
    ("sha3", "sha3"),
    ("crc", "crc32"),
];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let words: Vec<&str> = question.words(WORDS).collect();
    let is_quiet = words.iter().all(|word| QUIET.contains(word));
    let list = words.iter().map(|word| format!("cpu.{word}=off")).collect::<Vec<_>>().join(",");
    let side_effect =
        (!is_quiet).then_some("prints a line if the program's version of Go does not know a name");
    vec![Setting { side_effect, ..quiet(NAME, VARIABLE, question.appended(VARIABLE, ",", &list)) }]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn it_is_put_behind_the_users() {
        let value = |list, before| set(super::VARIABLE, list, before, "aes,pclmul,sha").unwrap();
        assert_eq!(value("aes,sha", Some("gctrace=1")), "gctrace=1,cpu.aes=off,cpu.sha=off");
        assert_eq!(value("pclmul", Some("")), "cpu.pclmulqdq=off");
    }
}
