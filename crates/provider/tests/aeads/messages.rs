//! Messages in pieces, and published vectors.
//!
//! # Safety
//! As in the support module: functions of libcrypto are called as its manual says.

use std::ffi::c_uint;
use std::ptr;

use millstream_testkit::{Random, cavp, hex};

use crate::common::{AEADS, AeadContext, TAG, begin, cipher, cut, isolated, open, seal};
use crate::support::{self, CipherContext, Library, libcrypto};
#[test]
fn any_pieces_are_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(1);
    for name in AEADS {
        let cipher = cipher(&theirs, name).unwrap();
        for round in 0..300 {
            let key = random.bytes(cipher.key_len());
            let odd = name.ends_with("GCM") && round % 3 == 0;
            let iv_len = if odd { 1 + random.below(128) } else { 12 };
            let iv = random.bytes(iv_len);
            let len = if round < 150 { round } else { random.below(40_000) };
            let (aad_len, early) = (random.below(70), random.below(2) == 0);
            let (plain, aad) = (random.bytes(len), random.bytes(aad_len));
            let whole = seal(&theirs, name, &key, &iv, &[&aad], &[&plain]);
            let (aads, pieces) = (cut(&mut random, &aad), cut(&mut random, &plain));
            assert_eq!(seal(&ours, name, &key, &iv, &aads, &pieces), whole, "{name}, {len} bytes");
            assert_eq!(seal(&ours, name, &key, &iv, &[&aad], &[&plain]), whole, "{name}, {len} bytes");

            let (sealed, mut tag) = whole;
            let (aads, pieces) = (cut(&mut random, &aad), cut(&mut random, &sealed));
            let mut context = begin(&ours, name, false, &key, &iv);
            let opened = open(&mut context, early, &tag, &aads, &pieces);
            assert_eq!(opened, (plain.clone(), true), "{name}, {len} bytes");
            // Forged: the data comes out as the default provider gives it out, and the end fails.
            tag[random.below(TAG)] ^= 1 << random.below(8);
            context.init(None, false, None, Some(&iv), &[]).unwrap();
            let forged = open(&mut context, early, &tag, &aads, &[&sealed]);
            assert_eq!(forged, (plain, false), "{name}, {len} bytes");
        }
    }
}

/// A cut tag is right if it begins the whole one; one of any length is taken, as the default provider does.
#[test]
fn cut_tags() {
    let ours = Library::millstream();
    for name in AEADS {
        let key = vec![7; cipher(&ours, name).unwrap().key_len()];
        let (sealed, tag) = seal(&ours, name, &key, &[1; 12], &[b"aad"], &[b"message"]);
        for len in 1..=TAG {
            for early in [false, true] {
                let mut context = begin(&ours, name, false, &key, &[1; 12]);
                let opened = open(&mut context, early, &tag[..len], &[b"aad"], &[&sealed]);
                assert_eq!(opened, (b"message".to_vec(), true), "{name}, {len} bytes of tag");
                let mut wrong = tag[..len].to_vec();
                wrong[len - 1] ^= 0x10;
                context.init(None, false, None, Some(&[1; 12]), &[]).unwrap();
                assert!(!open(&mut context, early, &wrong, &[b"aad"], &[&sealed]).1, "{name}, {len} bytes");
            }
        }
        let mut context = begin(&ours, name, true, &key, &[1; 12]);
        context.associate(b"aad").unwrap();
        context.update(b"message").unwrap();
        context.finish().unwrap();
        assert_eq!(context.tag(5).unwrap(), tag[..5]);
    }
}

/// The tag is right for the first piece, but another comes: that is decrypted, and the end fails.
#[test]
fn more_than_the_message() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in AEADS {
        let key = vec![7; cipher(&ours, name).unwrap().key_len()];
        let (sealed, tag) = seal(&ours, name, &key, &[1; 12], &[b"aad"], &[b"message"]);
        let run = |library: &Library| {
            let mut context = begin(library, name, false, &key, &[1; 12]);
            open(&mut context, true, &tag, &[b"aad"], &[&sealed, b"and more"])
        };
        let (opened, right) = run(&ours);
        assert!(opened.starts_with(b"message") && !right, "{name}");
        assert_eq!((opened, right), run(&theirs), "{name}");
        // A longer piece is not kept, so the next is refused.
        let (sealed, tag) = seal(&ours, name, &key, &[1; 12], &[], &[&[1; 9000]]);
        let mut context = begin(&ours, name, false, &key, &[1; 12]);
        context.expect(&tag).unwrap();
        assert_eq!(context.update(&sealed).unwrap(), [1; 9000]);
        assert!(isolated() || context.update(b"and more").is_err(), "{name}");
    }
}

