//! The formats of files, and how they are told from each other.

use std::fmt;
use std::path::Path;

/// A format of tables in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// The file of Arrow's IPC format, also called Feather 2.
    Arrow,
    /// The stream of Arrow's IPC format.
    ArrowStream,
    /// Comma-separated values (RFC 4180) with a header; every value is text.
    Csv,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Parquet, Format::Arrow, Format::ArrowStream, Format::Csv];

    /// The bytes at the beginning of a file by which its format is known.
    pub(crate) const BEGINNING: usize = 6;

    /// Returns the name, as in `parquet`.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::ArrowStream => "arrows",
            Format::Csv => "csv",
        }
    }

    /// Returns the format of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns the format that the end of a file's name stands for.
    pub fn from_path(path: &Path) -> Option<Self> {
        let end = path.extension()?.to_str()?.to_ascii_lowercase();
        match &*end {
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "feather" | "ipc" => Some(Format::Arrow),
            "arrows" => Some(Format::ArrowStream),
            "csv" | "tsv" => Some(Format::Csv),
            _ => None,
        }
    }

    /// Returns the format of a file that begins with these bytes.
    pub fn from_beginning(bytes: &[u8]) -> Self {
        if bytes.starts_with(b"PAR1") {
            Format::Parquet
        } else if bytes.starts_with(b"ARROW1") {
            Format::Arrow
        } else if bytes.starts_with(&[0xff; 4]) {
            Format::ArrowStream
        } else {
            Format::Csv
        }
    }

    /// Returns true if the end of such a file is read first.
    pub const fn needs_seek(self) -> bool {
        match self {
            Format::Parquet | Format::Arrow => true,
            Format::ArrowStream | Format::Csv => false,
        }
    }

    /// Returns true if values can only be text.
    pub const fn is_text(self) -> bool {
        match self {
            Format::Csv => true,
            Format::Parquet | Format::Arrow | Format::ArrowStream => false,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
