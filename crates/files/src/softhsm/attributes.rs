//! The attributes in a file of SoftHSM2.
//!
//! | bytes | meaning |
//! | ---: | --- |
//! | 8 | how often the file was written |
//! | 8 | type of an attribute, as PKCS #11 numbers it |
//! | 8 | kind of its value |
//! | | the value |
//!
//! | kind | value |
//! | ---: | --- |
//! | 1 | a boolean, 1 byte |
//! | 2 | a number, 8 bytes |
//! | 3 | bytes: their number, 8 bytes, and they |
//! | 4 | attributes in an attribute: the number of their bytes, 8 bytes, and they |
//! | 5 | mechanisms: their number, 8 bytes, and 8 bytes for each |
//!
//! Numbers are big-endian. Nothing counts the attributes, so a file that was cut off between two shows only by what it lacks.

use std::collections::BTreeMap;
use std::path::Path;

use super::Error;

/// The types of attributes (PKCS #11 3.1 appendix B, and SoftHSM2's own).
pub(super) mod cka {
    pub const CLASS: u64 = 0;
    pub const PRIVATE: u64 = 2;
    pub const LABEL: u64 = 3;
    pub const VALUE: u64 = 0x11;
    pub const CHECK_VALUE: u64 = 0x90;
    pub const KEY_TYPE: u64 = 0x100;
    pub const ID: u64 = 0x102;
    pub const SENSITIVE: u64 = 0x103;
    pub const ENCRYPT: u64 = 0x104;
    pub const DECRYPT: u64 = 0x105;
    pub const WRAP: u64 = 0x106;
    pub const UNWRAP: u64 = 0x107;
    pub const SIGN: u64 = 0x108;
    pub const VERIFY: u64 = 0x10a;
    pub const DERIVE: u64 = 0x10c;
    pub const START_DATE: u64 = 0x110;
    pub const END_DATE: u64 = 0x111;
    pub const MODULUS: u64 = 0x120;
    pub const PUBLIC_EXPONENT: u64 = 0x122;
    pub const PRIVATE_EXPONENT: u64 = 0x123;
    pub const PRIME_1: u64 = 0x124;
    pub const PRIME_2: u64 = 0x125;
    pub const EXPONENT_1: u64 = 0x126;
    pub const EXPONENT_2: u64 = 0x127;
    pub const COEFFICIENT: u64 = 0x128;
    pub const EXTRACTABLE: u64 = 0x162;
    pub const EC_PARAMS: u64 = 0x180;
    pub const EC_POINT: u64 = 0x181;
    pub const ALWAYS_AUTHENTICATE: u64 = 0x202;
    pub const WRAP_WITH_TRUSTED: u64 = 0x210;
    pub const WRAP_TEMPLATE: u64 = 0x4000_0211;
    pub const UNWRAP_TEMPLATE: u64 = 0x4000_0212;
    pub const ALLOWED_MECHANISMS: u64 = 0x4000_0600;
    pub const OS_TOKEN_LABEL: u64 = 0x8000_5349;
    pub const OS_USER_PIN: u64 = 0x8000_534d;
}

/// The kinds of values.
mod kind {
    pub const FLAG: u64 = 1;
    pub const NUMBER: u64 = 2;
    pub const BYTES: u64 = 3;
    pub const ATTRIBUTES: u64 = 4;
    pub const MECHANISMS: u64 = 5;
}

/// A value, which lies in the file's bytes.
enum Value<'a> {
    Flag(bool),
    Number(u64),
    Bytes(&'a [u8]),
    /// Attributes or mechanisms, of which only their bytes are looked at.
    Others(&'a [u8]),
}

/// The attributes of an object, or of a token.
pub(super) struct Attributes<'a> {
    path: &'a Path,
    values: BTreeMap<u64, Value<'a>>,
}

