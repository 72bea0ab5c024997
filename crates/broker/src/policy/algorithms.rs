//! The names of algorithms in a policy.

use millstream_cwq::{Algorithm, AlgorithmSet};

/// Returns the algorithms that a name stands for. A name that ends in `*` stands for all that begin with it.
pub(super) fn named(name: &str) -> Option<AlgorithmSet> {
    let is_meant = |each: &str| match name.strip_suffix('*') {
        Some(beginning) => each.starts_with(beginning),
        None => each == name,
    };
    let meant: AlgorithmSet =
        AlgorithmSet::all().iter().filter(|algorithm| is_meant(algorithm.name())).collect();
    (!meant.is_empty()).then_some(meant)
}

/// Returns all names, for a message.
pub(super) fn names() -> String {
    AlgorithmSet::all().iter().map(Algorithm::name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_its_name() {
        assert_eq!(named("*"), Some(AlgorithmSet::all()));
        for algorithm in AlgorithmSet::all().iter() {
            assert_eq!(named(algorithm.name()), Some([algorithm].into_iter().collect()));
        }
    }

    #[test]
    fn a_star_stands_for_all_that_begin_so() {
        assert_eq!(named("camellia-*").unwrap().len(), 3);
        assert_eq!(named("aes-gcm*").unwrap().len(), 2);
        assert_eq!(named("blowfish"), None);
        assert_eq!(named("blow*"), None);
    }
}
