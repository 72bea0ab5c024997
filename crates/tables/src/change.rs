//! Rewriting a table with some of its columns changed.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use arrow_array::builder::LargeBinaryBuilder;
use arrow_array::{Array, ArrayRef, RecordBatch, make_array, new_empty_array};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use base64ct::{Base64, Encoding as _};
use millstream_columns::{Encoding, Parameter};

use crate::error::Error;
use crate::format::Format;
use crate::sink::{Sink, Writing};
use crate::source::Table;

/// Metadata of a field that was sealed: `text` or `binary`, as its values were.
const VALUES: &str = "millstream:values";

/// Metadata of a field that says nothing of its type, and is kept.
const FIELD_ID: &str = parquet::arrow::PARQUET_FIELD_ID_META_KEY;

/// The associated data of each row.
#[derive(Clone, Copy, Debug, Default)]
pub enum Aad<'a> {
    /// There is none.
    #[default]
    None,
    /// The same bytes for every row.
    Constant(&'a [u8]),
    /// The value of another column, by its name.
    Column(&'a str),
}

/// The fate of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// They become others, as hashes or text in the same alphabet, of which the table notes nothing.
    Replaced,
    /// They are sealed, and the table notes if they were text.
    Sealed,
    /// They are opened. Where they are text, they are that encoding of bytes.
    Opened {
        /// The encoding.
        encoding: Encoding,
    },
}

/// A function of a column and the associated data of its rows. For values that are opened it is told, too, if they are to become text.
pub type Function<'a> =
    dyn Fn(&ArrayData, Parameter<'_>, bool) -> Result<ArrayData, millstream_columns::Error> + 'a;

/// The change of a table.
pub struct Change<'a> {
    columns: &'a [String],
    function: &'a Function<'a>,
    /// The fate of the values.
    pub values: Values,
    /// The associated data.
    pub aad: Aad<'a>,
    /// True if values are opened to text even where the table doesn't say that they were.
    pub text: bool,
}

impl<'a> Change<'a> {
    /// Changes the columns of these names by this function, which neither seals nor opens.
    pub fn new(columns: &'a [String], function: &'a Function<'a>) -> Self {
        Change { columns, function, values: Values::Replaced, aad: Aad::None, text: false }
    }
}

/// Writes a table with its changed columns, and returns its rows. `told` is told how many more bytes of the input were read.
///
/// # Errors
/// As [`Error`] says. What was written by then is no table.
pub fn rewrite(
    table: &mut Table,
    out: impl Write + Send,
    how: &Writing,
    change: &Change<'_>,
    told: &dyn Fn(u64),
) -> Result<u64, Error> {
    let format = how.format.unwrap_or(table.format());
    let mut places = Places::find(table.schema(), change)?;
    // A file of Arrow has one dictionary for a column, and the batches of others each have theirs.
    places.is_flat = format == Format::Arrow && table.format() != Format::Arrow;
    let schema = places.schema(table.schema(), change, format)?;
    let mut sink = Sink::new(out, format, how.delimiter, &schema, &table.kept, change.columns)?;
    let (mut rows, mut before) = (0, 0);
    while let Some(batch) = table.next()? {
        let columns = places.change(&batch, change, format, rows)?;
        let changed = RecordBatch::try_new(schema.clone(), columns);
        sink.write(&changed.map_err(|error| Error::write(format, error))?)?;
        rows += batch.num_rows() as u64;
        let read = table.read().max(before);
        told(read - before);
        before = read;
    }
    sink.finish()?;
    Ok(rows)
}

/// The places of the columns.
struct Places {
    changed: Vec<Place>,
    aad: Option<usize>,
    /// True if dictionaries are written as their values.
    is_flat: bool,
}

struct Place {
    at: usize,
    /// True if the values are to be text.
    text: bool,
}

impl Places {
    fn find(schema: &Schema, change: &Change<'_>) -> Result<Self, Error> {
        let aad = match change.aad {
            Aad::Column(name) => Some(find(schema, name)?),
            Aad::None | Aad::Constant(_) => None,
        };
        let mut changed: Vec<Place> = Vec::new();
        for name in change.columns {
            let at = find(schema, name)?;
            if aad == Some(at) || changed.iter().any(|place| place.at == at) {
                return Err(Error::Twice(name.clone()));
            }
            let field = schema.field(at);
            let text = match change.values {
                Values::Replaced => false,
                Values::Sealed => is_text(field.data_type()),
                Values::Opened { .. } => {
                    change.text || field.metadata().get(VALUES).is_some_and(|values| values == "text")
                }
            };
            changed.push(Place { at, text });
        }
        Ok(Places { changed, aad, is_flat: false })
    }

