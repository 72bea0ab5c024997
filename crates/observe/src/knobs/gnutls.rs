//! GnuTLS: `GNUTLS_CPUID_OVERRIDE` is a number with a bit for each feature that may be used.
//!
//! Set-user-ID programs don't read it. On both architectures, 1 stands for no feature at all. GnuTLS takes
//! many of its algorithms from nettle, whose own variable counts for them. Bits that later versions may add
//! for more features are not set, so those features stay unused.
//!
//! Tried with GnuTLS 3.7 on x86-64; not tried on AArch64.
//!
//! Ref. GnuTLS manual, "Debugging and auditing"; `lib/accelerated/x86/x86-common.c`, `lib/accelerated/aarch64`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "GnuTLS";
const VARIABLE: &str = "GNUTLS_CPUID_OVERRIDE";

/// The value that stands for no feature.
const NOTHING: u32 = 1;

/// Features and their bits.
#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] =
    &[("aes", "1"), ("ssse3", "2"), ("pclmul", "3"), ("avx", "4"), ("sha", "5"), ("padlock", "20 21 22")];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[("aes", "2"), ("sha2", "3 4"), ("pmull", "5"), ("sha3", "6")];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let kept = question.kept();
    let bits = WORDS.iter().filter(|(name, _)| kept.has(name)).flat_map(|(_, bits)| bits.split(' '));
    let allowed = bits.filter_map(|bit| bit.parse::<u32>().ok()).fold(0, |value, bit| value | 1 << bit);
    let allowed = match question.now(VARIABLE).as_ref().and_then(|value| value.to_str()).map(number) {
        Some(before) if before & NOTHING != 0 => 0,
        // GnuTLS treats zero as if the variable were not set.
        Some(before) if before != 0 => allowed & before,
        _ => allowed,
    };
    let value = if allowed == 0 { NOTHING } else { allowed };
    vec![quiet(NAME, VARIABLE, format!("{value:#x}"))]
}

fn number(text: &str) -> u32 {
    let digits = text.trim().strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
    digits.unwrap_or_else(|| text.trim().parse()).unwrap_or(0)
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn what_is_left_is_allowed() {
        let left = |list, before| set(super::VARIABLE, list, before, "aes,pclmul,sha,avx2");
        assert_eq!(left("aes", None).unwrap(), "0x3c");
        assert_eq!(left("crypto", None).unwrap(), "0x14");
        assert_eq!(left("aes,pclmul,sha,ssse3", None).unwrap(), "0x1");
        assert_eq!(left("aes", Some("0xa")).unwrap(), "0x8");
        assert_eq!(left("aes", Some("1")).unwrap(), "0x1");
        assert_eq!(left("bmi2", None), None);
    }
}
