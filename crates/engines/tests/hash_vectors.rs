//! MD5, SHA-1, SHA-2 and SHA-3 against the published vectors, on every kernel.
//!
//! Ref. RFC 1321 §A.5; NIST CAVP, "The Secure Hash Algorithm Validation System", §6, and "The Secure Hash Algorithm-3
//! Validation System", §6.

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, HashKernel, Hasher};
use millstream_engines::{Engine, md5, sha1, sha3, sha256, sha512};
use millstream_testkit::cavp::{self, Case};
use millstream_testkit::{Ran, executes, hex};

fn kernels(hash: Hash) -> Vec<HashKernel> {
    HashKernel::available(Features::hardware(), hash)
}

fn message(case: &Case) -> Vec<u8> {
    let bytes: usize = case["Len"].parse::<usize>().unwrap() / 8;
    hex(&case["Msg"])[..bytes].to_vec()
}

/// Runs a file of messages and digests; returns the number of cases.
fn run(hash: Hash, file: &str, ran: &mut Ran) -> usize {
    let cases: Vec<Case> = cavp::cases(file).into_iter().filter(|case| case.contains_key("MD")).collect();
    for kernel in kernels(hash) {
        for case in &cases {
            let digest = kernel.digest(&message(case));
            assert_eq!(*digest, *hex(&case["MD"]), "{kernel:?}, {file}, Len = {}", case["Len"]);
            ran.kernel(kernel.kernel().name);
        }
    }
    cases.len()
}

#[test]
fn published_messages() {
    for &(name, file, count) in cavp::HASHES {
        let hash = Hash::from_name(name).expect("the name of a hash");
        let mut ran = Ran::new(hash.name());
        assert_eq!(run(hash, &format!("hashes/{file}"), &mut ran), count, "{file}");
        ran.at_least(kernels(hash).len());
    }
}

/// SHAVS §6.4: each of 100 outputs is the end of a chain of 1000 digests of the last three.
#[test]
fn monte_carlo() {
    for (hash, file) in [
        (Hash::Sha1, "SHA1/SHA1Monte.rsp"),
        (Hash::Sha224, "SHA2/SHA224Monte.rsp"),
        (Hash::Sha256, "SHA2/SHA256Monte.rsp"),
        (Hash::Sha384, "SHA2/SHA384Monte.rsp"),
        (Hash::Sha512, "SHA2/SHA512Monte.rsp"),
        (Hash::Sha512_256, "SHA2/SHA512_256Monte.rsp"),
    ] {
        let cases = cavp::cases(&format!("hashes/{file}"));
        let seed = hex(&cases.iter().find_map(|case| case.get("Seed")).expect("a seed").clone());
        let expected: Vec<_> = cases.iter().filter_map(|case| case.get("MD")).collect();
        assert_eq!(expected.len(), 100, "{file}");
        for kernel in kernels(hash) {
            let mut seed = seed.clone();
            for (i, expected) in expected.iter().enumerate() {
                let mut message = seed.repeat(3);
                for _ in 0..1000 {
                    let digest = kernel.digest(&message);
                    message.drain(..seed.len());
                    message.extend_from_slice(&digest);
                }
                seed = message[2 * seed.len()..].to_vec();
                assert_eq!(seed, hex(expected), "{kernel:?}, {file}, COUNT = {i}");
            }
        }
    }
}

/// SHA3VS §6.2.3: each of 100 outputs is the end of a chain of 1000 digests of the last one.
#[test]
fn monte_carlo_of_sha3() {
    for (hash, file) in [
        (Hash::Sha3_224, "SHA3/SHA3_224Monte.rsp"),
        (Hash::Sha3_256, "SHA3/SHA3_256Monte.rsp"),
        (Hash::Sha3_384, "SHA3/SHA3_384Monte.rsp"),
        (Hash::Sha3_512, "SHA3/SHA3_512Monte.rsp"),
    ] {
        let cases = cavp::cases(&format!("hashes/{file}"));
        let seed = hex(&cases.iter().find_map(|case| case.get("Seed")).expect("a seed").clone());
        let expected: Vec<_> = cases.iter().filter_map(|case| case.get("MD")).collect();
        assert_eq!(expected.len(), 100, "{file}");
        for kernel in kernels(hash) {
            let mut digest = seed.clone();
            for (i, expected) in expected.iter().enumerate() {
                for _ in 0..1000 {
                    digest = kernel.digest(&digest).to_vec();
                }
                assert_eq!(digest, hex(expected), "{kernel:?}, {file}, COUNT = {i}");
            }
        }
    }
}

/// FIPS 180-4's third example: a million times the letter a.
#[test]
fn a_million_times_a() {
    let pieces = [b'a'; 1000];
    for (hash, begins) in [
        (Hash::Md5, "7707d6ae4e027c70eea2a935c2296f21"),
        (Hash::Sha1, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (Hash::Sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (
            Hash::Sha512,
            "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
             de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
        ),
        (Hash::Sha3_256, "5c8875ae474a3634ba4fd55ec85bffd661f32aca75c6d699d0cdcb6c115891c1"),
    ] {
        for kernel in kernels(hash) {
            let mut hasher = Hasher::with_kernel(kernel);
            for _ in 0..1000 {
                hasher.update(&pieces);
            }
            assert_eq!(*hasher.finish(), *hex(begins), "{kernel:?}");
        }
    }
}

/// What the reports run: every kernel gets its own known answer right.
#[test]
fn miri_known_answers() {
    let engines: [&dyn Engine; 9] = [
        &&md5::MD5,
        &&sha1::SHA1,
        &&sha256::SHA256,
        &&sha512::SHA512,
        &&sha3::SHA3_224,
        &&sha3::SHA3_256,
        &&sha3::SHA3_384,
        &&sha3::SHA3_512,
        &&sha3::SHAKE128,
    ];
    for engine in engines {
        let name = engine.algorithm().name;
        let mut ran = Ran::new(name);
        for kernel in engine.kernels().into_iter().filter(|kernel| executes(name, kernel.name)) {
            let available = Features::hardware().contains(kernel.requires);
            let expected = available.then_some(true);
            assert_eq!(engine.check(Features::hardware(), kernel.name), expected, "{name}: {}", kernel.name);
            if available {
                ran.kernel(kernel.name);
            }
        }
        ran.missing(engine.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
        ran.at_least(1);
    }
}
