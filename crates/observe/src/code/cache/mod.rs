//! A cache on disk of the searches through files. The search through a large program takes longer than most
//! of its runs.
//!
//! A wrong entry would turn a *yes* into a *no*. So an entry is used only where the file can't hold other
//! bytes, under the same search:
//!
//! - The entry names the file by device, inode, size, build id, and the times of the last change of its
//!   contents and of its inode, to the nanosecond. The build id alone says little, as anyone who may write to
//!   a file can leave it there. But each write, and each attempt to set the contents' time back, sets the
//!   inode's time to the kernel's clock, and no call sets that time. Device and inode tell apart files that
//!   have the rest in common.
//! - These times must be the kernel's own. Files that others serve (FUSE, NFS, 9p) or that another mount
//!   namespace shows are left out. So are files that changed within the last seconds, when two changes may
//!   have the same time.
//! - The entry names the search, by a digest of its source, and the functions that other files with debug
//!   symbols add.
//! - A checksum shows that the entry is whole. Its numbers are doubted all the same.
//! - Only this user can have written it: see `folder.rs`.
//!
//! Anyone who can set the machine's clock, or write to the disk below its file system, can deceive the cache,
//! and the search as well. So can a process that already has the file mapped for writing: the kernel notes
//! its first write to a page, and later ones only after the page has gone to the disk.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

mod folder;
mod record;

pub use folder::Refused;
pub(super) use record::Record;

use crate::process::has_more_rights;
use folder::{Folder, place};

/// The least code that is worth caching. Searching less takes a few milliseconds.
pub(super) const LEAST_CODE: u64 = 1 << 20;

/// The age below which a file is not cached, because a second change may get the same time.
const RECENT: Duration = Duration::from_millis(if cfg!(test) { 200 } else { 2000 });

/// Opens the user's cache: `millstream` in `XDG_CACHE_HOME`, else in `~/.cache`. Returns `None` for users
/// without a home, and for processes with more rights than whoever started them, because their environment
/// describes another user.
///
/// # Errors
/// Fails when the folder can't be made or opened, belongs to another user, or is writable for others.
pub fn of_user() -> Result<Option<Cache>, Refused> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let Some(path) = place(variable("XDG_CACHE_HOME"), variable("HOME")).filter(|_| !has_more_rights())
    else {
        return Ok(None);
    };
    Cache::in_folder(&path).map(Some)
}

/// A cache of earlier searches, in a folder.
#[derive(Clone, Debug)]
pub struct Cache(Arc<Folder>);

impl Cache {
    /// Opens the cache in a folder, which is made where it is missing.
    ///
    /// # Errors
    /// Fails when the folder can't be made or opened, or other users may write to it.
    pub fn in_folder(path: &Path) -> Result<Cache, Refused> {
        Ok(Cache(Arc::new(Folder::open(path)?)))
    }

    /// Returns the entry for a file with this build id, or `None` when the file's times prove too little.
    pub(super) fn entry(&self, file: &File, build_id: &[u8]) -> Option<Entry> {
        let key = Key::of(file, build_id).ok()??;
        Some(Entry { folder: Arc::clone(&self.0), key })
    }
}

/// The place for one file's search.
#[derive(Debug)]
pub(super) struct Entry {
    folder: Arc<Folder>,
    key: Key,
}

impl Entry {
    /// Returns the record, if the same search wrote it.
    pub fn read(&self) -> Option<Record> {
        let bytes = self.folder.read(&self.key.name())?;
        Record::from_bytes(self.key.in_entry(&bytes)?)
    }

    /// Writes the record for `file`, unless the file has changed meanwhile. Failing is harmless, as the file
    /// is then searched again.
    pub fn write(&self, file: &File, record: &Record) {
        let is_same = Key::of(file, &self.key.build_id).is_ok_and(|key| key.as_ref() == Some(&self.key));
        if is_same {
            let _ = self.folder.write(&self.key.name(), &self.key.entry(&record.to_bytes()));
        }
    }
}

/// The properties that identify a file and its contents.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    build_id: Vec<u8>,
}

impl Key {
    /// Returns `None` for a file whose times prove nothing.
    fn of(file: &File, build_id: &[u8]) -> io::Result<Option<Key>> {
        let found = file.metadata()?;
        let changed = SystemTime::UNIX_EPOCH
            .checked_add(Duration::new(found.ctime().try_into().unwrap_or(0), 0))
            .and_then(|changed| {
                changed.checked_add(Duration::from_nanos(found.ctime_nsec().try_into().ok()?))
            });
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        let is_old = age.is_some_and(|age| age >= RECENT);
        let has_times = is_local(rustix::fs::fstatfs(file)?.f_type as u32);
        Ok((is_old && has_times).then(|| Key {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
            build_id: build_id.to_vec(),
        }))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let times =
            [self.modified.0, self.modified.1, self.changed.0, self.changed.1].map(i64::cast_unsigned);
        let numbers = [SEARCH, self.device, self.inode, self.size].into_iter().chain(times);
        numbers.chain([self.build_id.len() as u64]).for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes.extend(&self.build_id);
        bytes
    }

