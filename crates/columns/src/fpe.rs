//! Columns encrypted with their format preserved: text becomes other text of the same alphabet and length.
//!
//! Ref. NIST SP 800-38G Revision 1 (second draft) §5.1 (FF1).

use std::fmt;
use std::ops::Range;

use arrow_data::ArrayData;
use millstream::ff1::{Alphabet, Ff1, Ff1Job};
use zeroize::Zeroize;

use crate::collect::collect;
use crate::dictionary::{is_dictionary, over_dictionary};
use crate::error::{Error, Fault};
use crate::results::{Collected, Content};
use crate::spread::{Failures, OnError, WINDOW};
use crate::values::{Beside, Parameter, Values};

pub(crate) const TWEAK: &str = "the tweak";

/// A key of FF1 with an alphabet, for columns. Zeroised on drop.
///
/// A value needs so many characters that there are a million of its kind: six decimal digits. Nothing tells on decryption whether a
/// value was encrypted under this key and tweak. Patents may apply to FF1 in some places; the feature `ff1` leaves it out.
///
/// ```
/// use arrow_array::{Array, StringArray};
/// use millstream_columns::{Fpe, OnError, Parameter};
///
/// let key = Fpe::new(&[7; 32], "0123456789")?;
/// let cards = StringArray::from(vec![Some("4000123456789010"), None]);
/// let tweak = Parameter::Constant(b"orders.card");
/// let encrypted = key.encrypt(&cards.to_data(), tweak, OnError::Fail)?;
/// assert_eq!(StringArray::from(encrypted.clone()).value(0).len(), 16);
///
/// let decrypted = key.decrypt(&encrypted, tweak, OnError::Fail)?;
/// assert_eq!(StringArray::from(decrypted), cards);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Fpe {
    key: Box<Ff1>,
    alphabet: Alphabet,
}

impl Fpe {
    /// A key of 16, 24 or 32 bytes, and the characters that values are of, each once.
    ///
    /// # Errors
    /// [`Error::Engine`] for a key of another length, fewer than 2 or more than 65536 characters, or one that occurs twice.
    pub fn new(key: &[u8], alphabet: &str) -> Result<Self, Error> {
        let alphabet = Alphabet::new(alphabet)?;
        let key = Box::new(Ff1::new(millstream::features()?, key, alphabet.radix())?);
        Ok(Fpe { key, alphabet })
    }

    /// Returns every value of `column` encrypted, as Utf8. A null stays null. The tweak is public, and differs between columns.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::Length`]; [`Error::Row`] where a value has a character that is not of the alphabet, is too short or
    /// too long, or has no tweak.
    pub fn encrypt(
        &self,
        column: &ArrayData,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        self.crypt::<false>(column, tweak, on_error)
    }

    /// Returns every value of `column` decrypted, as Utf8. A null stays null.
    ///
    /// # Errors
    /// The errors of [`Fpe::encrypt`].
    pub fn decrypt(
        &self,
        column: &ArrayData,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        self.crypt::<true>(column, tweak, on_error)
    }

    fn crypt<const DECRYPT: bool>(
        &self,
        column: &ArrayData,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        if is_dictionary(column) && tweak.is_constant() {
            let each = |values: &ArrayData| self.all::<DECRYPT>(values, tweak, OnError::Null);
            return over_dictionary(column, on_error, each);
        }
        self.all::<DECRYPT>(column, tweak, on_error).map(|(column, _)| column)
    }

    fn all<const DECRYPT: bool>(
        &self,
        column: &ArrayData,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let tweaks = tweak.values(TWEAK, values.len)?;
        collect(&values, on_error, Content::Text, |rows, part, failures| {
            let mut memory = Memory::default();
            let end = rows.end;
            for begin in rows.step_by(WINDOW) {
                let window = begin..end.min(begin + WINDOW);
                self.window::<DECRYPT>(&values, &tweaks, window, &mut memory, part, failures);
            }
        })
    }

