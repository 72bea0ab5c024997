//! Columns sealed and opened with AEADs: nonce, ciphertext and tag of each value, one behind the other.
//!
//! Ref. NIST SP 800-38D (GCM), RFC 8439 §2.8 (ChaCha20-Poly1305), C2SP XAES-256-GCM, RFC 8452 (GCM-SIV).

use std::fmt;

use arrow_data::ArrayData;
use millstream::chacha20poly1305::{ChaCha20Poly1305, ChaCha20Poly1305Job, ChaCha20Poly1305Lanes};
use millstream::gcm::{Gcm, GcmJob, GcmLanes};
use millstream::gcm_siv::{GcmSiv, GcmSivJob};
use millstream::xaes::{Xaes, XaesJob};
use millstream::{EngineError, InOut};

use crate::error::Error;
use crate::random::random;
use crate::room;
use crate::sealed::{Nonces, Open, Sealer, TAG, open, seal};
use crate::text::Encoding;
use crate::values::{Parameter, Values};

/// An AEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// AES-GCM with keys of 16 or 32 bytes (24 as well) and nonces of 12.
    AesGcm,
    /// ChaCha20-Poly1305 with keys of 32 bytes and nonces of 12.
    ChaCha20Poly1305,
    /// XAES-256-GCM with keys of 32 bytes and nonces of 24, which may be drawn at random for any number of values.
    XaesGcm,
    /// AES-GCM-SIV with keys of 16 or 32 bytes and nonces of 12, the only one that stands a nonce used twice.
    AesGcmSiv,
}

impl Cipher {
    /// Every cipher.
    pub const ALL: [Cipher; 4] =
        [Cipher::AesGcm, Cipher::ChaCha20Poly1305, Cipher::XaesGcm, Cipher::AesGcmSiv];

    /// Returns the name, as in `aes-gcm`.
    pub const fn name(self) -> &'static str {
        match self {
            Cipher::AesGcm => "aes-gcm",
            Cipher::ChaCha20Poly1305 => "chacha20-poly1305",
            Cipher::XaesGcm => "xaes-256-gcm",
            Cipher::AesGcmSiv => "aes-gcm-siv",
        }
    }

    /// Returns the cipher of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Cipher::ALL.into_iter().find(|cipher| cipher.name() == name)
    }
}

/// Parameters of sealing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seal<'a> {
    /// The associated data: not encrypted, and needed to open. Column name and primary key bind a value to its row.
    pub aad: Parameter<'a>,
    /// The nonces. [`Parameter::None`] draws one for each value, all in one call of a generator that was seeded for it. A column
    /// of nonces must not hold one twice, unless the cipher is [`Cipher::AesGcmSiv`], the only one that takes a constant too:
    /// equal values then become equal results.
    pub nonces: Parameter<'a>,
    /// The form of the results.
    pub encoding: Encoding,
}

/// A key of an AEAD for columns. Zeroised on drop.
///
/// Up to 2^32 values may be sealed with random nonces of 12 bytes under one key (NIST SP 800-38D §8.3), and any number with
/// [`Cipher::XaesGcm`].
///
/// ```
/// use arrow_array::{Array, BinaryArray, StringArray};
/// use millstream_columns::{Aead, Cipher, Open, Parameter, Seal};
///
/// let key = Aead::new(Cipher::AesGcm, &[7; 32])?;
/// let names = StringArray::from(vec![Some("Ada"), None, Some("Grace")]);
/// let aad = Parameter::Constant(b"customers.name");
/// let sealed = key.seal(&names.to_data(), &Seal { aad, ..Seal::default() })?;
/// assert_eq!(BinaryArray::from(sealed.clone()).value(0).len(), 12 + 3 + 16);
///
/// let opened = key.open(&sealed, &Open { aad, text: true, ..Open::default() })?;
/// assert_eq!(StringArray::from(opened), names);
///
/// let refused = key.open(&sealed, &Open::default()).unwrap_err();
/// assert!(refused.to_string().starts_with("row 0: authentication failed"));
/// # Ok::<(), millstream_columns::Error>(())
/// ```
pub struct Aead {
    key: Key,
}

