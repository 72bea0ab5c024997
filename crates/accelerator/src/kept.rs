//! A key in a place of its own, as large as that key, and the memory for such places.
//!
//! # Safety
//! A [`Kept`] owns one allocation from when it is made until it is dropped: a key of the engine that its [`KeyKind`] names,
//! and after it the bytes it was made from. The key is there for as long, and dropped once.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::Error;
use zeroize::optimization_barrier;

use crate::algorithms::{every_engine, kept_beside};
use crate::key::{Engine, Key, KeyKind, KeyRef, KeySink, expand};

/// Memory for the keys of a grant, of the kind that their owner wants: locked, or out of the kernel's own reach.
///
/// # Safety
/// `allocate` gives memory of the layout's size and alignment that is valid for reads and writes, and nobody else's
/// until it is given to `free`.
pub unsafe trait KeyMemory {
    /// Returns room for one key; none when there is no more.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Takes over so many bytes that a key has beside its place, on the heap, into what the memory has given out, or returns false where
    /// that is more than there may be.
    fn charge(&self, bytes: usize) -> bool;

    /// Forgets bytes that were taken over.
    fn discharge(&self, bytes: usize);

    /// Takes memory back. It is all zero.
    ///
    /// # Safety
    /// `at` came from `allocate` of the same memory, with the same layout, and is not used any more.
    unsafe fn free(&self, at: NonNull<u8>, layout: Layout);
}

/// A [`KeyMemory`] that several grants and threads share.
pub type SharedKeyMemory = Arc<dyn KeyMemory + Send + Sync>;

/// The memory for keys has no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// A value that a variant of [`Key`] holds, or the box around it.
trait Own<T> {
    /// Returns the value. Nothing of it is left in a box.
    fn own(self) -> T;
}

impl<T> Own<T> for T {
    fn own(self) -> T {
        self
    }
}

impl<T> Own<T> for Box<T> {
    fn own(self) -> T {
        let place = Box::into_raw(self);
        // SAFETY: the box gave its value and its memory up. The value is read once, and the memory goes back to the
        // heap as memory without one.
        unsafe {
            let value = place.read();
            place.write_bytes(0, 1);
            optimization_barrier(&place);
            drop(Box::from_raw(place.cast::<MaybeUninit<T>>()));
            value
        }
    }
}

macro_rules! kinds {
    ($($name:ident = $module:ident::$engine:ident as $stored:ident;)+) => {
        impl KeyKind {
            fn layout(self) -> Layout {
                match self {
                    $(KeyKind::$name => Layout::new::<crate::engines::$module::$engine>(),)+
                }
            }

            /// # Safety
            /// A key of this kind lies there, and is not changed for as long as the reference is used.
            #[inline(always)]
            unsafe fn get<'k>(self, at: NonNull<u8>) -> KeyRef<'k> {
                // SAFETY: the caller vouches for a key of this kind, which nobody changes.
                unsafe {
                    match self {
                        $(KeyKind::$name => {
                            KeyRef::$name(at.cast::<crate::engines::$module::$engine>().as_ref())
                        })+
                    }
                }
            }

            /// # Safety
            /// A key of this kind lies there, and nobody uses it any more.
            unsafe fn drop_in_place(self, at: NonNull<u8>) {
                // SAFETY: the caller vouches for a key of this kind, which nobody uses any more.
                unsafe {
                    match self {
                        $(KeyKind::$name => {
                            at.cast::<crate::engines::$module::$engine>().drop_in_place();
                        })+
                    }
                }
            }
        }

        /// Gives a key's own value to a sink.
        fn give<S: KeySink>(key: Key, sink: S) -> S::Output {
            match key {
                $(Key::$name(key) => sink.accept::<crate::engines::$module::$engine>(key.own()),)+
            }
        }
    };
}
every_engine!(kinds);

/// The unit in which memory for keys is handed out, in bytes.
const UNIT: usize = 64;

impl Key {
    /// Returns the bytes of key memory that a slot takes which holds a key of that algorithm, made from so many bytes, a
    /// copy of which it keeps; none for an algorithm without keys. Memory for keys is given out in units of 64 bytes, so
    /// this is a multiple of 64. Keys on lattices lie on the heap for the most part, and of keys
    /// on hashes the uppermost tree, which is counted, too.
    ///
    /// ```
    /// use millstream_accelerator::Key;
    /// use millstream_cwq::Algorithm;
    ///
    /// let (hmac, gcm) = (Key::place_bytes(Algorithm::Sha256, 32), Key::place_bytes(Algorithm::AesGcm, 32));
    /// assert!(hmac.unwrap() <= 512 && gcm.unwrap() <= 2048);
    /// assert_eq!(Key::place_bytes(Algorithm::Crc32, 4), None);
    /// // The matrix and the secret vectors of ML-DSA-87, as they are used.
    /// assert!(Key::place_bytes(Algorithm::MlDsa87, 32).unwrap() > 87 << 10);
    /// ```
    pub fn place_bytes(algorithm: Algorithm, key_len: usize) -> Option<usize> {
        let (layout, _) = layout(KeyKind::of(algorithm)?, key_len)?;
        (layout.size().checked_next_multiple_of(UNIT)?).checked_add(beside(algorithm))
    }
}

