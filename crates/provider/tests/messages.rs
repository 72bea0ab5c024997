//! Digests, MACs and key derivations against OpenSSL's own.

#[path = "support/messages.rs"]
mod messages;
mod support;

use std::ffi::CStr;

use messages::{Digest, Kdf, Mac, octets, text};
use millstream_testkit::Random;
use support::{Library, Param, Refused};

const OURS: &CStr = c"provider=millstream";
const THEIRS: &CStr = c"provider=default";

fn both() -> Library {
    Library::with(&[c"millstream", c"default"])
}

const DIGESTS: &[&str] = &[
    "MD5",
    "SSL3-MD5",
    "SHA1",
    "SHA2-224",
    "sha224",
    "SHA2-256",
    "SHA256",
    "2.16.840.1.101.3.4.2.1",
    "SHA2-384",
    "SHA2-512",
    "SHA2-512/256",
    "SHA3-224",
    "SHA3-256",
    "2.16.840.1.101.3.4.2.8",
    "SHA3-384",
    "SHA3-512",
    "MD5-SHA1",
];

/// The hashes that HMAC and HKDF also take, though no engine has them.
const FOREIGN: &[&str] = &["SHA2-512/224", "BLAKE2B-512", "SM3"];

/// A message in pieces.
fn pieces<'a>(random: &mut Random, mut data: &'a [u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    while !data.is_empty() {
        let (piece, rest) = data.split_at(random.below(data.len() + 1).max(1));
        pieces.push(piece);
        data = rest;
    }
    pieces.push(&[]);
    pieces
}

fn length(random: &mut Random, round: usize) -> usize {
    if round < 300 { round } else { random.below(5000) }
}

/// Library and reason, for the packing of numbers is the same in all versions.
fn reason<T>(outcome: Result<T, Refused>) -> Result<T, u64> {
    outcome.map_err(|refused| refused.code)
}

#[test]
fn digests_are_openssls() {
    let (library, mut random) = (both(), Random::new(1));
    for name in DIGESTS {
        let ours = Digest::fetch(&library, name, OURS).unwrap_or_else(|| panic!("{name} is not offered"));
        let theirs = Digest::fetch(&library, name, THEIRS).unwrap();
        for key in [c"size", c"blocksize", c"xof", c"algid-absent"] {
            assert_eq!(ours.get(key), theirs.get(key), "{name} {key:?}");
        }
        let mut context = ours.context();
        for round in 0..400 {
            let len = length(&mut random, round);
            let data = random.bytes(len);
            let expected = theirs.whole(&data);
            assert_eq!(ours.whole(&data), expected, "{name} of {len} bytes at once");
            for piece in pieces(&mut random, &data) {
                context.update(piece);
            }
            assert_eq!(context.finish(), expected, "{name} of {len} bytes in pieces");
            context.init(&ours);
        }
    }
}

#[test]
fn a_digest_is_copied_on_its_way_and_begun_anew() {
    let (library, mut random) = (both(), Random::new(2));
    for name in DIGESTS {
        let ours = Digest::fetch(&library, name, OURS).unwrap();
        let theirs = Digest::fetch(&library, name, THEIRS).unwrap();
        let (data, other) = (random.bytes(777), random.bytes(99));
        let mut context = ours.context();
        context.update(&data[..200]);
        let mut copy = context.copy();
        let mut third = ours.context();
        third.update(b"to be forgotten");
        third.become_copy(&copy);
        copy.update(&data[200..]);
        context.update(&other);
        assert_eq!(copy.finish(), theirs.whole(&data), "{name}");
        assert_eq!(context.finish(), theirs.whole(&[&data[..200], &other].concat()), "{name}");
        assert_eq!(third.finish(), theirs.whole(&data[..200]), "{name}");
        // A message that was left unfinished is no part of the next one.
        context.init(&ours);
        context.update(&data);
        context.init(&ours);
        context.update(&other);
        assert_eq!(context.finish(), theirs.whole(&other), "{name}");
        // Nor is a freed context's message.
        drop(ours.context());
        assert_eq!(ours.context().finish(), theirs.whole(&[]), "{name}");
    }
}