/// NIST CAVP: vectors of 8, 96 and 1024 bits, tags of 32 to 128 bits, forgeries.
#[test]
fn cavp_gcm() {
    let ours = Library::millstream();
    for bits in [128, 192, 256] {
        let name = format!("AES-{bits}-GCM");
        for (file, encrypt) in [("gcmEncryptExtIV", true), ("gcmDecrypt", false)] {
            let cases = cavp::cases(&format!("ciphers/AES/GCM/{file}{bits}.rsp"));
            assert_eq!(cases.len(), 7875);
            let mut taken = 0;
            for case in &cases {
                let value = |name: &str| hex(&case[name]);
                let (key, iv, tag) = (value("Key"), value("IV"), value("Tag"));
                let aad = value("AAD");
                taken += 1;
                if encrypt {
                    let (sealed, made) = seal(&ours, &name, &key, &iv, &[&aad], &[&value("PT")]);
                    assert_eq!((sealed, &made[..tag.len()]), (value("CT"), &tag[..]), "{case:?}");
                } else {
                    let mut context = begin(&ours, &name, false, &key, &iv);
                    let (opened, right) = open(&mut context, true, &tag, &[&aad], &[&value("CT")]);
                    assert_eq!(right, !case.contains_key("FAIL"), "{case:?}");
                    assert!(!right || opened == value("PT"), "{case:?}");
                }
            }
            assert_eq!(taken, 7875);
        }
    }
}

/// OpenSSL's own vectors.
#[test]
fn chacha_vectors() {
    let ours = Library::millstream();
    let cases = cavp::cases("ciphers/ChaCha20Poly1305/openssl.txt");
    let mut taken = 0;
    for case in &cases {
        let value = |name: &str| hex(&case[name]);
        let (iv, tag, sealed) = (value("IV"), value("Tag"), value("Ciphertext"));
        if iv.len() != 12 {
            continue;
        }
        let mut context = begin(&ours, "ChaCha20-Poly1305", false, &value("Key"), &iv);
        let (opened, right) = open(&mut context, true, &tag, &[&value("AAD")], &[&sealed]);
        assert_eq!((opened, right), (value("Plaintext"), !case.contains_key("Result")), "{case:?}");
        taken += 1;
    }
    assert_eq!((taken, cases.len()), (5, 5));
}

#[test]
fn names_and_nature() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for (name, others) in [
        ("AES-128-GCM", [c"id-aes128-GCM", c"2.16.840.1.101.3.4.1.6"].as_slice()),
        ("AES-192-GCM", &[c"id-aes192-GCM", c"2.16.840.1.101.3.4.1.26"]),
        ("AES-256-GCM", &[c"id-aes256-GCM", c"2.16.840.1.101.3.4.1.46"]),
        ("ChaCha20-Poly1305", &[]),
    ] {
        let (our, their) = (cipher(&ours, name).unwrap(), cipher(&theirs, name).unwrap());
        assert_eq!(our.nature(), their.nature(), "{name}");
        let lengths = |cipher: &support::Cipher| (cipher.key_len(), cipher.iv_len(), cipher.block_len());
        assert_eq!(lengths(&our), lengths(&their), "{name}");
        for other in others {
            assert!(our.is_a(other) && their.is_a(other), "{name} is {other:?}");
        }
    }
}

/// Key and vector in any order and in calls of their own.
#[test]
fn key_and_vector_come_in_any_order() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in AEADS {
        let cipher = cipher(&ours, name).unwrap();
        let (key, iv) = (vec![3; cipher.key_len()], [4; 12]);
        let expected = seal(&theirs, name, &key, &iv, &[b"head"], &[b"body"]);
        type Init<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);
        let steps: [&[Init<'_>]; 4] = [
            &[(Some(&key), Some(&iv))],
            &[(Some(&key), None), (None, Some(&iv))],
            &[(None, Some(&iv)), (Some(&key), None)],
            &[(Some(&[9; 32]), Some(&[9; 12])), (Some(&key), None), (None, Some(&iv))],
        ];
        for steps in steps {
            let mut context = CipherContext::new();
            context.init(Some(&cipher), true, None, None, &[]).unwrap();
            for (key, iv) in steps {
                context.init(None, true, *key, *iv, &[]).unwrap();
            }
            context.associate(b"head").unwrap();
            let mut out = context.update(b"body").unwrap();
            out.extend(context.finish().unwrap());
            assert_eq!((out, context.tag(TAG).unwrap()), expected, "{name}");
        }
    }
}

