//! Backups in a store of memory and in a folder: every length and range, every point at which one can be interrupted, and what is changed in them.

mod common;

use std::sync::Arc;
use std::sync::Mutex;

use common::{Fault, Faulty};
use millstream_backup::get::get;
use millstream_backup::list::{list, prune, rekey, remove};
use millstream_backup::manifest::{self, Details, Manifest};
use millstream_backup::put::{Done, put, resume};
use millstream_backup::verify::verify;
use millstream_backup::{Error, Event, Get, Location, Policy, Put, Store};
use millstream_cpu::Features;
use millstream_files::chunked::sealed_len;
use millstream_files::envelope::{Identity, Recipient};

const KEY: [u8; 32] = [7; 32];
const OTHER: [u8; 32] = [8; 32];
/// Small segments, so that a small stream has many: a chunk and a part of one.
const SEGMENT: u64 = 20_000;

fn features() -> Features {
    Features::hardware()
}

fn options() -> Put {
    let mut options = Put::new(features());
    options.segment_bytes = SEGMENT;
    options.memory = 3 * sealed_len(SEGMENT);
    options.source = "a test".into();
    options
}

fn text(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|i| (i as u64).wrapping_mul(2_654_435_761).to_le_bytes()[2] ^ seed).collect()
}

fn made(store: &Store, name: &Location, bytes: &[u8]) -> Result<Done, Error> {
    put(store, name, &options(), &[Recipient::Key(&KEY)], &mut &bytes[..], &|_| {})
}

fn resumed(store: &Store, name: &Location, bytes: &[u8]) -> Result<Done, Error> {
    resume(store, name, &options(), &[Identity::Key(&KEY)], &mut &bytes[..], &|_| {})
}

fn read_with(store: &Store, name: &Location, options: &Get, key: &[u8; 32]) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    get(store, name, options, &[Identity::Key(key)], &mut out, &|_| {})?;
    Ok(out)
}

fn read(store: &Store, name: &Location) -> Result<Vec<u8>, Error> {
    read_with(store, name, &Get::new(features()), &KEY)
}

#[test]
fn every_length_and_range_comes_back() {
    let store = Store::memory();
    let segment = SEGMENT as usize;
    for len in [0, 1, 16383, 16384, 16385, segment - 1, segment, segment + 1, 3 * segment, 3 * segment + 777]
    {
        let name = Location::in_memory(&format!("lengths/{len}"));
        let bytes = text(len, 0);
        let done = made(&store, &name, &bytes).unwrap();
        assert_eq!(done.index.bytes, len as u64);
        assert_eq!(done.index.segments.len(), len.div_ceil(segment).max(1));
        assert!(read(&store, &name).unwrap() == bytes, "{len} bytes");
        let points = [0, 1, 100, 16384, segment - 1, segment, segment + 16384, 2 * segment, len / 2, len];
        for start in points {
            for end in points {
                let mut options = Get::new(features());
                options.range = Some(start as u64..end as u64);
                let got = read_with(&store, &name, &options, &KEY);
                if start > end || end > len {
                    assert!(matches!(got, Err(Error::Range { .. })), "{start}..{end} of {len}");
                } else {
                    assert!(got.unwrap() == bytes[start..end], "{start}..{end} of {len}");
                }
            }
        }
    }
}

