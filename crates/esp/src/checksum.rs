//! The checksum of IP, TCP and UDP.
//!
//! Ref. RFC 1071 (its sum, in any byte order), RFC 1624 (its repair).

use std::sync::OnceLock;

use millstream::ipsum::IpChecksum;

/// The bytes from which on a sum is left to a kernel of the engines: it takes longer to call one than to add fewer.
const LONG: usize = 256;

/// Returns the sum of the 16-bit words of some bytes, behind which an odd number has a zero. Sums of pieces add up where all but the last have
/// an even length. They are in this machine's byte order, in which the result is right, too (RFC 1071 §2 B).
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    if bytes.len() < LONG {
        return sum_of_few(bytes);
    }
    let Some(kernel) = kernel() else { return sum_of_few(bytes) };
    let mut sum = kernel.clone();
    sum.update(bytes);
    (!u16::from_ne_bytes(sum.value().to_be_bytes())).into()
}

/// Returns the fastest kernel of this processor; none where `MILLSTREAM_HWCAP` can't be understood.
fn kernel() -> Option<&'static IpChecksum> {
    static KERNEL: OnceLock<Option<IpChecksum>> = OnceLock::new();
    KERNEL.get_or_init(|| millstream::features().ok().map(IpChecksum::new)).as_ref()
}

fn sum_of_few(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // No packet has so many words that a sum of them wraps, and an addition that is checked is not done side by side.
    let add = |sum: u64, word: &[u8; 4]| sum.wrapping_add(u64::from(u32::from_ne_bytes(*word)));
    add(words.iter().fold(0, add), &last)
}

/// Returns the sum of 16 bits that a sum stands for: 0xffff where the bytes have a right checksum among them.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Returns the checksum of a sum, as it is in a header.
pub(crate) fn checksum(sum: u64) -> [u8; 2] {
    (!fold(sum)).to_ne_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071 §3, and a sum word by word.
    #[test]
    fn sums_are_those_of_the_rfc() {
        let sample = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&sample)).to_ne_bytes(), [0xdd, 0xf2]);
        assert_eq!(checksum(sum(&sample)), [0x22, 0x0d]);
        let bytes: Vec<u8> = (0..3000u32).map(|i| (i * 7 + i / 5) as u8).collect();
        for len in 0..bytes.len() {
            let plain = bytes[..len].chunks(2).fold(0u32, |sum, pair| {
                let sum = sum + u32::from(pair[0]) * 256 + u32::from(*pair.get(1).unwrap_or(&0));
                (sum & 0xffff) + (sum >> 16)
            });
            assert_eq!(u32::from(u16::from_be_bytes(fold(sum(&bytes[..len])).to_ne_bytes())), plain, "{len}");
            let (front, back) = bytes[..len].split_at(len / 3 * 2);
            assert_eq!(fold(sum(front) + sum(back)), fold(sum(&bytes[..len])), "{len}");
        }
        assert_eq!((fold(0), checksum(0)), (0, [0xff, 0xff]));
    }
}
