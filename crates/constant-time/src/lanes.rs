//! Rows that work on many objects side by side: enough of them that lanes fill, run ragged and end, under
//! several keys.

use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::{
    CHACHA20_POLY1305_LANES, ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes,
};
use millstream_engines::gcm::{GCM_LANES, Gcm, GcmJob, GcmLanes};
use millstream_engines::hash::{Hash, HashJob, HashLanes};
use millstream_engines::hmac::{HmacJob, HmacKey, HmacLanes};
use millstream_engines::kasumi::{F8, F8Job, F8Lanes, F9, F9Job, F9Lanes, UEA1_LANES, UIA1_LANES};
use millstream_engines::{Crossover, InOut, aes, camellia, des, sm4};

use crate::Row;
use crate::trial::{Part, Run, Trial};

/// The number of keys of a trial.
const KEYS: usize = 3;

/// The lengths that objects have in turn.
const LENS: &[usize] = &[40, 5, 77, 16, 130];

/// The most objects of a trial, which is more than the widest lanes.
const MOST: usize = 300;

/// Returns the lengths of a trial's objects, in whole blocks.
fn lens(crossover: Crossover, block: usize) -> Vec<usize> {
    let pays = LENS.iter().map(|len| crossover.objects(*len)).max().unwrap_or(0);
    // If lanes never pay, the row works on one object after another, and a few of them are enough.
    let objects = if pays > MOST { 4 } else { pays.max(9) + 5 };
    (0..objects).map(|i| LENS[i % LENS.len()].next_multiple_of(block)).collect()
}

/// Returns the trials of a row of a table of lanes; none for another table.
pub fn trials(row: Row) -> Option<Vec<Trial>> {
    let mut trials = Vec::new();
    for key in row.key_bits.iter().map(|bits| bits / 8) {
        trials.extend(keyed(row, key)?);
    }
    if row.key_bits.is_empty() {
        trials.extend(hashes(row)?);
    }
    Some(trials)
}

/// Makes a row's trial. `$job` makes a job of a part and its key, `$call` has all jobs done, and `$settle`
/// keeps a job's verdict. Everything is expanded at each place, because jobs borrow and each manager has its
/// own type of job.
macro_rules! trial {
    (
        $row:expr, $key_len:expr, $what:expr, $table:expr, $manager:ty, $block:expr, $key:ty,
        |$part:ident, $k:ident, $i:ident| $job:expr,
        |$lanes:ident, $jobs:ident| $call:expr
        $(, |$done:ident, $tail:ident| $settle:expr)?
    ) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let $lanes = <$manager>::with_kernel(bound);
        let what = format!("{}, keys of {} bytes", $what, $key_len);
        let lens = lens($lanes.crossover(), $block);
        let features = row.features;
        Trial::new(row.algorithm, bound.kernel(), what, KEYS * $key_len, &lens, move |keys, parts| {
            let keys: Vec<$key> = keys
                .chunks($key_len)
                .map(|key| <$key>::new(features, key).expect("a key of that length"))
                .collect();
            let mut jobs: Vec<_> = parts
                .iter_mut()
                .enumerate()
                .map(|($i, Part { data: $part, tail: _tail })| {
                    let $k = &keys[$i % KEYS];
                    $job
                })
                .collect();
            let mut $jobs: Vec<_> = jobs.iter_mut().collect();
            $call;
            $(
                let kept: Vec<_> = jobs.iter().map(|$done| $settle).collect();
                drop(jobs);
                for (part, kept) in parts.iter_mut().zip(kept) {
                    part.put(&kept);
                }
            )?
        })
    }};
}

