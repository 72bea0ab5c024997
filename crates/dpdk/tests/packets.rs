//! Packets as the C side describes them, without DPDK: each kind of session, in one piece and in several, in place and not.

mod support;

use std::ptr::{null, null_mut};

use millstream::aead::Aead;
use millstream::aes::Cbc;
use millstream::gcm::Gcm;
use millstream::hash::Hash;
use millstream::hmac::HmacKey;
use millstream::modes::{BlockMode, Direction};
use millstream::{InOut, kasumi};
use millstream_dpdk::*;
use support::*;

const KEY: [u8; 16] = [7; 16];
const MAC_KEY: [u8; 20] = [9; 20];
const IV: [u8; 16] = [3; 16];

/// A packet with a header of 24 bytes, as ESP has it.
fn esp() -> Parts {
    let span = (0..24 + 160).map(|i| i as u8).collect();
    Parts { span, cipher: (24, 160), auth: (0, 184), iv: IV.to_vec(), tag: vec![0; 12], ..Parts::default() }
}

fn cbc(forward: bool, bytes: &mut [u8]) {
    let key = Cbc::new(millstream::features().unwrap(), &KEY).unwrap();
    let direction = if forward { Direction::Encrypt } else { Direction::Decrypt };
    key.pass(direction, &mut IV.clone(), InOut::in_place(bytes));
}

fn sha1(bytes: &[u8]) -> Vec<u8> {
    HmacKey::new(millstream::features().unwrap(), Hash::Sha1, &MAC_KEY).sign(bytes).as_ref()[..12].to_vec()
}

#[test]
fn encrypts_then_authenticates_and_back() {
    let cipher = |forward| transform(Class::Cipher, 5, forward, &KEY, [16, 0, 0]);
    let mac = |forward| transform(Class::Auth, 10, forward, &MAC_KEY, [0, 12, 0]);
    let out = bind(&[cipher(true), mac(true)]).unwrap();
    let back = bind(&[mac(false), cipher(false)]).unwrap();
    let parts = esp();
    let mut expected = parts.span.clone();
    cbc(true, &mut expected[24..]);
    for lie in LIES {
        let (status, sealed, tag) = run(&out, &parts, lie);
        assert_eq!((status, &sealed, &tag), (Status::Good, &expected, &sha1(&expected)), "{lie:?}");
        let mut sealed = Parts { span: sealed, tag, ..esp() };
        assert_eq!(
            run(&back, &sealed, lie),
            (Status::Good, parts.span.clone(), sealed.tag.clone()),
            "{lie:?}"
        );
        sealed.tag[3] ^= 1;
        let (status, left, _) = run(&back, &sealed, lie);
        assert_eq!(status, Status::Authentication, "{lie:?}");
        assert_no_plaintext(&left, &parts, lie);
    }
}

/// A vector of 12 bytes is a nonce, whose counter begins with 1: alone, and beside an HMAC.
#[test]
fn counts_from_one_behind_a_short_vector() {
    let cipher = |iv_len| transform(Class::Cipher, 6, true, &KEY, [iv_len, 0, 0]);
    let mac = || transform(Class::Auth, 10, true, &MAC_KEY, [0, 12, 0]);
    for chained in [false, true] {
        let session = |iv_len| match chained {
            false => bind(&[cipher(iv_len)]).unwrap(),
            true => bind(&[cipher(iv_len), mac()]).unwrap(),
        };
        let (short, whole) = (session(12), session(16));
        for lie in LIES {
            let nonce = IV[..12].to_vec();
            let expected = run(&whole, &Parts { iv: [&nonce[..], &[0, 0, 0, 1]].concat(), ..esp() }, lie);
            assert_eq!(expected.0, Status::Good);
            assert_eq!(run(&short, &Parts { iv: nonce, ..esp() }, lie), expected, "{lie:?}");
        }
    }
    assert!(bind(&[cipher(8)]).is_err() && bind(&[cipher(14)]).is_err());
}

