//! The job of each format, made from the options and their keys and passphrases.

use std::borrow::Cow;

use millstream_engines::Error as EngineError;
use millstream_engines::modes::{Direction, Padding};
use millstream_files::age::{self, Secrets};
use millstream_files::cipher::Cipher;
use millstream_files::passphrase::{self, Preamble};
use millstream_files::sealed_key::{self, SealedKey};
use millstream_files::tink::{self, Key};
use millstream_files::{self as files, Format, Job, openssl, raw, solaris};

use super::call::Call;
use super::list::TINK;
use super::options::Options;
use super::secrets::Preface;
use super::source::Source;
use crate::error::Error;
use crate::hex;
use crate::{secret, shown};

impl Options {
    /// Checks the algorithm, and reads or asks for the secrets, before work on many files begins.
    pub(super) fn prepare(&self, call: &Call<'_>) -> Result<(), Error> {
        let format = call.run.asked.unwrap_or(Format::Tink);
        match format {
            Format::Tink if self.token.is_given() => {
                self.tink_algorithm(call)?;
                self.sealer(call.run)?;
                return Ok(());
            }
            Format::Tink => {
                self.tink_algorithm(call)?;
                self.tink_keys(call.run)?;
            }
            Format::Solaris => drop(self.solaris_algorithm(call)?),
            Format::OpenSsl => drop(self.openssl_cipher(call)?),
            Format::Raw => drop(self.raw(call)?),
            // Neither has a name for --format.
            Format::Age | Format::Envelope => {}
        }
        if format == Format::Raw && (self.iv.is_some() || self.iv_file.is_some()) {
            let why = "an initialisation vector is for one file: with two, its cipher would give their contents away; \
                       run the command once for each file, with a vector of its own";
            return Err(Error::Usage(why.into()));
        }
        if self.key(call.run, format)?.is_none() {
            self.passphrase(call.run)?;
        }
        Ok(())
    }

    /// Returns the job to be done, with the keys for it.
    pub(super) fn job(&self, call: &Call<'_>, source: &mut Source) -> Result<Job, Error> {
        let head = match call.run.direction {
            Direction::Encrypt => Vec::new(),
            Direction::Decrypt => source.peek(files::DETECT_LEN).map_err(|error| call.failed(error))?,
        };
        match (self.format_of(call, &head)?, call.run.direction) {
            (Format::Tink, Direction::Encrypt) => self.tink_seal(call),
            (Format::Tink, Direction::Decrypt) => self.tink_open(call, source, &head),
            (Format::Solaris, _) => self.solaris(call, source),
            (Format::OpenSsl, _) => self.openssl(call, source),
            (Format::Raw, _) => self.raw(call),
            (Format::Age, _) => self.age(call, source, &head),
            (Format::Envelope, _) => Err(Error::Usage(format!("{}: {SEALED}", call.name))),
        }
    }

    /// Returns the format of a file that begins with `head`.
    pub(super) fn format_of(&self, call: &Call<'_>, head: &[u8]) -> Result<Format, Error> {
        match call.run.asked {
            Some(format) => Ok(format),
            None => {
                let format = recognised(call.name, head)?;
                // Options were checked against a format that was asked for. The format is known in any case now.
                self.check(Some(format))?;
                Ok(format)
            }
        }
    }

    fn tink_seal(&self, call: &Call<'_>) -> Result<Job, Error> {
        let Sealing { key, aad, preamble } = self.sealing(call)?;
        let mut job = tink::seal(call.run.features, key, &aad).map_err(|error| call.failed(error))?;
        job.header.splice(0..0, preamble);
        Ok(job)
    }

