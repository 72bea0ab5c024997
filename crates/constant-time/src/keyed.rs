//! Lanes to which messages of any keys come, over keys on the best kernels: AES-SIV, AES-GCM-SIV, XAES-256-GCM, Fernet, AES-KW, AES-KWP and FF1.
//! The lanes sort messages by their key's place and by their length, which are public.

use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::fernet::{FernetKey, FernetLanes, KeyedFernetJob, NONCE};
use millstream_engines::ff1::{Ff1Key, Ff1Lanes, KeyedFf1Job};
use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob, GcmSivLanes, KeyedGcmSivJob};
use millstream_engines::keywrap::{KeyedKwJob, KeyedKwpJob, Kw, KwLanes, Kwp, KwpLanes};
use millstream_engines::siv::{KeyedSivJob, Siv, SivLanes};
use millstream_engines::xaes::{KeyedXaesJob, Xaes, XaesJob, XaesLanes};

use crate::trial::{Part, Run, Trial};

/// The number of keys of a trial.
const KEYS: usize = 2;

/// The lengths of messages: several of one length, so that they go side by side, and some around blocks.
const LENS: &[usize] = &[20, 20, 20, 20, 1, 16, 77, 20];

/// Whole blocks, and a token that is too long to stand beside others.
const BLOCKS: &[usize] = &[16, 16, 48, 16, 48, 272];

/// Bytes of keys that are wrapped.
const WRAPPED: &[usize] = &[16, 16, 24, 16, 40, 24];

/// Returns the keys of a trial.
macro_rules! keys {
    ($key:ident, $key_len:literal, $features:expr, $bytes:expr) => {
        $bytes
            .chunks($key_len)
            .map(|key| $key::new($features, key).expect("a key of that length"))
            .collect::<Vec<$key>>()
    };
}

