//! RSA on every row against OpenSSL, and what it refuses.
#![cfg(target_arch = "x86_64")]

mod rsa_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_publickey::Error;
use millstream_publickey::rsa::{Component, MAX_BYTES, Oaep, PrivateKey, Pss, PublicKey, RSA};
use millstream_testkit::{Ran, feature_subsets};
use openssl::hash::MessageDigest;
use openssl::md::{Md, MdRef};
use openssl::pkey::{PKey, Private};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::{Padding, Rsa};
use openssl::sign::{RsaPssSaltlen, Signer, Verifier};
use rsa_common::{Broken, Numbers, Source, all_kernels, kernels};

/// The hashes that a signature may have, with OpenSSL's own.
fn hashes() -> Vec<(Hash, MessageDigest, &'static MdRef)> {
    vec![
        (Hash::Sha1, MessageDigest::sha1(), Md::sha1()),
        (Hash::Sha224, MessageDigest::sha224(), Md::sha224()),
        (Hash::Sha256, MessageDigest::sha256(), Md::sha256()),
        (Hash::Sha384, MessageDigest::sha384(), Md::sha384()),
        (Hash::Sha512, MessageDigest::sha512(), Md::sha512()),
        (Hash::Sha3_224, MessageDigest::sha3_224(), Md::sha3_224()),
        (Hash::Sha3_256, MessageDigest::sha3_256(), Md::sha3_256()),
        (Hash::Sha3_384, MessageDigest::sha3_384(), Md::sha3_384()),
        (Hash::Sha3_512, MessageDigest::sha3_512(), Md::sha3_512()),
    ]
}

/// Keys of many sizes, odd ones too, and of several exponents.
fn keys() -> Vec<(Rsa<Private>, Numbers)> {
    let sizes = [
        (1024, 3u32),
        (1025, 65_537),
        (1152, 17),
        (1536, 65_537),
        (2047, 65_537),
        (2048, 65_537),
        (3072, 5),
        (4096, 65_537),
    ];
    let make = |(bits, exponent)| {
        let exponent = openssl::bn::BigNum::from_u32(exponent).unwrap();
        let key = Rsa::generate_with_e(bits, &exponent).unwrap();
        let numbers = Numbers::from(&key);
        (key, numbers)
    };
    sizes.into_iter().map(make).collect()
}

#[test]
fn bare_powers_are_openssls() {
    let mut ran = Ran::new("rsa raw");
    let mut random = Source::new(11);
    for (theirs, numbers) in keys() {
        for kernel in kernels() {
            let ours = numbers.key(kernel).unwrap();
            let size = ours.size();
            assert_eq!(size, theirs.size() as usize);
            let mut inputs = vec![vec![0; size], vec![0; size], numbers.0[0].clone()];
            inputs[1][size - 1] = 1;
            inputs[2][size - 1] -= 1;
            for _ in 0..3 {
                let mut input = random.0.bytes(size);
                // Below the modulus, whose topmost byte may be one.
                input[0] = 0;
                inputs.push(input);
            }
            for input in inputs {
                let (mut right, mut found, mut back) = (vec![0; size], vec![0; size], vec![0; size]);
                theirs.private_encrypt(&input, &mut right, Padding::NONE).unwrap();
                ours.raw(&input, &mut found).unwrap();
                assert_eq!(found, right, "{} bits on {}", ours.public_key().bits(), kernel.kernel().name);
                ours.public_key().raw(&found, &mut back).unwrap();
                assert_eq!(back, input);
                found.fill(0);
                if input.iter().any(|&byte| byte != 0) {
                    ours.blinded(&mut random).raw(&input, &mut found).unwrap();
                    assert_eq!(found, right, "blinded");
                }
                ran.kernel(kernel.kernel().name);
            }
        }
    }
    ran.missing(all_kernels());
    ran.at_least(1);
}

