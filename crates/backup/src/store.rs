//! A store as the commands use it: one call after the other on each thread, with retries and a limit of bandwidth.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    Error as StoreError, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use tokio::runtime::Runtime;

use crate::error::Error;

/// The way a store is used.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The number of times that a failed call is made in all.
    pub attempts: u32,
    /// The time before the second attempt. It doubles with each, and a random half is added or taken away.
    pub first_wait: Duration,
    /// The most bytes a second to and from the store, on average over some segments.
    pub bytes_per_second: Option<u64>,
    /// True for a folder of this machine. What lies behind links in it is not of the store.
    pub is_local: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            attempts: 8,
            first_wait: Duration::from_millis(250),
            bytes_per_second: None,
            is_local: false,
        }
    }
}

const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// A store.
pub struct Store {
    inner: Arc<dyn ObjectStore>,
    runtime: Runtime,
    policy: Policy,
    /// The time at which the bytes so far may have passed.
    free: Mutex<Instant>,
}

impl Store {
    /// Takes a store.
    ///
    /// # Errors
    /// [`Error::Read`] when no threads can be had.
    pub fn new(inner: Arc<dyn ObjectStore>, policy: Policy) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(Error::Read)?;
        Ok(Store { inner, runtime, policy, free: Mutex::new(Instant::now()) })
    }

    /// Makes a store in this process's memory.
    ///
    /// # Panics
    /// When no threads can be had.
    pub fn memory() -> Self {
        Store::new(Arc::new(InMemory::new()), Policy::default()).expect("threads")
    }

    /// Makes a call, and makes it again when it may succeed then.
    fn attempt<T>(
        &self,
        (what, path): (&'static str, &Path),
        call: impl AsyncFn() -> Result<T, StoreError>,
    ) -> Result<T, Error> {
        let mut made = 0;
        loop {
            match self.runtime.block_on(call()) {
                Ok(done) => return Ok(done),
                Err(source) => {
                    made += 1;
                    if made >= self.policy.attempts || !may_pass(&source) {
                        return Err(Error::Store { what, object: path.to_string(), source });
                    }
                    thread::sleep(self.wait(made));
                }
            }
        }
    }

    /// Returns the time before the attempt after this many.
    fn wait(&self, made: u32) -> Duration {
        let wait = self.policy.first_wait.saturating_mul(1 << (made - 1).min(20)).min(LONGEST_WAIT);
        // Clients that failed together must not come again together.
        wait / 2 + wait.mul_f64(f64::from(getrandom::u32().unwrap_or(0)) / f64::from(u32::MAX))
    }

    /// Waits until so many bytes may pass.
    fn pace(&self, bytes: u64) {
        let Some(rate) = self.policy.bytes_per_second else { return };
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = (*free).max(Instant::now());
        *free = begin + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        drop(free);
        thread::sleep(begin.saturating_duration_since(Instant::now()));
    }

    /// Stores an object.
    pub(crate) fn put(&self, path: &Path, bytes: Bytes) -> Result<(), Error> {
        self.pace(bytes.len() as u64);
        let payload = PutPayload::from_bytes(bytes);
        self.attempt(("store", path), async || self.inner.put(path, payload.clone()).await.map(drop))
    }

    /// Stores an object unless there is one of that name. Returns false if there is another one.
    pub(crate) fn create(&self, path: &Path, bytes: Vec<u8>) -> Result<bool, Error> {
        let bytes = Bytes::from(bytes);
        let payload = PutPayload::from_bytes(bytes.clone());
        let options = || PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let made = self.attempt(("store", path), async || {
            match self.inner.put_opts(path, payload.clone(), options()).await {
                // A store without conditional writes: what came in between two looks is not noticed there.
                Err(StoreError::NotImplemented { .. } | StoreError::NotSupported { .. }) => {
                    match self.inner.head(path).await {
                        Err(StoreError::NotFound { .. }) => {
                            self.inner.put(path, payload.clone()).await.map(|_| true)
                        }
                        found => found.map(|_| false),
                    }
                }
                Err(StoreError::AlreadyExists { .. } | StoreError::Precondition { .. }) => Ok(false),
                made => made.map(|_| true),
            }
        })?;
        // An attempt whose answer was lost may have made it.
        Ok(made || self.find(path, bytes.len() as u64)?.is_some_and(|found| found == bytes))
    }

    /// Reads an object of so many bytes at most. A larger one is not read.
    pub(crate) fn get(&self, path: &Path, most: u64) -> Result<Bytes, Error> {
        let read = self.attempt(("read", path), async || {
            let found = self.inner.get(path).await?;
            let bytes = found.meta.size;
            if bytes > most { Ok(Err(bytes)) } else { found.bytes().await.map(Ok) }
        })?;
        let bytes = read.map_err(|bytes| Error::Large { object: path.to_string(), bytes, most })?;
        self.pace(bytes.len() as u64);
        Ok(bytes)
    }

    /// Reads an object of so many bytes at most, if it is there.
    pub(crate) fn find(&self, path: &Path, most: u64) -> Result<Option<Bytes>, Error> {
        match self.get(path, most) {
            Err(Error::Store { source: StoreError::NotFound { .. }, .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Reads a part of an object.
    pub(crate) fn get_range(&self, path: &Path, range: Range<u64>) -> Result<Bytes, Error> {
        self.pace(range.end - range.start);
        self.attempt(("read", path), async || self.inner.get_range(path, range.clone()).await)
    }

    /// Returns true when there is an object of that name.
    pub(crate) fn exists(&self, path: &Path) -> Result<bool, Error> {
        self.attempt(("look for", path), async || match self.inner.head(path).await {
            Err(StoreError::NotFound { .. }) => Ok(false),
            found => found.map(|_| true),
        })
    }

    /// Removes an object, if it is there.
    pub(crate) fn delete(&self, path: &Path) -> Result<(), Error> {
        self.attempt(("remove", path), async || match self.inner.delete(path).await {
            Err(StoreError::NotFound { .. }) => Ok(()),
            done => done,
        })
    }

    /// Lists the objects below a name.
    pub(crate) fn list(&self, prefix: &Path) -> Result<Vec<ObjectMeta>, Error> {
        let mut listed: Vec<ObjectMeta> = self.attempt(("list", prefix), async || {
            let prefix = Some(prefix).filter(|prefix| !prefix.is_root());
            self.inner.list(prefix).try_collect().await
        })?;
        // A store that lists more than it was asked for is not believed.
        listed.retain(|meta| {
            meta.location.prefix_matches(prefix)
                && !(self.policy.is_local && is_behind_link(&meta.location, prefix))
        });
        Ok(listed)
    }
}

/// Returns true for a file of this machine that is below a folder by a link only.
fn is_behind_link(file: &Path, folder: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(format!("/{path}"));
    let (Some(parent), Ok(folder)) = (file.parent(), real(folder)) else { return true };
    !real(&parent).is_ok_and(|parent| parent.starts_with(folder))
}

/// Returns true for an error after which the same call may succeed.
fn may_pass(error: &StoreError) -> bool {
    if !matches!(error, StoreError::Generic { .. } | StoreError::JoinError { .. }) {
        return false;
    }
    // A full or read-only disk stays so.
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(inner) = source {
        if let Some(error) = inner.downcast_ref::<std::io::Error>() {
            use std::io::ErrorKind as Kind;
            let lasting = [
                Kind::StorageFull,
                Kind::QuotaExceeded,
                Kind::FileTooLarge,
                Kind::PermissionDenied,
                Kind::ReadOnlyFilesystem,
                Kind::NotADirectory,
                Kind::InvalidFilename,
            ];
            return !lasting.contains(&error.kind());
        }
        source = inner.source();
    }
    true
}
