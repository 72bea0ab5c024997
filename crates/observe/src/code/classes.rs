//! The classes of instructions that are searched for.
//!
//! Ref. Intel SDM volume 2; VIA PadLock Programming Guide.

use std::fmt;
use std::sync::LazyLock;

use iced_x86::{Code, CpuidFeature, Instruction, Mnemonic};

/// The significance of an instruction that a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The instruction was made for ciphers or hashes. A random generator or a hash table may still have run
    /// it.
    Cryptography,
    /// The instruction serves arithmetic with long numbers, which public keys need, and other programs too.
    LongNumbers,
    /// The instruction serves checksums, or byte transformations of any kind.
    General,
    /// The instruction returns random numbers.
    Randomness,
}

macro_rules! classes {
    ($($variant:ident $name:literal $label:literal $meaning:ident)*) => {
        /// One class of instructions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Class {
            $(#[doc = $label] $variant,)*
        }

        impl Class {
            /// All classes, in the order of reports.
            pub const ALL: &[Class] = &[$(Class::$variant,)*];

            /// Returns the name that `millstream caps` uses.
            pub const fn name(self) -> &'static str {
                match self { $(Class::$variant => $name,)* }
            }

            /// Returns the description for people.
            pub const fn label(self) -> &'static str {
                match self { $(Class::$variant => $label,)* }
            }

            /// Returns the significance of instructions of this class.
            pub const fn meaning(self) -> Meaning {
                match self { $(Class::$variant => Meaning::$meaning,)* }
            }
        }
    };
}

classes! {
    Aes "aes" "AES rounds" Cryptography
    Vaes "vaes" "AES rounds at 256 and 512 bits" Cryptography
    Pclmul "pclmul" "carry-less multiply" Cryptography
    Vpclmul "vpclmul" "carry-less multiply at 256 and 512 bits" Cryptography
    Sha "sha" "SHA-1 and SHA-256 rounds" Cryptography
    Sha512 "sha512" "SHA-512 rounds" Cryptography
    Sm3 "sm3" "SM3 rounds" Cryptography
    Sm4 "sm4" "SM4 rounds" Cryptography
    Keylocker "keylocker" "AES with wrapped keys" Cryptography
    Padlock "padlock" "VIA's and Zhaoxin's ciphers and hashes" Cryptography
    Gfni "gfni" "GF(2^8) transforms" General
    Crc32 "crc32" "CRC32c steps" General
    Ifma "avx512ifma" "52-bit multiply-add" LongNumbers
    Adx "adx" "two carry chains" LongNumbers
    Mulx "bmi2" "MULX" LongNumbers
    Rdrand "rdrand" "random numbers" Randomness
}

impl Class {
    /// Returns true for classes that were made for ciphers or hashes. The others are hints at most.
    pub const fn is_proof(self) -> bool {
        matches!(self.meaning(), Meaning::Cryptography)
    }

    /// Returns the classes that are AES.
    pub const fn aes_rounds() -> Classes {
        let mut classes = Classes::NONE;
        classes.insert(Class::Aes);
        classes.insert(Class::Vaes);
        classes
    }

    /// Returns the classes that this processor lacks.
    pub fn lacking() -> Classes {
        let here = crate::processor::capabilities();
        let lacks = |class: &Class| !match class {
            Class::Crc32 => here.has("sse4.2"),
            Class::Ifma => here.has("avx512ifma") || here.has("avxifma"),
            Class::Rdrand => here.has("rdrand") || here.has("rdseed"),
            class => here.has(class.name()),
        };
        Class::ALL.iter().copied().filter(lacks).collect()
    }

    /// Returns the class of an instruction, if it has one.
    pub fn of(instruction: &Instruction) -> Option<Class> {
        BY_CODE[instruction.code() as usize]
    }

    fn of_code(code: Code) -> Option<Class> {
        // The feature beyond AVX decides: VAESENC at 128 bits needs AES and AVX.
        code.cpuid_features().iter().find_map(|feature| Class::of_feature(*feature, code.mnemonic()))
    }

    fn of_feature(feature: CpuidFeature, mnemonic: Mnemonic) -> Option<Class> {
        Some(match feature {
            CpuidFeature::AES => Class::Aes,
            CpuidFeature::VAES => Class::Vaes,
            CpuidFeature::PCLMULQDQ => Class::Pclmul,
            CpuidFeature::VPCLMULQDQ => Class::Vpclmul,
            CpuidFeature::SHA => Class::Sha,
            CpuidFeature::SHA512 => Class::Sha512,
            CpuidFeature::SM3 => Class::Sm3,
            CpuidFeature::SM4 => Class::Sm4,
            CpuidFeature::GFNI => Class::Gfni,
            CpuidFeature::AVX512_IFMA | CpuidFeature::AVX_IFMA => Class::Ifma,
            CpuidFeature::ADX => Class::Adx,
            CpuidFeature::BMI2 if mnemonic == Mnemonic::Mulx => Class::Mulx,
            CpuidFeature::SSE4_2 if mnemonic == Mnemonic::Crc32 => Class::Crc32,
            CpuidFeature::AESKLE | CpuidFeature::WIDE_KL => Class::Keylocker,
            CpuidFeature::PADLOCK_ACE
            | CpuidFeature::PADLOCK_PHE
            | CpuidFeature::PADLOCK_PMM
            | CpuidFeature::PADLOCK_GMI
            | CpuidFeature::PADLOCK_RNG => Class::Padlock,
            CpuidFeature::RDRAND | CpuidFeature::RDSEED => Class::Rdrand,
            _ => return None,
        })
    }
}