#[test]
fn signatures_verify_both_ways() {
    let mut random = Source::new(12);
    for (theirs, numbers) in keys() {
        let pkey = PKey::from_rsa(theirs).unwrap();
        for kernel in kernels() {
            let ours = numbers.key(kernel).unwrap();
            let size = ours.size();
            for (hash, theirs, _) in hashes() {
                let len = random.0.below(300);
                let message = random.0.bytes(len);
                let mut signature = vec![0; size];
                assert_eq!(ours.sign_pkcs1(hash, &message, &mut signature), Ok(size));
                let mut signer = Signer::new(theirs, &pkey).unwrap();
                assert_eq!(signer.sign_oneshot_to_vec(&message).unwrap(), signature, "{hash}");
                ours.public_key().verify_pkcs1_vartime(hash, &message, &signature).unwrap();
                let mut blinded = vec![0; size];
                ours.blinded(&mut random).sign_pkcs1(hash, &message, &mut blinded).unwrap();
                assert_eq!(blinded, signature);

                for (mgf, mgf_theirs, _) in [hashes()[1], (hash, theirs, hashes()[0].2)] {
                    for salt in [0, 1, hash.output_len().min(size - hash.output_len() - 3)] {
                        let pss = Pss { hash, mgf, salt };
                        let saltlen = || RsaPssSaltlen::custom(salt as i32);
                        ours.sign_pss(&pss, &mut random, &message, &mut signature).unwrap();
                        ours.public_key().verify_pss_vartime(&pss, &message, &signature).unwrap();
                        let mut verifier = Verifier::new(theirs, &pkey).unwrap();
                        verifier.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                        verifier.set_rsa_mgf1_md(mgf_theirs).unwrap();
                        verifier.set_rsa_pss_saltlen(saltlen()).unwrap();
                        assert!(verifier.verify_oneshot(&signature, &message).unwrap(), "{pss:?}");
                        let mut signer = Signer::new(theirs, &pkey).unwrap();
                        signer.set_rsa_padding(Padding::PKCS1_PSS).unwrap();
                        signer.set_rsa_mgf1_md(mgf_theirs).unwrap();
                        signer.set_rsa_pss_saltlen(saltlen()).unwrap();
                        let signature = signer.sign_oneshot_to_vec(&message).unwrap();
                        ours.public_key().verify_pss_vartime(&pss, &message, &signature).unwrap();
                        let other = Pss { salt: salt + 1, ..pss };
                        let refused = ours.public_key().verify_pss_vartime(&other, &message, &signature);
                        assert_eq!(refused, Err(Error::Signature));
                    }
                }
            }
        }
    }
}

#[test]
fn encryption_is_understood_both_ways() {
    let mut random = Source::new(13);
    for (theirs, numbers) in keys() {
        let pkey = PKey::from_rsa(theirs.clone()).unwrap();
        for kernel in kernels() {
            let ours = numbers.key(kernel).unwrap();
            let size = ours.size();
            let longest = size - 11;
            for len in [0, 1, longest / 2, longest] {
                let message = random.0.bytes(len);
                let (mut sealed, mut opened) = (vec![0; size], vec![0; size]);
                ours.public_key().encrypt_pkcs1(&mut random, &message, &mut sealed).unwrap();
                assert_eq!(theirs.private_decrypt(&sealed, &mut opened, Padding::PKCS1).unwrap(), len);
                assert_eq!(opened[..len], message);
                theirs.public_encrypt(&message, &mut sealed, Padding::PKCS1).unwrap();
                assert_eq!(ours.decrypt_pkcs1(&sealed, &mut opened), Ok(len));
                assert_eq!(opened[..len], message);
                assert_eq!(ours.blinded(&mut random).decrypt_pkcs1(&sealed, &mut opened), Ok(len));
                assert_eq!(opened[..len], message);
            }
            for (i, (hash, _, theirs)) in hashes().into_iter().enumerate() {
                let (mgf, _, theirs_mgf) = hashes()[(i * 5 + 1) % 9];
                let Some(longest) = size.checked_sub(2 * hash.output_len() + 2) else { continue };
                for len in [0, 1, longest / 2, longest] {
                    let (message, label) = (random.0.bytes(len), random.0.bytes(i));
                    let oaep = Oaep { hash, mgf, label: &label };
                    let (mut sealed, mut opened) = (vec![0; size], vec![0; size]);
                    ours.public_key().encrypt_oaep(&oaep, &mut random, &message, &mut sealed).unwrap();
                    let context = |decrypt: bool| {
                        let mut context = PkeyCtx::new(&pkey).unwrap();
                        if decrypt { context.decrypt_init() } else { context.encrypt_init() }.unwrap();
                        context.set_rsa_padding(Padding::PKCS1_OAEP).unwrap();
                        context.set_rsa_oaep_md(theirs).unwrap();
                        context.set_rsa_mgf1_md(theirs_mgf).unwrap();
                        if !label.is_empty() {
                            context.set_rsa_oaep_label(&label).unwrap();
                        }
                        context
                    };
                    let mut theirs = Vec::new();
                    context(true).decrypt_to_vec(&sealed, &mut theirs).unwrap();
                    assert_eq!(theirs, message);
                    sealed.clear();
                    context(false).encrypt_to_vec(&message, &mut sealed).unwrap();
                    assert_eq!(ours.decrypt_oaep(&oaep, &sealed, &mut opened), Ok(len));
                    assert_eq!(opened[..len], message);
                    assert_eq!(ours.blinded(&mut random).decrypt_oaep(&oaep, &sealed, &mut opened), Ok(len));
                    let other = Oaep { label: b"another", ..oaep };
                    assert_eq!(ours.decrypt_oaep(&other, &sealed, &mut opened), Err(Error::Padding));
                    if len > 0 {
                        let short = &mut opened[..len - 1];
                        assert!(matches!(
                            ours.decrypt_oaep(&oaep, &sealed, short),
                            Err(Error::Length { .. })
                        ));
                    }
                }
            }
        }
    }
}

