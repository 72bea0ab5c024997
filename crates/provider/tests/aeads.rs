//! AEADs against OpenSSL's own, and against published vectors.
//!
//! With their keys in this process; or, where `MILLSTREAM_SOCKET` names a service, in that.
//!
//! # Safety
//! As in the support module: functions of libcrypto are called as its manual says.
#![allow(unsafe_code)]

mod support;

use std::ffi::{c_int, c_uint};
use std::ptr;

use millstream_testkit::{Random, cavp, hex};
use support::{CipherContext, Library, Param, Refused, done, libcrypto, version};

const AEADS: &[&str] = &["AES-128-GCM", "AES-192-GCM", "AES-256-GCM", "ChaCha20-Poly1305"];
const TAG: usize = 16;

/// Numbers of `EVP_CIPHER_CTX_ctrl`.
const SET_IV_LEN: c_int = 0x09;
const GET_TAG: c_int = 0x10;
const SET_TAG: c_int = 0x11;
const SET_IV_FIXED: c_int = 0x12;
const IV_GEN: c_int = 0x13;
const TLS_AAD: c_int = 0x16;
const SET_IV_INV: c_int = 0x18;

/// What makes AEADs of contexts.
trait AeadContext {
    fn ctrl(&mut self, number: c_int, len: c_int, data: &mut [u8]) -> c_int;
    fn tag(&mut self, len: usize) -> Result<Vec<u8>, Refused>;
    fn expect(&mut self, tag: &[u8]) -> Result<(), Refused>;
    fn fix(&mut self, iv: &[u8]);
    /// Announces a record; how many bytes it has more than its data.
    fn announce(&mut self, aad: &[u8]) -> c_int;
    /// A record in place; what was returned.
    fn record(&mut self, record: &mut [u8]) -> c_int;
}

impl AeadContext for CipherContext {
    fn ctrl(&mut self, number: c_int, len: c_int, data: &mut [u8]) -> c_int {
        let data = if data.is_empty() { ptr::null_mut() } else { data.as_mut_ptr() };
        // SAFETY: data is as long as it says, or the call takes none.
        unsafe { (libcrypto().EVP_CIPHER_CTX_ctrl)(self.0, number, len, data.cast()) }
    }

    fn tag(&mut self, len: usize) -> Result<Vec<u8>, Refused> {
        let mut tag = vec![0; len];
        done(self.ctrl(GET_TAG, len as c_int, &mut tag)).map(|()| tag)
    }

    fn expect(&mut self, tag: &[u8]) -> Result<(), Refused> {
        done(self.ctrl(SET_TAG, tag.len() as c_int, &mut tag.to_vec()))
    }

    fn fix(&mut self, iv: &[u8]) {
        assert_eq!(self.ctrl(SET_IV_FIXED, iv.len() as c_int, &mut iv.to_vec()), 1);
    }

    fn announce(&mut self, aad: &[u8]) -> c_int {
        self.ctrl(TLS_AAD, aad.len() as c_int, &mut aad.to_vec())
    }

    fn record(&mut self, record: &mut [u8]) -> c_int {
        let at = record.as_mut_ptr();
        // SAFETY: in place.
        unsafe { (libcrypto().EVP_Cipher)(self.0, at, at, record.len() as c_uint) }
    }
}

/// Whether keys go to a service.
fn isolated() -> bool {
    std::env::var_os("MILLSTREAM_SOCKET").is_some()
}

/// A cipher of that name, isolated where there is a service.
fn cipher(library: &Library, name: &str) -> Option<support::Cipher> {
    library.cipher_with(name, if isolated() { c"?millstream.isolated=yes" } else { c"" })
}

/// Encrypts in pieces; what comes out, and the tag.
fn seal(
    library: &Library,
    name: &str,
    key: &[u8],
    iv: &[u8],
    aad: &[&[u8]],
    pieces: &[&[u8]],
) -> (Vec<u8>, Vec<u8>) {
    let mut context = begin(library, name, true, key, iv);
    for aad in aad {
        context.associate(aad).unwrap();
    }
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece).unwrap());
    }
    assert!(context.finish().unwrap().is_empty());
    (out, context.tag(TAG).unwrap())
}

/// A context for a vector of any length.
fn begin(library: &Library, name: &str, encrypt: bool, key: &[u8], iv: &[u8]) -> CipherContext {
    let cipher = cipher(library, name).unwrap_or_else(|| panic!("no {name}"));
    let mut context = CipherContext::new();
    context.init(Some(&cipher), encrypt, None, None, &[]).unwrap();
    assert_eq!(context.ctrl(SET_IV_LEN, iv.len() as c_int, &mut []), 1);
    context.init(None, encrypt, Some(key), Some(iv), &[]).unwrap();
    context
}

