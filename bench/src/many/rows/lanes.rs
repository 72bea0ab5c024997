//! Millstream's lane managers: a job is made of each object, one call does all of them, and the tags are
//! taken out of the jobs. The time to make the jobs counts, as it does for the peers.

use millstream_cpu::Features;
use millstream_engines::aes::{self, CbcLanes, CfbLanes, CmacJob, CmacLanes, CtrLanes};
use millstream_engines::chacha20poly1305::{
    CHACHA20_POLY1305_LANES, ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes,
};
use millstream_engines::gcm::{GCM_LANES, Gcm, GcmJob, GcmLanes};
use millstream_engines::hash::{HashJob, HashLanes};
use millstream_engines::hmac::{HmacJob, HmacKey, HmacLanes};
use millstream_engines::kasumi::{F8, F8Job, F8Lanes, F9, F9Job, F9Lanes, UEA1_LANES, UIA1_LANES};
use millstream_engines::{camellia, des};

use super::ours::{des_key, engine_hash, kasumi_words, put};
use super::{Cell, Row, values};
use crate::case::{AAD, Algorithm, Cipher, Hash, Mode, kasumi};
use crate::many::objects::Objects;
use crate::many::work::Work;
use crate::measure::OURS;

/// Reuses a vector's memory for elements with another lifetime. Nothing is allocated.
pub fn reuse<T, U>(mut vector: Vec<T>) -> Vec<U> {
    vector.clear();
    vector.into_iter().map(|_| unreachable!("it is empty")).collect()
}

/// Processes one job for each object with one call. `$settle` takes the result out of a job.
macro_rules! process {
    (
        $objects:ident, $kept:ident,
        |$object:ident, $tag_in:ident| $make:expr,
        |$jobs:ident| $call:expr,
        |$job:ident, $tag:ident| $settle:expr
    ) => {{
        let (jobs, references) = std::mem::take(&mut $kept);
        let mut jobs = reuse(jobs);
        jobs.extend($objects.list.iter_mut().zip(&$objects.tags).map(|($object, $tag_in)| $make));
        let mut $jobs = reuse(references);
        $jobs.extend(jobs.iter_mut());
        $call;
        let references = reuse($jobs);
        for ($job, $tag) in jobs.iter().zip(&mut $objects.tags) {
            $settle
        }
        $kept = (reuse(jobs), references);
    }};
}

pub(super) use process;

/// The room for jobs and for references to them, which [`process`] keeps from call to call.
pub type Kept<J> = (Vec<J>, Vec<&'static mut J>);

/// The choice of kernels for managers.
#[derive(Clone, Copy)]
pub struct Choice {
    pub features: Features,
    pub path: Path,
}

/// The way in which a manager does its jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// The manager's own choice.
    Best,
    /// One after another, as it does below its crossover.
    OneByOne,
}

impl Choice {
    fn way(self) -> &'static str {
        match self.path {
            Path::Best => "lanes",
            Path::OneByOne => "one by one",
        }
    }
}

/// The row of every table of lanes that has no lanes.
const DIRECT: &str = "direct-x1";

/// Makes a manager on the chosen kernel.
macro_rules! manager {
    ($manager:ty, $table:expr, $choice:expr) => {
        match $choice.path {
            Path::Best => <$manager>::new($choice.features),
            Path::OneByOne => {
                let direct = $table.named($choice.features, DIRECT).expect("every table has that row");
                <$manager>::with_kernel(direct)
            }
        }
    };
}

/// Makes a manager of a hash on the chosen kernel.
macro_rules! hash_manager {
    ($manager:ty, $hash:expr, $choice:expr) => {
        match $choice.path {
            Path::Best => <$manager>::new($choice.features, $hash),
            Path::OneByOne => <$manager>::named($choice.features, $hash, DIRECT).expect("as above"),
        }
    };
}

/// Makes a row of a manager, with its name and crossover.
macro_rules! lanes {
    ($way:expr, $manager:expr, $run:expr) => {{
        let (kernel, crossover) = ($manager.kernel().name, $manager.crossover());
        let row = Row::new(OURS, $way, kernel, $run);
        Some(Row { crossover: Some(crossover), ..row })
    }};
}

