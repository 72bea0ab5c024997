//! Many RSA operations at once: every lane position, every number of jobs, mixed keys and operations, on every row, against OpenSSL.
#![cfg(target_arch = "x86_64")]

mod rsa_common;

use millstream_cpu::Features;
use millstream_engines::hash::Hash;
use millstream_kernel::Engine;
use millstream_publickey::Error;
use millstream_publickey::rsa::{Job, Lanes, MAX_BYTES, Oaep, PrivateKey, Pss, PublicJob, RSA, RSA_LANES};
use millstream_testkit::Ran;
use openssl::bn::BigNum;
use openssl::pkey::Private;
use openssl::rsa::{Padding, Rsa};
use rsa_common::{Numbers, Source};

fn keys(sizes: &[(u32, u32)]) -> Vec<(Rsa<Private>, PrivateKey)> {
    let make = |&(bits, exponent): &(u32, u32)| {
        let theirs = Rsa::generate_with_e(bits, &BigNum::from_u32(exponent).unwrap()).unwrap();
        let ours = Numbers::from(&theirs).key(RSA.best(Features::hardware())).unwrap();
        (theirs, ours)
    };
    sizes.iter().map(make).collect()
}

fn kernels(mut with: impl FnMut(Lanes)) {
    let mut ran = Ran::new("rsa lanes");
    for kernel in RSA_LANES.available(Features::hardware()) {
        with(Lanes::with_kernel(kernel));
        ran.kernel(kernel.kernel().name);
    }
    ran.missing((&RSA_LANES).kernels().into_iter().map(|kernel| (kernel.name, kernel.requires)));
    ran.at_least(1);
}

#[test]
fn powers_are_openssls_for_every_number_of_jobs() {
    let keys = keys(&[(1024, 65_537), (1024, 3), (2048, 65_537), (1152, 65_537), (2048, 17)]);
    let mut random = Source::new(21);
    kernels(|lanes| {
        for count in 0..=24 {
            let mut rights = vec![vec![]; count];
            let mut outs = vec![vec![]; count];
            let mut jobs = Vec::new();
            for (i, (right, out)) in rights.iter_mut().zip(&mut outs).enumerate() {
                // Runs of equal keys, and keys that alternate.
                let (theirs, ours) = if count % 2 == 0 { &keys[i % 5] } else { &keys[i * 5 / count] };
                let size = ours.size();
                let mut input = random.0.bytes(size);
                input[0] = 0;
                (*right, *out) = (vec![0; size], vec![0; size]);
                theirs.private_encrypt(&input, right, Padding::NONE).unwrap();
                jobs.push(Job::raw(ours, &input, out));
            }
            lanes.run(&mut jobs);
            assert!(jobs.iter().all(|job| job.result.is_ok()), "{jobs:?}");
            drop(jobs);
            assert_eq!(outs, rights, "{count} jobs on {}", lanes.kernel().name);
        }
    });
}

#[test]
fn all_sizes_agree_at_every_lane() {
    let sizes = [1024, 1025, 1088, 1536, 1600, 2047, 2304, 2624, 3072, 3456, 3584, 4096];
    let keys = keys(&sizes.map(|size| (size, 65_537)));
    let mut random = Source::new(22);
    kernels(|lanes| {
        for (theirs, ours) in &keys {
            let size = ours.size();
            let mut inputs: Vec<Vec<u8>> = (0..8).map(|_| random.0.bytes(size)).collect();
            inputs.iter_mut().for_each(|input| input[0] = 0);
            inputs[1] = vec![0; size];
            inputs[2][..size - 1].fill(0);
            inputs[3] = theirs.n().to_vec();
            inputs[3][size - 1] -= 1;
            let mut outs = vec![vec![0; size]; 8];
            let mut jobs: Vec<Job<'_>> =
                inputs.iter().zip(&mut outs).map(|(input, out)| Job::raw(ours, input, out)).collect();
            lanes.run(&mut jobs);
            drop(jobs);
            for (input, out) in inputs.iter().zip(&outs) {
                let mut right = vec![0; size];
                theirs.private_encrypt(input, &mut right, Padding::NONE).unwrap();
                assert_eq!(*out, right, "{} bits on {}", ours.public_key().bits(), lanes.kernel().name);
            }
        }
    });
}

