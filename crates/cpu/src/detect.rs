//! Detection of features, and the value that proves it.

use std::sync::OnceLock;

use crate::{Feature, FeatureSet, Mask, MaskError};

/// The features that this process may use: those of the processor, without the masked ones.
///
/// Every `Features` value is a subset of what [`Features::hardware`] found, because nothing can add to one.
/// So a value is a witness: a kernel bound under a value that contains its requirements is safe to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Features(FeatureSet);

impl Features {
    /// Returns the features that the processor and the operating system offer. They are detected once.
    pub fn hardware() -> Self {
        static FOUND: OnceLock<FeatureSet> = OnceLock::new();
        Features(*FOUND.get_or_init(|| close(found())))
    }

    /// Returns the features that this process is to use: the hardware's, without those that the environment
    /// variable `MILLSTREAM_HWCAP` removes, as in `MILLSTREAM_HWCAP="-aes -sha"`. The variable is read once.
    ///
    /// # Errors
    /// Fails when the variable names an unknown feature; the error lists the known ones.
    pub fn active() -> Result<Self, MaskError> {
        static ACTIVE: OnceLock<Result<Features, MaskError>> = OnceLock::new();
        ACTIVE.get_or_init(|| Ok(Features::hardware().masked(Mask::from_environment()?))).clone()
    }

    /// Returns no feature at all, so that only portable kernels can be bound.
    pub const fn none() -> Self {
        Features(FeatureSet::EMPTY)
    }

    /// Returns the features as a plain set.
    pub const fn set(self) -> FeatureSet {
        self.0
    }

    /// Returns true when every feature of `needed` may be used.
    pub const fn contains(self, needed: FeatureSet) -> bool {
        self.0.contains(needed)
    }

    /// Removes `off` and all features that depend on it.
    #[must_use]
    pub fn without(self, off: FeatureSet) -> Self {
        Features(close(self.0.difference(off)))
    }

    /// Removes the features that the mask takes away.
    #[must_use]
    pub fn masked(self, mask: Mask) -> Self {
        self.without(mask.off())
    }
}

/// Drops every feature that lacks one it depends on, until none does.
fn close(mut set: FeatureSet) -> FeatureSet {
    loop {
        let mut kept = set;
        for feature in set.iter() {
            if !set.contains(feature.depends_on()) {
                kept = kept.difference(feature.into());
            }
        }
        if kept == set {
            return set;
        }
        set = kept;
    }
}

#[cfg(target_arch = "x86_64")]
fn found() -> FeatureSet {
    macro_rules! probe {
        ($($feature:ident $std:tt)*) => {{
            let mut set = FeatureSet::EMPTY;
            $(if std::arch::is_x86_feature_detected!($std) {
                set = set.union(Feature::$feature.into());
            })*
            set
        }};
    }
    probe! {
        Aes "aes" Pclmul "pclmulqdq" Sha "sha" Ssse3 "ssse3" Sse41 "sse4.1" Sse42 "sse4.2"
        Avx "avx" Avx2 "avx2" Bmi1 "bmi1" Bmi2 "bmi2" Adx "adx"
        Avx512f "avx512f" Avx512bw "avx512bw" Avx512dq "avx512dq" Avx512vl "avx512vl"
        Avx512ifma "avx512ifma" Avx512vbmi "avx512vbmi" Avx512vbmi2 "avx512vbmi2"
        Gfni "gfni" Vaes "vaes" Vpclmul "vpclmulqdq" Sha512 "sha512" Sm3 "sm3" Sm4 "sm4"
    }
}

#[cfg(target_arch = "aarch64")]
fn found() -> FeatureSet {
    macro_rules! probe {
        ($($feature:ident $std:tt)*) => {{
            let mut set = FeatureSet::EMPTY;
            $(if std::arch::is_aarch64_feature_detected!($std) {
                set = set.union(Feature::$feature.into());
            })*
            set
        }};
    }
    probe! {
        Aes "aes" Neon "neon" Pmull "pmull" Sha1Sha2 "sha2" Sha3 "sha3" Crc "crc"
        Sve "sve" Sve2 "sve2" Sm4 "sm4"
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn found() -> FeatureSet {
    FeatureSet::EMPTY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_a_feature_removes_what_depends_on_it() {
        let all = FeatureSet::of(Feature::ALL);
        let left = Features(all).without(Feature::Avx.into()).set();
        for gone in [Feature::Avx2, Feature::Avx512vbmi, Feature::Vaes, Feature::Vpclmul] {
            assert!(!left.contains(gone.into()), "{} is still there", gone.name());
        }
        assert!(left.contains(FeatureSet::of(&[Feature::Aes, Feature::Sse42])));
    }

    #[test]
    fn nothing_adds() {
        let f = Features::hardware().without(FeatureSet::of(Feature::ALL));
        assert_eq!(f, Features::none());
        assert_eq!(f.without(FeatureSet::EMPTY), Features::none());
    }
}
