//! Base64 with the alphabet for addresses and with padding, without tables: a key is encoded so, too.
//!
//! Ref. RFC 4648 §5.

/// Returns `mask` where `first <= c <= last`, and 0 elsewhere.
fn between(c: i32, first: i32, last: i32) -> i32 {
    // Both differences are negative just inside the range.
    ((first - 1 - c) & (c - last - 1)) >> 31
}

/// The character of 6 bits.
fn character(bits: u32) -> u8 {
    let bits = bits as i32;
    let mut c = bits + i32::from(b'A');
    c += between(bits, 26, 63) & (i32::from(b'a') - 26 - i32::from(b'A'));
    c += between(bits, 52, 63) & (i32::from(b'0') - 52 - (i32::from(b'a') - 26));
    c += between(bits, 62, 62) & (i32::from(b'-') - 62 - (i32::from(b'0') - 52));
    c += between(bits, 63, 63) & (i32::from(b'_') - 63 - (i32::from(b'0') - 52));
    c as u8
}

/// The 6 bits of a character, or -1.
fn bits(c: u8) -> i32 {
    let c = i32::from(c);
    let mut bits = -1;
    bits += between(c, 0x41, 0x5a) & (c - 0x41 + 1);
    bits += between(c, 0x61, 0x7a) & (c - 0x61 + 27);
    bits += between(c, 0x30, 0x39) & (c - 0x30 + 53);
    bits += between(c, 0x2d, 0x2d) & 63;
    bits += between(c, 0x5f, 0x5f) & 64;
    bits
}

/// Appends the characters of `bytes`.
pub(super) fn encode(bytes: &[u8], text: &mut Vec<u8>) {
    text.reserve(bytes.len().div_ceil(3) * 4);
    let (threes, rest) = bytes.as_chunks::<3>();
    for [a, b, c] in threes {
        let word = u32::from(*a) << 16 | u32::from(*b) << 8 | u32::from(*c);
        text.extend_from_slice(&[18, 12, 6, 0].map(|shift| character(word >> shift & 63)));
    }
    match rest {
        [a] => {
            let word = u32::from(*a) << 4;
            text.extend_from_slice(&[character(word >> 6), character(word & 63), b'=', b'=']);
        }
        [a, b] => {
            let word = u32::from(*a) << 10 | u32::from(*b) << 2;
            let [x, y, z] = [12, 6, 0].map(|shift| character(word >> shift & 63));
            text.extend_from_slice(&[x, y, z, b'=']);
        }
        _ => {}
    }
}

/// Appends the bytes of `text`. Returns nothing if it is not well formed: in whole fours, padded, and with zeros behind the last
/// byte.
pub(super) fn decode(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (fours, rest) = text.as_chunks::<4>();
    let ([before @ .., last], []) = (fours, rest) else {
        return text.is_empty().then_some(());
    };
    let mut wrong = 0;
    bytes.reserve(text.len() / 4 * 3);
    for four in before {
        let [a, b, c, d] = four.map(bits);
        wrong |= a | b | c | d;
        let word = (a << 18 | b << 12 | c << 6 | d) as u32;
        bytes.extend_from_slice(&word.to_be_bytes()[1..]);
    }
    let padding = match last {
        [_, _, b'=', b'='] => 2,
        [_, _, _, b'='] => 1,
        _ => 0,
    };
    let mut four = *last;
    four[4 - padding..].fill(b'A');
    let [a, b, c, d] = four.map(bits);
    wrong |= a | b | c | d;
    let word = (a << 18 | b << 12 | c << 6 | d) as u32;
    let surplus = word & ((1 << (8 * padding)) - 1);
    bytes.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    (wrong >= 0 && surplus == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648 §10, and all characters.
    #[test]
    fn miri_encodes_as_the_standard_does() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
            encode(bytes.as_bytes(), &mut encoded);
            assert_eq!(encoded, text.as_bytes());
            decode(text.as_bytes(), &mut decoded).unwrap();
            assert_eq!(decoded, bytes.as_bytes());
        }
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        for c in 0..=255 {
            let place = alphabet.iter().position(|other| *other == c).map_or(-1, |place| place as i32);
            assert_eq!(bits(c), place, "{c}");
            assert!(place < 0 || character(place as u32) == c);
        }
        for text in ["Zg=", "Zg", "Zh==", "Zm9=", "Z===", "====", "Zg==Zg==", "Zm9+", "Zm 9"] {
            assert_eq!(decode(text.as_bytes(), &mut Vec::new()), None, "{text}");
        }
    }
}
