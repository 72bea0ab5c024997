//! A store that remembers, counts, fails and loses answers.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream};
use futures_util::{StreamExt, TryStreamExt};
use millstream_backup::{Policy, Store};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// A fault that begins at some call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The call does nothing and fails, and so do all after it, as when the process was killed before it.
    Before,
    /// The call is done and fails, and all after it do nothing, as when the process was killed after it.
    After,
    /// So many calls fail, and the others do not.
    Some(usize),
    /// The call is done and its answer is lost; all after it succeed.
    Lost,
}

/// A store in memory with a fault.
pub struct Faulty {
    pub inner: InMemory,
    calls: AtomicUsize,
    fault: Mutex<Option<(usize, Fault)>>,
    /// Every object that was ever stored, by its first 24 bytes.
    pub seen: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
}

impl Faulty {
    pub fn new() -> Arc<Self> {
        Arc::new(Faulty {
            inner: InMemory::new(),
            calls: AtomicUsize::new(0),
            fault: Mutex::new(None),
            seen: Mutex::default(),
        })
    }

    /// Sets the fault from the call of that number on, counted from now.
    pub fn set(&self, fault: Option<(usize, Fault)>) {
        *self.fault.lock().unwrap() = fault;
        self.calls.store(0, Ordering::SeqCst);
    }

    /// Returns the number of calls since [`Faulty::set`].
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    pub fn store(self: &Arc<Self>, attempts: u32) -> Store {
        let policy = Policy { attempts, first_wait: Duration::from_millis(1), ..Policy::default() };
        Store::new(Arc::clone(self) as Arc<dyn ObjectStore>, policy).unwrap()
    }

    /// Runs a future of the store behind the faults.
    pub fn block<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    pub fn objects(&self) -> Vec<String> {
        let list = self.inner.list(None).map_ok(|meta| meta.location.to_string()).try_collect();
        let mut names: Vec<String> = Faulty::block(list).unwrap();
        names.sort();
        names
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        Faulty::block(async { self.inner.get(&Path::from(path)).await?.bytes().await }).unwrap().to_vec()
    }

    pub fn write(&self, path: &str, bytes: Vec<u8>) {
        Faulty::block(self.inner.put(&Path::from(path), bytes.into())).unwrap();
    }

    pub fn delete(&self, path: &str) {
        Faulty::block(self.inner.delete(&Path::from(path))).unwrap();
    }

    /// Counts a call. Returns two errors, for before and after it, of which one at most is there.
    fn count(&self) -> (Option<Error>, Option<Error>) {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let error = || Some(Error::Generic { store: "faulty", source: "the line was cut".into() });
        match *self.fault.lock().unwrap() {
            Some((at, Fault::Before)) if call >= at => (error(), None),
            Some((at, Fault::After)) if call == at => (None, error()),
            Some((at, Fault::After)) if call > at => (error(), None),
            Some((at, Fault::Some(many))) if (at..at + many).contains(&call) => (error(), None),
            Some((at, Fault::Lost)) if call == at => (None, error()),
            _ => (None, None),
        }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

impl fmt::Display for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(&self, location: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let (before, after) = self.count();
        if let Some(error) = before {
            return Err(error);
        }
        let bytes: Vec<u8> = payload.iter().flat_map(|part| part.to_vec()).collect();
        if location.as_ref().ends_with(".segment") {
            let mut seen = self.seen.lock().unwrap();
            let before = seen.insert(bytes[..24].to_vec(), bytes.clone());
            assert!(before.is_none_or(|before| before == bytes), "other data under the same salt");
        }
        let done = self.inner.put_opts(location, payload, options).await?;
        after.map_or(Ok(done), Err)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        match self.count() {
            (None, None) => self.inner.get_opts(location, options).await,
            (before, after) => Err(before.or(after).expect("one of them")),
        }
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match self.count() {
            (Some(error), _) => stream::once(async { Err(error) }).boxed(),
            (None, None) => self.inner.delete_stream(locations),
            (None, Some(error)) => {
                let done = self.inner.delete_stream(locations);
                stream::once(async {
                    let _: Vec<_> = done.collect().await;
                    Err(error)
                })
                .boxed()
            }
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.count() {
            (None, None) => self.inner.list(prefix),
            (before, after) => {
                let error = before.or(after).expect("one of them");
                stream::once(async { Err(error) }).boxed()
            }
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
