//! Every engine through the registry: names and known answers.

use std::collections::BTreeSet;

use millstream_cpu::Features;
use millstream_publickey::engines;
use millstream_testkit::Ran;

#[test]
fn names_are_unique_and_say_their_tier() {
    let mut names = BTreeSet::new();
    for engine in engines() {
        let algorithm = engine.algorithm();
        assert!(names.insert(algorithm.name), "{} is listed twice", algorithm.name);
        assert!(!algorithm.standard.is_empty(), "{} names no standard", algorithm.name);
        let mut kernels = BTreeSet::new();
        for kernel in engine.kernels() {
            assert!(kernels.insert(kernel.name), "{} has {} twice", algorithm.name, kernel.name);
            assert!(!kernel.note.is_empty(), "{} {} has no note", algorithm.name, kernel.name);
            let tiers = ["portable", "x86_64-", "aarch64-", "direct-"];
            assert!(tiers.iter().any(|tier| kernel.name.starts_with(tier)), "{}", kernel.name);
        }
    }
}

#[test]
fn every_row_gives_its_known_answer() {
    for engine in engines() {
        let mut ran = Ran::new(engine.algorithm().name);
        for kernel in engine.kernels() {
            match engine.check(Features::hardware(), kernel.name) {
                Some(right) => assert!(right, "{} {}", engine.algorithm().name, kernel.name),
                None => continue,
            }
            ran.kernel(kernel.name);
        }
        ran.missing(engine.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
        ran.at_least(1);
    }
}
