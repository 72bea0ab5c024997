//! Padding, and its removal together with the MAC that stands before it.
//!
//! Ref. RFC 5246 §6.2.3.2 (`padding`, `padding_length`).

use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroize;

use crate::Error;
use crate::hash::MAX_DIGEST;
use millstream_kernel::masks::{equal, for_bytes, less, secret};

const NAME: &str = "tls-cbc";

/// The most bytes of padding, with the byte that tells their number.
const MAX_PADDING: usize = 256;

/// Returns the length of `len` bytes with the least possible padding: one byte to a whole block.
pub const fn padded_len(len: usize, block: usize) -> usize {
    (len / block + 1) * block
}

/// Pads the first `len` bytes of `buffer` to whole blocks of `block` bytes with the least possible
/// padding. Returns the new length, [`padded_len`].
///
/// # Errors
/// [`Error::OutputLength`] when `buffer` has no room for it.
pub fn pad(buffer: &mut [u8], len: usize, block: usize) -> Result<usize, Error> {
    let (given, needed) = (buffer.len(), padded_len(len, block));
    let padding = buffer.get_mut(len..needed).ok_or(Error::OutputLength { given, needed })?;
    padding.fill((needed - len - 1) as u8);
    Ok(needed)
}

/// A record without padding and MAC. Its length is a secret until the MAC is found to be right.
#[derive(Debug)]
pub struct Unpadded {
    len: u32,
    mac: [u8; MAX_DIGEST],
    valid: Choice,
}

impl Unpadded {
    /// Returns the number of bytes of data. If the padding is invalid, this is the number without any
    /// padding.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there is no data. The answer is as secret as the length.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns true if the padding is valid.
    pub fn is_valid(&self) -> Choice {
        self.valid
    }

    /// Returns the MAC in the first bytes, as many as were asked for. If the padding is invalid,
    /// `decoy` stands there instead. With bytes that no one can guess, the comparison that follows then
    /// fails.
    pub fn mac_or(&self, decoy: &[u8; MAX_DIGEST]) -> [u8; MAX_DIGEST] {
        let mut mac = *decoy;
        for (byte, own) in mac.iter_mut().zip(&self.mac) {
            byte.conditional_assign(own, self.valid);
        }
        mac
    }
}

impl Drop for Unpadded {
    fn drop(&mut self) {
        self.mac.zeroize();
        self.len = 0;
    }
}

/// Removes padding and MAC (`mac` bytes, none when it is over the ciphertext) from the decrypted
/// record, which comes without its explicit vector.
///
/// Invalid padding is not reported, because that would reveal plaintext. The caller has the MAC
/// compared, and the comparison fails, see [`Unpadded::mac_or`]. A record without a MAC in it has been
/// authenticated already.
///
/// ```
/// use millstream_engines::tls;
///
/// let mut record = *b"data, and ten of MAC.___________";
/// tls::pad(&mut record, 21, 16)?;
/// let unpadded = tls::remove_padding(&record, 10)?;
/// assert_eq!(unpadded.len(), 11);
/// assert_eq!(&unpadded.mac_or(&[0; 64])[..10], b"en of MAC.");
/// # Ok::<(), millstream_engines::Error>(())
/// ```
///
/// # Errors
/// [`Error::DataLength`] when the record is too short to hold a MAC and padding;
/// [`Error::TagLength`] when `mac` is longer than any; [`Error::Padding`] when there is no MAC and the
/// padding is invalid.
pub fn remove_padding(record: &[u8], mac: usize) -> Result<Unpadded, Error> {
    if mac > MAX_DIGEST {
        return Err(Error::TagLength { algorithm: NAME, given: mac, takes: "at most 64 bytes" });
    }
    if record.len() <= mac || record.len() >= 1 << 30 {
        let takes = "the MAC, a byte of padding at least, and less than 2^30 bytes";
        return Err(Error::DataLength { algorithm: NAME, given: record.len() as u64, takes });
    }
    let (padding, valid) = check(record, mac);
    let end = record.len() as u32 - padding;
    if mac == 0 {
        // The record is authentic, so only its author could learn anything from this error.
        return match bool::from(valid) {
            true => Ok(Unpadded { len: end, mac: [0; MAX_DIGEST], valid }),
            false => Err(Error::Padding),
        };
    }
    let len = end - mac as u32;
    Ok(Unpadded { len, mac: extract(record, mac, len), valid })
}

/// Returns the bytes of padding, with the one that tells their number, or 0 if it is invalid; and true
/// if it is valid.
fn check(record: &[u8], mac: usize) -> (u32, Choice) {
    let told = secret(usize::from(record[record.len() - 1]));
    let fits = less(told + mac as u32, record.len() as u32);
    // All bytes that may be padding are read, whatever their number.
    let mut differing = 0;
    for (i, byte) in record.iter().rev().take(MAX_PADDING).enumerate() {
        differing |= (u32::from(*byte) ^ told) & less(i as u32, told + 1);
    }
    let valid = differing.ct_eq(&0) & fits.ct_eq(&u32::MAX);
    (u32::conditional_select(&0, &(told + 1), valid), valid)
}

/// Returns the `size` bytes from `start` on. `start` is secret: one of the last 256 places that are
/// possible.
///
/// The loop reads the bytes of all those places. Each byte of the MAC goes to its place in a circle of
/// `size` bytes, which is then turned to its beginning.
fn extract(record: &[u8], size: usize, start: u32) -> [u8; MAX_DIGEST] {
    let from = record.len() - (size + MAX_PADDING).min(record.len());
    let (mut circle, mut turn) = ([0; MAX_DIGEST], 0);
    let end = start + size as u32;
    for (round, bytes) in record[from..].chunks(size).enumerate() {
        for (i, byte) in bytes.iter().enumerate() {
            let place = (from + round * size + i) as u32;
            circle[i] |= byte & (less(place, end) & !less(place, start)) as u8;
            turn |= i as u32 & equal(place, start);
        }
    }
    rotate_left(&mut circle, size, turn);
    circle
}

/// Turns the first `size` bytes by a secret number of places, less than `size`. For each power of two a
/// mask decides if the turn takes place.
fn rotate_left(circle: &mut [u8; MAX_DIGEST], size: usize, turn: u32) {
    for bit in 0..6 {
        let chosen = for_bytes((turn >> bit & 1).wrapping_neg());
        let before = *circle;
        let by = (1 << bit) % size;
        for i in 0..size {
            let other = before[if i + by < size { i + by } else { i + by - size }];
            circle[i] ^= (circle[i] ^ other) & chosen;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miri_circles_turn() {
        for size in [1, 16, 20, 28, 32, 48, 64] {
            for turn in 0..size {
                let mut circle: [u8; 64] = std::array::from_fn(|i| i as u8);
                rotate_left(&mut circle, size, turn as u32);
                let expected: Vec<_> = (0..size).map(|i| ((i + turn) % size) as u8).collect();
                assert_eq!(circle[..size], expected, "{size} by {turn}");
            }
        }
    }
}