/// Sends the same messages through both, in different pieces and through copies.
fn macs_agree(
    library: &Library,
    kind: &str,
    params: &[Param],
    key: impl Fn(&mut Random) -> Vec<u8>,
    what: &str,
) {
    let mut random = Random::new(3);
    let mut ours = Mac::fetch(library, kind, OURS).unwrap();
    let mut theirs = Mac::fetch(library, kind, THEIRS).unwrap();
    for round in 0..60 {
        let len = length(&mut random, round * 7);
        let (data, key) = (random.bytes(len), key(&mut random));
        if round % 5 == 4 {
            // The last key again.
            ours.init(None, &[]).unwrap();
            theirs.init(None, &[]).unwrap();
        } else {
            ours.init(Some(&key), params).unwrap();
            theirs.init(Some(&key), params).unwrap();
        }
        for key in [c"size", c"block-size"] {
            assert_eq!(ours.number(key), theirs.number(key), "{what} {key:?}");
        }
        theirs.update(&data).unwrap();
        let mut copy = None;
        for (i, piece) in pieces(&mut random, &data).into_iter().enumerate() {
            ours.update(piece).unwrap();
            if let Some(copy) = &mut copy {
                Mac::update(copy, piece).unwrap();
            } else if i % 2 == 0 {
                copy = Some(ours.dup());
            }
        }
        assert_eq!(ours.asked_len(), theirs.asked_len(), "{what}");
        let expected = theirs.finish().unwrap();
        assert_eq!(ours.finish_into(expected.len()).unwrap(), expected, "{what} of {len} bytes");
        assert_eq!(copy.unwrap().finish().unwrap(), expected, "{what}: a copy's");
    }
}

#[test]
fn hmacs_are_openssls() {
    let library = both();
    for name in DIGESTS.iter().chain(FOREIGN) {
        let key = |random: &mut Random| {
            let len = [0, 1, 20, 64, 72, 73, 128, 136, 144, 145, 200][random.below(11)];
            random.bytes(len)
        };
        macs_agree(&library, "HMAC", &[text(c"digest", name)], key, name);
    }
}

#[test]
fn cmacs_are_openssls() {
    let library = both();
    for (name, len) in [
        ("AES-128-CBC", 16),
        ("aes-192-cbc", 24),
        ("AES-256-CBC", 32),
        ("2.16.840.1.101.3.4.1.2", 16),
        ("aes128", 16),
        ("CAMELLIA-128-CBC", 16),
        ("CAMELLIA-192-CBC", 24),
        ("CAMELLIA-256-CBC", 32),
        ("DES-EDE3-CBC", 24),
        ("ARIA-128-CBC", 16),
        ("SM4-CBC", 16),
    ] {
        macs_agree(&library, "CMAC", &[text(c"cipher", name)], |random| random.bytes(len), name);
    }
}

#[test]
fn what_a_mac_refuses_is_what_openssl_refuses() {
    let library = both();
    let outcomes = |query| {
        let hmac = || Mac::fetch(&library, "HMAC", query).unwrap();
        let cmac = || Mac::fetch(&library, "CMAC", query).unwrap();
        let sha256 = || text(c"digest", "SHA256");
        let mut outcomes = vec![
            // No digest, no key, no such digest, no such cipher, another mode, keys of other lengths.
            hmac().init(Some(b"key"), &[]).is_ok(),
            hmac().init(None, &[sha256()]).is_ok(),
            hmac().set(&[octets(c"key", b"key")]).is_ok(),
            hmac().set(&[text(c"digest", "NOSUCH")]).is_ok(),
            hmac().set(&[text(c"digest", "SHA256"), text(c"properties", "fips=yes")]).is_ok(),
            hmac().set(&[octets(c"key", b"key"), sha256()]).is_ok(),
            hmac().finish().is_ok(),
            hmac().update(b"data").is_ok(),
            cmac().init(Some(&[1; 16]), &[]).is_ok(),
            cmac().set(&[text(c"cipher", "AES-128-GCM")]).is_ok(),
            cmac().set(&[text(c"cipher", "NOSUCH")]).is_ok(),
            cmac().init(Some(&[1; 15]), &[text(c"cipher", "AES-128-CBC")]).is_ok(),
            cmac().init(Some(&[1; 32]), &[text(c"cipher", "AES-128-CBC")]).is_ok(),
            cmac().init(None, &[text(c"cipher", "AES-128-CBC")]).is_ok(),
        ];
        // A buffer that is too short.
        let mut short = hmac();
        short.init(Some(b"key"), &[sha256()]).unwrap();
        outcomes.push(short.finish_into(31).is_ok());
        outcomes.push(short.finish_into(32).is_ok());
        // Lengths before there is a key.
        outcomes.push(hmac().number(c"size") == 0);
        outcomes
    };
    assert_eq!(outcomes(OURS), outcomes(THEIRS));
}

