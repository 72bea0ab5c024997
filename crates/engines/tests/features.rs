//! No row of a table reaches a function that is compiled for features which the row does not require.
//!
//! On a processor that has everything no run can show such a fault, so this test reads the sources. Each mention of a name
//! counts as a call. Generic text is reached through the types that it is instantiated with: a function that names a type
//! is taken to call all that is implemented for it.

mod source_items;

use std::path::Path;

use millstream_cpu::{Feature, FeatureSet};
use source_items::Sources;

/// The features with all that they depend on.
fn closure(mut set: FeatureSet) -> FeatureSet {
    loop {
        let more = set.iter().fold(set, |more, feature| more.union(feature.depends_on()));
        if more == set {
            return set;
        }
        set = more;
    }
}

/// What the compiler may use in a function with these features: to it VAES implies AVX2.
fn compiled_for(set: FeatureSet) -> FeatureSet {
    let set = closure(set);
    if set.contains(Feature::Vaes.into()) { closure(set.union(Feature::Avx2.into())) } else { set }
}

/// What is compiled for more than is required of those who reach it.
fn faults(sources: &Sources) -> (usize, Vec<String>) {
    let (mut checked, mut faults) = (0, Vec::new());
    let mut check = |who: String, requires: FeatureSet, reached: Vec<(String, FeatureSet)>| {
        checked += reached.len();
        let allowed = closure(requires);
        for (whom, enabled) in reached {
            let beyond = compiled_for(enabled).difference(allowed);
            if !beyond.is_empty() {
                faults.push(format!("{who} requires {requires}, but reaches {whom}, which has {beyond} too"));
            }
        }
    };
    for row in sources.rows() {
        check(row.place, row.requires, row.reached);
    }
    for function in sources.functions() {
        check(function.place, function.requires, function.reached);
    }
    (checked, faults)
}

#[test]
fn no_row_reaches_more_than_it_requires() {
    let sources = Sources::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let (checked, faults) = faults(&sources);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(checked > 300, "only {checked} calls were found");
    assert!(sources.rows().len() > 40, "only {} rows were found", sources.rows().len());
}

/// A table with a row, and the file of its tier.
fn example(requires: &str, enabled: &str) -> Sources {
    let table = format!(
        "static ROWS: &[Row<Ops>] = &[Row {{ kernel: Kernel {{ requires: FeatureSet::parse(\"{requires}\") }}, \
         ops: arch::tier::OPS }}];"
    );
    let tier = format!(
        "use super::other::{{self, helper as help}};\npub const OPS: Ops = Ops {{ run: all::<Wide> }};\n\
         impl Vector for Wide {{ fn add(self) {{ help(other::deep) }} }}\n\
         #[target_feature(enable = \"{enabled}\")]\nfn unused() {{}}"
    );
    let other = format!("fn helper() {{}}\n#[target_feature(enable = \"{enabled}\")]\nunsafe fn deep() {{}}");
    Sources::of(&[("e/mod", &table), ("e/arch/mod", ""), ("e/arch/tier", &tier), ("e/arch/other", &other)])
}

#[test]
fn a_row_that_requires_too_little_is_found() {
    for (requires, enabled) in [("avx2", "avx2"), ("avx512bw", "avx2,avx512f"), ("vaes,avx2", "vaes,sse2")] {
        assert_eq!(faults(&example(requires, enabled)).1, Vec::<String>::new(), "{requires} {enabled}");
    }
    for (requires, enabled) in [("avx", "avx2"), ("avx512f", "avx512f,avx512bw"), ("vaes", "vaes")] {
        assert_eq!(faults(&example(requires, enabled)).1.len(), 1, "{requires} {enabled}");
    }
}

#[test]
fn a_function_that_reaches_more_than_its_own_is_found() {
    let tier = "#[target_feature(enable = \"avx2\")]\nfn outer() { middle() }\nfn middle() { inner() }\n\
                #[target_feature(enable = \"avx2,bmi2\")]\nfn inner() {}";
    let sources = Sources::of(&[("e/arch/mod", ""), ("e/arch/tier", tier)]);
    assert_eq!(faults(&sources).1.len(), 1);
}
