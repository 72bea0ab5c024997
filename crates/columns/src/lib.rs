//! Hashes, MACs and encryption over Arrow columns.
//!
//! A call takes a column of values, as an [`ArrayData`] with any of the layouts of text and binary, and
//! returns a column of the same length. Values go side by side through the lanes of the engines, in tasks that fit into a
//! processor's cache, and tasks are spread over threads ([`threads()`]). Keys are prepared once, when their object is made.
//!
//! | functions | results | equal values |
//! | --- | --- | --- |
//! | [`digest()`], [`Hmac::sign`] | FixedSizeBinary, or text | equal results |
//! | [`crc32c`] | UInt32 | equal results |
//! | [`Aead::seal`], [`Aead::open`] | Binary, or text | different results |
//! | [`Siv::seal`], [`Siv::open`] | Binary, or text | equal results, so that tables can be joined |
//! | `Fpe::encrypt`, `Fpe::decrypt` | text of the same alphabet and length | equal results |
//! | [`Fernet::encrypt`], [`Fernet::decrypt`] | tokens as text | different results |
//! | [`Keyset::seal`], [`Keyset::open`] | as those of [`Aead`] or [`Siv`], with the number of a key in front | |
//! | [`Isolated::sign`], [`Isolated::seal`], [`Isolated::open`] | as those of [`Hmac`] and [`Aead`], under a key of the service | |
//!
//! Nulls stay null. A function with equal results for equal values works on a dictionary's values only, and keeps its places.
//! A row that does not authenticate makes the whole call fail with an error that names the row, or becomes null
//! ([`OnError::Null`]); no plaintext of it is returned. Results have offsets of 64 bits where the column has them or is of views.
//!
//! The crate stands on the small crates of Arrow. Arrays of `arrow-array` become [`ArrayData`] by
//! `to_data`, and [`c_data`] has columns of other libraries of the same process.
#![deny(unsafe_code)]

mod aead;
pub mod c_data;
mod collect;
mod dictionary;
mod digest;
mod error;
mod fernet;
#[cfg(feature = "ff1")]
mod fpe;
mod isolated;
mod keyset;
mod lists;
mod random;
mod results;
mod room;
mod sealed;
mod siv;
mod spread;
mod text;
mod tink;
mod values;

pub use aead::{Aead, Cipher, Seal};
pub use arrow_data::ArrayData;
pub use arrow_schema::DataType;
pub use digest::{Hmac, crc32c, digest};
pub use error::{Error, Fault};
pub use fernet::{Fernet, Token};
#[cfg(feature = "ff1")]
pub use fpe::Fpe;
pub use isolated::Isolated;
pub use keyset::{Keyset, KeysetKey, Prefix};
pub use lists::{from_values, values};
pub use sealed::Open;
pub use siv::Siv;
pub use spread::{OnError, threads};
pub use text::Encoding;
pub use values::Parameter;