#[test]
fn kinds_and_errors_are_each_jobs_own() {
    let keys = keys(&[(1024, 65_537), (2048, 3)]);
    let mut random = Source::new(23);
    let oaep = Oaep { hash: Hash::Sha256, mgf: Hash::Sha1, label: b"label" };
    let wrong = Oaep { label: b"", ..oaep };
    let pss = Pss::new(Hash::Sha256);
    kernels(|lanes| {
        for rotation in 0..10 {
            let mut sealed = Vec::new();
            for (_, key) in &keys {
                let (mut oaeps, mut pkcs1s) = (vec![0; key.size()], vec![0; key.size()]);
                key.public_key().encrypt_oaep(&oaep, &mut random, b"by oaep", &mut oaeps).unwrap();
                key.public_key().encrypt_pkcs1(&mut random, b"by pkcs1", &mut pkcs1s).unwrap();
                sealed.push([oaeps, pkcs1s]);
            }
            let mut outs = vec![[0u8; MAX_BYTES]; 20];
            let kind = |i: usize| (i + rotation) % 10;
            let mut jobs: Vec<Job<'_>> = Vec::new();
            for (i, out) in outs.iter_mut().enumerate() {
                let (key, sealed) = (&keys[i / 10].1, &sealed[i / 10]);
                let size = key.size();
                let modulus = Numbers::from(&keys[i / 10].0).0[0].clone();
                jobs.push(match kind(i) {
                    0 => Job::sign_pkcs1(key, Hash::Sha256, b"message", out),
                    1 => Job::sign_pss(key, &pss, &mut random, b"message", out),
                    2 => Job::decrypt_oaep(key, oaep, &sealed[0], out),
                    3 => Job::decrypt_pkcs1(key, &sealed[1], out),
                    4 => Job::decrypt_oaep(key, wrong, &sealed[0], out),
                    5 => Job::decrypt_oaep(key, oaep, &modulus, out),
                    6 => Job::raw(key, &modulus[1..], &mut out[..size]),
                    7 => Job::sign_pkcs1(key, Hash::Sha256, b"message", &mut out[..size - 1]),
                    8 => Job::sign_pkcs1_encoded(key, &[7; 600], out),
                    _ => Job::decrypt_pkcs1(key, &sealed[1], &mut out[..size - 12]),
                });
            }
            lanes.run(&mut jobs);
            let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
            drop(jobs);
            for (i, out) in outs.iter().enumerate() {
                let key = &keys[i / 10].1;
                let size = key.size();
                let right = match kind(i) {
                    0 | 1 => results[i] == Ok(size),
                    2 => results[i] == Ok(7),
                    3 => results[i] == Ok(8),
                    4 => results[i] == Err(Error::Padding),
                    5 | 8 => results[i] == Err(Error::Message),
                    _ => matches!(results[i], Err(Error::Length { .. })),
                };
                assert!(right, "kind {} on {}: {:?}", kind(i), lanes.kernel().name, results[i]);
                match kind(i) {
                    0 => {
                        key.public_key().verify_pkcs1_vartime(Hash::Sha256, b"message", &out[..size]).unwrap()
                    }
                    1 => key.public_key().verify_pss_vartime(&pss, b"message", &out[..size]).unwrap(),
                    2 => assert_eq!(out[..7], *b"by oaep"),
                    3 => assert_eq!(out[..8], *b"by pkcs1"),
                    _ => assert_eq!(*out, [0; MAX_BYTES]),
                }
            }
        }
    });
}

#[test]
fn public_jobs_agree_with_single_operations() {
    let keys = keys(&[(1024, 65_537), (2048, 3), (2048, 65_537), (4096, 65_537)]);
    let mut random = Source::new(24);
    let pss = Pss::new(Hash::Sha256);
    let oaep = Oaep::new(Hash::Sha1);
    kernels(|lanes| {
        for count in 0..=24 {
            let mut outs = vec![[0u8; MAX_BYTES]; count];
            let key = |i: usize| if count % 2 == 0 { &keys[i % 4].1 } else { &keys[i * 4 / count].1 };
            let kind = |i: usize| (i * 5 + count) % 9;
            let mut jobs = Vec::new();
            for (i, out) in outs.iter_mut().enumerate() {
                let (key, public) = (key(i), key(i).public_key());
                let size = key.size();
                let mut signature = vec![0; size];
                match kind(i) {
                    1 | 3 => key.sign_pss(&pss, &mut random, b"message", &mut signature).unwrap(),
                    _ => key.sign_pkcs1(Hash::Sha256, b"message", &mut signature).unwrap(),
                };
                jobs.push(match kind(i) {
                    0 => PublicJob::verify_pkcs1(public, Hash::Sha256, b"message", &signature),
                    1 => PublicJob::verify_pss(public, &pss, b"message", &signature),
                    2 => PublicJob::verify_pkcs1(public, Hash::Sha256, b"another", &signature),
                    3 => PublicJob::verify_pss(public, &pss, b"another", &signature),
                    4 => PublicJob::verify_pkcs1(public, Hash::Sha256, b"message", &signature[1..]),
                    5 => PublicJob::verify_pss(public, &pss, b"message", &vec![0xff; size]),
                    6 => PublicJob::raw(public, &signature, &mut out[..size]),
                    7 => PublicJob::encrypt_oaep(public, &oaep, &mut random, b"by oaep", out),
                    _ => PublicJob::encrypt_pkcs1(public, &mut random, b"by pkcs1", out),
                });
            }
            lanes.run_public(&mut jobs);
            let results: Vec<_> = jobs.iter().map(|job| job.result).collect();
            drop(jobs);
            for (i, out) in outs.iter().enumerate() {
                let (key, kind) = (key(i), kind(i));
                let right = if (2..6).contains(&kind) { Err(Error::Signature) } else { Ok(()) };
                assert_eq!(results[i], right, "kind {kind} on {}", lanes.kernel().name);
                let mut opened = [0; MAX_BYTES];
                match kind {
                    6 => assert_eq!(out[..2], [0, 1]),
                    7 => assert_eq!(key.decrypt_oaep(&oaep, &out[..key.size()], &mut opened), Ok(7)),
                    8 => assert_eq!(key.decrypt_pkcs1(&out[..key.size()], &mut opened), Ok(8)),
                    _ => {}
                }
            }
        }
    });
}
