//! `millstream columns`: tables whose columns are hashed, sealed and opened.

#[cfg(feature = "tables")]
mod digits;
#[cfg(feature = "tables")]
mod work;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::commands::{Context, pages};
use crate::error::Error;
use crate::tokens::pins::UserPin;

/// Hash, seal, encrypt and open columns of tables
///
/// Reads a table in Parquet, Arrow or CSV, replaces the columns that are named, value by value, and writes it again; the others stay as they
/// are. The output appears whole or not at all.
#[derive(Args)]
#[command(after_long_help = pages::help(pages::COLUMNS))]
pub(super) struct Command {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Hash(Hash),
    Seal(Seal),
    Open(Open),
    Encrypt(Encrypt),
    Decrypt(Decrypt),
}

/// Hash each value, or with a key authenticate it
///
/// Equal values have equal results, so that tables can be joined by them. Without a key whoever guesses a value can check the guess; names,
/// numbers and addresses are guessed.
#[derive(Args)]
struct Hash {
    /// The hash, as sha256 or sha3_256; with a key its HMAC
    #[arg(short = 'a', long, value_name = "HASH", default_value = "sha256")]
    algorithm: String,
    #[command(flatten)]
    key: Key,
    /// The form of the results [default: binary, and hex in CSV]
    #[arg(long, value_name = "FORM")]
    encoding: Option<Form>,
    #[command(flatten)]
    table: Table,
}

/// Seal each value
///
/// A sealed value is encrypted and authenticated, with a nonce of its own; with aes-siv equal values are sealed equally instead, so that tables
/// can be joined by them.
#[derive(Args)]
struct Seal {
    #[command(flatten)]
    cipher: Cipher,
    /// The form of the results [default: binary, and base64 in CSV]
    #[arg(long, value_name = "FORM")]
    encoding: Option<Form>,
    #[command(flatten)]
    table: Table,
}

/// Open sealed values
///
/// A value that was changed, or was sealed with another key or other associated data, fails, and then no output is written.
#[derive(Args)]
struct Open {
    #[command(flatten)]
    cipher: Cipher,
    /// The form of sealed values that are text
    #[arg(long, value_name = "FORM", default_value = "base64")]
    encoding: Form,
    /// Open to text even if the table does not say that the values were text
    #[arg(long)]
    text: bool,
    /// Put null in the place of a value that does not open
    #[arg(long)]
    null_failed: bool,
    #[command(flatten)]
    table: Table,
}

/// Encrypt each value to another of the same alphabet and length
///
/// A number of a card becomes another number of 16 digits, with FF1. Equal values have equal results under one tweak, so that tables can be
/// joined by them. Nothing tells afterwards if a value was changed. A value needs so many characters that there are a million of its kind.
#[derive(Args)]
struct Encrypt {
    #[command(flatten)]
    digits: Digits,
}

/// Decrypt values that encrypt has made
///
/// With another key, alphabet or tweak the results are other values, and nothing tells.
#[derive(Args)]
struct Decrypt {
    #[command(flatten)]
    digits: Digits,
}

/// The key and the parameters of FF1, and the table.
#[derive(Args)]
struct Digits {
    #[command(flatten)]
    key: Key,
    /// The characters that values are of, each once [default: 0123456789]
    #[arg(long, value_name = "CHARACTERS", conflicts_with = "radix")]
    alphabet: Option<String>,
    /// The number of characters, of the decimal digits and then the letters from a to z
    #[arg(long, value_name = "2-36", value_parser = clap::value_parser!(u8).range(2..=36))]
    radix: Option<u8>,
    /// Encrypt under this text, which is no secret and is needed again, as the name of the column
    #[arg(long, value_name = "TEXT", conflicts_with = "tweak_column")]
    tweak: Option<String>,
    /// Encrypt each value under the value of this column in the same row, of type text
    #[arg(long, value_name = "COLUMN")]
    tweak_column: Option<String>,
    /// Put null in the place of a value with other characters, or with too few
    #[arg(long)]
    null_failed: bool,
    #[command(flatten)]
    table: Table,
}

/// The cipher, its key, and the associated data.
#[derive(Args)]
struct Cipher {
    /// The cipher: aes-gcm, chacha20-poly1305, xaes-256-gcm, aes-gcm-siv or aes-siv [default: aes-gcm, or what the isolated key or the keyset is for]
    #[arg(short = 'a', long, value_name = "CIPHER")]
    algorithm: Option<String>,
    #[command(flatten)]
    key: Key,
    /// Bind each value to this text, which is needed again to open it
    #[arg(long, value_name = "TEXT", conflicts_with = "aad_column")]
    aad: Option<String>,
    /// Bind each value to the value of this column in the same row, as a primary key of type text
    #[arg(long, value_name = "COLUMN")]
    aad_column: Option<String>,
}

/// A key: in a file, or in the service.
#[derive(Args)]
struct Key {
    /// The file whose bytes are the key, as millstream keygen makes it, or to seal and open a keyset of Tink
    #[arg(short = 'k', long, visible_alias = "key", value_name = "KEYFILE", conflicts_with = "isolated")]
    key_file: Option<PathBuf>,
    /// A key in a token of the service, where it stays: TOKEN/LABEL, or LABEL
    #[arg(long, value_name = "NAME")]
    isolated: Option<String>,
    #[command(flatten)]
    pin: UserPin,
    /// The service's socket [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH", requires = "isolated")]
    socket: Option<PathBuf>,
}

/// The table that is read, and the one that is written.
#[derive(Args)]
struct Table {
    /// The name of a column to replace; may be given several times
    #[arg(long, value_name = "NAME", required = true)]
    column: Vec<String>,
    /// The format of the input: parquet, arrow, arrows or csv [default: what its first bytes tell]
    #[arg(long, value_name = "FORMAT")]
    from: Option<String>,
    /// The format of the output [default: what its name ends with, else that of the input]
    #[arg(long, value_name = "FORMAT")]
    to: Option<String>,
    /// The character between the values of CSV
    #[arg(long, value_name = "CHARACTER", default_value_t = ',')]
    delimiter: char,
    /// Show no progress bar
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The file to read; with -, standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// The file to write, which may be the input; with -, standard output
    #[arg(value_name = "OUTPUT")]
    output: PathBuf,
}

/// A form of bytes.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// The bytes themselves
    Binary,
    /// Pairs of hexadecimal digits
    Hex,
    /// RFC 4648, with padding
    Base64,
}

impl Command {
    #[cfg(feature = "tables")]
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        match self.action {
            Action::Hash(hash) => hash.run(context),
            Action::Seal(seal) => seal.run(context),
            Action::Open(open) => open.run(context),
            Action::Encrypt(encrypt) => encrypt.digits.run::<false>(context),
            Action::Decrypt(decrypt) => decrypt.digits.run::<true>(context),
        }
    }

    #[cfg(not(feature = "tables"))]
    pub(super) fn run(self, _: &Context) -> Result<(), Error> {
        Err(Error::Usage(
            "this millstream was built without tables; build it with the feature tables, as those of its packages are".into(),
        ))
    }
}
