//! The headers of a packet of TCP or UDP over IP: where they are, and their lengths and checksums.

use crate::checksum::{checksum, fold, sum};

/// The protocol above IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Tcp,
    Udp,
}

impl Transport {
    const fn protocol(self) -> u8 {
        match self {
            Transport::Tcp => 6,
            Transport::Udp => 17,
        }
    }

    /// Returns the place of the checksum in the header.
    pub(super) const fn checksum_at(self) -> usize {
        match self {
            Transport::Tcp => 16,
            Transport::Udp => 6,
        }
    }
}

/// The places of the headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) is_v4: bool,
    pub(super) transport: Transport,
    /// The first byte behind the headers of IP.
    pub(super) transport_at: usize,
    /// The first byte of the payload.
    pub(super) payload_at: usize,
}

impl Layout {
    /// Finds the headers of a packet that is whole: no fragment, and as long as its header says.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let is_v4 = packet.first()? >> 4 == 4;
        let (protocol, transport_at) = if is_v4 { behind_v4(packet)? } else { behind_v6(packet)? };
        let (transport, header_len) = if protocol == Transport::Tcp.protocol() {
            (Transport::Tcp, usize::from(packet.get(transport_at + 12)? >> 4) * 4)
        } else if protocol == Transport::Udp.protocol() {
            (Transport::Udp, 8)
        } else {
            return None;
        };
        let least = if transport == Transport::Tcp { 20 } else { 8 };
        let payload_at = transport_at + header_len;
        (header_len >= least && payload_at <= packet.len()).then_some(Layout {
            is_v4,
            transport,
            transport_at,
            payload_at,
        })
    }

    /// Writes the length of the whole packet into the headers of IP and UDP, and the checksum of the header of IPv4. `headers` begins with
    /// the packet.
    pub(super) fn set_len(&self, headers: &mut [u8], len: usize) {
        if self.is_v4 {
            headers[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            headers[10..12].fill(0);
            let sum = sum(&headers[..self.transport_at]);
            headers[10..12].copy_from_slice(&checksum(sum));
        } else {
            headers[4..6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
        }
        if self.transport == Transport::Udp {
            let len = ((len - self.transport_at) as u16).to_be_bytes();
            headers[self.transport_at + 4..][..2].copy_from_slice(&len);
        }
    }

    /// Returns the sum of the pseudo header of a packet with this length in all (RFC 9293 §3.1, RFC 8200 §8.1).
    pub(super) fn pseudo_sum(&self, headers: &[u8], len: usize) -> u64 {
        let addresses = if self.is_v4 { &headers[12..20] } else { &headers[8..40] };
        let upper = ((len - self.transport_at) as u16).to_be_bytes();
        sum(addresses) + sum(&upper) + sum(&[0, self.transport.protocol()])
    }

    /// Returns the place of the checksum of TCP or UDP.
    pub(super) fn checksum_at(&self) -> usize {
        self.transport_at + self.transport.checksum_at()
    }

    /// Puts the checksum of TCP or UDP into a packet.
    pub(super) fn set_checksum(&self, packet: &mut [u8]) {
        let at = self.checksum_at();
        packet[at..at + 2].fill(0);
        let sum = self.pseudo_sum(packet, packet.len()) + sum(&packet[self.transport_at..]);
        packet[at..at + 2].copy_from_slice(&never_zero(checksum(sum)));
    }

    /// Returns true if all checksums of a packet are there and right.
    pub(super) fn has_right_checksums(&self, packet: &[u8]) -> bool {
        let at = self.checksum_at();
        let is_there = self.transport == Transport::Tcp || packet[at..at + 2] != [0, 0];
        let sum_of_all = self.pseudo_sum(packet, packet.len()) + sum(&packet[self.transport_at..]);
        let is_header_right = !self.is_v4 || fold(sum(&packet[..self.transport_at])) == 0xffff;
        is_there && is_header_right && fold(sum_of_all) == 0xffff
    }
}

/// Returns the checksum in the form that stands for itself: for UDP zero says that there is none (RFC 768).
pub(super) fn never_zero(checksum: [u8; 2]) -> [u8; 2] {
    if checksum == [0, 0] { [0xff, 0xff] } else { checksum }
}

/// Returns the protocol behind a header of IPv4, and where that begins.
fn behind_v4(packet: &[u8]) -> Option<(u8, usize)> {
    let header = packet.first_chunk::<20>()?;
    let header_len = usize::from(header[0] & 15) * 4;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let is_whole = header[6] & 0x3f == 0 && header[7] == 0;
    (is_whole && header_len >= 20 && header_len <= len && len == packet.len())
        .then_some((header[9], header_len))
}

/// Returns the protocol behind the headers of IPv6, and where that begins.
fn behind_v6(packet: &[u8]) -> Option<(u8, usize)> {
    let header = packet.first_chunk::<40>()?;
    let len = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 || len != packet.len() {
        return None;
    }
    let (mut protocol, mut at) = (header[6], 40);
    // Options for each hop, routing, options for the destination. Each has 8 bytes at least, so this ends.
    while let 0 | 43 | 60 = protocol {
        let [next, units] = *packet.get(at..)?.first_chunk()?;
        (protocol, at) = (next, at + 8 + 8 * usize::from(units));
    }
    Some((protocol, at))
}