/// Decrypts in pieces, the tag set before the data or after; what came out, and whether the tag was right.
fn open(
    context: &mut CipherContext,
    early: bool,
    tag: &[u8],
    aad: &[&[u8]],
    pieces: &[&[u8]],
) -> (Vec<u8>, bool) {
    if early {
        context.expect(tag).unwrap();
    }
    for aad in aad {
        context.associate(aad).unwrap();
    }
    let mut out = Vec::new();
    for piece in pieces {
        out.extend(context.update(piece).unwrap());
    }
    if !early {
        context.expect(tag).unwrap();
    }
    let ended = context.finish();
    if let Err(why) = &ended {
        // As the default provider: callers who go on would take it for an error of theirs.
        assert_eq!(why.code, 0, "a wrong tag puts no error into the queue: {}", why.text);
    }
    (out, ended.is_ok())
}

/// Three pieces of any length.
fn cut<'a>(random: &mut Random, whole: &'a [u8]) -> [&'a [u8]; 3] {
    let (a, b) = (random.below(whole.len() + 1), random.below(whole.len() + 1));
    let (a, b) = (a.min(b), a.max(b));
    [&whole[..a], &whole[a..b], &whole[b..]]
}

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

/// The associated data of a record.
fn record_aad(sequence: u64, len: usize) -> [u8; 13] {
    let mut aad = [0; 13];
    aad[..8].copy_from_slice(&sequence.to_be_bytes());
    aad[8..11].copy_from_slice(&[23, 3, 3]);
    aad[11..].copy_from_slice(&(len as u16).to_be_bytes());
    aad
}

/// Bytes of a record before its data.
fn explicit(name: &str) -> usize {
    if name.ends_with("GCM") { 8 } else { 0 }
}

/// A context for records.
fn records(library: &Library, name: &str, encrypt: bool) -> CipherContext {
    let cipher = cipher(library, name).unwrap();
    let mut context = CipherContext::new();
    context.init(Some(&cipher), encrypt, Some(&vec![8; cipher.key_len()]), None, &[]).unwrap();
    context.fix(if explicit(name) > 0 { &[9; 4] } else { &[9; 12] });
    context
}

#[test]
fn records_of_tls_1_2() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let mut random = Random::new(4);
    for name in AEADS {
        for (sender, receiver) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            let (mut sending, mut receiving) = (records(sender, name, true), records(receiver, name, false));
            let explicit = explicit(name);
            let mut last = None;
            for sequence in 0..60 {
                let len = if sequence < 40 { sequence as usize } else { random.below(16385) };
                let plain = random.bytes(len);
                let mut record = vec![0; explicit];
                record.extend(&plain);
                record.extend([0; TAG]);
                assert_eq!(sending.announce(&record_aad(sequence, explicit + len)), TAG as c_int);
                assert_eq!(sending.number(c"tlsaadpad").unwrap(), TAG);
                let whole = record.len() as c_int;
                assert_eq!(sending.record(&mut record), whole, "{name}");
                let invocation = record[..explicit].to_vec();
                if let Some(last) = last.replace(invocation.clone()) {
                    assert!(explicit == 0 || u64_of(&last).wrapping_add(1) == u64_of(&invocation));
                }
                let mut forged = record.clone();
                forged[explicit + random.below(len + TAG)] ^= 1;

                let returned = if explicit > 0 { whole } else { len as c_int };
                assert_eq!(receiving.announce(&record_aad(sequence, record.len())), TAG as c_int);
                assert_eq!(receiving.record(&mut record), returned, "{name}");
                assert_eq!(record[explicit..explicit + len], plain, "{name}");

                assert_eq!(receiving.announce(&record_aad(sequence, forged.len())), TAG as c_int);
                assert_eq!(receiving.record(&mut forged), -1, "{name}");
                assert!(forged[explicit..explicit + len].iter().all(|byte| *byte == 0), "{name}: given out");
                assert_eq!(support::refused().code, 0, "{name}: a forged record leaves no error");
            }
        }
    }
}

fn u64_of(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_be_bytes)
}

