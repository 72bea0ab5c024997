//! `digest`: like digest(1) of Solaris.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::builder::OsStringValueParser;
use millstream_cpu::Features;
use millstream_engines::Standing;
use millstream_engines::crc::{Castagnoli, Crc, Ieee, Polynomial};
use millstream_engines::hash::{Hash, HashJob, HashLanes, Hasher};

use crate::commands::lines::{Form, Style};
use crate::commands::{Context, checklist, pages, print, sum};
use crate::error::Error;
use crate::many::{Sum, Sums, one_by_one};
use crate::names;

/// Compute the digest of files or of standard input
///
/// Prints the digest in hexadecimal. With several files each line has the form "(file) = digest",
/// with -v "algorithm (file) = digest", as on Solaris. --sum and --tag print what sha256sum and its kin print, and
/// --check reads all of these.
#[derive(clap::Args)]
#[command(
    override_usage = "millstream digest -l\n       millstream digest [-v | --sum | --tag | --json] -a ALGORITHM \
                      [FILE]...\n       millstream digest -c [-a ALGORITHM] [FILE]...",
    after_long_help = pages::help(pages::DIGEST)
)]
pub(super) struct Digest {
    /// The algorithm; -l lists them
    #[arg(short = 'a', long, value_name = "ALGORITHM", allow_hyphen_values = true)]
    algorithm: Option<String>,
    /// List the algorithms; allows no other option
    #[arg(short = 'l', long)]
    list: bool,
    /// Put the algorithm and the file's name before each digest, as on Solaris
    #[arg(short = 'v', long)]
    verbose: bool,
    /// Print lines as sha256sum does: the digest, two blanks, the file's name
    #[arg(long, conflicts_with_all = ["verbose", "tag", "json"])]
    sum: bool,
    /// Print lines as BSD and sha256sum --tag do: SHA256 (file) = digest
    #[arg(long, conflicts_with_all = ["verbose", "json"])]
    tag: bool,
    /// Write a line of JSON for each file
    #[arg(long)]
    json: bool,
    /// Show no progress bar, and with --check no OK
    #[arg(short = 'q', long)]
    quiet: bool,
    #[command(flatten)]
    checking: checklist::Options,
    /// The files, - for standard input; without any, standard input
    #[arg(value_name = "FILE", value_parser = OsStringValueParser::new())]
    files: Vec<OsString>,
}

/// The algorithms of `digest`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Algorithm {
    Hash(Hash),
    Crc32,
    Crc32c,
}

/// An algorithm and its names.
struct Known {
    /// The name of Solaris.
    name: &'static str,
    /// Names that are more than another spelling.
    others: &'static [&'static str],
    /// The name in lines of BSD.
    tag: &'static str,
    algorithm: Algorithm,
    standing: Standing,
}

const fn known(
    name: &'static str,
    others: &'static [&'static str],
    tag: &'static str,
    algorithm: Algorithm,
    standing: Standing,
) -> Known {
    Known { name, others, tag, algorithm, standing }
}

/// The algorithms in the order of `digest -l`.
const ALGORITHMS: &[Known] = &[
    known("sha1", &[], "SHA1", Algorithm::Hash(Hash::Sha1), Standing::Legacy),
    known("md5", &[], "MD5", Algorithm::Hash(Hash::Md5), Standing::Legacy),
    known("sha224", &["sha2-224"], "SHA224", Algorithm::Hash(Hash::Sha224), Standing::Current),
    known("sha256", &["sha2-256"], "SHA256", Algorithm::Hash(Hash::Sha256), Standing::Current),
    known("sha384", &["sha2-384"], "SHA384", Algorithm::Hash(Hash::Sha384), Standing::Current),
    known("sha512", &["sha2-512"], "SHA512", Algorithm::Hash(Hash::Sha512), Standing::Current),
    known(
        "sha512_256",
        &["sha512_t256", "sha2-512/256"],
        "SHA512/256",
        Algorithm::Hash(Hash::Sha512_256),
        Standing::Current,
    ),
    known("sha3_224", &[], "SHA3-224", Algorithm::Hash(Hash::Sha3_224), Standing::Current),
    known("sha3_256", &[], "SHA3-256", Algorithm::Hash(Hash::Sha3_256), Standing::Current),
    known("sha3_384", &[], "SHA3-384", Algorithm::Hash(Hash::Sha3_384), Standing::Current),
    known("sha3_512", &[], "SHA3-512", Algorithm::Hash(Hash::Sha3_512), Standing::Current),
    known("crc32", &[], "CRC32", Algorithm::Crc32, Standing::NotCryptographic),
    known("crc32c", &[], "CRC32C", Algorithm::Crc32c, Standing::NotCryptographic),
];

