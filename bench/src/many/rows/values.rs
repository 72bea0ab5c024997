//! The algorithms of columns: Millstream's keys with one object after another and in lanes, and RustCrypto's crates and `fpe`.

use millstream_cpu::Features;
use millstream_engines::aes;
use millstream_engines::ff1::{Ff1Key, Ff1Lanes, KeyedFf1Job};
use millstream_engines::gcm_siv::{GcmSiv, GcmSivJob, GcmSivLanes, KeyedGcmSivJob};
use millstream_engines::keywrap::{KeyedKwJob, Kw, KwLanes};
use millstream_engines::modes::Direction;
use millstream_engines::siv::{KeyedSivJob, Siv, SivLanes};

use super::lanes::{Kept, process, reuse};
use super::ours::put;
use super::{Cell, Row, Rows};
use crate::case::{AAD, Algorithm, Value};
use crate::many::objects::{Data, Objects, Tag};
use crate::measure::OURS;
use crate::peers::Peer;
use crate::peers::rustcrypto::RustCrypto;
use crate::peers::values::{Ours, RADIX, Theirs};

const KEY: &str = "the key's length is right";

/// Returns our row of direct calls.
pub fn direct(cell: &Cell, features: Features, value: Value) -> Option<Row> {
    let (work, kernel) = (cell.work, aes::ECB.best(features));
    let keys = cell.each_key(|k| Ours::new(value, kernel, &work.key(k)));
    let mut keys: Vec<Ours> = keys.into_iter().collect::<Option<_>>()?;
    let (direction, name) = (work.direction(), keys[0].kernel().name);
    Some(Row::each(OURS, "direct", name, move |object, tag| {
        keys[object.key].run(direction, &object.iv[..12], in_place(&mut object.data), tag);
    }))
}

/// Seals an object in place, for work that opens one.
pub fn seal(value: Value, key: &[u8], iv: &[u8], object: &mut [u8], tag: &mut Tag) {
    let key = Ours::new(value, aes::ECB.best(Features::none()), key);
    key.expect(KEY).run(Direction::Encrypt, &iv[..12], object, tag);
}

/// Returns the object in the memory for its output.
fn in_place<'a>(data: &'a mut Data<'_>) -> &'a mut [u8] {
    match data {
        Data::InPlace(data) => data,
        Data::Apart(input, output) => {
            output.copy_from_slice(input);
            output
        }
    }
}

/// Makes a row of lanes of an AEAD.
macro_rules! aead {
    ($cell:expr, $kernel:expr, $lanes:expr, $job:ident, |$object:ident| $make:expr) => {{
        let (lanes, mut kept) = ($lanes, Kept::<$job<'_>>::default());
        if $cell.work.opens() {
            return Some(Row::new(OURS, "lanes", $kernel, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |$object, tag| {
                        let mut job = $make;
                        job.tag.copy_from_slice(&tag[..16]);
                        job
                    },
                    |jobs| lanes.open(&mut jobs),
                    |job, _tag| job.result.expect("the tag is right")
                );
            }));
        }
        Some(Row::new(OURS, "lanes", $kernel, move |objects: &mut Objects<'_>| {
            process!(objects, kept, |$object, _tag| $make, |jobs| lanes.seal(&mut jobs), |job, tag| {
                job.result.expect("short enough");
                put(tag, &job.tag);
            });
        }))
    }};
}

/// Returns our row of lanes.
pub fn lanes(cell: &Cell, features: Features, value: Value) -> Option<Row> {
    let work = cell.work;
    match value {
        Value::Siv => {
            let keys = cell.each_key(|k| Siv::new(features, &work.key(k)).expect(KEY));
            let kernel = keys[0].kernel().name;
            aead!(cell, kernel, SivLanes::new(features), KeyedSivJob, |object| KeyedSivJob::new(
                &keys[object.key],
                &[],
                &AAD,
                object.data.pass()
            ))
        }
        Value::GcmSiv => {
            let keys = cell.each_key(|k| GcmSiv::new(features, &work.key(k)).expect(KEY));
            let kernel = keys[0].kernel().name;
            aead!(cell, kernel, GcmSivLanes::new(features), KeyedGcmSivJob, |object| KeyedGcmSivJob {
                key: &keys[object.key],
                job: GcmSivJob::new(&object.iv[..12], &AAD, object.data.pass()),
            })
        }
        Value::Kw => {
            let keys = cell.each_key(|k| Kw::new(features, &work.key(k)).expect(KEY));
            let kernel = keys[0].kernel().name;
            let (lanes, mut kept) = (KwLanes::new(features), Kept::<KeyedKwJob<'_>>::default());
            Some(Row::new(OURS, "lanes", kernel, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| KeyedKwJob::new(&keys[object.key], &[], object.data.pass()),
                    |jobs| lanes.seal(&mut jobs),
                    |job, tag| {
                        job.result.expect("whole halves");
                        put(tag, &job.tag);
                    }
                );
            }))
        }
        Value::Ff1 => {
            let keys = cell.each_key(|k| Ff1Key::new(features, &work.key(k)).expect(KEY));
            let (kernel, direction) = (keys[0].kernel().name, work.direction());
            let (lanes, mut kept) = (Ff1Lanes::new(features), Kept::<KeyedFf1Job<'_>>::default());
            Some(Row::new(OURS, "lanes", kernel, move |objects: &mut Objects<'_>| {
                process!(
                    objects,
                    kept,
                    |object, _tag| KeyedFf1Job::new(&keys[object.key], RADIX, &AAD, object.data.pass()),
                    |jobs| match direction {
                        Direction::Encrypt => lanes.encrypt(&mut jobs),
                        Direction::Decrypt => lanes.decrypt(&mut jobs),
                    },
                    |job, _tag| job.result.expect("digits")
                );
            }))
        }
        Value::Xaes | Value::Kwp => None,
    }
}

impl Rows for RustCrypto {
    fn version(&self) -> (String, String) {
        (Peer::name(self).to_owned(), Peer::version(self))
    }

    fn rows(&self, cell: &Cell) -> Vec<Row> {
        let work = cell.work;
        let Algorithm::Value(value) = work.cipher_case().algorithm else { return Vec::new() };
        let mut keys = cell.each_key(|k| Theirs::new(value, &work.key(k)));
        let direction = work.direction();
        vec![Row::each("rustcrypto", "direct", Theirs::call(value), move |object, tag| {
            keys[object.key].run(direction, &object.iv[..12], in_place(&mut object.data), tag);
        })]
    }
}
