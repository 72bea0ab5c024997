//! A packet on its way to a worker and back.
//!
//! # Safety
//! Packets are as [`crate::packet`] says.
#![allow(unsafe_code)]

use millstream::queue::KeyHandle;

use crate::packet::{Packet, Status};
use crate::session::{Plan, Session};

/// A packet on its way.
pub struct Flight {
    /// The packet.
    pub packet: Packet,
    /// The step that is with the worker, or that comes next.
    pub step: usize,
    /// True when nothing is left to be done.
    pub ended: bool,
    /// Bytes in clear before what is encrypted, where both steps are one operation.
    pub combined: Option<usize>,
    /// The bytes that take the place of what was decrypted, should the tag be wrong after that.
    pub kept: Option<Box<[u8]>>,
}

impl Flight {
    /// Returns the steps of the packet's session.
    pub fn plan<'p>(&self) -> &'p Plan<KeyHandle> {
        // SAFETY: as the module says; whoever made the flight found that a worker has the keys.
        match unsafe { &*self.packet.session } {
            Session::Worker(plan, _) => plan,
            Session::Here(_) => unreachable!("a session of a worker"),
        }
    }

    /// Ends with the packet.
    pub fn end(&mut self, status: Status) {
        (self.packet.status, self.ended) = (status, true);
    }
}
