//! DER as text.
//!
//! Ref. RFC 7468 (PEM), RFC 4648 §4 (Base64).

use base64ct::{Base64, Encoding};
use millstream_cpu::Features;
use zeroize::Zeroizing;

use super::{Found, Key, Kind, PublicKey, Secret, asn1, bad};
use crate::error::Error;

/// The characters of a line.
const LINE: usize = 64;

/// Writes DER as PEM.
pub(crate) fn write(label: &str, der: &[u8]) -> Secret {
    let mut digits = Zeroizing::new(vec![0; der.len().div_ceil(3) * 4]);
    let len = Base64::encode(der, &mut digits).expect("four digits for three bytes").len();
    let mut text = Zeroizing::new(Vec::with_capacity(len + len / LINE + 2 * label.len() + 64));
    text.extend_from_slice(format!("-----BEGIN {label}-----\n").as_bytes());
    for line in digits[..len].chunks(LINE) {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.extend_from_slice(format!("-----END {label}-----\n").as_bytes());
    text
}

/// Reads the first key of a PEM file.
pub(super) fn read(features: Features, text: &[u8]) -> Result<Found, Error> {
    let text = str::from_utf8(text).map_err(|_| bad("PEM that is no text"))?;
    let mut lines = text.lines().map(str::trim_end);
    let mut seen = None;
    while let Some(line) = lines.next() {
        let label = line.strip_prefix("-----BEGIN ").and_then(|label| label.strip_suffix("-----"));
        let Some(label) = label else { continue };
        let read: fn(Features, &[u8]) -> Result<Found, Error> = match label {
            "PRIVATE KEY" => |features, der| asn1::read_pkcs8(features, der).map(Found::Key),
            "EC PRIVATE KEY" => |features, der| asn1::read_sec1(features, der, None).map(Found::Key),
            "RSA PRIVATE KEY" => |features, der| Key::new(features, Kind::Rsa, der).map(Found::Key),
            "PUBLIC KEY" => |features, der| asn1::read_spki(features, der).map(Found::Public),
            "RSA PUBLIC KEY" => |features, der| PublicKey::new(features, Kind::Rsa, der).map(Found::Public),
            "ENCRYPTED PRIVATE KEY" => return Err(encrypted()),
            other => {
                seen = Some(other);
                continue;
            }
        };
        return read(features, &decode(&mut lines)?);
    }
    Err(bad(format!("no key, but {}", seen.unwrap_or("nothing that PEM knows"))))
}

/// Returns the bytes of the first block with that label; none where there is none.
pub(crate) fn block(text: &[u8], label: &str) -> Result<Option<Vec<u8>>, Error> {
    let begin = format!("-----BEGIN {label}-----");
    let Some(text) = str::from_utf8(text).ok().filter(|text| text.contains(&begin)) else { return Ok(None) };
    let mut lines = text.lines().map(str::trim_end).skip_while(|line| *line != begin).skip(1);
    decode(&mut lines).map(|der| Some(der.to_vec()))
}

/// Decodes the lines up to the end of the block.
fn decode<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Result<Secret, Error> {
    let mut digits = Zeroizing::new(String::with_capacity(16 << 10));
    for line in lines {
        if line.starts_with("-----END ") {
            let mut der = Zeroizing::new(vec![0; digits.len() / 4 * 3]);
            let len =
                Base64::decode(digits.as_bytes(), &mut der).map_err(|_| bad("PEM that is not Base64"))?;
            let len = len.len();
            der.truncate(len);
            return Ok(der);
        }
        if line.contains(':') {
            return Err(encrypted());
        }
        if digits.len() + line.len() > digits.capacity() {
            return Err(bad("PEM that is too long for a key"));
        }
        digits.push_str(line.trim());
    }
    Err(bad("PEM without its last line: the file was cut off"))
}

fn encrypted() -> Error {
    bad("an encrypted key; decrypt it first with 'openssl pkey -in FILE -out PLAIN'")
}