/// The plaintext is authenticated, and decrypted before that can be compared.
#[test]
fn authenticates_then_encrypts_and_back() {
    let cipher = |forward| transform(Class::Cipher, 5, forward, &KEY, [16, 0, 0]);
    let mac = |forward| transform(Class::Auth, 10, forward, &MAC_KEY, [0, 12, 0]);
    let out = bind(&[mac(true), cipher(true)]).unwrap();
    let back = bind(&[cipher(false), mac(false)]).unwrap();
    let parts = esp();
    let mut expected = parts.span.clone();
    cbc(true, &mut expected[24..]);
    for lie in LIES {
        let (status, sealed, tag) = run(&out, &parts, lie);
        assert_eq!((status, &sealed, &tag), (Status::Good, &expected, &sha1(&parts.span)), "{lie:?}");
        let mut sealed = Parts { span: sealed, tag, ..esp() };
        assert_eq!(
            run(&back, &sealed, lie),
            (Status::Good, parts.span.clone(), sealed.tag.clone()),
            "{lie:?}"
        );
        sealed.tag[11] ^= 0x80;
        let (status, left, _) = run(&back, &sealed, lie);
        assert_eq!(status, Status::Authentication, "{lie:?}");
        assert_no_plaintext(&left, &parts, lie);
        if matches!(lie, Lie::InPlace | Lie::InPieces) {
            assert_eq!(left, expected, "the ciphertext is there again: {lie:?}");
        }
    }
}

#[track_caller]
fn assert_no_plaintext(left: &[u8], parts: &Parts, lie: Lie) {
    let shown = left[24..].windows(8).any(|window| parts.span[24..].windows(8).any(|plain| plain == window));
    assert!(!shown, "{lie:?}: {left:02x?}");
}

#[test]
fn seals_and_opens() {
    for tag_len in [4, 8, 12, 16] {
        let aead = |forward| transform(Class::Aead, 2, forward, &KEY, [12, tag_len, 20]);
        let (out, back) = (bind(&[aead(true)]).unwrap(), bind(&[aead(false)]).unwrap());
        let span: Vec<u8> = (0..100).collect();
        let parts = Parts {
            cipher: (0, 100),
            iv: vec![1; 12],
            aad: vec![2; 20],
            tag: vec![0; tag_len.into()],
            span,
            ..Parts::default()
        };
        let gcm = Gcm::new(millstream::features().unwrap(), &KEY).unwrap();
        let (mut expected, mut whole) = (parts.span.clone(), [0; 16]);
        gcm.seal(&parts.iv, &parts.aad, InOut::in_place(&mut expected), &mut whole).unwrap();
        for lie in LIES {
            let (status, sealed, tag) = run(&out, &parts, lie);
            assert_eq!((status, &sealed, &tag[..]), (Status::Good, &expected, &whole[..tag_len.into()]));
            let mut sealed = Parts { span: sealed, tag, ..parts.clone() };
            assert_eq!(run(&back, &sealed, lie).1, parts.span, "{lie:?}");
            sealed.tag[0] ^= 1;
            let (status, left, _) = run(&back, &sealed, lie);
            assert_eq!(status, Status::Authentication, "{lie:?}");
            assert_ne!(left[..16], parts.span[..16], "{lie:?}");
        }
    }
}

/// Bits that are no whole bytes, and the frame of KASUMI F9.
#[test]
fn kasumi_takes_bits() {
    let features = millstream::features().unwrap();
    let f8 = bind(&[transform(Class::Cipher, 11, true, &KEY, [8, 0, 0])]).unwrap();
    let iv = [1, 2, 3, 4, 0b1010_1100, 0, 0, 0];
    let parts = Parts { span: (0..9).collect(), cipher: (0, 67), iv: iv.to_vec(), ..Parts::default() };
    let mut expected = parts.span.clone();
    let key = kasumi::F8::new(features, &KEY).unwrap();
    key.apply(0x0102_0304, 0b10101, 1, InOut::in_place(&mut expected), 67).unwrap();
    for lie in [Lie::InPlace, Lie::InPieces] {
        let (status, result, _) = run(&f8, &parts, lie);
        assert_eq!((status, result), (Status::Good, expected.clone()), "{lie:?}");
    }
    let odd = Parts { cipher: (3, 60), ..parts };
    assert_eq!(run(&f8, &odd, Lie::InPlace).0, Status::Argument);

    let f9 = |forward| bind(&[transform(Class::Auth, 6, forward, &KEY, [0, 4, 0])]).unwrap();
    let code = kasumi::F9::new(features, &KEY).unwrap().mac(1, 2, 1, &[0xab, 0xc8], 13).unwrap();
    let frame = vec![0, 0, 0, 1, 0, 0, 0, 2, 0xab, 0b1100_1110];
    let mut parts = Parts { auth: (0, 80), span: frame, tag: vec![0; 4], ..Parts::default() };
    let (status, _, tag) = run(&f9(true), &parts, Lie::InPieces);
    assert_eq!((status, &tag[..]), (Status::Good, &code[..]));
    parts.tag = tag;
    assert_eq!(run(&f9(false), &parts, Lie::InPlace).0, Status::Good);
    parts.tag[0] ^= 1;
    assert_eq!(run(&f9(false), &parts, Lie::InPlace).0, Status::Authentication);
}

