//! JSON that holds secrets: it is walked where it lies, so that a parser's copies of them do not stay behind.

use std::collections::BTreeMap;

use base64ct::Encoding;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

/// The members of an object, as they stand in the text.
pub(crate) type Members<'a> = BTreeMap<String, &'a RawValue>;

/// Returns the bytes whose base64 a string is, in memory that is zeroised.
pub(crate) fn decoded<E: Encoding>(value: &RawValue) -> Option<Zeroizing<Vec<u8>>> {
    let digits = unescaped(value.get())?;
    let mut bytes = Zeroizing::new(vec![0; digits.len()]);
    let len = E::decode(&*digits, &mut bytes).ok()?.len();
    bytes.truncate(len);
    Some(bytes)
}

/// Returns the characters of a JSON string of ASCII, of whose escapes writers of base64 use two: `\/`, and `\u003d` for any.
fn unescaped(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, after) = match (first, after) {
            (b'\\', [b'/', after @ ..]) => (b'/', after),
            (b'\\', [b'u', b'0', b'0', high, low, after @ ..]) => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                (u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?, after)
            }
            (b'\\', _) => return None,
            (byte, after) => (*byte, after),
        };
        bytes.push(byte);
        rest = after;
    }
    Some(bytes)
}

/// Returns a value that holds no secret, or none where it is of another type.
pub(crate) fn parsed<'a, T: serde_core::Deserialize<'a>>(value: &'a RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// Returns a member that is a number.
pub(crate) fn number(members: &Members<'_>, name: &str) -> Option<u32> {
    members.get(name).copied().and_then(parsed)
}

/// Returns a member that is text, and no secret.
pub(crate) fn text(members: &Members<'_>, name: &str) -> Option<String> {
    members.get(name).copied().and_then(parsed)
}
