//! `digest`: like digest(1) of Solaris.

use std::ffi::OsString;

use clap::builder::OsStringValueParser;
use millstream_cpu::Features;
use millstream_engines::Standing;
use millstream_engines::crc::{Castagnoli, Crc, Ieee, Polynomial};
use millstream_engines::hash::{Hash, Hasher};

use crate::commands::sum::{self, Style, Sum};
use crate::commands::{Context, pages, print};
use crate::error::Error;

/// Compute the digest of files or of standard input
///
/// Prints the digest in hexadecimal. With several files each line has the form "(file) = digest",
/// with -v "algorithm (file) = digest".
#[derive(clap::Args)]
#[command(
    override_usage = "digest -l\n       digest [-v] -a ALGORITHM [FILE]...",
    after_long_help = pages::help(pages::DIGEST)
)]
pub(super) struct Digest {
    /// The algorithm; -l lists them
    #[arg(short = 'a', long, value_name = "ALGORITHM", allow_hyphen_values = true)]
    algorithm: Option<String>,
    /// List the algorithms; allows no other option
    #[arg(short = 'l', long)]
    list: bool,
    /// Put the algorithm and the file's name before each digest
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Write a line of JSON for each file
    #[arg(long)]
    json: bool,
    /// Show no progress bar
    #[arg(short = 'q', long)]
    quiet: bool,
    /// The files; without any, standard input
    #[arg(value_name = "FILE", trailing_var_arg = true, value_parser = OsStringValueParser::new())]
    files: Vec<OsString>,
}

/// The algorithms of `digest`.
#[derive(Clone, Copy)]
enum Algorithm {
    Hash(Hash),
    Crc32,
    Crc32c,
}

/// Names in the order of `digest -l`: the one of Solaris, other spellings, the algorithm and its standing.
const ALGORITHMS: &[(&str, &[&str], Algorithm, Standing)] = &[
    ("sha1", &["sha-1"], Algorithm::Hash(Hash::Sha1), Standing::Legacy),
    ("md5", &[], Algorithm::Hash(Hash::Md5), Standing::Legacy),
    ("sha224", &["sha-224"], Algorithm::Hash(Hash::Sha224), Standing::Current),
    ("sha256", &["sha-256"], Algorithm::Hash(Hash::Sha256), Standing::Current),
    ("sha384", &["sha-384"], Algorithm::Hash(Hash::Sha384), Standing::Current),
    ("sha512", &["sha-512"], Algorithm::Hash(Hash::Sha512), Standing::Current),
    (
        "sha512_256",
        &["sha512-256", "sha-512-256", "sha512_t256"],
        Algorithm::Hash(Hash::Sha512_256),
        Standing::Current,
    ),
    ("crc32", &["crc-32"], Algorithm::Crc32, Standing::NotCryptographic),
    ("crc32c", &["crc-32c"], Algorithm::Crc32c, Standing::NotCryptographic),
];

impl Digest {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.list {
            let others = self.algorithm.is_some() || self.verbose || self.json || !self.files.is_empty();
            return if others {
                Err(Error::Usage("-l allows no other option or file".into()))
            } else {
                list()
            };
        }
        let Some(name) = self.algorithm else {
            return Err(Error::Usage("name an algorithm with -a, or list them with -l".into()));
        };
        let known =
            ALGORITHMS.iter().find(|(own, others, ..)| *own == name || others.contains(&name.as_str()));
        let Some(&(.., algorithm, _)) = known else {
            return Err(Error::UnknownAlgorithm { name, command: "digest" });
        };
        let features = Features::active()?;
        let style = Style {
            algorithm: &name,
            what: "digest",
            verbose: self.verbose,
            json: self.json,
            quiet: self.quiet,
        };
        sum::files(context, &style, &self.files, || algorithm.begin(features))
    }
}

impl Algorithm {
    fn begin(self, features: Features) -> Box<dyn Sum> {
        match self {
            Algorithm::Hash(hash) => Box::new(Hasher::new(features, hash)),
            Algorithm::Crc32 => Box::new(Crc::<Ieee>::new(features)),
            Algorithm::Crc32c => Box::new(Crc::<Castagnoli>::new(features)),
        }
    }
}

impl Sum for Hasher {
    fn update(&mut self, data: &[u8]) {
        Hasher::update(self, data);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        Hasher::finish(*self).to_vec()
    }
}

/// The most significant byte comes first, as crc32(1) and everyone prints it.
impl<P: Polynomial> Sum for Crc<P> {
    fn update(&mut self, data: &[u8]) {
        Crc::update(self, data);
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.value().to_be_bytes().to_vec()
    }
}

/// Prints the names alone, as Solaris does. An algorithm that should not be used any more has a remark behind
/// its name.
fn list() -> Result<(), Error> {
    let lines = ALGORITHMS.iter().map(|(name, .., standing)| match standing {
        Standing::Current => format!("{name}\n"),
        standing => format!("{name:15} {standing}\n"),
    });
    print(lines.collect::<String>())
}
