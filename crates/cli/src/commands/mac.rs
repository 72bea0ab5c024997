//! `mac`: like mac(1) of Solaris.

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::builder::OsStringValueParser;
use millstream::cwq;
use millstream_cpu::Features;
use millstream_engines::aes::{Cmac, CmacJob, CmacLanes, CmacStream};
use millstream_engines::des;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::{Hmac, HmacJob, HmacKey, HmacLanes};
use millstream_files::pbkdf2::pbkdf2;
use millstream_store::usage;
use zeroize::Zeroizing;

use crate::codes::hash_code;
use crate::commands::crypt::{Held, Named};
use crate::commands::lines::{Form, Style};
use crate::commands::{Context, cautions, crypt, isolated, pages, print, sum};
use crate::error::Error;
use crate::many::{Sum, Sums, one_by_one};
use crate::secret::{self, Secret};
use crate::{names, shown};

/// Compute the message authentication code of files or of standard input
///
/// Prints the code in hexadecimal. With several files each line has the form "(file) = code", with
/// -v "algorithm (file) = code". Without -k a passphrase is asked for.
#[derive(clap::Args)]
#[command(
    override_usage = "millstream mac -l\n       millstream mac [-v | --json] -a ALGORITHM [-k KEYFILE | --passphrase-file FILE] [FILE]...",
    after_long_help = pages::help(pages::MAC)
)]
pub(super) struct Mac {
    /// The algorithm; -l lists them
    #[arg(short = 'a', long, value_name = "ALGORITHM", allow_hyphen_values = true)]
    algorithm: Option<String>,
    /// List the algorithms and their key sizes; allows no other option
    #[arg(short = 'l', long)]
    list: bool,
    /// Put the algorithm and the file's name before each code
    #[arg(short = 'v', long)]
    verbose: bool,
    /// The file whose bytes are the key
    #[arg(short = 'k', long, value_name = "KEYFILE", allow_hyphen_values = true)]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    token: crypt::Token,
    /// The file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Have the running service compute the code, so that the key is used in another process
    #[arg(short = 'I', long)]
    isolated: bool,
    /// The service's socket [default: what MILLSTREAM_SOCKET names, else this user's or the machine's]
    #[arg(long, value_name = "PATH", requires = "isolated")]
    socket: Option<PathBuf>,
    /// Write a line of JSON for each file
    #[arg(long)]
    json: bool,
    /// Show no progress bar and no warning
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The files, - for standard input; without any, standard input
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new())]
    files: Vec<OsString>,
}

/// The algorithms of `mac`.
#[derive(Clone, Copy)]
enum Algorithm {
    Hmac(Hash),
    Cmac,
    Des,
}

struct Known {
    name: &'static str,
    others: &'static [&'static str],
    algorithm: Algorithm,
    /// The bits of the shortest and the longest key (mac(1); a longer HMAC key is hashed first).
    bits: (usize, usize),
    legacy: bool,
}

const fn hmac(
    name: &'static str,
    others: &'static [&'static str],
    hash: Hash,
    most: usize,
    legacy: bool,
) -> Known {
    Known { name, others, algorithm: Algorithm::Hmac(hash), bits: (8, most), legacy }
}

/// The algorithms in the order of `mac -l`.
const ALGORITHMS: &[Known] = &[
    Known { name: "des_mac", others: &[], algorithm: Algorithm::Des, bits: (64, 64), legacy: true },
    hmac("sha1_hmac", &["hmac-sha1"], Hash::Sha1, 512, true),
    hmac("md5_hmac", &["hmac-md5"], Hash::Md5, 512, true),
    hmac("sha224_hmac", &["hmac-sha224"], Hash::Sha224, 512, false),
    hmac("sha256_hmac", &["hmac-sha256"], Hash::Sha256, 512, false),
    hmac("sha384_hmac", &["hmac-sha384"], Hash::Sha384, 1024, false),
    hmac("sha512_hmac", &["hmac-sha512"], Hash::Sha512, 1024, false),
    hmac("sha512_256_hmac", &["hmac-sha512-256"], Hash::Sha512_256, 1024, false),
    hmac("sha3_224_hmac", &["hmac-sha3-224"], Hash::Sha3_224, 1152, false),
    hmac("sha3_256_hmac", &["hmac-sha3-256"], Hash::Sha3_256, 1088, false),
    hmac("sha3_384_hmac", &["hmac-sha3-384"], Hash::Sha3_384, 832, false),
    hmac("sha3_512_hmac", &["hmac-sha3-512"], Hash::Sha3_512, 576, false),
    Known {
        name: "aes_cmac",
        others: &["cmac"],
        algorithm: Algorithm::Cmac,
        bits: (128, 256),
        legacy: false,
    },
];

