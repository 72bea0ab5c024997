//! The buffer of a packet, with room in front and behind for what ESP adds.

use std::fmt;

use crate::suite::HEADER;

/// Bytes in front of a packet that is to be sealed: SPI, number, and the longest initialisation vector.
const HEADROOM: usize = HEADER + 16;

/// Bytes behind it: padding, its trailer, and the longest tag.
const TAILROOM: usize = 16 + 2 + 32;

/// A packet in a buffer of its own.
///
/// ```
/// use millstream_esp::Packet;
///
/// let mut packet = Packet::with_room(1500);
/// packet.room()[..3].copy_from_slice(b"abc");
/// packet.set_len(3);
/// assert_eq!(packet.data(), b"abc");
/// ```
pub struct Packet {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Packet {
    /// Makes an empty packet with room for so many bytes, and for what ESP adds to them.
    pub fn with_room(bytes: usize) -> Self {
        Packet { bytes: vec![0; HEADROOM + bytes + TAILROOM], start: HEADROOM, end: HEADROOM }
    }

    /// Makes a packet of these bytes.
    pub fn from_slice(data: &[u8]) -> Self {
        let mut packet = Packet::with_room(data.len());
        packet.room()[..data.len()].copy_from_slice(data);
        packet.set_len(data.len());
        packet
    }

    /// Empties the packet, and returns the room for a new one.
    pub fn room(&mut self) -> &mut [u8] {
        (self.start, self.end) = (HEADROOM, HEADROOM);
        let end = self.bytes.len() - TAILROOM;
        &mut self.bytes[HEADROOM..end]
    }

    /// Says how many bytes were put into the room.
    ///
    /// # Panics
    /// When they are more than the room has.
    pub fn set_len(&mut self, len: usize) {
        assert!(HEADROOM + len + TAILROOM <= self.bytes.len(), "the packet is longer than its room");
        (self.start, self.end) = (HEADROOM, HEADROOM + len);
    }

    /// Says where in the room the packet is, behind outer headers for instance.
    ///
    /// # Panics
    /// When it ends behind the room.
    pub fn set_range(&mut self, start: usize, len: usize) {
        self.set_len(start + len);
        self.start += start;
    }

    /// Keeps so many of the packet's first bytes.
    ///
    /// # Panics
    /// When it has fewer.
    pub fn cut(&mut self, len: usize) {
        assert!(len <= self.data().len(), "the packet is shorter");
        self.keep(0, len);
    }

    /// Returns the packet's bytes.
    pub fn data(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Returns the packet's bytes, to be changed.
    pub fn data_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    /// Puts so many bytes in front, for the caller to fill. Sealing puts what [`Packet::with_room`] left room for.
    pub(crate) fn grow_front(&mut self, len: usize) {
        self.start -= len;
    }

    /// Puts so many bytes behind, for the caller to fill.
    pub(crate) fn grow_back(&mut self, len: usize) {
        self.end += len;
    }

    /// Keeps these of the packet's bytes.
    pub(crate) fn keep(&mut self, from: usize, len: usize) {
        self.start += from;
        self.end = self.start + len;
    }
}

/// Says how long it is and shows no data.
impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packet({} bytes)", self.data().len())
    }
}