/// By `EVP_CipherUpdate`, which tells the bytes of data; ChaCha20-Poly1305 also from one place to another.
#[test]
fn records_by_update() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in AEADS {
        let (explicit, plain) = (explicit(name), [0x5a; 333]);
        let run = |library: &Library| {
            let (mut sending, mut receiving) = (records(library, name, true), records(library, name, false));
            if explicit > 0 {
                // Else the sender's part is random.
                let mut whole = [9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8];
                sending.ctrl(SET_IV_FIXED, -1, &mut whole);
            }
            let mut record = [&[0; 8][..explicit], &plain, &[0; TAG]].concat();
            sending.announce(&record_aad(1, explicit + plain.len()));
            let at = record.as_mut_ptr();
            // SAFETY: in place.
            let written = unsafe { sending.update_raw(at, at, record.len()).unwrap() };
            assert_eq!(written, record.len());
            receiving.announce(&record_aad(1, record.len()));
            let sealed = record.clone();
            if explicit > 0 {
                let at = record.as_mut_ptr();
                // SAFETY: in place.
                assert_eq!(unsafe { receiving.update_raw(at, at, record.len()).unwrap() }, plain.len());
                assert_eq!(record[8..8 + plain.len()], plain);
            } else {
                assert_eq!(receiving.update(&record).unwrap(), plain);
                let mut forged = record.clone();
                forged[0] ^= 1;
                receiving.announce(&record_aad(1, record.len()));
                let mut out = [1; 333 + TAG];
                receiving.update_into(&mut out, &forged).unwrap_err();
                assert_eq!(out[..333], [0; 333]);
            }
            sealed
        };
        assert_eq!(run(&ours), run(&theirs), "{name}");
    }
}

#[test]
fn a_record_that_was_announced_comes_next() {
    let ours = Library::millstream();
    for name in AEADS {
        let explicit = explicit(name);
        let mut context = records(&ours, name, true);
        context.announce(&record_aad(1, explicit + 5));
        context.finish().unwrap_err();
        context.announce(&record_aad(1, explicit + 5));
        context.associate(b"more").unwrap_err();
        // Too short, and of another length.
        context.announce(&record_aad(1, explicit + 5));
        assert_eq!(context.record(&mut [0; 15]), -1, "{name}");
        support::refused();
        if explicit > 0 {
            // Not in place.
            context.announce(&record_aad(1, explicit + 5));
            context.update(&[0; 8 + 5 + TAG]).unwrap_err();
        } else {
            assert_eq!(context.record(&mut [0; 6 + TAG]), -1, "{name}");
            support::refused();
        }
        context.fix(if explicit > 0 { &[9; 4] } else { &[9; 12] });
        context.announce(&record_aad(1, explicit + 5));
        assert_eq!(context.record(&mut vec![0; explicit + 5 + TAG]), (explicit + 5 + TAG) as c_int, "{name}");
    }
}

#[test]
fn a_vector_that_was_not_given_is_random() {
    let ours = Library::millstream();
    let cipher = cipher(&ours, "AES-256-GCM").unwrap();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let mut context = CipherContext::new();
        context.init(Some(&cipher), true, Some(&[1; 32]), None, &[]).unwrap();
        let before = context.octets(c"iv", 12);
        let sealed = context.update(b"message").unwrap();
        assert_eq!(context.number(c"iv-generated").unwrap(), 1);
        let iv = context.octets(c"iv", 12).unwrap();
        // From OpenSSL 4.0 on it is made for who asks for it.
        assert_eq!(before.ok(), (support::version().0 >= 4).then(|| iv.clone()));
        context.finish().unwrap();
        let tag = context.tag(TAG).unwrap();
        let mut receiving = begin(&ours, "AES-256-GCM", false, &[1; 32], &iv);
        assert_eq!(receiving.number(c"iv-generated").unwrap(), 0);
        assert_eq!(open(&mut receiving, true, &tag, &[], &[&sealed]), (b"message".to_vec(), true));
        assert!(!seen.contains(&iv));
        seen.push(iv);
    }
    // Who asks first is answered as by the default provider.
    let theirs = Library::openssl();
    for (encrypt, announced) in [(true, false), (false, false), (true, true)] {
        let answers = [&ours, &theirs].map(|library| {
            let cipher = library.cipher("AES-256-GCM").unwrap();
            let mut context = CipherContext::new();
            context.init(Some(&cipher), encrypt, Some(&[1; 32]), None, &[]).unwrap();
            if announced {
                context.announce(&record_aad(1, 40));
            }
            context.octets(c"updated-iv", 12).is_ok()
        });
        assert_eq!(answers[0], answers[1], "encrypts: {encrypt}, announced: {announced}");
    }
    // None that is shorter than 12 bytes, and none to decrypt with.
    let mut context = CipherContext::new();
    context.init(Some(&cipher), true, Some(&[1; 32]), None, &[]).unwrap();
    assert_eq!(context.ctrl(SET_IV_LEN, 11, &mut []), 1);
    context.update(b"message").unwrap_err();
    let mut context = CipherContext::new();
    context.init(Some(&cipher), false, Some(&[1; 32]), None, &[]).unwrap();
    context.update(b"message").unwrap_err();
}