/// Makes the trials of lanes that seal and open: sealed, opened, and every second refused. `$job` makes a job of its key and data.
macro_rules! sealed {
    ($features:expr, $algorithm:literal, $key:ident($key_len:literal), $lanes:ident, $lens:expr, |$k:ident, $data:ident, $open:ident| $job:expr) => {{
        let features = $features;
        let run = move |bytes: &[u8], parts: &mut [Part<'_>], $open: bool| {
            let keys = keys!($key, $key_len, features, bytes);
            let jobs = parts.iter_mut().enumerate();
            let mut jobs: Vec<_> = jobs
                .map(|(i, part)| {
                    let ($k, $data) = (&keys[i % KEYS], InOut::in_place(part.data));
                    let mut job = $job;
                    if $open {
                        job.tag = *part.tail.first_chunk().expect("a tag");
                    }
                    job
                })
                .collect();
            let mut references: Vec<_> = jobs.iter_mut().collect();
            if $open {
                $lanes::new(features).open(&mut references);
            } else {
                $lanes::new(features).seal(&mut references);
            }
            let done: Vec<_> = jobs.iter().map(|job| (job.tag, job.result.clone())).collect();
            drop(jobs);
            for (part, (tag, result)) in parts.iter_mut().zip(&done) {
                part.put(tag);
                part.verdict(result);
            }
        };
        let seal = move |keys: &[u8], parts: &mut [Part<'_>]| run(keys, parts, false);
        let open = move |keys: &[u8], parts: &mut [Part<'_>]| run(keys, parts, true);
        let forge = move |keys: &[u8], parts: &mut [Part<'_>]| {
            run(keys, parts, false);
            parts.iter_mut().step_by(2).for_each(|part| part.tail[5] ^= 8);
        };
        let kernel = keys!($key, $key_len, features, [1; $key_len])[0].kernel();
        let trial = |what: &str, run: Run| {
            Trial::new(concat!($algorithm, "-lanes"), kernel, what, KEYS * $key_len, $lens, run)
        };
        vec![
            trial("seal, any keys", Box::new(seal)),
            trial("open, any keys", Box::new(open)).prepared(seal),
            trial("refuse every second, any keys", Box::new(open)).prepared(forge),
        ]
    }};
}

/// Returns the trials of all such lanes under `features`.
pub fn trials(features: Features) -> Vec<Trial> {
    let mut trials = sealed!(features, "aes-siv", Siv(64), SivLanes, LENS, |key, data, _open| {
        KeyedSivJob::new(key, b"nonce", b"column", data)
    });
    trials.extend(sealed!(features, "aes-gcm-siv", GcmSiv(32), GcmSivLanes, LENS, |key, data, _open| {
        KeyedGcmSivJob { key, job: GcmSivJob::new(&[1; 12], b"column", data) }
    }));
    trials.extend(sealed!(features, "xaes-256-gcm", Xaes(32), XaesLanes, LENS, |key, data, _open| {
        KeyedXaesJob { key, job: XaesJob::new(&[1; 24], b"column", data) }
    }));
    trials.extend(sealed!(features, "fernet", FernetKey(32), FernetLanes, BLOCKS, |key, data, _open| {
        KeyedFernetJob::new(key, &[2; NONCE], data)
    }));
    trials.extend(sealed!(features, "aes-kw", Kw(32), KwLanes, WRAPPED, |key, data, _open| {
        KeyedKwJob::new(key, b"", data)
    }));
    trials.extend(sealed!(features, "aes-kwp", Kwp(32), KwpLanes, WRAPPED, |key, data, is_open| {
        KeyedKwpJob::new(key, if is_open { b"" } else { length(data.len()) }, data)
    }));
    trials.extend(digits(features));
    trials
}

/// Returns the length of a key that KWP wraps, which is public: with padding where there are 24 bytes.
fn length(bytes: usize) -> &'static [u8] {
    match bytes {
        16 => &[0, 0, 0, 16],
        24 => &[0, 0, 0, 21],
        _ => &[0, 0, 0, 40],
    }
}

/// Values of FF1 of two radices: decimal digits, of which short and long ones go different ways, and any two bytes.
fn digits(features: Features) -> Vec<Trial> {
    let mut trials = Vec::new();
    for (radix, lens) in [(10, [32, 32, 32, 12, 84]), (65536, [16, 16, 16, 8, 30])] {
        for decrypt in [false, true] {
            let run = move |bytes: &[u8], parts: &mut [Part<'_>]| {
                let keys = keys!(Ff1Key, 32, features, bytes);
                let jobs = parts.iter_mut().enumerate();
                let mut jobs: Vec<_> = jobs
                    .map(|(i, part)| {
                        KeyedFf1Job::new(&keys[i % KEYS], radix, b"tweak", InOut::in_place(part.data))
                    })
                    .collect();
                let mut references: Vec<_> = jobs.iter_mut().collect();
                if decrypt {
                    Ff1Lanes::new(features).decrypt(&mut references);
                } else {
                    Ff1Lanes::new(features).encrypt(&mut references);
                }
                // There is no branch, because the verdict on the digits may be undefined.
                let done: Vec<u8> = jobs.iter().map(|job| u8::from(job.result.is_ok())).collect();
                drop(jobs);
                parts.iter_mut().zip(done).for_each(|(part, is_ok)| part.put(&[is_ok]));
            };
            let to_digits = move |_: &[u8], parts: &mut [Part<'_>]| {
                for digit in parts.iter_mut().flat_map(|part| part.data.as_chunks_mut::<2>().0) {
                    let value = u32::from(u16::from_le_bytes(*digit)) % radix;
                    *digit = (value as u16).to_le_bytes();
                }
            };
            let kernel = keys!(Ff1Key, 32, features, [1; 32])[0].kernel();
            let what = format!("{}, any keys, radix {radix}", if decrypt { "decrypt" } else { "encrypt" });
            trials.push(Trial::new("aes-ff1-lanes", kernel, what, KEYS * 32, &lens, run).prepared(to_digits));
        }
    }
    trials
}
