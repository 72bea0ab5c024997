//! The instructions that this process may use, as a value that can only shrink.
//!
//! A [`Features`] value begins as what the processor and the operating system offer ([`Features::hardware`]),
//! and can only lose features after that. So code that holds a value with a feature may execute that
//! feature's instructions.
//!
//! ```
//! use millstream_cpu::{Feature, Features, Mask};
//!
//! let all = Features::hardware();
//! let mask: Mask = "-aes -avx512".parse().unwrap();
//! let fewer = all.masked(mask);
//! assert!(!fewer.contains(Feature::Aes.into()));
//! assert!(!fewer.contains(Feature::Vaes.into())); // it depends on aes
//! ```
//!
//! Ref. Intel SDM volume 2A, CPUID; Arm ARM, ID_AA64ISAR0_EL1; Solaris ld.so.1(1), `LD_HWCAP`.
#![forbid(unsafe_code)]

mod detect;
mod mask;
mod processor;

pub use detect::Features;
pub use mask::{Mask, MaskError, VARIABLE};
pub use processor::processor_name;

macro_rules! features {
    ($($variant:ident $name:literal $summary:literal [$($dep:ident)*])*) => {
        /// One instruction-set extension that a kernel can require, of any architecture.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Feature {
            $(#[doc = $summary] $variant,)*
        }

        impl Feature {
            /// All features, in the order in which `caps` lists them.
            pub const ALL: &'static [Feature] = &[$(Feature::$variant,)*];

            /// Returns the name in masks and reports, as in `-aes`.
            pub const fn name(self) -> &'static str {
                match self { $(Feature::$variant => $name,)* }
            }

            /// Returns the name in `#[target_feature(enable = ...)]`.
            pub const fn compiler_name(self) -> &'static str {
                match self {
                    Feature::Pclmul => "pclmulqdq",
                    Feature::Vpclmul => "vpclmulqdq",
                    other => other.name(),
                }
            }

            /// Returns a description in a few words.
            pub const fn summary(self) -> &'static str {
                match self { $(Feature::$variant => $summary,)* }
            }

            /// Returns the features that this one can't be used without.
            pub const fn depends_on(self) -> FeatureSet {
                match self { $(Feature::$variant => FeatureSet::of(&[$(Feature::$dep,)*]),)* }
            }
        }
    };
}

features! {
    Aes "aes" "AES rounds" []
    Pclmul "pclmul" "carry-less multiply, x86-64" []
    Sha "sha" "SHA-1 and SHA-256 rounds, x86-64" []
    Ssse3 "ssse3" "byte shuffle" []
    Sse41 "sse4.1" "blends and 64-bit lanes" [Ssse3]
    Sse42 "sse4.2" "CRC32c step" [Sse41]
    Avx "avx" "256-bit registers" [Sse42]
    Avx2 "avx2" "256-bit integers" [Avx]
    Bmi1 "bmi1" "and-not and bit extract" []
    Bmi2 "bmi2" "MULX, RORX, PEXT" []
    Adx "adx" "two carry chains" []
    Avx512f "avx512f" "512-bit registers, ternary logic" [Avx2]
    Avx512bw "avx512bw" "512-bit bytes and words" [Avx512f]
    Avx512dq "avx512dq" "512-bit doubles and quads" [Avx512f]
    Avx512vl "avx512vl" "AVX-512 at 128 and 256 bits" [Avx512f]
    Avx512ifma "avx512ifma" "52-bit multiply-add" [Avx512f]
    Avx512vbmi "avx512vbmi" "byte permute" [Avx512bw]
    Avx512vbmi2 "avx512vbmi2" "byte compress, wide shifts" [Avx512bw]
    Gfni "gfni" "GF(2^8) affine transforms" []
    Vaes "vaes" "AES rounds at 256 and 512 bits" [Aes Avx]
    Vpclmul "vpclmul" "carry-less multiply at 256 and 512 bits" [Pclmul Avx]
    Sha512 "sha512" "SHA-512 rounds, x86-64" [Avx2]
    Sm3 "sm3" "SM3 rounds" []
    Sm4 "sm4" "SM4 rounds" []
    Neon "neon" "128-bit registers, AArch64" []
    Pmull "pmull" "carry-less multiply, AArch64" [Neon]
    Sha1Sha2 "sha2" "SHA-1 and SHA-256 rounds, AArch64" [Neon]
    Sha3 "sha3" "SHA-512 and SHA-3 rounds, AArch64" [Sha1Sha2]
    Crc "crc" "CRC-32 and CRC32c steps, AArch64" []
    Sve "sve" "scalable vectors" [Neon]
    Sve2 "sve2" "scalable vectors, second version" [Sve]
}

