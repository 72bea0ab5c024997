//! The common parts of `encrypt` and `decrypt`: options, keys, and the way from input to output.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use millstream_cpu::Features;
use millstream_engines::Error as EngineError;
use millstream_engines::modes::Direction;
use millstream_files::cipher::{self, Cipher};
use millstream_files::pipeline::{self, Layout};
use millstream_files::{self as files, Format, Job, Pieces, keyset, solaris};

use crate::commands::cautions::{self, Screen};
use crate::commands::{Context, print};
use crate::error::Error;
use crate::input::Input;
use crate::output::Output;
use crate::progress::Progress;
use crate::secret::{self, Doubt, Secret};
use crate::{names, shown};

mod formats;

/// The options of PKCS #11 tokens, which the Solaris commands have and this program does not support yet.
#[derive(clap::Args)]
pub(super) struct Token {
    /// The label of a key in a PKCS #11 token (not in this version)
    #[arg(short = 'K', long, value_name = "LABEL", allow_hyphen_values = true)]
    token_key: Option<OsString>,
    /// The token, as `name[:manufacturer[:serial]]` (not in this version)
    #[arg(short = 'T', long, value_name = "TOKEN", allow_hyphen_values = true)]
    token: Option<OsString>,
}

impl Token {
    pub(super) fn is_given(&self) -> bool {
        self.token_key.is_some() || self.token.is_some()
    }

    /// Applies the rules of the Solaris commands first, and then reports that there are no tokens here.
    pub(super) fn refuse(&self, with_key_file: bool) -> Result<(), Error> {
        let why = match (&self.token_key, &self.token) {
            (None, None) => return Ok(()),
            (Some(_), _) if with_key_file => "-k and -K can't be used together",
            (None, Some(_)) => "-T needs -K",
            (Some(_), _) => "keys in PKCS #11 tokens are not part of this version; name a key file with -k",
        };
        Err(Error::Usage(why.into()))
    }
}

/// The options of `encrypt` and `decrypt`.
#[derive(clap::Args)]
pub(super) struct Options {
    /// The algorithm; aes, arcfour, des and 3des mean the Solaris format; -l lists them
    #[arg(short = 'a', long, value_name = "ALGORITHM", allow_hyphen_values = true)]
    algorithm: Option<String>,
    /// List the algorithms, their key sizes and the formats that use them; allows no other option
    #[arg(short = 'l', long)]
    list: bool,
    /// Draw the progress bar of the Solaris commands
    #[arg(short = 'v', long)]
    verbose: bool,
    /// The file whose bytes are the key, or a cleartext Tink keyset in JSON
    #[arg(short = 'k', long, value_name = "KEYFILE", allow_hyphen_values = true)]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    token: Token,
    /// The file to read; without it, or with -, standard input
    #[arg(short = 'i', long, value_name = "FILE", allow_hyphen_values = true)]
    input: Option<PathBuf>,
    /// The file to write, which may be the input; without it, or with -, standard output
    #[arg(short = 'o', long, value_name = "FILE", allow_hyphen_values = true)]
    output: Option<PathBuf>,
    /// The file format; decrypt recognises authenticated formats by itself
    #[arg(long, value_name = "FORMAT")]
    format: Option<FormatName>,
    /// The file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Text that is authenticated but not stored: decrypt needs the same (formats tink, raw)
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    aad: Option<OsString>,
    /// The initialisation vector, counter block, nonce or tweak, in hexadecimal (format raw)
    #[arg(long, value_name = "HEX")]
    iv: Option<String>,
    /// The file whose bytes are the initialisation vector (format raw)
    #[arg(long, value_name = "FILE", conflicts_with = "iv")]
    iv_file: Option<PathBuf>,
    /// Do no padding: leave the last block as it is, in ECB and CBC (format raw)
    #[arg(long)]
    no_pad: bool,
    /// Iterations of PBKDF2: 10000 in the format openssl, 1000 in the format solaris
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iter: Option<u32>,
    /// Show no progress bar and no warning
    #[arg(short = 'q', long)]
    quiet: bool,
}

/// The values of `--format`.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
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

/// The name of the algorithm of the default format.
const TINK: &str = "aes-gcm-hkdf";

