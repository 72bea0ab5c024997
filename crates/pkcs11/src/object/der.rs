//! The few forms of DER that attributes have: strings of bytes around points.
//!
//! Ref. PKCS #11 v3.2 §6.3.3, ITU-T X.690 §8.1.3, §8.6, §8.7.

const OCTET_STRING: u8 = 0x04;
const BIT_STRING: u8 = 0x03;

/// Returns `bytes` as a DER OCTET STRING.
pub fn octet_string(bytes: &[u8]) -> Vec<u8> {
    let mut der = vec![OCTET_STRING];
    match bytes.len() {
        len @ 0..=0x7f => der.push(len as u8),
        len @ 0x80..=0xff => der.extend([0x81, len as u8]),
        len => der.extend([0x82, (len >> 8) as u8, len as u8]),
    }
    der.extend(bytes);
    der
}

/// Returns the point that `CKA_EC_POINT` has: in an OCTET STRING as the standard says, in a BIT STRING, or bare, as programs send it.
/// `len` is the length of such points.
pub fn point(value: &[u8], lens: &[usize]) -> Vec<u8> {
    if lens.contains(&value.len()) {
        return value.to_vec();
    }
    let contents = |tag| match value {
        [found, len, contents @ ..]
            if *found == tag && *len < 0x80 && contents.len() == usize::from(*len) =>
        {
            Some(contents)
        }
        [found, 0x81, len, contents @ ..] if *found == tag && contents.len() == usize::from(*len) => {
            Some(contents)
        }
        _ => None,
    };
    let bits = || contents(BIT_STRING).and_then(|bits| bits.strip_prefix(&[0]));
    contents(OCTET_STRING).or_else(bits).unwrap_or(value).to_vec()
}

/// Returns a number without leading zeros.
pub fn trimmed(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros.min(number.len().saturating_sub(1))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_found_in_every_form() {
        for len in [32usize, 65, 97, 133] {
            let bare: Vec<u8> = (0..len).map(|i| 4 + i as u8 % 3).collect();
            let bits = |len: &[u8]| [&[BIT_STRING], len, &[0], &bare[..]].concat();
            let in_bits = if len < 0x7f { bits(&[len as u8 + 1]) } else { bits(&[0x81, len as u8 + 1]) };
            for form in [bare.clone(), octet_string(&bare), in_bits] {
                assert_eq!(point(&form, &[len]), bare);
            }
        }
        assert_eq!(octet_string(&[7; 300])[..4], [OCTET_STRING, 0x82, 1, 44]);
        assert_eq!(point(&[0x04, 5, 1], &[65]), [0x04, 5, 1], "what is none stays");
        assert_eq!((trimmed(&[0, 0, 1, 0]), trimmed(&[0, 0])), (&[1, 0][..], &[0][..]));
    }
}
