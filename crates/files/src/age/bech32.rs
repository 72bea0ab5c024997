//! The text form of private keys: Bech32 with the prefix `AGE-SECRET-KEY-`.
//!
//! Digits are found by comparison with all of them, because they are those of a secret.
//!
//! Ref. BIP 173.

use zeroize::{Zeroize, Zeroizing};

use super::Identity;
use crate::error::Error;

const PREFIX: &str = "AGE-SECRET-KEY-1";
const DIGITS: &[u8; 32] = b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
/// 256 bits take 52 digits of 5 bits, and the checksum has 6.
const DATA: usize = 52;
const ALL: usize = DATA + 6;

/// Reads a private key.
pub(super) fn identity(line: &str) -> Result<Identity, Error> {
    let upper = Zeroizing::new(line.to_ascii_uppercase());
    let lower = line.bytes().all(|byte| !byte.is_ascii_uppercase());
    if !lower && line.bytes().any(|byte| byte.is_ascii_lowercase()) {
        return Err(bad("mixes upper and lower case"));
    }
    let Some(digits) = upper.strip_prefix(PREFIX) else {
        return Err(bad("does not begin with AGE-SECRET-KEY-1: only X25519 identities are read"));
    };
    if digits.len() != ALL {
        return Err(bad("has another length than a key"));
    }
    let (mut values, mut valid) = (Zeroizing::new([0; ALL]), 1);
    for (value, digit) in values.iter_mut().zip(digits.bytes()) {
        let mut found = 0;
        for (number, known) in (0u8..).zip(DIGITS) {
            let same = equal(digit, *known);
            *value |= number & same.wrapping_neg();
            found |= same;
        }
        valid &= found;
    }
    if valid == 0 || checksum(&values) != 1 {
        return Err(bad("has a wrong digit, or a wrong checksum"));
    }
    let (mut key, mut bits, mut number) = (Identity::default(), 0u32, 0);
    let mut bytes = key.iter_mut();
    for value in &values[..DATA] {
        number = number << 5 | u32::from(*value);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            *bytes.next().expect("52 digits have 32 bytes") = (number >> bits) as u8;
            number &= (1 << bits) - 1;
        }
    }
    let rest = number;
    number.zeroize();
    if rest == 0 { Ok(key) } else { Err(bad("has bits behind its end")) }
}

/// Returns 1 for equal bytes, and 0 for others.
fn equal(a: u8, b: u8) -> u8 {
    ((u16::from(a ^ b).wrapping_sub(1)) >> 8) as u8 & 1
}

/// Computes the checksum of the prefix and the digits, which is 1 for a valid text.
fn checksum(values: &[u8; ALL]) -> u32 {
    let name = PREFIX[..PREFIX.len() - 1].to_ascii_lowercase();
    let high = name.bytes().map(|byte| byte >> 5);
    let low = name.bytes().map(|byte| byte & 31);
    let mut sum = 1u32;
    for value in high.chain([0]).chain(low).chain(values.iter().copied()) {
        let top = sum >> 25;
        sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (bit, generator) in
            [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3].into_iter().enumerate()
        {
            sum ^= generator & (top >> bit & 1).wrapping_neg();
        }
    }
    sum
}

fn bad(why: &str) -> Error {
    Error::Key(format!("an identity of age that {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        let line = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
        assert_eq!(*identity(line).unwrap(), [0x42; 32]);
        assert_eq!(*identity(&line.to_ascii_lowercase()).unwrap(), [0x42; 32]);
        for at in 0..line.len() {
            let mut changed = line.as_bytes().to_vec();
            changed[at] = if changed[at] == b'Q' { b'P' } else { b'Q' };
            assert!(identity(str::from_utf8(&changed).unwrap()).is_err(), "digit {at}");
        }
        assert!(identity(&line[..line.len() - 1]).is_err());
    }
}
