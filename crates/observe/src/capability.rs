//! The features that can be withheld from a program, and the bits that announce them.
//!
//! Ref. Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E; Linux `arch/arm64/include/uapi/asm/hwcap.h`.

use std::fmt;

/// The place where a program finds out whether a feature exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A bit of CPUID's answer.
    Cpuid {
        /// The value of EAX in the question.
        leaf: u32,
        /// The value of ECX in the question. Leaves without subleaves answer alike for all values.
        subleaf: u32,
        /// The register of the answer.
        register: Register,
        /// The bit in that register.
        bit: u8,
    },
    /// A bit of the auxiliary vector's AT_HWCAP (word 1) or AT_HWCAP2 (word 2).
    Hwcap {
        /// The word: 1 or 2.
        word: u8,
        /// The bit in that word.
        bit: u8,
    },
}

/// A register of CPUID's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// EAX.
    Eax,
    /// EBX.
    Ebx,
    /// ECX.
    Ecx,
    /// EDX.
    Edx,
}

/// One feature that a processor may have.
#[derive(Debug)]
pub struct Capability {
    /// The name, as `millstream caps` prints it.
    pub name: &'static str,
    /// A description in a few words.
    pub summary: &'static str,
    /// The bits that announce it.
    pub places: &'static [Place],
    /// The features that it can't be used without.
    pub depends_on: &'static [&'static str],
}

const fn eax(leaf: u32, subleaf: u32, bit: u8) -> Place {
    Place::Cpuid { leaf, subleaf, register: Register::Eax, bit }
}

const fn ebx(leaf: u32, subleaf: u32, bit: u8) -> Place {
    Place::Cpuid { leaf, subleaf, register: Register::Ebx, bit }
}

const fn ecx(leaf: u32, subleaf: u32, bit: u8) -> Place {
    Place::Cpuid { leaf, subleaf, register: Register::Ecx, bit }
}

const fn edx(leaf: u32, subleaf: u32, bit: u8) -> Place {
    Place::Cpuid { leaf, subleaf, register: Register::Edx, bit }
}

const fn hwcap(word: u8, bit: u8) -> Place {
    Place::Hwcap { word, bit }
}

macro_rules! capabilities {
    ($($name:literal $summary:literal [$($place:expr),*] [$($dep:literal)*])*) => {
        &[$(Capability { name: $name, summary: $summary, places: &[$($place),*], depends_on: &[$($dep),*] },)*]
    };
}

