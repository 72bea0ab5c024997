//! Columns that Python's libraries hand over, and those that they get back: the Arrow PyCapsule interface.
//!
//! Ref. the Arrow PyCapsule interface.
//!
//! # Safety
//! A capsule of the names that are asked for holds the structure of that name, as the interface demands of whoever makes one. What
//! the structure holds is then checked by `millstream_columns::c_data`. A structure is moved out of its capsule, which is left
//! with a released one.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::time::{Duration, Instant};

use millstream_columns::c_data::{
    FFI_ArrowArray, FFI_ArrowSchema, Stream, export, export_type, import, import_type,
};
use millstream_columns::{ArrayData, DataType, Error, from_values};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyList, PyString, PyTuple};

use crate::exceptions::raised;

/// A column: one array, or chunks one after another.
pub enum Column {
    /// One array.
    Array(ArrayData),
    /// Chunks of one type, one after another.
    Chunks {
        /// The type of each chunk.
        kind: DataType,
        /// The chunks.
        chunks: Vec<ArrayData>,
    },
}

impl Column {
    /// Takes a column over: anything with `__arrow_c_array__` or `__arrow_c_stream__`, or a list of bytes, texts and None.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        if object.hasattr("__arrow_c_array__")? {
            let pair = object.call_method0("__arrow_c_array__")?;
            let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
            let schema: NonNull<FFI_ArrowSchema> = schema.pointer_checked(Some(c"arrow_schema"))?.cast();
            let array: NonNull<FFI_ArrowArray> = array.pointer_checked(Some(c"arrow_array"))?.cast();
            // SAFETY: capsules of these names hold these structures.
            let (schema, array) = unsafe {
                (FFI_ArrowSchema::from_raw(schema.as_ptr()), FFI_ArrowArray::from_raw(array.as_ptr()))
            };
            // SAFETY: whoever made the capsule vouches for the length of its buffers.
            let column = import_type(&schema).and_then(|kind| unsafe { import(array, &kind) });
            return column.map(Column::Array).map_err(|error| raised(py, error));
        }
        if object.hasattr("__arrow_c_stream__")? {
            let capsule = object.call_method0("__arrow_c_stream__")?;
            let capsule = capsule.cast::<PyCapsule>()?;
            let stream: NonNull<Stream> = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast();
            // SAFETY: capsules of this name hold this structure.
            let mut stream = unsafe { Stream::from_raw(stream.as_ptr()) };
            return chunks(&mut stream).map_err(|error| raised(py, error));
        }
        if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
            return Column::of_values(object);
        }
        Err(PyTypeError::new_err(format!(
            "a column is needed, and {} is none: give an array of PyArrow, Polars, DuckDB, DataFusion or pandas (anything with \
             __arrow_c_array__ or __arrow_c_stream__), or a list of bytes or str",
            object.get_type().name()?
        )))
    }

    /// Makes a column of a list's bytes, or of its texts.
    fn of_values(list: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = list.py();
        let objects: Vec<Bound<'_, PyAny>> = list.try_iter()?.collect::<PyResult<_>>()?;
        let text = objects
            .iter()
            .find(|object| !object.is_none())
            .is_some_and(|first| first.is_instance_of::<PyString>());
        // Texts as bytes, and bytes of whatever has a buffer, are held here while the column is made.
        let held: Vec<Option<Bound<'_, PyBytes>>> = objects
            .iter()
            .map(|object| match object.cast::<PyBytes>() {
                _ if object.is_none() => Ok(None),
                Ok(bytes) if !text => Ok(Some(bytes.clone())),
                Err(_) if text && object.is_instance_of::<PyString>() => {
                    Ok(Some(object.call_method1("encode", ("utf-8",))?.cast_into::<PyBytes>()?))
                }
                Err(_) if !text && (object.hasattr("__len__")? && !object.is_instance_of::<PyString>()) => {
                    Ok(Some(py.get_type::<PyBytes>().call1((object,))?.cast_into::<PyBytes>()?))
                }
                _ => Err(PyTypeError::new_err(
                    "a list of bytes alone, or of str alone, is needed, with None for nulls",
                )),
            })
            .collect::<PyResult<_>>()?;
        let values: Vec<Option<&[u8]>> =
            held.iter().map(|value| value.as_ref().map(|v| v.as_bytes())).collect();
        from_values(&values, text).map(Column::Array).map_err(|error| raised(py, error))
    }

    /// Returns the rows.
    fn len(&self) -> usize {
        match self {
            Column::Array(array) => array.len(),
            Column::Chunks { chunks, .. } => chunks.iter().map(ArrayData::len).sum(),
        }
    }

    /// Returns the column that `f` makes of each chunk, without Python's lock.
    pub fn map<'py>(
        self,
        py: Python<'py>,
        f: impl Fn(&ArrayData) -> Result<ArrayData, Error> + Sync + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.map_with(py, None, None, |column, _, _| f(column))
    }

    /// Returns the column that `f` makes of each chunk and the same rows of other columns, without Python's lock.
    pub fn map_with<'py>(
        self,
        py: Python<'py>,
        first: Option<Column>,
        second: Option<Column>,
        f: impl Fn(&ArrayData, Option<&ArrayData>, Option<&ArrayData>) -> Result<ArrayData, Error> + Sync + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let rows = self.len();
        for other in first.iter().chain(&second) {
            if other.len() != rows {
                return Err(PyValueError::new_err(format!(
                    "another column has {} rows where the column has {rows}",
                    other.len()
                )));
            }
        }
        let result = py.detach(move || match (self, first, second) {
            (Column::Array(column), None, None) => Ok(f(&column, None, None).map(Column::Array)?),
            (column, first, second) => column.map_chunks(first, second, f),
        });
        match result {
            Ok(Column::Array(data)) => Ok(Bound::new(py, Array { data })?.into_any()),
            Ok(Column::Chunks { kind, chunks }) => {
                Ok(Bound::new(py, ChunkedArray { kind, chunks })?.into_any())
            }
            Err(Stopped::Failed(error)) => Err(raised(py, error)),
            Err(Stopped::Signal(raised)) => Err(raised),
        }
    }

    /// Does the work on the chunks one after the other, and looks for signals between them: whoever presses Ctrl-C does not wait for all.
    fn map_chunks(
        self,
        first: Option<Column>,
        second: Option<Column>,
        f: impl Fn(&ArrayData, Option<&ArrayData>, Option<&ArrayData>) -> Result<ArrayData, Error>,
    ) -> Result<Column, Stopped> {
        let whole = matches!(self, Column::Array(_));
        let kind = match &self {
            Column::Array(data) => data.data_type().clone(),
            Column::Chunks { kind, .. } => kind.clone(),
        };
        let (chunks, first, second) =
            (self.into_chunks(), first.map(Column::into_chunks), second.map(Column::into_chunks));
        let (mut first, mut second) = (first.map(Parts::new), second.map(Parts::new));
        let (mut results, mut row) = (Vec::with_capacity(chunks.len()), 0u64);
        let mut looked = Instant::now();
        for chunk in chunks {
            let mut begin = 0;
            while begin < chunk.len() || (whole && results.is_empty()) {
                // The chunks of the other columns may end elsewhere.
                let rest = chunk.len() - begin;
                let len = [&mut first, &mut second]
                    .into_iter()
                    .flatten()
                    .fold(rest, |len, part| len.min(part.left()));
                let part = chunk.slice(begin, len);
                let (a, b) = (first.as_mut().map(|f| f.take(len)), second.as_mut().map(|s| s.take(len)));
                results.push(f(&part, a.as_ref(), b.as_ref()).map_err(|error| error.from_row(row))?);
                (begin, row) = (begin + len, row + len as u64);
                if looked.elapsed() >= PATIENCE {
                    Python::attach(|py| py.check_signals()).map_err(Stopped::Signal)?;
                    looked = Instant::now();
                }
            }
        }
        if let (true, 1) = (whole, results.len()) {
            return Ok(Column::Array(results.swap_remove(0)));
        }
        // An empty column shows which type the results would have.
        let kind = match results.first() {
            Some(first) => first.data_type().clone(),
            None => {
                let [none, beside] = [ArrayData::new_empty(&kind), ArrayData::new_empty(&DataType::Binary)];
                let (a, b) = (first.is_some().then_some(&beside), second.is_some().then_some(&beside));
                f(&none, a, b)?.data_type().clone()
            }
        };
        Ok(Column::Chunks { kind, chunks: results })
    }

    fn into_chunks(self) -> Vec<ArrayData> {
        match self {
            Column::Array(data) => vec![data],
            Column::Chunks { chunks, .. } => chunks,
        }
    }
}