/// Returns the layout of a place for a key of a kind that was made from so many bytes, and where in it the bytes lie.
fn layout(kind: KeyKind, raw: usize) -> Option<(Layout, usize)> {
    kind.layout().extend(Layout::array::<u8>(raw).ok()?).ok()
}

/// Returns the bytes that a key of an algorithm takes on the heap, in whole units.
fn beside(algorithm: Algorithm) -> usize {
    kept_beside(algorithm).next_multiple_of(UNIT)
}

/// The reason why a key was not kept.
pub(crate) enum NotKept {
    /// The algorithm does not take it.
    Engine(Error),
    /// There is no more memory.
    Memory,
}

/// A key that stays where it is, and the bytes it was made from. In the end all of its place is zeroed: a key wipes
/// only the bytes that it uses, and a move may have brought others along.
pub(crate) struct Kept {
    at: NonNull<u8>,
    kind: KeyKind,
    /// The number of bytes that the key was made from, if they were kept.
    raw: Option<u32>,
    /// The bytes that the key takes beside its place, which the memory was charged.
    beside: usize,
    /// The memory that the place is of, or `None` for the heap.
    memory: Option<SharedKeyMemory>,
}

/// The witness for the `Send` and `Sync` of [`Kept`].
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Key>();
    both::<SharedKeyMemory>();
};

// SAFETY: it owns what it points to: an engine's key, bytes, and the memory they are of, which may all be sent.
unsafe impl Send for Kept {}
// SAFETY: by reference it only lends what it points to, by reference.
unsafe impl Sync for Kept {}

/// Moves a key to a place of its own, with the bytes it was made from if they are to be kept.
struct Placed<'a> {
    raw: Option<&'a [u8]>,
    beside: usize,
    memory: Option<&'a SharedKeyMemory>,
}

impl Placed<'_> {
    /// Finds room for a place, and charges what is beside it.
    fn find(&self, layout: Layout) -> Option<NonNull<u8>> {
        let Some(memory) = self.memory else {
            // SAFETY: a key has bytes, so the layout has.
            return NonNull::new(unsafe { alloc(layout) });
        };
        if self.beside == 0 {
            return memory.allocate(layout);
        }
        if !memory.charge(self.beside) {
            return None;
        }
        let at = memory.allocate(layout);
        if at.is_none() {
            memory.discharge(self.beside);
        }
        at
    }
}

impl KeySink for Placed<'_> {
    type Output = Result<Kept, NoMemory>;

    #[inline(always)]
    fn accept<E: Engine>(self, key: E) -> Self::Output {
        let bytes = self.raw.unwrap_or_default();
        let len = u32::try_from(bytes.len()).map_err(|_| NoMemory)?;
        let (layout, behind) = layout(E::KIND, bytes.len()).ok_or(NoMemory)?;
        let at = self.find(layout).ok_or(NoMemory)?;
        // SAFETY: the place has this layout: room and alignment for a key, then for the bytes; nobody else has it.
        unsafe {
            at.cast::<E>().write(key);
            at.add(behind).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        let Placed { raw, beside, memory } = self;
        Ok(Kept { at, kind: E::KIND, raw: raw.map(|_| len), beside, memory: memory.cloned() })
    }
}

impl Kept {
    /// Moves a key to a place of its own.
    pub(crate) fn new(key: Key, memory: Option<&SharedKeyMemory>) -> Result<Self, NoMemory> {
        let beside = beside(key.algorithm());
        give(key, Placed { raw: None, beside, memory })
    }

    /// Expands a key into a place of its own, and copies the bytes there if they are to be kept.
    #[inline(always)]
    pub(crate) fn expand(
        features: Features,
        algorithm: Algorithm,
        bytes: &[u8],
        keep_bytes: bool,
        memory: Option<&SharedKeyMemory>,
    ) -> Result<Self, NotKept> {
        let sink = Placed { raw: keep_bytes.then_some(bytes), beside: beside(algorithm), memory };
        expand(features, algorithm, bytes, sink).map_err(NotKept::Engine)?.map_err(|NoMemory| NotKept::Memory)
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> KeyRef<'_> {
        // SAFETY: it holds a key of its kind.
        unsafe { self.kind.get(self.at) }
    }