/// Interrupts a backup at each call to the store, before and after it is done.
#[test]
fn a_backup_can_be_interrupted_at_any_call() {
    let bytes = text(4 * SEGMENT as usize + 123, 1);
    let name = Location::in_memory("pool/now");
    let calls = {
        let faulty = Faulty::new();
        made(&faulty.store(1), &name, &bytes).unwrap();
        faulty.calls()
    };
    assert!(calls > 15, "{calls} calls");
    for at in 0..calls {
        for fault in [Fault::Before, Fault::After] {
            for again in [&bytes[..], &text(bytes.len(), 2), &[&bytes[..50_000], &text(90_000, 3)].concat()] {
                let faulty = Faulty::new();
                let store = faulty.store(1);
                faulty.set(Some((at, fault)));
                let interrupted = made(&store, &name, &bytes);
                faulty.set(None);
                let is_done = interrupted.is_ok_and(|done| done.untidy.is_none());
                assert!(!is_done || at + 1 >= calls, "call {at}, {fault:?}");
                let whole = faulty.objects().contains(&"pool/now/manifest".to_owned());
                match read(&store, &name) {
                    Ok(read) => assert!(whole && read == bytes, "call {at}, {fault:?}"),
                    Err(error) => {
                        assert!(
                            !whole && matches!(error, Error::Missing { .. }),
                            "call {at}, {fault:?}: {error}"
                        );
                        assert!(verify(&store, &name, &Get::new(features()), None, 100, &|_| {}).is_err());
                    }
                }
                let expected = match resumed(&store, &name, again) {
                    Ok(_) if whole => &bytes[..],
                    Ok(_) => again,
                    Err(Error::NothingToResume(_)) if faulty.objects().is_empty() => {
                        made(&store, &name, again).unwrap();
                        again
                    }
                    Err(error) => panic!("call {at}, {fault:?}: {error}"),
                };
                assert!(read(&store, &name).unwrap() == expected, "call {at}, {fault:?}");
                verify(&store, &name, &Get::new(features()), Some(&[Identity::Key(&KEY)]), 100, &|_| {})
                    .unwrap();
                // Nothing is left of what was only needed to go on.
                let segments = expected.len().div_ceil(SEGMENT as usize);
                assert_eq!(
                    faulty.objects().len(),
                    segments + 1,
                    "call {at}, {fault:?}: {:?}",
                    faulty.objects()
                );
            }
        }
    }
}

#[test]
fn resuming_keeps_the_segments_that_are_there() {
    let bytes = text(6 * SEGMENT as usize, 4);
    let (faulty, name) = (Faulty::new(), Location::in_memory("a"));
    let store = faulty.store(1);
    // Eight calls are past two segments with their records at least.
    faulty.set(Some((9, Fault::Before)));
    assert!(made(&store, &name, &bytes).is_err());
    faulty.set(None);
    assert!(matches!(made(&store, &name, &bytes), Err(Error::Partial(_))));
    let events = Mutex::new(Vec::new());
    let tell = |event| events.lock().unwrap().push(event);
    let done = resume(&store, &name, &options(), &[Identity::Key(&KEY)], &mut &bytes[..], &tell).unwrap();
    assert!((2..6).contains(&done.kept), "{} kept", done.kept);
    let events = events.into_inner().unwrap();
    let kept = events.iter().filter(|event| matches!(event, Event::Kept { .. })).count();
    assert_eq!(kept as u64, done.kept);
    assert!(read(&store, &name).unwrap() == bytes);
    assert!(matches!(made(&store, &name, &bytes), Err(Error::Exists(_))));
    assert!(matches!(resumed(&store, &Location::in_memory("b"), &bytes), Err(Error::NothingToResume(_))));
}

#[test]
fn a_draft_opens_with_its_key_only() {
    let (faulty, name) = (Faulty::new(), Location::in_memory("a"));
    let store = faulty.store(1);
    faulty.set(Some((5, Fault::Before)));
    assert!(made(&store, &name, &text(50_000, 0)).is_err());
    faulty.set(None);
    let refused =
        resume(&store, &name, &options(), &[Identity::Key(&OTHER)], &mut &b""[..], &|_| {}).unwrap_err();
    assert!(refused.to_string().contains("not the one it was sealed for"), "{refused}");
}

#[test]
fn calls_that_fail_for_a_while_are_made_again() {
    let bytes = text(3 * SEGMENT as usize, 5);
    let calls = {
        let faulty = Faulty::new();
        made(&faulty.store(1), &Location::in_memory("a"), &bytes).unwrap();
        faulty.calls()
    };
    for at in 0..calls {
        for fault in [Fault::Some(2), Fault::Lost] {
            let faulty = Faulty::new();
            let (store, name) = (faulty.store(4), Location::in_memory("a"));
            faulty.set(Some((at, fault)));
            made(&store, &name, &bytes).unwrap_or_else(|error| panic!("call {at}, {fault:?}: {error}"));
            faulty.set(Some((1, Fault::Some(2))));
            assert!(read(&store, &name).unwrap() == bytes, "call {at}, {fault:?}");
        }
    }
}