#[test]
fn wrong_keys_are_refused_by_name() {
    let kernel = RSA.best(Features::hardware());
    let theirs = Rsa::generate(1024).unwrap();
    let right = Numbers::from(&theirs);
    let other = Numbers::from(&Rsa::generate(1024).unwrap());
    assert!(right.key(kernel).is_ok());
    let refused = |change: &dyn Fn(&mut Numbers)| {
        let mut numbers = right.clone();
        change(&mut numbers);
        numbers.key(kernel).map(|_| ()).unwrap_err()
    };
    let last = |bytes: &mut Vec<u8>, by: u8| *bytes.last_mut().unwrap() ^= by;
    // Even, too short, too long, and not the product.
    assert_eq!(refused(&|n| last(&mut n.0[0], 1)), Error::Modulus);
    assert_eq!(refused(&|n| n.0[0] = vec![]), Error::Modulus);
    assert_eq!(refused(&|n| n.0[0] = vec![0xff; 127]), Error::Modulus);
    assert_eq!(refused(&|n| n.0[0] = vec![0xff; 513]), Error::Modulus);
    assert_eq!(refused(&|n| last(&mut n.0[0], 2)), Error::Modulus);
    // Zero, one, two, even, and longer than 64 bits.
    for exponent in [&[0][..], &[1], &[2], &[1, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0, 1], &[]] {
        assert_eq!(refused(&|n| n.0[1] = exponent.to_vec()), Error::Exponent, "{exponent:?}");
    }
    // Another odd exponent than the private ones are for.
    assert_eq!(refused(&|n| n.0[1] = vec![3]), Error::Exponent);
    for i in [2, 5, 6] {
        assert_eq!(refused(&|n| last(&mut n.0[i], 2)), Error::Exponent);
        assert_eq!(refused(&|n| n.0[i] = other.0[i].clone()), Error::Exponent);
        assert_eq!(refused(&|n| n.0[i] = vec![0xff; 600]), Error::Exponent);
        assert_eq!(refused(&|n| n.0[i].clear()), Error::Exponent);
    }
    for i in [3, 4, 7] {
        assert_eq!(refused(&|n| last(&mut n.0[i], 2)), Error::Modulus);
        assert_eq!(refused(&|n| n.0[i] = other.0[i].clone()), Error::Modulus);
        assert_eq!(refused(&|n| n.0[i] = vec![0xff; 600]), Error::Modulus);
        assert_eq!(refused(&|n| n.0[i].clear()), Error::Modulus);
    }
    // Even factors, and two that are equal, whose product is a square.
    assert_eq!(refused(&|n| last(&mut n.0[3], 1)), Error::Modulus);
    assert_eq!(refused(&|n| n.0[4] = n.0[3].clone()), Error::Modulus);
    let p = theirs.p().unwrap();
    let square = (p * p).to_vec();
    let equal = refused(&|n| (n.0[0], n.0[4]) = (square.clone(), n.0[3].clone()));
    assert_eq!(equal, Error::Modulus);
    // The factors exchanged, with their exponents but the inverse of the other.
    assert_eq!(refused(&|n| (n.0.swap(3, 4), n.0.swap(5, 6)).0), Error::Modulus);
    // Leading zeros are none of it.
    let mut padded = right.clone();
    padded.0.iter_mut().for_each(|bytes| bytes.splice(0..0, [0; 600]).for_each(drop));
    assert!(padded.key(kernel).is_ok());
}

