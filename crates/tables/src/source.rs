//! Reading a table, batch by batch.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, ParquetMetaData};

use crate::error::Error;
use crate::format::Format;

/// The rows of a batch that is read from Parquet or CSV.
const ROWS: usize = 1 << 16;

/// The bytes in which the header of CSV must end.
const HEADER: usize = 1 << 20;

/// Options of reading a table.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The format; without it, what the first bytes tell.
    pub format: Option<Format>,
    /// The byte between the values of CSV.
    pub delimiter: u8,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { format: None, delimiter: b',' }
    }
}

type Batches = Box<dyn Iterator<Item = Result<RecordBatch, String>>>;

/// A table that is being read.
pub struct Table {
    format: Format,
    schema: SchemaRef,
    batches: Batches,
    progress: Progress,
    pub(crate) kept: Kept,
}

/// The properties of a file of Parquet that are kept when it is written again.
#[derive(Default)]
pub(crate) struct Kept {
    pub compression: Option<Compression>,
    pub pairs: Vec<KeyValue>,
}

/// The share of the file that was read.
enum Progress {
    /// The bytes are counted when they are read.
    Bytes(Arc<AtomicU64>),
    /// The file has this many parts, and these were read.
    Parts { all: u64, done: u64, bytes: u64 },
}

impl Table {
    /// Opens a table and reads its schema. The file is at its beginning.
    ///
    /// # Errors
    /// [`Error::Read`]; [`Error::Pipe`] for a format whose end is read first.
    pub fn open(mut file: File, how: &Reading) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::read(how.format.unwrap_or(Format::Csv), error);
        let found = file.metadata().map_err(failed)?;
        let mut head = vec![0; Format::BEGINNING];
        let length = fill(&mut file, &mut head).map_err(failed)?;
        head.truncate(length);
        let format = how.format.unwrap_or_else(|| Format::from_beginning(&head));
        if format.needs_seek() {
            if !found.is_file() {
                return Err(Error::Pipe(format));
            }
            file.seek(SeekFrom::Start(0)).map_err(failed)?;
        }
        match format {
            Format::Parquet => Table::parquet(file, found.len()),
            Format::Arrow => Table::arrow(file, found.len()),
            Format::ArrowStream => Table::arrow_stream(head, file),
            Format::Csv => Table::csv(head, file, how.delimiter),
        }
    }

    fn parquet(file: File, bytes: u64) -> Result<Self, Error> {
        let failed = |error| Error::read(Format::Parquet, error);
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
        let kept = Kept::of(builder.metadata());
        let all = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
        let schema = builder.schema().clone();
        let reader = builder.with_batch_size(ROWS).build().map_err(failed)?;
        let batches = Box::new(reader.map(|batch| batch.map_err(|error| error.to_string())));
        let progress = Progress::Parts { all, done: 0, bytes };
        Ok(Table { format: Format::Parquet, schema, batches, progress, kept })
    }

    fn arrow(file: File, bytes: u64) -> Result<Self, Error> {
        let reader = FileReader::try_new_buffered(file, None);
        let reader = reader.map_err(|error| Error::read(Format::Arrow, error))?;
        let (schema, all) = (reader.schema(), reader.num_batches() as u64);
        let batches = Box::new(reader.map(|batch| batch.map_err(|error| error.to_string())));
        let progress = Progress::Parts { all, done: 0, bytes };
        Ok(Table { format: Format::Arrow, schema, batches, progress, kept: Kept::default() })
    }

    fn arrow_stream(head: Vec<u8>, file: File) -> Result<Self, Error> {
        let (counted, read) = Counted::new(Cursor::new(head).chain(file));
        let reader = StreamReader::try_new_buffered(counted, None);
        let reader = reader.map_err(|error| Error::read(Format::ArrowStream, error))?;
        let schema = reader.schema();
        let batches = Box::new(reader.map(|batch| batch.map_err(|error| error.to_string())));
        let progress = Progress::Bytes(read);
        Ok(Table { format: Format::ArrowStream, schema, batches, progress, kept: Kept::default() })
    }

    fn csv(mut head: Vec<u8>, mut file: File, delimiter: u8) -> Result<Self, Error> {
        let failed = |error| Error::read(Format::Csv, error);
        let begun = head.len();
        head.resize(HEADER, 0);
        let more = fill(&mut file, &mut head[begun..]).map_err(|error| Error::read(Format::Csv, error))?;
        head.truncate(begun + more);
        let csv = arrow_csv::reader::Format::default().with_header(true).with_delimiter(delimiter);
        let (header, _) = csv.infer_schema(&head[..], Some(0)).map_err(failed)?;
        // A program that guesses types changes "007" to 7.
        let fields = header.fields().iter().map(|field| Field::new(field.name(), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        if schema.fields().is_empty() {
            return Err(Error::read(Format::Csv, "it is empty; its first line must name the columns"));
        }
        let (counted, read) = Counted::new(Cursor::new(head).chain(file));
        let reader = arrow_csv::ReaderBuilder::new(schema.clone());
        let reader = reader.with_header(true).with_delimiter(delimiter).with_batch_size(ROWS);
        let reader = reader.build(counted).map_err(failed)?;
        let batches = Box::new(reader.map(|batch| batch.map_err(|error| error.to_string())));
        let progress = Progress::Bytes(read);
        Ok(Table { format: Format::Csv, schema, batches, progress, kept: Kept::default() })
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the names and types of the columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the bytes of the file that were read, about.
    pub(crate) fn read(&self) -> u64 {
        match &self.progress {
            Progress::Bytes(read) => read.load(Ordering::Relaxed),
            Progress::Parts { all: 0, bytes, .. } => *bytes,
            Progress::Parts { all, done, bytes } => {
                u64::try_from(u128::from(*bytes) * u128::from(*done) / u128::from(*all)).unwrap_or(*bytes)
            }
        }
    }

    /// Reads the next batch.
    pub(crate) fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let batch = batch.map_err(|why| Error::read(self.format, why))?;
        if let Progress::Parts { done, .. } = &mut self.progress {
            *done += if self.format == Format::Parquet { batch.num_rows() as u64 } else { 1 };
        }
        Ok(Some(batch))
    }
}

impl Kept {
    fn of(metadata: &ParquetMetaData) -> Self {
        let compression =
            metadata.row_groups().first().and_then(|group| group.columns().first()).map(|c| c.compression());
        let pairs = metadata.file_metadata().key_value_metadata().cloned().unwrap_or_default();
        // The writer makes Arrow's own anew.
        let pairs =
            pairs.into_iter().filter(|pair| pair.key != parquet::arrow::ARROW_SCHEMA_META_KEY).collect();
        Kept { compression, pairs }
    }
}

/// A reader that counts.
struct Counted<R> {
    reader: R,
    read: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    fn new(reader: R) -> (Self, Arc<AtomicU64>) {
        let read = Arc::<AtomicU64>::default();
        (Counted { reader, read: read.clone() }, read)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.reader.read(buffer)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// Reads until the buffer is full or the file ends.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
