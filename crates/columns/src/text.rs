//! Bytes as text: hexadecimal digits and base64, without tables or branches on the bytes.
//!
//! Ref. RFC 4648 §4 (base64 with padding), §8 (base16, here in lower case).

use base64ct::{Base64, Encoding as _};

/// The form of results that are bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// The bytes themselves.
    #[default]
    Binary,
    /// Hexadecimal digits in lower case.
    Hex,
    /// Base64 with `+`, `/` and padding.
    Base64,
}

impl Encoding {
    /// Returns the length of `bytes` bytes in this form.
    pub(crate) const fn len(self, bytes: usize) -> usize {
        match self {
            Encoding::Binary => bytes,
            Encoding::Hex => 2 * bytes,
            Encoding::Base64 => bytes.div_ceil(3) * 4,
        }
    }

    /// Writes `bytes` in this form to `out`, which has its length.
    pub(crate) fn write(self, bytes: &[u8], out: &mut [u8]) {
        match self {
            Encoding::Binary => out.copy_from_slice(bytes),
            Encoding::Hex => hex(bytes, out),
            Encoding::Base64 => {
                Base64::encode(bytes, out).expect("room for all characters");
            }
        }
    }
}

fn hex(bytes: &[u8], out: &mut [u8]) {
    for (byte, pair) in bytes.iter().zip(out.as_chunks_mut::<2>().0) {
        *pair = [hex_digit(byte >> 4), hex_digit(byte & 15)];
    }
}

fn hex_digit(value: u8) -> u8 {
    // The mask is all ones from ten on.
    let letter = 9u8.wrapping_sub(value) >> 7;
    value + b'0' + (letter.wrapping_neg() & (b'a' - b'0' - 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(encoding: Encoding, bytes: &[u8]) -> String {
        let mut out = vec![0; encoding.len(bytes.len())];
        encoding.write(bytes, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// RFC 4648 §10, and all characters.
    #[test]
    fn text_is_as_the_standard_says() {
        for (bytes, base64, hex) in [
            ("", "", ""),
            ("f", "Zg==", "66"),
            ("fo", "Zm8=", "666f"),
            ("foo", "Zm9v", "666f6f"),
            ("foob", "Zm9vYg==", "666f6f62"),
            ("fooba", "Zm9vYmE=", "666f6f6261"),
            ("foobar", "Zm9vYmFy", "666f6f626172"),
        ] {
            assert_eq!(written(Encoding::Base64, bytes.as_bytes()), base64);
            assert_eq!(written(Encoding::Hex, bytes.as_bytes()), hex);
            assert_eq!(written(Encoding::Binary, bytes.as_bytes()), bytes);
        }
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for (bits, character) in (0u8..).zip(alphabet) {
            assert_eq!(written(Encoding::Base64, &[bits << 2]).as_bytes()[0], *character);
        }
        for value in 0..16 {
            assert_eq!(char::from(hex_digit(value)), char::from_digit(value.into(), 16).unwrap());
        }
    }
}