/// Makes trials of an AEAD's row: sealed, opened and refused.
macro_rules! aead {
    ($row:expr, $key_len:expr, $table:expr, $manager:ident, $job:ident, $key:ident) => {{
        let (row, bound) = ($row, $table.named($row.features, $row.name)?);
        let (lanes, features) = ($manager::with_kernel(bound), row.features);
        let make = move |keys: &[u8]| -> Vec<$key> {
            let keys = keys.chunks($key_len);
            keys.map(|key| $key::new(features, key).expect("a key of that length")).collect()
        };
        let seal = move |keys: &[u8], parts: &mut [Part<'_>]| {
            let keys = make(keys);
            let jobs = parts.iter_mut().enumerate();
            let mut jobs: Vec<_> = jobs
                .map(|(i, part)| $job::new(&keys[i % KEYS], &[2; 12], &[3; 20], InOut::in_place(part.data)))
                .collect();
            lanes.seal(&mut jobs.iter_mut().collect::<Vec<_>>());
            let tags: Vec<_> = jobs.iter().map(|job| job.tag).collect();
            drop(jobs);
            parts.iter_mut().zip(tags).for_each(|(part, tag)| part.put(&tag));
        };
        let open = move |keys: &[u8], parts: &mut [Part<'_>]| {
            let keys = make(keys);
            let jobs = parts.iter_mut().enumerate();
            let mut jobs: Vec<_> = jobs
                .map(|(i, part)| {
                    let mut job = $job::new(&keys[i % KEYS], &[2; 12], &[3; 20], InOut::in_place(part.data));
                    job.tag = *part.tail.first_chunk().expect("a tag");
                    job
                })
                .collect();
            lanes.open(&mut jobs.iter_mut().collect::<Vec<_>>());
            let results: Vec<_> = jobs.iter().map(|job| job.result.clone()).collect();
            drop(jobs);
            parts.iter_mut().zip(results).for_each(|(part, result)| part.verdict(&result));
        };
        // Each key's own kernel makes the tags.
        let tags = move |keys: &[u8], parts: &mut [Part<'_>]| {
            let keys = make(keys);
            for (i, part) in parts.iter_mut().enumerate() {
                let mut tag = [0; 16];
                let data = InOut::in_place(part.data);
                keys[i % KEYS].seal(&[2; 12], &[3; 20], data, &mut tag).expect("short enough");
                part.put(&tag);
            }
        };
        let forge = move |keys: &[u8], parts: &mut [Part<'_>]| {
            tags(keys, parts);
            parts.iter_mut().step_by(2).for_each(|part| part.tail[5] ^= 8);
        };
        let lens = lens(lanes.crossover(), 1);
        let trial = |what: &str, run: Run| {
            let what = format!("{what}, keys of {} bytes", $key_len);
            Trial::new(row.algorithm, bound.kernel(), what, KEYS * $key_len, &lens, run)
        };
        Some(vec![
            trial("seal", Box::new(seal)),
            trial("open", Box::new(open)).prepared(tags),
            trial("refuse every second", Box::new(open)).prepared(forge),
        ])
    }};
}

fn keyed(row: Row, len: usize) -> Option<Vec<Trial>> {
    match row.algorithm {
        "aes-gcm-lanes" => aead!(row, len, GCM_LANES, GcmLanes, GcmJob, Gcm),
        "chacha20-poly1305-lanes" => aead!(
            row,
            len,
            CHACHA20_POLY1305_LANES,
            ChaCha20Poly1305Lanes,
            ChaCha20Poly1305Job,
            ChaCha20Poly1305
        ),
        name if name.starts_with("aes-") => of_aes(row, len),
        name if name.starts_with("camellia-") => of_camellia(row, len),
        name if name.starts_with("sm4-") => of_sm4(row, len),
        name if name.starts_with("des-") || name.starts_with("3des-") => of_des(row, len),
        name if name.starts_with("kasumi-") => of_kasumi(row, len),
        _ => None,
    }
}

/// Makes a trial of one of a cipher's modes: CBC or CFB with the table and the bytes of a block, or CTR.
macro_rules! mode {
    (cbc: $row:ident, $len:ident, $cipher:ident, $table:expr, $block:literal, $what:literal, $call:ident) => {
        trial!(
            $row,
            $len,
            $what,
            $table,
            $cipher::CbcLanes,
            $block,
            $cipher::Cbc,
            |part, key, i| $cipher::CbcJob { key, iv: [i as u8; $block], data: InOut::in_place(part) },
            |lanes, jobs| lanes.$call(&mut jobs)
        )
    };
    (ctr: $row:ident, $len:ident, $cipher:ident) => {
        trial!(
            $row,
            $len,
            "apply",
            $cipher::CTR_LANES,
            $cipher::CtrLanes,
            1,
            $cipher::Ctr,
            |part, key, i| $cipher::CtrJob { key, counter: [i as u8; 16], data: InOut::in_place(part) },
            |lanes, jobs| lanes.apply(&mut jobs)
        )
    };
    (cfb: $row:ident, $len:ident, $cipher:ident, $table:expr, $block:literal) => {
        trial!(
            $row,
            $len,
            "encrypt",
            $table,
            $cipher::CfbLanes,
            1,
            $cipher::Cfb,
            |part, key, i| $cipher::CfbJob { key, iv: [i as u8; $block], data: InOut::in_place(part) },
            |lanes, jobs| lanes.encrypt(&mut jobs)
        )
    };
}

fn of_aes(row: Row, len: usize) -> Option<Vec<Trial>> {
    Some(match row.algorithm {
        "aes-cbc-lanes" => vec![
            mode!(cbc: row, len, aes, aes::CBC_LANES, 16, "encrypt", encrypt),
            mode!(cbc: row, len, aes, aes::CBC_LANES, 16, "decrypt", decrypt),
        ],
        "aes-ctr-lanes" => vec![mode!(ctr: row, len, aes)],
        "aes-cfb128-lanes" => vec![mode!(cfb: row, len, aes, aes::CFB_LANES, 16)],
        "aes-cmac-lanes" => vec![trial!(
            row,
            len,
            "sign",
            aes::CMAC_LANES,
            aes::CmacLanes,
            1,
            aes::Cmac,
            |part, key, _i| aes::CmacJob { key, data: part, tag: [0; 16] },
            |lanes, jobs| lanes.sign(&mut jobs),
            |job, tail| job.tag
        )],
        _ => return None,
    })
}

