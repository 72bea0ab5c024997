//! Java: options of the HotSpot virtual machine in `JAVA_TOOL_OPTIONS`.
//!
//! Only product options are used. The popular -XX:-UseAESIntrinsics is a diagnostic option since Java 17, and
//! keeps the machine from starting without -XX:+UnlockDiagnosticVMOptions; -XX:-UseAES has the same effect.
//! The garbage collector, the compiler and the class library have no other options. An option on the
//! program's own command line takes precedence. The machine prints on standard error that it picked the
//! variable up.
//!
//! Tried with HotSpot 17 and 25 on x86-64. Other virtual machines ignore or don't know these options. Not
//! tried on AArch64.
//!
//! Ref. HotSpot `share/runtime/globals.hpp`, `cpu/x86/globals_x86.hpp`, `cpu/x86/vm_version_x86.cpp`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "Java";
const VARIABLE: &str = "JAVA_TOOL_OPTIONS";

/// Features and their options. A later option overrides an earlier one, so the lowest level stands last.
#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[
    ("aes", "-XX:-UseAES"),
    ("pclmul", "-XX:-UseCLMUL"),
    ("sha", "-XX:-UseSHA"),
    ("popcnt", "-XX:-UsePopCountInstruction"),
    ("lzcnt", "-XX:-UseCountLeadingZerosInstruction"),
    ("bmi1", "-XX:-UseBMI1Instructions"),
    ("bmi2", "-XX:-UseBMI2Instructions"),
    ("fma", "-XX:-UseFMA"),
    ("avx512f", "-XX:UseAVX=2"),
    ("avx2", "-XX:UseAVX=1"),
    ("avx", "-XX:UseAVX=0"),
    ("sse4.1", "-XX:UseSSE=3"),
];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[
    ("aes", "-XX:-UseAES"),
    ("sha2", "-XX:-UseSHA"),
    ("crc", "-XX:-UseCRC32"),
    ("sve2", "-XX:UseSVE=1"),
    ("sve", "-XX:UseSVE=0"),
];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let list = question.words(WORDS).collect::<Vec<_>>().join(" ");
    let side_effect = Some("prints \"Picked up JAVA_TOOL_OPTIONS\" on standard error");
    vec![Setting { side_effect, ..quiet(NAME, VARIABLE, question.appended(VARIABLE, " ", &list)) }]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn it_is_put_behind_the_users() {
        let value = |list, before| set(super::VARIABLE, list, before, "aes,sha,avx512").unwrap();
        assert_eq!(value("aes", Some("-Xmx1g")), "-Xmx1g -XX:-UseAES");
        assert_eq!(value("avx2", None), "-XX:UseAVX=2 -XX:UseAVX=1");
    }
}
