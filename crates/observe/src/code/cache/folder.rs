//! The folder in which searches are kept. Only this user writes to it, and its size is bounded.
//!
//! The folder is opened once, without following a link in its place, and checked by its descriptor: it must
//! belong to this user, and nobody else may write to it. Each entry is checked in the same way. A new entry
//! is written to a file of its own, which then replaces the old one atomically, so that processes that read
//! and write at the same time see whole entries.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_NOW, futimens, mkdirat,
    open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The largest size of all entries together, in bytes. When there is more, the oldest are removed until there
/// is a quarter less.
const MOST: u64 = 64 << 20;
/// The largest size of one entry.
const LONGEST: u64 = 16 << 20;

/// The reason why a folder is not used.
#[derive(Debug)]
pub enum Refused {
    /// The system refused it.
    System(PathBuf, io::Error),
    /// The folder is another user's, as under sudo.
    Foreign(PathBuf),
    /// Other users may write to the folder.
    Writable(PathBuf),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::System(path, why) => write!(f, "the cache {} can't be used: {why}", path.display()),
            Refused::Foreign(path) => {
                write!(f, "the cache {} is another user's, and is not used", path.display())
            }
            Refused::Writable(path) => write!(
                f,
                "the cache {} is not used, because others may write to it; `chmod go-w` changes that",
                path.display()
            ),
        }
    }
}

impl std::error::Error for Refused {}

/// Returns the folder's path. Ref. XDG Base Directory Specification.
pub(super) fn place(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    cache.or_else(|| Some(home?.join(".cache"))).map(|folder| folder.join("millstream"))
}

#[derive(Debug)]
pub(super) struct Folder {
    folder: OwnedFd,
    most: u64,
}

impl Folder {
    /// Opens the folder. A missing one is made if its parent is this user's.
    pub fn open(path: &Path) -> Result<Folder, Refused> {
        Folder::with_bound(path, MOST)
    }

    pub fn with_bound(path: &Path, most: u64) -> Result<Folder, Refused> {
        let failed = |why: Errno| Refused::System(path.to_owned(), why.into());
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = match open(path, flags, Mode::empty()) {
            Err(Errno::NOENT) => {
                make(path, true)?;
                open(path, flags, Mode::empty()).map_err(failed)?
            }
            found => found.map_err(failed)?,
        };
        let found = rustix::fs::fstat(&folder).map_err(failed)?;
        if found.st_uid != geteuid().as_raw() {
            return Err(Refused::Foreign(path.to_owned()));
        }
        if !is_private(&found) {
            return Err(Refused::Writable(path.to_owned()));
        }
        Ok(Folder { folder, most })
    }

    /// Returns the contents of an entry, and marks the entry as recently used.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::empty()).ok()?;
        let found = rustix::fs::fstat(&file).ok()?;
        let is_ours = found.st_uid == geteuid().as_raw() && is_private(&found);
        if !is_ours || !is_plain(&found) || found.st_size.cast_unsigned() > LONGEST {
            return None;
        }
        let mut bytes = Vec::new();
        let mut file = File::from(file);
        (&mut file).take(LONGEST).read_to_end(&mut bytes).ok()?;
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let _ = futimens(&file, &Timestamps { last_access: now, last_modification: now });
        Some(bytes)
    }

    /// Writes an entry, in place of an older one.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if bytes.len() as u64 > LONGEST.min(self.most) {
            return Ok(());
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let new = format!("{name}.{}.{number}", std::process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, &new, flags, Mode::RUSR | Mode::WUSR)?);
        let written =
            file.write_all(bytes).and_then(|()| Ok(renameat(&self.folder, &new, &self.folder, name)?));
        if written.is_err() {
            let _ = unlinkat(&self.folder, &new, AtFlags::empty());
        }
        self.bound();
        written
    }

    /// Removes the oldest entries when there is too much.
    fn bound(&self) {
        let Ok(all) = Dir::read_from(&self.folder) else { return };
        let names = all.flatten().map(|entry| entry.file_name().to_owned());
        let mut entries: Vec<_> = names
            .filter_map(|name| {
                let found = statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                is_plain(&found).then_some((
                    (found.st_mtime, found.st_mtime_nsec),
                    found.st_size as u64,
                    name,
                ))
            })
            .collect();
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        if total <= self.most {
            return;
        }
        entries.sort();
        for (_, size, name) in entries {
            if total <= self.most / 4 * 3 {
                break;
            }
            let _ = unlinkat(&self.folder, &name, AtFlags::empty());
            total -= size;
        }
    }
}

/// Returns true when only the owner may write to it.
fn is_private(found: &Stat) -> bool {
    !Mode::from_raw_mode(found.st_mode).intersects(Mode::WGRP | Mode::WOTH)
}

fn is_plain(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
}

/// Makes a folder for this user alone, and its parent where that is missing too, but never in another user's
/// folder.
fn make(path: &Path, above_too: bool) -> Result<(), Refused> {
    let failed = |why: Errno| Refused::System(path.to_owned(), why.into());
    let above = path.parent().ok_or_else(|| failed(Errno::NOENT))?;
    match rustix::fs::stat(above) {
        Ok(found) if found.st_uid != geteuid().as_raw() => return Err(Refused::Foreign(above.to_owned())),
        Ok(_) => {}
        Err(Errno::NOENT) if above_too => make(above, false)?,
        Err(why) => return Err(failed(why)),
    }
    match mkdirat(CWD, path, Mode::RWXU) {
        // Another process was faster.
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(why) => Err(failed(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_where_users_look_for_it() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(place(path("/x"), path("/home/u")), path("/x/millstream"));
        assert_eq!(place(None, path("/home/u")), path("/home/u/.cache/millstream"));
        assert_eq!(place(None, None), None);
    }
}