/// Names that stand for several features in a mask.
pub const GROUPS: &[(&str, FeatureSet)] = &[
    (
        "crypto",
        FeatureSet::of(&[
            Feature::Aes,
            Feature::Pclmul,
            Feature::Sha,
            Feature::Gfni,
            Feature::Vaes,
            Feature::Vpclmul,
            Feature::Sha512,
            Feature::Sm3,
            Feature::Sm4,
            Feature::Pmull,
            Feature::Sha1Sha2,
            Feature::Sha3,
        ]),
    ),
    (
        "avx512",
        FeatureSet::of(&[
            Feature::Avx512f,
            Feature::Avx512bw,
            Feature::Avx512dq,
            Feature::Avx512vl,
            Feature::Avx512ifma,
            Feature::Avx512vbmi,
            Feature::Avx512vbmi2,
        ]),
    ),
];

/// A set of features. Unlike [`Features`], it proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FeatureSet(u64);

impl FeatureSet {
    /// The empty set.
    pub const EMPTY: FeatureSet = FeatureSet(0);

    /// Returns the set of the listed features.
    pub const fn of(features: &[Feature]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < features.len() {
            bits |= 1 << features[i] as u8;
            i += 1;
        }
        FeatureSet(bits)
    }

    /// Returns the features of a list like `avx2,vaes` in the compiler's names. One literal can then say what a function is
    /// compiled for, in `#[target_feature]`, and what its kernel requires.
    ///
    /// # Panics
    /// When a name is no feature's. A constant does not compile then.
    pub const fn parse(names: &str) -> Self {
        let names = names.as_bytes();
        let (mut set, mut begin, mut end) = (FeatureSet::EMPTY, 0, 0);
        while end <= names.len() {
            if end == names.len() || names[end] == b',' {
                let (_, rest) = names.split_at(begin);
                let (name, _) = rest.split_at(end - begin);
                set = set.union(FeatureSet::of(&[by_compiler_name(name)]));
                begin = end + 1;
            }
            end += 1;
        }
        set
    }

    /// Returns the features in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        FeatureSet(self.0 | other.0)
    }

    /// Returns the features in both sets.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        FeatureSet(self.0 & other.0)
    }

    /// Returns the features of this set that `other` lacks.
    #[must_use]
    pub const fn difference(self, other: Self) -> Self {
        FeatureSet(self.0 & !other.0)
    }

    /// Returns true when every feature of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns true when the set has no feature.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the features of the set, in the order of [`Feature::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Feature> {
        Feature::ALL.iter().copied().filter(move |&f| self.contains(f.into()))
    }
}

/// Finds the feature of that name in `#[target_feature]`.
const fn by_compiler_name(name: &[u8]) -> Feature {
    let mut i = 0;
    while i < Feature::ALL.len() {
        if is_same(Feature::ALL[i].compiler_name().as_bytes(), name) {
            return Feature::ALL[i];
        }
        i += 1;
    }
    panic!("a name of no feature")
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl From<Feature> for FeatureSet {
    fn from(feature: Feature) -> Self {
        FeatureSet::of(&[feature])
    }
}

/// Writes the names, separated by blanks.
impl std::fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, feature) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            f.write_str(feature.name())?;
        }
        Ok(())
    }
}

impl std::fmt::Debug for FeatureSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FeatureSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_names_the_features_that_it_enables() {
        for &feature in Feature::ALL {
            assert_eq!(FeatureSet::parse(feature.compiler_name()), feature.into());
        }
        let three = FeatureSet::of(&[Feature::Vaes, Feature::Vpclmul, Feature::Sse41]);
        assert_eq!(FeatureSet::parse("vaes,vpclmulqdq,sse4.1"), three);
    }

    #[test]
    #[should_panic(expected = "no feature")]
    fn a_name_of_no_feature_is_refused() {
        FeatureSet::parse("avx2,vpclmul");
    }
}