/// What a step of a script did: its name, what it returned, what came out.
#[derive(Debug, PartialEq)]
struct Step(&'static str, Result<Vec<u8>, String>);

fn outcome(name: &'static str, result: Result<Vec<u8>, Refused>, why: bool) -> Step {
    Step(name, result.map_err(|refused| if why { reason(&refused) } else { String::new() }))
}

/// Its words for why, without what comes after.
fn reason(refused: &Refused) -> String {
    refused.text.rsplit(':').next().unwrap_or_default().to_owned()
}

/// Any calls in any order, as a seed says: the same on both sides.
fn script(library: &Library, name: &str, seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let cipher = cipher(library, name).unwrap();
    let gcm = name.ends_with("GCM");
    let (key_len, mut iv_len) = (cipher.key_len(), 12);
    let mut context = CipherContext::new();
    let mut encrypt = random.below(2) == 0;
    context.init(Some(&cipher), encrypt, None, None, &[]).unwrap();
    let mut steps = Vec::new();
    let (mut finished, mut refused_tag) = (false, false);
    // Where the default provider computes on with a key or a vector that were never set.
    let (mut keyed, mut vectored) = (false, false);
    for _ in 0..20 {
        let choice = random.below(16);
        let bytes = |random: &mut Random, limit| {
            let len = random.below(limit);
            random.bytes(len)
        };
        let step = match choice {
            0 | 1 => {
                encrypt = random.below(2) == 0;
                let (key, iv) = (random.bytes(key_len), random.bytes(iv_len));
                (keyed, vectored, finished) = (true, true, false);
                outcome(
                    "init",
                    context.init(None, encrypt, Some(&key), Some(&iv), &[]).map(|()| vec![]),
                    true,
                )
            }
            2 if keyed => {
                let iv = random.bytes(iv_len);
                (vectored, finished) = (true, false);
                outcome("vector", context.init(None, encrypt, None, Some(&iv), &[]).map(|()| vec![]), true)
            }
            3 if gcm => {
                let len = [0, 1, 7, 12, 12, 12, 16, 128, 129][random.below(9)];
                let result = done(context.ctrl(SET_IV_LEN, len, &mut []));
                if result.is_ok() {
                    vectored &= iv_len == len as usize;
                    iv_len = len as usize;
                }
                outcome("vector's length", result.map(|()| vec![]), true)
            }
            4 | 5 => {
                let tag = bytes(&mut random, 18);
                // Later versions put an error of another library first.
                let result = context.expect(&tag).map(|()| vec![]);
                refused_tag |= result.is_err();
                outcome("set tag", result, tag.len() <= TAG && !tag.is_empty())
            }
            6 | 7 => {
                // Before the end of the first message the default provider's tag is whatever lies there; and a tag that it
                // refuses it keeps all the same.
                let len = 1 + random.below(17);
                if finished && !refused_tag || !encrypt {
                    outcome("get tag", context.tag(len), true)
                } else {
                    continue;
                }
            }
            8 | 9 if keyed && vectored && (gcm || !finished) => {
                let aad = bytes(&mut random, 40);
                if !gcm
                    && version() < (4, 0)
                    && steps
                        .iter()
                        .rev()
                        .take_while(|Step(name, _)| *name != "init" && *name != "vector")
                        .any(|Step(name, _)| *name == "data")
                {
                    // Before 4.0 it takes associated data after data, and computes a tag that means nothing.
                    continue;
                }
                outcome("associated", context.associate(&aad).map(|()| vec![]), gcm)
            }
            10..=12 if keyed && vectored && (gcm || !finished) => {
                let data = bytes(&mut random, 100);
                outcome("data", context.update(&data), gcm)
            }
            13 | 14 if keyed && vectored && !finished => {
                finished = true;
                let no_tag = !encrypt && !gcm && context.number(c"taglen").unwrap() == 0;
                if no_tag && version() < (4, 0) {
                    // Before 4.0 it takes anything for right then.
                    continue;
                }
                let result = context.finish();
                // It computes on after a wrong tag.
                vectored &= result.is_ok();
                outcome("end", result, false)
            }
            _ => {
                let numbers = [c"keylen", c"ivlen", c"taglen"].map(|key| context.number(key).unwrap() as u8);
                outcome("lengths", Ok(numbers.to_vec()), true)
            }
        };
        steps.push(step);
    }
    steps
}

#[test]
fn any_calls_in_any_order_are_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    for name in AEADS {
        for seed in 1..3000 {
            assert_eq!(script(&ours, name, seed), script(&theirs, name, seed), "{name}, seed {seed}");
        }
    }
}

