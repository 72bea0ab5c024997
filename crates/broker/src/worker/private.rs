//! The memory for what is not a key and tells about keys all the same: the stacks of a worker's threads, and its heap.
//!
//! Kernels spill round keys to the stack; a message that brings a key, the state of a hash and plaintext on its way lie
//! on the heap. So both are memory for keys, too: hidden where the kernel has `memfd_secret`, else locked, and then the
//! stacks are wiped after each step. What is freed on the heap is zeroed at once.
//!
//! Objects get none of the heap as they come: copies that are worked on, and plaintext whose tag is not compared yet, lie in a
//! [`Reserve`] that is taken before anything else is, and never grows.

use std::sync::Arc;

use millstream_accelerator::Reserve;
use millstream_protocol::KEY_PIECE_BYTES;
use millstream_shm::{SecretHeap, SecretMemory, WIPED_STACK};

use super::Error;
use super::memory::KeyRegions;

/// Bytes of the accelerator's stack. The deepest lanes take 80 KiB; to wipe it where it must be wiped takes the most.
const ACCELERATOR_STACK: usize = 2 * WIPED_STACK;

/// Bytes of the control thread's stack.
const CONTROL_STACK: usize = 2 * WIPED_STACK;

/// Bytes of the stack of the vault's thread.
const VAULT_STACK: usize = 2 * WIPED_STACK;

/// The bytes of the heap if so many may be locked: 42 MiB are for objects. Of the rest the states of long operations take up to 12 MiB, and keys that
/// words bring as much.
const HEAP: u64 = (32 + 42) << 20;

/// The least that are worth it. Only what is used of them is ever there.
const LEAST_HEAP: u64 = 512 << 10;

/// The part of the heap that is for objects, as of all of it.
const OBJECTS: (usize, usize) = (42, 32 + 42);

/// The bytes of the stacks, and some more for everything to begin on pages.
const STACKS: u64 = (ACCELERATOR_STACK + CONTROL_STACK + (256 << 10)) as u64;

/// Returns the bytes that a worker locks if it has so much memory for keys.
pub fn locked_bytes(key_memory: usize) -> u64 {
    key_memory as u64 + STACKS + VAULT_STACK as u64 + HEAP
}

/// All that a worker keeps in such memory, taken while it still may.
pub(super) struct Private {
    pub(super) heap: Heap,
    /// The part that the accelerator is to take of it at first.
    pub(super) reserve: Reserve,
    pub(super) keys: Arc<KeyRegions>,
    pub(super) key_bytes: usize,
    pub(super) accelerator: SecretMemory,
    pub(super) control: SecretMemory,
    pub(super) vault: Option<SecretMemory>,
}

impl Private {
    /// Takes the memory. Where the limit of locked memory does not hold for this process (root in a container may have the capability to lock
    /// and not the one to raise limits), there is as much for keys as is wanted; else what the limit leaves.
    ///
    /// # Errors
    /// The system's, when there is not even enough for the stacks and the first keys.
    pub(super) fn take(key_memory: usize, limit: Option<u64>, has_vault: bool) -> Result<Self, Error> {
        let stack = |bytes| SecretMemory::new(bytes + rustix::param::page_size()).map_err(Error::Thread);
        let (accelerator, control) = (stack(ACCELERATOR_STACK)?, stack(CONTROL_STACK)?);
        let vault = has_vault.then(|| stack(VAULT_STACK)).transpose()?;
        let of_vault = if has_vault { VAULT_STACK as u64 } else { 0 };
        let limit = limit.map(|limit| limit.saturating_sub(of_vault));
        let whole = KeyRegions::whole(key_memory);
        let key_bytes = if whole.is_ok() { key_memory } else { for_keys(key_memory, limit) };
        let is_bound = limit.is_some_and(|limit| limit < key_bytes as u64);
        let (heap, reserve) = begin_heap(key_bytes, limit.filter(|_| !is_bound));
        let keys = whole.or_else(|_| KeyRegions::new(key_bytes)).map_err(Error::KeyMemory)?;
        // Workers for private keys open no objects, and only they have keys on lattices, which lie in that part of the heap.
        let keys = keys.with_beside(reserve.bytes());
        Ok(Private { heap, reserve, keys: Arc::new(keys), key_bytes, accelerator, control, vault })
    }
}

/// The bytes that can be locked for keys: as many as are wanted, or what the limit of locked memory leaves beside the stacks and a part
/// for the heap.
fn for_keys(wanted: usize, limit: Option<u64>) -> usize {
    let left = limit.unwrap_or(u64::MAX).saturating_sub(STACKS);
    let most = left.saturating_sub(HEAP.min(left / 5 * 2)) / KEY_PIECE_BYTES * KEY_PIECE_BYTES;
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

/// The kind of memory that the heap is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heap {
    /// The same kind as the memory for keys.
    Secret,
    /// The limit of locked memory leaves nothing for it.
    Ordinary,
    /// The program was not built with [`SecretHeap`] as its allocator.
    Another,
}

/// Makes the heap memory for keys from here on. It gets what the limit of locked memory leaves when keys have all of
/// theirs, and where that is little a quarter of what stacks leave.
fn begin_heap(key_memory: usize, limit: Option<u64>) -> (Heap, Reserve) {
    let left = limit.unwrap_or(u64::MAX).saturating_sub(STACKS);
    let bytes = left.saturating_sub(key_memory as u64).max(left / 4).min(HEAP);
    if bytes < LEAST_HEAP || SecretHeap::begin(bytes as usize).is_err() {
        return (Heap::Ordinary, Reserve::default());
    }
    let reserve = Reserve::within(bytes as usize / OBJECTS.1 * OBJECTS.0);
    let mut probe = Box::new(0_u8);
    (if SecretHeap::has(&raw mut *probe) { Heap::Secret } else { Heap::Another }, reserve)
}

/// Returns the kind of memory that keys, stacks and heap are, as reports have it, and what can be opened if that is
/// less than usual.
pub(super) fn kind(keys: &str, heap: Heap, reserve: Reserve) -> String {
    match heap {
        Heap::Secret if reserve == Reserve::default() => keys.to_owned(),
        Heap::Secret => format!(
            "{keys}; objects of more than {} KiB are not opened: raise the limit of locked memory",
            reserve.long >> 10
        ),
        Heap::Ordinary => format!("{keys}; the heap is ordinary memory: raise the limit of locked memory"),
        Heap::Another => format!("{keys}; the heap is ordinary memory"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_their_reserve_where_all_can_be_locked() {
        assert_eq!(Reserve::within(HEAP as usize / OBJECTS.1 * OBJECTS.0), Reserve::default());
        assert_eq!(Reserve::default().bytes(), OBJECTS.0 << 20);
        assert!(Reserve::within(LEAST_HEAP as usize / OBJECTS.1 * OBJECTS.0).bytes() < LEAST_HEAP as usize);
    }

    #[test]
    fn keys_get_what_is_wanted_or_what_can_be_locked() {
        assert_eq!(for_keys(128 << 20, None), 128 << 20);
        assert_eq!(for_keys(128 << 20, Some(locked_bytes(128 << 20))), 128 << 20);
        let little = for_keys(128 << 20, Some(8 << 20));
        assert!((4 << 20..6 << 20).contains(&little), "{little} of eight mebibytes");
        assert_eq!(for_keys(128 << 20, Some(0)), 0);
    }
}
