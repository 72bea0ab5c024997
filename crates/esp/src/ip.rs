//! Headers of inner packets: addresses, lengths, the traffic class, and the message that a packet is too big.
//!
//! Ref. RFC 791, RFC 8200, RFC 6040 (congestion through tunnels), RFC 792 and RFC 1191, RFC 4443 §3.2.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::checksum::{checksum, fold, sum};
use crate::fate::Fate;

/// The facts of an inner packet that associations are chosen by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The source.
    pub source: IpAddr,
    /// The destination.
    pub destination: IpAddr,
    /// The protocol, or the first next header of IPv6.
    pub protocol: u8,
    /// Bytes of the packet, as its header has it.
    pub len: usize,
    /// The traffic class: DSCP in the upper six bits, ECN in the lower two.
    pub class: u8,
    /// True if the packet may be cut to fragments on its way: IPv4 without DF.
    pub may_be_cut: bool,
}

impl Flow {
    /// Reads a header of IPv4 or IPv6. Bytes behind the packet are ignored: they are padding (RFC 4303 §2.7).
    ///
    /// # Errors
    /// [`Fate::Malformed`].
    pub fn read(packet: &[u8]) -> Result<Self, Fate> {
        let flow = match packet.first().map(|byte| byte >> 4) {
            Some(4) => Flow::read_v4(packet),
            Some(6) => Flow::read_v6(packet),
            _ => None,
        };
        flow.ok_or(Fate::Malformed)
    }

    /// Returns true if the packet has the ends and the protocol of another one, so that no selector can tell them apart.
    pub fn is_beside(&self, other: &Flow) -> bool {
        (self.source, self.destination, self.protocol) == (other.source, other.destination, other.protocol)
    }

    /// Returns true if the packet may go by an association that takes `longest` bytes in one outer packet: it is no longer, or may be
    /// cut, or is one of IPv6 that each path takes (RFC 8200 §5). What is longer goes in fragments of the outer packet.
    pub fn fits(&self, longest: usize) -> bool {
        self.len <= longest || self.may_be_cut || self.source.is_ipv6() && self.len <= LEAST_MTU_V6
    }

    fn read_v4(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<20>()?;
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let header_len = usize::from(header[0] & 15) * 4;
        if header_len < 20 || len < header_len || len > packet.len() {
            return None;
        }
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
        Some(Flow {
            source: Ipv4Addr::new(s0, s1, s2, s3).into(),
            destination: Ipv4Addr::new(d0, d1, d2, d3).into(),
            protocol: header[9],
            len,
            class: header[1],
            may_be_cut: header[6] & 0x40 == 0,
        })
    }

    fn read_v6(packet: &[u8]) -> Option<Self> {
        let header = packet.first_chunk::<40>()?;
        let len = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        if len > packet.len() {
            return None;
        }
        let address =
            |at: usize| -> Option<IpAddr> { Some(Ipv6Addr::from(*header[at..].first_chunk::<16>()?).into()) };
        Some(Flow {
            source: address(8)?,
            destination: address(24)?,
            protocol: header[6],
            len,
            class: header[0] << 4 | header[1] >> 4,
            may_be_cut: false,
        })
    }
}

/// The bytes that each path of IPv6 takes (RFC 8200 §5).
const LEAST_MTU_V6: usize = 1280;

/// Bits of ECN in a traffic class (RFC 3168 §5).
const ECN: u8 = 3;
const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const CE: u8 = 3;

/// Returns the outer class of an inner one: its ECN is the inner one (RFC 6040 §4.1, normal mode), and its DSCP, too, if that is
/// copied.
pub(crate) fn outer_class(inner: u8, copy_dscp: bool, copy_ecn: bool) -> u8 {
    let dscp = if copy_dscp { inner & !ECN } else { 0 };
    let ecn = if copy_ecn { inner & ECN } else { 0 };
    dscp | ecn
}

/// Returns the inner class after the outer header was taken off (RFC 6040 §4.2, figure 4).
///
/// # Errors
/// [`Fate::Congested`] where the inner packet can't say that congestion was experienced, which drops it.
pub(crate) fn inner_class(inner: u8, outer: u8, copy_dscp: bool, copy_ecn: bool) -> Result<u8, Fate> {
    let ecn = match (inner & ECN, outer & ECN) {
        (inner, _) if !copy_ecn => inner,
        (NOT_ECT, CE) => return Err(Fate::Congested),
        (NOT_ECT, _) => NOT_ECT,
        (_, CE) | (CE, _) => CE,
        (_, ECT_1) => ECT_1,
        (inner, _) => inner,
    };
    let dscp = if copy_dscp { outer & !ECN } else { inner & !ECN };
    Ok(dscp | ecn)
}