/// The features of x86-64. A feature stands after those that it depends on.
pub static X86_64: &[Capability] = capabilities! {
    "aes" "AES rounds" [ecx(1, 0, 25)] []
    "pclmul" "carry-less multiply" [ecx(1, 0, 1)] []
    "sha" "SHA-1 and SHA-256 rounds" [ebx(7, 0, 29)] []
    "sse3" "horizontal additions" [ecx(1, 0, 0)] []
    "ssse3" "byte shuffle" [ecx(1, 0, 9)] ["sse3"]
    "sse4.1" "blends and 64-bit lanes" [ecx(1, 0, 19)] ["ssse3"]
    "sse4.2" "CRC32c step, string compares" [ecx(1, 0, 20)] ["sse4.1"]
    "sse4a" "bit-field extract, AMD" [ecx(0x8000_0001, 0, 6)] ["sse3"]
    "popcnt" "counting bits" [ecx(1, 0, 23)] []
    "lzcnt" "counting leading zeros" [ecx(0x8000_0001, 0, 5)] []
    "movbe" "big-endian moves" [ecx(1, 0, 22)] []
    "rdrand" "random numbers" [ecx(1, 0, 30)] []
    "rdseed" "random seeds" [ebx(7, 0, 18)] []
    "bmi1" "and-not and bit extract" [ebx(7, 0, 3)] []
    "bmi2" "MULX, RORX, PEXT" [ebx(7, 0, 8)] []
    "adx" "two carry chains" [ebx(7, 0, 19)] []
    "avx" "256-bit registers" [ecx(1, 0, 28)] ["sse4.2"]
    "f16c" "half-precision conversion" [ecx(1, 0, 29)] ["avx"]
    "fma" "fused multiply-add" [ecx(1, 0, 12)] ["avx"]
    "xop" "AMD's 128-bit extensions" [ecx(0x8000_0001, 0, 11)] ["avx"]
    "fma4" "AMD's fused multiply-add" [ecx(0x8000_0001, 0, 16)] ["avx"]
    "avx2" "256-bit integers" [ebx(7, 0, 5)] ["avx"]
    "avxvnni" "neural-network dot products, VEX" [eax(7, 1, 4)] ["avx2"]
    "avxvnniint8" "more dot products, VEX" [edx(7, 1, 4)] ["avx2"]
    "avxvnniint16" "more dot products, VEX" [edx(7, 1, 10)] ["avx2"]
    "avxneconvert" "narrow float conversion, VEX" [edx(7, 1, 5)] ["avx2"]
    "avxifma" "52-bit multiply-add, VEX" [eax(7, 1, 23)] ["avx2"]
    "avx512f" "512-bit registers, ternary logic" [ebx(7, 0, 16)] ["avx2" "fma" "f16c"]
    "avx512dq" "512-bit doubles and quads" [ebx(7, 0, 17)] ["avx512f"]
    "avx512ifma" "52-bit multiply-add" [ebx(7, 0, 21)] ["avx512f"]
    "avx512pf" "prefetch" [ebx(7, 0, 26)] ["avx512f"]
    "avx512er" "exponentials and reciprocals" [ebx(7, 0, 27)] ["avx512f"]
    "avx512cd" "conflict detection" [ebx(7, 0, 28)] ["avx512f"]
    "avx512bw" "512-bit bytes and words" [ebx(7, 0, 30)] ["avx512f"]
    "avx512vl" "AVX-512 at 128 and 256 bits" [ebx(7, 0, 31)] ["avx512f"]
    "avx512vbmi" "byte permute" [ecx(7, 0, 1)] ["avx512bw"]
    "avx512vbmi2" "byte compress, wide shifts" [ecx(7, 0, 6)] ["avx512bw"]
    "avx512vnni" "neural-network dot products" [ecx(7, 0, 11)] ["avx512f"]
    "avx512bitalg" "counting bits of bytes" [ecx(7, 0, 12)] ["avx512bw"]
    "avx512vpopcntdq" "counting bits of words" [ecx(7, 0, 14)] ["avx512f"]
    "avx512vnniw" "neural-network words, Xeon Phi" [edx(7, 0, 2)] ["avx512f"]
    "avx512fmaps" "chained multiply-add, Xeon Phi" [edx(7, 0, 3)] ["avx512f"]
    "avx512vp2intersect" "intersection of sets" [edx(7, 0, 8)] ["avx512f"]
    "avx512fp16" "half-precision arithmetic" [edx(7, 0, 23)] ["avx512bw" "avx512dq" "avx512vl"]
    "avx512bf16" "bfloat16 arithmetic" [eax(7, 1, 5)] ["avx512bw"]
    "avx10" "AVX-512 under one version number" [edx(7, 1, 19)]
        ["avx512vl" "avx512bw" "avx512dq" "avx512ifma" "avx512vbmi2"]
    "amxtile" "matrix tiles" [edx(7, 0, 24)] []
    "amxint8" "matrix multiply of bytes" [edx(7, 0, 25)] ["amxtile"]
    "amxbf16" "matrix multiply of bfloat16" [edx(7, 0, 22)] ["amxtile"]
    "amxfp16" "matrix multiply of half precision" [eax(7, 1, 21)] ["amxtile"]
    "amxcomplex" "matrix multiply of complex numbers" [edx(7, 1, 8)] ["amxtile"]
    "gfni" "GF(2^8) affine transforms" [ecx(7, 0, 8)] []
    "vaes" "AES rounds at 256 and 512 bits" [ecx(7, 0, 9)] ["aes" "avx"]
    "vpclmul" "carry-less multiply at 256 and 512 bits" [ecx(7, 0, 10)] ["pclmul" "avx"]
    "sha512" "SHA-512 rounds" [eax(7, 1, 0)] ["avx2"]
    "sm3" "SM3 rounds" [eax(7, 1, 1)] ["avx"]
    "sm4" "SM4 rounds" [eax(7, 1, 2)] ["avx"]
    "keylocker" "AES with wrapped keys"
        [ecx(7, 0, 23), ebx(0x19, 0, 0), ebx(0x19, 0, 2)] ["aes"]
    "padlock" "VIA's and Zhaoxin's AES, hashes and random numbers"
        [edx(0xC000_0001, 0, 2), edx(0xC000_0001, 0, 3), edx(0xC000_0001, 0, 4), edx(0xC000_0001, 0, 5),
         edx(0xC000_0001, 0, 6), edx(0xC000_0001, 0, 7), edx(0xC000_0001, 0, 8), edx(0xC000_0001, 0, 9),
         edx(0xC000_0001, 0, 10), edx(0xC000_0001, 0, 11), edx(0xC000_0001, 0, 12), edx(0xC000_0001, 0, 13)] []
};

