//! The text form of keys: Bech32, without its limit of length.
//!
//! Digits are found by comparison with all of them, because they may be those of a secret.
//!
//! Ref. BIP 173; c2sp.org/age, for the names in front.

use zeroize::{Zeroize, Zeroizing};

const DIGITS: &[u8; 32] = b"QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";
const CHECKSUM: usize = 6;
const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];

/// A reason why a text is no key.
pub(super) type Why = &'static str;

/// Returns the bytes behind a name, if the text has this name.
///
/// # Errors
/// The reason why the rest is not that of so many bytes.
pub(super) fn decode<const N: usize>(name: &str, text: &str) -> Option<Result<Zeroizing<[u8; N]>, Why>> {
    let front = text.get(..name.len()).filter(|front| front.eq_ignore_ascii_case(name))?;
    let digits = text[front.len()..].strip_prefix('1')?;
    let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
    if lower && text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Some(Err("mixes upper and lower case"));
    }
    Some(bytes(name, digits))
}

fn bytes<const N: usize>(name: &str, digits: &str) -> Result<Zeroizing<[u8; N]>, Why> {
    let data = (8 * N).div_ceil(5);
    if digits.len() != data + CHECKSUM {
        return Err("has another length than a key");
    }
    let (mut values, mut valid) = (Zeroizing::new(vec![0; digits.len()]), 1);
    for (value, digit) in values.iter_mut().zip(digits.bytes()) {
        let (digit, mut found) = (digit.to_ascii_uppercase(), 0);
        for (number, known) in (0u8..).zip(DIGITS) {
            let same = equal(digit, *known);
            *value |= number & same.wrapping_neg();
            found |= same;
        }
        valid &= found;
    }
    if valid == 0 || checksum(name, &values) != 1 {
        return Err("has a wrong digit, or a wrong checksum");
    }
    let (mut key, mut bits, mut number) = (Zeroizing::new([0; N]), 0u32, 0);
    let mut bytes = key.iter_mut();
    for value in &values[..data] {
        number = number << 5 | u32::from(*value);
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            *bytes.next().expect("there are no more digits than the bytes have") = (number >> bits) as u8;
            number &= (1 << bits) - 1;
        }
    }
    let rest = number;
    number.zeroize();
    if rest == 0 { Ok(key) } else { Err("has bits behind its end") }
}

/// Returns the text of a name and bytes, in lower case.
pub(super) fn encode(name: &str, bytes: &[u8]) -> Zeroizing<String> {
    let count = (8 * bytes.len()).div_ceil(5);
    let mut values = Zeroizing::new(Vec::with_capacity(count + CHECKSUM));
    let (mut bits, mut number) = (0u32, 0u32);
    for byte in bytes {
        number = number << 8 | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            values.push((number >> bits) as u8);
            number &= (1 << bits) - 1;
        }
    }
    if bits > 0 {
        values.push((number << (5 - bits)) as u8);
    }
    number.zeroize();
    values.extend([0; CHECKSUM]);
    let sum = checksum(name, &values) ^ 1;
    for (at, value) in values[count..].iter_mut().enumerate() {
        *value = (sum >> (5 * (CHECKSUM - 1 - at)) & 31) as u8;
    }
    let mut text = Zeroizing::new(String::with_capacity(name.len() + 1 + values.len()));
    text.push_str(name);
    text.push('1');
    for value in values.iter() {
        let digits = (0u8..).zip(DIGITS);
        let digit =
            digits.fold(0, |found, (number, digit)| found | digit & equal(number, *value).wrapping_neg());
        text.push(char::from(digit.to_ascii_lowercase()));
    }
    text
}

/// Returns 1 for equal bytes, and 0 for others.
fn equal(a: u8, b: u8) -> u8 {
    ((u16::from(a ^ b).wrapping_sub(1)) >> 8) as u8 & 1
}

/// Computes the checksum of the name and the digits, which is 1 for a valid text.
fn checksum(name: &str, values: &[u8]) -> u32 {
    let name = || name.bytes().map(|byte| byte.to_ascii_lowercase());
    let (high, low) = (name().map(|byte| byte >> 5), name().map(|byte| byte & 31));
    let mut sum = 1u32;
    for value in high.chain([0]).chain(low).chain(values.iter().copied()) {
        let top = sum >> 25;
        sum = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        for (bit, generator) in GENERATORS.into_iter().enumerate() {
            sum ^= generator & (top >> bit & 1).wrapping_neg();
        }
    }
    sum
}
