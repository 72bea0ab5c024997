//! Functions of Millstream for [DataFusion](https://datafusion.apache.org): columns hashed, sealed and opened, many values side by side.
//!
//! [`hashes`] needs no key, and [`functions`] takes one, of the process or of the service. A name is a prefix and what the function does:
//!
//! | key | functions | a second argument |
//! | --- | --- | --- |
//! | none | `sha256`, `sha512`, `sha3_256` and so on: hexadecimal digits | none |
//! | [`Hmac`], [`Isolated`] of an HMAC | `hmac`: hexadecimal digits | none |
//! | [`Aead`], [`Keyset`], [`Isolated`] | `seal`, `open`, `try_open` | associated data |
//! | [`Siv`], [`Keyset`] and [`Isolated`] of AES-SIV | `siv_seal`, `siv_open`, `try_siv_open` | associated data |
//! | `Fpe` | `fpe_encrypt`, `fpe_decrypt` | the tweak |
//! | [`Fernet`] | `fernet_encrypt`, `fernet_decrypt`, `try_fernet_decrypt` | none |
//!
//! They take text or binary, in any layout, and dictionaries of it. What seals gives binary, and what opens gives text. A second argument is
//! optional, and constant or a column: the column's name and the row's primary key, joined, bind a value to its place. A row that does
//! not authenticate ends the query with an error that names it; `try_open` and its like give null for it.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use millstream_datafusion::{Siv, functions, hashes};
//!
//! let key = Siv::new(&[7; 64])?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let context = SessionContext::new();
//! for function in hashes("ms_").into_iter().chain(functions("ms_", key)) {
//!     context.register_udf(function);
//! }
//! let sql = "SELECT ms_siv_open(ms_siv_seal('Ada', 'customers.name'), 'customers.name'), ms_sha256('Ada')";
//! let batches = context.sql(sql).await?.collect().await?;
//! assert_eq!(batches[0].num_rows(), 1);
//! # Ok::<(), datafusion::error::DataFusionError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod exchange;
mod function;
mod key;

pub use key::{Key, functions, hashes};
#[cfg(feature = "ff1")]
pub use millstream_columns::Fpe;
pub use millstream_columns::{Aead, Cipher, Fernet, Hmac, Isolated, Keyset, Siv};