fn of_camellia(row: Row, len: usize) -> Option<Vec<Trial>> {
    Some(match row.algorithm {
        "camellia-cbc-lanes" => {
            vec![mode!(cbc: row, len, camellia, camellia::CBC_LANES, 16, "encrypt", encrypt)]
        }
        "camellia-ctr-lanes" => vec![mode!(ctr: row, len, camellia)],
        _ => return None,
    })
}

fn of_sm4(row: Row, len: usize) -> Option<Vec<Trial>> {
    Some(match row.algorithm {
        "sm4-cbc-lanes" => vec![mode!(cbc: row, len, sm4, sm4::CBC_LANES, 16, "encrypt", encrypt)],
        "sm4-ctr-lanes" => vec![mode!(ctr: row, len, sm4)],
        _ => return None,
    })
}

fn of_des(row: Row, len: usize) -> Option<Vec<Trial>> {
    Some(match row.algorithm {
        "des-cbc-lanes" => vec![
            mode!(cbc: row, len, des, des::CBC_LANES, 8, "encrypt", encrypt),
            mode!(cbc: row, len, des, des::CBC_LANES, 8, "decrypt", decrypt),
        ],
        "3des-cbc-lanes" => vec![
            mode!(cbc: row, len, des, des::TRIPLE_CBC_LANES, 8, "encrypt", encrypt),
            mode!(cbc: row, len, des, des::TRIPLE_CBC_LANES, 8, "decrypt", decrypt),
        ],
        "des-cfb64-lanes" => vec![mode!(cfb: row, len, des, des::CFB_LANES, 8)],
        "3des-cfb64-lanes" => vec![mode!(cfb: row, len, des, des::TRIPLE_CFB_LANES, 8)],
        "des-mac-lanes" => vec![trial!(
            row,
            len,
            "sign",
            des::MAC_LANES,
            des::MacLanes,
            1,
            des::Mac,
            |part, key, _i| des::MacJob { key, message: part, mac: [0; 8] },
            |lanes, jobs| lanes.mac(&mut jobs),
            |job, tail| job.mac
        )],
        _ => return None,
    })
}

fn of_kasumi(row: Row, len: usize) -> Option<Vec<Trial>> {
    Some(match row.algorithm {
        "kasumi-f8-lanes" => vec![trial!(
            row,
            len,
            "apply",
            UEA1_LANES,
            F8Lanes,
            1,
            F8,
            |part, key, i| {
                let bits = 8 * part.len() - i % 8;
                F8Job::new(key, i as u32, 2, 1, InOut::in_place(part), bits)
            },
            |lanes, jobs| lanes.apply(&mut jobs)
        )],
        "kasumi-f9-lanes" => vec![trial!(
            row,
            len,
            "sign",
            UIA1_LANES,
            F9Lanes,
            1,
            F9,
            |part, key, i| F9Job::new(key, i as u32, 2, 1, part, 8 * part.len() - i % 8),
            |lanes, jobs| lanes.mac(&mut jobs),
            |job, tail| job.result.expect("a direction")
        )],
        _ => return None,
    })
}

/// Returns the trials of the hashes that run in a table's lanes, and of their HMACs.
fn hashes(row: Row) -> Option<Vec<Trial>> {
    let hash = match row.algorithm {
        "md5-lanes" => Hash::Md5,
        "sha1-lanes" => Hash::Sha1,
        "sha256-lanes" => Hash::Sha256,
        "sha512-lanes" => Hash::Sha512,
        "sha3-224-lanes" => Hash::Sha3_224,
        "sha3-256-lanes" => Hash::Sha3_256,
        "sha3-384-lanes" => Hash::Sha3_384,
        "sha3-512-lanes" => Hash::Sha3_512,
        _ => return None,
    };
    let (features, algorithm) = (row.features, row.algorithm);
    let digests = HashLanes::named(features, hash, row.name)?;
    let digest = Trial::new(
        algorithm,
        digests.kernel(),
        "digest",
        0,
        &lens(digests.crossover(), 1),
        move |_, parts| {
            let mut jobs: Vec<_> = parts.iter().map(|part| HashJob::new(&*part.data)).collect();
            digests.digest(&mut jobs.iter_mut().collect::<Vec<_>>());
            let kept: Vec<_> = jobs.iter().map(|job| job.digest).collect();
            parts.iter_mut().zip(kept).for_each(|(part, digest)| part.put(&digest));
        },
    );
    let macs = HmacLanes::named(features, hash, row.name)?;
    let mac = Trial::new(
        algorithm,
        macs.kernel(),
        "HMAC",
        KEYS * 20,
        &lens(macs.crossover(), 1),
        move |keys, parts| {
            let keys: Vec<_> = keys.chunks(20).map(|key| HmacKey::new(features, hash, key)).collect();
            let jobs = parts.iter().enumerate();
            let mut jobs: Vec<_> = jobs.map(|(i, part)| HmacJob::new(&keys[i % KEYS], &*part.data)).collect();
            macs.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
            let kept: Vec<_> = jobs.iter().map(|job| job.tag).collect();
            parts.iter_mut().zip(kept).for_each(|(part, digest)| part.put(&digest));
        },
    );
    Some(vec![digest, mac])
}