/// The input, and how far it was read.
struct Source {
    reader: Box<dyn Read + Send>,
    /// A second handle of the file and its length, where it is a regular one read from its beginning.
    file: Option<(File, u64)>,
    /// True when more was looked at than the headers that will be read from `reader`.
    is_ahead: bool,
}

/// The context of one call, apart from its options.
struct Call<'a> {
    context: &'a Context,
    features: Features,
    direction: Direction,
    input: &'a Input,
}

impl Call<'_> {
    fn unknown(&self, name: &str) -> Error {
        unknown(self.direction, name)
    }

    /// Converts a format's error that occurs before there is an output.
    fn failed(&self, source: files::Error) -> Error {
        Error::in_format(source, &self.input.name, "")
    }

    /// Converts an error as [`Call::failed`] does, but blames the key file for a key of the wrong length.
    fn failed_with_key(&self, error: files::Error, key: Option<(&[u8], &Path)>) -> Error {
        match (error, key) {
            (files::Error::Engine(error @ EngineError::KeyLength { .. }), Some((key, path))) => {
                secret::length(path, key, error)
            }
            (error, _) => self.failed(error),
        }
    }
}

impl Options {
    /// Does what the command line asks.
    pub(super) fn run(self, context: &Context, direction: Direction) -> Result<(), Error> {
        if self.list {
            return if self.stands_alone() {
                list()
            } else {
                Err(Error::Usage("-l allows no other option or file".into()))
            };
        }
        self.token.refuse(self.key_file.is_some())?;
        let features = Features::active()?;
        let asked = self.format_asked(direction)?;
        self.check(asked)?;
        let destination = cautions::file(self.output.as_deref());
        cautions::spare_terminal(self.output.as_deref(), direction)?;
        cautions::spare_secrets(destination, &self.secrets())?;
        let input = match cautions::file(self.input.as_deref()) {
            Some(path) => Input::named(path)?,
            None => Input::standard()?,
        };
        let call = Call { context, features, direction, input: &input };
        let mut source = Source::new(&input).map_err(|error| call.failed(error))?;
        let job = self.job(&call, asked, &mut source)?;
        let from_pipe = !input.file.metadata().is_ok_and(|found| found.is_file());
        let output = match (destination, direction) {
            // Data from a pipe has no permissions to copy.
            (Some(path), Direction::Encrypt) if from_pipe => Output::named(path)?,
            (Some(path), _) => Output::as_private_as(path, &input.file)?,
            (None, _) => Output::standard()?,
        };
        refuse_loop(&input, &output)?;
        let on_screen =
            self.output.is_none() && direction == Direction::Decrypt && io::stdout().is_terminal();
        let progress = match self.verbose {
            true => Progress::solaris(input.len),
            false => Progress::bar(input.len, self.quiet),
        };
        let done = convert(job, source, &output, on_screen, &progress);
        progress.finish(done.is_ok());
        done.map_err(|source| Error::in_format(source, &input.name, &output.name()))?;
        if !input.is_unchanged() {
            return Err(Error::Changed(input.name));
        }
        output.finish()
    }

