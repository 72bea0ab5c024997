//! The key schedule, in the two forms the kernels read.
//!
//! Ref. FIPS 46-3, appendix 1, "Key schedule calculation"; SP 800-67 rev. 2 §3 (the bundle of keys).

use zeroize::{DefaultIsZeroes, Zeroize};

use super::tables::SPREAD;
use super::wiring::Groups;
#[cfg(target_arch = "x86_64")]
use super::wiring::order_key;
use crate::Error;
use crate::modes::Direction;

/// The most rounds there are: three times sixteen.
pub(super) const MAX_ROUNDS: usize = 48;

/// The most keys in a bundle.
pub(super) const MAX_KEYS: usize = 3;

/// The index of the cipher that runs backwards among the three (SP 800-67 rev. 2 §3.1: E, D, E).
const DECIPHERING: usize = 1;

/// Round keys for encryption and decryption, for one key or three.
///
/// The schedule is stored in the key itself, so that the caller who chooses the key's memory has chosen it for all
/// secrets. A key is therefore a value of about 10 KB, which a program that moves keys about should box. Nine tenths of
/// it are the masks of 48 rounds, 192 bytes each, which bitsliced kernels read as they are; with fewer, each operation
/// would have to make them again. A single key has room for three, so that both are one type and a kernel is given one
/// address.
///
/// Triple encryption is 48 rounds. Between two of its ciphers the final permutation of one and the initial permutation
/// of the next cancel, and the halves only change places.
#[derive(Clone)]
pub struct Schedule {
    /// The key of each round in the order of use, by direction.
    groups: [[Groups; MAX_ROUNDS]; 2],
    /// The same bits as masks, in the order of encryption.
    masks: [Masks; MAX_ROUNDS],
    /// `groups[0]` with each S-box's bits in another order, see [`order_key`].
    #[cfg(target_arch = "x86_64")]
    ordered: [Groups; MAX_ROUNDS],
    /// The key of each cipher as it was given, a word in the byte order of memory.
    keys: [u64; MAX_KEYS],
    /// 16 or 48.
    rounds: usize,
}

/// The key of one round, each bit as a word of zeros or ones: `0[j][s]` is bit `j + 1` for S-box `s + 1`. The type is
/// separate because it is zeroised whole, not word by word.
#[derive(Clone, Copy, Default)]
pub(super) struct Masks(pub(super) [[u32; 8]; 6]);

impl DefaultIsZeroes for Masks {}

impl Masks {
    fn new(groups: Groups) -> Self {
        let groups = groups.to_ne_bytes();
        let mut masks = [[0; 8]; 6];
        for j in 0..6 {
            for s in 0..8 {
                masks[j][s] = 0u32.wrapping_sub(u32::from(groups[s]) >> (5 - j) & 1);
            }
        }
        Masks(masks)
    }
}

impl Schedule {
    /// Expands a key of 8 bytes, or a bundle of two (K1 K2) or three (K1 K2 K3) keys. Parity bits
    /// are ignored. No branch and no address depends on the key.
    ///
    /// # Errors
    /// [`Error::KeyLength`] for any other length.
    pub(super) fn new(algorithm: &'static str, key: &[u8]) -> Result<Self, Error> {
        let starts: &[usize] = match key.len() {
            8 => &[0],
            16 => &[0, 8, 0],
            24 => &[0, 8, 16],
            given => return Err(Error::KeyLength { algorithm, given, takes: "8, 16 or 24 bytes" }),
        };
        let rounds = 16 * starts.len();
        let mut schedule = Schedule {
            groups: [[0; MAX_ROUNDS]; 2],
            masks: [Masks::default(); MAX_ROUNDS],
            #[cfg(target_arch = "x86_64")]
            ordered: [0; MAX_ROUNDS],
            keys: [0; MAX_KEYS],
            rounds,
        };
        for (i, &start) in starts.iter().enumerate() {
            schedule.keys[i] = u64::from_ne_bytes(*key[start..].first_chunk().expect("8 bytes"));
            let mut keys = round_keys(&key[start..start + 8]);
            for (r, &groups) in keys.iter().enumerate() {
                let round = 16 * i + if i == DECIPHERING { 15 - r } else { r };
                schedule.groups[0][round] = groups;
                schedule.groups[1][rounds - 1 - round] = groups;
                schedule.masks[round] = Masks::new(groups);
                #[cfg(target_arch = "x86_64")]
                (schedule.ordered[round] = order_key(groups));
            }
            keys.zeroize();
        }
        Ok(schedule)
    }

