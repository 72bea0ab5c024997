//! `millstream keygen`: makes keys.

use std::io::{self, IsTerminal};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use millstream_cpu::Features;
use millstream_files::{age, keyset};
use zeroize::Zeroizing;

use crate::commands::{Context, cautions, pages};
use crate::error::Error;
use crate::output::Output;
use crate::secret::Secret;

/// Make a key
///
/// Writes random bytes of the system's generator, which encrypt, decrypt and mac take with -k. The file can be
/// read by its owner only, and replaces no other file. Nothing shows the key.
#[derive(clap::Args)]
#[command(after_long_help = pages::help(pages::KEYGEN))]
pub(super) struct Keygen {
    /// The use of the key
    #[arg(value_enum, default_value_t = Kind::Aes)]
    kind: Kind,
    /// The key's length in bits [default: the longest; 256 for hmac]
    #[arg(short = 'b', long, value_name = "BITS")]
    bits: Option<usize>,
    /// The file to make; without it, standard output, unless that is a terminal
    #[arg(short = 'o', long, value_name = "FILE", allow_hyphen_values = true)]
    output: Option<PathBuf>,
}

/// A kind of key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// AES, and encrypt's default format: 128, 192 or 256 bits
    Aes,
    /// AES-XTS, two keys in one: 256 or 512 bits
    AesXts,
    /// Camellia: 128, 192 or 256 bits
    Camellia,
    /// ChaCha20-Poly1305: 256 bits
    #[value(name = "chacha20-poly1305", alias = "chacha20")]
    ChaCha20Poly1305,
    /// HMAC: 128 to 8192 bits, in whole bytes
    Hmac,
    /// A keyset of Tink in cleartext JSON, for encrypt's default format: 128 or 256 bits
    Tink,
    /// An identity file of age for ML-KEM-768 and X25519 together, with its recipient in a comment; seal, backup and age take them
    Age,
}

impl Keygen {
    pub(super) fn run(self, context: &Context) -> Result<(), Error> {
        let bits = self.kind.bits(self.bits)?;
        let destination = cautions::file(self.output.as_deref());
        if destination.is_none() {
            self.spare_screen()?;
        }
        // The key is made when there is a place for it.
        let output = match destination {
            Some(path) => Output::fresh(path)?,
            None => Output::standard()?,
        };
        if is_public(&output) {
            context.warn("everyone may read the file that standard output goes to; name the file with -o");
        }
        output.save(&self.kind.key(bits)?)
    }

    /// Refuses to show a key on a terminal. Text may be shown to a user who insists.
    fn spare_screen(&self) -> Result<(), Error> {
        let why = match (io::stdout().is_terminal(), self.kind, &self.output) {
            (false, ..) | (true, Kind::Tink | Kind::Age, Some(_)) => return Ok(()),
            (true, Kind::Tink | Kind::Age, None) => "; name a file with -o, or insist with '-o -'",
            (true, ..) => ", which a key's bytes would garble; name a file with -o",
        };
        Err(Error::Usage(format!("standard output is a terminal{why}")))
    }
}

impl Kind {
    /// Returns the length that was asked for, if this kind has such keys, or the usual one.
    fn bits(self, asked: Option<usize>) -> Result<usize, Error> {
        let (lengths, usual): (&[usize], usize) = match self {
            Kind::Aes | Kind::Camellia => (&[128, 192, 256], 256),
            Kind::AesXts => (&[256, 512], 512),
            Kind::ChaCha20Poly1305 | Kind::Age => (&[256], 256),
            Kind::Tink => (&[128, 256], 256),
            Kind::Hmac => (&[], 256),
        };
        let bits = asked.unwrap_or(usual);
        let takes = match self {
            Kind::Hmac if (128..=8192).contains(&bits) && bits.is_multiple_of(8) => return Ok(bits),
            Kind::Hmac => "128 to 8192 bits in whole bytes".to_owned(),
            _ if lengths.contains(&bits) => return Ok(bits),
            _ => lengths.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ") + " bits",
        };
        Err(Error::Usage(format!("--bits {bits}: this kind of key has {takes}")))
    }

    /// Makes a key.
    fn key(self, bits: usize) -> Result<Secret, Error> {
        let failed = |error| Error::in_format(error, "", "");
        match self {
            Kind::Tink => {
                let text = keyset::generate(bits).map_err(failed)?;
                Ok(Zeroizing::new(text.as_bytes().to_vec()))
            }
            Kind::Age => {
                let mut seed = Zeroizing::new([0; 32]);
                getrandom::fill(&mut *seed)?;
                let identity = age::Identity::Hybrid(seed);
                let recipient = identity.recipient(Features::active()?).map_err(failed)?.to_line();
                // Room for all of it, so that no copy is left behind where the text grows.
                let line = identity.to_line();
                let mut text = Zeroizing::new(Vec::with_capacity(recipient.len() + line.len() + 20));
                for part in ["# public key: ", &recipient, "\n", &line, "\n"] {
                    text.extend_from_slice(part.as_bytes());
                }
                Ok(text)
            }
            Kind::Aes | Kind::AesXts | Kind::Camellia | Kind::ChaCha20Poly1305 | Kind::Hmac => {
                let mut key = Zeroizing::new(vec![0; bits / 8]);
                getrandom::fill(&mut key)?;
                Ok(key)
            }
        }
    }
}

/// Returns true when the output is a file that somebody else has opened, and that everyone may read.
fn is_public(output: &Output) -> bool {
    let found = output.file().metadata();
    found.is_ok_and(|found| found.is_file() && found.mode() & 0o004 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_keys_of_its_lengths_and_no_others() {
        for (kind, asked, bits) in [
            (Kind::Aes, None, Some(256)),
            (Kind::Aes, Some(192), Some(192)),
            (Kind::Aes, Some(255), None),
            (Kind::AesXts, None, Some(512)),
            (Kind::AesXts, Some(128), None),
            (Kind::Hmac, None, Some(256)),
            (Kind::Hmac, Some(136), Some(136)),
            (Kind::Hmac, Some(129), None),
            (Kind::Hmac, Some(120), None),
            (Kind::Tink, Some(192), None),
            (Kind::Age, Some(128), None),
        ] {
            assert_eq!(kind.bits(asked).ok(), bits, "{kind:?} {asked:?}");
        }
    }
}
