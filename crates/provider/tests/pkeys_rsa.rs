//! RSA beside the default provider's: the sizes of the engine's, and others that are handed over.
//!
//! # Safety
//! As in [`support`].
#![allow(unsafe_code)]

#[path = "support/pkeys.rs"]
mod pkeys;
mod support;

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use millstream::FeatureSet;
use millstream::publickey::rsa::RSA;
use pkeys::{Key, Operation, Signing};
use support::{Library, Param, done, libcrypto, refused, version};

const DIGESTS: [&CStr; 8] =
    [c"MD5", c"SHA1", c"SHA224", c"SHA256", c"SHA2-384", c"SHA512", c"SHA3-256", c"RIPEMD160"];

/// Both libraries: as programs have it, with both providers and ours preferred; and the default provider alone.
struct Libraries {
    ours: Library,
    theirs: Library,
}

fn libraries() -> &'static Libraries {
    static LIBRARIES: OnceLock<Libraries> = OnceLock::new();
    LIBRARIES.get_or_init(|| {
        let ours = Library::with(&[c"default", c"millstream"]);
        let properties = c"?provider=millstream";
        // SAFETY: a context that lives, and a C string.
        done(unsafe { (libcrypto().EVP_set_default_properties)(ours.context, properties.as_ptr()) }).unwrap();
        Libraries { ours, theirs: Library::with(&[c"default"]) }
    })
}

/// A key as ours, and as the default provider's.
struct Pair {
    bits: usize,
    mine: Key,
    other: Key,
}

// SAFETY: keys may be used by several threads.
unsafe impl Send for Pair {}
// SAFETY: as above.
unsafe impl Sync for Pair {}

impl Pair {
    fn new(bits: usize, primes: usize) -> Self {
        let Libraries { ours, theirs } = libraries();
        let (mut size, mut parts) = (bits, primes);
        let params = [Param::size(c"bits", &mut size), Param::size(c"primes", &mut parts)];
        let mine = Key::generate(ours, c"RSA", &params).unwrap();
        let other = Key::decode(theirs, true, &mine.encode(true).unwrap()).unwrap();
        assert_eq!((mine.provider(), other.provider()), ("millstream".to_owned(), "default".to_owned()));
        Pair { bits, mine, other }
    }

    fn both(&self) -> [(&Key, &'static Library); 2] {
        [(&self.mine, &libraries().ours), (&self.other, &libraries().theirs)]
    }
}

/// Keys of the engine's sizes, of smaller and larger ones, of odd ones, and of more primes than two.
fn pairs() -> &'static [Pair] {
    static PAIRS: OnceLock<Vec<Pair>> = OnceLock::new();
    PAIRS.get_or_init(|| {
        [(512, 2), (1024, 2), (1025, 2), (1536, 2), (2048, 2), (2048, 3), (3072, 2), (4096, 2), (8192, 5)]
            .map(|(bits, primes)| Pair::new(bits, primes))
            .into()
    })
}

/// The pair of so many bits and two primes.
fn pair(bits: usize) -> &'static Pair {
    pairs().iter().find(|pair| pair.bits == bits).unwrap()
}

fn message(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + 1) as u8).collect()
}

/// Does the same with both keys.
fn each<T>(pair: &Pair, what: impl Fn(&Key, &Library) -> T) -> [T; 2] {
    pair.both().map(|(key, library)| what(key, library))
}

