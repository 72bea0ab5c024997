//! The ASCII armour of age: the strict PEM of RFC 7468 §3 with the label `AGE ENCRYPTED FILE`.

use base64ct::{Base64, Encoding};

use super::header::not;
use crate::error::Error;

const BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----";
const END: &str = "-----END AGE ENCRYPTED FILE-----";

/// Returns true for the first bytes of an armoured file: 16 or more of them.
pub fn is_armoured(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(&BEGIN.as_bytes()[..14])
}

/// Takes the armour off a file.
///
/// # Errors
/// [`Error::NotThisFormat`] for anything but lines of 64 digits and a shorter one between the two marks.
pub fn dearmour(text: &[u8]) -> Result<Vec<u8>, Error> {
    let text = str::from_utf8(text).map_err(|_| not("armour that is not text"))?.trim_ascii();
    let mut lines = text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line));
    if lines.next() != Some(BEGIN) {
        return Err(not("armour that does not begin with its mark"));
    }
    let (mut bytes, mut ended) = (Vec::new(), false);
    for line in lines.by_ref() {
        if line == END {
            return match lines.next() {
                None => Ok(bytes),
                Some(_) => Err(not("armour with text behind it")),
            };
        }
        let decoded =
            Base64::decode_vec(line).ok().filter(|decoded| !ended && (1..=48).contains(&decoded.len()));
        let decoded =
            decoded.ok_or_else(|| not("armour with a line that is not base64, or not of 64 digits"))?;
        ended = decoded.len() < 48;
        bytes.extend(decoded);
    }
    Err(not("armour without its end: the file was cut off"))
}
