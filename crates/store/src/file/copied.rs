//! A store that may be read and not written, as a copy in memory.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redb::StorageBackend;
use redb::backends::InMemoryBackend;

use super::database::system;
use super::{AGAIN, File};
use crate::Error;

impl File {
    /// Opens a copy of the store of that name in memory, to look at what may be read and not written. Nothing can be changed in it. The copy is taken again while
    /// another process writes in the middle of it, as long as `limit` says.
    ///
    /// # Errors
    /// As [`File::open`].
    pub fn copied_within(path: &Path, limit: Duration) -> Result<Self, Error> {
        let end = Instant::now() + limit;
        loop {
            let bytes = std::fs::read(path).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => Error::Missing(path.to_owned()),
                _ => system(path, source),
            })?;
            if bytes.is_empty() {
                return Err(Error::NotAStore(path.to_owned()));
            }
            let name = path.to_owned();
            let opened = File::with_backends(path, move || {
                let memory = InMemoryBackend::new();
                let filled = memory.set_len(bytes.len() as u64).and_then(|()| memory.write(0, &bytes));
                filled.map(|()| memory).map_err(|source| system(&name, source))
            });
            match opened {
                Err(Error::Damaged { .. }) if Instant::now() < end => thread::sleep(AGAIN),
                opened => return opened.map(|file| File { is_copy: true, ..file }),
            }
        }
    }
}