/// What is refused before anything is computed, in the default provider's words.
#[test]
fn refusals_are_as_the_default_providers() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let gcm = |library: &Library, encrypt: bool, key: bool| {
        let cipher = cipher(library, "AES-128-GCM").unwrap();
        let mut context = CipherContext::new();
        context.init(Some(&cipher), encrypt, key.then_some(&[1; 16]), None, &[]).unwrap();
        context
    };
    type Try = fn(&mut CipherContext) -> c_int;
    let tries: &[(bool, bool, Try)] = &[
        (true, false, |context| c_int::from(context.update(b"data").is_ok())),
        (true, true, |context| context.ctrl(IV_GEN, 8, &mut [0; 8])),
        (true, true, |context| context.ctrl(SET_IV_FIXED, 3, &mut [0; 3])),
        (true, true, |context| context.ctrl(SET_IV_FIXED, 5, &mut [0; 5])),
        (true, true, |context| context.ctrl(SET_IV_INV, 8, &mut [0; 8])),
        (false, true, |context| context.ctrl(SET_IV_INV, 8, &mut [0; 8])),
        (true, true, |context| context.announce(&[0; 12])),
        (true, true, |context| context.announce(&record_aad(0, 7))),
        (false, true, |context| context.announce(&record_aad(0, 23))),
        (true, true, |context| context.ctrl(SET_TAG, 16, &mut [0; 16])),
        (true, true, |context| context.ctrl(GET_TAG, 16, &mut [0; 16])),
        (false, true, |context| context.ctrl(GET_TAG, 16, &mut [0; 16])),
        (true, true, |context| context.ctrl(SET_IV_LEN, 0, &mut [])),
        (true, true, |context| context.ctrl(SET_IV_LEN, 129, &mut [])),
        (true, true, |context| c_int::from(context.set_number(c"keylen", 17).is_ok())),
        (true, true, |context| {
            let mut short = [0; 11];
            context.init(None, true, None, Some(&[1; 12]), &[]).unwrap();
            c_int::from(context.get(&[Param::octets(c"iv", &mut short)]).is_ok())
        }),
    ];
    for (i, (encrypt, key, call)) in tries.iter().enumerate() {
        let run = |library: &Library| {
            let mut context = gcm(library, *encrypt, *key);
            (call(&mut context), reason(&support::refused()))
        };
        assert_eq!(run(&ours), run(&theirs), "number {i}");
    }
}

/// Vectors made by counting, without records.
#[test]
fn counted_vectors() {
    let (ours, theirs) = (Library::millstream(), Library::openssl());
    let run = |library: &Library| {
        let cipher = cipher(library, "AES-128-GCM").unwrap();
        let (mut sending, mut receiving) = (CipherContext::new(), CipherContext::new());
        sending.init(Some(&cipher), true, Some(&[1; 16]), None, &[]).unwrap();
        receiving.init(Some(&cipher), false, Some(&[1; 16]), None, &[]).unwrap();
        let mut first = [0xff; 12];
        first[11] = 0xfe;
        for context in [&mut sending, &mut receiving] {
            assert_eq!(context.ctrl(SET_IV_FIXED, -1, &mut first), 1);
        }
        let mut all = Vec::new();
        for _ in 0..4 {
            let mut invocation = [0; 8];
            assert_eq!(sending.ctrl(IV_GEN, 8, &mut invocation), 1);
            let sealed = sending.update(b"message").unwrap();
            sending.finish().unwrap();
            let tag = sending.tag(TAG).unwrap();
            assert_eq!(receiving.ctrl(SET_IV_INV, 8, &mut invocation), 1);
            assert_eq!(open(&mut receiving, true, &tag, &[], &[&sealed]), (b"message".to_vec(), true));
            all.push((invocation, sealed, tag, receiving.octets(c"updated-iv", 12).unwrap()));
        }
        // Room for none is room for all.
        let mut whole = [0; 12];
        assert_eq!(sending.ctrl(IV_GEN, 0, &mut whole), 1);
        (all, whole)
    };
    let (all, whole) = run(&ours);
    assert_eq!(all[2].0, [0; 8], "it wraps");
    assert_eq!(whole, [255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert_eq!((all, whole), run(&theirs));
}