impl Mac {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.list {
            let others = self.algorithm.is_some() || self.verbose || self.json || !self.files.is_empty();
            let key = self.key_file.is_some() || self.passphrase_file.is_some() || self.token.is_given();
            return if others || key {
                Err(Error::Usage("-l allows no other option or file".into()))
            } else {
                list()
            };
        }
        let Some(name) = &self.algorithm else {
            return Err(Error::Usage("name an algorithm with -a, or list them with -l".into()));
        };
        self.token.check(self.key_file.is_some(), self.passphrase_file.is_some())?;
        let known = Known::named(name)?;
        let features = Features::active()?;
        let secrets =
            [("key file", self.key_file.as_deref()), ("passphrase file", self.passphrase_file.as_deref())];
        cautions::spare_secrets(None, &secrets)?;
        let key = match self.token.secret(usage::SIGN)? {
            Some(Named::InService(held)) => return self.in_service(context, known, name, &held),
            Some(Named::Here(key)) => key,
            None => self.key(context, features, known.algorithm)?,
        };
        if let Some(weak) =
            cautions::about_mac(name, known.legacy).filter(|_| !self.quiet && !context.solaris)
        {
            context.warn(weak);
        }
        let style = self.style(name);
        if self.isolated {
            self.doubt(context, &key);
            let with = (known.algorithm.code(), isolated::Key::Bytes(&key));
            return isolated::files(context, &style, &self.files, self.socket.as_deref(), with);
        }
        let keyed = Keyed::new(features, known.algorithm, &key).map_err(|error| match &self.key_file {
            Some(path) => secret::length(path, &key, format_args!("invalid key. {error}")),
            None => error.into(),
        })?;
        self.doubt(context, &key);
        sum::files(context, &style, &self.files, &keyed)
    }

    fn style<'n>(&self, name: &'n str) -> Style<'n> {
        let form = match (self.json, self.verbose) {
            (true, _) => Form::Json,
            (false, true) => Form::Verbose,
            (false, false) => Form::Plain,
        };
        let on_screen = io::stdout().is_terminal();
        Style { algorithm: name, what: "mac", form, on_screen, quiet: self.quiet }
    }

    /// Has the service compute the codes with a key that stays there.
    fn in_service(&self, context: &Context, known: &Known, name: &str, held: &Held) -> Result<(), Error> {
        if let Some(weak) = cautions::about_mac(name, known.legacy).filter(|_| !self.quiet) {
            context.warn(weak);
        }
        let with = (known.algorithm.code(), isolated::Key::OfToken(held));
        isolated::files(context, &self.style(name), &self.files, Some(&held.socket), with)
    }

    /// Warns of a key file that holds something else than a random key.
    fn doubt(&self, context: &Context, key: &[u8]) {
        let Some(path) = self.key_file.as_deref().filter(|_| !self.quiet && !context.solaris) else { return };
        if let Some(doubt) = secret::doubt(key) {
            context.warn(format_args!("{}: {doubt}", shown::path(path)));
        }
    }

    fn key(&self, context: &Context, features: Features, algorithm: Algorithm) -> Result<Secret, Error> {
        let (bytes, warning, is_key) = match (&self.key_file, &self.passphrase_file) {
            (Some(_), Some(_)) => {
                return Err(Error::Usage("-k and --passphrase-file can't be used together".into()));
            }
            (Some(path), None) => secret::key_file(path).map(|(bytes, warning)| (bytes, warning, true))?,
            (None, Some(path)) => {
                secret::passphrase_file(path).map(|(bytes, warning)| (bytes, warning, false))?
            }
            (None, None) => (secret::ask(false)?, None, false),
        };
        if let Some(warning) = warning.filter(|_| !self.quiet) {
            context.warn(warning);
        }
        Ok(if is_key { bytes } else { algorithm.key_from_passphrase(features, &bytes) })
    }
}

