//! Helpers of the curves' tests: as much DER as Wycheproof's vectors need, and random bytes.
//!
//! Ref. X.690 §8, §10.1; RFC 3279 §2.2.3; RFC 5480 §2.

#![allow(dead_code)]

use millstream_publickey::Random;
use millstream_publickey::ecdsa::Curve;

/// Takes one element of the tag from the front, in the shortest encoding of its length.
fn element<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (&first, rest) = bytes.split_first()?;
    let (&len, rest) = rest.split_first()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        0x81 => {
            let (&len, rest) = rest.split_first()?;
            (usize::from(len), if len >= 0x80 { rest } else { return None })
        }
        0x82 => {
            let (len, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*len)), if len[0] != 0 { rest } else { return None })
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(len)?;
    *bytes = rest;
    (first == tag).then_some(content)
}

/// Takes a positive integer in its shortest encoding, as the bytes of a scalar.
fn integer(bytes: &mut &[u8], len: usize) -> Option<Vec<u8>> {
    let content = element(bytes, 2)?;
    let magnitude = match content {
        [] | [0x80..=0xff, ..] | [0, 0..=0x7f, ..] => return None,
        [0] => &[][..],
        [0, rest @ ..] => rest,
        all => all,
    };
    let mut number = vec![0; len.checked_sub(magnitude.len())?];
    number.extend(magnitude);
    Some(number)
}

/// Returns r and s side by side.
pub fn signature_of_der(mut der: &[u8], curve: Curve) -> Option<Vec<u8>> {
    let mut pair = element(&mut der, 0x30)?;
    let (r, s) = (integer(&mut pair, curve.bytes())?, integer(&mut pair, curve.bytes())?);
    (der.is_empty() && pair.is_empty()).then(|| [r, s].concat())
}

/// Returns the point of a SubjectPublicKeyInfo, if it names the curve.
pub fn key_of_info(mut der: &[u8], curve: Curve) -> Option<Vec<u8>> {
    let mut info = element(&mut der, 0x30)?;
    let mut algorithm = element(&mut info, 0x30)?;
    let oid: &[u8] = match curve {
        Curve::P256 => &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7],
        Curve::P384 => &[0x2b, 0x81, 4, 0, 0x22],
        Curve::P521 => &[0x2b, 0x81, 4, 0, 0x23],
    };
    let named = element(&mut algorithm, 6)? == [0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1]
        && element(&mut algorithm, 6)? == oid
        && algorithm.is_empty();
    let bits = element(&mut info, 3)?;
    (named && der.is_empty() && info.is_empty() && bits.first() == Some(&0)).then(|| bits[1..].to_vec())
}

/// Repeatable bytes where an operation wants random ones.
pub struct Repeatable(pub millstream_testkit::Random);

impl Random for Repeatable {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
        self.0.fill(bytes);
        Ok(())
    }
}
