//! Lists backups, removes them, keeps the newest, and wraps their keys anew.

use std::collections::BTreeMap;

use millstream_cpu::Features;
use millstream_files::envelope::{Head, Identity, MAGIC, Recipient};
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectMeta};

use crate::error::Error;
use crate::get::{self, Get};
use crate::location::Location;
use crate::manifest::{self, Index, MOST_MANIFEST, Manifest};
use crate::put::is_own;
use crate::store::Store;

/// A backup, or the beginning of one.
#[derive(Clone, Debug)]
pub struct Found {
    /// The place.
    pub location: Location,
    /// The index of a whole backup; none for the beginning of one.
    pub index: Option<Index>,
    /// The reason why a manifest is there and can't be used.
    pub fault: Option<String>,
}

/// Lists the backups under a name, whole or not, the oldest first and those that are not whole at the end. This takes no key. A manifest that
/// can't be used hides no other: its place has the fault.
///
/// # Errors
/// Those of the store.
pub fn list(store: &Store, under: &Location, features: Features) -> Result<Vec<Found>, Error> {
    let mut names: BTreeMap<Path, (Trace, ObjectMeta)> = BTreeMap::new();
    for meta in store.list(&under.path)? {
        let Some((name, trace)) = trace_of(&meta.location) else { continue };
        if names.get(&name).is_none_or(|(known, _)| *known < trace) {
            names.insert(name, (trace, meta));
        }
    }
    let mut found = Vec::new();
    for (path, (trace, meta)) in names {
        let location = under.below(path);
        if trace < Trace::Manifest {
            if trace == Trace::Segment || is_envelope(store, &meta)? {
                found.push(Found { location, index: None, fault: None });
            }
            continue;
        }
        let read = match store.find(&location.manifest(), MOST_MANIFEST) {
            Ok(Some(bytes)) => Manifest::read(features, &bytes, None),
            // Somebody removed it meanwhile.
            Ok(None) => continue,
            Err(error @ Error::Large { .. }) => Err(error),
            Err(error) => return Err(error),
        };
        let (index, fault) = match read {
            Ok(manifest) => (Some(manifest.index), None),
            Err(error) => (None, Some(error.to_string())),
        };
        found.push(Found { location, index, fault });
    }
    found.sort_by_key(|found| found.index.as_ref().map_or(u64::MAX, |index| index.created));
    Ok(found)
}

/// The object that tells most of a backup.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trace {
    /// Only segments or records are left, as when removing was interrupted.
    Segment,
    Draft,
    Manifest,
}

/// Returns the name of the backup that an object is of, and what the object tells.
fn trace_of(object: &Path) -> Option<(Path, Trace)> {
    let parent = object.parent()?;
    match object.filename()? {
        "manifest" => Some((parent, Trace::Manifest)),
        "draft" => Some((parent, Trace::Draft)),
        _ => {
            let name = parent.parent()?;
            let location = Location { address: String::new(), path: name.clone() };
            is_own(&location, object).then_some((name, Trace::Segment))
        }
    }
}

/// Returns true for an object that begins as manifests and drafts do.
fn is_envelope(store: &Store, object: &ObjectMeta) -> Result<bool, Error> {
    let len = MAGIC.len() as u64;
    if object.size < len {
        return Ok(false);
    }
    match store.get_range(&object.location, 0..len) {
        Ok(bytes) => Ok(bytes == MAGIC[..]),
        // Somebody removed it meanwhile.
        Err(Error::Store { source: StoreError::NotFound { .. }, .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a backup, or the beginning of one: the manifest first, so that nobody takes what is left for whole.
///
/// # Errors
/// [`Error::Missing`]; [`Error::Foreign`] when a file of another program has the name of a manifest or a draft; those of the store.
pub fn remove(store: &Store, location: &Location) -> Result<(), Error> {
    location.check_named()?;
    let objects: Vec<_> =
        store.list(&location.path)?.into_iter().filter(|meta| is_own(location, &meta.location)).collect();
    if objects.is_empty() {
        return Err(Error::Missing { name: location.address.clone(), partial: false });
    }
    let (manifest, draft) = (location.manifest(), location.draft());
    for meta in objects.iter().filter(|meta| meta.location == manifest || meta.location == draft) {
        if !is_envelope(store, meta)? {
            return Err(Error::Foreign(meta.location.to_string()));
        }
    }
    store.delete(&manifest)?;
    for meta in objects.iter().filter(|meta| meta.location != draft) {
        store.delete(&meta.location)?;
    }
    store.delete(&draft)
}

/// Removes all backups under a name but the newest `keep`, and with `partial` the interrupted ones. Returns what was removed. The newest are
/// those that were begun last, by the clocks of the machines that made them. What has a fault is neither counted nor removed.
///
/// # Errors
/// [`Error::Clock`] when a backup is of the future, by which others would seem old; those of [`list()`](list) and [`remove`].
pub fn prune(
    store: &Store,
    under: &Location,
    features: Features,
    keep: usize,
    partial: bool,
    dry: bool,
) -> Result<Vec<Found>, Error> {
    let (whole, begun): (Vec<_>, Vec<_>) = list(store, under, features)?
        .into_iter()
        .filter(|found| found.fault.is_none())
        .partition(|found| found.index.is_some());
    let tomorrow = manifest::now()? + 24 * 60 * 60;
    let is_ahead = |found: &&Found| found.index.as_ref().is_some_and(|index| index.created > tomorrow);
    if let Some(Found { location, .. }) = whole.iter().find(is_ahead) {
        let name = &location.address;
        let why = format!(
            "{name}: was made in the future, by its time; set this machine's clock, or remove that backup by its name"
        );
        return Err(Error::Clock(why));
    }
    let old = whole.len().saturating_sub(keep);
    let mut removed: Vec<Found> = whole.into_iter().take(old).collect();
    if partial {
        removed.extend(begun);
    }
    if !dry {
        removed.iter().try_for_each(|found| remove(store, &found.location))?;
    }
    Ok(removed)
}

/// Wraps a backup's data key for other recipients. No segment changes, and neither does the verifier.
///
/// # Errors
/// As for [`get()`](get::get); those of the store.
pub fn rekey(
    store: &Store,
    location: &Location,
    options: &Get,
    identities: &[Identity<'_>],
    recipients: &[Recipient<'_>],
) -> Result<(), Error> {
    let features = options.features();
    let opened = get::open(store, location, options, identities)?;
    let keys = Head::wrap(features, &opened.key, recipients)?;
    let encoded = manifest::encode(features, &opened.key, keys, &opened.index, &opened.details)?;
    store.put(&location.manifest(), encoded.into())
}
