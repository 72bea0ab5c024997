//! The processors, the features of each, and the words with which its operating systems described them.

use std::fmt;
use std::str::FromStr;

/// A processor of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Processor {
    /// UltraSPARC II (1997): V9 and VIS 1.
    UltraSparc2,
    /// UltraSPARC T1 (2005): a modular arithmetic unit beside each core.
    T1,
    /// UltraSPARC T2 (2007): the control word queue.
    T2,
    /// SPARC T3, Rainbow Falls (2010): the fast path, VIS 3.
    T3,
    /// SPARC T4 (2011): crypto as unprivileged instructions.
    T4,
}

impl Processor {
    /// All of them, the oldest first.
    pub const ALL: [Processor; 5] =
        [Processor::UltraSparc2, Processor::T1, Processor::T2, Processor::T3, Processor::T4];

    /// The name that `--cpu` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Processor::UltraSparc2 => "ultrasparc2",
            Processor::T1 => "t1",
            Processor::T2 => "t2",
            Processor::T3 => "t3",
            Processor::T4 => "t4",
        }
    }

    /// Returns the features of its instruction set.
    #[must_use]
    pub fn features(self) -> Features {
        use Feature as F;
        let base = Features::of(&[F::V9, F::Vis]);
        // The T1 itself has only block initialisation of these, and its kernels emulate the rest.
        let t1 = base.with(&[F::Popc, F::AsiBlkInit, F::Vis2]);
        let t3 = t1.with(&[F::Fmaf, F::Vis3, F::Hpc]);
        let t4 = [
            F::Aes,
            F::Des,
            F::Kasumi,
            F::Camellia,
            F::Md5,
            F::Sha1,
            F::Sha256,
            F::Sha512,
            F::Mpmul,
            F::Montmul,
            F::Montsqr,
            F::Crc32c,
            F::Ima,
            F::Pause,
            F::Cbcond,
        ];
        match self {
            Processor::UltraSparc2 => base,
            Processor::T1 | Processor::T2 => t1,
            Processor::T3 => t3,
            Processor::T4 => t3.with(&t4),
        }
    }
}

/// The name and bits by which operating systems know a feature.
struct Capability {
    /// Solaris's name for it, as `isainfo` shows it and `LD_HWCAP` took it.
    name: &'static str,
    /// The parts it stands for.
    features: &'static [Feature],
    /// The bit in Solaris's first word of hardware capabilities.
    solaris: u32,
    /// The bit in Linux's `AT_HWCAP`.
    linux: u64,
}

const fn capability(
    name: &'static str,
    features: &'static [Feature],
    solaris_bit: u32,
    linux: u64,
) -> Capability {
    Capability { name, features, solaris: 1 << solaris_bit, linux }
}

/// Linux's bit for crypto instructions, of which `%cfr` says more.
const LINUX_CRYPTO: u64 = 0x400_0000;

/// The features that Solaris names, by its bits. Its `mont` stands for two instructions. Ref. `ELF_SPARC_HWCAP_*` of
/// binutils' `include/elf/sparc.h`; `HWCAP_SPARC_*` of Linux's `arch/sparc/include/asm/elf_64.h`.
const CAPABILITIES: &[Capability] = &[
    capability("popc", &[Feature::Popc], 4, 0x1000),
    capability("vis", &[Feature::Vis], 5, 0x2000),
    capability("vis2", &[Feature::Vis2], 6, 0x4000),
    capability("asi_blk_init", &[Feature::AsiBlkInit], 7, 0x8000),
    capability("fmaf", &[Feature::Fmaf], 8, 0x1_0000),
    capability("vis3", &[Feature::Vis3], 10, 0x2_0000),
    capability("hpc", &[Feature::Hpc], 11, 0x4_0000),
    capability("ima", &[Feature::Ima], 15, 0x40_0000),
    capability("aes", &[Feature::Aes], 17, LINUX_CRYPTO),
    capability("des", &[Feature::Des], 18, LINUX_CRYPTO),
    capability("kasumi", &[Feature::Kasumi], 19, LINUX_CRYPTO),
    capability("camellia", &[Feature::Camellia], 20, LINUX_CRYPTO),
    capability("md5", &[Feature::Md5], 21, LINUX_CRYPTO),
    capability("sha1", &[Feature::Sha1], 22, LINUX_CRYPTO),
    capability("sha256", &[Feature::Sha256], 23, LINUX_CRYPTO),
    capability("sha512", &[Feature::Sha512], 24, LINUX_CRYPTO),
    capability("mpmul", &[Feature::Mpmul], 25, LINUX_CRYPTO),
    capability("mont", &[Feature::Montmul, Feature::Montsqr], 26, LINUX_CRYPTO),
    capability("pause", &[Feature::Pause], 27, 0x100_0000),
    capability("cbcond", &[Feature::Cbcond], 28, 0x200_0000),
    capability("crc32c", &[Feature::Crc32c], 29, LINUX_CRYPTO),
];