#[test]
fn wrong_lengths_and_sources_are_refused_by_name() {
    let kernel = RSA.best(Features::hardware());
    let key = Numbers::from(&Rsa::generate(1024).unwrap()).key(kernel).unwrap();
    let mut random = Source::new(14);
    let (mut out, mut modulus) = ([0; 128], [0; 128]);
    key.public_key().modulus(&mut modulus).unwrap();
    assert!(matches!(key.raw(&[0; 127], &mut out), Err(Error::Length { .. })));
    assert!(matches!(key.raw(&[0; 129], &mut [0; 129]), Err(Error::Length { .. })));
    assert!(matches!(key.raw(&[0; 128], &mut out[1..]), Err(Error::Length { .. })));
    assert_eq!(key.raw(&modulus, &mut out), Err(Error::Message));
    assert_eq!(key.raw(&[0xff; 128], &mut out), Err(Error::Message));
    assert_eq!(key.public_key().raw(&modulus, &mut out), Err(Error::Message));
    assert!(matches!(key.sign_pkcs1(Hash::Sha256, b"", &mut out[1..]), Err(Error::Length { .. })));
    assert!(matches!(key.sign_pkcs1_digest(Hash::Sha256, &[0; 31], &mut out), Err(Error::Length { .. })));
    assert_eq!(key.sign_pkcs1_encoded(&[0; 117], &mut out), Ok(128));
    assert_eq!(key.sign_pkcs1_encoded(&[0; 118], &mut out), Err(Error::Message));
    let pss = Pss::new(Hash::Sha512);
    assert_eq!(key.sign_pss(&pss, &mut random, b"", &mut out), Err(Error::Message));
    assert_eq!(key.sign_pss(&Pss { salt: 62, ..pss }, &mut random, b"", &mut out), Ok(128));
    assert_eq!(key.sign_pss(&Pss { salt: 63, ..pss }, &mut random, b"", &mut out), Err(Error::Message));
    assert_eq!(
        key.sign_pss(&Pss { salt: usize::MAX, ..pss }, &mut random, b"", &mut out),
        Err(Error::Message)
    );
    assert_eq!(key.sign_pss(&Pss::new(Hash::Sha256), &mut Broken, b"", &mut out), Err(Error::Random));
    let public = key.public_key();
    assert_eq!(public.verify_pss_vartime(&Pss { salt: usize::MAX, ..pss }, b"", &out), Err(Error::Signature));
    assert_eq!(public.verify_pkcs1_vartime(Hash::Sha256, b"", &out[1..]), Err(Error::Signature));
    assert_eq!(public.verify_pkcs1_vartime(Hash::Sha256, b"", &[0xff; 128]), Err(Error::Signature));
    let oaep = Oaep::new(Hash::Sha256);
    assert_eq!(public.encrypt_oaep(&oaep, &mut random, &[0; 63], &mut out), Err(Error::Message));
    assert_eq!(public.encrypt_oaep(&oaep, &mut Broken, &[0; 62], &mut out), Err(Error::Random));
    assert!(matches!(
        public.encrypt_oaep(&oaep, &mut random, &[0; 62], &mut out[1..]),
        Err(Error::Length { .. })
    ));
    assert_eq!(public.encrypt_pkcs1(&mut random, &[0; 118], &mut out), Err(Error::Message));
    assert_eq!(public.encrypt_pkcs1(&mut Broken, &[0; 117], &mut out), Err(Error::Random));
    assert!(matches!(key.decrypt_oaep(&oaep, &[0; 127], &mut [0; 128]), Err(Error::Length { .. })));
    assert_eq!(key.decrypt_oaep(&Oaep::new(Hash::Sha512), &[0; 128], &mut out), Err(Error::Message));
    assert!(matches!(key.decrypt_pkcs1(&[0; 127], &mut out), Err(Error::Length { .. })));
    assert!(matches!(key.decrypt_pkcs1(&[0; 128], &mut out[..116]), Err(Error::Length { .. })));
    assert!(key.decrypt_pkcs1(&[0; 128], &mut out[..117]).is_ok());
    assert_eq!(key.blinded(&mut Broken).raw(&[1; 128], &mut [0; 128]), Err(Error::Random));
    assert!(matches!(key.component(Component::Modulus, &mut out[1..]), Err(Error::Length { .. })));
}

