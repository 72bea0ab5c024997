//! Outputs: standard output, a device, or a file that gets its name only when it is complete.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::Error;
use crate::{shown, signals};

/// The destination of a command's output.
#[derive(Debug)]
pub enum Output {
    /// Standard output, or a device or pipe with a name. It is written to directly.
    Stream {
        /// The open file.
        file: File,
        /// The name in messages.
        name: String,
    },
    /// A file that doesn't have its name yet.
    Pending(Pending),
}

/// A new file in the directory of its final name.
///
/// The file has no name at all where the file system allows that (`O_TMPFILE`), so that nothing is left even by a
/// `kill -9`. Elsewhere it has a hidden name, which a signal removes.
#[derive(Debug)]
pub struct Pending {
    file: File,
    path: PathBuf,
    hidden: Option<PathBuf>,
    /// True when the file must not replace another.
    is_fresh: bool,
    /// True when nothing else holds the contents.
    is_only_copy: bool,
    /// True when other outputs of the same command follow.
    is_one_of_many: bool,
    /// The owner and the mode of the file that has the final name now.
    replaces: Option<Access>,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    mode: u32,
    owner: u32,
    group: u32,
}

impl Output {
    /// Opens standard output.
    ///
    /// # Errors
    /// Fails when it is closed.
    pub fn standard() -> Result<Self, Error> {
        let name = "standard output".to_owned();
        match io::stdout().as_fd().try_clone_to_owned() {
            Ok(fd) => Ok(Output::Stream { file: fd.into(), name }),
            Err(source) => Err(Error::Write { name, source }),
        }
    }

    /// Opens the file of that name, which may be the input, because it is replaced only by
    /// [`Output::finish`]. A symbolic link is followed; a device or a pipe is written directly.
    ///
    /// # Errors
    /// Fails when it is a directory or can't be written.
    pub fn named(path: &Path) -> Result<Self, Error> {
        Output::with_mode(path, |_| 0o666)
    }

    /// Opens a file as [`Output::named`] does, but makes a new file no more readable than `source`. If that
    /// is a pipe or a device, nobody has said who may read its data, so only the new file's owner may.
    ///
    /// # Errors
    /// The same as for [`Output::named`].
    pub fn as_private_as(path: &Path, source: &File) -> Result<Self, Error> {
        Output::with_mode(path, |directory| match source.metadata() {
            Ok(found) => private_mode(source, &found, directory),
            Err(_) => 0o600,
        })
    }

    /// Opens one of the files that a command makes, with this mode before the umask. `replace` says if it may replace
    /// another file.
    ///
    /// # Errors
    /// Fails when it can't be written.
    pub fn one_of_many(path: &Path, mode: u32, replace: bool) -> Result<Self, Error> {
        let mut output = if replace {
            Output::with_mode(path, |_| mode)?
        } else {
            let failed = |source| Error::Write { name: shown::path(path), source };
            Output::Pending(Pending::new(path, None, mode).map_err(failed)?)
        };
        if let Output::Pending(pending) = &mut output {
            pending.is_fresh = !replace;
            pending.is_one_of_many = true;
        }
        Ok(output)
    }

    /// Opens a file that only its owner may read, and that never replaces another, whatever comes meanwhile.
    ///
    /// # Errors
    /// Fails when there is anything of that name, or it can't be written.
    pub fn fresh(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { name: shown::path(path), source };
        if path.symlink_metadata().is_ok() {
            let remedy = "a key never replaces a file, so name another one";
            return Err(Error::Exists { path: path.to_owned(), remedy });
        }
        let mut pending = Pending::new(path, None, 0o600).map_err(failed)?;
        pending.is_fresh = true;
        pending.is_only_copy = true;
        Ok(Output::Pending(pending))
    }