/// Sets the class of a packet that [`Flow::read`] has read, and repairs the checksum of IPv4.
pub(crate) fn set_class(packet: &mut [u8], class: u8) {
    if packet[0] >> 4 == 6 {
        packet[0] = packet[0] & 0xf0 | class >> 4;
        packet[1] = packet[1] & 0x0f | class << 4;
        return;
    }
    // RFC 1624: HC' = ~(~HC + ~m + m').
    let before = !fold(sum(&packet[..2]));
    packet[1] = class;
    let old = !fold(sum(&packet[10..12]));
    let repaired = u64::from(old) + u64::from(before) + sum(&packet[..2]);
    packet[10..12].copy_from_slice(&checksum(repaired));
}

/// Makes the message to a packet's sender that it is longer than the `mtu` bytes that fit: "fragmentation needed" of ICMP, or
/// "packet too big" of ICMPv6, which never tells less than 1280 bytes. It comes from the packet's destination, since the tunnel has no address of its own.
///
/// Returns none for what gets no answer: a packet that may be cut, that is an error message or a later fragment itself, or whose sender is no
/// single host.
pub fn too_big(packet: &[u8], mtu: usize) -> Option<Vec<u8>> {
    let flow = Flow::read(packet).ok()?;
    let packet = &packet[..flow.len];
    match (flow.source, flow.destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let is_later = u16::from_be_bytes([packet[6] & 0x1f, packet[7]]) != 0;
            let header_len = usize::from(packet[0] & 15) * 4;
            let is_error =
                flow.protocol == 1 && packet.get(header_len).is_none_or(|kind| !matches!(kind, 0 | 8));
            if flow.may_be_cut || is_later || is_error || !is_host(source.into()) {
                return None;
            }
            Some(too_big_v4(packet, header_len, (destination, source), mtu))
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let is_error = flow.protocol == 58 && packet.get(40).is_none_or(|kind| *kind < 128);
            if is_error || !is_host(source.into()) {
                return None;
            }
            Some(too_big_v6(packet, (destination, source), mtu.max(LEAST_MTU_V6)))
        }
        _ => None,
    }
}

fn is_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !address.is_loopback() && !broadcast
}

fn too_big_v4(packet: &[u8], header_len: usize, (from, to): (Ipv4Addr, Ipv4Addr), mtu: usize) -> Vec<u8> {
    let quoted = &packet[..packet.len().min(header_len + 8)];
    let mtu = (mtu.min(0xffff) as u16).to_be_bytes();
    let mut message = [&[3, 4, 0, 0, 0, 0, mtu[0], mtu[1]], quoted].concat();
    let code = checksum(sum(&message));
    message[2..4].copy_from_slice(&code);
    let len = ((20 + message.len()) as u16).to_be_bytes();
    let mut header = vec![0x45, 0xc0, len[0], len[1], 0, 0, 0, 0, 64, 1, 0, 0];
    header.extend_from_slice(&from.octets());
    header.extend_from_slice(&to.octets());
    let code = checksum(sum(&header));
    header[10..12].copy_from_slice(&code);
    [header, message].concat()
}

