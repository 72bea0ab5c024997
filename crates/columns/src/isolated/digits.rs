//! FF1 under a key that is elsewhere: the digits of each value pass through the queue.

use arrow_data::ArrayData;
use millstream::EngineError;
use millstream::cwq::{Algorithm, ControlWord};
use millstream::ff1::{Alphabet, check_length};
use millstream::queue::{Done, Request};
use zeroize::{Zeroize, Zeroizing};

use super::Isolated;
use super::spans::Spans;
use crate::dictionary::{is_dictionary, over_dictionary};
use crate::error::{Error, Fault};
use crate::fpe::TWEAK;
use crate::results::Content;
use crate::spread::{Failures, OnError};
use crate::values::{Parameter, Values};

/// The most digits of a value.
const MOST_DIGITS: usize = ControlWord::MOST_FORMAT_BYTES as usize / 2;

/// The most bytes of a tweak, whose length a control word tells in one byte.
const MOST_TWEAK: usize = u8::MAX as usize;

impl Isolated {
    /// Returns every value of `column` encrypted with FF1, in the form of [`Fpe::encrypt`](crate::Fpe::encrypt): values of the
    /// alphabet, of at most 256 characters, and tweaks of at most 255 bytes.
    ///
    /// ```
    /// use arrow_array::{Array, StringArray};
    /// use millstream::cwq::Algorithm;
    /// use millstream::ff1::Alphabet;
    /// use millstream::queue::{Config, Queue};
    /// use millstream_columns::{Fpe, Isolated, OnError, Parameter};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let key = queue.import_key(Algorithm::AesFf1, &[7; 32])?;
    /// let (key, decimal) = (Isolated::over(queue, key), Alphabet::new("0123456789")?);
    ///
    /// let cards = StringArray::from(vec!["4000123456789010"]).to_data();
    /// let tweak = Parameter::Constant(b"customers.card");
    /// let tokens = key.encrypt_digits(&cards, &decimal, tweak, OnError::Fail)?;
    /// let here = Fpe::new(&[7; 32], "0123456789")?.encrypt(&cards, tweak, OnError::Fail)?;
    /// assert_eq!(StringArray::from(tokens), StringArray::from(here));
    /// # Ok::<(), millstream_columns::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`Fpe::encrypt`](crate::Fpe::encrypt); [`Error::Parameter`] for a key that is none of FF1; [`Error::Isolated`].
    pub fn encrypt_digits(
        &self,
        column: &ArrayData,
        alphabet: &Alphabet,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        self.crypt_digits::<false>(column, alphabet, tweak, on_error)
    }

    /// Returns every value of `column` decrypted. Nothing tells if it was encrypted under this key.
    ///
    /// # Errors
    /// The errors of [`Isolated::encrypt_digits`].
    pub fn decrypt_digits(
        &self,
        column: &ArrayData,
        alphabet: &Alphabet,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        self.crypt_digits::<true>(column, alphabet, tweak, on_error)
    }

    fn crypt_digits<const DECRYPT: bool>(
        &self,
        column: &ArrayData,
        alphabet: &Alphabet,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<ArrayData, Error> {
        if self.algorithm() != Algorithm::AesFf1 {
            return Err(Error::Parameter {
                rule: "the isolated key is none of FF1: name aes-ff1 as its algorithm",
            });
        }
        if is_dictionary(column) && tweak.is_constant() {
            let each =
                |values: &ArrayData| self.all_digits::<DECRYPT>(values, alphabet, tweak, OnError::Null);
            return over_dictionary(column, on_error, each);
        }
        self.all_digits::<DECRYPT>(column, alphabet, tweak, on_error).map(|(column, _)| column)
    }

    fn all_digits<const DECRYPT: bool>(
        &self,
        column: &ArrayData,
        alphabet: &Alphabet,
        tweak: Parameter<'_>,
        on_error: OnError,
    ) -> Result<(ArrayData, Vec<(usize, Fault)>), Error> {
        let values = Values::new("the column", column)?;
        let tweaks = tweak.values(TWEAK, values.len)?;
        let failures = Failures::new(on_error);
        let mut made = Spans::new(values.len);
        let (mut digits, mut bytes) = (Zeroizing::new(Vec::new()), Zeroizing::new(Vec::new()));
        let mut text = Zeroizing::new(String::new());
        let mut put = |row: usize, done: &Done| {
            let pairs = done.buffers.destination.as_deref().unwrap_or_default().as_chunks::<2>().0;
            let mut digits = Zeroizing::new(Vec::with_capacity(pairs.len()));
            digits.extend(pairs.iter().map(|pair| u16::from_le_bytes(*pair)));
            text.zeroize();
            alphabet.push_text(&digits, &mut text)?;
            made.put(row, text.as_bytes());
            Ok(())
        };
        self.pass(
            &values,
            &failures,
            |row, room| {
                let tweak = tweaks.get(TWEAK, row)?.unwrap_or_default();
                digits.zeroize();
                digits_of(alphabet, values.get(row), tweak, &mut digits)?;
                bytes.zeroize();
                bytes.extend(digits.iter().flat_map(|digit| digit.to_le_bytes()));
                let (source, destination) = (room.filled(&bytes)?, room.empty(bytes.len())?);
                let make = if DECRYPT { Request::decrypt_digits } else { Request::encrypt_digits };
                Ok(make(self.key, alphabet.radix(), tweak, source, destination))
            },
            &mut put,
        )?;
        made.column(&values, Content::Text, failures)
    }
}

/// Finds the digits of a value, which a control word has room for.
fn digits_of(alphabet: &Alphabet, value: &[u8], tweak: &[u8], digits: &mut Vec<u16>) -> Result<(), Fault> {
    let text = std::str::from_utf8(value).map_err(|_| Fault::NotText)?;
    alphabet.push_digits(text, digits)?;
    check_length(alphabet.radix(), digits.len())?;
    let algorithm = Algorithm::AesFf1.name();
    if digits.len() > MOST_DIGITS {
        let takes = "at most 256 characters under an isolated key";
        return Err(EngineError::DataLength { algorithm, given: digits.len() as u64, takes }.into());
    }
    if tweak.len() > MOST_TWEAK {
        let takes = "a tweak of at most 255 bytes under an isolated key";
        return Err(EngineError::NonceLength { algorithm, given: tweak.len(), takes }.into());
    }
    Ok(())
}