/// The time for which signals may wait while chunks follow each other.
const PATIENCE: Duration = Duration::from_millis(100);

/// The reason why a column was not finished.
enum Stopped {
    Failed(Error),
    /// A handler of a signal has raised this.
    Signal(PyErr),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Stopped::Failed(error)
    }
}

/// The rows of chunks that were not taken yet.
struct Parts {
    chunks: std::vec::IntoIter<ArrayData>,
    now: Option<ArrayData>,
}

impl Parts {
    fn new(chunks: Vec<ArrayData>) -> Self {
        Parts { chunks: chunks.into_iter(), now: None }
    }

    /// Returns the rows left of the next chunk that has some, or 0 at the end.
    fn left(&mut self) -> usize {
        while self.now.as_ref().is_none_or(ArrayData::is_empty) {
            self.now = self.chunks.next();
            if self.now.is_none() {
                return 0;
            }
        }
        self.now.as_ref().map_or(0, ArrayData::len)
    }

    /// Takes the next rows, no more than are left of the chunk.
    fn take(&mut self, len: usize) -> ArrayData {
        match self.now.take() {
            Some(now) => {
                let (part, rest) = (now.slice(0, len), now.slice(len, now.len() - len));
                self.now = Some(rest);
                part
            }
            None => ArrayData::new_empty(&DataType::Binary),
        }
    }
}