    /// Returns what new streams in the format tink are encrypted with.
    pub(super) fn sealing<'a>(&'a self, call: &Call<'a>) -> Result<Sealing<'a>, Error> {
        self.tink_algorithm(call)?;
        let failed = |error| call.failed(error);
        let (preface, key) = if self.token.is_given() {
            let sealer = self.sealer(call.run)?;
            call.run.secrets.sealing.get(|| {
                let (sealed, key) = SealedKey::seal(|nonce, aad, key| sealer.seal(nonce, aad, key))?;
                Ok::<_, Error>((Preface(sealed.to_bytes().into()), key))
            })?
        } else if let Some(keys) = self.tink_keys(call.run)? {
            return Ok(Sealing { key: &keys[0], aad: self.aad().into(), preamble: Vec::new() });
        } else {
            let passphrase = self.passphrase(call.run)?;
            let made = call.run.secrets.sealing.get(|| {
                let preamble = Preamble::new()?;
                preamble.key(passphrase).map(|key| (Preface(preamble.to_bytes().into()), key))
            });
            made.map_err(failed)?
        };
        Ok(Sealing { key, aad: preface.bind(self.aad()).into(), preamble: preface.0.clone() })
    }

    fn tink_open(&self, call: &Call<'_>, source: &mut Source, head: &[u8]) -> Result<Job, Error> {
        let failed = |error| call.failed(error);
        let features = call.run.features;
        if SealedKey::begins(head) {
            let mut bytes = [0; sealed_key::LEN];
            files::read_header(&mut source.reader, &mut bytes).map_err(failed)?;
            let (key, aad) = self.opening_with_token(call, &bytes)?;
            return tink::open(features, &mut source.reader, &key, &aad).map_err(failed);
        }
        if let Some(keys) = self.opening(call, head)? {
            let key = self.key_of_stream(call, keys, source)?;
            return tink::open(features, &mut source.reader, key, self.aad()).map_err(failed);
        }
        let mut bytes = [0; passphrase::LEN];
        files::read_header(&mut source.reader, &mut bytes).map_err(failed)?;
        let (key, aad) = self.opening_with_passphrase(call, &bytes)?;
        tink::open(features, &mut source.reader, &key, &aad).map_err(failed)
    }

    /// Returns the keys for a stream in the format tink that begins with `head`, or nothing if it takes a passphrase.
    pub(super) fn opening<'a>(&'a self, call: &Call<'a>, head: &[u8]) -> Result<Option<&'a [Key]>, Error> {
        self.tink_algorithm(call)?;
        let name = call.name;
        match (self.tink_keys(call.run)?, head.starts_with(passphrase::MAGIC)) {
            (Some(_), true) => {
                Err(Error::Usage(format!("{name}: was encrypted with a passphrase; leave out -k")))
            }
            (None, false) => Err(Error::Usage(format!(
                "{name}: was encrypted with a key, or with another program; name the key file with -k"
            ))),
            (keys, _) => Ok(keys),
        }
    }

    /// Returns the key that a preamble makes of the passphrase, and the associated data of the stream behind it.
    pub(super) fn opening_with_passphrase(
        &self,
        call: &Call<'_>,
        preamble: &[u8; passphrase::LEN],
    ) -> Result<(Key, Vec<u8>), Error> {
        let failed = |error| call.failed(error);
        let preface = Preface(preamble.to_vec());
        let preamble = Preamble::from_bytes(preamble).map_err(failed)?;
        let passphrase = self.passphrase(call.run)?;
        let key = call.run.secrets.opening(&preface, || preamble.key(passphrase)).map_err(failed)?;
        Ok((key, preface.bind(self.aad())))
    }

    /// Returns the key that is sealed under a key of a token, and the associated data of the stream behind it.
    pub(super) fn opening_with_token(
        &self,
        call: &Call<'_>,
        preamble: &[u8; sealed_key::LEN],
    ) -> Result<(Key, Vec<u8>), Error> {
        self.tink_algorithm(call)?;
        let sealed = SealedKey::from_bytes(preamble).map_err(|error| call.failed(error))?;
        if !self.token.is_given() {
            return Err(Error::Usage(format!(
                "{}: was encrypted under a key of a token; name it with -K and -T",
                call.name
            )));
        }
        let sealer = self.sealer(call.run)?;
        let preface = Preface(preamble.to_vec());
        let open = |nonce: &[u8], aad: &[u8], key: &mut [u8], tag: &[u8; 16]| {
            sealer
                .open(nonce, aad, key, tag)
                .map_err(|error| error.unwrap_or_else(|| call.failed(wrong_key())))
        };
        let key = call.run.secrets.opening(&preface, || sealed.open(open))?;
        Ok((key, preface.bind(self.aad())))
    }

