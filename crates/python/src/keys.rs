//! Keys, prepared once, and what is done with columns under them.

use std::path::PathBuf;

use millstream::cwq::Algorithm;
#[cfg(feature = "ff1")]
use millstream::ff1::Alphabet;
use millstream::hash::Hash;
use millstream::isolated::Attach;
use millstream_columns::{
    Aead, ArrayData, Cipher, Encoding, Error, Fernet, Hmac, Isolated, Keyset, OnError, Open, Parameter, Seal,
    Siv, Token,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyMemoryView};

use crate::column::Column;
use crate::exceptions::raised;

/// A parameter of a call: nothing, the same bytes for all rows, or a column.
enum Given {
    None,
    Constant(Vec<u8>),
    Column,
}

/// Returns a parameter of a call, and the column if it is one.
fn given(object: Option<&Bound<'_, PyAny>>) -> PyResult<(Given, Option<Column>)> {
    match object {
        None => Ok((Given::None, None)),
        Some(object) => match object.cast::<PyBytes>() {
            Ok(bytes) => Ok((Given::Constant(bytes.as_bytes().to_vec()), None)),
            Err(_) if object.is_instance_of::<PyByteArray>() || object.is_instance_of::<PyMemoryView>() => {
                let bytes = object.py().get_type::<PyBytes>().call1((object,))?;
                Ok((Given::Constant(bytes.cast::<PyBytes>()?.as_bytes().to_vec()), None))
            }
            Err(_) => Ok((Given::Column, Some(Column::of(object)?))),
        },
    }
}

impl Given {
    fn parameter<'a>(&'a self, column: Option<&'a ArrayData>) -> Parameter<'a> {
        match (self, column) {
            (Given::Constant(bytes), _) => Parameter::Constant(bytes),
            (Given::Column, Some(column)) => Parameter::Column(column),
            _ => Parameter::None,
        }
    }
}

/// Returns the hash of that name, as in `sha256`.
pub fn hash_named(name: &str) -> PyResult<Hash> {
    Hash::from_name(name).ok_or_else(|| {
        let names = Hash::ALL.map(Hash::name).join(", ");
        PyValueError::new_err(format!("no hash is called {name:?}; there are {names}"))
    })
}

/// Returns the encoding of that name.
pub fn encoding(name: &str) -> PyResult<Encoding> {
    match name {
        "binary" => Ok(Encoding::Binary),
        "hex" => Ok(Encoding::Hex),
        "base64" => Ok(Encoding::Base64),
        other => Err(PyValueError::new_err(format!(
            "no encoding is called {other:?}; there are binary, hex and base64"
        ))),
    }
}

fn cipher_named(name: &str) -> PyResult<Cipher> {
    Cipher::from_name(name).ok_or_else(|| {
        let names = Cipher::ALL.map(Cipher::name).join(", ");
        PyValueError::new_err(format!("no algorithm is called {name:?}; there are {names}"))
    })
}

fn on_error(name: &str) -> PyResult<OnError> {
    match name {
        "raise" => Ok(OnError::Fail),
        "null" => Ok(OnError::Null),
        other => Err(PyValueError::new_err(format!("on_error is {other:?}; give \"raise\" or \"null\""))),
    }
}

/// A key of HMAC.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct HmacKey {
    key: Hmac,
}

#[pymethods]
impl HmacKey {
    #[new]
    fn new(py: Python<'_>, key: &[u8], hash: &str) -> PyResult<Self> {
        Ok(HmacKey { key: Hmac::new(hash_named(hash)?, key).map_err(|error| raised(py, error))? })
    }

    /// Returns the tag of each value.
    fn sign<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let encoding = self::encoding(encoding)?;
        Column::of(column)?.map(py, |column| self.key.sign(column, encoding))
    }
}

/// A key of an AEAD.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct AeadKey {
    key: Aead,
}

#[pymethods]
impl AeadKey {
    #[new]
    fn new(py: Python<'_>, key: &[u8], cipher: &str) -> PyResult<Self> {
        let key = Aead::new(cipher_named(cipher)?, key);
        Ok(AeadKey { key: key.map_err(|error| raised(py, error))? })
    }

    /// Seals each value.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        nonce: Option<Bound<'py, PyAny>>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        sealed(py, column, aad, nonce, encoding, |column, how| self.key.seal(column, how))
    }

    /// Opens each value.
    fn open<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        opened(py, column, aad, on_error, text, |column, how| self.key.open(column, how))
    }
}