#[test]
fn what_was_changed_in_the_store_is_refused() {
    let bytes = text(3 * SEGMENT as usize + 5, 6);
    let (faulty, name) = (Faulty::new(), Location::in_memory("p/a"));
    let store = faulty.store(1);
    let index = made(&store, &name, &bytes).unwrap().index;
    let all = Get::new(features());
    let key = [Identity::Key(&KEY)];
    let refused = |why: &str| {
        let got = read(&store, &name).expect_err(why).to_string();
        let checked = verify(&store, &name, &all, None, 100, &|_| {}).expect_err(why).to_string();
        let opened = verify(&store, &name, &all, Some(&key), 100, &|_| {}).expect_err(why).to_string();
        (got, checked, opened)
    };
    let path = |number| format!("p/a/{}", index.object(number));
    let segment = faulty.read(&path(1));
    for (why, changed) in [
        ("a bit", {
            let mut c = segment.clone();
            c[9000] ^= 4;
            c
        }),
        ("the commitment", {
            let mut c = segment.clone();
            c[30] ^= 4;
            c
        }),
        ("the salt", {
            let mut c = segment.clone();
            c[3] ^= 4;
            c
        }),
        ("cut off", segment[..segment.len() - 1].to_vec()),
        ("a whole chunk cut off", segment[..56 + 16400].to_vec()),
        ("empty", Vec::new()),
        ("longer", [&segment[..], b"."].concat()),
        ("another segment", faulty.read(&path(0))),
    ] {
        faulty.write(&path(1), changed);
        let (got, checked, opened) = refused(why);
        assert!([got, checked, opened].iter().all(|text| text.contains("segment 1")), "{why}");
    }
    faulty.delete(&path(1));
    let (got, checked, _) = refused("missing");
    assert!(got.contains("not found") && checked.contains("missing"), "{got}, {checked}");
    faulty.write(&path(1), segment);
    assert!(read(&store, &name).unwrap() == bytes);

    let manifest = faulty.read("p/a/manifest");
    for at in (0..manifest.len()).step_by(7) {
        let mut changed = manifest.clone();
        changed[at] ^= 1;
        faulty.write("p/a/manifest", changed);
        assert!(read(&store, &name).is_err(), "byte {at} of the manifest");
    }
    for len in [0, 19, 20, 100, manifest.len() - 1] {
        faulty.write("p/a/manifest", manifest[..len].to_vec());
        refused("a manifest that was cut off");
    }
    faulty.write("p/a/manifest", manifest);
    let error = read_with(&store, &name, &all, &OTHER).unwrap_err();
    assert!(matches!(error, Error::Files(millstream_files::Error::NoKey { fitting: true, .. })), "{error}");
}

#[test]
fn swapped_manifests_are_told() {
    let faulty = Faulty::new();
    let store = faulty.store(1);
    let (a, b) = (Location::in_memory("p/a"), Location::in_memory("p/b"));
    made(&store, &a, &text(30_000, 1)).unwrap();
    let index = made(&store, &b, &text(30_000, 2)).unwrap().index;
    // All of b is brought under a's name.
    for number in 0..2 {
        let object = index.object(number);
        faulty.write(&format!("p/a/{object}"), faulty.read(&format!("p/b/{object}")));
    }
    faulty.write("p/a/manifest", faulty.read("p/b/manifest"));
    let error = read(&store, &a).unwrap_err();
    assert!(
        matches!(&error, Error::Moved { made_as, found_as } if made_as == "p/b" && found_as == "p/a"),
        "{error}"
    );
    let mut moved = Get::new(features());
    moved.moved = true;
    assert!(read_with(&store, &a, &moved, &KEY).unwrap() == text(30_000, 2));
    // The verifier of a backup tells it from all others, without a key.
    let mut known = Get::new(features());
    known.verifier = Some(index.verifier);
    verify(&store, &b, &known, None, 100, &|_| {}).unwrap();
    known.verifier = Some([0; 32]);
    assert!(matches!(verify(&store, &b, &known, None, 100, &|_| {}), Err(Error::Signature)));
}

