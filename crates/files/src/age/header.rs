//! The textual header of a file of age.

use std::io::Read;

use base64ct::{Base64Unpadded, Encoding};

use crate::error::Error;
use crate::job::read_header;

const FORMAT: &str = "age";

/// The limits of a header. Recipients of post-quantum keys have lines of some 1,600 bytes.
const MOST_LINE: usize = 8 << 10;
const MOST_STANZAS: usize = 256;
const MOST_BODY: usize = 8 << 10;

/// A header.
pub(super) struct Header {
    pub(super) stanzas: Vec<Stanza>,
    /// The bytes that the MAC covers.
    pub(super) authenticated: Vec<u8>,
    pub(super) mac: [u8; 32],
}

/// A wrapped file key.
pub(super) struct Stanza {
    pub(super) arguments: Vec<String>,
    pub(super) body: Vec<u8>,
}

impl Stanza {
    /// Returns the kind of recipient.
    pub(super) fn kind(&self) -> &str {
        &self.arguments[0]
    }
}

impl Header {
    /// Reads a header, and no byte behind it.
    pub(super) fn read(reader: &mut impl Read) -> Result<Self, Error> {
        let mut header = Header { stanzas: Vec::new(), authenticated: Vec::new(), mac: [0; 32] };
        let version = line(reader, &mut header.authenticated)?;
        if version != "age-encryption.org/v1" {
            return Err(not("its first line is not 'age-encryption.org/v1'"));
        }
        loop {
            let text = line(reader, &mut header.authenticated)?;
            if let Some(mac) = text.strip_prefix("--- ") {
                if header.stanzas.is_empty() {
                    return Err(not("its header has no recipient"));
                }
                header.mac = decoded(mac)?;
                // The MAC covers the three dashes, and neither the space nor what is behind it.
                header.authenticated.truncate(header.authenticated.len() - mac.len() - 2);
                return Ok(header);
            }
            let arguments =
                text.strip_prefix("-> ").ok_or_else(|| not("a line of its header is no recipient"))?;
            let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
            if arguments.iter().any(String::is_empty) || header.stanzas.len() == MOST_STANZAS {
                return Err(not("a recipient with an empty argument, or too many recipients"));
            }
            let body = body(reader, &mut header.authenticated)?;
            header.stanzas.push(Stanza { arguments, body });
        }
    }
}

/// Reads the body of a stanza: lines of 64 digits, and a shorter one.
fn body(reader: &mut impl Read, seen: &mut Vec<u8>) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    loop {
        let text = line(reader, seen)?;
        if text.len() > 64 || body.len() > MOST_BODY {
            return Err(not("a line of a recipient is too long"));
        }
        body.extend(Base64Unpadded::decode_vec(&text).map_err(|_| not("a recipient that is not base64"))?);
        if text.len() < 64 {
            return Ok(body);
        }
    }
}

/// Reads a line without its end, and appends it with its end to `seen`.
fn line(reader: &mut impl Read, seen: &mut Vec<u8>) -> Result<String, Error> {
    let start = seen.len();
    loop {
        let mut byte = [0];
        read_header(reader, &mut byte)?;
        seen.push(byte[0]);
        match byte[0] {
            b'\n' => break,
            b' '..=b'~' if seen.len() - start < MOST_LINE => {}
            _ => return Err(not("its header has a line that is too long, or bytes that are no text")),
        }
    }
    Ok(String::from_utf8_lossy(&seen[start..seen.len() - 1]).into_owned())
}

/// Decodes an argument of so many bytes.
pub(super) fn decoded<const N: usize>(text: &str) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    match Base64Unpadded::decode(text, &mut bytes) {
        Ok(decoded) if decoded.len() == N => Ok(bytes),
        _ => Err(not(format!("an argument that is not the base64 of {N} bytes"))),
    }
}

/// Returns the error of a file that is not one of age.
pub(super) fn not(why: impl Into<String>) -> Error {
    Error::NotThisFormat { format: FORMAT, why: why.into() }
}