    fn window<const DECRYPT: bool>(
        &self,
        values: &Values<'_>,
        tweaks: &Beside<'_>,
        window: Range<usize>,
        memory: &mut Memory,
        part: &mut Collected,
        failures: &Failures,
    ) {
        let found = match self.read_together(values, tweaks, window.clone(), memory) {
            Some(found) => found,
            None => self.read_each(values, tweaks, window.clone(), memory, failures),
        };
        let mut rest = &mut memory.digits[..];
        let jobs = found.iter().map(|value| {
            let (digits, after) = std::mem::take(&mut rest).split_at_mut(value.digits);
            rest = after;
            Ff1Job::new(value.tweak, digits)
        });
        let mut jobs: Vec<Ff1Job<'_>> = jobs.collect();
        let mut references: Vec<&mut Ff1Job<'_>> = jobs.iter_mut().collect();
        if DECRYPT {
            self.key.decrypt_many(&mut references);
        } else {
            self.key.encrypt_many(&mut references);
        }
        let wrong = jobs.iter().any(|job| job.result.is_err());
        let results: Vec<_> = if wrong { jobs.iter().map(|job| job.result).collect() } else { Vec::new() };
        // ASCII has as many characters as there are digits.
        if !wrong && self.alphabet.push_ascii(&memory.digits, &mut part.bytes) {
            let mut found = found.iter().peekable();
            let len = |row| found.next_if(|value| value.row == row).map_or(0, |value| value.digits);
            part.lengths.extend(window.map(len));
            return;
        }
        self.write_each(window, &found, &results, memory, part, failures);
    }

    /// Writes the texts of a window's values one after the other, and notes those that have none. There are no results if all are right.
    fn write_each(
        &self,
        window: Range<usize>,
        found: &[Found<'_>],
        results: &[Result<(), millstream::EngineError>],
        memory: &mut Memory,
        part: &mut Collected,
        failures: &Failures,
    ) {
        let mut rest = &memory.digits[..];
        let mut made = found.iter().enumerate().peekable();
        for row in window {
            memory.text.clear();
            if let Some((at, value)) = made.next_if(|(_, value)| value.row == row) {
                let (digits, after) = rest.split_at(value.digits);
                rest = after;
                let result = results.get(at).copied().unwrap_or(Ok(()));
                if let Err(error) = result.and_then(|()| self.alphabet.push_text(digits, &mut memory.text)) {
                    failures.note(row, error.into());
                }
            }
            part.push(memory.text.as_bytes());
        }
    }

    /// Reads the digits of a window's values, all together. Returns nothing unless all characters are ASCII and of the alphabet, and each value
    /// has its tweak.
    fn read_together<'t>(
        &self,
        values: &Values<'_>,
        tweaks: &Beside<'t>,
        window: Range<usize>,
        memory: &mut Memory,
    ) -> Option<Vec<Found<'t>>> {
        let mut found = Vec::with_capacity(window.len());
        memory.digits.clear();
        memory.bytes.clear();
        for row in window.filter(|row| values.is_valid(*row)) {
            let (value, tweak) = (values.get(row), tweaks.get(TWEAK, row).ok()?);
            memory.bytes.extend_from_slice(value);
            found.push(Found { row, digits: value.len(), tweak: tweak.unwrap_or_default() });
        }
        self.alphabet.push_digits_of_ascii(&memory.bytes, &mut memory.digits).then_some(found)
    }

    /// Reads the digits of a window's values one after the other, and notes those that have none.
    fn read_each<'t>(
        &self,
        values: &Values<'_>,
        tweaks: &Beside<'t>,
        window: Range<usize>,
        memory: &mut Memory,
        failures: &Failures,
    ) -> Vec<Found<'t>> {
        let mut found = Vec::with_capacity(window.len());
        let digits = &mut memory.digits;
        digits.clear();
        for row in window.filter(|row| values.is_valid(*row)) {
            let before = digits.len();
            match self.digits(values.get(row), digits).and_then(|()| tweaks.get(TWEAK, row)) {
                Ok(tweak) => {
                    let tweak = tweak.unwrap_or_default();
                    found.push(Found { row, digits: digits.len() - before, tweak });
                }
                Err(fault) => {
                    digits.truncate(before);
                    failures.note(row, fault);
                }
            }
        }
        found
    }

    fn digits(&self, value: &[u8], digits: &mut Vec<u16>) -> Result<(), Fault> {
        let text = std::str::from_utf8(value).map_err(|_| Fault::NotText)?;
        Ok(self.alphabet.push_digits(text, digits)?)
    }
}

/// A value of a window: its row, the number of its digits, and its tweak.
struct Found<'t> {
    row: usize,
    digits: usize,
    tweak: &'t [u8],
}

/// Memory for the values of a window, and for the next one's. Zeroised on drop.
#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    digits: Vec<u16>,
    text: String,
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.bytes.zeroize();
        self.digits.zeroize();
        self.text.zeroize();
    }
}

impl fmt::Debug for Fpe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FF1, radix {}", self.alphabet.radix())
    }
}
