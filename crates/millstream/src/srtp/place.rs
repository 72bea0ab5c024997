//! The places where protected packets are put.

use super::Error;
use crate::EngineError;

/// The bytes by which a place is longer than its packet: a tag of GCM, or a roll-over counter, which is authenticated behind the packet.
pub(super) const BEHIND: usize = 16;

/// The place of a protected packet: a vector, which gets the length that it needs, or bytes of the caller, 16 more than the packet has.
pub struct Place<'a>(Kind<'a>);

enum Kind<'a> {
    Vector(&'a mut Vec<u8>),
    Bytes { room: &'a mut [u8], len: usize },
}

impl<'a> From<&'a mut Vec<u8>> for Place<'a> {
    fn from(place: &'a mut Vec<u8>) -> Self {
        Place(Kind::Vector(place))
    }
}

impl<'a> From<&'a mut [u8]> for Place<'a> {
    fn from(room: &'a mut [u8]) -> Self {
        Place(Kind::Bytes { room, len: 0 })
    }
}

impl Place<'_> {
    /// Makes room for a packet of so many bytes, and for what comes behind it.
    ///
    /// # Errors
    /// [`EngineError::OutputLength`].
    pub(super) fn make_room(&mut self, packet_len: usize) -> Result<(), Error> {
        let needed = packet_len + BEHIND;
        match &mut self.0 {
            // The bytes that are there already need no zeros, as they are written over.
            Kind::Vector(place) => place.resize(needed, 0),
            Kind::Bytes { room, .. } if room.len() < needed => {
                return Err(EngineError::OutputLength { given: room.len(), needed }.into());
            }
            Kind::Bytes { .. } => {}
        }
        Ok(())
    }

    /// Returns all of the room.
    pub(super) fn room(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Kind::Vector(place) => place,
            Kind::Bytes { room, .. } => room,
        }
    }

    /// Ends the packet after so many bytes.
    pub(super) fn end(&mut self, end: usize) {
        match &mut self.0 {
            Kind::Vector(place) => place.truncate(end),
            Kind::Bytes { len, .. } => *len = end,
        }
    }

    /// Returns the bytes of the packet.
    pub(super) fn len(&self) -> usize {
        match &self.0 {
            Kind::Vector(place) => place.len(),
            Kind::Bytes { len, .. } => *len,
        }
    }
}