enum Key {
    // The expanded keys are large, and of different sizes.
    AesGcm(Box<GcmKey>),
    ChaCha20Poly1305(Box<ChaChaKey>),
    XaesGcm(Box<Xaes>),
    AesGcmSiv(Box<GcmSiv>),
}

struct GcmKey {
    key: Gcm,
    lanes: GcmLanes,
}

struct ChaChaKey {
    key: ChaCha20Poly1305,
    lanes: ChaCha20Poly1305Lanes,
}

/// Does the same with whichever key it is.
macro_rules! each {
    ($key:expr, $sealer:ident => $result:expr) => {
        match $key {
            Key::AesGcm($sealer) => $result,
            Key::ChaCha20Poly1305($sealer) => $result,
            Key::XaesGcm($sealer) => $result,
            Key::AesGcmSiv($sealer) => $result,
        }
    };
}

impl Aead {
    /// A key.
    ///
    /// # Errors
    /// [`Error::Engine`] for a key of the wrong length.
    pub fn new(cipher: Cipher, key: &[u8]) -> Result<Self, Error> {
        let features = millstream::features()?;
        let key = match cipher {
            Cipher::AesGcm => Key::AesGcm(Box::new(GcmKey {
                key: Gcm::new(features, key)?,
                lanes: GcmLanes::new(features),
            })),
            Cipher::ChaCha20Poly1305 => Key::ChaCha20Poly1305(Box::new(ChaChaKey {
                key: ChaCha20Poly1305::new(features, key)?,
                lanes: ChaCha20Poly1305Lanes::new(features),
            })),
            Cipher::XaesGcm => Key::XaesGcm(Box::new(Xaes::new(features, key)?)),
            Cipher::AesGcmSiv => Key::AesGcmSiv(Box::new(GcmSiv::new(features, key)?)),
        };
        Ok(Aead { key })
    }

    /// The cipher.
    pub fn cipher(&self) -> Cipher {
        match self.key {
            Key::AesGcm(_) => Cipher::AesGcm,
            Key::ChaCha20Poly1305(_) => Cipher::ChaCha20Poly1305,
            Key::XaesGcm(_) => Cipher::XaesGcm,
            Key::AesGcmSiv(_) => Cipher::AesGcmSiv,
        }
    }

    /// Returns every value of `column` sealed: nonce, ciphertext and a tag of 16 bytes, as Binary, or text where an encoding is
    /// asked for. Spark's `aes_encrypt` in mode GCM has the same layout. A null stays null.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::Length`], [`Error::TooLarge`]; [`Error::Row`] where associated data or a nonce is null, or a nonce
    /// has the wrong length; [`Error::Parameter`] for a constant nonce.
    pub fn seal(&self, column: &ArrayData, how: &Seal<'_>) -> Result<ArrayData, Error> {
        each!(&self.key, sealer => seal_with(&**sealer, self.cipher(), column, how))
    }

    /// Returns every value of `column` opened: Binary, or Utf8 if `how` says so. A null stays null. The values are as
    /// [`Aead::seal`] makes them, without an encoding.
    ///
    /// # Errors
    /// [`Error::Type`], [`Error::Length`]; [`Error::Row`] where a value was not sealed under this key with this associated data, is
    /// not text although it should be, or has no associated data.
    pub fn open(&self, column: &ArrayData, how: &Open<'_>) -> Result<ArrayData, Error> {
        each!(&self.key, sealer => open(&**sealer, column, how))
    }
}

impl fmt::Debug for Aead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cipher().name())
    }
}

