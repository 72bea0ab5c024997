//! Measures AES-GCM, AES-SIV, AES-GCM-SIV and FF1 over many short values beside other implementations, whose results are compared.
//!
//! ```text
//! cargo run --release -p millstream-engines --example deterministic
//! ```

use std::time::Instant;

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob};
use millstream_engines::siv::{Siv, SivJob};

/// Values of one call.
const VALUES: usize = 1024;

/// Returns the least time of a value, in nanoseconds, of each of two ways that take turns.
fn least(ways: &mut [&mut dyn FnMut()]) -> Vec<f64> {
    let mut least = vec![f64::MAX; ways.len()];
    for _ in 0..60 {
        for (least, way) in least.iter_mut().zip(ways.iter_mut()) {
            let start = Instant::now();
            way();
            *least = least.min(start.elapsed().as_nanos() as f64 / VALUES as f64);
        }
    }
    least
}

fn print(what: &str, ns: &[f64]) {
    println!(
        "{what:38} lanes {:6.1} ns  alone {:6.1} ns  other {:8.1} ns  {:5.1} times",
        ns[0],
        ns[1],
        ns[2],
        ns[2] / ns[0]
    );
}

fn main() {
    let features = Features::hardware();
    for key_bytes in [16, 32] {
        gcm(features, key_bytes);
    }
    for (key_bytes, len) in [(32, 16), (32, 23), (32, 32), (64, 32)] {
        siv(features, key_bytes, len);
    }
    for (key_bytes, len) in [(16, 16), (16, 23), (16, 32), (32, 16), (32, 32)] {
        gcm_siv(features, key_bytes, len, true);
        gcm_siv(features, key_bytes, len, false);
    }
    #[cfg(feature = "ff1")]
    ff1(features);
}

#[cfg(target_arch = "x86_64")]
fn siv(features: Features, key_bytes: usize, len: usize) {
    use openssl::cipher::Cipher;
    use openssl::cipher_ctx::CipherCtx;

    let key: Vec<u8> = (0..key_bytes as u8).collect();
    let siv = Siv::new(features, &key).unwrap();
    let plain: Vec<Vec<u8>> =
        (0..VALUES).map(|i| (0..len).map(|j| (i * 7 + j * 3) as u8).collect()).collect();
    let mut many = vec![vec![0; len]; VALUES];
    let mut alone = vec![vec![0; len]; VALUES];
    let mut others = vec![vec![0; len + 16]; VALUES];
    let (mut tags, mut alone_tags, mut other_tags) =
        ([[0; 16]; VALUES], [[0; 16]; VALUES], [[0; 16]; VALUES]);
    let name = if key_bytes == 32 { "AES-128-SIV" } else { "AES-256-SIV" };
    let cipher = Cipher::fetch(None, name, None).unwrap();
    let (mut fresh, mut ctx) = (CipherCtx::new().unwrap(), CipherCtx::new().unwrap());
    fresh.encrypt_init(Some(&cipher), Some(&key), None).unwrap();
    let ns = least(&mut [
        &mut || {
            for (i, values) in many.chunks_mut(64).enumerate() {
                let mut jobs: Vec<_> = values
                    .iter_mut()
                    .enumerate()
                    .map(|(j, text)| {
                        SivJob::new(&[b"column"], InOut::separate(&plain[64 * i + j], text).unwrap())
                    })
                    .collect();
                siv.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                jobs.iter().enumerate().for_each(|(j, job)| tags[64 * i + j] = job.tag);
            }
        },
        &mut || {
            for i in 0..VALUES {
                siv.seal(
                    &[b"column"],
                    InOut::separate(&plain[i], &mut alone[i]).unwrap(),
                    &mut alone_tags[i],
                )
                .unwrap();
            }
        },
        &mut || {
            for i in 0..VALUES {
                ctx.copy(&fresh).unwrap();
                ctx.cipher_update(b"column", None).unwrap();
                ctx.cipher_update(&plain[i], Some(&mut others[i])).unwrap();
                ctx.tag(&mut other_tags[i]).unwrap();
            }
        },
    ]);
    for i in 0..VALUES {
        assert_eq!((&many[i], tags[i]), (&alone[i], alone_tags[i]));
        assert_eq!((&many[i][..], tags[i]), (&others[i][..len], other_tags[i]));
    }
    print(&format!("{name}, {len} bytes (OpenSSL)"), &ns);
}

#[cfg(not(target_arch = "x86_64"))]
fn siv(_: Features, _: usize, _: usize) {}

/// Seals a value in place with another implementation, and returns the tag.
type Other = dyn Fn(&[u8; 12], &mut [u8]) -> [u8; 16];

