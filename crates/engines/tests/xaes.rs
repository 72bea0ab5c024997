//! XAES-256-GCM: the specification's vectors, the derivation by CMAC itself, and every number of messages at once.
//!
//! Ref. C2SP, "XAES-256-GCM", test vectors.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::aes::Cmac;
use millstream_engines::gcm::{GCM, Gcm};
use millstream_engines::xaes::{Xaes, XaesJob};
use millstream_engines::{Error, InOut};
use millstream_testkit::{Ran, Random, hex};

/// A key on every kernel of GCM.
fn keys(key: &[u8]) -> Vec<Xaes> {
    GCM.available(Features::hardware()).map(|kernel| Xaes::with_kernel(kernel, key).unwrap()).collect()
}

#[test]
fn vectors_of_the_specification() {
    let mut ran = Ran::new("xaes-256-gcm");
    for (key, aad, sealed) in [
        (1, "", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (3, "c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ] {
        for xaes in keys(&[key; 32]) {
            let (mut text, mut tag) = (*b"XAES-256-GCM", [0; 16]);
            let nonce = b"ABCDEFGHIJKLMNOPQRSTUVWX";
            xaes.seal(nonce, aad.as_bytes(), InOut::in_place(&mut text), &mut tag).unwrap();
            assert_eq!([&text[..], &tag].concat(), hex(sealed), "{xaes:?}");
            xaes.open(nonce, aad.as_bytes(), InOut::in_place(&mut text), &tag).unwrap();
            assert_eq!(&text, b"XAES-256-GCM");
            ran.kernel(xaes.kernel().name);
        }
    }
    ran.at_least(GCM.available(Features::hardware()).count());
}

/// Each key as the specification derives it, by CMAC; each message beside others, of which some are forged or refused.
#[test]
fn many_are_as_each_alone() {
    let mut random = Random::new(91);
    let bytes = random.bytes(32);
    let cmac = Cmac::new(Features::hardware(), &bytes).unwrap();
    for xaes in keys(&bytes) {
        for count in [0, 1, 2, 7, 8, 9, 16, 41] {
            let nonces: Vec<_> =
                (0..count).map(|i| random.bytes(if i % 11 == 10 { 12 } else { 24 })).collect();
            let aads: Vec<_> = (0..count).map(|i| random.bytes((5 * i) % 41)).collect();
            let plain: Vec<_> = (0..count).map(|i| random.bytes((37 * i) % 300)).collect();
            let mut texts = plain.clone();
            let mut jobs: Vec<_> = texts
                .iter_mut()
                .enumerate()
                .map(|(i, text)| XaesJob::new(&nonces[i], &aads[i], InOut::in_place(text)))
                .collect();
            xaes.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (i, job) in jobs.iter_mut().enumerate() {
                if i % 11 == 10 {
                    assert!(matches!(job.result, Err(Error::NonceLength { given: 12, .. })));
                    assert_eq!(job.data.input(), plain[i]);
                    continue;
                }
                let derived: Vec<u8> = [1, 2]
                    .iter()
                    .flat_map(|counter| cmac.mac(&[&[0, *counter, b'X', 0], &nonces[i][..12]].concat()))
                    .collect();
                let (mut text, mut tag) = (plain[i].clone(), [0; 16]);
                let gcm = Gcm::new(Features::hardware(), &derived).unwrap();
                gcm.seal(&nonces[i][12..], &aads[i], InOut::in_place(&mut text), &mut tag).unwrap();
                assert_eq!(
                    (job.data.input(), job.tag, job.result),
                    (&text[..], tag, Ok(())),
                    "{xaes:?}, {i}"
                );
                if i % 3 == 0 {
                    job.tag[i % 16] ^= 4;
                }
            }
            let sealed: Vec<_> = jobs.iter().map(|job| job.data.input().to_vec()).collect();
            xaes.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (i, job) in jobs.iter().enumerate() {
                let text = job.data.input();
                match job.result {
                    Ok(()) => assert!(i % 3 != 0 && text == plain[i], "{xaes:?}, {i}"),
                    Err(Error::Authentication) => assert!(i % 3 == 0 && text == sealed[i], "{xaes:?}, {i}"),
                    Err(_) => assert_eq!(i % 11, 10),
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for bytes in [0, 16, 24, 31, 33] {
        let refused = Xaes::new(Features::hardware(), &vec![1; bytes]).unwrap_err();
        assert!(refused.to_string().contains("takes 32 bytes"), "{refused}");
    }
    let xaes = Xaes::new(Features::hardware(), &[1; 32]).unwrap();
    let refused = xaes.seal(&[0; 12], b"", InOut::in_place(&mut []), &mut [0; 16]).unwrap_err();
    assert!(refused.to_string().contains("takes 24 bytes"), "{refused}");
}