/// A key from the parameters at `init`, in a call before, and a digest that changes.
#[test]
fn a_mac_takes_its_key_by_any_way() {
    let library = both();
    let tags = |query| {
        let mut mac = Mac::fetch(&library, "HMAC", query).unwrap();
        let mut tags = Vec::new();
        for digest in ["SHA1", "SHA3-256", "SHA512", "BLAKE2S-256", "MD5"] {
            mac.set(&[text(c"digest", digest), octets(c"key", b"a key")]).unwrap();
            mac.init(None, &[]).unwrap();
            mac.update(b"data").unwrap();
            tags.push(mac.finish().unwrap());
            mac.init(None, &[octets(c"key", b"")]).unwrap();
            mac.update(b"data").unwrap();
            tags.push(mac.finish().unwrap());
        }
        let mut mac = Mac::fetch(&library, "HMAC", query).unwrap();
        mac.init(Some(b"k"), &[text(c"digest", "SHA256"), text(c"properties", "provider=default")]).unwrap();
        mac.update(b"data").unwrap();
        tags.push(mac.finish().unwrap());
        tags
    };
    assert_eq!(tags(OURS), tags(THEIRS));
}

/// Every padding that a record may have, and what is none.
#[test]
fn the_hmac_of_a_tls_record_is_openssls() {
    let (library, mut random) = (both(), Random::new(4));
    for (name, size) in [("MD5", 16), ("SHA1", 20), ("SHA256", 32), ("SHA384", 48)] {
        let mut ours = Mac::fetch(&library, "HMAC", OURS).unwrap();
        let mut theirs = Mac::fetch(&library, "HMAC", THEIRS).unwrap();
        for mac in [&mut ours, &mut theirs] {
            mac.init(Some(&[7; 20]), &[text(c"digest", name)]).unwrap();
        }
        for total in [size + 16, 64, 256, 272, 512, 1024] {
            for padding in 0..256.min(total - size) {
                let mut total = total;
                let record = random.bytes(total);
                let header: [u8; 13] = random.array();
                let len = total - size - 1 - padding;
                let tag = |mac: &Mac, total: &mut usize| {
                    let mut mac = mac.dup();
                    mac.set(&[Param::size(c"tls-data-size", total)]).unwrap();
                    mac.update(&header).unwrap();
                    mac.update_prefix(&record, len).unwrap();
                    mac.finish().unwrap()
                };
                let expected = tag(&theirs, &mut total);
                assert_eq!(tag(&ours, &mut total), expected, "{name}: {padding} of {total}");
                let mut plain = ours.dup();
                plain.update(&header).unwrap();
                plain.update(&record[..len]).unwrap();
                assert_eq!(plain.finish().unwrap(), expected);
            }
        }
        let mut total = 100;
        ours.set(&[Param::size(c"tls-data-size", &mut total)]).unwrap();
        assert!(ours.update(b"no header").is_err());
        assert!(ours.finish().is_err());
    }
}

