//! Environment variables that make cryptographic libraries leave features of the processor unused.
//!
//! Each library has a file. If a variable is already set, its new value withholds what is asked for and also
//! what the user had withheld. Libraries that read no variable are in [`WITHOUT`]; only the answers to CPUID
//! affect them.
//!
//! ```
//! use millstream_observe::capability::Withheld;
//! use millstream_observe::{knobs, processor};
//!
//! let withheld = Withheld::without("aes").unwrap();
//! let settings = knobs::settings(withheld, processor::capabilities(), &|name| std::env::var_os(name));
//! # if processor::capabilities().has("aes") {
//! assert!(settings.iter().any(|setting| setting.variable == "GODEBUG"));
//! # }
//! ```

mod botan;
mod glibc;
mod gnutls;
mod go;
mod java;
mod millstream;
mod nettle;
mod nss;
mod openssl;

use std::ffi::{OsStr, OsString};

use crate::capability::{Capabilities, Withheld};

/// A library and its variables.
pub struct Library {
    /// The name, with those of other libraries that read the same variable.
    pub name: &'static str,
    /// The features that it can be told to leave unused, each with the library's word for it.
    words: &'static [(&'static str, &'static str)],
    /// Returns the variables; called when at least one of `words` is withheld.
    set: fn(&Question) -> Vec<Setting>,
}

/// The libraries that read a variable.
pub static LIBRARIES: &[Library] = &[
    openssl::LIBRARY,
    gnutls::LIBRARY,
    nettle::LIBRARY,
    nss::LIBRARY,
    go::LIBRARY,
    java::LIBRARY,
    botan::LIBRARY,
    millstream::LIBRARY,
    glibc::LIBRARY,
];

/// The libraries that read no variable, and the alternative for each.
pub static WITHOUT: &[(&str, &str)] = &[
    ("libgcrypt", "the file /etc/gcrypt/hwf.deny, or a call of gcry_control before its start"),
    ("ring", "nothing"),
    ("RustCrypto", "RUSTFLAGS at compile time, as in --cfg aes_backend=\"soft\""),
    ("graviola", "nothing: it ends the program where features are missing"),
    ("libsodium", "nothing: AES-256-GCM is unavailable where features are missing"),
    ("Mbed TLS", "its configuration at compile time"),
    ("wolfSSL", "a call of cpuid_select_flags"),
];

/// A variable and its new value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name.
    pub variable: &'static str,
    /// The value.
    pub value: OsString,
    /// The [`Library::name`] that reads it.
    pub library: &'static str,
    /// A side effect, which speaks against setting the variable where the answers to CPUID do the same.
    pub side_effect: Option<&'static str>,
}

/// The question that each library's file answers.
struct Question<'a> {
    /// The withheld features that the processor has.
    withheld: Capabilities,
    /// The features that the processor has.
    present: Capabilities,
    environment: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Question<'_> {
    /// Returns the features that may still be used.
    fn kept(&self) -> Capabilities {
        self.present.difference(self.withheld)
    }

    /// Returns the variable's present value.
    fn now(&self, variable: &str) -> Option<OsString> {
        (self.environment)(variable)
    }

    /// Returns the words of those features in a list that are withheld.
    fn words<'w>(&self, words: &'w [(&str, &'w str)]) -> impl Iterator<Item = &'w str> {
        words.iter().filter(|(name, _)| self.withheld.has(name)).map(|(_, word)| *word)
    }

    /// Returns the variable's present value with `text` appended.
    fn appended(&self, variable: &str, separator: &str, text: &str) -> OsString {
        match self.now(variable) {
            Some(mut value) if !value.is_empty() => {
                value.push(separator);
                value.push(text);
                value
            }
            _ => text.into(),
        }
    }
}

impl Library {
    /// Returns the features that the library can be told to leave unused.
    pub fn moves(&self) -> Capabilities {
        let named = self.words.iter().map(|(name, _)| Capabilities::named(name));
        named.fold(Capabilities::NONE, Capabilities::union)
    }
}

/// Returns the variables that keep all [`LIBRARIES`] from using withheld features, on a processor with the
/// features `present` and in the given environment. Nothing is set for a feature that the processor lacks.
pub fn settings(
    withheld: Withheld,
    present: Capabilities,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<Setting> {
    let question = Question { withheld: withheld.all().intersection(present), present, environment };
    LIBRARIES
        .iter()
        .filter(|library| !library.moves().intersection(question.withheld).is_empty())
        .flat_map(|library| (library.set)(&question))
        .collect()
}

/// Returns a setting without a side effect.
fn quiet(library: &'static str, variable: &'static str, value: impl AsRef<OsStr>) -> Setting {
    Setting { variable, value: value.as_ref().to_owned(), library, side_effect: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the value of `variable` for a list of withheld features, in the given environment and on the
    /// given processor.
    pub(super) fn set(variable: &str, list: &str, before: Option<&str>, present: &str) -> Option<String> {
        let withheld = Withheld::without(list).unwrap();
        let here = Capabilities::all().difference(Withheld::with_only(present).unwrap().all());
        let environment = |name: &str| if name == variable { before.map(OsString::from) } else { None };
        let settings = settings(withheld, here, &environment);
        let found: Vec<_> = settings.iter().filter(|setting| setting.variable == variable).collect();
        assert!(found.len() < 2, "{found:?}");
        found.first().map(|setting| setting.value.to_str().unwrap().to_owned())
    }

    #[test]
    fn words_are_of_features_that_there_are() {
        for library in LIBRARIES {
            for (name, _) in library.words {
                let known = [crate::capability::X86_64, crate::capability::AARCH64].into_iter().flatten();
                assert!(known.into_iter().any(|c| c.name == *name), "{}: {name}", library.name);
            }
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn nothing_is_set_for_what_is_not_there() {
        let withheld = Withheld::without("aes").unwrap();
        let settings = settings(withheld, Capabilities::named("sha"), &|_| None);
        assert_eq!(settings, []);
    }
}