    /// Opens a file. `mode` returns the mode of a new file in that directory, before the umask.
    fn with_mode(path: &Path, mode: impl Fn(&Path) -> u32) -> Result<Self, Error> {
        let failed = |source| Error::Write { name: shown::path(path), source };
        let pending = |found: Option<Access>| -> io::Result<Output> {
            let path = follow(path)?;
            // The mode is at most that of the file it replaces.
            let mode = found.map_or_else(|| mode(directory(&path)), |old| old.mode & 0o666);
            Pending::new(&path, found, mode).map(Output::Pending)
        };
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Error::Directory(path.to_owned())),
            Ok(found) => {
                // A user who may not write the file may not replace it either.
                let file = OpenOptions::new().write(true).open(path).map_err(failed)?;
                if is_stream(&found) {
                    return Ok(Output::Stream { file, name: shown::path(path) });
                }
                let access = Access { mode: found.mode() & 0o777, owner: found.uid(), group: found.gid() };
                pending(Some(access)).map_err(failed)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => pending(None).map_err(failed),
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns the name in messages.
    pub fn name(&self) -> String {
        match self {
            Output::Stream { name, .. } => name.clone(),
            Output::Pending(pending) => shown::path(&pending.path),
        }
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        match self {
            Output::Stream { file, .. } => file,
            Output::Pending(pending) => &pending.file,
        }
    }

    /// Returns true when parts may be written in any order.
    pub fn is_seekable(&self) -> bool {
        matches!(self, Output::Pending(_))
    }

    /// Writes the whole contents, and finishes.
    ///
    /// # Errors
    /// Fails when that is not possible; the file that had the name before is then intact.
    pub fn save(self, contents: impl AsRef<[u8]>) -> Result<(), Error> {
        let written = self.file().write_all(contents.as_ref());
        written.map_err(|source| Error::Write { name: self.name(), source })?;
        self.finish()
    }

    /// Gives a file its final name, now that it is complete.
    ///
    /// # Errors
    /// Fails when that is not possible; the file that had the name before is then intact.
    pub fn finish(self) -> Result<(), Error> {
        let name = self.name();
        let done = match self {
            Output::Stream { mut file, .. } => file.flush(),
            Output::Pending(pending) => pending.finish(),
        };
        done.map_err(|source| Error::Write { name, source })
    }
}

/// Returns the path itself, or the target of the symbolic links at its end, even where nothing is there.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // The kernel follows as many links (path_resolution(7)).
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(Errno::LOOP.into())
}

fn is_stream(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_char_device() || kind.is_fifo() || kind.is_block_device() || kind.is_socket()
}

impl Pending {
    fn new(path: &Path, replaces: Option<Access>, mode: u32) -> io::Result<Self> {
        match nameless(directory(path), mode) {
            Ok(file) => Ok(Pending::of(file, path, None, replaces)),
            Err(_) => Pending::with_hidden_name(path, replaces, mode),
        }
    }

    /// Makes a file for file systems that have only files with names.
    fn with_hidden_name(path: &Path, replaces: Option<Access>, mode: u32) -> io::Result<Self> {
        // The lock keeps a signal from coming between the file and its entry in the list of remains.
        let mut untidy = signals::untidy();
        let create = |hidden: &Path| {
            OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(hidden)
        };
        let (file, hidden) = with_free_name(path, create)?;
        untidy.temporaries.push(hidden.clone());
        Ok(Pending::of(file, path, Some(hidden), replaces))
    }

    fn of(file: File, path: &Path, hidden: Option<PathBuf>, replaces: Option<Access>) -> Self {
        let (is_fresh, is_only_copy, is_one_of_many) = (false, false, false);
        Pending { file, path: path.to_owned(), hidden, is_fresh, is_only_copy, is_one_of_many, replaces }
    }

    fn finish(mut self) -> io::Result<()> {
        if let Some(old) = self.replaces {
            // Only root can keep the owner. Everybody else owns the new file.
            let _ = std::os::unix::fs::fchown(&self.file, Some(old.owner), Some(old.group));
            self.file.set_permissions(std::fs::Permissions::from_mode(old.mode))?;
            // Until this returns, the old file is the only copy that survives a power failure.
            self.file.sync_all()?;
        }
        if self.is_only_copy {
            self.file.sync_all()?;
        }
        let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let link = |name: &Path| rustix::fs::linkat(CWD, &own, CWD, name, AtFlags::SYMLINK_FOLLOW);
        if self.hidden.is_none() && self.is_fresh && self.is_one_of_many {
            // There is nothing to clean up, before or after, so threads need not wait for each other.
            return Ok(link(&self.path)?);
        }
        let mut untidy = signals::untidy();
        if self.hidden.is_none() {
            match link(&self.path) {
                Ok(()) => {
                    untidy.committed = !self.is_one_of_many;
                    return Ok(());
                }
                Err(Errno::EXIST) if !self.is_fresh => {}
                Err(error) => return Err(error.into()),
            }
            // A link can't replace a name; only a rename can.
            let ((), hidden) = with_free_name(&self.path, |hidden| Ok(link(hidden)?))?;
            untidy.temporaries.push(hidden.clone());
            self.hidden = Some(hidden);
        }
        if let Some(hidden) = &self.hidden {
            if self.is_fresh {
                rename_to_free_name(hidden, &self.path)?;
            } else {
                std::fs::rename(hidden, &self.path)?;
            }
        }
        untidy.forget(self.hidden.take());
        untidy.committed = !self.is_one_of_many;
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(hidden) = self.hidden.take() {
            let _ = std::fs::remove_file(&hidden);
            signals::untidy().forget(Some(hidden));
        }
    }
}

