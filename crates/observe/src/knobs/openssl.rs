//! OpenSSL, as well as BoringSSL and AWS-LC, which read the same variables by other rules.
//!
//! x86-64: `OPENSSL_ia32cap` holds up to five numbers between colons. `~` before a number removes its bits
//! from the processor's features. OpenSSL takes a missing number for zero, and so turns off everything that
//! it stands for. The other two know only the first two numbers, leave a missing one unchanged, and ignore
//! the rest. So all five are given. Versions of OpenSSL before 3.5 ignore the last three. Statically linked
//! copies read the variable too.
//!
//! AArch64: `OPENSSL_armcap` is one number. OpenSSL takes it for all features there are, and asks the
//! processor nothing; `~` makes it zero. AWS-LC ends the program if the number names a feature that it did
//! not find itself. So only features that both number alike are named, and OpenSSL loses what it would derive
//! from the processor's model.
//!
//! Tried with OpenSSL 3.0, Node.js 20 and AWS-LC on x86-64. BoringSSL follows the rule of AWS-LC, which
//! descends from it, but was not tried; neither was AArch64.
//!
//! Ref. OPENSSL_ia32cap(3); OpenSSL `crypto/cpuid.c`, `crypto/armcap.c`; AWS-LC `crypto/fipsmodule/cpucap`.

use super::{Library, Question, Setting, quiet};
use crate::capability::{Place, Register};

const NAME: &str = "OpenSSL, BoringSSL, AWS-LC";

#[cfg(target_arch = "x86_64")]
pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };
#[cfg(not(target_arch = "x86_64"))]
pub(super) const LIBRARY: Library = Library { name: NAME, words: ARM, set: set_arm };

/// The features that have a bit in one of the five numbers. They need no words.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
const WORDS: &[(&str, &str)] = &[
    ("aes", ""),
    ("pclmul", ""),
    ("sha", ""),
    ("sse3", ""),
    ("ssse3", ""),
    ("sse4.1", ""),
    ("sse4.2", ""),
    ("popcnt", ""),
    ("movbe", ""),
    ("rdrand", ""),
    ("rdseed", ""),
    ("bmi1", ""),
    ("bmi2", ""),
    ("adx", ""),
    ("avx", ""),
    ("fma", ""),
    ("xop", ""),
    ("avx2", ""),
    ("avxifma", ""),
    ("avx512f", ""),
    ("avx512dq", ""),
    ("avx512ifma", ""),
    ("avx512bw", ""),
    ("avx512vl", ""),
    ("avx512vbmi", ""),
    ("avx512vbmi2", ""),
    ("avx10", ""),
    ("gfni", ""),
    ("vaes", ""),
    ("vpclmul", ""),
    ("sha512", ""),
    ("sm3", ""),
    ("sm4", ""),
];

/// Features of AArch64, with the bits that OpenSSL and AWS-LC have in common.
#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
const ARM: &[(&str, &str)] = &[("aes", "2"), ("pmull", "5"), ("sha2", "3 4"), ("sha3", "6")];