/// A key of AES-SIV.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct SivKey {
    key: Siv,
}

#[pymethods]
impl SivKey {
    #[new]
    fn new(py: Python<'_>, key: &[u8]) -> PyResult<Self> {
        Ok(SivKey { key: Siv::new(key).map_err(|error| raised(py, error))? })
    }

    /// Seals each value.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let encoding = self::encoding(encoding)?;
        let (aad, aads) = given(aad.as_ref())?;
        Column::of(column)?
            .map_with(py, aads, None, |column, aads, _| self.key.seal(column, aad.parameter(aads), encoding))
    }

    /// Opens each value.
    fn open<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        opened(py, column, aad, on_error, text, |column, how| self.key.open(column, how))
    }
}

/// A key of a token of the service, whose bytes this process never has.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct IsolatedKey {
    key: Isolated,
}

#[pymethods]
impl IsolatedKey {
    #[new]
    fn new(
        py: Python<'_>,
        name: &str,
        pin: &[u8],
        socket: Option<PathBuf>,
        hash: &str,
        algorithm: Option<&str>,
    ) -> PyResult<Self> {
        let (options, hash) = (Attach { socket, ..Attach::default() }, hash_named(hash)?);
        let unknown = |name: &str| PyValueError::new_err(format!("no algorithm is called {name:?}"));
        let algorithm = algorithm.map(|name| Algorithm::from_name(name).ok_or_else(|| unknown(name)));
        let key = match algorithm.transpose()? {
            Some(algorithm) => py.detach(|| Isolated::attach_for(&options, name, pin, algorithm)),
            None => py.detach(|| Isolated::attach(&options, name, pin, hash)),
        };
        Ok(IsolatedKey { key: key.map_err(|error| raised(py, error))? })
    }

    /// The name of the key's algorithm, or of an HMAC's hash.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.key.algorithm().name()
    }

    /// Returns the tag of each value.
    fn sign<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let encoding = self::encoding(encoding)?;
        Column::of(column)?.map(py, |column| self.key.sign(column, encoding))
    }

    /// Seals each value.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        nonce: Option<Bound<'py, PyAny>>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        sealed(py, column, aad, nonce, encoding, |column, how| self.key.seal(column, how))
    }

    /// Opens each value.
    fn open<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        opened(py, column, aad, on_error, text, |column, how| self.key.open(column, how))
    }

    /// Encrypts each value with FF1.
    #[cfg(feature = "ff1")]
    fn encrypt_digits<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        alphabet: &str,
        tweak: Option<Bound<'py, PyAny>>,
        on_error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let alphabet = Alphabet::new(alphabet).map_err(|error| raised(py, error.into()))?;
        tweaked(py, column, tweak, on_error, |column, tweak, on_error| {
            self.key.encrypt_digits(column, &alphabet, tweak, on_error)
        })
    }

    /// Decrypts each value with FF1.
    #[cfg(feature = "ff1")]
    fn decrypt_digits<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        alphabet: &str,
        tweak: Option<Bound<'py, PyAny>>,
        on_error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let alphabet = Alphabet::new(alphabet).map_err(|error| raised(py, error.into()))?;
        tweaked(py, column, tweak, on_error, |column, tweak, on_error| {
            self.key.decrypt_digits(column, &alphabet, tweak, on_error)
        })
    }

    /// Makes a Fernet token of each value.
    fn encrypt_tokens<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        time: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Column::of(column)?.map(py, |column| self.key.encrypt_tokens(column, time))
    }

    /// Opens each Fernet token.
    fn decrypt_tokens<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        ttl: Option<u64>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let how = Token { ttl, on_error: self::on_error(on_error)?, text };
        Column::of(column)?.map(py, |column| self.key.decrypt_tokens(column, &how))
    }
}

/// A keyset of Tink.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct KeysetKey {
    keys: Keyset,
}

#[pymethods]
impl KeysetKey {
    #[new]
    fn new(py: Python<'_>, json: &[u8]) -> PyResult<Self> {
        Ok(KeysetKey { keys: Keyset::from_tink(json).map_err(|error| raised(py, error))? })
    }

    /// True for a keyset of AES-SIV.
    #[getter]
    fn deterministic(&self) -> bool {
        self.keys.is_deterministic()
    }