#[test]
fn keys_tell_what_the_default_providers_tell() {
    let Libraries { ours, .. } = libraries();
    for pair in pairs() {
        let Pair { bits, mine, other } = pair;
        for name in [c"bits", c"security-bits", c"max-size"] {
            assert_eq!(mine.number(name), other.number(name), "{bits} {name:?}");
        }
        let numbers =
            [c"n", c"e", c"d", c"rsa-factor1", c"rsa-factor2", c"rsa-exponent1", c"rsa-coefficient1"];
        for name in numbers {
            assert_eq!(mine.big(name, 1024), other.big(name, 1024), "{bits} {name:?}");
        }
        // OpenSSL 3.6 imports the third prime and those behind it in reverse, and its own check finds that wrong.
        if *bits < 8192 {
            let checks = each(pair, Key::checks);
            assert_eq!(checks[0], checks[1], "{bits}");
        }
        for private in [true, false] {
            let der = mine.encode(private).unwrap();
            assert_eq!(der, other.encode(private).unwrap(), "{bits}");
            let read = Key::decode(ours, private, &der).unwrap();
            assert_eq!(read.encode(private), mine.encode(private));
            // SAFETY: keys that live.
            unsafe {
                assert_eq!((libcrypto().EVP_PKEY_eq)(read.0, mine.0), 1);
                assert_eq!(
                    (libcrypto().EVP_PKEY_eq)(read.0, self::pair(3072).mine.0),
                    c_int::from(*bits == 3072)
                );
                let copy = Key((libcrypto().EVP_PKEY_dup)(read.0));
                assert_eq!(copy.encode(private), mine.encode(private));
            }
        }
    }
}

#[test]
fn keys_are_made_as_the_parameters_say() {
    let Libraries { ours, theirs } = libraries();
    let mut bits = 1024usize;
    let mut exponent = 17u32.to_le_bytes();
    let params = [Param::size(c"bits", &mut bits), Param::number(c"e", &mut exponent)];
    let mine = Key::generate(ours, c"RSA", &params).unwrap();
    assert_eq!(mine.big(c"e", 4).unwrap(), [0, 0, 0, 17]);
    let signature = mine.sign(ours, Some(c"SHA256"), &[], b"message").unwrap();
    let other = Key::decode(theirs, false, &mine.encode(false).unwrap()).unwrap();
    assert!(other.verify(theirs, Some(c"SHA256"), &[], b"message", &signature).unwrap());
    let mut bits = 100usize;
    let params = [Param::size(c"bits", &mut bits)];
    let refused = [ours, theirs].map(|library| Key::generate(library, c"RSA", &params).map(drop));
    assert_eq!(refused[0], refused[1]);
    assert!(refused[0].is_err());
}

/// A public exponent of more than 64 bits, and a key without its primes.
#[test]
fn unusual_keys_are_handed_over() {
    let Libraries { ours, theirs } = libraries();
    let mut bits = 1024usize;
    let mut exponent = [1; 10];
    let params = [Param::size(c"bits", &mut bits), Param::number(c"e", &mut exponent)];
    let mine = Key::generate(ours, c"RSA", &params).unwrap();
    let other = Key::decode(theirs, true, &mine.encode(true).unwrap()).unwrap();
    let signature = mine.sign(ours, Some(c"SHA256"), &[], b"message").unwrap();
    assert_eq!(signature, other.sign(theirs, Some(c"SHA256"), &[], b"message").unwrap());
    assert!(mine.verify(ours, Some(c"SHA256"), &[], b"message", &signature).unwrap());
    let key = &pair(2048).other;
    let mut numbers = [c"n", c"e", c"d"].map(|name| {
        let mut number = key.big(name, 256).unwrap();
        number.reverse();
        number
    });
    let [n, e, d] = &mut numbers;
    let params = [Param::number(c"n", n), Param::number(c"e", e), Param::number(c"d", d)];
    let bare = Key::import(ours, c"RSA", pkeys::PAIR, &params).unwrap();
    let signature = bare.sign(ours, Some(c"SHA256"), &[], b"message").unwrap();
    assert_eq!(signature, key.sign(theirs, Some(c"SHA256"), &[], b"message").unwrap());
    assert!(bare.verify(ours, Some(c"SHA256"), &[], b"message", &signature).unwrap());
}