    /// Returns the files that the output must not overwrite, with their names for messages.
    fn secrets(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("key file", self.key_file.as_deref()),
            ("passphrase file", self.passphrase_file.as_deref()),
            ("file of the initialisation vector", self.iv_file.as_deref()),
        ]
    }

    fn stands_alone(&self) -> bool {
        let paths = [&self.key_file, &self.input, &self.output, &self.passphrase_file, &self.iv_file];
        let given = self.algorithm.is_some() || self.verbose || self.format.is_some() || self.iter.is_some();
        let raw = self.aad.is_some() || self.iv.is_some() || self.no_pad;
        !given && !raw && !self.token.is_given() && paths.iter().all(|path| path.is_none())
    }

    /// Returns the format that the options name. Without them, encryption uses the default and decryption
    /// looks at the file.
    fn format_asked(&self, direction: Direction) -> Result<Option<Format>, Error> {
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
    fn check(&self, asked: Option<Format>) -> Result<(), Error> {
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

    /// Returns the job to be done, with the keys for it.
    fn job(&self, call: &Call<'_>, asked: Option<Format>, source: &mut Source) -> Result<Job, Error> {
        let head = match call.direction {
            Direction::Encrypt => Vec::new(),
            Direction::Decrypt => source.peek(files::DETECT_LEN).map_err(|error| call.failed(error))?,
        };
        let format = match asked {
            Some(format) => format,
            None => recognised(&call.input.name, &head)?,
        };
        // Options were checked against a format that was asked for. The format is known in any case now.
        self.check(Some(format))?;
        if call.direction == Direction::Encrypt {
            self.warn(call, cautions::about(format, self.algorithm.as_deref()));
        }
        match (format, call.direction) {
            (Format::Tink, Direction::Encrypt) => self.tink_seal(call),
            (Format::Tink, Direction::Decrypt) => self.tink_open(call, source, &head),
            (Format::Solaris, _) => self.solaris(call, source),
            (Format::OpenSsl, _) => self.openssl(call, source),
            (Format::Raw, _) => self.raw(call),
        }
    }

    fn aad(&self) -> &[u8] {
        self.aad.as_ref().map_or(&[], |text| text.as_bytes())
    }

    /// Returns the contents of the key file, which is to be used in that format.
    fn key(&self, call: &Call<'_>, format: Format) -> Result<Option<(Secret, &Path)>, Error> {
        let Some(path) = &self.key_file else { return Ok(None) };
        let (key, warning) = secret::key_file(path)?;
        self.warn_always(call, warning);
        if call.direction == Direction::Encrypt {
            // A keyset is text, and arcfour of Solaris makes its key from a passphrase in the file.
            let is_text = format == Format::Tink && keyset::is_keyset(&key)
                || format == Format::Solaris && self.algorithm.as_deref() == Some("arcfour");
            let doubt = secret::doubt(&key).filter(|_| !is_text);
            if doubt == Some(Doubt::Zero) && format == Format::Tink {
                return Err(Error::secret(path, Doubt::Zero));
            }
            self.warn(call, doubt.map(|doubt| format!("{}: {doubt}", shown::path(path))));
        }
        Ok(Some((key, path)))
    }

    /// Returns the passphrase, from its file or from the terminal. To encrypt, the terminal asks for it
    /// twice.
    fn passphrase(&self, call: &Call<'_>) -> Result<Secret, Error> {
        let Some(path) = &self.passphrase_file else {
            return secret::ask(call.direction == Direction::Encrypt);
        };
        let (passphrase, warning) = secret::passphrase_file(path)?;
        self.warn_always(call, warning);
        Ok(passphrase)
    }

    /// Warns of weaknesses that the Solaris commands accept in silence. Under their names it stays silent,
    /// too.
    fn warn(&self, call: &Call<'_>, warning: Option<String>) {
        if !call.context.solaris {
            self.warn_always(call, warning);
        }
    }

    fn warn_always(&self, call: &Call<'_>, warning: Option<String>) {
        if let Some(warning) = warning.filter(|_| !self.quiet) {
            call.context.warn(warning);
        }
    }
}

/// Recognises an authenticated format by its first bytes, where the user has named none. The file's owner
/// expects what `encrypt` makes without options. If other formats were accepted by their look, anybody who
/// can write the file could replace it by one of those, and change the plaintext unnoticed.
fn recognised(name: &str, head: &[u8]) -> Result<Format, Error> {
    let why = match files::detect(head) {
        Some(format) if format.is_authenticated() => return Ok(format),
        Some(Format::OpenSsl) => {
            "it looks like a file of 'openssl enc', which is not authenticated; to decrypt it anyway, add \
             --format openssl, and -a with the cipher unless it is aes-256-cbc"
        }
        Some(Format::Solaris) => {
            "it looks like a file of the Solaris commands, which is not authenticated; to decrypt it anyway, add \
             --format solaris, and -a with its algorithm: aes, arcfour, des or 3des"
        }
        _ => "it looks like no known format; name the format with --format",
    };
    Err(Error::Usage(format!("{name}: {why}")))
}

impl Source {
    fn new(input: &Input) -> Result<Self, files::Error> {
        let clone = || input.file.try_clone().map_err(files::Error::Read);
        let file = input.len.map(|len| clone().map(|file| (file, len))).transpose()?;
        Ok(Source { reader: Box::new(clone()?), file, is_ahead: false })
    }

    /// Returns the next `len` bytes, or all there are, without consuming them.
    fn peek(&mut self, len: usize) -> Result<Vec<u8>, files::Error> {
        let mut head = Vec::new();
        (&mut self.reader).take(len as u64).read_to_end(&mut head).map_err(files::Error::Read)?;
        let rest = std::mem::replace(&mut self.reader, Box::new(io::empty()));
        self.reader = Box::new(io::Cursor::new(head.clone()).chain(rest));
        self.is_ahead |= len > files::DETECT_LEN;
        Ok(head)
    }
}

/// Takes the input through the job to the output. Pieces go by position where both ends are regular files and
/// the pieces are independent, and as a stream otherwise.
fn convert(
    job: Job,
    source: Source,
    output: &Output,
    on_screen: bool,
    progress: &Progress,
) -> Result<(), files::Error> {
    let advance = |bytes| progress.advance(bytes);
    let mut file = output.file();
    file.write_all(&job.header).map_err(files::Error::Write)?;
    let writer: Box<dyn Write> = if on_screen { Box::new(Screen(file)) } else { Box::new(file) };
    let (cut_out, worker) = match job.pieces {
        Pieces::Chained(worker) => {
            return pipeline::run(source.reader, writer, job.cut, vec![worker], &advance);
        }
        Pieces::Independent { output, worker } => (output, worker),
    };
    let workers = || (0..pipeline::parallelism()).map(|_| worker()).collect::<Vec<_>>();
    match &source.file {
        Some((input, len)) if output.is_seekable() && !source.is_ahead => {
            // Headers are longer than what was looked at before, so the file's position is behind its header.
            let start = rustix::fs::tell(input).map_err(|error| files::Error::Read(error.into()))?;
            let from = Layout { start, cut: job.cut };
            let to = Layout { start: job.header.len() as u64, cut: cut_out };
            pipeline::run_at(input, *len, from, file, to, workers(), &advance)
        }
        _ => pipeline::run(source.reader, writer, job.cut, workers(), &advance),
    }
}

/// Refuses to write a file into itself through standard output, which would destroy it or never end.
fn refuse_loop(input: &Input, output: &Output) -> Result<(), Error> {
    let Output::Stream { file, .. } = output else { return Ok(()) };
    let (Ok(a), Ok(b)) = (input.file.metadata(), file.metadata()) else { return Ok(()) };
    if a.is_file() && (a.dev(), a.ino()) == (b.dev(), b.ino()) {
        return Err(Error::Usage(format!(
            "{}: is also the output; name it with -o to replace it",
            input.name
        )));
    }
    Ok(())
}

/// Returns the error for a name that no format knows.
fn unknown(direction: Direction, name: &str) -> Error {
    let command = if direction == Direction::Encrypt { "encrypt" } else { "decrypt" };
    let lower = name.to_ascii_lowercase();
    let near = match Cipher::from_name(&lower) {
        Some(_) => Some(lower),
        None => names::nearest(name, self::names()).map(str::to_owned),
    };
    Error::UnknownAlgorithm { name: name.to_owned(), command, near }
}

/// Returns the names for `-a`, without key lengths.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let solaris = solaris::Algorithm::ALL.into_iter().map(|algorithm| algorithm.name());
    solaris.chain([TINK]).chain(cipher::list().map(|listed| listed.name))
}

