//! The frame around a message of KASUMI F9.
//!
//! Ref. 3GPP TS 35.201 §4; DPDK's `rte_crypto_sym.h`, which has COUNT, FRESH, DIRECTION and the padding in the data of F9.

/// A message of KASUMI F9 in its frame: COUNT and FRESH before it, DIRECTION, a one and zeros after it.
pub struct F9Frame<'a> {
    /// COUNT.
    pub count: u32,
    /// FRESH.
    pub fresh: u32,
    /// DIRECTION.
    pub direction: u8,
    /// The message's bytes. The last may have bits of the frame.
    pub message: &'a [u8],
    /// Bits of the message.
    pub bits: usize,
}

impl<'a> F9Frame<'a> {
    /// Reads a frame. There is none where the data are too short, or where they have no one at their end.
    ///
    /// The time depends on the length of the padding, which is no secret.
    pub fn new(data: &'a [u8]) -> Option<Self> {
        let (count, rest) = data.split_first_chunk::<4>()?;
        let (fresh, rest) = rest.split_first_chunk::<4>()?;
        let last = rest.iter().rposition(|byte| *byte != 0)?;
        let one = 8 * last + 7 - rest[last].trailing_zeros() as usize;
        let bits = one.checked_sub(1)?;
        Some(F9Frame {
            count: u32::from_be_bytes(*count),
            fresh: u32::from_be_bytes(*fresh),
            direction: rest[bits / 8] >> (7 - bits % 8) & 1,
            message: &rest[..bits.div_ceil(8)],
            bits,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_apart() {
        // Thirteen bits of message, then DIRECTION 1, a one, and zeros.
        let frame = F9Frame::new(&[0, 0, 0, 1, 0, 0, 0, 2, 0xab, 0b1100_1110, 0, 0]).unwrap();
        assert_eq!((frame.count, frame.fresh, frame.direction, frame.bits), (1, 2, 1, 13));
        assert_eq!(frame.message, [0xab, 0b1100_1110]);
        // DIRECTION at the end of a byte, and the one in the next.
        let frame = F9Frame::new(&[0, 0, 0, 1, 0, 0, 0, 2, 0xab, 0x80]).unwrap();
        assert_eq!((frame.direction, frame.bits, frame.message), (1, 7, &[0xab][..]));
        for short in [&[0; 7][..], &[0; 20], &[0, 0, 0, 1, 0, 0, 0, 2, 0x80]] {
            assert!(F9Frame::new(short).is_none());
        }
    }
}