#[test]
fn digests_and_nothing() {
    let hash = |forward| bind(&[transform(Class::Auth, 13, forward, &[], [0, 32, 0])]).unwrap();
    let mut parts = Parts { span: b"abc".to_vec(), auth: (0, 3), tag: vec![0; 32], ..Parts::default() };
    let (status, _, tag) = run(&hash(true), &parts, Lie::Apart);
    assert_eq!((status, &tag[..4]), (Status::Good, &[0xba, 0x78, 0x16, 0xbf][..]));
    parts.tag = tag;
    assert_eq!(run(&hash(false), &parts, Lie::InPlace).0, Status::Good);
    parts.tag[31] ^= 1;
    assert_eq!(run(&hash(false), &parts, Lie::InPlace).0, Status::Authentication);

    let nothing = bind(&[transform(Class::Cipher, 1, true, &[], [0; 3])]).unwrap();
    let parts = Parts { span: b"abc".to_vec(), cipher: (0, 3), ..Parts::default() };
    for lie in LIES {
        let (status, result, _) = run(&nothing, &parts, lie);
        assert_eq!((status, &result[..]), (Status::Good, &b"abc"[..]), "{lie:?}");
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let session = bind(&[transform(Class::Cipher, 5, true, &KEY, [16, 0, 0])]).unwrap();
    let good = Parts { span: vec![0; 64], cipher: (0, 64), iv: IV.to_vec(), ..Parts::default() };
    for cipher in [(0, 63), (1, 64), (64, 16), (u32::MAX, 16), (0, u32::MAX)] {
        let (status, left, _) = run(&session, &Parts { cipher, ..good.clone() }, Lie::InPlace);
        assert_eq!((status, left), (Status::Argument, vec![0; 64]), "{cipher:?}");
    }
    assert_eq!(run(&session, &good, Lie::Overlapping).0, Status::Argument);
    let (number, text) = bind(&[transform(Class::Cipher, 5, true, &KEY[..15], [16, 0, 0])]).err().unwrap();
    assert!(number < 0 && text.starts_with("15 bytes of key"), "{text}");
}

/// Packets of several sessions in one burst, some of which fail.
#[test]
fn a_burst_is_mixed() {
    let encrypt = bind(&[transform(Class::Cipher, 6, true, &KEY, [16, 0, 0])]).unwrap();
    let mac = bind(&[transform(Class::Auth, 10, true, &MAC_KEY, [0, 12, 0])]).unwrap();
    let mut bytes: Vec<[u8; 48]> = (0..600).map(|i| [i as u8; 48]).collect();
    let mut tags = vec![[0_u8; 12]; bytes.len()];
    let mut packets: Vec<Packet> = bytes
        .iter_mut()
        .zip(&mut tags)
        .enumerate()
        .map(|(i, (bytes, tag))| {
            let at = bytes.as_mut_ptr();
            let session = if i % 3 == 0 {
                null()
            } else if i % 2 == 0 {
                encrypt.0
            } else {
                mac.0
            };
            Packet {
                session: session.cast(),
                user: null_mut(),
                source: at,
                destination: at,
                source_pieces: null(),
                destination_pieces: null_mut(),
                access: &ACCESS,
                iv: IV.as_ptr(),
                auth_iv: null(),
                aad: null(),
                tag: tag.as_mut_ptr(),
                offset: 0,
                length: 48,
                cipher_at: 0,
                cipher_length: 48,
                auth_at: 0,
                auth_length: 48,
                status: Status::Failed,
                tag_at: u32::MAX,
            }
        })
        .collect();
    // SAFETY: everything is as long as it says.
    unsafe { millstream_dpdk_run(packets.as_mut_ptr(), packets.len()) };
    for (i, packet) in packets.iter().enumerate() {
        let plain = [i as u8; 48];
        match (i % 3, i % 2) {
            (0, _) => assert_eq!((packet.status, bytes[i], tags[i]), (Status::Argument, plain, [0; 12])),
            (_, 0) => assert!(packet.status == Status::Good && bytes[i] != plain, "{i}"),
            _ => assert_eq!((packet.status, &tags[i][..]), (Status::Good, &sha1(&plain)[..])),
        }
    }
}