/// Values of 16 to 32 bytes under one key, as the fields of a table are.
fn gcm(features: Features, key_bytes: usize) {
    use aes_gcm::aead::{AeadInOut, KeyInit};
    use millstream_engines::aead::Aead;
    use millstream_engines::gcm::{Gcm, GcmJob, GcmLanes};

    let key: Vec<u8> = (0..key_bytes as u8).collect();
    let (ours, lanes) = (Gcm::new(features, &key).unwrap(), GcmLanes::new(features));
    let plain: Vec<Vec<u8>> =
        (0..VALUES).map(|i| (0..16 + i * 5 % 17).map(|j| (i * 7 + j * 3) as u8).collect()).collect();
    let nonces: Vec<[u8; 12]> =
        (0..VALUES).map(|i| (i as u128).to_le_bytes()[..12].try_into().unwrap()).collect();
    let (mut many, mut alone, mut others) = (plain.clone(), plain.clone(), plain.clone());
    let (mut tags, mut alone_tags, mut other_tags) =
        ([[0; 16]; VALUES], [[0; 16]; VALUES], [[0; 16]; VALUES]);
    let other: Box<Other> = if key_bytes == 16 {
        let cipher = aes_gcm::Aes128Gcm::new_from_slice(&key).unwrap();
        Box::new(move |nonce, text| {
            cipher.encrypt_inout_detached(nonce.into(), b"column", text.into()).unwrap().into()
        })
    } else {
        let cipher = aes_gcm::Aes256Gcm::new_from_slice(&key).unwrap();
        Box::new(move |nonce, text| {
            cipher.encrypt_inout_detached(nonce.into(), b"column", text.into()).unwrap().into()
        })
    };
    let ns = least(&mut [
        &mut || {
            for (i, values) in many.chunks_mut(64).enumerate() {
                let mut jobs: Vec<_> = values
                    .iter_mut()
                    .enumerate()
                    .map(|(j, text)| {
                        let at = 64 * i + j;
                        GcmJob::new(&ours, &nonces[at], b"column", InOut::separate(&plain[at], text).unwrap())
                    })
                    .collect();
                lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
                jobs.iter().enumerate().for_each(|(j, job)| tags[64 * i + j] = job.tag);
            }
        },
        &mut || {
            for i in 0..VALUES {
                let data = InOut::separate(&plain[i], &mut alone[i]).unwrap();
                ours.seal(&nonces[i], b"column", data, &mut alone_tags[i]).unwrap();
            }
        },
        &mut || {
            for i in 0..VALUES {
                others[i].copy_from_slice(&plain[i]);
                other_tags[i] = other(&nonces[i], &mut others[i]);
            }
        },
    ]);
    assert_eq!((&many, tags), (&alone, alone_tags));
    assert_eq!((many, tags), (others, other_tags));
    print(&format!("AES-{}-GCM, 16 to 32 bytes (aes-gcm)", 8 * key_bytes), &ns);
}

fn gcm_siv(features: Features, key_bytes: usize, len: usize, one_nonce: bool) {
    use millstream_engines::aead::Aead;

    let key: Vec<u8> = (0..key_bytes as u8).collect();
    let ours = GcmSiv::new(features, &key).unwrap();
    let plain: Vec<Vec<u8>> =
        (0..VALUES).map(|i| (0..len).map(|j| (i * 7 + j * 3) as u8).collect()).collect();
    let nonces: Vec<[u8; 12]> = (0..VALUES)
        .map(|i| if one_nonce { 0 } else { i })
        .map(|i| [i as u8, (i >> 8) as u8, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
        .collect();
    let mut many = vec![vec![0; len]; VALUES];
    let mut alone = vec![vec![0; len]; VALUES];
    let (mut tags, mut alone_tags) = ([[0; 16]; VALUES], [[0; 16]; VALUES]);
    let ns = least(&mut [
        &mut || {
            for (i, values) in many.chunks_mut(64).enumerate() {
                let mut jobs: Vec<_> = values
                    .iter_mut()
                    .enumerate()
                    .map(|(j, text)| {
                        let at = 64 * i + j;
                        GcmSivJob::new(&nonces[at], b"column", InOut::separate(&plain[at], text).unwrap())
                    })
                    .collect();
                ours.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
                jobs.iter().enumerate().for_each(|(j, job)| tags[64 * i + j] = job.tag);
            }
        },
        &mut || {
            for i in 0..VALUES {
                let data = InOut::separate(&plain[i], &mut alone[i]).unwrap();
                ours.seal(&nonces[i], b"column", data, &mut alone_tags[i]).unwrap();
            }
        },
        &mut || {},
    ]);
    assert_eq!((many, tags), (alone, alone_tags));
    let nonces = if one_nonce { "one nonce" } else { "nonces" };
    print(&format!("AES-{}-GCM-SIV, {len} bytes, {nonces}", 8 * key_bytes), &ns);
}

#[cfg(feature = "ff1")]
fn ff1(features: Features) {
    use fpe::ff1::{FF1, FlexibleNumeralString};
    use millstream_engines::ff1::{Ff1, Ff1Job};

    let key = [7; 32];
    let (ours, theirs) = (Ff1::new(features, &key, 10).unwrap(), FF1::<aes::Aes256>::new(&key, 10).unwrap());
    let plain: Vec<Vec<u16>> =
        (0..VALUES).map(|i| (0..16).map(|j| ((i * 7 + j * 3) % 10) as u16).collect()).collect();
    let (mut many, mut alone, mut others) = (plain.clone(), plain.clone(), plain.clone());
    let ns = least(&mut [
        &mut || {
            for (i, values) in many.chunks_mut(64).enumerate() {
                values
                    .iter_mut()
                    .zip(&plain[64 * i..])
                    .for_each(|(digits, plain)| digits.copy_from_slice(plain));
                let mut jobs: Vec<_> =
                    values.iter_mut().map(|digits| Ff1Job::new(b"column", digits)).collect();
                ours.encrypt_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            }
        },
        &mut || {
            for i in 0..VALUES {
                alone[i].copy_from_slice(&plain[i]);
                ours.encrypt(b"column", &mut alone[i]).unwrap();
            }
        },
        &mut || {
            for i in 0..VALUES {
                let digits = FlexibleNumeralString::from(plain[i].clone());
                others[i] = theirs.encrypt(b"column", &digits).unwrap().into();
            }
        },
    ]);
    assert_eq!(many, alone);
    assert_eq!(many, others);
    print("AES-256-FF1, 16 digits (fpe)", &ns);
}
