//! The folder that exists while a program runs, with its configuration and its counters.
//!
//! A program may start others and change its user before the provider is first used, as sshd and the workers
//! of nginx do. So both files can be opened by everybody who can name them. Others can't list the folder, and
//! its name inside another one is 64 random bits. So only those who are told the name know it, and nobody
//! else can spoil the counters.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use millstream::tally::Tally;
use rustix::fs::inotify;
use tempfile::TempDir;

use crate::error::Error;

/// Others may pass through, but not list it.
const PASSABLE: u32 = 0o711;
/// Everybody may read, or also write.
const READABLE: u32 = 0o644;
const ADDABLE: u32 = 0o666;

/// A folder that is removed when this is dropped.
pub struct Folder {
    _outer: TempDir,
    inner: PathBuf,
    counts: Tally,
    watch: Option<Watch>,
}

/// A watch on files, whose result explains why nothing was counted.
struct Watch {
    events: OwnedFd,
    configuration: i32,
    tally: i32,
    seen: Seen,
}

/// The steps of the provider's start that were seen, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// A program opened the configuration.
    pub configuration: bool,
    /// The provider opened the counters.
    pub tally: bool,
}

impl Folder {
    /// Makes a folder with counters.
    ///
    /// # Errors
    /// Fails when there is no place for it.
    pub fn new() -> Result<Folder, Error> {
        let failed = |source| Error::Write { name: "a temporary directory".into(), source };
        let permissions = std::fs::Permissions::from_mode(PASSABLE);
        let outer = tempfile::Builder::new().prefix("millstream-").permissions(permissions).tempdir();
        let outer = outer.map_err(failed)?;
        allow(outer.path(), PASSABLE)?;
        let inner = outer.path().join(format!("{:016x}", getrandom::u64()?));
        std::fs::DirBuilder::new().mode(PASSABLE).create(&inner).map_err(failed)?;
        allow(&inner, PASSABLE)?;
        let tally = inner.join("tally");
        let counts = Tally::create(&tally).map_err(Error::Tally)?;
        allow(&tally, ADDABLE)?;
        Ok(Folder { _outer: outer, inner, counts, watch: None })
    }

    /// Returns the path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.inner.join(name)
    }

    /// Returns the path of the counters.
    pub fn tally(&self) -> PathBuf {
        self.path("tally")
    }

    /// Returns the counters.
    pub fn counts(&self) -> &Tally {
        &self.counts
    }

    /// Writes a file that everybody can read who can name it.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path(name);
        let failed = |source| Error::Write { name: path.display().to_string(), source };
        std::fs::write(&path, text).map_err(failed)?;
        allow(&path, READABLE)?;
        Ok(path)
    }

    /// Watches for opens of the configuration and the counters from now on, if the system can do that.
    pub fn watch(&mut self, configuration: &Path) {
        self.watch = Watch::new(configuration, &self.tally()).ok();
    }

    /// Returns what was opened so far, if that is known.
    pub fn seen(&mut self) -> Option<Seen> {
        self.watch.as_mut().map(Watch::look)
    }
}

impl Watch {
    fn new(configuration: &Path, tally: &Path) -> rustix::io::Result<Watch> {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let events = inotify::init(flags)?;
        let configuration = inotify::add_watch(&events, configuration, inotify::WatchFlags::OPEN)?;
        let tally = inotify::add_watch(&events, tally, inotify::WatchFlags::OPEN)?;
        Ok(Watch { events, configuration, tally, seen: Seen { configuration: false, tally: false } })
    }

    fn look(&mut self) -> Seen {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        while let Ok(event) = reader.next() {
            self.seen.configuration |= event.wd() == self.configuration;
            self.seen.tally |= event.wd() == self.tally;
        }
        self.seen
    }
}

/// Sets a mode whatever the umask is.
fn allow(path: &Path, mode: u32) -> Result<(), Error> {
    let permissions = std::fs::Permissions::from_mode(mode);
    let failed = |source| Error::Write { name: path.display().to_string(), source };
    std::fs::set_permissions(path, permissions).map_err(failed)
}
