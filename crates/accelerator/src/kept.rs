//! A key in a place of its own, and the memory that such places are of.
//!
//! # Safety
//! A [`Kept`] owns one allocation from when it is made until it is dropped: a key, and after it the bytes it was made
//! from. The key is there for as long, and dropped once.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use std::sync::Arc;

use zeroize::optimization_barrier;

use crate::key::Key;

/// Memory for the keys of a grant, as their owner wants it to be: locked, or out of the kernel's own reach.
///
/// # Safety
/// `allocate` gives memory of the layout's size and alignment that is valid for reads and writes, and nobody else's
/// until it is given to `free`.
pub unsafe trait KeyMemory {
    /// Room for one key; none when there is no more.
    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>>;

    /// Takes it back. It is all zero.
    ///
    /// # Safety
    /// `at` came from `allocate` of the same memory, with the same layout, and is not used any more.
    unsafe fn free(&self, at: NonNull<u8>, layout: Layout);
}

/// A [`KeyMemory`] that several grants and threads use.
pub type SharedKeyMemory = Arc<dyn KeyMemory + Send + Sync>;

/// The memory for keys has no more room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// A key that stays where it is, and the bytes it was made from. In the end all of its place is zeroed: a key wipes
/// what it uses itself, and what a move brought along with it lies beside that.
pub(crate) struct Kept {
    at: NonNull<u8>,
    /// How many bytes it was made from, if they were kept.
    raw: Option<u32>,
    /// The heap, where there is none.
    memory: Option<SharedKeyMemory>,
}

/// What makes the `Send` and `Sync` of [`Kept`] sound.
const _: () = {
    const fn both<T: Send + Sync>() {}
    both::<Key>();
    both::<SharedKeyMemory>();
};

// SAFETY: it owns what it points to: a `Key`, bytes, and the memory they are of, which may all be sent.
unsafe impl Send for Kept {}
// SAFETY: by reference it only lends what it points to, by reference.
unsafe impl Sync for Kept {}

impl Kept {
    /// Moves a key to a place of its own, with the bytes it was made from if they are to be kept.
    pub(crate) fn new(
        key: Key,
        raw: Option<&[u8]>,
        memory: Option<&SharedKeyMemory>,
    ) -> Result<Self, NoMemory> {
        let bytes = raw.unwrap_or_default();
        let len = u32::try_from(bytes.len()).map_err(|_| NoMemory)?;
        let layout = layout(bytes.len()).ok_or(NoMemory)?;
        let at = match memory {
            Some(memory) => memory.allocate(layout),
            // SAFETY: a key has bytes, so the layout has.
            None => NonNull::new(unsafe { alloc(layout) }),
        };
        let at = at.ok_or(NoMemory)?;
        // SAFETY: the place has this layout: room and alignment for a key, then for the bytes; nobody else has it.
        unsafe {
            at.cast::<Key>().write(key);
            at.add(size_of::<Key>()).copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        Ok(Kept { at, raw: raw.map(|_| len), memory: memory.cloned() })
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> &Key {
        // SAFETY: it holds a key.
        unsafe { self.at.cast().as_ref() }
    }

    /// The bytes that the key was made from, if they were kept.
    pub(crate) fn raw(&self) -> Option<&[u8]> {
        let len = self.raw? as usize;
        // SAFETY: so many lie behind the key.
        Some(unsafe { NonNull::slice_from_raw_parts(self.at.add(size_of::<Key>()), len).as_ref() })
    }
}

/// The place of a key that was made from so many bytes.
fn layout(raw: usize) -> Option<Layout> {
    let (layout, _) = Layout::new::<Key>().extend(Layout::array::<u8>(raw).ok()?).ok()?;
    Some(layout)
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(layout) = layout(self.raw.unwrap_or(0) as usize) else { return };
        // SAFETY: it holds a key, which nobody will see again, in a place of this layout that is its own.
        unsafe {
            self.at.cast::<Key>().drop_in_place();
            let place = std::slice::from_raw_parts_mut(self.at.as_ptr().cast(), layout.size());
            place.fill(MaybeUninit::<u8>::zeroed());
            optimization_barrier(place);
            match &self.memory {
                Some(memory) => memory.free(self.at, layout),
                None => dealloc(self.at.as_ptr(), layout),
            }
        }
    }
}

/// Bytes of stack that making a key may have written to.
const STACK: usize = 32 * 1024;

/// Zeroes the stack below the caller, where a function that it called has left copies of keys. The compiler
/// copies uninitialised parts of values along with them, so that what lies there gets about.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let bytes = [0_u8; STACK];
    optimization_barrier(&bytes);
}

/// Empties a list and zeroes what was used of its memory: values that are moved take along what lay on the stack
/// where they have no bytes of their own.
pub(crate) fn wipe_list<T>(list: &mut Vec<T>) {
    let used = list.len();
    list.clear();
    for place in &mut list.spare_capacity_mut()[..used] {
        *place = MaybeUninit::zeroed();
    }
    optimization_barrier(list.spare_capacity_mut());
}
