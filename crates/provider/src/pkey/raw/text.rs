//! Keys as text: PEM, and what a person reads.
//!
//! Ref. RFC 7468 (PEM), RFC 4648 §4 (Base64).

use base64ct::{Base64, Encoder, LineEnding};
use zeroize::Zeroizing;

use super::Encoded;
use super::key::Key;
use crate::append::append;
use crate::error::{Reason, Result};

/// The characters of a line of Base64.
const LINE: usize = 64;

/// The bytes of a line that a person reads.
const BYTES: usize = 15;

/// Writes DER as PEM.
pub fn pem(label: &str, der: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    let digits = der.len().div_ceil(3) * 4;
    let mut text = Zeroizing::new(vec![0; digits + digits.div_ceil(LINE)]);
    let wrapped = |text: &mut [u8]| {
        let mut encoder = Encoder::<Base64>::new_wrapped(text, LINE, LineEnding::LF)?;
        encoder.encode(der)?;
        Ok(encoder.finish()?.len())
    };
    let len = wrapped(&mut text).map_err(|_: base64ct::Error| Reason::INTERNAL)?;
    let mut whole = Zeroizing::new(Vec::with_capacity(len + 2 * label.len() + 64));
    whole.extend_from_slice(format!("-----BEGIN {label}-----\n").as_bytes());
    whole.extend_from_slice(&text[..len]);
    whole.extend_from_slice(format!("\n-----END {label}-----\n").as_bytes());
    Ok(whole)
}

/// Writes a key for people, as OpenSSL does: the private part too where it is wanted.
pub fn readable<E: Encoded>(key: &Key<E>, with_private: bool) -> Result<Zeroizing<Vec<u8>>> {
    let public = key.public_bytes().ok_or(Reason::MISSING_KEY)?;
    let name = E::NAME.to_string_lossy();
    let [private_label, public_label] = E::LABELS;
    let mut text = Zeroizing::default();
    if with_private {
        let private = key.leaving(Reason::MISSING_KEY)?;
        append(&mut text, format!("{name} Private-Key:\n").as_bytes());
        if let Some(seed) = E::seed(private) {
            append_bytes(&mut text, "seed", seed);
        }
        append_bytes(&mut text, private_label, &E::to_expanded(private)?);
    } else {
        append(&mut text, format!("{name} Public-Key:\n").as_bytes());
    }
    append_bytes(&mut text, public_label, public);
    Ok(text)
}

fn append_bytes(text: &mut Zeroizing<Vec<u8>>, label: &str, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    append(text, label.as_bytes());
    append(text, b":");
    for (i, byte) in bytes.iter().enumerate() {
        let before: &[u8] = match i {
            0 => b"\n    ",
            _ if i % BYTES == 0 => b":\n    ",
            _ => b":",
        };
        append(text, before);
        append(text, &[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    append(text, b"\n");
}
