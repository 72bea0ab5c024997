//! A packet under way: its place, and what came of its first step.
//!
//! # Safety
//! As for [the folder](super).
#![allow(unsafe_code)]

use std::ops::Range;

use millstream::{InOut, Key};
use zeroize::Zeroizing;

use crate::geometry::{Region, encrypted_tag};
use crate::packet::{Packet, Status};
use crate::session::{Plan, Session};

/// A packet under way.
pub struct Work<'a> {
    /// The packet.
    pub packet: &'a mut Packet,
    /// The steps of its session.
    pub plan: &'a Plan<Key>,
    /// The span's bytes, and the place for the result: the same, or apart.
    input: *const u8,
    pub output: *mut u8,
    /// The copy of the span where it does not lie in one piece.
    pub copy: Option<Zeroizing<Vec<u8>>>,
    /// The place of the tag that was computed among the tags of the burst.
    pub tag: Range<usize>,
    /// The place of the tag in the span where the cipher covers it.
    pub encrypted_tag: Option<usize>,
    /// True if one operation does both steps.
    pub combined: bool,
}

impl<'a> Work<'a> {
    /// Begins with a packet: adds it to the list, in which it stays where it was made. One whose session is no local one, or whose places
    /// overlap, has failed.
    ///
    /// # Safety
    /// See the module.
    #[inline]
    pub unsafe fn begin(packet: &'a mut Packet, list: &mut Vec<Self>) {
        packet.status = Status::Good;
        // SAFETY: as the caller says.
        let session = unsafe { packet.session.as_ref() };
        let Some(Session::Here(plan)) = session.filter(|_| !packet.overlaps_itself()) else {
            packet.status = Status::Argument;
            return;
        };
        let encrypted_tag = encrypted_tag(plan, packet);
        // A tag that is encrypted is put between the bytes, so they are changed where they lie.
        let usable = packet.whole().filter(|_| encrypted_tag.is_none() || packet.is_in_place());
        let (mut copy, mut places) = (None, usable.unwrap_or((std::ptr::null(), std::ptr::null_mut())));
        if usable.is_none() {
            let mut bytes = Zeroizing::new(vec![0; packet.length as usize]);
            // SAFETY: as the caller says.
            unsafe { packet.read(0, &mut bytes) };
            places.1 = bytes.as_mut_ptr();
            places.0 = places.1;
            copy = Some(bytes);
        }
        let (input, output) = places;
        put(list, || Work { packet, plan, input, output, copy, tag: 0..0, encrypted_tag, combined: false });
    }

    /// Returns the place of the tag.
    pub fn tag_place(&self) -> *mut u8 {
        match self.encrypted_tag {
            // `encrypted_tag` found that it is in the span.
            Some(at) => self.output.wrapping_add(at),
            None => self.packet.tag,
        }
    }

    pub fn is_in_place(&self) -> bool {
        std::ptr::eq(self.input, self.output)
    }

    /// Returns bytes to be changed.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    #[inline]
    pub unsafe fn data<'d>(&self, region: Region) -> InOut<'d> {
        // SAFETY: as the caller says. Input and output are the same or apart, by `Packet::overlaps_itself`.
        unsafe {
            let output = std::slice::from_raw_parts_mut(self.output.add(region.at), region.len);
            if self.is_in_place() {
                return InOut::in_place(output);
            }
            let input = std::slice::from_raw_parts(self.input.add(region.at), region.len);
            InOut::separate(input, output).expect("both have the region's length")
        }
    }

    /// Returns bytes to be authenticated: what was there, or what the cipher has made of it.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    #[inline]
    pub unsafe fn message<'d>(&self, region: Region, after_cipher: bool) -> &'d [u8] {
        let from = if after_cipher { self.output.cast_const() } else { self.input };
        // SAFETY: as the caller says.
        unsafe { std::slice::from_raw_parts(from.add(region.at), region.len) }
    }

    /// Copies those bytes of the span that a cipher doesn't change.
    ///
    /// # Safety
    /// See the module. The region is in the span.
    pub unsafe fn copy_around(&self, region: Region) {
        if self.is_in_place() {
            return;
        }
        let behind = self.packet.length as usize - region.end();
        // SAFETY: as the caller says; the two are apart.
        unsafe {
            self.output.copy_from_nonoverlapping(self.input, region.at);
            self.output.add(region.end()).copy_from_nonoverlapping(self.input.add(region.end()), behind);
        }
    }

    /// Ends with the packet: puts a copy where it belongs, and then the tag.
    ///
    /// # Safety
    /// See the module.
    pub unsafe fn finish(&mut self, tags: &[u8]) {
        if self.packet.status != Status::Good {
            return;
        }
        // SAFETY: as the caller says.
        unsafe {
            let is_auth_only = self.plan.second.is_none() && self.plan.first.is_auth();
            match &self.copy {
                // Bytes that are only authenticated are where they were.
                Some(_) if is_auth_only && self.packet.is_in_place() => {}
                Some(copy) => self.packet.write(0, copy),
                None if is_auth_only => self.copy_around(Region { at: 0, len: 0, bits: 0 }),
                None => return,
            }
            self.packet.give_tag(&tags[self.tag.clone()]);
        }
    }
}

/// Adds something to a list that has room for it, in which it stays where it was made: moving it costs more than making it.
#[inline(always)]
pub fn put<T>(list: &mut Vec<T>, make: impl FnOnce() -> T) {
    list.spare_capacity_mut()[0].write(make());
    // SAFETY: the one behind the last was just written.
    unsafe { list.set_len(list.len() + 1) };
}
