//! Columns of Fernet tokens.
//!
//! Ref. the Fernet specification (github.com/fernet/spec), version 0x80.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow_data::ArrayData;
use millstream::fernet::{Age, Fernet as FernetKey, Value};

use crate::collect::collect;
use crate::dictionary::{is_dictionary, over_dictionary};
use crate::error::{Error, Fault};
use crate::random::random;
use crate::results::{Collected, Content, Offsets};
use crate::spread::{OnError, WINDOW, spread};
use crate::values::Values;

/// A Fernet key for columns. Zeroised on drop.
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use millstream_columns::{Fernet, Token};
///
/// let key = Fernet::new("cw_0x689RpI-jtRR7oE8h_eQsKImvJapLeSbXpwF4e4=")?;
/// let names = StringArray::from(vec!["Ada", "Grace"]);
/// let tokens = key.encrypt(&names.to_data(), None)?;
/// assert!(StringArray::from(tokens.clone()).value(0).starts_with("gAAAAA"));
///
/// let opened = key.decrypt(&tokens, &Token { text: true, ..Token::default() })?;
/// assert_eq!(StringArray::from(opened), names);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Fernet {
    key: Box<FernetKey>,
}

/// Parameters of decryption.
#[derive(Clone, Copy, Debug, Default)]
pub struct Token {
    /// The most seconds that a token lives; without it any time is right.
    pub ttl: Option<u64>,
    /// The fate of rows that are no token under this key, or too old.
    pub on_error: OnError,
    /// True if the values are text in UTF-8. The result is Utf8 then, and otherwise Binary.
    pub text: bool,
}

impl Fernet {
    /// A key as its holders keep it: 32 bytes in base64 for addresses.
    ///
    /// # Errors
    /// [`Error::Engine`] when it is not that.
    pub fn new(key: &str) -> Result<Self, Error> {
        Ok(Fernet { key: Box::new(FernetKey::new(millstream::features()?, key)?) })
    }

    /// Returns a token for every value of `column`, as Utf8. A null stays null. `time` is in seconds since 1970; without it the
    /// tokens tell the time of the call.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::TooLarge`].
    pub fn encrypt(&self, column: &ArrayData, time: Option<u64>) -> Result<ArrayData, Error> {
        let values = Values::new("the column", column)?;
        let time = time.unwrap_or_else(now);
        let mut ivs = vec![[0; 16]; values.len];
        random(ivs.as_flattened_mut())?;
        let token = |row| token_len(values.get(row).len());
        let lengths = (0..values.len).map(|row| if values.is_valid(row) { token(row) } else { 0 });
        let offsets = Offsets::new(lengths, values.large)?;
        let mut out = offsets.room();
        spread(offsets.split(&values, &mut out), |(rows, mut out)| {
            let rows: Vec<usize> = rows.filter(|row| values.is_valid(*row)).collect();
            for window in rows.chunks(WINDOW) {
                let values = window.iter().map(|row| Value { time, iv: ivs[*row], plain: values.get(*row) });
                for token in self.key.seal_many(&values.collect::<Vec<_>>()) {
                    let (place, rest) = std::mem::take(&mut out).split_at_mut(token.len());
                    place.copy_from_slice(token.as_bytes());
                    out = rest;
                }
            }
        })?;
        offsets.column(Content::Text, out, values.nulls)
    }

    /// Returns the value in every token of `column`: Binary, or Utf8 if `how` says so. A null stays null.
    ///
    /// # Errors
    /// [`Error::Type`]; [`Error::Row`] where a value is no token under this key, is too old, or was not made of text although it
    /// should be.
    pub fn decrypt(&self, column: &ArrayData, how: &Token) -> Result<ArrayData, Error> {
        if is_dictionary(column) {
            let each = Token { on_error: OnError::Null, ..*how };
            return over_dictionary(column, how.on_error, |values| self.decrypt_all(values, &each));
        }
        self.decrypt_all(column, how).map(|(column, _)| column)
    }

    fn decrypt_all(
        &self,
        column: &ArrayData,
        how: &Token,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let age = how.ttl.map(|ttl| Age { now: now(), ttl });
        let content = if how.text { Content::Text } else { Content::Binary };
        collect(&values, how.on_error, content, |rows, part: &mut Collected, failures| {
            let rows: Vec<usize> = rows.collect();
            for window in rows.chunks(WINDOW) {
                // A value that is no text becomes an empty token, which the engine refuses.
                let tokens = window.iter().map(|row| match values.is_valid(*row) {
                    true => std::str::from_utf8(values.get(*row)).unwrap_or_default(),
                    false => "",
                });
                let opened = self.key.open_many(&tokens.collect::<Vec<_>>(), age);
                for (row, value) in window.iter().zip(opened) {
                    let value = match value {
                        Ok(value) if how.text && std::str::from_utf8(&value).is_err() => Err(Fault::NotText),
                        Ok(value) => Ok(value),
                        Err(error) => Err(Fault::from(error)),
                    };
                    match value {
                        Ok(value) => part.push(&value),
                        Err(fault) => {
                            part.push(&[]);
                            if values.is_valid(*row) {
                                failures.note(*row, fault);
                            }
                        }
                    }
                }
            }
        })
    }
}

impl fmt::Debug for Fernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fernet")
    }
}

/// The characters of the token for a value: a head of 25 bytes, padding to whole blocks, and a tag of 32, in base64.
pub(crate) fn token_len(bytes: usize) -> usize {
    (25 + (bytes / 16 + 1) * 16 + 32).div_ceil(3) * 4
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
