//! Packets that follow each other in a stream, or are datagrams of one length between the same ends, gathered as one for the kernel.
//!
//! A packet is gathered only if it comes out the same where the long one is divided again. Its checksums must be right, since the kernel will
//! make new ones: so an error of somebody else's network is not hidden.

use super::layout::{Layout, Transport};
use super::{Kind, OFFLOAD_LEN, Offload};
use crate::checksum::fold;

/// The longest packet of IP.
const LONGEST: usize = 65_535;

/// The longest headers: those of IPv6, and of TCP with options.
const HEADERS: usize = 40 + 60;

const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// Packets that the kernel takes as one.
pub struct Train {
    /// The number of packets.
    pub count: usize,
    /// The place in each packet from which on it is given to the kernel, behind [`Train::lead`].
    pub from: usize,
    lead: [u8; OFFLOAD_LEN + HEADERS],
    lead_len: usize,
}

impl Train {
    /// Returns the bytes in front of the packets: the header of the TUN device, and where these are several the headers of the long packet.
    pub fn lead(&self) -> &[u8] {
        &self.lead[..self.lead_len]
    }

    /// A packet as it is.
    fn single() -> Self {
        Train { count: 1, from: 0, lead: [0; OFFLOAD_LEN + HEADERS], lead_len: OFFLOAD_LEN }
    }
}

/// Finds how many of the packets, which are whole packets of IP, the kernel can take as one, from the first on. `takes_udp` says that it
/// takes datagrams.
///
/// # Panics
/// When there is no packet.
pub fn train(packets: &[&[u8]], takes_udp: bool) -> Train {
    let (first, others) = packets.split_first().expect("a train has a first packet");
    let Some(layout) = Layout::read(first).filter(|layout| may_lead(layout, first, takes_udp)) else {
        return Train::single();
    };
    let size = first.len() - layout.payload_at;
    let (mut count, mut len, mut pushes) = (1, first.len(), false);
    for next in others {
        let more = next.len().saturating_sub(layout.payload_at);
        let fits = (1..=size).contains(&more)
            && len + more <= LONGEST
            && follows(&layout, first, next, count, len - layout.payload_at)
            && (count > 1 || layout.has_right_checksums(first))
            && layout.has_right_checksums(next);
        if !fits {
            break;
        }
        (count, len) = (count + 1, len + more);
        pushes = layout.transport == Transport::Tcp && next[layout.transport_at + 13] & PSH != 0;
        if pushes || more < size {
            break;
        }
    }
    if count == 1 { Train::single() } else { long(&layout, first, count, len, pushes) }
}

/// Returns true if others may be put behind a packet.
fn may_lead(layout: &Layout, packet: &[u8], takes_udp: bool) -> bool {
    let has_plain_ip = if layout.is_v4 { layout.transport_at == 20 } else { layout.transport_at == 40 };
    let header = &packet[layout.transport_at..];
    let is_plain = match layout.transport {
        Transport::Tcp => header[12] & 15 == 0 && header[13] == ACK,
        Transport::Udp => takes_udp && udp_len(header) == header.len(),
    };
    has_plain_ip && is_plain && packet.len() > layout.payload_at
}

fn udp_len(header: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([header[4], header[5]]))
}

/// Returns true if a packet has the headers that the one with this number has where the long packet is divided. `before` is the
/// number of bytes of payload in front of it.
fn follows(layout: &Layout, first: &[u8], next: &[u8], number: usize, before: usize) -> bool {
    if Layout::read(next) != Some(*layout) {
        return false;
    }
    let same = |from: usize, to: usize| first[from..to] == next[from..to];
    let has_same_ip = if layout.is_v4 {
        // The identification of a packet that may be cut counts (RFC 6864 §4.1).
        let [id, next_id] = [first, next].map(|packet| u16::from_be_bytes([packet[4], packet[5]]));
        let counts = first[6] & 0x40 == 0;
        same(0, 2) && same(6, 10) && same(12, 20) && (!counts || next_id == id.wrapping_add(number as u16))
    } else {
        same(0, 4) && same(6, 40)
    };
    let at = layout.transport_at;
    has_same_ip
        && same(at, at + 4)
        && match layout.transport {
            Transport::Tcp => {
                let [seq, next_seq] = [first, next]
                    .map(|packet| u32::from_be_bytes(*packet[at + 4..].first_chunk().expect("a header")));
                next_seq == seq.wrapping_add(before as u32)
                    // The acknowledgement, the header's length, the window, the urgent pointer, options.
                    && same(at + 8, at + 13)
                    && next[at + 13] & !PSH == ACK
                    && same(at + 14, at + 16)
                    && same(at + 18, layout.payload_at)
            }
            Transport::Udp => udp_len(&next[at..]) == next.len() - at,
        }
}

/// Makes the headers of the long packet.
fn long(layout: &Layout, first: &[u8], count: usize, len: usize, pushes: bool) -> Train {
    let mut train = Train { count, from: layout.payload_at, ..Train::single() };
    train.lead_len = OFFLOAD_LEN + layout.payload_at;
    let kind = match (layout.transport, layout.is_v4) {
        (Transport::Tcp, true) => Kind::TcpV4,
        (Transport::Tcp, false) => Kind::TcpV6,
        (Transport::Udp, _) => Kind::Udp,
    };
    let offload = Offload {
        needs_checksum: true,
        kind,
        header_len: layout.payload_at as u16,
        size: (first.len() - layout.payload_at) as u16,
        checksum_start: layout.transport_at as u16,
        checksum_offset: layout.transport.checksum_at() as u16,
    };
    let (front, headers) = train.lead[..train.lead_len].split_at_mut(OFFLOAD_LEN);
    front.copy_from_slice(&offload.to_bytes());
    headers.copy_from_slice(&first[..layout.payload_at]);
    layout.set_len(headers, len);
    if pushes {
        headers[layout.transport_at + 13] |= PSH;
    }
    // The sum of the pseudo header: the kernel completes it.
    let sum = fold(layout.pseudo_sum(headers, len));
    headers[layout.checksum_at()..][..2].copy_from_slice(&sum.to_ne_bytes());
    train
}