#[test]
fn signatures_of_pkcs1_are_the_same() {
    for pair in pairs() {
        for digest in DIGESTS.into_iter().chain([c"MD5-SHA1", c"BLAKE2S-256"]) {
            let message = message(100);
            let signed = each(pair, |key, library| key.sign(library, Some(digest), &[], &message));
            assert_eq!(signed[0], signed[1], "{} {digest:?}", pair.bits);
            let Ok(mut signature) = signed[0].clone() else { continue };
            let verified = |signature: &[u8]| {
                each(pair, |key, library| key.verify(library, Some(digest), &[], &message, signature))
            };
            assert_eq!(verified(&signature), [Ok(true), Ok(true)]);
            signature[10] ^= 1;
            assert_eq!(verified(&signature), [Ok(false), Ok(false)]);
        }
    }
}

/// The forms of padding and of the salt's length, and each as a text where it has one.
fn paddings() -> Vec<Vec<Param>> {
    let int = |name, number: c_int| Param::int(name, Box::leak(Box::new(number)));
    let mut all = vec![
        vec![int(c"pad-mode", 6)],
        vec![int(c"pad-mode", 5)],
        vec![Param::text(c"pad-mode", c"x931")],
        vec![Param::text(c"pad-mode", c"pkcs1")],
        vec![Param::text(c"pad-mode", c"pss"), Param::text(c"mgf1-digest", c"SHA512")],
        vec![Param::text(c"pad-mode", c"pss"), Param::text(c"mgf1-digest", c"RIPEMD160")],
    ];
    for salt in [-1, -2, -3, 20, 0] {
        all.push(vec![int(c"pad-mode", 6), int(c"saltlen", salt)]);
    }
    if version() >= (3, 1) {
        all.push(vec![int(c"pad-mode", 6), int(c"saltlen", -4)]);
    }
    for salt in [c"digest", c"max", c"auto", c"7"] {
        all.push(vec![Param::text(c"pad-mode", c"pss"), Param::text(c"saltlen", salt)]);
    }
    all
}

#[test]
fn every_padding_verifies_on_both_sides() {
    for pair in pairs() {
        for params in paddings() {
            for digest in [c"SHA1", c"SHA256", c"SHA512", c"RIPEMD160"] {
                let [(mine, ours), (other, theirs)] = pair.both();
                let message = message(100);
                // X9.31 wants to know the digest first.
                let params = &[&[Param::text(c"digest", digest)], &params[..]].concat();
                let signed = mine.sign(ours, Some(digest), params, &message);
                let expected = other.sign(theirs, Some(digest), params, &message);
                assert_eq!(signed.as_ref().err(), expected.as_ref().err(), "{} {digest:?}", pair.bits);
                let (Ok(signed), Ok(expected)) = (signed, expected) else { continue };
                for signature in [&signed, &expected] {
                    let verified = each(pair, |key, library| {
                        key.verify(library, Some(digest), params, &message, signature)
                    });
                    assert_eq!(verified, [Ok(true), Ok(true)], "{} {digest:?}", pair.bits);
                    let mut wrong = signature.to_vec();
                    wrong[3] ^= 4;
                    let verified = each(pair, |key, library| {
                        key.verify(library, Some(digest), params, &message, &wrong)
                    });
                    assert_eq!(verified, [Ok(false), Ok(false)], "{} {digest:?}", pair.bits);
                }
            }
        }
    }
}

/// A salt of a length that is neither the digest's nor the longest is found when a signature is verified, and another length than the
/// one that was set is refused.
#[test]
fn salts_of_any_length_are_found_and_others_refused() {
    let [(mine, ours), (other, theirs)] = pair(2048).both();
    let (mut five, mut six, mut auto) = (5, 6, -2);
    let pss = Param::text(c"pad-mode", c"pss");
    let five = [pss, Param::int(c"saltlen", &mut five)];
    for (signer, library) in [(mine, ours), (other, theirs)] {
        let signature = signer.sign(library, Some(c"SHA256"), &five, b"message").unwrap();
        let verified = |params: &[Param]| {
            let said = each(pair(2048), |key, library| {
                key.verify(library, Some(c"SHA256"), params, b"message", &signature).unwrap()
            });
            assert_eq!(said[0], said[1]);
            said[0]
        };
        assert!(verified(&five));
        assert!(verified(&[pss, Param::int(c"saltlen", &mut auto)]));
        assert!(verified(&[pss]));
        assert!(!verified(&[pss, Param::int(c"saltlen", &mut six)]));
        assert!(!verified(&[pss, Param::text(c"mgf1-digest", c"SHA1")]));
        assert!(!verified(&[]));
    }
}

