//! Sets of keys with rotation: one key seals, and each of them opens what it has sealed. The first bytes of a value name its key.
//!
//! Ref. Tink's wire format: the byte 1, the key's identifier in four bytes, big-endian, then the ciphertext.

use arrow_data::ArrayData;
use zeroize::optimization_barrier;

use crate::aead::{Aead, Seal};
use crate::dictionary::is_dictionary;
use crate::error::{Error, Fault};
use crate::lists::from_values;
use crate::results::{Content, Offsets, with_failed, with_values};
use crate::sealed::{AAD, Open, open_column};
use crate::siv::Siv;
use crate::spread::OnError;
use crate::text::Encoding;
use crate::values::{Beside, Parameter, Values};

/// A key of a set.
#[derive(Debug)]
pub enum KeysetKey {
    /// Values are different each time.
    Aead(Aead),
    /// Equal values become equal values.
    Siv(Siv),
}

/// The bytes in front of what a key has sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// The byte 1 and the key's identifier: Tink's `TINK`.
    Tink(u32),
    /// The byte 0 and the key's identifier: Tink's `CRUNCHY` and `LEGACY`.
    Legacy(u32),
    /// Nothing, so that each such key is tried: Tink's `RAW`.
    Raw,
}

impl Prefix {
    fn bytes(self) -> ([u8; 5], usize) {
        let (first, id) = match self {
            Prefix::Tink(id) => (1, id),
            Prefix::Legacy(id) => (0, id),
            Prefix::Raw => return ([0; 5], 0),
        };
        let [a, b, c, d] = id.to_be_bytes();
        ([first, a, b, c, d], 5)
    }
}

/// Keys of which one seals and all open, so that a key can be replaced while values of the old one are still there. Zeroised on drop.
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use millstream_columns::{Encoding, Keyset, KeysetKey, Open, Parameter, Prefix, Siv};
///
/// let old = || (Prefix::Tink(1), KeysetKey::Siv(Siv::new(&[1; 64]).unwrap()));
/// let new = (Prefix::Tink(2), KeysetKey::Siv(Siv::new(&[2; 64])?));
/// let (before, after) = (Keyset::new(vec![old()], 0)?, Keyset::new(vec![old(), new], 1)?);
///
/// let names = StringArray::from(vec![Some("Ada"), None]).to_data();
/// let sealed = before.seal(&names, Parameter::None, Encoding::Binary)?;
/// let opened = after.open(&sealed, &Open { text: true, ..Open::default() })?;
/// assert_eq!(StringArray::from(opened).value(0), "Ada");
/// # Ok::<(), millstream_columns::Error>(())
/// ```
#[derive(Debug)]
pub struct Keyset {
    keys: Vec<(Prefix, KeysetKey)>,
    primary: usize,
}

impl Keyset {
    /// The keys, and the place of the one that seals.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there is no key at that place.
    pub fn new(mut keys: Vec<(Prefix, KeysetKey)>, primary: usize) -> Result<Self, Error> {
        if primary >= keys.len() {
            return Err(Error::Parameter { rule: "a set of keys needs a primary key, one of its own" });
        }
        // Keys without a prefix are tried last.
        let sealing = keys.remove(primary);
        keys.sort_by_key(|(prefix, _)| *prefix == Prefix::Raw);
        let primary = if sealing.0 == Prefix::Raw { keys.len() } else { 0 };
        keys.insert(primary, sealing);
        Ok(Keyset { keys, primary })
    }

    /// Returns true when the primary key is one of AES-SIV, so that equal values become equal results.
    pub fn is_deterministic(&self) -> bool {
        matches!(self.keys[self.primary].1, KeysetKey::Siv(_))
    }

    /// Returns every value of `column` sealed under the primary key, with its prefix, as Binary, or text where an encoding is asked for.
    /// A null stays null. Without associated data AES-SIV has one component that is empty, as in Tink.
    ///
    /// # Errors
    /// The errors of [`Aead::seal`] and [`Siv::seal`].
    pub fn seal(
        &self,
        column: &ArrayData,
        aad: Parameter<'_>,
        encoding: Encoding,
    ) -> Result<ArrayData, Error> {
        let (prefix, key) = &self.keys[self.primary];
        let sealed = match key {
            KeysetKey::Aead(key) => key.seal(column, &Seal { aad, ..Seal::default() })?,
            KeysetKey::Siv(key) => key.seal(column, component(aad), Encoding::Binary)?,
        };
        if is_dictionary(&sealed) {
            return with_values(&sealed, prefixed(&sealed.child_data()[0], *prefix, encoding)?);
        }
        prefixed(&sealed, *prefix, encoding)
    }

    /// Returns every value of `column` opened, each under the key that its prefix names, or else under one that has none: Binary, or Utf8 if
    /// `how` says so.
    ///
    /// # Errors
    /// The errors of [`Aead::open`].
    pub fn open(&self, column: &ArrayData, how: &Open<'_>) -> Result<ArrayData, Error> {
        open_column(column, how, |column, how| self.open_all(column, how))
    }