#[test]
fn keys_are_derived_as_openssl_derives_them() {
    let (library, mut random) = (both(), Random::new(5));
    let digests = DIGESTS.iter().filter(|name| **name != "MD5-SHA1").chain(FOREIGN);
    for name in digests {
        let size = Digest::fetch(&library, name, THEIRS).unwrap().get(c"size");
        for round in 0..40 {
            let mut octets_of = |key, most| {
                let len = random.below(most);
                octets(key, &random.bytes(len))
            };
            let mode = ["EXTRACT_AND_EXPAND", "EXTRACT_ONLY", "expand_only"][round % 3];
            let kind = if round % 2 == 0 || round % 3 == 0 { "HKDF" } else { "TLS13-KDF" };
            let mut params = vec![text(c"digest", name), text(c"mode", mode), octets_of(c"key", 200)];
            if kind == "HKDF" {
                params.extend([octets_of(c"info", 90), octets_of(c"info", 90)]);
            } else {
                params.extend([
                    octets(c"prefix", b"tls13 "),
                    octets_of(c"label", 100),
                    octets_of(c"data", 100),
                ]);
            }
            if round % 4 > 0 {
                params.push(octets_of(c"salt", 200));
            }
            let len = if mode == "EXTRACT_ONLY" { size } else { 1 + random.below(255 * size) };
            let derive = |query| {
                let mut kdf = Kdf::fetch(&library, kind, query).unwrap();
                let derived = kdf.derive(len, &params);
                let sizes = kdf.number(c"size");
                // A copy has it all (OpenSSL 3.0 can make none of its own); one that is reset has nothing.
                if query == OURS {
                    assert_eq!(kdf.dup().derive(len, &[]), derived);
                }
                kdf.reset();
                assert!(kdf.derive(len, &[]).is_err());
                (reason(derived), reason(sizes))
            };
            assert_eq!(
                derive(OURS),
                derive(THEIRS),
                "{kind} with {name}, {mode}, {len} bytes, round {round}"
            );
        }
    }
}

#[test]
fn what_a_derivation_refuses_is_what_openssl_refuses() {
    let library = both();
    let outcomes = |query| {
        let hkdf = || Kdf::fetch(&library, "HKDF", query).unwrap();
        let tls = || Kdf::fetch(&library, "TLS13-KDF", query).unwrap();
        let (key, sha256) = (octets(c"key", b"key"), text(c"digest", "SHA256"));
        let mode = |mode| text(c"mode", mode);
        let mut outcomes = vec![
            reason(hkdf().derive(16, &[key])),
            reason(hkdf().derive(16, &[sha256])),
            reason(hkdf().derive(0, &[sha256, key])),
            reason(hkdf().derive(31, &[sha256, key, mode("EXTRACT_ONLY")])),
            reason(hkdf().derive(31, &[sha256, key, mode("NO_SUCH_MODE")])),
            reason(hkdf().set(&[text(c"digest", "NOSUCH")]).map(|()| vec![])),
            reason(tls().derive(32, &[sha256, key])),
            reason(tls().derive(32, &[key, mode("EXPAND_ONLY")])),
            reason(hkdf().number(c"size").map(|size| size.to_le_bytes().to_vec())),
        ];
        for mut number in [0, 1, 2, 3] {
            outcomes.push(reason(hkdf().derive(32, &[sha256, key, Param::int(c"mode", &mut number)])));
        }
        // OpenSSL tells no reason for this one.
        outcomes.push(hkdf().derive(255 * 32 + 1, &[sha256, key]).map_err(|_| 0));
        outcomes
    };
    assert_eq!(outcomes(OURS), outcomes(THEIRS));
}

#[test]
fn threads_share_a_library_and_each_has_its_own_contexts() {
    let library = both();
    let theirs = Digest::fetch(&library, "SHA256", THEIRS).unwrap();
    let ours = Digest::fetch(&library, "SHA256", OURS).unwrap();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (library, ours, theirs) = (&library, &ours, &theirs);
            scope.spawn(move || {
                let mut random = Random::new(seed);
                for _ in 0..500 {
                    let len = random.below(300);
                    let data = random.bytes(len);
                    assert_eq!(ours.whole(&data), theirs.whole(&data));
                    let tag = |query, digest| {
                        let mut mac = Mac::fetch(library, "HMAC", query).unwrap();
                        mac.init(Some(b"key"), &[text(c"digest", digest)]).unwrap();
                        mac.update(&data).unwrap();
                        mac.finish().unwrap()
                    };
                    for digest in ["SHA256", "SHA3-224", "SM3"] {
                        assert_eq!(tag(OURS, digest), tag(THEIRS, digest));
                    }
                }
            });
        }
    });
}
