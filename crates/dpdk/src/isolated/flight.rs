//! A packet that is with a worker, from when it is taken to when it is given back.
//!
//! # Safety
//! Packets are as [`crate::packet`] says, and their sessions live as long as they are on their way.
#![allow(unsafe_code)]

use millstream::queue::KeyHandle;

use crate::packet::{Packet, Status};
use crate::session::{Plan, Session};

/// A packet on its way.
pub(super) struct Flight {
    pub(super) packet: Packet,
    /// The step that is with the worker, or that comes next.
    pub(super) step: usize,
    /// True when nothing is left to be done.
    pub(super) ended: bool,
    /// Bytes in clear before what is encrypted, where both steps are one operation.
    pub(super) combined: Option<usize>,
    /// The bytes that take the place of what was decrypted, should the tag be wrong after that.
    pub(super) kept: Option<Box<[u8]>>,
}

impl Flight {
    /// Returns the steps of the packet's session.
    pub(super) fn plan<'p>(&self) -> &'p Plan<KeyHandle> {
        // SAFETY: as the module says; `submit` found that a worker has the keys.
        match unsafe { &*self.packet.session } {
            Session::Worker(plan, _) => plan,
            Session::Here(_) => unreachable!("a session of a worker"),
        }
    }

    pub(super) fn end(&mut self, status: Status) {
        (self.packet.status, self.ended) = (status, true);
    }
}