    /// Seals each value.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        encoding: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        sealed(py, column, aad, None, encoding, |column, how| self.keys.seal(column, how.aad, how.encoding))
    }

    /// Opens each value.
    fn open<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        aad: Option<Bound<'py, PyAny>>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        opened(py, column, aad, on_error, text, |column, how| self.keys.open(column, how))
    }
}

/// A key of FF1 with an alphabet.
#[cfg(feature = "ff1")]
#[pyclass(module = "millstream._millstream", frozen)]
pub struct FpeKey {
    key: millstream_columns::Fpe,
}

#[cfg(feature = "ff1")]
#[pymethods]
impl FpeKey {
    #[new]
    fn new(py: Python<'_>, key: &[u8], alphabet: &str) -> PyResult<Self> {
        let key = millstream_columns::Fpe::new(key, alphabet).map_err(|error| raised(py, error))?;
        Ok(FpeKey { key })
    }

    /// Encrypts each value.
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        tweak: Option<Bound<'py, PyAny>>,
        on_error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        tweaked(py, column, tweak, on_error, |column, tweak, on_error| {
            self.key.encrypt(column, tweak, on_error)
        })
    }

    /// Decrypts each value.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        tweak: Option<Bound<'py, PyAny>>,
        on_error: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        tweaked(py, column, tweak, on_error, |column, tweak, on_error| {
            self.key.decrypt(column, tweak, on_error)
        })
    }
}

/// A Fernet key.
#[pyclass(module = "millstream._millstream", frozen)]
pub struct FernetKey {
    key: Fernet,
}

#[pymethods]
impl FernetKey {
    #[new]
    fn new(py: Python<'_>, key: &str) -> PyResult<Self> {
        Ok(FernetKey { key: Fernet::new(key).map_err(|error| raised(py, error))? })
    }

    /// Makes a token of each value.
    fn encrypt<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        time: Option<u64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Column::of(column)?.map(py, |column| self.key.encrypt(column, time))
    }

    /// Opens each token.
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        column: &Bound<'py, PyAny>,
        ttl: Option<u64>,
        on_error: &str,
        text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let how = Token { ttl, on_error: self::on_error(on_error)?, text };
        Column::of(column)?.map(py, |column| self.key.decrypt(column, &how))
    }
}

/// Seals each value of a column with what the keyword arguments say.
fn sealed<'py>(
    py: Python<'py>,
    column: &Bound<'py, PyAny>,
    aad: Option<Bound<'py, PyAny>>,
    nonce: Option<Bound<'py, PyAny>>,
    encoding: &str,
    seal: impl Fn(&ArrayData, &Seal<'_>) -> Result<ArrayData, Error> + Sync + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let encoding = self::encoding(encoding)?;
    let ((aad, aads), (nonce, nonces)) = (given(aad.as_ref())?, given(nonce.as_ref())?);
    Column::of(column)?.map_with(py, aads, nonces, |column, aads, nonces| {
        seal(column, &Seal { aad: aad.parameter(aads), nonces: nonce.parameter(nonces), encoding })
    })
}

/// Opens each value of a column with what the keyword arguments say.
fn opened<'py>(
    py: Python<'py>,
    column: &Bound<'py, PyAny>,
    aad: Option<Bound<'py, PyAny>>,
    on_error: &str,
    text: bool,
    open: impl Fn(&ArrayData, &Open<'_>) -> Result<ArrayData, Error> + Sync + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let on_error = self::on_error(on_error)?;
    let (aad, aads) = given(aad.as_ref())?;
    Column::of(column)?.map_with(py, aads, None, |column, aads, _| {
        open(column, &Open { aad: aad.parameter(aads), on_error, text })
    })
}

/// Encrypts or decrypts each value of a column under its tweak.
#[cfg(feature = "ff1")]
fn tweaked<'py>(
    py: Python<'py>,
    column: &Bound<'py, PyAny>,
    tweak: Option<Bound<'py, PyAny>>,
    on_error: &str,
    crypt: impl Fn(&ArrayData, Parameter<'_>, OnError) -> Result<ArrayData, Error> + Sync + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let on_error = self::on_error(on_error)?;
    let (tweak, tweaks) = given(tweak.as_ref())?;
    Column::of(column)?
        .map_with(py, tweaks, None, |column, tweaks, _| crypt(column, tweak.parameter(tweaks), on_error))
}
