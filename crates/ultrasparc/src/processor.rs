//! The processors, what each of them has, and what its operating systems said about it.

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

    /// What its instruction set has.
    #[must_use]
    pub fn features(self) -> Features {
        use Feature as F;
        let base = Features::of(&[F::V9, F::Vis]);
        let t1 = base.with(&[F::Popc, F::AsiBlkInit]);
        let t2 = t1.with(&[F::Vis2]);
        let t3 = t2.with(&[F::Fmaf, F::Vis3, F::Hpc]);
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
            F::Pause,
            F::Cbcond,
        ];
        match self {
            Processor::UltraSparc2 => base,
            Processor::T1 => t1,
            Processor::T2 => t2,
            Processor::T3 => t3,
            Processor::T4 => t3.with(&t4),
        }
    }
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

    /// Whether the feature is in the set.
    #[must_use]
    pub const fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u8 & 1 != 0
    }
}