    /// Returns the one of several keys that opens the first segment. If none does, it is the primary one,
    /// whose error the user sees then.
    fn key_of_stream<'k>(
        &self,
        call: &Call<'_>,
        keys: &'k [Key],
        source: &mut Source,
    ) -> Result<&'k Key, Error> {
        if keys.len() == 1 {
            return Ok(&keys[0]);
        }
        let longest = keys.iter().map(|key| key.parameters().segment_bytes).max().unwrap_or(0);
        let head = source.peek(longest + 1).map_err(|error| call.failed(error))?;
        Ok(tink::key_for(call.run.features, keys, &head, self.aad()).unwrap_or(&keys[0]))
    }

    fn tink_algorithm(&self, call: &Call<'_>) -> Result<(), Error> {
        match self.algorithm.as_deref() {
            None | Some(TINK) => Ok(()),
            Some(name)
                if Cipher::from_name(name).is_some() || solaris::Algorithm::from_name(name).is_some() =>
            {
                Err(Error::Usage(format!("--format tink has one algorithm, {TINK}; leave out -a {name}")))
            }
            Some(name) => Err(call.unknown(name)),
        }
    }

    /// Begins to decrypt a file of age: with the identities in the key file, or with a passphrase.
    fn age(&self, call: &Call<'_>, source: &mut Source, head: &[u8]) -> Result<Job, Error> {
        let failed = |error| call.failed(error);
        if let Some(name) = &self.algorithm {
            return Err(Error::Usage(format!("{}: is a file of age; leave out -a {name}", call.name)));
        }
        if age::is_armoured(head) {
            source.replace(age::dearmour).map_err(failed)?;
        }
        let start = source.peek(AGE_HEAD).map_err(failed)?;
        let key = self.key(call.run, Format::Age)?;
        let job = match (key, age::takes_passphrase(&start)) {
            (Some((_, path)), true) => {
                let (name, path) = (call.name, shown::path(path));
                return Err(Error::Usage(format!(
                    "{name}: was encrypted with a passphrase; leave out -k {path}"
                )));
            }
            (Some((text, path)), false) => {
                let identities = age::identities(text).map_err(|error| Error::secret(path, error))?;
                age::open(call.run.features, &mut source.reader, Secrets::Identities(&identities))
            }
            (None, true) => {
                let passphrase = self.passphrase(call.run)?;
                age::open(call.run.features, &mut source.reader, Secrets::Passphrase(passphrase))
            }
            (None, false) => {
                let name = call.name;
                let why =
                    format!("{name}: was encrypted for recipients of age; name the identity file with -k");
                return Err(Error::Usage(why));
            }
        };
        job.map_err(failed)
    }

    fn solaris_algorithm(&self, call: &Call<'_>) -> Result<solaris::Algorithm, Error> {
        let Some(name) = &self.algorithm else {
            let why =
                "the format solaris does not name its algorithm; name it with -a: aes, arcfour, des or 3des";
            return Err(Error::Usage(why.into()));
        };
        solaris::Algorithm::from_name(name).ok_or_else(|| call.unknown(name))
    }

    fn solaris(&self, call: &Call<'_>, source: &mut Source) -> Result<Job, Error> {
        let algorithm = self.solaris_algorithm(call)?;
        let key = self.key(call.run, Format::Solaris)?;
        let secret = match key {
            Some((key, _)) => solaris::Secret::Key(key),
            None => solaris::Secret::Passphrase(self.passphrase(call.run)?),
        };
        let job = match call.run.direction {
            Direction::Encrypt => {
                let iterations = self.iter.unwrap_or(solaris::ITERATIONS);
                solaris::seal(call.run.features, algorithm, secret, iterations)
            }
            Direction::Decrypt => solaris::open(call.run.features, &mut source.reader, algorithm, secret),
        };
        job.map_err(|error| call.failed_with_key(error, key.map(|(key, path)| (key.as_slice(), path))))
    }

    fn openssl_cipher(&self, call: &Call<'_>) -> Result<Cipher, Error> {
        if self.key_file.is_some() || self.token.is_given() {
            let why = "the format openssl takes a passphrase, from --passphrase-file or the terminal; \
                       for a key file use --format raw";
            return Err(Error::Usage(why.into()));
        }
        let name = self.algorithm.as_deref().unwrap_or("aes-256-cbc");
        let cipher = Cipher::from_name(name).ok_or_else(|| call.unknown(name))?;
        if !cipher.is_in_openssl_enc() {
            return Err(Error::Usage(format!("the format openssl has no {name}; use --format raw")));
        }
        Ok(cipher)
    }

    fn openssl(&self, call: &Call<'_>, source: &mut Source) -> Result<Job, Error> {
        let cipher = self.openssl_cipher(call)?;
        let passphrase = self.passphrase(call.run)?;
        let iterations = self.iter.unwrap_or(openssl::ITERATIONS);
        let job = match call.run.direction {
            Direction::Encrypt => openssl::seal(call.run.features, cipher, passphrase, iterations),
            Direction::Decrypt => {
                openssl::open(call.run.features, &mut source.reader, cipher, passphrase, iterations)
            }
        };
        job.map_err(|error| call.failed(error))
    }

    fn raw(&self, call: &Call<'_>) -> Result<Job, Error> {
        let Some(name) = &self.algorithm else {
            return Err(Error::Usage("the format raw needs an algorithm with -a; -l lists them".into()));
        };
        let cipher = Cipher::from_name(name).ok_or_else(|| call.unknown(name))?;
        let Some((key, path)) = self.key(call.run, Format::Raw)? else {
            return Err(Error::Usage("the format raw needs a key file with -k".into()));
        };
        let iv = self.raw_iv(cipher)?;
        if self.no_pad && !cipher.is_block_mode() {
            return Err(Error::Usage(format!("--no-pad: {name} has no padding")));
        }
        if self.aad.is_some() && !cipher.is_aead() {
            return Err(Error::Usage(format!("--aad: {name} does not authenticate")));
        }
        let padding = if self.no_pad { Padding::None } else { Padding::Pkcs7 };
        let p = raw::Parameters { cipher, key, iv: &iv, associated_data: self.aad(), padding };
        raw::job(call.run.features, call.run.direction, &p).map_err(|error| match error {
            files::Error::Engine(error @ EngineError::NonceLength { .. }) => Error::Engine(error),
            error => call.failed_with_key(error, Some((key, path))),
        })
    }

    fn raw_iv(&self, cipher: Cipher) -> Result<Vec<u8>, Error> {
        match (&self.iv, &self.iv_file) {
            (Some(text), _) => {
                hex::read(text).ok_or_else(|| Error::Usage(format!("--iv {text}: not hexadecimal")))
            }
            (None, Some(path)) => Ok(secret::key_file(path)?.0.to_vec()),
            (None, None) if cipher.iv_bytes() == 0 => Ok(Vec::new()),
            (None, None) => Err(Error::Usage(format!(
                "the format raw needs an initialisation vector: --iv with {} hexadecimal digits, or --iv-file; \
                 never use one twice with the same key",
                2 * cipher.iv_bytes()
            ))),
        }
    }
}

/// Returns the error of a sealed key that another key has sealed, or that was changed.
fn wrong_key() -> files::Error {
    files::Error::Engine(EngineError::Authentication)
}

/// The bytes that tell a file of age for a passphrase from others.
const AGE_HEAD: usize = 40;

/// The remedy for a file of `millstream seal`.
const SEALED: &str = "was made by 'millstream seal'; open it with 'millstream open'";

/// New streams in the format tink.
pub(super) struct Sealing<'a> {
    pub(super) key: &'a Key,
    /// The associated data.
    pub(super) aad: Cow<'a, [u8]>,
    /// The bytes in front of each stream.
    pub(super) preamble: Vec<u8>,
}

/// Recognises an authenticated format by its first bytes, where the user has named none. The file's owner
/// expects what `encrypt` makes without options. If other formats were accepted by their look, anybody who
/// can write the file could replace it by one of those, and change the plaintext unnoticed.
fn recognised(name: &str, head: &[u8]) -> Result<Format, Error> {
    let why = match files::detect(head) {
        Some(Format::Envelope) => SEALED,
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