impl<'a> Attributes<'a> {
    /// Reads the contents of a file. Its path is for messages.
    pub(super) fn parse(path: &'a Path, bytes: &'a [u8]) -> Result<Self, Error> {
        let mut attributes = Attributes { path, values: BTreeMap::new() };
        let mut rest = bytes;
        let cut = |at: &[u8]| {
            let at = bytes.len() - at.len();
            damaged(path, format!("no attribute that is known, or a part of one, from byte {at} on"))
        };
        number(&mut rest).ok_or_else(|| damaged(path, "it is empty or cut off"))?;
        while !rest.is_empty() {
            let at = rest;
            let (kind, value) = attribute(&mut rest).ok_or_else(|| cut(at))?;
            if attributes.values.insert(kind, value).is_some() {
                return Err(damaged(path, format!("the attribute {kind:#x} is there twice")));
            }
        }
        Ok(attributes)
    }

    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// Returns a value of bytes as the file has it; none if it is not there.
    pub(super) fn stored(&self, kind: u64) -> Result<Option<&'a [u8]>, Error> {
        match self.values.get(&kind) {
            None => Ok(None),
            Some(Value::Bytes(bytes)) => Ok(Some(*bytes)),
            Some(_) => Err(self.other_kind(kind)),
        }
    }

    /// Returns a number that has to be there.
    pub(super) fn number(&self, kind: u64) -> Result<u64, Error> {
        match self.values.get(&kind) {
            Some(Value::Number(number)) => Ok(*number),
            Some(_) => Err(self.other_kind(kind)),
            None => Err(self.lacks(&format!("attribute {kind:#x}"))),
        }
    }

    /// Returns a flag that has to be there.
    pub(super) fn flag(&self, kind: u64) -> Result<bool, Error> {
        match self.values.get(&kind) {
            Some(Value::Flag(flag)) => Ok(*flag),
            Some(_) => Err(self.other_kind(kind)),
            None => Err(self.lacks(&format!("attribute {kind:#x}"))),
        }
    }

    /// Returns true if an attribute says anything: a flag that is set, or a list or bytes that are not empty.
    pub(super) fn says(&self, kind: u64) -> bool {
        match self.values.get(&kind) {
            None => false,
            Some(Value::Flag(flag)) => *flag,
            Some(Value::Number(number)) => *number != 0,
            Some(Value::Bytes(bytes) | Value::Others(bytes)) => !bytes.is_empty(),
        }
    }

    pub(super) fn lacks(&self, what: &str) -> Error {
        self.damaged(format!("it has no {what}"))
    }

    fn other_kind(&self, kind: u64) -> Error {
        self.damaged(format!("the attribute {kind:#x} has a value of another kind"))
    }

    /// Returns the error that the file has a fault.
    pub(super) fn damaged(&self, why: impl Into<String>) -> Error {
        damaged(self.path, why)
    }
}

fn damaged(path: &Path, why: impl Into<String>) -> Error {
    Error::Damaged { path: path.to_owned(), why: why.into() }
}

/// Takes an attribute off the front.
fn attribute<'a>(rest: &mut &'a [u8]) -> Option<(u64, Value<'a>)> {
    let kind = number(rest)?;
    let value = match number(rest)? {
        // SoftHSM2 writes 0 or 255.
        kind::FLAG => Value::Flag(match take(rest, 1)? {
            [0] => false,
            [255] => true,
            _ => return None,
        }),
        kind::NUMBER => Value::Number(number(rest)?),
        kind::BYTES => Value::Bytes(counted(rest, 1)?),
        kind::ATTRIBUTES => Value::Others(counted(rest, 1)?),
        kind::MECHANISMS => Value::Others(counted(rest, 8)?),
        _ => return None,
    };
    Some((kind, value))
}

/// Takes a count off the front, and that many items behind it.
fn counted<'a>(rest: &mut &'a [u8], item_bytes: usize) -> Option<&'a [u8]> {
    let count = usize::try_from(number(rest)?).ok()?;
    take(rest, count.checked_mul(item_bytes)?)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, 8)?.try_into().ok()?;
    Some(u64::from_be_bytes(bytes))
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (front, behind) = rest.split_at_checked(len)?;
    *rest = behind;
    Some(front)
}
