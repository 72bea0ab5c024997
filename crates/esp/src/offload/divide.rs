//! The division of a long packet into those that it stands for.

use super::layout::{Layout, Transport, never_zero};
use super::{Kind, Offload};
use crate::checksum::{checksum, sum};
use crate::fate::Fate;
use crate::packet::Packet;

/// Flags of TCP that only the last packet of a stretch has: FIN and PSH.
const ONLY_LAST: u8 = 0x01 | 0x08;

/// Flags of TCP that a stretch may have: those, and ACK.
const FLAGS: u8 = ONLY_LAST | 0x10;

/// The packets that one of a TUN device stands for. They are made one after another.
pub struct Divided<'p> {
    packet: &'p [u8],
    /// The headers, and bytes of the payload of each packet; none for a packet that is as it should be.
    plan: Option<(Layout, usize)>,
    /// Packets that were given out.
    given: usize,
}

impl<'p> Divided<'p> {
    /// Reads the header of a packet, and completes the checksum of one that stands for itself.
    ///
    /// # Errors
    /// [`Fate::Malformed`] where the header does not fit the packet.
    pub fn new(offload: Offload, packet: &'p mut [u8]) -> Result<Self, Fate> {
        let plan = match offload.kind {
            Kind::Single if offload.needs_checksum => {
                complete(offload, packet).ok_or(Fate::Malformed)?;
                None
            }
            Kind::Single => None,
            kind => Some(plan(kind, offload, packet).ok_or(Fate::Malformed)?),
        };
        Ok(Divided { packet, plan, given: 0 })
    }

    /// Returns true if the packet stands for several.
    pub fn is_long(&self) -> bool {
        self.plan.is_some()
    }

    /// Makes the next packet, in a buffer that has room for so many bytes as `buffer` is asked for.
    pub fn next(&mut self, buffer: impl FnOnce(usize) -> Packet) -> Option<Packet> {
        let number = self.given;
        let Some((layout, size)) = self.plan else {
            self.given = 1;
            return (number == 0).then(|| filled(buffer, &[self.packet]));
        };
        let (headers, payload) = self.packet.split_at(layout.payload_at);
        let from = number * size;
        if from >= payload.len() && number > 0 {
            return None;
        }
        self.given += 1;
        let to = payload.len().min(from + size);
        let mut packet = filled(buffer, &[headers, &payload[from..to]]);
        adapt(packet.data_mut(), layout, number, from, to == payload.len());
        Some(packet)
    }
}

fn filled(buffer: impl FnOnce(usize) -> Packet, parts: &[&[u8]]) -> Packet {
    let len = parts.iter().map(|part| part.len()).sum();
    let mut packet = buffer(len);
    let mut room = &mut packet.room()[..len];
    for part in parts {
        let (place, rest) = room.split_at_mut(part.len());
        place.copy_from_slice(part);
        room = rest;
    }
    packet.set_len(len);
    packet
}

/// Completes a checksum whose place has the sum of the pseudo header.
fn complete(offload: Offload, packet: &mut [u8]) -> Option<()> {
    let start = usize::from(offload.checksum_start);
    let covered = packet.get_mut(start..)?;
    let total = sum(covered);
    let place = covered.get_mut(usize::from(offload.checksum_offset)..)?.get_mut(..2)?;
    place.copy_from_slice(&never_zero(checksum(total)));
    Some(())
}

/// Compares the header with the packet's own headers, which say how it is divided.
fn plan(kind: Kind, offload: Offload, packet: &[u8]) -> Option<(Layout, usize)> {
    let layout = Layout::read(packet)?;
    let fits = match kind {
        Kind::TcpV4 => layout.is_v4 && layout.transport == Transport::Tcp,
        Kind::TcpV6 => !layout.is_v4 && layout.transport == Transport::Tcp,
        Kind::Udp => layout.transport == Transport::Udp,
        Kind::Single | Kind::Other => false,
    };
    let is_plain = layout.transport == Transport::Udp || packet[layout.transport_at + 13] & !FLAGS == 0;
    let covers = offload.needs_checksum
        && usize::from(offload.checksum_start) == layout.transport_at
        && usize::from(offload.checksum_offset) == layout.transport.checksum_at();
    (fits && is_plain && covers && offload.size > 0).then_some((layout, offload.size.into()))
}

/// Changes the headers of a part of a packet to those of a packet of its own.
fn adapt(packet: &mut [u8], layout: Layout, number: usize, from: usize, is_last: bool) {
    if layout.is_v4 {
        let id = u16::from_be_bytes([packet[4], packet[5]]).wrapping_add(number as u16);
        packet[4..6].copy_from_slice(&id.to_be_bytes());
    }
    layout.set_len(packet, packet.len());
    if layout.transport == Transport::Tcp {
        let header = &mut packet[layout.transport_at..];
        let first = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        header[4..8].copy_from_slice(&first.wrapping_add(from as u32).to_be_bytes());
        if !is_last {
            header[13] &= !ONLY_LAST;
        }
    }
    layout.set_checksum(packet);
}
