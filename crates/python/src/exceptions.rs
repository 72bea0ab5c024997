//! The exceptions: `ValueError`, for values that do not authenticate a subclass of it, and those of the service.

use millstream_columns::{Error, Fault};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    millstream,
    AuthenticationError,
    PyValueError,
    "A value was changed, or was sealed with another key or other associated data. `row` is the first such row, or None."
);

pyo3::create_exception!(
    millstream,
    ServiceError,
    PyRuntimeError,
    "The service can not be reached, has no such key, refuses what was asked, or has ended."
);

/// Returns the exception for an error. One about a row has the number of the row as its attribute `row`.
pub fn raised(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    let (raised, row) = match error {
        Error::Row { row, fault: Fault::Authentication | Fault::TooShort { .. } } => {
            (AuthenticationError::new_err(message), Some(row))
        }
        Error::Row { row, .. } => (PyValueError::new_err(message), Some(row)),
        Error::Isolated(_) | Error::Name { .. } => (ServiceError::new_err(message), None),
        Error::Type { .. } => (PyTypeError::new_err(message), None),
        _ => (PyValueError::new_err(message), None),
    };
    match raised.value(py).setattr("row", row) {
        Ok(()) => raised,
        Err(other) => other,
    }
}
