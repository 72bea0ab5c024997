//! Reading a backup back, all of it or a range.
//!
//! Several threads fetch and open segments, each the next but so many; the caller's thread writes them in order. Nothing is written that was not
//! authenticated.

use std::io::Write;
use std::ops::Range;
use std::sync::mpsc::sync_channel;
use std::thread;

use millstream_cpu::Features;
use millstream_files::chunked::{CHUNK, HEADER, Message, SEALED_CHUNK, sealed_len};
use millstream_files::envelope::{DataKey, Identity};
use zeroize::Zeroize;

use crate::error::Error;
use crate::location::Location;
use crate::manifest::{Details, Index, MOST_MANIFEST, Manifest};
use crate::segment::segment_context;
use crate::store::Store;
use crate::{Event, Events};

/// The options of reading.
#[derive(Clone, Debug)]
pub struct Get {
    features: Features,
    /// The bytes of memory for segments.
    pub memory: u64,
    /// The bytes of the stream that are wanted, if not all. An end of `u64::MAX` is the end of the stream.
    pub range: Option<Range<u64>>,
    /// True when the backup may have another name than it was made under.
    pub moved: bool,
    /// The verifier that must have signed the index, if it is known from elsewhere.
    pub verifier: Option<[u8; 32]>,
}

impl Get {
    /// Returns the usual options: the whole stream, in 384 MiB of memory.
    pub fn new(features: Features) -> Self {
        Get { features, memory: 384 << 20, range: None, moved: false, verifier: None }
    }

    pub(crate) fn features(&self) -> Features {
        self.features
    }

    /// Returns how many segments may be fetched at once in that memory: one at least, because a backup must be readable where it was not made.
    pub(crate) fn threads(&self, index: &Index) -> usize {
        let fit = self.memory / sealed_len(index.segment_bytes);
        // While it is fetched and handed on, a segment takes its room twice.
        usize::try_from(fit / 2).unwrap_or(16).clamp(1, 16)
    }
}

/// An open backup.
pub(crate) struct Opened {
    pub(crate) index: Index,
    pub(crate) key: DataKey,
    pub(crate) details: Details,
}

/// Reads a manifest.
///
/// # Errors
/// [`Error::Missing`]; as [`Manifest::read`].
pub fn manifest(
    store: &Store,
    location: &Location,
    features: Features,
    verifier: Option<&[u8; 32]>,
) -> Result<Manifest, Error> {
    let Some(bytes) = store.find(&location.manifest(), MOST_MANIFEST)? else {
        let partial = store.exists(&location.draft())?;
        return Err(Error::Missing { name: location.address.clone(), partial });
    };
    Manifest::read(features, &bytes, verifier)
}

