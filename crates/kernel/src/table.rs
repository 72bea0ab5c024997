//! Kernels, the tables that hold them, and the one way by which a kernel is bound.
//!
//! # Safety
//! A row's functions may need processor features; they are `unsafe fn` for that reason. A
//! [`Bound`] is made in one place, `Table::bind`, which checks the row's requirements against a
//! [`Features`] value, itself proof that the features exist. Holding a `Bound` is therefore the
//! witness that every call through it names in its `SAFETY` comment.

use std::fmt;

use millstream_cpu::{FeatureSet, Features};

/// The dependence of a kernel's time on keys or data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// No branch and no index depends on a secret.
    Constant,
    /// Table look-ups or branches depend on secrets. Such a kernel is never picked by default;
    /// it must be named.
    Variable,
    /// The same as `Variable`, but the algorithm has no other practical form (RC4), so the kernel is picked.
    VariableByNature,
}

/// The standing of an algorithm today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// In good use.
    Current,
    /// The algorithms of 3GPP radio.
    Telecom,
    /// Works, and should not be chosen for anything new.
    Legacy,
    /// A checksum: protects against accidents only.
    NotCryptographic,
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Standing::Current => "current",
            Standing::Telecom => "telecom",
            Standing::Legacy => "legacy",
            Standing::NotCryptographic => "not cryptographic",
        })
    }
}

/// Describes what an engine computes.
#[derive(Debug)]
pub struct AlgorithmInfo {
    /// The algorithm's name in lower case, as in `aes-gcm`.
    pub name: &'static str,
    /// The algorithm's standing today.
    pub standing: Standing,
    /// The standard that defines it, with its section.
    pub standard: &'static str,
    /// The key lengths it takes, in bits; empty where there is no key.
    pub key_bits: &'static [usize],
}

/// One implementation, for one processor tier.
#[derive(Debug)]
pub struct Kernel {
    /// `tier-byN` or `tier-xN`, as in `x86_64-vaes512-by32`; the tier is `portable` or begins
    /// with the architecture.
    pub name: &'static str,
    /// The features without which it can't run.
    pub requires: FeatureSet,
    /// The dependence of its time on secrets.
    pub timing: Timing,
    /// The reason for the kernel's design, in one line for people.
    pub note: &'static str,
}

/// A kernel and its functions.
#[derive(Debug)]
pub struct Row<T> {
    /// The description.
    pub kernel: Kernel,
    /// The functions, unsafe to call unless the features of `kernel.requires` are there.
    pub ops: T,
}

/// All kernels of one engine, best first.
pub struct Table<T: 'static> {
    /// The algorithm that all of them compute.
    pub algorithm: AlgorithmInfo,
    rows: &'static [Row<T>],
    known_answer: fn(Bound<T>) -> bool,
}

impl<T> Table<T> {
    /// Makes a table. `rows` has the fastest first, by committed measurement; the last row that can be picked must
    /// require nothing. `known_answer` computes one published vector with the kernel that it is given.
    ///
    /// # Panics
    /// At compile time, when no row runs everywhere.
    pub const fn new(
        algorithm: AlgorithmInfo,
        rows: &'static [Row<T>],
        known_answer: fn(Bound<T>) -> bool,
    ) -> Self {
        let mut i = 0;
        let mut portable = false;
        while i < rows.len() {
            let kernel = &rows[i].kernel;
            portable |= kernel.requires.is_empty() && !matches!(kernel.timing, Timing::Variable);
            i += 1;
        }
        assert!(portable, "every engine needs a kernel that runs everywhere");
        Table { algorithm, rows, known_answer }
    }

    /// The only place where a row becomes callable.
    fn bind(&'static self, row: &'static Row<T>, features: Features) -> Option<Bound<T>> {
        features.contains(row.kernel.requires).then_some(Bound { row })
    }

    /// The fastest kernel that `features` allow and whose time does not depend on secrets.
    pub fn best(&'static self, features: Features) -> Bound<T> {
        self.rows
            .iter()
            .filter(|row| row.kernel.timing != Timing::Variable)
            .find_map(|row| self.bind(row, features))
            .expect("Table::new checked that a kernel runs everywhere")
    }

