//! Strings and numbers as SSH has them.

/// Takes strings and numbers from a message.
pub struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    /// Returns the next number of 32 bits; none when the message is over.
    pub fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    /// Returns the next string; none when the message is over before it.
    pub fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.number()? as usize;
        let (string, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(string)
    }
}

/// Adds a string.
pub fn put_string(out: &mut Vec<u8>, string: &[u8]) {
    out.extend((string.len() as u32).to_be_bytes());
    out.extend(string);
}

/// Adds a number that is not negative, from its bytes in big-endian order: without leading zeros, but for one that keeps it from being
/// negative.
pub fn put_mpint(out: &mut Vec<u8>, number: &[u8]) {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let digits = &number[zeros..];
    let sign = usize::from(digits.first().is_some_and(|first| first & 0x80 != 0));
    out.extend(((sign + digits.len()) as u32).to_be_bytes());
    out.extend(&[0][..sign]);
    out.extend(digits);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4251 §5.
    #[test]
    fn numbers_are_encoded_as_the_examples() {
        let encoded = |number: &[u8]| {
            let mut out = Vec::new();
            put_mpint(&mut out, number);
            out
        };
        assert_eq!(encoded(&[0, 0]), [0, 0, 0, 0]);
        assert_eq!(encoded(&[0x80]), [0, 0, 0, 2, 0, 0x80]);
        let long = [0x09, 0xa3, 0x78, 0xf9, 0xb2, 0xe3, 0x32, 0xa7];
        assert_eq!(encoded(&[&[0; 3][..], &long].concat()), [&[0, 0, 0, 8][..], &long].concat());
    }

    #[test]
    fn a_message_that_ends_early_gives_nothing() {
        let mut out = Vec::new();
        put_string(&mut out, b"abc");
        assert_eq!(Reader(&out).string(), Some(&b"abc"[..]));
        for cut in 0..out.len() {
            assert_eq!(Reader(&out[..cut]).string(), None, "{cut}");
        }
        assert_eq!(Reader(&[0xff; 8]).string(), None);
    }
}
