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

use crate::failure::Failure;

/// A buffer of a queue's arena.
#[derive(Debug)]
pub struct Buffer {
    place: Place,
}

/// The place of a buffer's bytes.
#[derive(Debug)]
enum Place {
    /// The bytes are with C.
    Here(queue::Buffer),
    /// The bytes are with an operation in flight.
    InFlight,
    /// The bytes are gone with a queue or accelerator that ended.
    Lost,
}

impl Buffer {
    /// Wraps a buffer that was just taken from an arena.
    pub fn new(buffer: queue::Buffer) -> Self {
        Buffer { place: Place::Here(buffer) }
    }

    /// Returns the bytes, if they are here.
    pub fn here(&self) -> Option<&queue::Buffer> {
        match &self.place {
            Place::Here(buffer) => Some(buffer),
            _ => None,
        }
    }

    /// Returns the bytes to be changed.
    pub fn here_mut(&mut self, name: &'static str) -> Result<&mut queue::Buffer, Failure> {
        match &mut self.place {
            Place::Here(buffer) => Ok(buffer),
            Place::InFlight => Err(Failure::InFlight(name)),
            Place::Lost => Err(Failure::Lost(name)),
        }
    }

    /// Tells whether the buffer may be freed.
    pub fn may_go(&self) -> Result<(), Failure> {
        match self.place {
            Place::InFlight => Err(Failure::InFlight("buffer")),
            _ => Ok(()),
        }
    }
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
        let mut object = NonNull::new(at).ok_or(Failure::Null(name))?;
        // SAFETY: a handle, as the caller says, and nobody else's now.
        let place = unsafe { &mut object.as_mut().place };
        match std::mem::replace(place, Place::InFlight) {
            Place::Here(bytes) => Ok((Lent(object), bytes)),
            Place::InFlight => Err(Failure::InFlight(name)),
            Place::Lost => {
                *place = Place::Lost;
                Err(Failure::Lost(name))
            }
        }
    }

    /// Gives the bytes back, if there are any left, and returns C's handle.
    #[inline(always)]
    pub fn give_back(mut self, bytes: Option<queue::Buffer>) -> *mut Buffer {
        if let Some(bytes) = bytes {
            // SAFETY: the object is there while this is, and C does not use it at the same time. It holds no bytes, so
            // there is nothing to drop.
            unsafe { (&raw mut self.0.as_mut().place).write(Place::Here(bytes)) };
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
        unsafe { self.0.as_mut().place = Place::Lost };
    }
}

// SAFETY: a queue may go to another thread if its buffers do: what they point to is only memory.
unsafe impl Send for Lent {}
