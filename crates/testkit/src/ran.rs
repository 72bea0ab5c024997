//! The kernels that a test ran, and those that this machine could not run.

use std::collections::BTreeMap;

use millstream_cpu::{FeatureSet, Features};

/// An account of kernels run, printed when a test ends.
///
/// ```
/// let mut ran = millstream_testkit::Ran::new("aes-ctr");
/// for kernel in ["portable", "x86_64-aesni-by8"] {
///     ran.kernel(kernel);
/// }
/// ran.at_least(1);
/// ```
#[derive(Debug)]
pub struct Ran {
    what: &'static str,
    cases: BTreeMap<String, u64>,
}

impl Ran {
    /// An empty account.
    pub fn new(what: &'static str) -> Self {
        Ran { what, cases: BTreeMap::new() }
    }

    /// Counts one case run on a kernel.
    pub fn kernel(&mut self, name: &str) {
        *self.cases.entry(name.to_owned()).or_default() += 1;
    }

    /// Prints once which of `all` kernels this processor could not run.
    pub fn missing(&self, all: impl IntoIterator<Item = (&'static str, FeatureSet)>) {
        for (name, requires) in all {
            let lacking = requires.difference(Features::hardware().set());
            if !lacking.is_empty() {
                let interpreter = if cfg!(miri) { "miri: " } else { "" };
                skip(&format!("{interpreter}{}: kernel {name} needs {lacking}", self.what));
            }
        }
    }

    /// Prints the account and requires that this many kernels took part.
    ///
    /// # Panics
    /// When fewer did.
    pub fn at_least(&self, kernels: usize) {
        for (name, count) in &self.cases {
            println!("{}: {count} cases on {name}", self.what);
        }
        assert!(
            self.cases.len() >= kernels,
            "{}: {} kernels ran where {kernels} should have",
            self.what,
            self.cases.len()
        );
    }
}

/// Prints the one line that the pipeline counts for a test that can't run here, to standard error
/// so that the test harness does not swallow it.
pub fn skip(why: &str) {
    use std::io::Write;
    // Not eprintln!, which the harness captures.
    let _ = writeln!(std::io::stderr(), "SKIPPED {why}");
}

/// Kernels that Miri (nightly of May 2026) can't execute although their features are enabled, or not in a
/// reasonable time: algorithm, kernel, and what Miri lacks. Kernels with features that Miri does not know
/// (IFMA, SHA-512 rounds) are not listed, because those features are not enabled under it.
pub const MIRI_LACKS: &[(&str, &str, &str)] = &[
    ("md5", "x86_64-scalar", "asm!"),
    ("md5-lanes", "direct-x1", "asm! of the direct kernel"),
    ("sha1-lanes", "direct-x1", "sha1rnds4 of the direct kernel"),
    ("sha512-lanes", "direct-x1", "asm! of the direct kernel"),
    ("sha1", "x86_64-shani", "sha1rnds4"),
    ("sha1", "x86_64-avx2", "asm!"),
    ("sha256", "x86_64-avx2", "asm!"),
    ("sha512", "x86_64-avx512", "asm!"),
    ("sha512", "x86_64-avx2", "asm!"),
    ("kasumi-f8", "vartime-merged-tables", "minutes for its 131,072 table entries"),
];

/// Returns true when a kernel whose features exist can be executed: always on a processor, and under Miri
/// unless it is one of [`MIRI_LACKS`], which a `SKIPPED` line reports.
pub fn executes(algorithm: &str, kernel: &str) -> bool {
    let lacking = MIRI_LACKS.iter().find(|lacks| cfg!(miri) && (lacks.0, lacks.1) == (algorithm, kernel));
    if let Some((_, _, what)) = lacking {
        skip(&format!("miri: {algorithm}: kernel {kernel} needs {what}"));
    }
    lacking.is_none()
}

/// Returns every subset of the features that any of the kernels requires and this processor has. The choice
/// of a kernel can differ only between these.
pub fn feature_subsets(requirements: impl IntoIterator<Item = FeatureSet>) -> Vec<Features> {
    let all = requirements.into_iter().fold(FeatureSet::EMPTY, FeatureSet::union);
    let features: Vec<_> = all.intersection(Features::hardware().set()).iter().collect();
    let mut subsets: Vec<Features> = (0..1u32 << features.len())
        .map(|bits| {
            let off = features.iter().enumerate().filter(|(i, _)| bits >> i & 1 == 1);
            Features::hardware().without(off.fold(FeatureSet::EMPTY, |set, (_, &f)| set.union(f.into())))
        })
        .collect();
    subsets.sort_by_key(|f| format!("{:?}", f.set()));
    subsets.dedup();
    subsets
}