/// The features of AArch64. NEON can't be withheld there, as every program is compiled for it.
pub static AARCH64: &[Capability] = capabilities! {
    "aes" "AES rounds" [hwcap(1, 3)] []
    "pmull" "carry-less multiply" [hwcap(1, 4)] []
    "sha2" "SHA-1 and SHA-256 rounds" [hwcap(1, 5), hwcap(1, 6)] []
    "sha3" "SHA-512 and SHA-3 rounds" [hwcap(1, 17), hwcap(1, 21)] ["sha2"]
    "sm3" "SM3 rounds" [hwcap(1, 18)] []
    "sm4" "SM4 rounds" [hwcap(1, 19)] []
    "crc" "CRC-32 and CRC32c steps" [hwcap(1, 7)] []
    "rng" "random numbers" [hwcap(2, 16)] []
    "sve" "scalable vectors" [hwcap(1, 22)] []
    "sve2" "scalable vectors, second version" [hwcap(2, 1)] ["sve"]
    "sveaes" "AES rounds in scalable vectors" [hwcap(2, 2)] ["sve2" "aes"]
    "svepmull" "carry-less multiply in scalable vectors" [hwcap(2, 3)] ["sve2" "pmull"]
    "svesha3" "SHA-3 rounds in scalable vectors" [hwcap(2, 5)] ["sve2" "sha3"]
    "svesm4" "SM4 rounds in scalable vectors" [hwcap(2, 6)] ["sve2" "sm4"]
};

/// The features of the architecture that this is compiled for, or none on any other.
pub static HERE: &[Capability] = if cfg!(target_arch = "x86_64") {
    X86_64
} else if cfg!(target_arch = "aarch64") {
    AARCH64
} else {
    &[]
};

/// Names that stand for several features.
static GROUPS: &[(&str, &[&str])] = &[
    (
        "crypto",
        &[
            "aes",
            "pclmul",
            "sha",
            "gfni",
            "vaes",
            "vpclmul",
            "sha512",
            "sm3",
            "sm4",
            "keylocker",
            "padlock",
            "pmull",
            "sha2",
            "sha3",
            "sveaes",
            "svepmull",
            "svesha3",
            "svesm4",
        ],
    ),
    ("avx512", &["avx512f"]),
    ("amx", &["amxtile"]),
];

/// Returns the groups' names and members, for messages.
pub fn groups() -> impl Iterator<Item = (&'static str, Capabilities)> {
    GROUPS.iter().map(|(name, members)| {
        let found = HERE.iter().filter(|capability| members.contains(&capability.name));
        (
            *name,
            found
                .map(|capability| Capabilities::named(capability.name))
                .fold(Capabilities::NONE, Capabilities::union),
        )
    })
}

/// A set of the capabilities [`HERE`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities(u128);

impl Capabilities {
    /// No capability.
    pub const NONE: Capabilities = Capabilities(0);

    /// Returns all features that have a name here, whether this processor has them or not.
    pub fn all() -> Capabilities {
        Capabilities((1u128 << HERE.len()) - 1)
    }

    /// Returns the feature with a name, or the empty set where this architecture has none.
    pub fn named(name: &str) -> Capabilities {
        let index = HERE.iter().position(|capability| capability.name == name);
        index.map_or(Capabilities::NONE, |index| Capabilities(1 << index))
    }

    /// Returns the features in either set.
    #[must_use]
    pub const fn union(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 | other.0)
    }

    /// Returns the features in this set but not in the other.
    #[must_use]
    pub const fn difference(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & !other.0)
    }

    /// Returns the features in both sets.
    #[must_use]
    pub const fn intersection(self, other: Capabilities) -> Capabilities {
        Capabilities(self.0 & other.0)
    }

    /// Returns true for the empty set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true when the feature with this name is in the set.
    pub fn has(self, name: &str) -> bool {
        !self.intersection(Capabilities::named(name)).is_empty()
    }

    /// Returns the features in the order of [`HERE`].
    pub fn iter(self) -> impl Iterator<Item = &'static Capability> {
        HERE.iter()
            .enumerate()
            .filter(move |(index, _)| self.0 >> index & 1 == 1)
            .map(|(_, capability)| capability)
    }

    /// Adds all features that can't be used without these.
    #[must_use]
    pub fn with_dependents(self) -> Capabilities {
        // The table's order makes one pass sufficient.
        HERE.iter().fold(self, |set, capability| {
            let lost = capability.depends_on.iter().any(|name| set.has(name));
            if lost { set.union(Capabilities::named(capability.name)) } else { set }
        })
    }

    /// Adds all features that these can't be used without.
    #[must_use]
    pub fn with_dependencies(self) -> Capabilities {
        HERE.iter().rev().fold(self, |set, capability| {
            if !set.has(capability.name) {
                return set;
            }
            capability.depends_on.iter().fold(set, |set, name| set.union(Capabilities::named(name)))
        })
    }

    /// Parses a list such as `aes,sha avx512`. A leading `-` is allowed, as in LD_HWCAP.
    fn listed(list: &str) -> Result<Capabilities, UnknownName> {
        let mut words = list.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        words.try_fold(Capabilities::NONE, |set, word| {
            let name = word.strip_prefix('-').unwrap_or(word);
            let group = groups().find(|(group, _)| *group == name).map(|(_, members)| members);
            let found = group.unwrap_or_else(|| Capabilities::named(name));
            if found.is_empty() { Err(UnknownName(name.to_owned())) } else { Ok(set.union(found)) }
        })
    }
}