#[test]
fn what_is_signed_as_it_is() {
    let (mut none, mut pss) = (3, 6);
    for pair in pairs() {
        let len = pair.bits.div_ceil(8);
        let mut below = message(len);
        below[0] = 0;
        let variants: [(&[Param], Vec<Vec<u8>>); 6] = [
            (&[], vec![vec![], message(36), message(len - 11), message(len - 10), message(len + 1)]),
            (&[Param::text(c"digest", c"SHA256")], vec![message(31), message(32), message(33)]),
            (&[Param::text(c"digest", c"MD5-SHA1")], vec![message(36), message(35)]),
            (&[Param::text(c"digest", c"RIPEMD160")], vec![message(20)]),
            (&[Param::int(c"pad-mode", &mut none)], vec![below, message(len - 1), vec![0xff; len], vec![]]),
            (
                &[Param::text(c"digest", c"SHA256"), Param::int(c"pad-mode", &mut pss)],
                vec![message(32), message(33)],
            ),
        ];
        for (params, inputs) in variants {
            for input in inputs {
                let signed =
                    each(pair, |key, library| key.transform(library, Operation::Sign, params, &input));
                let [mine, expected] = &signed;
                assert_eq!(mine.as_ref().err(), expected.as_ref().err(), "{} {}", pair.bits, input.len());
                let (Ok(mine), Ok(expected)) = (mine, expected) else { continue };
                if params.len() < 2 {
                    assert_eq!(mine, expected, "{} {}", pair.bits, input.len());
                }
                for signature in [mine, expected] {
                    let said =
                        each(pair, |key, library| key.verify_directly(library, params, &input, signature));
                    assert_eq!(said[0], said[1], "{} {}", pair.bits, input.len());
                    let mut wrong = signature.clone();
                    wrong[5] ^= 1;
                    for wrong in
                        [&wrong[..], &wrong[1..], &[&wrong[..], &[1]].concat(), &vec![0xff; len], &[]]
                    {
                        let said =
                            each(pair, |key, library| key.verify_directly(library, params, &input, wrong));
                        assert_eq!(said[0], said[1], "{} {}", pair.bits, wrong.len());
                    }
                    let recovered = each(pair, |key, library| {
                        key.transform(library, Operation::Recover, params, signature)
                    });
                    assert_eq!(recovered[0], recovered[1]);
                }
            }
        }
    }
}

#[test]
fn messages_come_in_pieces_and_contexts_are_copied() {
    for pair in [pair(1024), pair(512), pair(2048)] {
        let [(mine, ours), (other, theirs)] = pair.both();
        let pss: &[Param] = &[Param::text(c"pad-mode", c"pss")];
        for params in [&[], pss] {
            for digest in [c"SHA256", c"RIPEMD160"] {
                let whole = message(1000);
                let pieces: Vec<&[u8]> = whole.chunks(77).collect();
                let [first, all] = mine.sign_pieces(ours, digest, params, &pieces, 5).unwrap();
                let verified = |message: &[u8], signature: &[u8]| {
                    other.verify(theirs, Some(digest), params, message, signature).unwrap()
                };
                assert!(verified(&whole[..5 * 77], &first), "{} {digest:?}", pair.bits);
                assert!(verified(&whole, &all), "{} {digest:?}", pair.bits);
            }
        }
    }
}