#[test]
fn a_sample_examines_some_segments() {
    let (store, name) = (Store::memory(), Location::in_memory("a"));
    made(&store, &name, &text(20 * SEGMENT as usize, 0)).unwrap();
    let all = Get::new(features());
    for (percent, segments) in [(0, 1), (1, 1), (10, 2), (50, 10), (100, 20)] {
        let verified = verify(&store, &name, &all, None, percent, &|_| {}).unwrap();
        assert_eq!((verified.segments, verified.opened), (segments, false), "{percent} %");
    }
}

#[test]
fn the_newest_are_kept_and_others_removed() {
    let faulty = Faulty::new();
    let store = faulty.store(1);
    for name in ["pool/a b", "pool/Köln ü/1", "pool/c", "other/d"] {
        made(&store, &Location::in_memory(name), &text(1000, 0)).unwrap();
    }
    faulty.set(Some((4, Fault::Before)));
    assert!(made(&store, &Location::in_memory("pool/half"), &text(50_000, 0)).is_err());
    faulty.set(None);
    let under = Location::in_memory("pool");
    let found = list(&store, &under, features()).unwrap();
    assert_eq!(found.len(), 4);
    assert!(found[3].index.is_none());
    assert_eq!(prune(&store, &under, features(), 1, false, true).unwrap().len(), 2);
    assert_eq!(list(&store, &under, features()).unwrap().len(), 4, "a dry run removes nothing");
    assert_eq!(prune(&store, &under, features(), 1, true, false).unwrap().len(), 3);
    assert_eq!(list(&store, &under, features()).unwrap().len(), 1);
    remove(&store, &Location::in_memory("other/d")).unwrap();
    assert!(matches!(remove(&store, &Location::in_memory("other/d")), Err(Error::Missing { .. })));
    assert!(matches!(remove(&store, &Location::in_memory("")), Err(Error::Location(_))));
    assert_eq!(faulty.objects().len(), 2);
}

#[test]
fn a_backup_of_the_future_removes_no_other() {
    let faulty = Faulty::new();
    let store = faulty.store(1);
    for name in ["pool/ahead", "pool/now"] {
        made(&store, &Location::in_memory(name), b"stream").unwrap();
    }
    let Manifest { head, mut index, .. } =
        Manifest::read(features(), &faulty.read("pool/ahead/manifest"), None).unwrap();
    let key = head.key(features(), &[Identity::Key(&KEY)]).unwrap();
    index.created += 1 << 32;
    let details = Details { name: "pool/ahead".into(), source: String::new() };
    let ahead = manifest::encode(features(), &key, head.keys.clone(), &index, &details).unwrap();
    faulty.write("pool/ahead/manifest", ahead);
    let pool = Location::in_memory("pool");
    let refused = prune(&store, &pool, features(), 1, false, false).unwrap_err();
    assert!(matches!(&refused, Error::Clock(why) if why.contains("pool/ahead")), "{refused}");
    remove(&store, &Location::in_memory("pool/ahead")).unwrap();
    assert!(prune(&store, &pool, features(), 1, false, false).unwrap().is_empty());
}

#[test]
fn a_key_is_wrapped_anew() {
    let (faulty, name) = (Faulty::new(), Location::in_memory("a"));
    let store = faulty.store(1);
    let bytes = text(50_000, 0);
    let before = made(&store, &name, &bytes).unwrap().index;
    let all = Get::new(features());
    rekey(&store, &name, &all, &[Identity::Key(&KEY)], &[Recipient::Key(&OTHER)]).unwrap();
    assert!(read(&store, &name).is_err());
    assert!(read_with(&store, &name, &all, &OTHER).unwrap() == bytes);
    let mut known = all;
    known.verifier = Some(before.verifier);
    assert_eq!(verify(&store, &name, &known, None, 100, &|_| {}).unwrap().index, before);
}

