//! Making a backup, and going on with one that was interrupted.
//!
//! One thread reads, and each of several others takes a whole segment from sealing to the end of its upload. The buffers go round between
//! them, and there are only so many as the memory allows: when none is free, nothing is read.
//!
//! The order of writes makes an interruption harmless at any point: the draft, then each segment before its record, then the
//! manifest, and only then are draft and records removed. A segment's object has a name with its salt in it, so no object of
//! a backup is ever written over by another one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use millstream_cpu::Features;
use millstream_files::chunked::sealed_len;
use millstream_files::envelope::{DataKey, Head, Identity, Kind, Recipient};

use crate::error::Error;
use crate::get::{self, Get};
use crate::location::Location;
use crate::manifest::{self, Details, Draft, Entry, Index, Keys, MOST_SMALL};
use crate::segment::{self, Filled, Record};
use crate::store::Store;
use crate::{Event, Events};

/// The options of a backup.
#[derive(Clone, Debug)]
pub struct Put {
    features: Features,
    /// The bytes of plaintext in a segment.
    pub segment_bytes: u64,
    /// The bytes of memory for segments.
    pub memory: u64,
    /// The source, as it stands sealed in the manifest.
    pub source: String,
}

impl Put {
    /// Returns the usual options: segments of 64 MiB, in 384 MiB of memory.
    pub fn new(features: Features) -> Self {
        Put { features, segment_bytes: 64 << 20, memory: 384 << 20, source: String::new() }
    }

    /// Returns how many segments the memory holds.
    fn buffers(&self, segment_bytes: u64) -> Result<usize, Error> {
        if !(1..=manifest::MOST_SEGMENT_BYTES).contains(&segment_bytes) {
            return Err(Error::Manifest(format!("segments of {segment_bytes} bytes; they have 1 to 4 GiB")));
        }
        let one = sealed_len(segment_bytes);
        if self.memory / one < 2 {
            return Err(Error::Memory { given: self.memory, needed: 2 * one });
        }
        Ok(usize::try_from(self.memory / one).unwrap_or(MOST_BUFFERS).min(MOST_BUFFERS))
    }
}

/// More uploads at once than this gain nothing, and a store may refuse them.
const MOST_BUFFERS: usize = 33;

/// A backup that is whole.
#[derive(Clone, Debug)]
pub struct Done {
    /// The index.
    pub index: Index,
    /// The segments that were there from before.
    pub kept: u64,
    /// True when the backup was whole already, and the stream was not read.
    pub was_whole: bool,
    /// The reason why something stayed in the store that is of no use any more. The backup is whole nevertheless.
    pub untidy: Option<String>,
}

