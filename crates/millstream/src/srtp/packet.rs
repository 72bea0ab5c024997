//! The parts of packets.
//!
//! Ref. RFC 3550 §5.1, §5.3.1 (RTP), §6.4.1 (RTCP).

use super::Error;

/// Bytes of the fixed part of a header of RTP.
const FIXED: usize = 12;

/// Bytes of a packet of RTCP that stay in the clear.
pub(super) const RTCP_CLEAR: usize = 8;

/// The facts of a packet of RTP.
#[derive(Clone, Copy)]
pub(super) struct Rtp {
    /// Bytes of the header, with its extension.
    pub(super) header: usize,
    pub(super) sequence: u16,
    pub(super) source: u32,
}

impl Rtp {
    pub(super) fn parse(packet: &[u8]) -> Result<Self, Error> {
        let fixed: &[u8; FIXED] = packet.first_chunk().ok_or(Error::Malformed)?;
        if fixed[0] >> 6 != 2 {
            return Err(Error::Malformed);
        }
        let mut header = FIXED + 4 * usize::from(fixed[0] & 15);
        if fixed[0] & 0x10 != 0 {
            let extension: &[u8; 4] =
                packet.get(header..).and_then(<[u8]>::first_chunk).ok_or(Error::Malformed)?;
            header += 4 + 4 * usize::from(u16::from_be_bytes([extension[2], extension[3]]));
        }
        if header > packet.len() {
            return Err(Error::Malformed);
        }
        let sequence = u16::from_be_bytes([fixed[2], fixed[3]]);
        let source = u32::from_be_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]);
        Ok(Rtp { header, sequence, source })
    }
}

/// Returns the source of a packet of RTCP.
pub(super) fn rtcp_source(packet: &[u8]) -> Result<u32, Error> {
    let clear: &[u8; RTCP_CLEAR] = packet.first_chunk().ok_or(Error::Malformed)?;
    if clear[0] >> 6 != 2 {
        return Err(Error::Malformed);
    }
    Ok(u32::from_be_bytes([clear[4], clear[5], clear[6], clear[7]]))
}
