//! The extension module `millstream._millstream`: columns of Python's libraries through `millstream-columns`.
//!
//! The package around it (`python/millstream`) has the functions that users call, their documentation and types. What is here takes a
//! column through the Arrow PyCapsule interface, lets go of Python's lock, and gives a column back.
#![deny(unsafe_code)]

mod column;
mod exceptions;
mod files;
mod keys;
mod objects;

use millstream::hash::Hash;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use column::Column;
use exceptions::raised;
use keys::{encoding, hash_named};

/// The module of the compiled functions. `millstream` has them with documentation.
#[pymodule]
mod _millstream {
    #[pymodule_export]
    use super::column::{Array, ChunkedArray};
    #[pymodule_export]
    use super::exceptions::{AuthenticationError, ServiceError};
    #[pymodule_export]
    use super::files::{decrypt_file, encrypt_file};
    #[cfg(feature = "ff1")]
    #[pymodule_export]
    use super::keys::FpeKey;
    #[pymodule_export]
    use super::keys::{AeadKey, FernetKey, HmacKey, IsolatedKey, KeysetKey, SivKey};
    #[pymodule_export]
    use super::objects::Message;
    #[pymodule_export]
    use super::{caps, crc32c, digest, hashes, threads};
}

/// Returns the digests of a column.
#[pyfunction]
fn digest<'py>(
    py: Python<'py>,
    hash: &str,
    column: &Bound<'py, PyAny>,
    encoding: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let (hash, encoding) = (hash_named(hash)?, self::encoding(encoding)?);
    Column::of(column)?.map(py, |column| millstream_columns::digest(hash, column, encoding))
}

/// Returns the CRC32c of each value of a column.
#[pyfunction]
fn crc32c<'py>(py: Python<'py>, column: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Column::of(column)?.map(py, millstream_columns::crc32c)
}

/// Returns the names of the hashes.
#[pyfunction]
fn hashes() -> Vec<&'static str> {
    Hash::ALL.map(Hash::name).to_vec()
}

/// Returns the most threads that a call uses.
#[pyfunction]
fn threads(py: Python<'_>) -> PyResult<usize> {
    millstream_columns::threads().map_err(|error| raised(py, error))
}

/// Returns for each engine its name, the kernel that is used, and the reason.
#[pyfunction]
fn caps(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let features = millstream::features().map_err(|error| raised(py, error.into()))?;
    let engines = millstream::engines().map(|engine| {
        let kernel = engine.chosen(features);
        let entry = PyDict::new(py);
        entry.set_item("algorithm", engine.algorithm().name)?;
        entry.set_item("kernel", kernel.name)?;
        entry.set_item("note", kernel.note)?;
        Ok(entry)
    });
    engines.collect()
}