/// Makes a backup of all of `reader`.
///
/// # Errors
/// [`Error::Exists`], [`Error::Partial`], [`Error::Memory`], [`Error::Clock`], [`Error::Vanished`]; the first error of reading, sealing or storing. What was stored stays, for [`resume`].
pub fn put(
    store: &Store,
    location: &Location,
    options: &Put,
    recipients: &[Recipient<'_>],
    reader: &mut impl Read,
    events: Events<'_>,
) -> Result<Done, Error> {
    location.check_named()?;
    options.buffers(options.segment_bytes)?;
    if store.exists(&location.manifest())? {
        return Err(Error::Exists(location.address.clone()));
    }
    let (head, key) = Head::new(options.features, Kind::Draft, recipients, Vec::new())?;
    let mut id = manifest::Id::default();
    getrandom::fill(&mut id)?;
    let created = manifest::now()?;
    let details = Details { name: location.path.to_string(), source: options.source.clone() };
    let draft = Draft { id, created, segment_bytes: options.segment_bytes, details };
    let encoded = draft.encode(options.features, &head, &key)?;
    if !store.create(&location.draft(), encoded.clone())? {
        return Err(Error::Partial(location.address.clone()));
    }
    let known = BTreeMap::new();
    run(&Run { store, location, options, events, head, key, draft, encoded: encoded.into(), known }, reader)
}

/// Goes on with a backup that was interrupted. `reader` brings the whole stream again. Segments that are in the store and whose plaintext is the same
/// are kept; where the stream differs, segments are sealed anew.
///
/// # Errors
/// As for [`put`], and [`Error::NothingToResume`]; [`Error::Files`] when no identity opens the draft or the manifest.
pub fn resume(
    store: &Store,
    location: &Location,
    options: &Put,
    identities: &[Identity<'_>],
    reader: &mut impl Read,
    events: Events<'_>,
) -> Result<Done, Error> {
    location.check_named()?;
    let features = options.features;
    if store.exists(&location.manifest())? {
        // The interruption came after the manifest: nothing is missing, if the manifest is of this key and name.
        let index = get::open(store, location, &Get::new(features), identities)?.index;
        let untidy = clean(store, location, &index).err().map(|error| error.to_string());
        let kept = index.segments.len() as u64;
        return Ok(Done { index, kept, was_whole: true, untidy });
    }
    let Some(bytes) = store.find(&location.draft(), MOST_SMALL)? else {
        return Err(Error::NothingToResume(location.address.clone()));
    };
    let mut sealed = &bytes[..];
    let head = Head::read(&mut sealed)?;
    if head.kind != Kind::Draft {
        return Err(Error::Manifest("its draft is an envelope of another kind".into()));
    }
    let key = head.key(features, identities)?;
    let draft = Draft::decode(features, &head, &key, sealed)?;
    draft.details.check(location, false)?;
    options.buffers(draft.segment_bytes)?;
    let known = known(store, location, features, &key, &draft)?;
    run(&Run { store, location, options, events, head, key, draft, encoded: bytes, known }, reader)
}

/// Finds the segments that are in the store with their records.
fn known(
    store: &Store,
    location: &Location,
    features: Features,
    key: &DataKey,
    draft: &Draft,
) -> Result<BTreeMap<u64, Record>, Error> {
    let folder = location.object(&[&manifest::hex(&draft.id)]);
    let objects: BTreeMap<String, u64> =
        store.list(&folder)?.into_iter().map(|meta| (meta.location.to_string(), meta.size)).collect();
    let mut known = BTreeMap::new();
    for name in objects.keys().filter_map(|path| path.rsplit('/').next()?.strip_suffix(".record")) {
        let Ok(number) = name.parse() else { continue };
        let [folder, record] = manifest::record_name(&draft.id, number);
        let Some(sealed) = store.find(&location.object(&[&folder, &record]), MOST_SMALL)? else { continue };
        let Some(record) = Record::open(features, key, &draft.id, number, &sealed) else { continue };
        let [folder, object] = manifest::object_name(&draft.id, number, &record.entry.salt);
        let object = location.object(&[&folder, &object]).to_string();
        if objects.get(&object) == Some(&record.entry.sealed_bytes) {
            known.insert(number, record);
        }
    }
    Ok(known)
}

/// The facts about a run, which all threads share.
struct Run<'a> {
    store: &'a Store,
    location: &'a Location,
    options: &'a Put,
    events: Events<'a>,
    head: Head,
    key: DataKey,
    draft: Draft,
    /// The draft as it is in the store.
    encoded: Bytes,
    /// The segments of an interrupted run.
    known: BTreeMap<u64, Record>,
}

/// The results of the threads.
#[derive(Default)]
struct Results {
    entries: BTreeMap<u64, Entry>,
    kept: u64,
    failed: Option<Error>,
}

fn run(run: &Run<'_>, reader: &mut impl Read) -> Result<Done, Error> {
    let buffers = run.options.buffers(run.draft.segment_bytes)?;
    let results = Mutex::new(Results::default());
    let (spare, free) = channel();
    for _ in 0..buffers {
        let _ = spare.send(Filled::default());
    }
    let (to_workers, work) = channel();
    let work = Mutex::new(work);
    let read = std::thread::scope(|scope| {
        for _ in 0..buffers - 1 {
            let spare = spare.clone();
            scope.spawn(|| run.work(&work, spare, &results));
        }
        let read = run.read(reader, &free, &to_workers, &results);
        drop(to_workers);
        read
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = results.failed {
        return Err(error);
    }
    let bytes = read?;
    run.finish(results, bytes)
}

impl Run<'_> {
    /// Reads segment by segment, each when a buffer is free, and returns the bytes of the stream.
    fn read(
        &self,
        reader: &mut impl Read,
        free: &Receiver<Filled>,
        to_workers: &Sender<(u64, Filled)>,
        results: &Mutex<Results>,
    ) -> Result<u64, Error> {
        let most = self.draft.segment_bytes as usize;
        let mut bytes = 0;
        for number in 0.. {
            let Ok(mut filled) = free.recv() else { break };
            if lock(results).failed.is_some() {
                break;
            }
            filled.read(reader, most).map_err(Error::Read)?;
            let plain = filled.plain;
            if plain > 0 && number >= manifest::MOST_SEGMENTS {
                let why = "the stream has more segments than an index lists; make them larger with --segment";
                return Err(Error::Manifest(why.into()));
            }
            if plain > 0 || number == 0 {
                bytes += plain as u64;
                let _ = to_workers.send((number, filled));
            }
            if plain < most {
                break;
            }
        }
        Ok(bytes)
    }

    /// Takes segments to the store, until there are no more.
    fn work(&self, work: &Mutex<Receiver<(u64, Filled)>>, spare: Sender<Filled>, results: &Mutex<Results>) {
        let keys = Keys::new(self.options.features, &self.key);
        loop {
            let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((number, filled)) = next else { return };
            let done = self.one(&keys, number, filled);
            let mut results = lock(results);
            match done {
                Ok((entry, kept, filled)) => {
                    results.entries.insert(number, entry);
                    results.kept += u64::from(kept);
                    let _ = spare.send(filled);
                }
                Err(error) => {
                    results.failed.get_or_insert(error);
                    // The reader must not wait for a buffer that never comes back.
                    let _ = spare.send(Filled::default());
                }
            }
        }
    }

    /// Seals and stores one segment, or finds that it is in the store.
    fn one(&self, keys: &Keys, number: u64, mut filled: Filled) -> Result<(Entry, bool, Filled), Error> {
        let features = self.options.features;
        let bytes = filled.plain as u64;
        if let Some(record) =
            self.known.get(&number).filter(|record| record.is_of(features, keys, &mut filled))
        {
            (self.events)(Event::Kept { segment: number, bytes });
            (self.events)(Event::Bytes(bytes));
            return Ok((record.entry.clone(), true, filled));
        }
        let id = &self.draft.id;
        let record = segment::seal(features, &self.key, keys, (id, number), &mut filled)?;
        let [folder, object] = manifest::object_name(id, number, &record.entry.salt);
        let object = self.location.object(&[&folder, &object]);
        let all = Bytes::from(filled.into_sealed());
        self.store.put(&object, all.slice(..record.entry.sealed_bytes as usize))?;
        let [folder, name] = manifest::record_name(id, number);
        let sealed = record.seal(features, &self.key, id, number)?;
        self.store.put(&self.location.object(&[&folder, &name]), sealed.into())?;
        (self.events)(Event::Stored { segment: number, bytes });
        (self.events)(Event::Bytes(bytes));
        // The buffer is not copied where nothing else holds it any more.
        Ok((record.entry, false, Filled::over(all.into())))
    }

    /// Writes the manifest, and removes what was needed only to go on.
    fn finish(&self, results: Results, bytes: u64) -> Result<Done, Error> {
        let features = self.options.features;
        let verifier = manifest::verifier(features, &self.key)?;
        let Draft { id, created, segment_bytes, ref details } = self.draft;
        let segments = results.entries.into_values().collect();
        let index = Index { id, created, segment_bytes, bytes, verifier, segments };
        self.check_nothing_vanished(&index)?;
        let encoded = manifest::encode(features, &self.key, self.head.keys.clone(), &index, details)?;
        if !self.store.create(&self.location.manifest(), encoded)? {
            return Err(Error::Exists(self.location.address.clone()));
        }
        let untidy = clean(self.store, self.location, &index).err().map(|error| error.to_string());
        Ok(Done { index, kept: results.kept, was_whole: false, untidy })
    }

    /// Looks whether the draft and all segments are in the store: somebody may have removed the backup while it was made.
    fn check_nothing_vanished(&self, index: &Index) -> Result<(), Error> {
        let Run { store, location, .. } = self;
        let listed = store.list(&location.object(&[&manifest::hex(&index.id)]))?;
        let lengths: BTreeMap<&str, u64> =
            listed.iter().map(|meta| (meta.location.as_ref(), meta.size)).collect();
        let is_there = |(number, entry): (u64, &Entry)| {
            lengths.get(index.path(location, number).as_ref()) == Some(&entry.sealed_bytes)
        };
        let draft = store.find(&location.draft(), MOST_SMALL)?;
        if draft.as_ref() == Some(&self.encoded) && (0..).zip(&index.segments).all(is_there) {
            return Ok(());
        }
        Err(Error::Vanished(location.address.clone()))
    }
}

/// Removes every object under the name that is not of the whole backup: the draft, records, and segments that another run left.
fn clean(store: &Store, location: &Location, index: &Index) -> Result<(), Error> {
    let manifest = location.manifest();
    let whole: BTreeSet<String> =
        (0..index.segments.len() as u64).map(|number| index.path(location, number).to_string()).collect();
    for meta in store.list(&location.path)? {
        if is_own(location, &meta.location)
            && meta.location != manifest
            && !whole.contains(meta.location.as_ref())
        {
            store.delete(&meta.location)?;
        }
    }
    Ok(())
}

/// Returns true for an object that this backup may have made, and false for one of a backup whose name has this one's in front.
pub(crate) fn is_own(location: &Location, object: &object_store::path::Path) -> bool {
    let Some(parts) = object.prefix_match(&location.path) else { return false };
    let parts: Vec<_> = parts.map(|part| part.as_ref().to_owned()).collect();
    match &parts[..] {
        [only] => only == "manifest" || only == "draft",
        [folder, file] => {
            manifest::unhex::<16>(folder.as_bytes()).is_some()
                && (file.ends_with(".segment") || file.ends_with(".record"))
        }
        _ => false,
    }
}

fn lock(results: &Mutex<Results>) -> std::sync::MutexGuard<'_, Results> {
    results.lock().unwrap_or_else(PoisonError::into_inner)
}