fn chunks(stream: &mut Stream) -> Result<Column, Error> {
    let kind = stream.kind()?;
    let mut chunks = Vec::new();
    // SAFETY: whoever made the stream vouches for the length of its buffers.
    while let Some(chunk) = unsafe { stream.next(&kind) }? {
        chunks.push(chunk);
    }
    Ok(Column::Chunks { kind, chunks })
}

/// A column of one array, for every library with the Arrow PyCapsule interface: `pyarrow.array(it)`, `polars.Series(it)`.
#[pyclass(module = "millstream", frozen)]
pub struct Array {
    data: ArrayData,
}

type Capsules<'py> = (Bound<'py, PyCapsule>, Bound<'py, PyCapsule>);

#[pymethods]
impl Array {
    /// Returns the capsules of the type and of the array.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Capsules<'py>> {
        // A consumer may wish for another type, and has to take the one that there is.
        let _ = requested_schema;
        let (array, schema) = export(&self.data).map_err(|error| raised(py, error))?;
        Ok((
            PyCapsule::new_with_value(py, schema, c"arrow_schema")?,
            PyCapsule::new_with_value(py, array, c"arrow_array")?,
        ))
    }

    /// Returns the capsule of the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema(py, self.data.data_type())
    }

    fn __len__(&self) -> usize {
        self.data.len()
    }

    fn __repr__(&self) -> String {
        format!("<millstream.Array of {} rows, {}>", self.data.len(), self.data.data_type())
    }

    /// Returns the values as a list of bytes, str, or int, with None for nulls.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        append(py, &self.data, &list)?;
        Ok(list)
    }
}

/// A column in chunks, for every library with the Arrow PyCapsule interface: `pyarrow.chunked_array(it)`, `polars.Series(it)`.
#[pyclass(module = "millstream", frozen)]
pub struct ChunkedArray {
    kind: DataType,
    chunks: Vec<ArrayData>,
}

#[pymethods]
impl ChunkedArray {
    /// Returns the capsule of a stream of the chunks. Each call begins anew.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        PyCapsule::new_with_value(
            py,
            Stream::new(self.kind.clone(), self.chunks.clone()),
            c"arrow_array_stream",
        )
    }

    /// Returns the capsule of the type.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema(py, &self.kind)
    }

    fn __len__(&self) -> usize {
        self.chunks.iter().map(ArrayData::len).sum()
    }

    fn __repr__(&self) -> String {
        format!("<millstream.ChunkedArray of {} rows, {}>", self.__len__(), self.kind)
    }

    /// Returns the values as a list of bytes, str, or int, with None for nulls.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        self.chunks.iter().try_for_each(|chunk| append(py, chunk, &list))?;
        Ok(list)
    }
}

fn schema<'py>(py: Python<'py>, kind: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = export_type(kind).map_err(|error| raised(py, error))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Appends a column's values to a list.
fn append<'py>(py: Python<'py>, data: &ArrayData, list: &Bound<'py, PyList>) -> PyResult<()> {
    if *data.data_type() == DataType::UInt32 {
        let numbers = &data.buffers()[0].typed_data::<u32>()[data.offset()..][..data.len()];
        return numbers
            .iter()
            .enumerate()
            .try_for_each(|(row, number)| list.append(data.is_valid(row).then_some(*number)));
    }
    let text = matches!(data.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let values = millstream_columns::values(data).map_err(|error| raised(py, error))?;
    for value in values {
        match value {
            None => list.append(py.None())?,
            Some(bytes) if text => list.append(PyString::new(
                py,
                std::str::from_utf8(bytes).map_err(|_| PyValueError::new_err("a text that is not UTF-8"))?,
            ))?,
            Some(bytes) => list.append(PyBytes::new(py, bytes))?,
        }
    }
    Ok(())
}
