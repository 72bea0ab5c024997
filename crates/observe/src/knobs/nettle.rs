//! nettle: `NETTLE_FAT_OVERRIDE` lists the features that may be used.
//!
//! Set-user-ID programs don't read it. If it is set, nettle asks the processor nothing, not even its maker,
//! on which the choice of some loops depends. So the maker is named too.
//!
//! Tried with nettle 3.8 on x86-64; not tried on AArch64. `NETTLE_FAT_VERBOSE=1` makes it print what it uses.
//!
//! Ref. nettle `fat-x86_64.c`, `fat-arm64.c`, `fat-setup.h`.

use super::{Library, Question, Setting, quiet};

const NAME: &str = "nettle";
const VARIABLE: &str = "NETTLE_FAT_OVERRIDE";

#[cfg(target_arch = "x86_64")]
const WORDS: &[(&str, &str)] = &[("aes", "aesni"), ("sha", "sha_ni"), ("pclmul", "pclmul")];
#[cfg(not(target_arch = "x86_64"))]
const WORDS: &[(&str, &str)] = &[("aes", "aes"), ("pmull", "pmull"), ("sha2", "sha1"), ("sha2", "sha2")];

pub(super) const LIBRARY: Library = Library { name: NAME, words: WORDS, set };

fn set(question: &Question) -> Vec<Setting> {
    let before = question.now(VARIABLE).map(|value| value.to_string_lossy().into_owned());
    let allowed =
        |word: &&str| before.as_ref().is_none_or(|list| list.split(',').any(|named| named == *word));
    let kept = question.kept();
    let words = WORDS.iter().filter(|(name, _)| kept.has(name)).map(|(_, word)| *word).filter(allowed);
    let vendor = match &before {
        Some(list) => list.split(',').find(|word| word.starts_with("vendor:")).map(str::to_owned),
        None => vendor(&crate::processor::vendor()).map(str::to_owned),
    };
    let list: Vec<String> = vendor.into_iter().chain(words.map(str::to_owned)).collect();
    // nettle knows no such word, so it uses no feature.
    let value = if list.is_empty() { "none".to_owned() } else { list.join(",") };
    vec![quiet(NAME, VARIABLE, value)]
}

fn vendor(name: &str) -> Option<&'static str> {
    match name {
        "GenuineIntel" => Some("vendor:intel"),
        "AuthenticAMD" => Some("vendor:amd"),
        _ => None,
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::super::tests::set;

    #[test]
    fn what_is_left_is_named() {
        let left = |list, before| set(super::VARIABLE, list, before, "aes,pclmul,sha");
        assert!(left("aes", None).unwrap().ends_with("sha_ni,pclmul"));
        assert_eq!(left("aes", Some("vendor:amd,aesni,pclmul")).unwrap(), "vendor:amd,pclmul");
        assert_eq!(left("crypto", Some("aesni")).unwrap(), "none");
    }
}
