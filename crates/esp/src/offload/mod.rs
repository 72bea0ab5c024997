//! Long packets that stand for many: a TUN device gives a stretch of a stream, or many datagrams of one length, as one packet with a header in
//! front that says how it is to be divided, and takes such packets. So there is one system call and one way through the kernel for some forty packets.
//!
//! The header is not believed: whatever does not fit its packet is refused, and a packet that is divided is never in memory more than once.
//!
//! Ref. virtio 1.2 §5.1.6 (`virtio_net_hdr`), RFC 9293 (TCP), RFC 768 (UDP), RFC 8200 §4 (extension headers).

mod divide;
mod gather;
mod layout;

pub use divide::Divided;
pub use gather::{Train, train};

/// Bytes of the header in front of each packet.
pub const OFFLOAD_LEN: usize = 10;

/// The header in front of a packet of a TUN device (`IFF_VNET_HDR`). Its fields have the machine's byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// True if the checksum has only the sum of the pseudo header.
    pub needs_checksum: bool,
    /// The kind of packets that this one stands for.
    pub kind: Kind,
    /// Bytes of all headers, which is a hint.
    pub header_len: u16,
    /// Bytes of the payload of each packet.
    pub size: u16,
    /// The first byte that the checksum covers.
    pub checksum_start: u16,
    /// The place of the checksum, from there on.
    pub checksum_offset: u16,
}

/// The kind of packets that one stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Itself.
    #[default]
    Single,
    /// A stretch of a stream of TCP over IPv4.
    TcpV4,
    /// A stretch of a stream of TCP over IPv6.
    TcpV6,
    /// Datagrams of UDP.
    Udp,
    /// Something that was not asked for.
    Other,
}

const NEEDS_CHECKSUM: u8 = 1;
const SINGLE: u8 = 0;
const TCP_V4: u8 = 1;
const TCP_V6: u8 = 4;
const UDP: u8 = 5;

impl Offload {
    /// Reads the header.
    pub fn from_bytes(bytes: [u8; OFFLOAD_LEN]) -> Self {
        let [flags, kind, rest @ ..] = bytes;
        let field = |at: usize| u16::from_ne_bytes([rest[at], rest[at + 1]]);
        let kind = match kind {
            SINGLE => Kind::Single,
            TCP_V4 => Kind::TcpV4,
            TCP_V6 => Kind::TcpV6,
            UDP => Kind::Udp,
            _ => Kind::Other,
        };
        Offload {
            needs_checksum: flags & NEEDS_CHECKSUM != 0,
            kind,
            header_len: field(0),
            size: field(2),
            checksum_start: field(4),
            checksum_offset: field(6),
        }
    }

    /// Returns the header's bytes.
    pub fn to_bytes(self) -> [u8; OFFLOAD_LEN] {
        let kind = match self.kind {
            Kind::Single => SINGLE,
            Kind::TcpV4 => TCP_V4,
            Kind::TcpV6 => TCP_V6,
            Kind::Udp => UDP,
            Kind::Other => u8::MAX,
        };
        let mut bytes = [0; OFFLOAD_LEN];
        bytes[0] = if self.needs_checksum { NEEDS_CHECKSUM } else { 0 };
        bytes[1] = kind;
        let fields = [self.header_len, self.size, self.checksum_start, self.checksum_offset];
        for (place, field) in bytes[2..].as_chunks_mut().0.iter_mut().zip(fields) {
            *place = field.to_ne_bytes();
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
