//! A packet as the C side describes it: an operation, and where its bytes are.
//!
//! # Safety
//! A packet's maker promises, until the packet has come back with a status: what it points to is valid for the lengths that
//! the packet and its session say, nobody else touches that, and no two packets of a burst share what one of them writes. That is what
//! DPDK asks of applications. The C side has compared offsets and lengths with the room in the mbufs.
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::session::Session;

/// The end of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The operation is done; or nothing was wrong with it yet.
    Good = 0,
    /// The tag is not the right one. No plaintext was left.
    Authentication = 1,
    /// An argument is none that the algorithm takes.
    Argument = 2,
    /// Nothing was done: the worker has ended, or has no room.
    Failed = 3,
}

/// The functions that reach bytes in several pieces, as in a chain of mbufs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Access {
    /// Copies bytes out of the pieces, from an offset on.
    pub read: unsafe extern "C" fn(pieces: *const c_void, offset: u32, to: *mut u8, len: u32),
    /// Copies bytes into the pieces.
    pub write: unsafe extern "C" fn(pieces: *mut c_void, offset: u32, from: *const u8, len: u32),
}

/// An operation on a span of bytes: all that its cipher and its authentication cover, and what lies between.
#[derive(Clone)]
#[repr(C)]
pub struct Packet {
    /// The session.
    pub session: *const Session,
    /// The C side's own value, which comes back with the packet.
    pub user: *mut c_void,
    /// The span's bytes, or null where they lie in several pieces.
    pub source: *const u8,
    /// The place for the result, which may be the source; null where it lies in several pieces.
    pub destination: *mut u8,
    /// The pieces in which the span lies.
    pub source_pieces: *const c_void,
    /// The pieces for the result.
    pub destination_pieces: *mut c_void,
    /// The access to pieces.
    pub access: *const Access,
    /// The initialisation vector of the cipher or the AEAD.
    pub iv: *const u8,
    /// The initialisation vector of the authentication.
    pub auth_iv: *const u8,
    /// The associated data of an AEAD.
    pub aad: *const u8,
    /// The tag or digest, or the place for it.
    pub tag: *mut u8,
    /// The span's first byte in the pieces.
    pub offset: u32,
    /// Bytes of the span.
    pub length: u32,
    /// The first byte of the cipher's or the AEAD's data, counted from the span's first; in bits for KASUMI.
    pub cipher_at: u32,
    /// Bytes of it, or bits.
    pub cipher_length: u32,
    /// The first byte of what is authenticated, counted from the span's first; in bits for KASUMI.
    pub auth_at: u32,
    /// Bytes of it, or bits.
    pub auth_length: u32,
    /// The end.
    pub status: Status,
    /// The place of the tag, counted from the span's first byte, where that is in the span of the result; else any number beyond it.
    pub tag_at: u32,
}

impl Packet {
    /// Returns true if the result takes the place of the source.
    pub fn is_in_place(&self) -> bool {
        self.source_pieces == self.destination_pieces.cast_const()
            && self.source == self.destination.cast_const()
    }

    /// Returns the source and the destination where both lie in one piece.
    pub fn whole(&self) -> Option<(*const u8, *mut u8)> {
        let usable = !self.source.is_null() && !self.destination.is_null();
        usable.then_some((self.source, self.destination))
    }

    /// Returns true if source and destination lie in one piece each, and overlap without being the same. No algorithm takes that.
    pub fn overlaps_itself(&self) -> bool {
        let between = (self.source as usize).abs_diff(self.destination as usize);
        self.whole().is_some() && (1..self.length as usize).contains(&between)
    }

    /// Copies bytes of the source, counted from the span's first.
    ///
    /// # Panics
    /// When they are not in the span.
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn read(&self, at: usize, to: &mut [u8]) {
        // SAFETY: as the caller says.
        unsafe { self.read_from(self.source, self.source_pieces, at, to) }
    }

    /// Copies bytes of the destination.
    ///
    /// # Panics
    /// As for [`Packet::read`].
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn read_result(&self, at: usize, to: &mut [u8]) {
        // SAFETY: as the caller says.
        unsafe { self.read_from(self.destination, self.destination_pieces, at, to) }
    }

    unsafe fn read_from(&self, bytes: *const u8, pieces: *const c_void, at: usize, to: &mut [u8]) {
        self.check(at, to.len());
        // SAFETY: as the caller says; the bytes are in the span, whose length is a `u32`.
        unsafe {
            if bytes.is_null() {
                ((*self.access).read)(pieces, self.offset + at as u32, to.as_mut_ptr(), to.len() as u32);
            } else {
                // The place to copy to is an exclusive one of this process, so it is apart.
                bytes.add(at).copy_to_nonoverlapping(to.as_mut_ptr(), to.len());
            }
        }
    }

    /// Copies bytes to the destination.
    ///
    /// # Panics
    /// As for [`Packet::read`].
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn write(&self, at: usize, from: &[u8]) {
        self.check(at, from.len());
        // SAFETY: as for `read_from`.
        unsafe {
            if self.destination.is_null() {
                let (at, len) = (self.offset + at as u32, from.len() as u32);
                ((*self.access).write)(self.destination_pieces, at, from.as_ptr(), len);
            } else {
                self.destination.add(at).copy_from_nonoverlapping(from.as_ptr(), from.len());
            }
        }
    }

    fn check(&self, at: usize, len: usize) {
        let fits = at.checked_add(len).is_some_and(|end| end <= self.length as usize);
        assert!(fits, "{len} bytes at {at} are not in a span of {}", self.length);
    }

    /// Returns bytes that the packet points to.
    ///
    /// # Safety
    /// See the module: they are that many, or there are none.
    pub unsafe fn given<'a>(at: *const u8, len: usize) -> &'a [u8] {
        if len == 0 || at.is_null() {
            return &[];
        }
        // SAFETY: as the caller says.
        unsafe { std::slice::from_raw_parts(at, len) }
    }

    /// Writes the tag or digest.
    ///
    /// # Safety
    /// See the module: there is room for it.
    pub unsafe fn give_tag(&self, tag: &[u8]) {
        // SAFETY: as the caller says; a computed tag is memory of this process.
        unsafe {
            // The most frequent length goes in one piece: a call of a function that copies takes longer than the copy.
            match tag.try_into() {
                Ok(whole) => self.tag.cast::<[u8; 16]>().write(whole),
                Err(_) => self.tag.copy_from_nonoverlapping(tag.as_ptr(), tag.len()),
            }
        }
    }
}