/// Writes the names, separated by blanks.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, capability) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(capability.name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Capabilities({self})")
    }
}

/// The features to withhold. The set is closed under dependence, so no feature remains without those that it
/// depends on.
///
/// ```
/// # #[cfg(target_arch = "x86_64")] {
/// use millstream_observe::capability::Withheld;
///
/// let withheld = Withheld::without("aes,avx512").unwrap();
/// assert!(withheld.has("vaes")); // it depends on aes
/// assert!(!withheld.has("sha"));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Withheld {
    asked: Capabilities,
    all: Capabilities,
}

impl Withheld {
    /// Withholds the features in `list` and all that depend on them.
    ///
    /// # Errors
    /// Returns the first name that is no feature of this architecture and no group.
    pub fn without(list: &str) -> Result<Withheld, UnknownName> {
        let asked = Capabilities::listed(list)?;
        Ok(Withheld { asked, all: asked.with_dependents() })
    }

    /// Withholds all features but those in `list` and those they depend on.
    ///
    /// # Errors
    /// Returns the first name that is no feature of this architecture and no group.
    pub fn with_only(list: &str) -> Result<Withheld, UnknownName> {
        let kept = Capabilities::listed(list)?.with_dependencies();
        let all = Capabilities::all().difference(kept);
        Ok(Withheld { asked: all, all: all.with_dependents() })
    }

    /// Returns the features that were named.
    pub fn asked(self) -> Capabilities {
        self.asked
    }

    /// Returns all withheld features.
    pub fn all(self) -> Capabilities {
        self.all
    }

    /// Returns true when the feature with this name is withheld.
    pub fn has(self, name: &str) -> bool {
        self.all.has(name)
    }

    /// Returns true when nothing is withheld.
    pub fn is_empty(self) -> bool {
        self.all.is_empty()
    }
}

/// A name that is no feature of this architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName(pub String);

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no feature {:?}; `millstream run --list` lists the features", self.0)
    }
}

impl std::error::Error for UnknownName {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_feature_stands_after_those_it_depends_on() {
        for table in [X86_64, AARCH64] {
            for (index, capability) in table.iter().enumerate() {
                for name in capability.depends_on {
                    assert!(table[..index].iter().any(|before| before.name == *name), "{}", capability.name);
                }
            }
        }
    }

    #[test]
    fn names_are_those_of_caps() {
        for feature in millstream_cpu::Feature::ALL {
            let everywhere =
                [X86_64, AARCH64].iter().any(|table| table.iter().any(|c| c.name == feature.name()));
            assert!(everywhere || feature.name() == "neon", "{} has no bits", feature.name());
        }
    }

    #[test]
    fn no_two_features_share_a_bit() {
        for table in [X86_64, AARCH64] {
            let mut places: Vec<Place> =
                table.iter().flat_map(|capability| capability.places).copied().collect();
            let count = places.len();
            places.dedup();
            places.sort_by_key(|place| format!("{place:?}"));
            places.dedup();
            assert_eq!(places.len(), count);
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_depends_on_a_feature_goes_with_it() {
        let withheld = Withheld::without("-avx sha").unwrap();
        for name in ["avx", "avx2", "avx512f", "avx512vbmi", "vaes", "vpclmul", "sha", "sha512", "fma"] {
            assert!(withheld.has(name), "{name}");
        }
        for name in ["aes", "sse4.2", "bmi2", "gfni"] {
            assert!(!withheld.has(name), "{name}");
        }
        assert!(Withheld::without("avx512").unwrap().has("avx512bf16"));
        assert!(!Withheld::without("avx512").unwrap().has("avx2"));
        let error = Withheld::without("aes,aesni").unwrap_err();
        assert_eq!(error, UnknownName("aesni".into()));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_is_kept_keeps_its_ground() {
        let withheld = Withheld::with_only("vaes").unwrap();
        for name in ["aes", "avx", "sse4.2", "vaes"] {
            assert!(!withheld.has(name), "{name}");
        }
        for name in ["pclmul", "avx2", "avx512f", "sha"] {
            assert!(withheld.has(name), "{name}");
        }
    }
}