    /// Returns for each round, in the order of use, the key bits of the eight S-boxes, six in a byte.
    #[inline(always)]
    pub(super) fn groups(&self, direction: Direction) -> &[Groups] {
        &self.groups[direction as usize][..self.rounds]
    }

    /// The masks of round `i` in the order of use.
    #[inline(always)]
    pub(super) fn masks(&self, direction: Direction, i: usize) -> &Masks {
        match direction {
            Direction::Encrypt => &self.masks[i],
            Direction::Decrypt => &self.masks[self.rounds - 1 - i],
        }
    }

    /// Returns for each round, in the order of encryption, the result of [`order_key`].
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn ordered(&self) -> &[Groups] {
        &self.ordered[..self.rounds]
    }

    /// The keys as they were given, one for each cipher.
    #[inline(always)]
    pub(super) fn keys(&self) -> &[u64; MAX_KEYS] {
        &self.keys
    }

    /// Returns 16, or 48 for triple encryption.
    #[inline(always)]
    pub(super) fn rounds(&self) -> usize {
        self.rounds
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.keys.zeroize();
        #[cfg(target_arch = "x86_64")]
        self.ordered.zeroize();
        self.groups.zeroize();
        self.masks[..self.rounds].zeroize();
    }
}

/// The sixteen round keys of one key: each key bit adds its places.
fn round_keys(key: &[u8]) -> [Groups; 16] {
    let mut keys = [0; 16];
    for (i, spread) in SPREAD.iter().enumerate() {
        let mask = 0u64.wrapping_sub(u64::from(key[i / 8] >> (7 - i % 8) & 1));
        for r in 0..16 {
            keys[r] |= mask & spread[r];
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The round keys of 133457799bbcdff1, the key of J. Orlin Grabbe's worked example.
    #[test]
    fn first_and_last_round_of_a_worked_example() {
        let schedule = Schedule::new("des", &0x1334_5779_9bbc_dff1_u64.to_be_bytes()).unwrap();
        let groups = schedule.groups(Direction::Encrypt);
        assert_eq!(groups.len(), 16);
        assert_eq!(
            groups[0].to_ne_bytes(),
            [0b000110, 0b110000, 0b001011, 0b101111, 0b111111, 0b000111, 0b000001, 0b110010]
        );
        assert_eq!(
            groups[15].to_ne_bytes(),
            [0b110010, 0b110011, 0b110110, 0b001011, 0b000011, 0b100001, 0b011111, 0b110101]
        );
        assert_eq!(schedule.groups(Direction::Decrypt)[0], groups[15]);
    }

    #[test]
    fn masks_and_groups_say_the_same() {
        let key: Vec<u8> = (0..24u8).map(|i| i.wrapping_mul(37) ^ 11).collect();
        let schedule = Schedule::new("des", &key).unwrap();
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for (i, groups) in schedule.groups(direction).iter().enumerate() {
                let masks = schedule.masks(direction, i);
                for (j, masks) in masks.0.iter().enumerate() {
                    for (mask, six) in masks.iter().zip(groups.to_ne_bytes()) {
                        assert_eq!(*mask, if six >> (5 - j) & 1 == 1 { u32::MAX } else { 0 });
                    }
                }
            }
        }
    }
}
