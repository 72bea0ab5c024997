//! Tables in files, with some of their columns replaced.
//!
//! A [`Table`] is a file of Parquet, Arrow IPC or CSV that was opened. [`rewrite`] passes its batches on to a writer and puts the result of a
//! function in the place of each column that is named: a hash, or the values sealed or opened. No more than a batch, and one group of rows of
//! Parquet in its compressed form, is in memory.
//!
//! | format | name | a file begins with | may come through a pipe |
//! | --- | --- | --- | --- |
//! | Parquet | `parquet` | `PAR1` | no |
//! | Arrow IPC, file | `arrow` | `ARROW1` | no |
//! | Arrow IPC, stream | `arrows` | `FF FF FF FF` | yes |
//! | comma-separated values, with a header | `csv` | anything else | yes |
//!
//! A file of Arrow has one dictionary for a column in all of its batches. Where another format is written as one, dictionaries are written as their
//! values. CSV has no lists, and refuses them.
//!
//! ```
//! use std::io::{Seek, Write};
//! use millstream::hash::Hash;
//! use millstream_columns::{Encoding, Parameter, digest};
//! use millstream_tables::{Change, Reading, Table, Writing, rewrite};
//!
//! let mut people = tempfile::tempfile()?;
//! people.write_all(b"id,name\n1,Ada\n2,\n3,Grace\n")?;
//! people.rewind()?;
//! let mut table = Table::open(people, &Reading::default())?;
//!
//! let columns = ["name".to_owned()];
//! let hashed = |column: &_, _: Parameter<'_>, _: bool| digest(Hash::Sha256, column, Encoding::Hex);
//! let mut out = Vec::new();
//! let rows = rewrite(&mut table, &mut out, &Writing::default(), &Change::new(&columns, &hashed), &|_| {})?;
//! assert_eq!(rows, 3);
//! let text = String::from_utf8(out)?;
//! assert!(text.starts_with("id,name\n1,99a563ab2f6e21e96998f9fddd2a2bab82b70ac0"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod change;
mod error;
mod format;
mod sink;
mod source;

pub use change::{Aad, Change, Function, Values, rewrite};
pub use error::Error;
pub use format::Format;
pub use sink::Writing;
pub use source::{Reading, Table};