/// Returns the lane manager's row.
pub fn row(cell: &Cell, choice: Choice) -> Option<Row> {
    let features = choice.features;
    let work = cell.work;
    let case = match work {
        Work::One(case) => case,
        Work::EncryptThenMac(cipher, hash) => return chain(cell, choice, cipher, hash),
        Work::Null => return None,
    };
    match case.algorithm {
        Algorithm::Cipher(cipher, Mode::Cbc) => cbc(cell, choice, cipher),
        Algorithm::Cipher(Cipher::Aes(_), Mode::Ctr) => {
            let keys = cell.each_key(|k| aes::Ctr::new(features, &work.key(k)).expect("an AES key"));
            let (manager, mut kept) =
                (manager!(CtrLanes, aes::CTR_LANES, choice), Kept::<aes::CtrJob<'_>>::default());
            lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| aes::CtrJob {
                        key: &keys[object.key],
                        counter: object.iv,
                        data: object.data.pass()
                    },
                    |jobs| manager.apply(&mut jobs),
                    |_job, _tag| ()
                );
            })
        }
        Algorithm::Cipher(Cipher::Aes(_), Mode::Cfb) => {
            let keys = cell.each_key(|k| aes::Cfb::new(features, &work.key(k)).expect("an AES key"));
            let (manager, mut kept) =
                (manager!(CfbLanes, aes::CFB_LANES, choice), Kept::<aes::CfbJob<'_>>::default());
            lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| aes::CfbJob {
                        key: &keys[object.key],
                        iv: object.iv,
                        data: object.data.pass()
                    },
                    |jobs| manager.encrypt(&mut jobs),
                    |_job, _tag| ()
                );
            })
        }
        Algorithm::Gcm(_) => gcm(cell, choice),
        Algorithm::ChaCha20Poly1305 => chacha20_poly1305(cell, choice),
        Algorithm::Cmac(_) => {
            let keys = cell.each_key(|k| aes::Cmac::new(features, &work.key(k)).expect("an AES key"));
            let (manager, mut kept) =
                (manager!(CmacLanes, aes::CMAC_LANES, choice), Kept::<CmacJob<'_>>::default());
            lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| CmacJob {
                        key: &keys[object.key],
                        data: object.data.input(),
                        tag: [0; 16]
                    },
                    |jobs| manager.sign(&mut jobs),
                    |job, tag| put(tag, &job.tag)
                );
            })
        }
        Algorithm::Digest(hash) => {
            let (manager, mut kept) =
                (hash_manager!(HashLanes, engine_hash(hash), choice), Kept::<HashJob<'_>>::default());
            lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| HashJob::new(object.data.input()),
                    |jobs| manager.digest(&mut jobs),
                    |job, tag| put(tag, &job.digest)
                );
            })
        }
        Algorithm::Hmac(hash) => {
            let keys = cell.each_key(|k| HmacKey::new(features, engine_hash(hash), &work.key(k)));
            let (manager, mut kept) =
                (hash_manager!(HmacLanes, engine_hash(hash), choice), Kept::<HmacJob<'_>>::default());
            lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| HmacJob::new(&keys[object.key], object.data.input()),
                    |jobs| manager.sign(&mut jobs),
                    |job, tag| put(tag, &job.tag)
                );
            })
        }
        Algorithm::KasumiF8 => kasumi_f8(cell, choice),
        Algorithm::KasumiF9 => kasumi_f9(cell, choice),
        // They have no crossover: one object goes through the lanes, too.
        Algorithm::Value(value) if choice.path == Path::Best => values::lanes(cell, features, value),
        _ => None,
    }
}

/// Makes a row of CBC. The managers differ only in their names and the length of a block.
macro_rules! cbc_row {
    ($choice:expr, $keys:expr, $manager:expr, $job:ident in $engine:ident) => {{
        let choice = $choice;
        let (keys, manager, mut kept) = ($keys, $manager, Kept::<$engine::$job<'_>>::default());
        lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
            process!(
                objects,
                kept,
                |object, _tag| $engine::$job {
                    key: &keys[object.key],
                    iv: *object.iv.first_chunk().expect("a block"),
                    data: object.data.pass()
                },
                |jobs| manager.encrypt(&mut jobs),
                |_job, _tag| ()
            );
        })
    }};
}

fn cbc(cell: &Cell, choice: Choice, cipher: Cipher) -> Option<Row> {
    let features = choice.features;
    let work = cell.work;
    match cipher {
        Cipher::Aes(_) => cbc_row!(
            choice,
            cell.each_key(|k| aes::Cbc::new(features, &work.key(k)).expect("an AES key")),
            manager!(CbcLanes, aes::CBC_LANES, choice),
            CbcJob in aes
        ),
        Cipher::Camellia(_) => cbc_row!(
            choice,
            cell.each_key(|k| camellia::Cbc::new(features, &work.key(k)).expect("a Camellia key")),
            manager!(camellia::CbcLanes, camellia::CBC_LANES, choice),
            CbcJob in camellia
        ),
        Cipher::Des | Cipher::Tdes => cbc_row!(
            choice,
            cell.each_key(|k| des_key(features, &work.key(k))),
            manager!(des::CbcLanes, des::CBC_LANES, choice),
            CbcJob in des
        ),
    }
}

