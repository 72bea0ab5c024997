//! Writing a table, batch by batch.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::error::Error;
use crate::format::Format;
use crate::source::Kept;

/// The bytes of a group of rows of Parquet, which is held until it is full.
const GROUP: usize = 128 << 20;

/// Options of writing a table.
#[derive(Clone, Debug)]
pub struct Writing {
    /// The format; without it, the one that was read.
    pub format: Option<Format>,
    /// The byte between the values of CSV.
    pub delimiter: u8,
}

impl Default for Writing {
    fn default() -> Self {
        Writing { format: None, delimiter: b',' }
    }
}

/// A table that is being written.
pub(crate) enum Sink<W: Write + Send> {
    Parquet(Box<ArrowWriter<W>>),
    Arrow(FileWriter<W>),
    ArrowStream(StreamWriter<W>),
    Csv(arrow_csv::Writer<W>),
}

impl<W: Write + Send> Sink<W> {
    /// Begins a table. The columns that were changed are written without statistics and dictionaries, which would be as large as they are.
    pub fn new(
        out: W,
        format: Format,
        delimiter: u8,
        schema: &SchemaRef,
        kept: &Kept,
        changed: &[String],
    ) -> Result<Self, Error> {
        let failed = |error| Error::write(format, error);
        Ok(match format {
            Format::Parquet => {
                let properties = properties(kept, changed);
                let writer = ArrowWriter::try_new(out, schema.clone(), Some(properties));
                Sink::Parquet(Box::new(writer.map_err(|error| Error::write(format, error))?))
            }
            Format::Arrow => Sink::Arrow(FileWriter::try_new(out, schema).map_err(failed)?),
            Format::ArrowStream => Sink::ArrowStream(StreamWriter::try_new(out, schema).map_err(failed)?),
            Format::Csv => {
                let mut writer =
                    arrow_csv::WriterBuilder::new().with_header(true).with_delimiter(delimiter).build(out);
                // A table without rows has its header all the same.
                writer.write(&RecordBatch::new_empty(schema.clone())).map_err(failed)?;
                Sink::Csv(writer)
            }
        })
    }

    /// Writes a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        match self {
            Sink::Parquet(writer) => {
                let failed = |error| Error::write(Format::Parquet, error);
                writer.write(batch).map_err(failed)?;
                if writer.in_progress_size() >= GROUP {
                    writer.flush().map_err(failed)?;
                }
                Ok(())
            }
            Sink::Arrow(writer) => writer.write(batch).map_err(|error| Error::write(Format::Arrow, error)),
            Sink::ArrowStream(writer) => {
                writer.write(batch).map_err(|error| Error::write(Format::ArrowStream, error))
            }
            Sink::Csv(writer) => writer.write(batch).map_err(|error| Error::write(Format::Csv, error)),
        }
    }

    /// Ends the table.
    pub fn finish(self) -> Result<(), Error> {
        match self {
            Sink::Parquet(writer) => {
                writer.close().map(drop).map_err(|error| Error::write(Format::Parquet, error))
            }
            Sink::Arrow(mut writer) => writer.finish().map_err(|error| Error::write(Format::Arrow, error)),
            Sink::ArrowStream(mut writer) => {
                writer.finish().map_err(|error| Error::write(Format::ArrowStream, error))
            }
            Sink::Csv(writer) => {
                writer.into_inner().flush().map_err(|error| Error::write(Format::Csv, error))
            }
        }
    }
}

fn properties(kept: &Kept, changed: &[String]) -> WriterProperties {
    let compression = kept.compression.unwrap_or(Compression::SNAPPY);
    let mut properties = WriterProperties::builder().set_compression(compression);
    if !kept.pairs.is_empty() {
        properties = properties.set_key_value_metadata(Some(kept.pairs.clone()));
    }
    for name in changed {
        let path = ColumnPath::new(vec![name.clone()]);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    properties.build()
}
