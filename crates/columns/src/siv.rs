//! Columns sealed deterministically with AES-SIV: tag and ciphertext of each value, one behind the other.
//!
//! Ref. RFC 5297; the layout is that of Tink's deterministic AEAD without a prefix.

use std::fmt;

use arrow_data::ArrayData;
use millstream::siv::{Siv as SivKey, SivJob};
use millstream::{EngineError, InOut};

use crate::aead::fields;
use crate::error::Error;
use crate::sealed::{Nonces, Open, Sealer, TAG, open, seal};
use crate::text::Encoding;
use crate::values::Parameter;

/// A key of AES-SIV for columns. Zeroised on drop.
///
/// Equal values with equal associated data become equal results, so tables can be joined by them. Whoever can have values
/// sealed, or sees many results, learns which are equal and how often each occurs.
///
/// ```
/// use arrow_array::{Array, BinaryArray, StringArray};
/// use millstream_columns::{Encoding, Open, Parameter, Siv};
///
/// let key = Siv::new(&[7; 64])?;
/// let names = StringArray::from(vec!["Ada", "Grace", "Ada"]);
/// let aad = Parameter::Constant(b"customers.name");
/// let sealed = key.seal(&names.to_data(), aad, Encoding::Binary)?;
/// let tokens = BinaryArray::from(sealed.clone());
/// assert_eq!(tokens.value(0), tokens.value(2));
///
/// let opened = key.open(&sealed, &Open { aad, text: true, ..Open::default() })?;
/// assert_eq!(StringArray::from(opened), names);
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Siv {
    key: Box<SivKey>,
}

impl Siv {
    /// A key of 32, 48 or 64 bytes: 64 is what Tink uses.
    ///
    /// # Errors
    /// [`Error::Engine`] for a key of another length.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        Ok(Siv { key: Box::new(SivKey::new(millstream::features()?, key)?) })
    }

    /// Returns every value of `column` sealed: a tag of 16 bytes and the ciphertext, as Binary, or text where an encoding is asked
    /// for. A null stays null. [`Parameter::None`] is associated data without a component; no bytes are one component, as
    /// in Tink.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::Length`], [`Error::TooLarge`]; [`Error::Row`] where associated data is null.
    pub fn seal(
        &self,
        column: &ArrayData,
        aad: Parameter<'_>,
        encoding: Encoding,
    ) -> Result<ArrayData, Error> {
        seal(&*self.key, column, aad, &Nonces::Made(Vec::new()), encoding)
    }

    /// Returns every value of `column` opened: Binary, or Utf8 if `how` says so. A null stays null.
    ///
    /// # Errors
    /// The errors of [`Aead::open`](crate::Aead::open).
    pub fn open(&self, column: &ArrayData, how: &Open<'_>) -> Result<ArrayData, Error> {
        open(&*self.key, column, how)
    }
}

impl fmt::Debug for Siv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("aes-siv")
    }
}

impl Sealer for SivKey {
    type Job<'a> = SivJob<'a>;

    const NONCE: usize = 0;
    const TAG_FIRST: bool = true;

    fn job<'a>(&'a self, _: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> SivJob<'a> {
        SivJob::new(aad, data)
    }

    fn seal(&self, jobs: &mut [&mut SivJob<'_>]) {
        self.seal_many(jobs);
    }

    fn open(&self, jobs: &mut [&mut SivJob<'_>]) {
        self.open_many(jobs);
    }

    fields!();
}
