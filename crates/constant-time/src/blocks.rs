//! Constructions that encrypt blocks of many messages on a row of AES-ECB: AES-SIV, AES-GCM-SIV and FF1.

use millstream_engines::aead::Aead;
use millstream_engines::ff1::{Ff1, Ff1Job};
use millstream_engines::gcm::POLYVAL;
use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob};
use millstream_engines::siv::{Siv, SivJob};
use millstream_engines::{InOut, aes};

use crate::Row;
use crate::trial::{Part, Trial};

/// Lengths below a block, of whole blocks and around them, and one that goes alone.
const LENS: &[usize] = &[1, 16, 31, 77, 2100];

/// Returns the trials of a row, whose keys of `key` bytes are one half of those of AES-SIV.
pub fn trials(row: Row, key: usize) -> Option<Vec<Trial>> {
    let bound = aes::ECB.named(row.features, row.name)?;
    let (algorithm, kernel) = (row.algorithm, bound.kernel());
    let mut trials = Vec::new();

    let seal = move |key: &[u8], parts: &mut [Part<'_>]| {
        let siv = Siv::with_kernel(bound, key).expect("a key of that length");
        let mut tails = Vec::new();
        let mut jobs = Vec::new();
        for part in parts {
            jobs.push(SivJob::new(&[b"one", b"two"], InOut::in_place(part.data)));
            tails.push(&mut *part.tail);
        }
        siv.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
        for (tail, job) in tails.iter_mut().zip(&jobs) {
            tail[..16].copy_from_slice(&job.tag);
        }
    };
    // Components that the messages do not have in common go through the lanes.
    let seal_own = move |key: &[u8], parts: &mut [Part<'_>]| {
        let siv = Siv::with_kernel(bound, key).expect("a key of that length");
        let own: [&[&[u8]]; 2] = [&[b"one"], &[b"a component of more than one block", b"two"]];
        let mut jobs = Vec::new();
        for (i, part) in parts.iter_mut().enumerate() {
            jobs.push(SivJob::new(own[i % 2], InOut::in_place(part.data)));
        }
        siv.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
        let tags: Vec<[u8; 16]> = jobs.iter().map(|job| job.tag).collect();
        for (part, tag) in parts.iter_mut().zip(&tags) {
            part.tail[..16].copy_from_slice(tag);
        }
    };
    let open = move |key: &[u8], parts: &mut [Part<'_>]| {
        let siv = Siv::with_kernel(bound, key).expect("a key of that length");
        for part in parts {
            let tag = *part.tail.first_chunk().expect("a tag");
            let opened = siv.open(&[b"one", b"two"], InOut::in_place(part.data), &tag);
            part.verdict(&opened);
        }
    };
    let what = |what| format!("{what}, key of {key} bytes");
    trials.push(Trial::new(algorithm, kernel, what("seal of AES-SIV"), 2 * key, LENS, seal));
    trials.push(Trial::new(
        algorithm,
        kernel,
        what("seal of AES-SIV, own components"),
        2 * key,
        LENS,
        seal_own,
    ));
    trials.push(Trial::new(algorithm, kernel, what("open of AES-SIV"), 2 * key, LENS, open).prepared(seal));

    if key != 24 {
        // Portable code stands beside portable code.
        let polyval = match row.name {
            "portable" => POLYVAL.named(row.features, "portable")?,
            _ => POLYVAL.best(row.features),
        };
        let seal = move |key: &[u8], parts: &mut [Part<'_>]| {
            let ours = GcmSiv::with_kernels(bound, polyval, key).expect("a key of that length");
            let mut tails = Vec::new();
            let mut jobs = Vec::new();
            for part in parts {
                jobs.push(GcmSivJob::new(&[1; 12], b"associated data", InOut::in_place(part.data)));
                tails.push(&mut *part.tail);
            }
            ours.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            for (tail, job) in tails.iter_mut().zip(&jobs) {
                tail[..16].copy_from_slice(&job.tag);
            }
        };
        // Each message has keys of its own where the nonces differ.
        let seal_own = move |key: &[u8], parts: &mut [Part<'_>]| {
            let ours = GcmSiv::with_kernels(bound, polyval, key).expect("a key of that length");
            let nonces = [[1; 12], [2; 12]];
            let mut jobs = Vec::new();
            for (i, part) in parts.iter_mut().enumerate() {
                jobs.push(GcmSivJob::new(&nonces[i % 2], b"associated data", InOut::in_place(part.data)));
            }
            ours.seal_many(&mut jobs.iter_mut().collect::<Vec<_>>());
            let tags: Vec<[u8; 16]> = jobs.iter().map(|job| job.tag).collect();
            for (part, tag) in parts.iter_mut().zip(&tags) {
                part.tail[..16].copy_from_slice(tag);
            }
        };
        let open = move |key: &[u8], parts: &mut [Part<'_>]| {
            let ours = GcmSiv::with_kernels(bound, polyval, key).expect("a key of that length");
            for part in parts {
                let tag = *part.tail.first_chunk().expect("a tag");
                let opened = ours.open(&[1; 12], b"associated data", InOut::in_place(part.data), &tag);
                part.verdict(&opened);
            }
        };
        trials.push(Trial::new(algorithm, kernel, what("seal of AES-GCM-SIV"), key, LENS, seal));
        let what_own = what("seal of AES-GCM-SIV, own nonces");
        trials.push(Trial::new(algorithm, kernel, what_own, key, LENS, seal_own));
        let open = Trial::new(algorithm, kernel, what("open of AES-GCM-SIV"), key, LENS, open);
        trials.push(open.prepared(seal));
    }

    for (radix, lens) in [(10, [6, 16, 16, 38, 41]), (65536, [4, 7, 8, 9, 10])] {
        for decrypt in [false, true] {
            let what = what(if decrypt { "decrypt of FF1" } else { "encrypt of FF1" });
            let what = format!("{what}, radix {radix}");
            trials.push(Trial::new(algorithm, kernel, what, key, &lens, move |key, parts| {
                let ff1 = Ff1::with_kernel(bound, key, radix).expect("a key of that length");
                for part in parts {
                    let mut digits: Vec<u16> =
                        part.data.iter().map(|byte| (u32::from(*byte) % radix) as u16).collect();
                    let mut job = Ff1Job::new(b"tweak", &mut digits);
                    if decrypt {
                        ff1.decrypt_many(&mut [&mut job]);
                    } else {
                        ff1.encrypt_many(&mut [&mut job]);
                    }
                    part.data.iter_mut().zip(&digits).for_each(|(byte, digit)| *byte = *digit as u8);
                }
            }));
        }
    }
    Some(trials)
}
