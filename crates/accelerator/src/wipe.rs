//! Wiping what keys and objects leave behind: on the stack, and in lists that are used again.

use std::mem::MaybeUninit;

use zeroize::optimization_barrier;

/// The bytes of stack that making a key may have written to.
const STACK: usize = 32 * 1024;

/// Zeroes the stack below the caller, where a function that it called has left copies of keys. The compiler
/// copies the uninitialised parts of values too, so such leftovers would spread.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let bytes = [0_u8; STACK];
    optimization_barrier(&bytes);
}

/// Empties a list and zeroes the memory that it used. A value that is moved takes along leftovers of the stack in its
/// padding.
pub(crate) fn wipe_list<T>(list: &mut Vec<T>) {
    let used = list.len();
    list.clear();
    for place in &mut list.spare_capacity_mut()[..used] {
        *place = MaybeUninit::zeroed();
    }
    optimization_barrier(list.spare_capacity_mut());
}
