//! Buffers of a queue as C holds them, and the queue's hold of them while they are in flight.
//!
//! # Safety
//! A [`Lent`] is a second pointer to an object that C owns. It is made only of a handle that C passed, and from then on the
//! object says that it is in flight: `millstream_buffer_free` refuses it, and nothing else frees it. So the object is
//! there for as long as there is a `Lent` to it; whoever ends a `Lent` says so to the object in the same step. Queue
//! and buffers are used by one thread at a time, which the header asks for.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use millstream::queue;

use crate::failure::{Failure, null};

/// A buffer of a queue's arena.
#[derive(Debug)]
pub struct Buffer {
    /// The bytes while they are with C. Two numbers, as in the library: a third would have them moved through memory.
    bytes: Option<queue::Buffer>,
    /// True if they are gone with a queue or accelerator that ended. Bytes that are neither here nor lost are with an operation
    /// in flight.
    lost: bool,
}

impl Buffer {
    /// Wraps a buffer that was just taken from an arena.
    pub fn new(buffer: queue::Buffer) -> Self {
        Buffer { bytes: Some(buffer), lost: false }
    }

    /// Returns the bytes, if they are here.
    pub fn here(&self) -> Option<&queue::Buffer> {
        self.bytes.as_ref()
    }

    /// Returns the bytes to be changed.
    pub fn here_mut(&mut self, name: &'static str) -> Result<&mut queue::Buffer, Failure> {
        let lost = self.lost;
        self.bytes.as_mut().ok_or_else(|| not_here(name, lost))
    }

    /// Tells whether the buffer may be freed.
    pub fn may_go(&self) -> Result<(), Failure> {
        if self.bytes.is_some() || self.lost { Ok(()) } else { Err(Failure::InFlight("buffer")) }
    }
}

#[cold]
fn not_here(name: &'static str, lost: bool) -> Failure {
    if lost { Failure::Lost(name) } else { Failure::InFlight(name) }
}

/// A buffer whose bytes are with an operation in flight.
#[derive(Debug)]
pub struct Lent(NonNull<Buffer>);

impl Lent {
    /// Takes a buffer's bytes for an operation.
    ///
    /// # Safety
    /// `at` is NULL or a handle from `millstream_buffer_new` that was not freed, and nobody else uses it now.
    #[inline(always)]
    pub unsafe fn take(name: &'static str, at: *mut Buffer) -> Result<(Self, queue::Buffer), Failure> {
        let mut object = NonNull::new(at).ok_or_else(|| null(name))?;
        // SAFETY: a handle, as the caller says, and nobody else's now.
        let buffer = unsafe { object.as_mut() };
        let bytes = buffer.bytes.take().ok_or_else(|| not_here(name, buffer.lost))?;
        Ok((Lent(object), bytes))
    }

    /// Gives the bytes back, if there are any left, and returns C's handle.
    #[inline(always)]
    pub fn give_back(mut self, bytes: Option<queue::Buffer>) -> *mut Buffer {
        if let Some(bytes) = bytes {
            // SAFETY: the object is there while this is, and C does not use it at the same time. It holds no bytes, so
            // there is nothing to drop.
            unsafe { (&raw mut self.0.as_mut().bytes).write(Some(bytes)) };
            let handle = self.0.as_ptr();
            std::mem::forget(self);
            return handle;
        }
        // The status that follows says that the bytes are lost.
        self.0.as_ptr()
    }
}

impl Drop for Lent {
    /// Records that the bytes did not come back.
    fn drop(&mut self) {
        // SAFETY: as for `give_back`.
        unsafe { self.0.as_mut().lost = true };
    }
}

// SAFETY: a queue may go to another thread if its buffers do: what they point to is only memory.
unsafe impl Send for Lent {}
