//! Threads whose stack lies in memory for keys.
//!
//! Kernels spill round keys and plaintext to the stack, and what a function left there stays until another
//! overwrites it. The standard library chooses the stacks of its threads itself, so these threads are made
//! with the C library's calls.
//!
//! # Safety
//! The stack of a thread is mapped until the process ends, and nobody else has it. The C library puts the
//! thread's control block and its thread-local variables at the top. The body of the thread is handed over in
//! a box.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;

use rustix::mm::{MprotectFlags, mprotect};
use zeroize::optimization_barrier;

use crate::SecretMemory;

type Body = Box<dyn FnOnce() + Send>;

/// Starts a thread whose stack is all of a [`SecretMemory`] except its lowest page, which is made
/// inaccessible as a guard. Returns true when the stack is hidden, as [`SecretMemory::is_hidden`] says.
///
/// Nobody can join the thread: the kernel announces a thread's end by a futex in its block on the stack, and
/// no process can wait on a futex in hidden memory. A caller who wants to know has the body say so.
///
/// # Errors
/// The system's when there may be no more threads.
pub fn spawn_on_secret_stack(
    name: &'static CStr,
    memory: SecretMemory,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<bool> {
    let page = rustix::param::page_size();
    let (base, len) = memory.range();
    // SAFETY: the page is the lowest of the mapping, and nobody has a place in it.
    unsafe { mprotect(base.as_ptr().cast(), page, MprotectFlags::empty())? };
    let named: Body = Box::new(move || {
        // SAFETY: the name ends with a zero, and the thread is the caller.
        unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
        body();
    });
    // SAFETY: the stack is all of the mapping but its lowest page, as the file's head says.
    unsafe { start(base.as_ptr().add(page), len - page, Box::new(named))? };
    let hidden = memory.is_hidden();
    std::mem::forget(memory);
    Ok(hidden)
}

/// # Safety
/// The memory is nobody else's, and stays mapped if a thread is started.
unsafe fn start(stack: *mut u8, len: usize, body: Box<Body>) -> io::Result<()> {
    let done = |code| if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) };
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: the attributes are initialised before they are used, and destroyed once. The stack is as the caller says.
    // The body's box is the new thread's, or this one's again where there is none.
    unsafe {
        done(libc::pthread_attr_init(attributes.as_mut_ptr()))?;
        let attributes = attributes.assume_init_mut();
        let mut thread = MaybeUninit::uninit();
        let body = Box::into_raw(body);
        let started = done(libc::pthread_attr_setstack(attributes, stack.cast(), len))
            .and_then(|()| done(libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED)))
            .and_then(|()| done(libc::pthread_create(thread.as_mut_ptr(), attributes, enter, body.cast())));
        libc::pthread_attr_destroy(attributes);
        if started.is_err() {
            drop(Box::from_raw(body));
        }
        started
    }
}

/// Runs the body of a new thread. A panic that gets here ends the process.
extern "C" fn enter(body: *mut c_void) -> *mut c_void {
    // SAFETY: `start` made it from a box, for this thread alone.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    body();
    std::ptr::null_mut()
}

/// The bytes of stack that [`wipe_stack`] zeroes: more than any operation uses.
pub const WIPED_STACK: usize = 256 << 10;

/// Zeroes the stack below the caller, where the functions that it called have left what they computed with.
#[inline(never)]
pub fn wipe_stack() {
    let bytes = [0_u8; WIPED_STACK];
    optimization_barrier(&bytes);
}