/// Solaris's bits for 32-bit programs alone, with their names: `v8plus`, `div32`, `mul32`.
const OF_32_BITS: [(&str, u32); 3] = [("v8plus", 8), ("div32", 2), ("mul32", 1)];

/// The longest line of `isainfo`.
const LINE: usize = 80;

impl Processor {
    /// Returns the value that Linux puts into `AT_HWCAP` for this processor with these features.
    ///
    /// ```
    /// use millstream_ultrasparc::processor::Processor;
    ///
    /// let t4 = Processor::T4.linux_hwcap(Processor::T4.features());
    /// assert_ne!(t4 & 0x400_0000, 0, "the T4 has crypto instructions");
    /// ```
    #[must_use]
    pub fn linux_hwcap(self, features: Features) -> u64 {
        // FLUSH, STBAR, SWAP, MULDIV and V9, and the features of every processor that executes V8+.
        const ALWAYS: u64 = 0x1f;
        const MUL32_DIV32_V8PLUS: u64 = 0xb00;
        const BLKINIT: u64 = 0x40;
        const N2: u64 = 0x80;
        let chip = match self {
            Processor::UltraSparc2 => 0,
            Processor::T1 => BLKINIT,
            Processor::T2 | Processor::T3 | Processor::T4 => BLKINIT | N2,
        };
        // The C library's memory functions for a chip store blocks without reading them.
        let chip = if features.has(Feature::AsiBlkInit) { chip } else { 0 };
        self.present(features)
            .fold(ALWAYS | MUL32_DIV32_V8PLUS | chip, |bits, capability| bits | capability.linux)
    }

    /// Solaris's first word of hardware capabilities, for programs of 64 or of 32 bits.
    #[must_use]
    pub fn solaris_hwcap(self, features: Features, of_64_bits: bool) -> u32 {
        let more = if of_64_bits { 0 } else { OF_32_BITS.iter().fold(0, |bits, (_, bit)| bits | bit) };
        self.present(features).fold(more, |bits, capability| bits | capability.solaris)
    }

    /// Returns the output of `isainfo -v`.
    #[must_use]
    pub fn isainfo(self, features: Features) -> String {
        let names: Vec<_> = self.present(features).map(|capability| capability.name).collect();
        let names: Vec<_> = names.into_iter().rev().collect();
        let of_32_bits: Vec<_> = names.iter().copied().chain(OF_32_BITS.map(|(name, _)| name)).collect();
        format!(
            "64-bit sparcv9 applications\n{}32-bit sparc applications\n{}",
            lines(&names),
            lines(&of_32_bits)
        )
    }

    /// Returns the capabilities all of whose parts are there, by Solaris's bits. Of a T1 both systems told its own
    /// features, not those that they emulate. Ref. illumos' `niagara.c`; Linux's `mdesc_cpu_hwcap_list` and
    /// `init_sparc64_elf_hwcap`.
    fn present(self, features: Features) -> impl Iterator<Item = &'static Capability> {
        let emulated =
            move |capability: &Capability| self == Processor::T1 && capability.name != "asi_blk_init";
        let complete =
            move |capability: &Capability| capability.features.iter().all(|&part| features.has(part));
        CAPABILITIES.iter().filter(move |capability| complete(capability) && !emulated(capability))
    }

    /// Ticks of its clock in a second, which `%tick` counts.
    #[must_use]
    pub fn clock_hz(self) -> u64 {
        match self {
            Processor::UltraSparc2 => 450_000_000,
            Processor::T1 => 1_200_000_000,
            Processor::T2 => 1_400_000_000,
            Processor::T3 => 1_650_000_000,
            Processor::T4 => 2_850_000_000,
        }
    }
}

/// Formats words in indented lines.
fn lines(words: &[&str]) -> String {
    let mut text = String::new();
    let mut line = String::new();
    for word in words {
        if !line.is_empty() && line.len() + 1 + word.len() > LINE {
            text += &line;
            text.push('\n');
            line.clear();
        }
        line += if line.is_empty() { "        " } else { " " };
        line += word;
    }
    if !line.is_empty() {
        text += &line;
        text.push('\n');
    }
    text
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Processor {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Processor::ALL.into_iter().find(|processor| processor.name() == name);
        found.ok_or_else(|| format!("no processor {name:?}: ultrasparc2, t1, t2, t3 or t4"))
    }
}

/// A part of the instruction set that not every processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Feature {
    V9,
    Popc,
    Vis,
    Vis2,
    AsiBlkInit,
    Fmaf,
    Vis3,
    Hpc,
    Aes,
    Des,
    Kasumi,
    Camellia,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Mpmul,
    Montmul,
    Montsqr,
    Crc32c,
    Ima,
    Pause,
    Cbcond,
}