/// The class of each of the decoder's codes.
static BY_CODE: LazyLock<Vec<Option<Class>>> = LazyLock::new(|| Code::values().map(Class::of_code).collect());

/// A set of [`Class`]es.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Classes(u32);

impl Classes {
    /// The empty set.
    pub const NONE: Classes = Classes(0);

    /// Returns the classes in either set.
    #[must_use]
    pub const fn union(self, other: Classes) -> Classes {
        Classes(self.0 | other.0)
    }

    /// Returns the classes in both sets.
    #[must_use]
    pub const fn intersection(self, other: Classes) -> Classes {
        Classes(self.0 & other.0)
    }

    /// Returns the classes in this set but not in the other.
    #[must_use]
    pub const fn difference(self, other: Classes) -> Classes {
        Classes(self.0 & !other.0)
    }

    /// Inserts a class.
    pub const fn insert(&mut self, class: Class) {
        self.0 |= 1 << class as u32;
    }

    /// Returns true when a class is in the set.
    pub const fn has(self, class: Class) -> bool {
        self.0 >> class as u32 & 1 == 1
    }

    /// Returns true for the empty set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true when the set has a class that was made for ciphers or hashes.
    pub fn is_proof(self) -> bool {
        self.iter().any(Class::is_proof)
    }

    /// Returns the classes in the set, in the order of reports.
    pub fn iter(self) -> impl Iterator<Item = Class> {
        Class::ALL.iter().copied().filter(move |class| self.has(*class))
    }
}

impl From<Class> for Classes {
    fn from(class: Class) -> Classes {
        let mut classes = Classes::NONE;
        classes.insert(class);
        classes
    }
}

impl FromIterator<Class> for Classes {
    fn from_iter<I: IntoIterator<Item = Class>>(classes: I) -> Classes {
        classes.into_iter().fold(Classes::NONE, |set, class| set.union(class.into()))
    }
}

/// Writes the names, separated by blanks.
impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, class) in self.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(class.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Classes({self})")
    }
}

/// The number of instructions of each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Counts([u32; Class::ALL.len()]);

impl Counts {
    /// Counts one more instruction of a class.
    pub const fn add(&mut self, class: Class) {
        let count = &mut self.0[class as usize];
        *count = count.saturating_add(1);
    }

    /// Sets the number of instructions of a class.
    pub(super) const fn set(&mut self, class: Class, count: u32) {
        self.0[class as usize] = count;
    }

    /// Returns the number of instructions of a class.
    pub const fn of(&self, class: Class) -> u32 {
        self.0[class as usize]
    }

    /// Returns the number of all instructions.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|count| u64::from(*count)).sum()
    }

    /// Returns the classes with at least one instruction, each with its number.
    pub fn iter(&self) -> impl Iterator<Item = (Class, u32)> {
        Class::ALL.iter().map(|class| (*class, self.of(*class))).filter(|(_, count)| *count > 0)
    }

    /// Adds another count.
    pub fn merge(&mut self, other: &Counts) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_decides_between_aes_and_vaes() {
        for (code, class) in [
            (Code::Aesenc_xmm_xmmm128, Class::Aes),
            (Code::VEX_Vaesenc_xmm_xmm_xmmm128, Class::Aes),
            (Code::VEX_Vaesenc_ymm_ymm_ymmm256, Class::Vaes),
            (Code::EVEX_Vaesenc_xmm_xmm_xmmm128, Class::Vaes),
            (Code::VEX_Vpclmulqdq_xmm_xmm_xmmm128_imm8, Class::Pclmul),
            (Code::EVEX_Vpclmulqdq_zmm_zmm_zmmm512_imm8, Class::Vpclmul),
            (Code::VEX_Vgf2p8mulb_xmm_xmm_xmmm128, Class::Gfni),
            (Code::VEX_Mulx_r64_r64_rm64, Class::Mulx),
        ] {
            assert_eq!(Class::of_code(code), Some(class), "{code:?}");
        }
        assert_eq!(Class::of_code(Code::VEX_Pdep_r64_r64_rm64), None);
        assert_eq!(Class::of_code(Code::Pcmpestri_xmm_xmmm128_imm8), None);
    }

    #[test]
    fn every_class_has_an_instruction() {
        for class in Class::ALL {
            assert!(BY_CODE.contains(&Some(*class)), "{class:?}");
        }
    }
}
