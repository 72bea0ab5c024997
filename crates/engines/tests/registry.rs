//! Every engine through the registry: names, known answers, and every feature subset.

use std::collections::BTreeSet;

use millstream_cpu::Features;
use millstream_engines::{Timing, engines};
#[cfg(target_arch = "x86_64")]
use millstream_testkit::MIRI_LACKS;
use millstream_testkit::{Ran, feature_subsets};

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
            let tiers = ["portable", "x86_64-", "aarch64-", "vartime-", "direct-"];
            assert!(
                tiers.iter().any(|tier| kernel.name.starts_with(tier)),
                "{}: {}",
                algorithm.name,
                kernel.name
            );
        }
    }
    // One for each algorithm and mode that the project offers.
    let all = [
        "aes-ecb",
        "aes-cbc",
        "aes-ctr",
        "aes-cfb128",
        "aes-gcm",
        "polyval",
        "aes-xts",
        "aes-cmac",
        "aes-cbc-lanes",
        "aes-ctr-lanes",
        "aes-cfb128-lanes",
        "aes-cmac-lanes",
        "tls-aes-cbc-hmac",
        "chacha20-poly1305",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "shake128",
        "keccak-f1600",
        "md5",
        "camellia-ecb",
        "camellia-cbc",
        "camellia-ctr",
        "sm4-ecb",
        "sm4-cbc",
        "sm4-ctr",
        "des-ecb",
        "des-cbc",
        "des-cfb64",
        "3des-ecb",
        "3des-cbc",
        "3des-cfb64",
        "rc4",
        "kasumi-f8",
        "kasumi-f9",
        "crc-32",
        "crc32c",
        "ip-checksum",
        "md5-lanes",
        "sha1-lanes",
        "sha256-lanes",
        "sha512-lanes",
        "sha3-224-lanes",
        "sha3-256-lanes",
        "sha3-384-lanes",
        "sha3-512-lanes",
    ];
    for name in all {
        assert!(names.contains(name), "{name} is not in the registry; it has {names:?}");
    }
}

/// So that a kernel renamed is not left out under Miri by its old name, or run by its new one.
#[cfg(target_arch = "x86_64")]
#[test]
fn what_miri_lacks_is_in_the_registry() {
    for (algorithm, kernel, _) in MIRI_LACKS {
        let engine = engines().iter().find(|engine| engine.algorithm().name == *algorithm).unwrap();
        assert!(engine.kernels().iter().any(|k| k.name == *kernel), "{algorithm} has no {kernel}");
    }
}

#[test]
fn every_kernel_gives_its_known_answer() {
    let mut ran = Ran::new("known answers");
    for engine in engines() {
        let mut run_here = 0;
        for kernel in engine.kernels() {
            match engine.check(Features::hardware(), kernel.name) {
                Some(right) => assert!(right, "{} on {} is wrong", engine.algorithm().name, kernel.name),
                None => continue,
            }
            run_here += 1;
            ran.kernel(kernel.name);
        }
        assert!(run_here > 0, "{} ran nowhere", engine.algorithm().name);
        ran.missing(engine.kernels().iter().map(|k| (k.name, k.requires)));
    }
    ran.at_least(1);
}

#[test]
fn every_feature_subset_binds_a_right_and_constant_time_kernel() {
    for engine in engines() {
        for features in feature_subsets(engine.kernels().iter().map(|k| k.requires)) {
            let chosen = engine.chosen(features);
            assert!(features.contains(chosen.requires));
            assert_ne!(chosen.timing, Timing::Variable, "{}", engine.algorithm().name);
            assert_eq!(
                engine.check(features, chosen.name),
                Some(true),
                "{} on {} under {:?}",
                engine.algorithm().name,
                chosen.name,
                features.set()
            );
        }
    }
}