    /// Returns the schema of the changed table. Its types are those that the function gives to no values.
    fn schema(&self, before: &Schema, change: &Change<'_>, format: Format) -> Result<SchemaRef, Error> {
        let empty = before.fields().iter().map(|field| new_empty_array(field.data_type())).collect();
        let empty = RecordBatch::try_new(Arc::new(before.clone()), empty)
            .map_err(|error| Error::read(format, error))?;
        let columns = self.change(&empty, change, format, 0)?;
        let mut fields: Vec<_> = before.fields().iter().cloned().collect();
        for (field, column) in fields.iter_mut().zip(&columns) {
            if field.data_type() != column.data_type() {
                let flat = Field::clone(field).with_data_type(column.data_type().clone());
                *field = Arc::new(flat);
            }
        }
        for place in &self.changed {
            let field = &fields[place.at];
            let mut metadata: HashMap<String, String> =
                field.metadata().iter().filter(|(key, _)| *key == FIELD_ID).map(owned).collect();
            if change.values == Values::Sealed {
                metadata.insert(VALUES.into(), if place.text { "text" } else { "binary" }.into());
            }
            // A value that does not open may become null.
            let field = Field::new(field.name(), columns[place.at].data_type().clone(), true);
            fields[place.at] = Arc::new(field.with_metadata(metadata));
        }
        Ok(Arc::new(Schema::new_with_metadata(fields, before.metadata().clone())))
    }

    /// Returns the columns of a batch that begins at row `first`, with the changed ones in their places.
    fn change(
        &self,
        batch: &RecordBatch,
        change: &Change<'_>,
        format: Format,
        first: u64,
    ) -> Result<Vec<ArrayRef>, Error> {
        let aad = self.aad.map(|at| batch.column(at).to_data());
        let aad = match (change.aad, &aad) {
            (Aad::Constant(bytes), _) => Parameter::Constant(bytes),
            (_, Some(column)) => Parameter::Column(column),
            (_, None) => Parameter::None,
        };
        let mut columns = batch.columns().to_vec();
        for place in &self.changed {
            let name = batch.schema_ref().field(place.at).name();
            let mut column = batch.column(place.at).to_data();
            let failed = |error: millstream_columns::Error| Error::Column {
                name: name.clone(),
                error: error.from_row(first),
            };
            if let Values::Opened { encoding } = change.values
                && is_text(column.data_type())
            {
                column = decoded(&column, encoding, name, first)?;
            }
            let text = place.text || format.is_text();
            columns[place.at] = make_array((change.function)(&column, aad, text).map_err(failed)?);
        }
        if self.is_flat {
            for column in &mut columns {
                let values = flat(&column.to_data()).map_err(|error| Error::write(format, error))?;
                *column = make_array(values);
            }
        }
        Ok(columns)
    }
}

fn owned((key, value): (&String, &String)) -> (String, String) {
    (key.clone(), value.clone())
}

fn find(schema: &Schema, name: &str) -> Result<usize, Error> {
    let mut found = schema.fields().iter().enumerate().filter(|(_, field)| field.name() == name);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::ManyColumns(name.to_owned())),
        (None, _) => {
            let names = schema.fields().iter().map(|field| field.name().clone()).collect();
            Err(Error::NoColumn { name: name.to_owned(), names })
        }
    }
}

fn is_text(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Returns the bytes whose text is in a column.
fn decoded(column: &ArrayData, encoding: Encoding, name: &str, first: u64) -> Result<ArrayData, Error> {
    // A dictionary's places may lead to one value many times; each row is decoded.
    let column = flat(column).map_err(|error| Error::read(Format::Arrow, error))?;
    let values = millstream_columns::values(&column)
        .map_err(|error| Error::Column { name: name.to_owned(), error })?;
    let mut bytes = LargeBinaryBuilder::with_capacity(values.len(), 0);
    let mut room = Vec::new();
    for (row, value) in (first..).zip(values) {
        let Some(value) = value else {
            bytes.append_null();
            continue;
        };
        let refused = |encoding| Error::NotEncoded { name: name.to_owned(), row, encoding };
        room.clear();
        match encoding {
            Encoding::Binary => room.extend_from_slice(value),
            Encoding::Base64 => {
                room.resize(value.len(), 0);
                let length = Base64::decode(value, &mut room).map_err(|_| refused("base64"))?.len();
                room.truncate(length);
            }
            Encoding::Hex => unhex(value, &mut room).ok_or_else(|| refused("hex"))?,
        }
        bytes.append_value(&room);
    }
    Ok(bytes.finish().to_data())
}

/// Returns a dictionary's values in their places, and any other column as it is.
fn flat(column: &ArrayData) -> Result<ArrayData, ArrowError> {
    match column.data_type() {
        DataType::Dictionary(_, values) => {
            Ok(arrow_cast::cast(&make_array(column.clone()), values)?.to_data())
        }
        _ => Ok(column.clone()),
    }
}

/// Reads pairs of hexadecimal digits.
fn unhex(text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let (pairs, []) = text.as_chunks::<2>() else { return None };
    for [high, low] in pairs {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        bytes.push(u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()?);
    }
    Some(())
}