/// The head of the tables that `mac -l` and `encrypt -l` print.
pub(super) const LIST_HEAD: &str =
    "Algorithm       Keysize:  Min   Max (bits)\n------------------------------------------\n";

/// Formats a line of those tables: the columns of Solaris, and a remark behind them.
pub(super) fn list_line(name: &str, least: usize, most: usize, remark: &str) -> String {
    format!("{name:15}         {least:5} {most:5}  {remark}").trim_end().to_owned() + "\n"
}

fn list() -> Result<(), Error> {
    let mut text = LIST_HEAD.to_owned();
    for algorithm in solaris::Algorithm::ALL {
        let (least, most) = algorithm.key_bits();
        let remark = if algorithm == solaris::Algorithm::Aes { "solaris" } else { "solaris; legacy" };
        text += &list_line(algorithm.name(), least, most, remark);
    }
    text += &list_line(TINK, 256, 256, "tink (the default)");
    for listed in cipher::list() {
        let formats = if listed.cipher.is_in_openssl_enc() { "openssl, raw" } else { "raw" };
        let legacy = if listed.cipher.is_legacy() { "; legacy" } else { "" };
        text += &list_line(listed.name, listed.least_bits, listed.most_bits, &format!("{formats}{legacy}"));
    }
    print(text)
}