/// Parameters may come when the message has been hashed already, and a place may be too short.
#[test]
fn parameters_come_late() {
    let [(mine, ours), (other, theirs)] = pair(2048).both();
    let digest = Param::text(c"digest", c"SHA256");
    let sets: [&[Param]; 4] = [
        &[digest, Param::text(c"pad-mode", c"pss")],
        &[digest, Param::text(c"pad-mode", c"x931")],
        &[digest, Param::text(c"pad-mode", c"pss"), Param::text(c"mgf1-digest", c"RIPEMD160")],
        &[digest],
    ];
    for params in sets {
        let signing = Signing::new(mine, ours, c"SHA256").unwrap();
        signing.update(b"mess").unwrap();
        signing.set(params).unwrap();
        signing.update(b"age").unwrap();
        let signature = signing.finish(256).unwrap();
        assert!(other.verify(theirs, Some(c"SHA256"), params, b"message", &signature).unwrap());
        // The digest can't be another one any more.
        let another = [Param::text(c"digest", c"SHA512")];
        let refused = [(mine, ours), (other, theirs)].map(|(key, library)| {
            let signing = Signing::new(key, library, c"SHA256").unwrap();
            signing.update(b"message").unwrap();
            (signing.set(&another), signing.finish(255))
        });
        assert_eq!(refused[0], refused[1]);
        assert!(refused[0].1.is_err());
    }
}

#[test]
fn contexts_tell_what_the_default_providers_tell() {
    for pair in [pair(1024), pair(2048), pair(512)] {
        for params in [&[][..], &[Param::text(c"pad-mode", c"pss")], &[Param::text(c"pad-mode", c"x931")]] {
            for digest in [c"SHA256", c"SHA1"] {
                let told = each(pair, |key, library| {
                    let signing = Signing::new(key, library, digest).unwrap();
                    signing.set(params).unwrap();
                    let numbers = [c"pad-mode", c"saltlen"].map(|name| signing.number(name));
                    (signing.octets(c"algorithm-id"), numbers)
                });
                assert_eq!(told[0], told[1], "{} {digest:?}", pair.bits);
            }
        }
    }
    for digest in [c"SHAKE128", c"no such digest"] {
        let refused = each(pair(1024), |key, library| Signing::new(key, library, digest).map(drop));
        assert_eq!(refused[0], refused[1], "{digest:?}");
        assert!(refused[0].is_err());
    }
}

/// The paddings of encryption with what they can take at most.
fn encryptions(len: usize) -> Vec<(Vec<Param>, usize)> {
    let oaep = Param::text(c"pad-mode", c"oaep");
    let label = Param::octets(c"oaep-label", Box::leak(Box::new(*b"label")));
    let most = |digest: usize| len.saturating_sub(2 * digest + 2);
    vec![
        (vec![], len - 11),
        (vec![Param::text(c"pad-mode", c"pkcs1")], len - 11),
        (vec![oaep], most(20)),
        (vec![oaep, Param::text(c"digest", c"SHA256")], most(32)),
        (
            vec![oaep, Param::text(c"digest", c"SHA256"), Param::text(c"mgf1-digest", c"SHA1"), label],
            most(32),
        ),
        (vec![oaep, Param::text(c"digest", c"RIPEMD160")], most(20)),
        (vec![oaep, Param::text(c"mgf1-digest", c"RIPEMD160")], most(20)),
    ]
}

#[test]
fn messages_are_decrypted_on_both_sides() {
    for pair in pairs() {
        for (params, most) in encryptions(pair.bits.div_ceil(8)) {
            for len in [0, 1, most / 2, most, most + 1] {
                let message = message(len);
                let encrypted =
                    each(pair, |key, library| key.transform(library, Operation::Encrypt, &params, &message));
                let [mine, expected] = &encrypted;
                assert_eq!(mine.as_ref().err(), expected.as_ref().err(), "{} {len}", pair.bits);
                assert!(mine.is_ok() || len > most || most == 0);
                for encrypted in encrypted.iter().flatten() {
                    let decrypted = each(pair, |key, library| {
                        key.transform(library, Operation::Decrypt, &params, encrypted)
                    });
                    assert_eq!(decrypted, [Ok(message.clone()), Ok(message.clone())], "{} {len}", pair.bits);
                }
            }
        }
    }
}