impl Known {
    /// Returns the algorithm of a name in any spelling.
    fn named(name: &str) -> Result<&'static Known, Error> {
        let found = names::find(ALGORITHMS, name, |known| (known.name, known.others));
        found.ok_or_else(|| {
            let near = names::nearest(name, self::names()).map(str::to_owned);
            Error::UnknownAlgorithm { name: name.to_owned(), command: "mac", near }
        })
    }
}

/// Returns the names for `-a`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|known| known.name)
}

impl Algorithm {
    /// Returns the number in control words.
    fn code(self) -> cwq::Algorithm {
        match self {
            Algorithm::Hmac(hash) => hash_code(hash),
            Algorithm::Cmac => cwq::Algorithm::AesCmac,
            Algorithm::Des => cwq::Algorithm::DesMac,
        }
    }

    /// Derives the key from a passphrase, with a fixed salt as in mac(1), so that the same passphrase gives
    /// the same code.
    fn key_from_passphrase(self, features: Features, passphrase: &[u8]) -> Secret {
        let bytes = match self {
            Algorithm::Hmac(_) | Algorithm::Cmac => 16,
            Algorithm::Des => 8,
        };
        let mut key = Zeroizing::new(vec![0; bytes]);
        pbkdf2(features, Hash::Sha1, passphrase, &[0x0a; 16], 1000, &mut key);
        key
    }
}

/// A key, ready for any number of messages.
enum Keyed {
    Hmac(Box<(HmacLanes, HmacKey)>),
    Cmac(CmacLanes, Box<Cmac>),
    Des(Features, Secret),
}

impl Keyed {
    fn new(features: Features, algorithm: Algorithm, key: &[u8]) -> Result<Self, millstream_engines::Error> {
        Ok(match algorithm {
            Algorithm::Hmac(hash) => {
                Keyed::Hmac(Box::new((HmacLanes::new(features, hash), HmacKey::new(features, hash, key))))
            }
            Algorithm::Cmac => Keyed::Cmac(CmacLanes::new(features), Box::new(Cmac::new(features, key)?)),
            Algorithm::Des if key.len() == 8 => Keyed::Des(features, Zeroizing::new(key.to_vec())),
            Algorithm::Des => {
                let given = key.len();
                return Err(millstream_engines::Error::KeyLength {
                    algorithm: "des-mac",
                    given,
                    takes: "8 bytes",
                });
            }
        })
    }
}

impl Sums for Keyed {
    fn begin(&self) -> Box<dyn Sum + '_> {
        match self {
            Keyed::Hmac(keyed) => Box::new(keyed.1.start()),
            Keyed::Cmac(_, key) => Box::new(key.stream()),
            Keyed::Des(features, key) => {
                Box::new(des::Mac::new(*features, key).expect("the key's length was checked"))
            }
        }
    }

    fn of_all(&self, messages: &[&[u8]]) -> Vec<Vec<u8>> {
        match self {
            Keyed::Hmac(keyed) => {
                let (lanes, key) = &**keyed;
                let mut jobs: Vec<_> = messages.iter().map(|data| HmacJob::new(key, data)).collect();
                lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
                jobs.iter().map(|job| job.tag.to_vec()).collect()
            }
            Keyed::Cmac(lanes, key) => {
                let mut jobs: Vec<_> =
                    messages.iter().copied().map(|data| CmacJob { key, data, tag: [0; 16] }).collect();
                lanes.sign(&mut jobs.iter_mut().collect::<Vec<_>>());
                jobs.iter().map(|job| job.tag.to_vec()).collect()
            }
            Keyed::Des(..) => one_by_one(self, messages),
        }
    }
}

impl Sum for Hmac {
    fn update(&mut self, data: &[u8]) {
        Hmac::update(self, data);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        Hmac::finish(*self).to_vec()
    }
}

impl Sum for CmacStream<'_> {
    fn update(&mut self, data: &[u8]) {
        CmacStream::update(self, data);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        CmacStream::finish(*self).to_vec()
    }
}

impl Sum for des::Mac {
    fn update(&mut self, data: &[u8]) {
        des::Mac::update(self, data);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        des::Mac::finish(*self).to_vec()
    }
}

fn list() -> Result<(), Error> {
    let mut text = crypt::LIST_HEAD.to_owned();
    for known in ALGORITHMS {
        let remark = if known.legacy { "legacy" } else { "" };
        text += &crypt::list_line(known.name, known.bits.0, known.bits.1, remark);
    }
    print(text)
}
