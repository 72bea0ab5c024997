//! Verifying a backup: its ciphertext against the signed index, which takes no key, or its plaintext, which does.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use millstream_cpu::Features;
use millstream_engines::hash::{Hash, digest};
use millstream_files::chunked::{HEADER, Message};
use millstream_files::envelope::{DataKey, Identity};

use crate::error::Error;
use crate::get::{self, Get};
use crate::location::Location;
use crate::manifest::Index;
use crate::segment::segment_context;
use crate::store::Store;
use crate::{Event, Events};

/// The segments that were examined.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The index.
    pub index: Index,
    /// The number of segments that were examined, all of which are right.
    pub segments: u64,
    /// True when they were opened, and false when their ciphertext was compared with the index.
    pub opened: bool,
}

/// Verifies a backup. Without identities each object is compared with its SHA-256 in the index; with them it is opened as well. `percent` of the segments,
/// chosen at random, and one at least, are examined.
///
/// # Errors
/// [`Error::Missing`], [`Error::Signature`]; the error of the first segment that is wrong.
pub fn verify(
    store: &Store,
    location: &Location,
    options: &Get,
    identities: Option<&[Identity<'_>]>,
    percent: u8,
    events: Events<'_>,
) -> Result<Verified, Error> {
    let (index, key) = match identities {
        Some(identities) => {
            let opened = get::open(store, location, options, identities)?;
            (opened.index, Some(opened.key))
        }
        None => {
            let manifest = get::manifest(store, location, options.features(), options.verifier.as_ref())?;
            (manifest.index, None)
        }
    };
    let numbers = chosen(index.segments.len(), percent)?;
    let threads = options.threads(&index);
    let (next, stop, failed) = (AtomicUsize::new(0), AtomicBool::new(false), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                    match one(store, location, options.features(), &index, key.as_ref(), *number) {
                        Ok(()) => {
                            events(Event::Verified { segment: *number });
                            events(Event::Bytes(index.segments[*number as usize].bytes()));
                        }
                        Err(error) => {
                            stop.store(true, Ordering::Relaxed);
                            failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                        }
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(Verified { index, segments: numbers.len() as u64, opened: key.is_some() }),
    }
}

/// Chooses some of so many segments at random.
fn chosen(count: usize, percent: u8) -> Result<Vec<u64>, Error> {
    let mut numbers: Vec<u64> = (0..count as u64).collect();
    let wanted = (count * usize::from(percent.min(100))).div_ceil(100).clamp(1, count.max(1));
    // The first steps of the shuffle of Fisher and Yates.
    for at in 0..wanted.min(count.saturating_sub(1)) {
        let other = at + (getrandom::u64().map_err(Error::from)? % (count - at) as u64) as usize;
        numbers.swap(at, other);
    }
    numbers.truncate(wanted);
    numbers.sort_unstable();
    Ok(numbers)
}

fn one(
    store: &Store,
    location: &Location,
    features: Features,
    index: &Index,
    key: Option<&DataKey>,
    number: u64,
) -> Result<(), Error> {
    let entry = &index.segments[number as usize];
    let object = index.path(location, number);
    let fault = |why: String| Error::Segment { number, object: object.to_string(), why };
    let bytes =
        match store.find(&object, entry.sealed_bytes).map_err(|error| get::of_segment(error, fault))? {
            Some(bytes) => bytes,
            None => return Err(fault("it is missing".into())),
        };
    let mut sum = [0; 32];
    digest(features, Hash::Sha256, &bytes, &mut sum).expect("room for SHA-256");
    if bytes.len() as u64 != entry.sealed_bytes || sum != entry.sha256 {
        return Err(fault("its ciphertext is not the one that was stored: it was changed or cut off".into()));
    }
    let Some(key) = key else { return Ok(()) };
    let mut bytes = Vec::from(bytes);
    let header = bytes.first_chunk::<HEADER>().expect("no segment is shorter");
    let message = Message::with_header(features, &**key, header, &segment_context(&index.id, number));
    message
        .and_then(|message| message.open_slots(0, &mut bytes[HEADER..]))
        .map_err(|error| fault(error.to_string()))
}