/// Makes a row that encrypts everything in CBC, and then computes the HMAC of everything.
macro_rules! chain_row {
    ($cell:expr, $choice:expr, $hash:expr, $keys:expr, $ciphers:expr, $engine:ident) => {{
        let (work, hash) = ($cell.work, engine_hash($hash));
        let (keys, ciphers, mut kept) = ($keys, $ciphers, Kept::<$engine::CbcJob<'_>>::default());
        let mac_keys = $cell.each_key(|k| HmacKey::new($choice.features, hash, &work.mac_key(k)));
        let (macs, mut kept_macs) = (hash_manager!(HmacLanes, hash, $choice), Kept::<HmacJob<'_>>::default());
        let kernels = format!("{}, {}", ciphers.kernel().name, macs.kernel().name);
        Some(Row::new(OURS, $choice.way(), kernels, move |objects: &mut Objects<'_>| {
            process!(
                objects,
                kept,
                |object, _tag| $engine::CbcJob {
                    key: &keys[object.key],
                    iv: *object.iv.first_chunk().expect("a block"),
                    data: object.data.pass()
                },
                |jobs| ciphers.encrypt(&mut jobs),
                |_job, _tag| ()
            );
            process!(
                objects,
                kept_macs,
                |object, _tag| HmacJob::new(&mac_keys[object.key], object.data.output()),
                |jobs| macs.sign(&mut jobs),
                |job, tag| put(tag, &job.tag)
            );
        }))
    }};
}

fn chain(cell: &Cell, choice: Choice, cipher: Cipher, hash: Hash) -> Option<Row> {
    let features = choice.features;
    let work = cell.work;
    match cipher {
        Cipher::Aes(_) => {
            let keys = cell.each_key(|k| aes::Cbc::new(features, &work.key(k)).expect("an AES key"));
            chain_row!(cell, choice, hash, keys, manager!(CbcLanes, aes::CBC_LANES, choice), aes)
        }
        Cipher::Tdes => {
            let keys = cell.each_key(|k| des_key(features, &work.key(k)));
            chain_row!(cell, choice, hash, keys, manager!(des::CbcLanes, des::CBC_LANES, choice), des)
        }
        _ => None,
    }
}

/// Makes a row of an AEAD. The managers differ only in their names.
macro_rules! aead_row {
    ($cell:expr, $choice:expr, $keys:expr, $manager:expr, $job:ident) => {{
        let choice = $choice;
        let (keys, manager, mut kept) = ($keys, $manager, Kept::<$job<'_>>::default());
        if $cell.work.opens() {
            return lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, tag| {
                        let mut job =
                            $job::new(&keys[object.key], &object.iv[..12], &AAD, object.data.pass());
                        job.tag.copy_from_slice(&tag[..16]);
                        job
                    },
                    |jobs| manager.open(&mut jobs),
                    |job, _tag| job.result.expect("the tag is right")
                );
            });
        }
        lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
            process!(
                objects,
                kept,
                |object, _tag| $job::new(&keys[object.key], &object.iv[..12], &AAD, object.data.pass()),
                |jobs| manager.seal(&mut jobs),
                |job, tag| {
                    job.result.expect("short enough");
                    put(tag, &job.tag);
                }
            );
        })
    }};
}

fn gcm(cell: &Cell, choice: Choice) -> Option<Row> {
    let features = choice.features;
    let keys = cell.each_key(|k| Gcm::new(features, &cell.work.key(k)).expect("an AES key"));
    aead_row!(cell, choice, keys, manager!(GcmLanes, GCM_LANES, choice), GcmJob)
}

fn chacha20_poly1305(cell: &Cell, choice: Choice) -> Option<Row> {
    let features = choice.features;
    let keys = cell.each_key(|k| ChaCha20Poly1305::new(features, &cell.work.key(k)).expect("a key"));
    aead_row!(
        cell,
        choice,
        keys,
        manager!(ChaCha20Poly1305Lanes, CHACHA20_POLY1305_LANES, choice),
        ChaCha20Poly1305Job
    )
}

fn kasumi_f8(cell: &Cell, choice: Choice) -> Option<Row> {
    let features = choice.features;
    let keys = cell.each_key(|k| F8::new(features, &cell.work.key(k)).expect("16 bytes"));
    let (manager, mut kept) = (manager!(F8Lanes, UEA1_LANES, choice), Kept::<F8Job<'_>>::default());
    lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
        process!(
            objects,
            kept,
            |object, _tag| {
                let (key, (count, _)) = (&keys[object.key], kasumi_words(object.iv));
                let bits = 8 * object.data.len();
                F8Job::new(key, count, kasumi::BEARER, kasumi::DIRECTION, object.data.pass(), bits)
            },
            |jobs| manager.apply(&mut jobs),
            |job, _tag| job.result.expect("whole bytes")
        );
    })
}

fn kasumi_f9(cell: &Cell, choice: Choice) -> Option<Row> {
    let features = choice.features;
    let keys = cell.each_key(|k| F9::new(features, &cell.work.key(k)).expect("16 bytes"));
    let (manager, mut kept) = (manager!(F9Lanes, UIA1_LANES, choice), Kept::<F9Job<'_>>::default());
    lanes!(choice.way(), manager, move |objects: &mut Objects<'_>| {
        process!(
            objects,
            kept,
            |object, _tag| {
                let (key, (count, fresh)) = (&keys[object.key], kasumi_words(object.iv));
                let data = object.data.input();
                F9Job::new(key, count, fresh, kasumi::DIRECTION, data, 8 * data.len())
            },
            |jobs| manager.mac(&mut jobs),
            |job, tag| put(tag, &job.result.expect("whole bytes"))
        );
    })
}
