//! AES key wrap against OpenSSL's own, against the vectors of its RFCs, and in calls that must fail.
#![allow(unsafe_code)]

#[path = "support/mod.rs"]
mod support;

use std::ptr;

use millstream_testkit::{Random, hex};
use support::{CipherContext, Library, Refused};

/// Bytes of key and of the check value, and whether keys are padded.
const CIPHERS: [(&str, usize, usize, bool); 6] = [
    ("AES-128-WRAP", 16, 8, false),
    ("AES-192-WRAP", 24, 8, false),
    ("AES-256-WRAP", 32, 8, false),
    ("AES-128-WRAP-PAD", 16, 4, true),
    ("AES-192-WRAP-PAD", 24, 4, true),
    ("AES-256-WRAP-PAD", 32, 4, true),
];

fn begin(library: &Library, name: &str, encrypt: bool, key: &[u8], check: Option<&[u8]>) -> CipherContext {
    let cipher = library.cipher(name).unwrap_or_else(|| panic!("{name} is missing"));
    let mut context = CipherContext::new();
    context.init(Some(&cipher), encrypt, Some(key), check, &[]).unwrap();
    context
}

fn run(context: &mut CipherContext, input: &[u8]) -> Result<Vec<u8>, Refused> {
    let output = context.update(input)?;
    assert_eq!(context.finish()?, []);
    Ok(output)
}

#[test]
fn keys_are_wrapped_as_openssl_does_and_unwrap_on_both_sides() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(38);
    for (name, key, check, padded) in CIPHERS {
        for len in (1..70).chain([512, 4096]).filter(|len| padded || (len % 8 == 0 && *len >= 16)) {
            let (key, check, secret) = (random.bytes(key), random.bytes(check), random.bytes(len));
            for check in [None, Some(&*check)] {
                let [wrapped, expected] = [&ours, &theirs]
                    .map(|library| run(&mut begin(library, name, true, &key, check), &secret).unwrap());
                assert_eq!(wrapped, expected, "{name} {len}");
                for library in [&ours, &theirs] {
                    let unwrap = |wrapped| run(&mut begin(library, name, false, &key, check), wrapped);
                    assert_eq!(unwrap(&wrapped).unwrap(), secret, "{name} {len}");
                    let mut forged = wrapped.clone();
                    forged[len % wrapped.len()] ^= 4;
                    unwrap(&forged).unwrap_err();
                    let other =
                        if check.is_some() { None } else { Some(&[9; 8][..if padded { 4 } else { 8 }]) };
                    run(&mut begin(library, name, false, &key, other), &wrapped).unwrap_err();
                }
            }
        }
    }
}

#[test]
fn published_vectors() {
    let ours = Library::millstream();
    for (name, key, secret, wrapped) in [
        // RFC 3394 §4.6.
        (
            "AES-256-WRAP",
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
            "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
            "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
        ),
        // RFC 5649 §6.
        (
            "AES-192-WRAP-PAD",
            "5840df6e29b02af1ab493b705bf16ea1ae8338f4dcc176a8",
            "c37b7e6492584340bed12207808941155068f738",
            "138bdeaa9b8fa7fc61f97742e72248ee5ae6ae5360d1ae6a5f54f373fa543b6a",
        ),
    ] {
        let wrapping = &mut begin(&ours, name, true, &hex(key), None);
        assert_eq!(run(wrapping, &hex(secret)).unwrap(), hex(wrapped), "{name}");
        assert_eq!(run(&mut begin(&ours, name, false, &hex(key), None), &hex(wrapped)).unwrap(), hex(secret));
    }
}

/// Each name that OpenSSL has for a cipher is ours, too, and says the same of it.
#[test]
fn names_and_descriptions_are_those_of_openssl() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for (name, key, check, _) in CIPHERS {
        let bits = &name[4..7];
        let padded = if name.ends_with("PAD") { "-PAD" } else { "" };
        let names = [
            name.to_owned(),
            format!("id-aes{bits}-wrap{}", padded.to_lowercase()),
            format!("AES{bits}-WRAP{padded}"),
        ];
        for name in &names {
            for library in [&ours, &theirs] {
                let context = begin(library, name, true, &vec![1; key], None);
                assert_eq!(context.number(c"keylen").unwrap(), key, "{name}");
                assert_eq!(context.number(c"ivlen").unwrap(), check, "{name}");
            }
        }
    }
}

#[test]
fn calls_that_fail_and_those_after_them() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for library in [&ours, &theirs] {
        for (name, key, _, padded) in CIPHERS {
            let key = vec![7; key];
            let fresh = |wraps| begin(library, name, wraps, &key, None);
            for len in if padded { vec![] } else { vec![1, 8, 15, 17, 31] } {
                assert!(fresh(true).update(&vec![1; len]).is_err(), "{name} {len}");
            }
            // An update without output tells the room.
            let (mut wrapping, input) = (fresh(true), [5; 24]);
            // SAFETY: 24 bytes of input, and no output.
            let room = unsafe { wrapping.update_raw(ptr::null_mut(), input.as_ptr(), input.len()) };
            assert_eq!(room, Ok(32), "{name}");
            let wrapped = wrapping.update(&input).unwrap();
            assert_eq!(wrapped.len(), 32, "{name}");
            for len in [1, 8, 15, 25] {
                assert!(fresh(false).update(&wrapped[..len]).is_err(), "{name} {len}");
            }
            assert_eq!(fresh(false).update(&wrapped).unwrap(), input, "{name}");
        }
    }
    // One context of ours takes one key after another, also after one that it refused, as those of OpenSSL 3.0 do.
    for (name, key, _, _) in CIPHERS {
        let key = vec![7; key];
        let [mut wrapping, mut unwrapping] = [true, false].map(|wraps| begin(&ours, name, wraps, &key, None));
        let [first, again] = [(); 2].map(|()| wrapping.update(&[5; 24]).unwrap());
        assert_eq!(first, again, "{name}");
        assert!(unwrapping.update(&first[..25]).is_err(), "{name}");
        assert_eq!(unwrapping.update(&first).unwrap(), [5; 24], "{name}");
    }
    for (name, ..) in CIPHERS {
        let mut without = CipherContext::new();
        without.init(Some(&ours.cipher(name).unwrap()), true, None, None, &[]).unwrap();
        assert!(without.update(&[5; 24]).is_err(), "{name} without a key");
    }
}

/// In place and with output that overlaps the input, as callers of OpenSSL's own do it.
#[test]
fn input_and_output_may_be_one_buffer() {
    let ours = Library::millstream();
    for (name, key, ..) in CIPHERS {
        let key = vec![3; key];
        let expected = begin(&ours, name, true, &key, None).update(&[8; 24]).unwrap();
        for shift in [0, 8] {
            let mut buffer = [8; 64];
            let from = buffer[shift..].as_ptr();
            let mut wrapping = begin(&ours, name, true, &key, None);
            // SAFETY: 24 bytes of input, and room for more than a block beyond them.
            let len = unsafe { wrapping.update_raw(buffer.as_mut_ptr(), from, 24) };
            assert_eq!(buffer[..len.unwrap()], expected, "{name} {shift}");
        }
    }
}