#[test]
fn a_copy_goes_its_own_way() {
    let ours = Library::millstream();
    for name in AEADS {
        let key = vec![5; cipher(&ours, name).unwrap().key_len()];
        let expected = seal(&ours, name, &key, &[6; 12], &[b"head"], &[b"one message", b" in pieces"]);
        let mut first = begin(&ours, name, true, &key, &[6; 12]);
        first.associate(b"he").unwrap();
        let mut second = first.copy().unwrap();
        second.associate(b"ad").unwrap();
        let mut out = second.update(b"one mess").unwrap();
        let mut third = second.copy().unwrap();
        second.update(b"something else").unwrap();
        drop(second);
        first.associate(b"ly").unwrap();
        out.extend(third.update(b"age in pieces").unwrap());
        third.finish().unwrap();
        assert_eq!((out, third.tag(TAG).unwrap()), expected, "{name}");
        assert_eq!(third.copy().unwrap().tag(TAG).unwrap(), expected.1, "{name}");
        first.update(b"x").unwrap();
        first.finish().unwrap();
        assert_ne!(first.tag(TAG).unwrap(), expected.1, "{name}");
    }
}

#[test]
fn input_and_output_may_be_the_same_memory_or_overlap() {
    let ours = Library::millstream();
    let mut random = Random::new(3);
    for name in AEADS {
        let key = vec![5; cipher(&ours, name).unwrap().key_len()];
        for len in [1, 15, 16, 17, 100, 1000] {
            let plain = random.bytes(len);
            let (expected, tag) = seal(&ours, name, &key, &[6; 12], &[], &[&plain]);
            for shift in [0, 1, 16] {
                let mut context = begin(&ours, name, true, &key, &[6; 12]);
                let mut memory = vec![0; len + 64];
                memory[..len].copy_from_slice(&plain);
                let at = memory.as_mut_ptr();
                // SAFETY: both lie in the memory.
                unsafe { context.update_raw(at.add(shift), at, len).unwrap() };
                context.finish().unwrap();
                assert_eq!(memory[shift..shift + len], expected, "{name} {len} {shift}");
                assert_eq!(context.tag(TAG).unwrap(), tag, "{name} {len} {shift}");
            }
        }
    }
}

#[test]
fn threads_share_a_cipher() {
    let ours = Library::millstream();
    for name in AEADS {
        let key = vec![5; cipher(&ours, name).unwrap().key_len()];
        let expected = seal(&ours, name, &key, &[6; 12], &[b"head"], &[&[1; 5000]]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        assert_eq!(seal(&ours, name, &key, &[6; 12], &[b"head"], &[&[1; 5000]]), expected);
                    }
                });
            }
        });
    }
}

/// `EVP_Cipher` as OpenSSH calls it: no output for associated data, no input for the end.
#[test]
fn the_whole_message_by_evp_cipher() {
    let ours = Library::millstream();
    for name in AEADS {
        let key = vec![5; cipher(&ours, name).unwrap().key_len()];
        let (expected, tag) = seal(&ours, name, &key, &[6; 12], &[b"head"], &[b"some packet"]);
        let call = |context: &mut CipherContext, out: *mut u8, input: *const u8, len: c_uint| {
            // SAFETY: buffers as long as they say, or none.
            unsafe { (libcrypto().EVP_Cipher)(context.0, out, input, len) }
        };
        let mut context = begin(&ours, name, true, &key, &[6; 12]);
        let mut packet = *b"some packet";
        assert_eq!(call(&mut context, ptr::null_mut(), b"head".as_ptr(), 4), 4);
        assert_eq!(call(&mut context, packet.as_mut_ptr(), packet.as_ptr(), 11), 11);
        assert_eq!(call(&mut context, ptr::null_mut(), ptr::null(), 0), 0);
        assert_eq!((&packet[..], context.tag(TAG).unwrap()), (&expected[..], tag.clone()), "{name}");
        for (tag, returned) in [(tag.clone(), 0), (vec![0; TAG], -1)] {
            let mut context = begin(&ours, name, false, &key, &[6; 12]);
            let mut packet = expected.clone();
            context.expect(&tag).unwrap();
            assert_eq!(call(&mut context, ptr::null_mut(), b"head".as_ptr(), 4), 4);
            assert_eq!(call(&mut context, packet.as_mut_ptr(), packet.as_ptr(), 11), 11);
            assert_eq!(call(&mut context, ptr::null_mut(), ptr::null(), 0), returned, "{name}");
        }
    }
}