/// A set of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    /// The set of these.
    #[must_use]
    pub const fn of(features: &[Feature]) -> Features {
        Features(0).with(features)
    }

    /// This set and these.
    #[must_use]
    pub const fn with(self, features: &[Feature]) -> Features {
        let (mut bits, mut i) = (self.0, 0);
        while i < features.len() {
            bits |= 1 << features[i] as u8;
            i += 1;
        }
        Features(bits)
    }

    /// This set without that feature.
    #[must_use]
    pub const fn without(self, feature: Feature) -> Features {
        Features(self.0 & !(1 << feature as u8))
    }

    /// Returns true if the feature is in the set.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u8 & 1 != 0
    }

    /// Returns this set without the features that `removed` names: Solaris's names with a minus before each, as
    /// `LD_HWCAP` took them.
    ///
    /// ```
    /// use millstream_ultrasparc::processor::{Feature, Processor};
    ///
    /// let features = Processor::T4.features().removing("-aes -mont")?;
    /// assert!(!features.has(Feature::Aes) && !features.has(Feature::Montsqr) && features.has(Feature::Des));
    /// # Ok::<(), String>(())
    /// ```
    ///
    /// # Errors
    /// A word without a minus, or an unknown name. The text lists the known ones.
    pub fn removing(self, removed: &str) -> Result<Features, String> {
        removed.split([' ', ',']).filter(|word| !word.is_empty()).try_fold(self, |features, word| {
            let name = word.strip_prefix('-').ok_or_else(|| {
                format!("{word:?} is not taken away: write a minus before it, as in \"-aes -des\"")
            })?;
            let known = CAPABILITIES.iter().find(|capability| capability.name == name);
            let known = known.map(|capability| capability.features).or_else(|| other_name(name)).ok_or_else(
                || {
                    let names: Vec<_> = CAPABILITIES.iter().map(|capability| capability.name).collect();
                    format!("no capability {name:?}: {}", names.join(" "))
                },
            )?;
            Ok(known.iter().fold(features, |features, &part| features.without(part)))
        })
    }
}

/// Returns the features of a name beside Solaris's own: the link editor's for block initialisation, and Linux's for the
/// two instructions of `mont`.
fn other_name(name: &str) -> Option<&'static [Feature]> {
    match name {
        "ASIBlkInit" => Some(&[Feature::AsiBlkInit]),
        "montmul" => Some(&[Feature::Montmul]),
        "montsqr" => Some(&[Feature::Montsqr]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solaris_words_are_those_that_are_known() {
        let t4 = Processor::T4;
        assert_eq!(t4.solaris_hwcap(t4.features(), true), 0x3ffe_8df0);
        assert_eq!(t4.solaris_hwcap(t4.features(), false), 0x3ffe_8dfb);
    }

    #[test]
    fn isainfo_lists_from_the_highest_bit_down() {
        let expected = "64-bit sparcv9 applications
        crc32c cbcond pause mont mpmul sha512 sha256 sha1 md5 camellia kasumi
        des aes ima hpc vis3 fmaf asi_blk_init vis2 vis popc
32-bit sparc applications
        crc32c cbcond pause mont mpmul sha512 sha256 sha1 md5 camellia kasumi
        des aes ima hpc vis3 fmaf asi_blk_init vis2 vis popc v8plus div32 mul32
";
        assert_eq!(Processor::T4.isainfo(Processor::T4.features()), expected);
        let t2 = Processor::T2.isainfo(Processor::T2.features());
        assert!(t2.starts_with("64-bit sparcv9 applications\n        asi_blk_init vis2 vis popc\n"), "{t2}");
        let t1 = Processor::T1.isainfo(Processor::T1.features());
        assert!(t1.starts_with("64-bit sparcv9 applications\n        asi_blk_init\n"), "{t1}");
    }

    #[test]
    fn linux_says_which_processor_it_is() {
        let hwcap = |processor: Processor| processor.linux_hwcap(processor.features());
        assert_eq!(hwcap(Processor::T4), 0x747_fbdf);
        assert_eq!(hwcap(Processor::UltraSparc2), 0x2b1f);
        assert_eq!(hwcap(Processor::T1) & 0xf0c0, 0x8040);
        assert_eq!(hwcap(Processor::T3) & 0x400_0000, 0);
    }

    #[test]
    fn what_is_removed_is_gone_from_everywhere() {
        let all = "-aes -des -kasumi -camellia -md5 -sha1 -sha256 -sha512 -mont -mpmul -crc32c";
        let features = Processor::T4.features().removing(all).unwrap();
        assert_eq!(Processor::T4.linux_hwcap(features) & LINUX_CRYPTO, 0);
        assert_eq!(Processor::T4.solaris_hwcap(features, true) >> 17 & 0x13ff, 0);
        assert!(Processor::T4.features().removing("aes").unwrap_err().contains("minus"));
        assert!(Processor::T4.features().removing("-eas").unwrap_err().contains("popc vis vis2"));
    }
}
