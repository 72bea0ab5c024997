//! Storage whose power can be cut after any operation.
//!
//! All that was written since the last `sync_data` is in a cache. When the power is cut, any part of it may have reached the disk: each sector of each
//! write for itself, in any order.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

/// The bytes that a disk writes as a whole.
const SECTOR: usize = 512;

/// The fate of the cache when the power is cut.
#[derive(Clone, Copy, Debug)]
pub enum Cut {
    /// All of it is on the disk: the process died, not the machine.
    Kept,
    /// None of it is.
    Lost,
    /// Sectors are, each as a generator with this seed says.
    Torn(u64),
}

/// A disk that several backends have one after another.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    durable: Vec<u8>,
    cached: Vec<u8>,
    /// Ranges that were written since the last `sync_data`, and lengths that were set.
    written: Vec<(usize, usize)>,
    operations: u64,
    /// The operation that fails, and all later ones.
    until: Option<u64>,
    /// The most bytes that the disk takes.
    room: Option<u64>,
}

impl Disk {
    /// Returns storage on this disk.
    pub fn storage(&self) -> Storage {
        Storage(self.clone())
    }

    /// Fails the operation after so many more, and all that follow.
    pub fn cut_after(&self, operations: u64) {
        let mut state = self.0.lock().unwrap();
        state.until = Some(state.operations + operations);
    }

    /// Takes writes up to this length only.
    pub fn set_room(&self, room: Option<u64>) {
        self.0.lock().unwrap().room = room;
    }

    pub fn len(&self) -> u64 {
        self.0.lock().unwrap().cached.len() as u64
    }

    pub fn operations(&self) -> u64 {
        self.0.lock().unwrap().operations
    }

    /// Returns true when an operation failed because the power was cut.
    pub fn is_cut(&self) -> bool {
        let state = self.0.lock().unwrap();
        state.until.is_some_and(|until| state.operations >= until)
    }

    /// Returns the disk as it is when power comes back.
    pub fn after(&self, cut: Cut) -> Disk {
        let state = self.0.lock().unwrap();
        let image = match cut {
            Cut::Kept => state.cached.clone(),
            Cut::Lost => state.durable.clone(),
            Cut::Torn(seed) => torn(&state, seed),
        };
        let durable = image.clone();
        Disk(Arc::new(Mutex::new(State { durable, cached: image, ..State::default() })))
    }
}

fn torn(state: &State, mut seed: u64) -> Vec<u8> {
    let mut next = move || {
        // SplitMix64.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    let mut image = state.durable.clone();
    // A length is on the disk before the bytes in it are: else the bytes would lie nowhere.
    image.resize(state.cached.len().max(image.len()), 0);
    let share = next() % 5;
    for &(from, to) in &state.written {
        let mut at = from;
        while at < to {
            let end = to.min((at / SECTOR + 1) * SECTOR).min(state.cached.len());
            if at < end && next() % 4 < share {
                image[at..end].copy_from_slice(&state.cached[at..end]);
            }
            at = end.max(at + 1);
        }
    }
    image
}

/// Storage on a [`Disk`].
#[derive(Debug)]
pub struct Storage(Disk);

impl Storage {
    fn operate<T>(&self, operation: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        let mut state = self.0.0.lock().unwrap();
        if state.until.is_some_and(|until| state.operations >= until) {
            return Err(io::Error::other("the power was cut"));
        }
        let done = operation(&mut state)?;
        state.operations += 1;
        Ok(done)
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.0.0.lock().unwrap();
        let from = state.cached.get(offset as usize..offset as usize + out.len());
        out.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.operate(|state| {
            if state.room.is_some_and(|room| len > room) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let before = state.cached.len();
            state.cached.resize(len as usize, 0);
            if len as usize > before {
                state.written.push((before, len as usize));
            }
            Ok(())
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.operate(|state| {
            state.durable.clone_from(&state.cached);
            state.written.clear();
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.operate(|state| {
            let (from, to) = (offset as usize, offset as usize + data.len());
            state.cached[from..to].copy_from_slice(data);
            state.written.push((from, to));
            Ok(())
        })
    }
}