fn too_big_v6(packet: &[u8], (from, to): (Ipv6Addr, Ipv6Addr), mtu: usize) -> Vec<u8> {
    // The answer fits into the smallest MTU of IPv6.
    let quoted = &packet[..packet.len().min(LEAST_MTU_V6 - 48)];
    let mut message = [&[2, 0, 0, 0][..], &(mtu as u32).to_be_bytes(), quoted].concat();
    let len = (message.len() as u32).to_be_bytes();
    let pieces = [&from.octets()[..], &to.octets(), &len, &[0, 0, 0, 58], &message];
    let code = checksum(pieces.into_iter().map(sum).sum());
    message[2..4].copy_from_slice(&code);
    let mut header = vec![0x60, 0, 0, 0, len[2], len[3], 58, 64];
    header.extend_from_slice(&from.octets());
    header.extend_from_slice(&to.octets());
    [header, message].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v4(class: u8, len: usize, flags: u8) -> Vec<u8> {
        let len16 = (len as u16).to_be_bytes();
        let mut packet =
            vec![0x45, class, len16[0], len16[1], 0, 1, flags, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let code = checksum(sum(&packet));
        packet[10..12].copy_from_slice(&code);
        packet.resize(len, 0xab);
        packet
    }

    /// RFC 6040 figure 4, cell by cell: rows are the inner header, columns the outer one; 9 is a drop.
    #[test]
    fn congestion_goes_through_as_rfc_6040_says() {
        let figure = [[0, 0, 0, 9], [1, 1, 1, 3], [2, 1, 2, 3], [3, 3, 3, 3]];
        for (inner, row) in figure.iter().enumerate() {
            for (outer, expected) in row.iter().enumerate() {
                let found = inner_class(inner as u8 | 0xb8, outer as u8 | 0x10, false, true);
                match expected {
                    9 => assert_eq!(found, Err(Fate::Congested)),
                    ecn => assert_eq!(found, Ok(0xb8 | ecn), "{inner} {outer}"),
                }
            }
        }
        assert_eq!(inner_class(0xb8, 0x23, true, false), Ok(0x20));
        assert_eq!(outer_class(0xba, true, true), 0xba);
        assert_eq!(outer_class(0xba, false, true), 2);
        assert_eq!(outer_class(0xba, true, false), 0xb8);
    }

    #[test]
    fn a_new_class_leaves_a_right_checksum() {
        for class in 0..=255 {
            let mut packet = v4(0x28, 40, 0);
            set_class(&mut packet, class);
            assert_eq!(checksum(sum(&packet[..20])), [0, 0]);
            assert_eq!(Flow::read(&packet).unwrap().class, class);
        }
        let mut packet = vec![0; 40];
        packet[0] = 0x60;
        for class in 0..=255 {
            set_class(&mut packet, class);
            assert_eq!(Flow::read(&packet).unwrap().class, class);
        }
    }

    #[test]
    fn who_sends_too_much_is_told_and_nobody_else() {
        let packet = v4(0, 1500, 0x40);
        let message = too_big(&packet, 1400).unwrap();
        let flow = Flow::read(&message).unwrap();
        assert_eq!((flow.protocol, flow.len), (1, 20 + 8 + 28));
        assert_eq!((checksum(sum(&message[..20])), checksum(sum(&message[20..]))), ([0, 0], [0, 0]));
        assert_eq!(message[20..28], [3, 4, message[22], message[23], 0, 0, 0x05, 0x78]);
        assert_eq!(too_big(&v4(0, 1500, 0), 1400), None, "it may be cut");
        let fits = |flags, longest| Flow::read(&v4(0, 1200, flags)).unwrap().fits(longest);
        assert!(fits(0, 100) && fits(0x40, 1200) && !fits(0x40, 1199));
        assert_eq!(too_big(&message, 20), None, "no error about an error");
        let mut many = packet.clone();
        many[12] = 224;
        assert_eq!(too_big(&many, 1400), None);

        let mut packet = vec![0; 1500];
        packet[..8].copy_from_slice(&[0x60, 0, 0, 0, 5, 0xb4, 17, 64]);
        (packet[23], packet[39]) = (1, 2);
        packet[8] = 0xfd;
        let message = too_big(&packet, 1400).unwrap();
        assert_eq!(message.len(), 1280);
        let len = ((message.len() - 40) as u32).to_be_bytes();
        let pieces = [&message[8..40], &len, &[0, 0, 0, 58], &message[40..]];
        assert_eq!(checksum(pieces.into_iter().map(sum).sum()), [0, 0]);
        assert_eq!(message[44..48], 1400u32.to_be_bytes());
        // Each path of IPv6 takes 1280 bytes, this one in fragments.
        assert_eq!(too_big(&packet, 1200).unwrap()[44..48], 1280u32.to_be_bytes());
        let flow = Flow::read(&packet).unwrap();
        assert!(flow.fits(1500) && !flow.fits(1499) && Flow { len: 1280, ..flow }.fits(1200));
        assert!(!Flow { len: 1281, ..flow }.fits(1200));
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let packet = v4(0, 60, 0);
        for len in 0..60 {
            assert_eq!(Flow::read(&packet[..len]), Err(Fate::Malformed));
        }
        assert!(Flow::read(&packet).is_ok());
        let mut short = packet;
        short[0] = 0x44;
        assert_eq!(Flow::read(&short), Err(Fate::Malformed));
    }
}