    fn open_all(
        &self,
        column: &ArrayData,
        how: &Open<'_>,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let aad = how.aad.values(AAD, values.len)?;
        let mut left: Vec<bool> = (0..values.len).map(|row| values.is_valid(row)).collect();
        let (mut opened, mut by) = (Vec::new(), vec![usize::MAX; values.len]);
        for (prefix, key) in &self.keys {
            let (bytes, len) = prefix.bytes();
            let text = |row: usize| values.get(row).strip_prefix(&bytes[..len]).filter(|_| left[row]);
            let rows: Vec<Option<&[u8]>> = (0..values.len).map(text).collect();
            if rows.iter().all(Option::is_none) {
                continue;
            }
            let part = from_values(&rows, false)?;
            let try_all = Open { aad: how.aad, on_error: OnError::Null, text: false };
            let part = match key {
                KeysetKey::Aead(key) => key.open(&part, &try_all)?,
                KeysetKey::Siv(key) => key.open(&part, &Open { aad: component(how.aad), ..try_all })?,
            };
            for row in 0..values.len {
                if left[row] && part.is_valid(row) {
                    (left[row], by[row]) = (false, opened.len());
                }
            }
            opened.push(Opened(Some(part)));
        }
        let parts: Vec<Values<'_>> = opened
            .iter()
            .flat_map(|part| &part.0)
            .map(|part| Values::new("the column", part))
            .collect::<Result<_, _>>()?;
        let plain = |row: usize| parts.get(by[row]).map(|part| part.get(row));
        let fault = |row: usize| match (plain(row), &aad) {
            (Some(plain), _) => (how.text && std::str::from_utf8(plain).is_err()).then_some(Fault::NotText),
            (None, Beside::Column(aad)) if left[row] && !aad.is_valid(row) => {
                Some(Fault::Null { column: AAD })
            }
            (None, _) => left[row].then_some(Fault::Authentication),
        };
        let failed: Vec<(usize, Fault)> =
            (0..values.len).filter_map(|row| fault(row).map(|fault| (row, fault))).collect();
        if let (OnError::Fail, Some((row, fault))) = (how.on_error, failed.first()) {
            return Err(Error::Row { row: *row as u64, fault: *fault });
        }
        let nulls = with_failed(values.nulls.clone(), values.len, &failed);
        let good =
            |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| plain(row)).flatten();
        let offsets =
            Offsets::new((0..values.len).map(|row| good(row).map_or(0, <[u8]>::len)), values.large)?;
        let mut bytes = Vec::with_capacity(offsets.get(values.len));
        (0..values.len).filter_map(good).for_each(|plain| bytes.extend_from_slice(plain));
        let content = if how.text { Content::Text } else { Content::Binary };
        Ok((offsets.column(content, bytes, nulls)?, failed))
    }

    /// The number of keys.
    #[allow(clippy::len_without_is_empty, reason = "a set is never empty")]
    pub fn len(&self) -> usize {
        self.keys.len()
    }
}

/// The values that one of the keys has opened, until they are copied to the result, or thrown away if a row fails. Zeroised on drop.
struct Opened(Option<ArrayData>);

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some(column) = self.0.take() {
            let wiped = wipe(column);
            debug_assert!(wiped, "the buffers have one owner");
        }
    }
}

/// Overwrites the buffers of a column that nobody else has, and returns true if all could be overwritten.
fn wipe(column: ArrayData) -> bool {
    let (_, _, _, _, buffers, _) = column.into_parts();
    buffers.into_iter().fold(true, |all, buffer| match buffer.into_mutable() {
        Ok(mut bytes) => {
            bytes.as_slice_mut().fill(0);
            optimization_barrier(bytes.as_slice());
            all
        }
        Err(_) => false,
    })
}

/// Tink's deterministic AEAD has one component of associated data, always.
fn component(aad: Parameter<'_>) -> Parameter<'_> {
    match aad {
        Parameter::None => Parameter::Constant(b""),
        other => other,
    }
}

/// Returns sealed values with a prefix each.
fn prefixed(sealed: &ArrayData, prefix: Prefix, encoding: Encoding) -> Result<ArrayData, Error> {
    let values = Values::new("the column", sealed)?;
    let (bytes, len) = prefix.bytes();
    let lengths = (0..values.len)
        .map(|row| if values.is_valid(row) { encoding.len(len + values.get(row).len()) } else { 0 });
    let offsets = Offsets::new(lengths, values.large)?;
    let (mut out, mut whole) = (offsets.room(), Vec::new());
    for row in (0..values.len).filter(|row| values.is_valid(*row)) {
        whole.clear();
        whole.extend_from_slice(&bytes[..len]);
        whole.extend_from_slice(values.get(row));
        encoding.write(&whole, &mut out[offsets.get(row)..offsets.get(row + 1)]);
    }
    let content = if encoding == Encoding::Binary { Content::Binary } else { Content::Text };
    offsets.column(content, out, values.nulls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_wiped_if_nobody_else_has_it() {
        let column = || from_values(&[Some(b"a plaintext"), None], false).unwrap();
        assert!(wipe(column()));
        let shared = column();
        assert!(!wipe(shared.clone()));
        drop(Opened(Some(shared)));
    }
}
