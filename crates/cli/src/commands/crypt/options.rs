//! The options of `encrypt` and `decrypt`, and the rules for using them together.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::ArgAction;
use millstream_engines::modes::Direction;
use millstream_files::cipher::Cipher;
use millstream_files::{Format, solaris};

use super::list::{TINK, unknown};
use super::token::Token;
use crate::error::Error;

/// The options of `encrypt` and `decrypt`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them
    #[arg(short = 'a', long, value_name = "ALGORITHM", allow_hyphen_values = true)]
    pub(super) algorithm: Option<String>,
    /// List the algorithms, their key sizes and the formats that use them; allows no other option
    #[arg(short = 'l', long)]
    pub(super) list: bool,
    /// Draw the progress bar of the Solaris commands
    #[arg(short = 'v', long)]
    pub(super) verbose: bool,
    /// The file whose bytes are the key, or a cleartext Tink keyset in JSON
    #[arg(short = 'k', long, value_name = "KEYFILE", allow_hyphen_values = true)]
    pub(super) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) token: Token,
    /// The file to read; without it, or with -, standard input; several are like operands
    #[arg(short = 'i', long, value_name = "FILE", allow_hyphen_values = true, action = ArgAction::Append)]
    pub(super) input: Vec<PathBuf>,
    /// The file to write, which may be the input; without it, or with -, standard output
    #[arg(short = 'o', long, value_name = "FILE", allow_hyphen_values = true)]
    pub(super) output: Option<PathBuf>,
    /// The file format; decrypt recognises authenticated formats by itself
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<FormatName>,
    /// The file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    pub(super) passphrase_file: Option<PathBuf>,
    /// Text that is authenticated but not stored: decrypt needs the same (formats tink, raw)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) aad: Option<OsString>,
    /// The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)
    #[arg(long, value_name = "HEX")]
    pub(super) iv: Option<String>,
    /// The file whose bytes are the initialisation vector (format raw)
    #[arg(long, value_name = "FILE", conflicts_with = "iv")]
    pub(super) iv_file: Option<PathBuf>,
    /// Do no padding: leave the last block as it is, in ECB and CBC (format raw)
    #[arg(long)]
    pub(super) no_pad: bool,
    /// Iterations of PBKDF2: 10000 in the format openssl, 1000 in the format solaris
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) iter: Option<u32>,
    /// Show no progress bar and no warning
    #[arg(short = 'q', long)]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) many: Many,
}

/// The options for several files.
#[derive(clap::Args)]
pub(super) struct Many {
    /// The folder for the outputs of several files [default: beside each]
    #[arg(long, value_name = "DIR")]
    pub(super) output_dir: Option<PathBuf>,
    /// The end of encrypted files' names: encrypt adds it, decrypt takes it away [default: .enc]
    #[arg(long, value_name = "SUFFIX", allow_hyphen_values = true)]
    pub(super) suffix: Option<OsString>,
    /// Replace files that have the names of outputs
    #[arg(short = 'f', long)]
    pub(super) force: bool,
    /// Several files, each with an output of its own beside it or in the folder of --output-dir
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
}

/// The values of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatName {
    /// Tink's streaming AEAD AES256-GCM-HKDF with 1 MB segments: authenticated, the default
    Tink,
    /// The format of the Solaris commands, version 1
    Solaris,
    /// The format of openssl enc -pbkdf2
    Openssl,
    /// Ciphertext alone
    Raw,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Tink => Format::Tink,
            FormatName::Solaris => Format::Solaris,
            FormatName::Openssl => Format::OpenSsl,
            FormatName::Raw => Format::Raw,
        }
    }
}

impl Options {
    /// Returns the files that the output must not overwrite, with their names for messages.
    pub(super) fn secrets(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("key file", self.key_file.as_deref()),
            ("passphrase file", self.passphrase_file.as_deref()),
            ("file of the initialisation vector", self.iv_file.as_deref()),
        ]
    }

    pub(super) fn stands_alone(&self) -> bool {
        let paths =
            [&self.key_file, &self.output, &self.passphrase_file, &self.iv_file, &self.many.output_dir];
        let files = self.many.suffix.is_some() || self.many.force || self.inputs().next().is_some();
        let given = self.algorithm.is_some() || self.verbose || self.format.is_some() || self.iter.is_some();
        let raw = self.aad.is_some() || self.iv.is_some() || self.no_pad;
        !given && !raw && !files && !self.token.is_given() && paths.iter().all(|path| path.is_none())
    }

    /// Returns the format that the options name. Without them, encryption uses the default and decryption
    /// looks at the file.
    pub(super) fn format_asked(&self, direction: Direction) -> Result<Option<Format>, Error> {
        match (self.format, self.algorithm.as_deref()) {
            (Some(format), _) => Ok(Some(format.into())),
            (None, None) if direction == Direction::Decrypt => Ok(None),
            (None, None | Some(TINK)) => Ok(Some(Format::Tink)),
            (None, Some(name)) if solaris::Algorithm::from_name(name).is_some() => Ok(Some(Format::Solaris)),
            (None, Some(name)) => Err(match Cipher::from_name(name) {
                Some(cipher) if cipher.is_in_openssl_enc() => {
                    Error::Usage(format!("-a {name} needs --format openssl or --format raw"))
                }
                Some(_) => Error::Usage(format!("-a {name} needs --format raw")),
                None => unknown(direction, name),
            }),
        }
    }

    /// Refuses options that the format has no use for, rather than ignoring them.
    pub(super) fn check(&self, asked: Option<Format>) -> Result<(), Error> {
        if self.key_file.is_some() && self.passphrase_file.is_some() {
            return Err(Error::Usage("-k and --passphrase-file can't be used together".into()));
        }
        let iv = self.iv.is_some() || self.iv_file.is_some();
        let given: [(bool, &[Format], &str); 4] = [
            (iv, &[Format::Raw], "--iv and --iv-file need --format raw"),
            (self.no_pad, &[Format::Raw], "--no-pad needs --format raw"),
            (self.aad.is_some(), &[Format::Tink, Format::Raw], "--aad needs the format tink or raw"),
            (
                self.iter.is_some(),
                &[Format::OpenSsl, Format::Solaris],
                "--iter needs the format openssl or solaris",
            ),
        ];
        let useless = |(given, formats, _): &(bool, &[Format], _)| {
            *given && asked.is_some_and(|asked| !formats.contains(&asked))
        };
        match given.into_iter().find(useless) {
            Some((.., why)) => Err(Error::Usage(why.into())),
            None => Ok(()),
        }
    }

    /// Returns the names of all inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.input.iter().chain(&self.many.files).map(PathBuf::as_path)
    }

    pub(super) fn aad(&self) -> &[u8] {
        self.aad.as_ref().map_or(&[], |text| text.as_bytes())
    }
}
