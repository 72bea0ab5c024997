//! Files encrypted and decrypted as streams of Tink, over all processors.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::path::{Path, PathBuf};

use millstream_files::keyset;
use millstream_files::pipeline;
use millstream_files::tink::{self, Key};
use millstream_files::{Error, Job, Pieces};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::exceptions::{AuthenticationError, raised};

/// Encrypts one file to another, which must be there and empty.
#[pyfunction]
pub fn encrypt_file(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    key: &[u8],
    aad: &[u8],
) -> PyResult<()> {
    let features = millstream::features().map_err(|error| raised(py, error.into()))?;
    let threads = threads(py)?;
    let done = py.detach(|| {
        let keys = keys(key)?;
        let job = tink::seal(features, &keys[0], aad)?;
        run(job, File::open(&source).map_err(Error::Read)?, &target, threads)
    });
    done.map_err(refused)
}

/// Decrypts one file to another, which must be there and empty.
#[pyfunction]
pub fn decrypt_file(
    py: Python<'_>,
    source: PathBuf,
    target: PathBuf,
    key: &[u8],
    aad: &[u8],
) -> PyResult<()> {
    let features = millstream::features().map_err(|error| raised(py, error.into()))?;
    let threads = threads(py)?;
    let done = py.detach(|| {
        let keys = keys(key)?;
        let key = match &keys[..] {
            [key] => key,
            _ => tink::key_for(features, &keys, &head(&source, &keys)?, aad).unwrap_or(&keys[0]),
        };
        let mut file = File::open(&source).map_err(Error::Read)?;
        let job = tink::open(features, &mut file, key, aad)?;
        run(job, file, &target, threads)
    });
    done.map_err(refused)
}

fn threads(py: Python<'_>) -> PyResult<usize> {
    millstream_columns::threads().map_err(|error| raised(py, error))
}

/// Returns the keys of a keyset, the primary one first, or the one of 32 bytes.
fn keys(bytes: &[u8]) -> Result<Vec<Key>, Error> {
    if keyset::is_keyset(bytes) { keyset::parse(bytes) } else { Key::new(bytes).map(|key| vec![key]) }
}

/// Returns the beginning of a file, from which the one of several keys is found that it was encrypted with.
fn head(path: &Path, keys: &[Key]) -> Result<Vec<u8>, Error> {
    let most = keys.iter().map(|key| key.parameters().segment_bytes).max().unwrap_or_default() + 1;
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::Read)?;
    file.take(most as u64).read_to_end(&mut head).map_err(Error::Read)?;
    Ok(head)
}

fn run(job: Job, from: File, to: &Path, threads: usize) -> Result<(), Error> {
    let mut to = OpenOptions::new().write(true).open(to).map_err(Error::Write)?;
    let Job { header, cut, pieces } = job;
    let workers = match pieces {
        Pieces::Chained(worker) => vec![worker],
        Pieces::Independent { worker, .. } => (0..threads).map(|_| worker()).collect(),
    };
    std::io::Write::write_all(&mut to, &header).map_err(Error::Write)?;
    pipeline::run(from, to, cut, workers, &|_| {})
}

fn refused(error: Error) -> PyErr {
    match error {
        // An error of the system becomes the exception for its number, as FileNotFoundError.
        Error::Read(error) | Error::Write(error) => error.into(),
        Error::Tampered { .. } | Error::Truncated | Error::CutOff => {
            AuthenticationError::new_err(error.to_string())
        }
        Error::Random(_) => PyOSError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}