fn seal_with<S: Sealer>(
    sealer: &S,
    cipher: Cipher,
    column: &ArrayData,
    how: &Seal<'_>,
) -> Result<ArrayData, Error> {
    let nonces = match how.nonces {
        Parameter::None => {
            let mut nonces = room::zeros(column.len() * S::NONCE);
            random(&mut nonces)?;
            Nonces::Made(nonces)
        }
        Parameter::Constant(_) if cipher != Cipher::AesGcmSiv => {
            return Err(Error::Parameter {
                rule: "one nonce for all rows would break the key: give none, so that each row gets a random one, give a column \
                       of nonces, or use aes-gcm-siv",
            });
        }
        Parameter::Constant(nonce) => Nonces::Constant(nonce),
        Parameter::Column(nonces) if nonces.len() != column.len() => {
            return Err(Error::Length { column: "the nonce", given: nonces.len(), needed: column.len() });
        }
        Parameter::Column(nonces) => Nonces::Column(Values::new("the nonce", nonces)?),
    };
    seal(sealer, column, how.aad, &nonces, how.encoding)
}

/// The parts of a job that every engine's has.
macro_rules! fields {
    () => {
        fn tag<'j>(job: &'j mut Self::Job<'_>) -> &'j mut [u8; TAG] {
            &mut job.tag
        }

        fn output<'j>(job: &'j mut Self::Job<'_>) -> &'j mut [u8] {
            job.data.output()
        }

        fn result(job: &Self::Job<'_>) -> Result<(), EngineError> {
            job.result
        }
    };
}
pub(crate) use fields;

/// Returns the one component of associated data that an AEAD takes. None is the same as none of its bytes.
fn only<'a>(aad: &'a [&'a [u8]]) -> &'a [u8] {
    aad.first().copied().unwrap_or_default()
}

impl Sealer for GcmKey {
    type Job<'a> = GcmJob<'a>;

    const NONCE: usize = 12;
    const TAG_FIRST: bool = false;

    fn job<'a>(&'a self, nonce: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> GcmJob<'a> {
        GcmJob::new(&self.key, nonce, only(aad), data)
    }

    fn seal(&self, jobs: &mut [&mut GcmJob<'_>]) {
        self.lanes.seal(jobs);
    }

    fn open(&self, jobs: &mut [&mut GcmJob<'_>]) {
        self.lanes.open(jobs);
    }

    fields!();
}

impl Sealer for ChaChaKey {
    type Job<'a> = ChaCha20Poly1305Job<'a>;

    const NONCE: usize = 12;
    const TAG_FIRST: bool = false;

    fn job<'a>(&'a self, nonce: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> ChaCha20Poly1305Job<'a> {
        ChaCha20Poly1305Job::new(&self.key, nonce, only(aad), data)
    }

    fn seal(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        self.lanes.seal(jobs);
    }

    fn open(&self, jobs: &mut [&mut ChaCha20Poly1305Job<'_>]) {
        self.lanes.open(jobs);
    }

    fields!();
}

impl Sealer for Xaes {
    type Job<'a> = XaesJob<'a>;

    const NONCE: usize = 24;
    const TAG_FIRST: bool = false;

    fn job<'a>(&'a self, nonce: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> XaesJob<'a> {
        XaesJob::new(nonce, only(aad), data)
    }

    fn seal(&self, jobs: &mut [&mut XaesJob<'_>]) {
        self.seal_many(jobs);
    }

    fn open(&self, jobs: &mut [&mut XaesJob<'_>]) {
        self.open_many(jobs);
    }

    fields!();
}

impl Sealer for GcmSiv {
    type Job<'a> = GcmSivJob<'a>;

    const NONCE: usize = 12;
    const TAG_FIRST: bool = false;

    fn job<'a>(&'a self, nonce: &'a [u8], aad: &'a [&'a [u8]], data: InOut<'a>) -> GcmSivJob<'a> {
        GcmSivJob::new(nonce, only(aad), data)
    }

    fn seal(&self, jobs: &mut [&mut GcmSivJob<'_>]) {
        self.seal_many(jobs);
    }

    fn open(&self, jobs: &mut [&mut GcmSivJob<'_>]) {
        self.open_many(jobs);
    }

    fields!();
}
