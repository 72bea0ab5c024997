//! The mask: `MILLSTREAM_HWCAP="-aes -sha"`, in the syntax of Solaris' `LD_HWCAP`.

use std::fmt;
use std::str::FromStr;

use crate::{Feature, FeatureSet, GROUPS};

/// The environment variable that holds a mask.
pub const VARIABLE: &str = "MILLSTREAM_HWCAP";

/// Features to leave unused, parsed from names with a leading minus, separated by blanks or commas: `-aes
/// -sha`, `-avx512,-gfni`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    off: FeatureSet,
}

impl Mask {
    /// Reads the mask in [`VARIABLE`], which is empty if the variable is not set.
    ///
    /// # Errors
    /// Fails when the variable can't be parsed.
    pub fn from_environment() -> Result<Self, MaskError> {
        match std::env::var_os(VARIABLE) {
            None => Ok(Mask::default()),
            Some(text) => match text.to_str() {
                Some(text) => text.parse(),
                None => Err(MaskError { token: text.to_string_lossy().into_owned() }),
            },
        }
    }

    /// Returns the features that the mask names, without those that depend on them.
    pub const fn off(self) -> FeatureSet {
        self.off
    }
}

impl FromStr for Mask {
    type Err = MaskError;

    fn from_str(text: &str) -> Result<Self, MaskError> {
        let mut off = FeatureSet::EMPTY;
        for token in text.split([' ', '\t', '\n', ',']).filter(|t| !t.is_empty()) {
            let named = token.strip_prefix('-').and_then(lookup);
            off = off.union(named.ok_or_else(|| MaskError { token: token.to_owned() })?);
        }
        Ok(Mask { off })
    }
}

fn lookup(name: &str) -> Option<FeatureSet> {
    let group = GROUPS.iter().find(|(group, _)| *group == name).map(|&(_, set)| set);
    group.or_else(|| Feature::ALL.iter().find(|f| f.name() == name).map(|&f| f.into()))
}

/// The error for a mask with a word that is not a minus and the name of a feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskError {
    token: String,
}

impl fmt::Display for MaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = lookup(self.token.trim_start_matches(['-', '+'])).is_some();
        if known && !self.token.starts_with('-') {
            return write!(
                f,
                "{VARIABLE}: '{}' has no leading minus; a mask can only take features away, as in '-{}'",
                self.token,
                self.token.trim_start_matches('+'),
            );
        }
        write!(f, "{VARIABLE}: unknown feature '{}'; known are", self.token)?;
        for feature in Feature::ALL {
            write!(f, " {}", feature.name())?;
        }
        write!(f, ", and the groups")?;
        for (group, _) in GROUPS {
            write!(f, " {group}")?;
        }
        Ok(())
    }
}

impl std::error::Error for MaskError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_groups() {
        let mask: Mask = "-aes, -sha\t-avx512".parse().unwrap();
        assert!(mask.off().contains(FeatureSet::of(&[Feature::Aes, Feature::Sha, Feature::Avx512vl])));
        assert!(!mask.off().contains(Feature::Avx2.into()));
        assert_eq!("".parse(), Ok(Mask::default()));
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "-aes -ase".parse::<Mask>().unwrap_err().to_string();
        assert!(error.contains("'-ase'"), "{error}");
        for feature in Feature::ALL {
            assert!(error.contains(feature.name()), "{error}");
        }
    }

    #[test]
    fn a_mask_cannot_add() {
        for text in ["+aes", "aes"] {
            let error = text.parse::<Mask>().unwrap_err().to_string();
            assert!(error.contains("'-aes'"), "{error}");
        }
    }
}