pub(crate) fn open(
    store: &Store,
    location: &Location,
    options: &Get,
    identities: &[Identity<'_>],
) -> Result<Opened, Error> {
    let manifest = manifest(store, location, options.features, options.verifier.as_ref())?;
    let key = manifest.head.key(options.features, identities)?;
    let details = manifest.open(options.features, &key)?;
    details.check(location, options.moved)?;
    Ok(Opened { index: manifest.index, key, details })
}

/// Writes a backup's stream, or a range of it, to `writer`. Returns the bytes that were written.
///
/// # Errors
/// [`Error::Missing`], [`Error::Range`], [`Error::Moved`]; the error of the first segment that can't be read or was changed. What was written
/// before is a true beginning of what was asked for.
pub fn get(
    store: &Store,
    location: &Location,
    options: &Get,
    identities: &[Identity<'_>],
    writer: &mut impl Write,
    events: Events<'_>,
) -> Result<u64, Error> {
    let opened = open(store, location, options, identities)?;
    let all = 0..opened.index.bytes;
    let mut range = options.range.clone().unwrap_or(all.clone());
    if range.end == u64::MAX {
        range.end = all.end;
    }
    if range.start > range.end || range.end > all.end {
        return Err(Error::Range { bytes: all.end });
    }
    let each = opened.index.segment_bytes;
    let numbers = if range.is_empty() { 0..0 } else { range.start / each..range.end.div_ceil(each) };
    let threads = options.threads(&opened.index);
    let fetch = |number: u64| {
        let start = number * each;
        let len = opened.index.segments[number as usize].bytes();
        let wanted = range.start.saturating_sub(start)..len.min(range.end - start);
        fetch(store, location, options.features, &opened, number, wanted)
    };
    thread::scope(|scope| {
        let mut receivers = Vec::new();
        for worker in 0..threads as u64 {
            // A segment waits in its thread until the ones before are written.
            let (sender, receiver) = sync_channel(0);
            receivers.push(receiver);
            let (fetch, numbers) = (&fetch, numbers.clone());
            scope.spawn(move || {
                for number in numbers.skip(worker as usize).step_by(threads) {
                    let fetched = fetch(number);
                    let failed = fetched.is_err();
                    if sender.send(fetched).is_err() || failed {
                        return;
                    }
                }
            });
        }
        for (_, receiver) in numbers.clone().zip(receivers.iter().cycle()) {
            let fetched = receiver.recv().expect("a thread sends every segment, or an error")?;
            writer.write_all(&fetched).map_err(Error::Write)?;
            events(Event::Bytes(fetched.len() as u64));
        }
        drop(receivers);
        writer.flush().map_err(Error::Write)
    })?;
    Ok(range.end - range.start)
}

/// Fetches and opens a part of a segment, and no chunk that has nothing of it.
fn fetch(
    store: &Store,
    location: &Location,
    features: Features,
    opened: &Opened,
    number: u64,
    wanted: Range<u64>,
) -> Result<Vec<u8>, Error> {
    let entry = &opened.index.segments[number as usize];
    let object = opened.index.path(location, number);
    let fault = |why: String| Error::Segment { number, object: object.to_string(), why };
    let context = segment_context(&opened.index.id, number);
    let message = |header: &[u8; HEADER]| {
        if header[..entry.salt.len()] != entry.salt {
            return Err(fault("it has another salt than the manifest says: it was replaced".into()));
        }
        Message::with_header(features, &*opened.key, header, &context)
            .map_err(|error| fault(error.to_string()))
    };
    if wanted == (0..entry.bytes()) {
        let got = store.get(&object, entry.sealed_bytes);
        let mut bytes = Vec::from(got.map_err(|error| of_segment(error, fault))?);
        if bytes.len() as u64 != entry.sealed_bytes {
            return Err(fault(format!(
                "it has {} bytes where the manifest says {}",
                bytes.len(),
                entry.sealed_bytes
            )));
        }
        let message = message(bytes.first_chunk().expect("no segment is shorter"))?;
        open_slots(&message, 0, &mut bytes[HEADER..]).map_err(fault)?;
        return Ok(gathered(bytes, HEADER, 0..usize::MAX));
    }
    let chunks = wanted.start / CHUNK as u64..wanted.end.div_ceil(CHUNK as u64);
    let header = store.get_range(&object, 0..HEADER as u64)?;
    let message = message(header.first_chunk().ok_or_else(|| fault("it was cut off".into()))?)?;
    let place = |chunk: u64| HEADER as u64 + chunk * SEALED_CHUNK as u64;
    let end = place(chunks.end).min(entry.sealed_bytes);
    let mut bytes = Vec::from(store.get_range(&object, place(chunks.start)..end)?);
    if bytes.len() as u64 != end - place(chunks.start) {
        return Err(fault("it was cut off".into()));
    }
    open_slots(&message, chunks.start, &mut bytes).map_err(fault)?;
    let skipped = (wanted.start - chunks.start * CHUNK as u64) as usize;
    Ok(gathered(bytes, 0, skipped..skipped + (wanted.end - wanted.start) as usize))
}

/// Returns the error of reading a segment. A segment that has grown is one that was changed.
pub(crate) fn of_segment(error: Error, fault: impl FnOnce(String) -> Error) -> Error {
    match error {
        Error::Large { .. } => fault(error.to_string()),
        error => error,
    }
}

/// Opens chunks where they lie. If one of them fails, the plaintext of those before it is wiped.
fn open_slots(message: &Message, first: u64, slots: &mut [u8]) -> Result<(), String> {
    message.open_slots(first, slots).map_err(|error| {
        slots.zeroize();
        error.to_string()
    })
}

/// Moves the plaintext of opened chunks together, and keeps a range of it.
fn gathered(mut bytes: Vec<u8>, start: usize, kept: Range<usize>) -> Vec<u8> {
    let (end, mut to, mut plain) = (bytes.len(), 0, 0usize);
    for from in (start..end).step_by(SEALED_CHUNK) {
        let len = (end - from).min(SEALED_CHUNK) - 16;
        let (first, last) = (kept.start.clamp(plain, plain + len), kept.end.clamp(plain, plain + len));
        let source = from + first - plain..from + last - plain;
        let moved = source.len();
        bytes.copy_within(source, to);
        to += moved;
        plain += len;
    }
    bytes.truncate(to);
    bytes
}
