//! Records of TLS 1.2, and vectors that are made by counting.
//!
//! # Safety
//! As in the support module: functions of libcrypto are called as its manual says.

use std::ffi::c_int;

use millstream_testkit::Random;

use crate::common::{AEADS, AeadContext, IV_GEN, SET_IV_FIXED, SET_IV_INV, TAG, cipher, open};
use crate::support::{self, CipherContext, Library};
/// The associated data of a record.
pub fn record_aad(sequence: u64, len: usize) -> [u8; 13] {
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

/// Records through `EVP_CipherUpdate`, which returns the bytes of data; for ChaCha20-Poly1305 also from one buffer to
/// another.
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