    /// Returns the key, if it is of that kind. Who knows the kind when it is compiled knows the variant, too.
    #[inline(always)]
    pub(crate) fn key_of(&self, kind: KeyKind) -> Option<KeyRef<'_>> {
        // SAFETY: it holds a key of its kind, which this is.
        (self.kind == kind).then(|| unsafe { kind.get(self.at) })
    }

    /// Returns the bytes that the key was made from, if they were kept.
    pub(crate) fn raw(&self) -> Option<&[u8]> {
        let len = self.raw? as usize;
        let (_, behind) = layout(self.kind, len)?;
        // SAFETY: `accept` wrote that many bytes behind the key.
        Some(unsafe { NonNull::slice_from_raw_parts(self.at.add(behind), len).as_ref() })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some((layout, _)) = layout(self.kind, self.raw.unwrap_or(0) as usize) else { return };
        // SAFETY: it holds a key of its kind, which nobody will see again, in a place of this layout that is its own.
        unsafe {
            self.kind.drop_in_place(self.at);
            let place = std::slice::from_raw_parts_mut(self.at.as_ptr().cast(), layout.size());
            place.fill(MaybeUninit::<u8>::zeroed());
            optimization_barrier(place);
            match &self.memory {
                Some(memory) => {
                    memory.free(self.at, layout);
                    if self.beside > 0 {
                        memory.discharge(self.beside);
                    }
                }
                None => dealloc(self.at.as_ptr(), layout),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::sets::{slh_dsa_set, some_slh_dsa_key};
    use crate::slots::{KeySlots, PreparedKey};

    /// The heap, and how many bytes of it are used, in whole units.
    #[derive(Default)]
    struct Measured(AtomicUsize);

    // SAFETY: the memory is the system's; a layout is of a key, so it is not empty.
    unsafe impl KeyMemory for Measured {
        fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
            self.0.fetch_add(layout.size().next_multiple_of(UNIT), Ordering::Relaxed);
            // SAFETY: as above.
            NonNull::new(unsafe { alloc(layout) })
        }

        fn charge(&self, bytes: usize) -> bool {
            self.0.fetch_add(bytes, Ordering::Relaxed);
            true
        }

        fn discharge(&self, bytes: usize) {
            self.0.fetch_sub(bytes, Ordering::Relaxed);
        }

        unsafe fn free(&self, at: NonNull<u8>, layout: Layout) {
            self.0.fetch_sub(layout.size().next_multiple_of(UNIT), Ordering::Relaxed);
            // SAFETY: as the caller says.
            unsafe { dealloc(at.as_ptr(), layout) }
        }
    }

    #[test]
    fn a_key_takes_the_room_that_its_algorithm_needs() {
        let measured = Arc::new(Measured::default());
        let memory: SharedKeyMemory = measured.clone();
        let used = || measured.0.load(Ordering::Relaxed);
        for &algorithm in Algorithm::ALL {
            let keys = match slh_dsa_set(algorithm) {
                Some(set) => vec![some_slh_dsa_key(set)],
                None => [8_u8, 16, 24, 32, 64, 200].map(|len| (0..len).collect()).to_vec(),
            };
            for (bytes, prepared) in keys.into_iter().filter_map(|bytes| {
                let key = PreparedKey::new(Features::hardware(), algorithm, &bytes, true, Some(&memory));
                Some((bytes, key.ok()?))
            }) {
                let mut slots = KeySlots::with_memory(1, Some(memory.clone()));
                let handle = slots.insert_prepared(prepared).unwrap();
                assert_eq!(Some(used()), Key::place_bytes(algorithm, bytes.len()), "{algorithm:?}");
                assert_eq!(slots.get(handle).unwrap().algorithm(), algorithm);
                assert_eq!(slots.export(handle).unwrap()[..], bytes);
                drop(slots);
                assert_eq!(used(), 0);
            }
        }
    }

    #[test]
    fn ten_thousand_connections_of_tls_fit_in_little_memory() {
        let connection = Key::place_bytes(Algorithm::AesGcm, 32).unwrap();
        assert!(20_000 * connection <= 33 << 20, "{connection} bytes for a key of AES-GCM");
        assert!(20_000 * Key::place_bytes(Algorithm::Sha256, 32).unwrap() <= 10 << 20);
        assert_eq!(Key::place_bytes(Algorithm::Crc32, 4), None);
    }
}
