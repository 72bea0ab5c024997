//! A key in a place of its own.
//!
//! # Safety
//! A [`Kept`] holds a key from when it is made until it is dropped, and drops it once.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use zeroize::optimization_barrier;

use crate::key::Key;

/// A key that stays where it is. In the end all of its place is zeroed: a key wipes what it uses itself, and
/// what a move brought along with it lies beside that.
pub(crate) struct Kept(Box<MaybeUninit<Key>>);

impl Kept {
    pub(crate) fn new(key: Key) -> Self {
        Kept(Box::new(MaybeUninit::new(key)))
    }

    #[inline(always)]
    pub(crate) fn key(&self) -> &Key {
        // SAFETY: it holds a key.
        unsafe { self.0.assume_init_ref() }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: it holds a key, which nobody will see again.
        unsafe {
            self.0.assume_init_drop();
            self.0.as_mut_ptr().write_bytes(0, 1);
        }
        optimization_barrier(&*self.0);
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