/// A source of zeros only.
struct Zeros;

impl millstream_publickey::Random for Zeros {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.fill(0);
        Ok(())
    }
}

#[test]
fn a_source_without_randomness_is_noticed() {
    let key = Numbers::from(&Rsa::generate(1024).unwrap()).key(RSA.best(Features::hardware())).unwrap();
    let mut out = [0; 128];
    assert_eq!(key.public_key().encrypt_pkcs1(&mut Zeros, b"", &mut out), Err(Error::Random));
    // Zero has no inverse.
    assert_eq!(key.blinded(&mut Zeros).raw(&[1; 128], &mut out), Err(Error::Fault));
}

#[test]
fn components_make_the_same_key() {
    for (_, numbers) in keys() {
        let kernel = RSA.best(Features::hardware());
        let key = numbers.key(kernel).unwrap();
        let all = [
            Component::Modulus,
            Component::PublicExponent,
            Component::PrivateExponent,
            Component::P,
            Component::Q,
            Component::Dp,
            Component::Dq,
            Component::Inverse,
        ];
        let copy = Numbers(all.map(|component| {
            let mut bytes = vec![0; MAX_BYTES];
            let len = key.component(component, &mut bytes).unwrap();
            bytes.truncate(len);
            bytes
        }));
        let again = copy.key(kernel).unwrap();
        let mut signatures = [[0; MAX_BYTES]; 2];
        key.sign_pkcs1(Hash::Sha256, b"abc", &mut signatures[0]).unwrap();
        again.sign_pkcs1(Hash::Sha256, b"abc", &mut signatures[1]).unwrap();
        assert_eq!(signatures[0], signatures[1]);
        let public = PublicKey::new(Features::none(), &copy.0[0], &copy.0[1]).unwrap();
        public.verify_pkcs1_vartime(Hash::Sha256, b"abc", &signatures[0][..key.size()]).unwrap();
    }
}

#[test]
fn nothing_secret_is_shown() {
    let key: PrivateKey =
        Numbers::from(&Rsa::generate(1024).unwrap()).key(RSA.best(Features::none())).unwrap();
    assert_eq!(format!("{key:?}"), "RSA private key of 1024 bits on portable");
}

#[test]
fn every_row_gives_its_known_answer_under_every_subset() {
    let mut ran = Ran::new("rsa known answers");
    for engine in millstream_publickey::engines() {
        for features in feature_subsets(engine.kernels().iter().map(|kernel| kernel.requires)) {
            for kernel in engine.kernels() {
                if let Some(right) = engine.check(features, kernel.name) {
                    assert!(right, "{} on {}", engine.algorithm().name, kernel.name);
                    ran.kernel(kernel.name);
                }
            }
            assert!(features.contains(engine.chosen(features).requires));
        }
        ran.missing(engine.kernels().iter().map(|kernel| (kernel.name, kernel.requires)));
    }
    ran.at_least(1);
}