/// Ciphertexts that are none. With PKCS#1 v1.5 and implicit rejection they decrypt to something, which is the same on both sides.
#[test]
fn wrong_ciphertexts_are_refused_alike() {
    let mut none = 0;
    for pair in pairs() {
        let len = pair.bits.div_ceil(8);
        let mut all: Vec<Vec<u8>> = (0..30)
            .map(|i| {
                let mut ciphertext = message(len);
                ciphertext[0] = 0;
                ciphertext[1] = i;
                ciphertext
            })
            .collect();
        all.extend([vec![], vec![1; len - 1], vec![0; len + 1], vec![0xff; len], vec![0; len]]);
        let mut encryptions = encryptions(len);
        encryptions.push((vec![Param::text(c"pad-mode", c"none")], len));
        if version() >= (3, 2) {
            encryptions.push((vec![Param::uint(c"implicit-rejection", &mut none)], len));
        }
        let many = if pair.bits > 2048 { 7 } else { 25 };
        for (params, _) in encryptions {
            for ciphertext in all.iter().rev().take(many) {
                let decrypted = each(pair, |key, library| {
                    key.transform(library, Operation::Decrypt, &params, ciphertext)
                });
                assert_eq!(decrypted[0], decrypted[1], "{} {:x?}", pair.bits, &ciphertext.get(..4));
            }
        }
    }
}

/// The padding of TLS: a wrong one gives random bytes, and a right one the secret.
#[test]
fn the_padding_of_tls_is_handed_over() {
    let [(mine, ours), (other, theirs)] = pair(2048).both();
    let secret = [&[3, 3][..], &message(46)].concat();
    let encrypted = other.transform(theirs, Operation::Encrypt, &[], &secret).unwrap();
    let (mut mode, mut client) = (7, 0x303);
    let params = [Param::int(c"pad-mode", &mut mode), Param::uint(c"tls-client-version", &mut client)];
    assert_eq!(mine.transform(ours, Operation::Decrypt, &params, &encrypted).unwrap(), secret);
    let wrong = mine.transform(ours, Operation::Decrypt, &params, &message(256)).unwrap();
    assert_eq!(wrong.len(), 48);
}

/// Keys that only sign with PSS are the default provider's, and work beside ours.
#[test]
fn keys_for_pss_alone_are_the_default_providers() {
    let Libraries { ours, .. } = libraries();
    let mut bits = 1024usize;
    let key = Key::generate(ours, c"RSA-PSS", &[Param::size(c"bits", &mut bits)]).unwrap();
    assert_eq!(key.provider(), "default");
    let signature = key.sign(ours, Some(c"SHA256"), &[], b"message").unwrap();
    assert!(key.verify(ours, Some(c"SHA256"), &[], b"message", &signature).unwrap());
    let direct = [Param::text(c"digest", c"SHA256")];
    let signature = key.transform(ours, Operation::Sign, &direct, &message(32)).unwrap();
    assert_eq!(key.verify_directly(ours, &direct, &message(32), &signature).0, 1);
    refused();
}

/// The engine does what is its: the tally of a run of a test above tells. Where only the portable kernel runs, all is the default provider's.
#[test]
fn the_engine_is_used() {
    let counts = pkeys::counted(&["signatures_of_pkcs1_are_the_same"]);
    if RSA.best(millstream::features().unwrap()).kernel().requires == FeatureSet::EMPTY {
        assert_eq!(counts("rsa-2048"), 0);
        millstream_testkit::skip(
            "provider: RSA needs avx512f avx512ifma to be faster than the default provider",
        );
        return;
    }
    // A signature and one that verifies, with seven digests of ours.
    for name in ["rsa-1024", "rsa-3072", "rsa-4096"] {
        assert_eq!(counts(name), 2 * 7, "{name}");
    }
    // A key of three primes verifies.
    assert_eq!(counts("rsa-2048"), 2 * 7 + 7);
}