    /// Returns the name of the entry in the folder.
    fn name(&self) -> String {
        format!("{:016x}", checksum(&self.to_bytes()))
    }

    /// Returns an entry's whole text: a mark, the key, the content, and a checksum of all three.
    fn entry(&self, content: &[u8]) -> Vec<u8> {
        let mut bytes = [MARK, &self.to_bytes(), content].concat();
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Returns the content of an entry, if it is whole and has this key.
    fn in_entry<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let (content, sum) = bytes.split_last_chunk()?;
        let content_behind_key = content.strip_prefix(MARK)?.strip_prefix(&self.to_bytes()[..])?;
        (checksum(content) == u64::from_le_bytes(*sum)).then_some(content_behind_key)
    }
}

const MARK: &[u8] = b"millstream search\n";

/// Returns true for file systems whose times come from the kernel's own clock, not from another machine or a
/// program.
fn is_local(kind: u32) -> bool {
    const EXT: u32 = 0xEF53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683E;
    const BCACHEFS: u32 = 0xCA45_1A4E;
    const F2FS: u32 = 0xF2F5_2010;
    const ZFS: u32 = 0x2FC1_2FC1;
    const TMPFS: u32 = 0x0102_1994;
    const OVERLAY: u32 = 0x794C_7630;
    matches!(kind, EXT | XFS | BTRFS | BCACHEFS | F2FS | ZFS | TMPFS | OVERLAY)
}

/// FNV-1a in 64 bits. The sum detects damage; it does not defend against the folder's owner.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(OFFSET, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(PRIME))
}

const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x100_0000_01B3;

/// The source files that determine a search's results, so that no entry outlives a change to them.
const SOURCE: &[(&str, &[u8])] = &[
    ("assemble.rs", include_bytes!("../assemble.rs")),
    ("bounds.rs", include_bytes!("../bounds.rs")),
    ("cache/record.rs", include_bytes!("record.rs")),
    ("carry_less.rs", include_bytes!("../carry_less.rs")),
    ("classes.rs", include_bytes!("../classes.rs")),
    ("elf.rs", include_bytes!("../elf.rs")),
    ("find.rs", include_bytes!("../find.rs")),
    ("flow.rs", include_bytes!("../flow.rs")),
    ("frames.rs", include_bytes!("../frames.rs")),
    ("go.rs", include_bytes!("../go.rs")),
    ("image.rs", include_bytes!("../image.rs")),
    ("known/library.rs", include_bytes!("../known/library.rs")),
    ("outcome.rs", include_bytes!("../outcome.rs")),
    ("parallel.rs", include_bytes!("../parallel.rs")),
    ("pointers.rs", include_bytes!("../pointers.rs")),
    ("reach.rs", include_bytes!("../reach.rs")),
    ("region.rs", include_bytes!("../region.rs")),
    ("signatures.rs", include_bytes!("../signatures.rs")),
    ("signatures.txt", include_bytes!("../signatures.txt")),
    ("sites.rs", include_bytes!("../sites.rs")),
    ("survey.rs", include_bytes!("../survey.rs")),
    ("walk.rs", include_bytes!("../walk.rs")),
    // The manifest names the decoder's version.
    ("Cargo.toml", include_bytes!("../../../Cargo.toml")),
];

/// A digest of [`SOURCE`], computed at compile time. The program does not contain the sources themselves.
const SEARCH: u64 = {
    let (mut sum, mut file) = (OFFSET, 0);
    while file < SOURCE.len() {
        let mut rest = SOURCE[file].1;
        while let Some((word, behind)) = rest.split_first_chunk::<8>() {
            sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
            sum ^= sum >> 32;
            rest = behind;
        }
        while let Some((byte, behind)) = rest.split_first() {
            sum = (sum ^ *byte as u64).wrapping_mul(PRIME);
            rest = behind;
        }
        file += 1;
    }
    sum
};

/// Returns a digest of the bounds of functions.
pub(super) fn digest(functions: impl Iterator<Item = Range<u64>>) -> u64 {
    functions.fold(OFFSET, |sum, range| {
        let sum = (sum ^ range.start).wrapping_mul(PRIME);
        let sum = (sum ^ sum >> 32 ^ range.end).wrapping_mul(PRIME);
        sum ^ sum >> 32
    })
}

#[cfg(test)]
mod tests;