/// Families of hashes that are not part of this version, so that none of them is taken for a slip of the hand.
const ABSENT: &[&str] = &["shake", "keccak", "blake", "b2", "b3"];

/// Returns the names for `-a`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|known| known.name)
}

impl Digest {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        if self.list {
            let form = self.verbose || self.json || self.sum || self.tag;
            let others = self.algorithm.is_some() || form || !self.files.is_empty();
            return if others {
                Err(Error::Usage("-l allows no other option or file".into()))
            } else {
                list()
            };
        }
        let known = self.algorithm.as_deref().map(Known::named).transpose()?;
        let features = Features::active()?;
        let digests = |known: &Known| Digests { features, algorithm: known.algorithm };
        if self.checking.check {
            let find = |name: &str| Known::named(name).ok().map(digests);
            let (options, fixed) = (&self.checking, known.map(digests));
            return checklist::verify(context, options, self.quiet, &self.files, fixed, find);
        }
        let (Some(name), Some(known)) = (&self.algorithm, known) else {
            return Err(Error::Usage("name an algorithm with -a, or list them with -l".into()));
        };
        let style = Style {
            algorithm: name,
            what: "digest",
            form: self.form(known),
            on_screen: io::stdout().is_terminal(),
            quiet: self.quiet,
        };
        sum::files(context, &style, &self.files, &digests(known))
    }

    fn form(&self, known: &Known) -> Form {
        match (self.json, self.sum, self.tag, self.verbose) {
            (true, ..) => Form::Json,
            (_, true, ..) => Form::Sum,
            (_, _, true, _) => Form::Tagged(known.tag),
            (.., true) => Form::Verbose,
            _ => Form::Plain,
        }
    }
}

impl Known {
    /// Returns the algorithm of a name in any spelling.
    fn named(name: &str) -> Result<&'static Known, Error> {
        let found = names::find(ALGORITHMS, name, |known| (known.name, known.others));
        found.ok_or_else(|| {
            let lower = name.to_ascii_lowercase();
            let is_absent = ABSENT.iter().any(|family| lower.starts_with(family));
            let near = names::nearest(name, self::names()).filter(|_| !is_absent).map(str::to_owned);
            Error::UnknownAlgorithm { name: name.to_owned(), command: "digest", near }
        })
    }
}

/// An algorithm, on the kernels that this process may use.
#[derive(Clone, Copy, PartialEq)]
struct Digests {
    features: Features,
    algorithm: Algorithm,
}

impl Sums for Digests {
    fn begin(&self) -> Box<dyn Sum + '_> {
        match self.algorithm {
            Algorithm::Hash(hash) => Box::new(Hasher::new(self.features, hash)),
            Algorithm::Crc32 => Box::new(Crc::<Ieee>::new(self.features)),
            Algorithm::Crc32c => Box::new(Crc::<Castagnoli>::new(self.features)),
        }
    }

    fn of_all(&self, messages: &[&[u8]]) -> Vec<Vec<u8>> {
        let Algorithm::Hash(hash) = self.algorithm else { return one_by_one(self, messages) };
        let mut jobs: Vec<_> = messages.iter().copied().map(HashJob::new).collect();
        HashLanes::new(self.features, hash).digest(&mut jobs.iter_mut().collect::<Vec<_>>());
        jobs.iter().map(|job| job.digest.to_vec()).collect()
    }
}

impl checklist::Algorithm for Digests {
    fn digest_bytes(&self) -> usize {
        match self.algorithm {
            Algorithm::Hash(hash) => hash.output_len(),
            Algorithm::Crc32 | Algorithm::Crc32c => 4,
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
    let lines = ALGORITHMS.iter().map(|known| match known.standing {
        Standing::Current => format!("{}\n", known.name),
        standing => format!("{:15} {standing}\n", known.name),
    });
    print(lines.collect::<String>())
}