    /// The kernel of that name, if `features` allow it.
    pub fn named(&'static self, features: Features, name: &str) -> Option<Bound<T>> {
        let row = self.rows.iter().find(|row| row.kernel.name == name)?;
        self.bind(row, features)
    }

    /// Every kernel that `features` allow, those with variable time too.
    pub fn available(&'static self, features: Features) -> impl Iterator<Item = Bound<T>> {
        self.rows.iter().filter_map(move |row| self.bind(row, features))
    }
}

/// Zeros behind a key's kernel, so that both together are a multiple of 16 bytes. Padding that the compiler inserts
/// would be copied along with the key, and with it whatever lay on the stack before.
pub type BesideKernel = [u8; 16 - size_of::<usize>()];

/// The same for keys that are multiples of a cache line.
pub type LineBesideKernel = [u8; 64 - size_of::<usize>()];

/// Does not build if a key has padding.
#[macro_export]
macro_rules! no_padding {
    ($key:ty: $($field:ty),+) => {
        const _: () = assert!(size_of::<$key>() == 0 $(+ size_of::<$field>())+);
    };
}

/// A kernel whose required features are known to exist.
pub struct Bound<T: 'static> {
    row: &'static Row<T>,
}

impl<T> Bound<T> {
    /// Returns the kernel's description.
    pub fn kernel(&self) -> &'static Kernel {
        &self.row.kernel
    }

    /// Returns the kernel's functions. The existence of `self` proves that the features which they require exist.
    #[inline(always)]
    pub fn ops(&self) -> &'static T {
        &self.row.ops
    }
}

impl<T> Clone for Bound<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Bound<T> {}

impl<T> fmt::Debug for Bound<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row.kernel.name)
    }
}

/// An engine as reports and self-tests see it.
pub trait Engine: Sync {
    /// Returns the algorithm's description.
    fn algorithm(&self) -> &'static AlgorithmInfo;
    /// Returns the kernels, best first.
    fn kernels(&self) -> Vec<&'static Kernel>;
    /// The kernel that is picked under `features`.
    fn chosen(&self, features: Features) -> &'static Kernel;
    /// Computes a published vector with the kernel of that name. Returns whether the answer was right, or nothing if
    /// there is no such kernel or `features` don't allow it.
    fn check(&self, features: Features, kernel: &str) -> Option<bool>;
}

/// A table is `'static` wherever it is used: each engine has one, as a `static`.
impl<T: Sync> Engine for &'static Table<T> {
    fn algorithm(&self) -> &'static AlgorithmInfo {
        &self.algorithm
    }

    fn kernels(&self) -> Vec<&'static Kernel> {
        self.rows.iter().map(|row| &row.kernel).collect()
    }

    fn chosen(&self, features: Features) -> &'static Kernel {
        self.best(features).kernel()
    }

    fn check(&self, features: Features, kernel: &str) -> Option<bool> {
        self.named(features, kernel).map(self.known_answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_cpu::Feature;

    const fn row(name: &'static str, requires: FeatureSet, timing: Timing) -> Row<u8> {
        Row { kernel: Kernel { name, requires, timing, note: "" }, ops: 0 }
    }

    static ROWS: &[Row<u8>] = &[
        row("vartime", FeatureSet::EMPTY, Timing::Variable),
        row("every-feature", FeatureSet::of(Feature::ALL), Timing::Constant),
        row("portable", FeatureSet::EMPTY, Timing::Constant),
    ];
    static TABLE: Table<u8> = Table::new(
        AlgorithmInfo { name: "test", standing: Standing::Current, standard: "none", key_bits: &[] },
        ROWS,
        |bound| *bound.ops() == 0,
    );

    #[test]
    fn best_needs_its_features_and_constant_time() {
        assert_eq!(TABLE.best(Features::none()).kernel().name, "portable");
        // No processor has the features of two architectures.
        assert_eq!(TABLE.best(Features::hardware()).kernel().name, "portable");
    }

    #[test]
    fn naming_reaches_variable_time_but_not_missing_features() {
        assert!(TABLE.named(Features::none(), "vartime").is_some());
        assert!(TABLE.named(Features::hardware(), "every-feature").is_none());
        assert_eq!((&TABLE).check(Features::none(), "portable"), Some(true));
        assert_eq!(TABLE.available(Features::none()).count(), 2);
    }
}