/// Returns the mode for a new file of that name, so that nobody can read it who can't read `source`, of which
/// this was found. If that is a pipe or a device, nobody has said who may read its data, so only the new file's owner may.
pub fn mode_as_private_as(path: &Path, source: &File, found: &Metadata) -> u32 {
    private_mode(source, found, directory(path))
}

/// Returns the mode for a new file in `directory`, so that nobody can read it who can't read `source`.
fn private_mode(source: &File, found: &Metadata, directory: &Path) -> u32 {
    if !found.is_file() {
        return 0o600;
    }
    let mut mode = found.mode() & 0o666;
    // If the new file has another group, or an access control list gives the group's bits another meaning, a
    // permission is kept only if both the group's and the others' bits have it.
    if group_of_new_file(directory) != Some(found.gid()) || has_access_list(source) {
        let all = mode >> 3 & mode & 0o006;
        mode = mode & 0o600 | all << 3 | all;
    }
    // A user who decrypts another's file could read that, and owns the new one.
    let own = found.uid() == rustix::process::geteuid().as_raw();
    if own { mode } else { mode | 0o600 }
}

/// Returns the group that the kernel gives to a new file there: the directory's own where its set-group-ID
/// bit says so.
fn group_of_new_file(directory: &Path) -> Option<u32> {
    let found = directory.metadata().ok()?;
    let inherited = found.mode() & 0o2000 != 0;
    Some(if inherited { found.gid() } else { rustix::process::getegid().as_raw() })
}

/// Returns true when a file has a POSIX access control list (acl(5)), whose mask takes the place of the
/// group's bits.
fn has_access_list(file: &File) -> bool {
    let nowhere: &mut [u8] = &mut [];
    rustix::fs::fgetxattr(file, "system.posix_acl_access", nowhere).is_ok_and(|len| len > 0)
}

/// Renames a file, unless there is one of the new name.
fn rename_to_free_name(old: &Path, new: &Path) -> io::Result<()> {
    match renameat_with(CWD, old, CWD, new, RenameFlags::NOREPLACE) {
        // The file system can't do this, but a link does not replace a name either.
        Err(Errno::INVAL | Errno::NOSYS) => {
            std::fs::hard_link(old, new)?;
            std::fs::remove_file(old)
        }
        renamed => Ok(renamed?),
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Makes a file without a name, which can be given one through `/proc` (open(2), `O_TMPFILE`).
fn nameless(directory: &Path, mode: u32) -> io::Result<File> {
    static HAS_PROC: OnceLock<bool> = OnceLock::new();
    if !HAS_PROC.get_or_init(|| Path::new("/proc/self/fd").exists()) {
        return Err(Errno::NOENT.into());
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(directory, flags, Mode::from_raw_mode(mode))?))
}

/// Calls `make` with names beside `path` until it finds one that is free.
fn with_free_name<T>(path: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(T, PathBuf)> {
    for _ in 0..100 {
        let number = getrandom::u64().map_err(io::Error::other)?;
        let hidden = directory(path).join(format!(".millstream-{number:016x}"));
        match make(&hidden) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            made => return made.map(|made| (made, hidden)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Has the tests that make files take turns: the list of remains is global.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    type Make = fn(&Path, Option<Access>, u32) -> io::Result<Pending>;

    #[test]
    fn a_fresh_file_replaces_none_that_came_meanwhile() {
        let _turn = turn();
        for make in [Pending::new as Make, Pending::with_hidden_name] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("key");
            let mut pending = make(&path, None, 0o600).unwrap();
            pending.is_fresh = true;
            std::fs::write(&path, b"old").unwrap();
            assert_eq!(pending.finish().unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(std::fs::read(&path).unwrap(), b"old");
            assert_eq!(names(place.path()), ["key"]);
        }
    }

    #[test]
    fn a_file_gets_its_name_when_it_is_whole_and_not_before() {
        let _turn = turn();
        for make in [Pending::new as Make, Pending::with_hidden_name] {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("out");

            let mut pending = make(&path, None, 0o666).unwrap();
            pending.file.write_all(b"new").unwrap();
            assert_eq!(signals::untidy().temporaries, Vec::from_iter(pending.hidden.clone()));
            assert!(!path.exists());
            drop(pending);
            assert_eq!(names(place.path()), [""; 0]);

            let mut pending = make(&path, None, 0o666).unwrap();
            pending.file.write_all(b"new").unwrap();
            pending.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"new");

            let old = path.metadata().unwrap();
            let access = Access { mode: 0o600, owner: old.uid(), group: old.gid() };
            let mut pending = make(&path, Some(access), 0o600).unwrap();
            pending.file.write_all(b"newer").unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"new");
            pending.finish().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), b"newer");
            assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
            assert_eq!(names(place.path()), ["out"]);
            assert_eq!(signals::untidy().temporaries, [""; 0].map(PathBuf::from));
        }
    }
}