#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
fn set(question: &Question) -> Vec<Setting> {
    const VARIABLE: &str = "OPENSSL_ia32cap";
    let mut masks = [0_u64; 5];
    for place in question.withheld.iter().flat_map(|capability| capability.places) {
        if let Some((number, bit)) = bit(*place) {
            masks[number] |= 1 << bit;
        }
    }
    let before = question.now(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    vec![quiet(NAME, VARIABLE, merged(before.as_deref(), masks))]
}

/// Returns the number that holds a bit of CPUID's answers, and the bit's place in it.
fn bit(place: Place) -> Option<(usize, u8)> {
    let Place::Cpuid { leaf, subleaf, register, bit } = place else { return None };
    let (number, high) = match (leaf, subleaf, register) {
        (1, _, Register::Edx) => (0, false),
        (1, _, Register::Ecx) => (0, true),
        // OpenSSL keeps AMD's bit of XOP at this place of the first number.
        (0x8000_0001, _, Register::Ecx) if bit == 11 => (0, true),
        (7, 0, Register::Ebx) => (1, false),
        (7, 0, Register::Ecx) => (1, true),
        (7, 0, Register::Edx) => (2, false),
        (7, 1, Register::Eax) => (2, true),
        (7, 1, Register::Edx) => (3, false),
        (7, 1, Register::Ebx) => (3, true),
        (7, 1, Register::Ecx) => (4, false),
        (0x24, 0, Register::Ebx) => (4, true),
        _ => return None,
    };
    Some((number, if high { 32 + bit } else { bit }))
}

/// Returns the value that withholds `masks` and everything that `before` withholds.
fn merged(before: Option<&str>, masks: [u64; 5]) -> String {
    let mut numbers = before.map(|text| text.split(':'));
    let one = |mask: u64| {
        let Some(numbers) = &mut numbers else { return format!("~{mask:#x}") };
        match (numbers.next(), before) {
            // OpenSSL takes an empty variable for no features, but an empty number among others for those of
            // the processor.
            (Some(""), Some("")) | (None, _) => "0x0".to_owned(),
            (Some(""), _) => format!("~{mask:#x}"),
            (Some(text), _) => match text.strip_prefix('~') {
                Some(taken) => format!("~{:#x}", number(taken) | mask),
                None => format!("{:#x}", number(text) & !mask),
            },
        }
    };
    masks.map(one).join(":")
}

/// Parses a number: decimal, octal after `0`, hexadecimal after `0x`, up to the first character that is no
/// digit.
fn number(text: &str) -> u64 {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.strip_prefix("0x") {
        Some(digits) => (16, digits),
        None if lower.starts_with('0') => (8, &*lower),
        None => (10, &*lower),
    };
    let digits = digits.chars().map_while(|letter| letter.to_digit(radix));
    digits.fold(0, |value: u64, digit| value.wrapping_mul(radix.into()).wrapping_add(digit.into()))
}

#[cfg_attr(target_arch = "x86_64", allow(dead_code))]
fn set_arm(question: &Question) -> Vec<Setting> {
    const VARIABLE: &str = "OPENSSL_armcap";
    const NEON: u64 = 1;
    let kept = question.kept();
    let bits = ARM.iter().filter(|(name, _)| kept.has(name)).flat_map(|(_, bits)| bits.split(' '));
    let found = bits.filter_map(|bit| bit.parse::<u32>().ok()).fold(NEON, |value, bit| value | 1 << bit);
    let before = question.now(VARIABLE).map_or(u64::MAX, |value| number(&value.to_string_lossy()));
    let value = format!("{:#x}", found & before);
    let side_effect = Some("hides the processor's model and vector features from OpenSSL");
    vec![Setting { side_effect, ..quiet(NAME, VARIABLE, value) }]
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;
    use super::*;
    use crate::capability::X86_64;

    const ALL: &str = "aes,pclmul,sha,vaes,vpclmul,sha512,gfni,avx512,xop";

    fn ia32cap(list: &str, before: Option<&str>) -> String {
        set("OPENSSL_ia32cap", list, before, ALL).unwrap()
    }

    #[test]
    fn all_five_numbers_are_given() {
        assert_eq!(ia32cap("aes", None), "~0x200000000000000:~0x20000000000:~0x0:~0x0:~0x0");
        assert_eq!(ia32cap("pclmul", None), "~0x200000000:~0x40000000000:~0x0:~0x0:~0x0");
        assert_eq!(ia32cap("sha", None), "~0x0:~0x20000000:~0x0:~0x0:~0x0");
        assert_eq!(ia32cap("sha512", None), "~0x0:~0x0:~0x100000000:~0x0:~0x0");
        assert_eq!(ia32cap("xop", None), "~0x80000000000:~0x0:~0x0:~0x0:~0x0");
    }

    #[test]
    fn what_the_user_turned_off_stays_off() {
        assert_eq!(ia32cap("aes", Some("~0x200000000:~8")), "~0x200000200000000:~0x20000000008:0x0:0x0:0x0");
        assert_eq!(ia32cap("aes", Some("0x200000000000001")), "0x1:0x0:0x0:0x0:0x0");
        assert_eq!(ia32cap("aes", Some(":~010")), "~0x200000000000000:~0x20000000008:0x0:0x0:0x0");
        assert_eq!(ia32cap("aes", Some("")), "0x0:0x0:0x0:0x0:0x0");
        assert_eq!([number("18"), number("0x1Fx"), number("017"), number("~")], [18, 31, 15, 0]);
    }

    #[test]
    fn the_list_is_what_has_a_bit() {
        for (name, _) in WORDS {
            let capability = X86_64.iter().find(|c| c.name == *name).unwrap();
            assert!(capability.places.iter().any(|place| bit(*place).is_some()), "{name}");
        }
    }
}