#[test]
fn a_folder_with_a_name_of_any_kind_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["pool/now", "with space", "Köln/Straße 1", "100% #1?", "a+b&c=d"] {
        let address = format!("{}/{name}", folder.path().display());
        let (location, inner, is_local) = Location::parse(&address).unwrap();
        assert!(is_local);
        let store = Store::new(Arc::clone(&inner), Policy::default()).unwrap();
        let bytes = text(50_000, 9);
        made(&store, &location, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(read(&store, &location).unwrap() == bytes, "{name}");
        assert!(folder.path().join(name).join("manifest").is_file(), "{name}");
        assert_eq!(list(&store, &location, features()).unwrap().len(), 1, "{name}");
    }
    let (all, inner, _) = Location::parse(folder.path().to_str().unwrap()).unwrap();
    let store = Store::new(inner, Policy::default()).unwrap();
    assert_eq!(list(&store, &all, features()).unwrap().len(), 5);
}

#[test]
fn too_little_memory_and_unknown_addresses_are_told() {
    let mut little = options();
    little.memory = 2 * sealed_len(SEGMENT) - 1;
    let made = put(
        &Store::memory(),
        &Location::in_memory("a"),
        &little,
        &[Recipient::Key(&KEY)],
        &mut &b""[..],
        &|_| {},
    );
    assert!(matches!(made, Err(Error::Memory { .. })));
    for address in ["ftp://host/name", "s3://", "s3:///name"] {
        assert!(matches!(Location::parse(address), Err(Error::Location(_))), "{address}");
    }
}

/// A reader that fails in the middle leaves a beginning with which another one goes on.
#[test]
fn a_reader_that_fails_leaves_no_whole_backup() {
    struct Broken(usize);
    impl std::io::Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let n = buffer.len().min(self.0);
            self.0 -= n;
            if n == 0 { Err(std::io::ErrorKind::BrokenPipe.into()) } else { Ok(n) }
        }
    }
    let (store, name) = (Store::memory(), Location::in_memory("a"));
    let broken = put(&store, &name, &options(), &[Recipient::Key(&KEY)], &mut Broken(50_000), &|_| {});
    assert!(matches!(broken, Err(Error::Read(_))));
    assert!(matches!(read(&store, &name), Err(Error::Missing { partial: true, .. })));
    resumed(&store, &name, &[0; 70_000]).unwrap();
    assert!(read(&store, &name).unwrap() == [0; 70_000]);
}

/// A reader that brings a stream, and has something happen before its second half.
struct Between<F> {
    left: Vec<u8>,
    half: usize,
    then: Option<F>,
}

impl<F: FnOnce()> std::io::Read for Between<F> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left.len() <= self.half
            && let Some(then) = self.then.take()
        {
            then();
        }
        let len = buffer.len().min(self.left.len()).min(1000);
        buffer[..len].copy_from_slice(&self.left[..len]);
        self.left.drain(..len);
        Ok(len)
    }
}

#[test]
fn a_backup_that_is_removed_while_it_is_made_is_not_whole() {
    let faulty = Faulty::new();
    let (store, beside, name) = (faulty.store(1), faulty.store(1), Location::in_memory("a/b"));
    let bytes = text(10_000, 1);
    let removed = || remove(&beside, &name).unwrap();
    let mut reader = Between { half: bytes.len() / 2, left: bytes.clone(), then: Some(removed) };
    let failed = put(&store, &name, &options(), &[Recipient::Key(&KEY)], &mut reader, &|_| {}).unwrap_err();
    assert!(matches!(failed, Error::Vanished(_)), "{failed}");
    assert!(matches!(read(&store, &name), Err(Error::Missing { .. })));
}

#[test]
fn resuming_a_whole_backup_takes_its_key_and_reads_nothing() {
    let faulty = Faulty::new();
    let (store, name) = (faulty.store(1), Location::in_memory("a/b"));
    let bytes = text(5000, 1);
    made(&store, &name, &bytes).unwrap();
    let done = resumed(&store, &name, b"another stream").unwrap();
    assert!(done.was_whole && read(&store, &name).unwrap() == bytes);
    let other = [Identity::Key(&[9; 32])];
    resume(&store, &name, &options(), &other, &mut &bytes[..], &|_| {}).unwrap_err();

    // A manifest of somebody else's backup is not taken for this one's.
    let elsewhere = Location::in_memory("x/y");
    made(&store, &elsewhere, &bytes).unwrap();
    faulty.write("a/b/manifest", faulty.read("x/y/manifest"));
    assert!(matches!(resumed(&store, &name, &bytes), Err(Error::Moved { .. })));
    assert!(faulty.objects().iter().any(|object| object.starts_with("a/b/") && object.ends_with(".segment")));
}

#[test]
fn what_is_none_of_a_backup_is_not_removed_and_hides_nothing() {
    let faulty = Faulty::new();
    let (store, name) = (faulty.store(1), Location::in_memory("all/good"));
    made(&store, &name, b"stream").unwrap();
    faulty.write("all/theirs/manifest", b"precious".to_vec());
    faulty.write("all/short/draft", b"x".to_vec());
    let all = Location::in_memory("all");
    let found = list(&store, &all, features()).unwrap();
    let faults: Vec<bool> = found.iter().map(|found| found.fault.is_some()).collect();
    assert_eq!(faults, [false, true]);
    assert!(prune(&store, &all, features(), 1, true, false).unwrap().is_empty());
    for theirs in ["all/theirs", "all/short"] {
        let refused = remove(&store, &Location::in_memory(theirs)).unwrap_err();
        assert!(matches!(refused, Error::Foreign(_)), "{refused}");
    }
    assert_eq!(faulty.read("all/theirs/manifest"), b"precious");
}

#[test]
fn what_an_interrupted_removal_leaves_is_listed_and_removed() {
    let faulty = Faulty::new();
    let (store, name) = (faulty.store(1), Location::in_memory("a/b"));
    made(&store, &name, &text(50_000, 1)).unwrap();
    faulty.set(Some((4, Fault::Before)));
    remove(&store, &name).unwrap_err();
    faulty.set(None);
    let left = faulty.objects();
    assert!(!left.is_empty() && left.iter().all(|object| object.ends_with(".segment")), "{left:?}");
    let all = Location::in_memory("a");
    assert!(list(&store, &all, features()).unwrap()[0].index.is_none());
    assert_eq!(prune(&store, &all, features(), 1, true, false).unwrap().len(), 1);
    assert!(faulty.objects().is_empty());
}

#[test]
fn an_object_that_grew_is_not_read() {
    let faulty = Faulty::new();
    let (store, name) = (faulty.store(1), Location::in_memory("a/b"));
    made(&store, &name, b"stream").unwrap();
    let segment = faulty.objects().into_iter().find(|object| object.ends_with(".segment")).unwrap();
    let mut grown = faulty.read(&segment);
    grown.push(0);
    faulty.write(&segment, grown);
    let refused = read(&store, &name).unwrap_err();
    assert!(
        refused.to_string().contains("segment 0") && refused.to_string().contains("the most"),
        "{refused}"
    );
}

#[cfg(unix)]
#[test]
fn what_lies_behind_a_link_is_not_of_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| {
        let (location, inner, is_local) =
            Location::parse(folder.path().join(name).to_str().unwrap()).unwrap();
        (Store::new(inner, Policy { attempts: 1, is_local, ..Policy::default() }).unwrap(), location)
    };
    for name in ["other/one", "store/new"] {
        let (store, location) = at(name);
        made(&store, &location, b"stream").unwrap();
    }
    std::os::unix::fs::symlink(folder.path().join("other"), folder.path().join("store/link")).unwrap();
    let (store, all) = at("store");
    assert_eq!(list(&store, &all, features()).unwrap().len(), 1);
    assert!(prune(&store, &all, features(), 1, false, false).unwrap().is_empty());
    let (store, other) = at("other/one");
    assert!(read(&store, &other).is_ok());
}
