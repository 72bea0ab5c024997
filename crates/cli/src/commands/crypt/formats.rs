//! The job of each format, made from the options and their keys and passphrases.

use millstream_engines::Error as EngineError;
use millstream_engines::modes::{Direction, Padding};
use millstream_files::cipher::Cipher;
use millstream_files::passphrase::{self, Preamble};
use millstream_files::tink::{self, Key};
use millstream_files::{self as files, Format, Job, keyset, openssl, raw, solaris};

use super::{Call, Options, Source, TINK};
use crate::error::Error;
use crate::secret::{self, Secret};

impl Options {
    pub(super) fn tink_seal(&self, call: &Call<'_>) -> Result<Job, Error> {
        self.tink_algorithm(call)?;
        let failed = |error| call.failed(error);
        if let Some(keys) = self.tink_keys(call)? {
            return tink::seal(call.features, &keys[0], self.aad()).map_err(failed);
        }
        let preamble = Preamble::new().map_err(failed)?;
        let key = preamble.key(&self.passphrase(call)?).map_err(failed)?;
        let mut job = tink::seal(call.features, &key, &preamble.bind(self.aad())).map_err(failed)?;
        job.header.splice(0..0, preamble.to_bytes());
        Ok(job)
    }

    pub(super) fn tink_open(&self, call: &Call<'_>, source: &mut Source, head: &[u8]) -> Result<Job, Error> {
        self.tink_algorithm(call)?;
        let failed = |error| call.failed(error);
        let name = &call.input.name;
        match (self.tink_keys(call)?, head.starts_with(passphrase::MAGIC)) {
            (Some(_), true) => {
                Err(Error::Usage(format!("{name}: was encrypted with a passphrase; leave out -k")))
            }
            (None, false) => Err(Error::Usage(format!(
                "{name}: was encrypted with a key, or with another program; name the key file with -k"
            ))),
            (Some(keys), false) => {
                let key = self.key_of_stream(call, &keys, source)?;
                tink::open(call.features, &mut source.reader, key, self.aad()).map_err(failed)
            }
            (None, true) => {
                let mut bytes = [0; passphrase::LEN];
                files::read_header(&mut source.reader, &mut bytes).map_err(failed)?;
                let preamble = Preamble::from_bytes(&bytes).map_err(failed)?;
                let key = preamble.key(&self.passphrase(call)?).map_err(failed)?;
                let aad = preamble.bind(self.aad());
                tink::open(call.features, &mut source.reader, &key, &aad).map_err(failed)
            }
        }
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
        Ok(tink::key_for(call.features, keys, &head, self.aad()).unwrap_or(&keys[0]))
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

    /// Returns the keys in the key file: 32 bytes, or a keyset.
    fn tink_keys(&self, call: &Call<'_>) -> Result<Option<Vec<Key>>, Error> {
        let Some((bytes, path)) = self.key(call, Format::Tink)? else { return Ok(None) };
        let keys = if keyset::is_keyset(&bytes) {
            keyset::parse(&bytes)
        } else {
            Key::new(&bytes).map(|key| vec![key])
        };
        keys.map(Some).map_err(|error| match error {
            files::Error::Engine(error @ EngineError::KeyLength { .. }) => {
                secret::length(path, &bytes, error)
            }
            error => Error::secret(path, error),
        })
    }

    pub(super) fn solaris(&self, call: &Call<'_>, source: &mut Source) -> Result<Job, Error> {
        let Some(name) = &self.algorithm else {
            let why =
                "the format solaris does not name its algorithm; name it with -a: aes, arcfour, des or 3des";
            return Err(Error::Usage(why.into()));
        };
        let algorithm = solaris::Algorithm::from_name(name).ok_or_else(|| call.unknown(name))?;
        let key = self.key(call, Format::Solaris)?;
        let passphrase = match key {
            Some(_) => Secret::default(),
            None => self.passphrase(call)?,
        };
        let secret = match &key {
            Some((key, _)) => solaris::Secret::Key(key),
            None => solaris::Secret::Passphrase(&passphrase),
        };
        let job = match call.direction {
            Direction::Encrypt => {
                let iterations = self.iter.unwrap_or(solaris::ITERATIONS);
                solaris::seal(call.features, algorithm, secret, iterations)
            }
            Direction::Decrypt => solaris::open(call.features, &mut source.reader, algorithm, secret),
        };
        job.map_err(|error| {
            call.failed_with_key(error, key.as_ref().map(|(key, path)| (key.as_slice(), *path)))
        })
    }

    pub(super) fn openssl(&self, call: &Call<'_>, source: &mut Source) -> Result<Job, Error> {
        if self.key_file.is_some() {
            let why = "the format openssl takes a passphrase, from --passphrase-file or the terminal; \
                       for a key file use --format raw";
            return Err(Error::Usage(why.into()));
        }
        let name = self.algorithm.as_deref().unwrap_or("aes-256-cbc");
        let cipher = Cipher::from_name(name).ok_or_else(|| call.unknown(name))?;
        if !cipher.is_in_openssl_enc() {
            return Err(Error::Usage(format!("the format openssl has no {name}; use --format raw")));
        }
        let passphrase = self.passphrase(call)?;
        let iterations = self.iter.unwrap_or(openssl::ITERATIONS);
        let job = match call.direction {
            Direction::Encrypt => openssl::seal(call.features, cipher, &passphrase, iterations),
            Direction::Decrypt => {
                openssl::open(call.features, &mut source.reader, cipher, &passphrase, iterations)
            }
        };
        job.map_err(|error| call.failed(error))
    }

    pub(super) fn raw(&self, call: &Call<'_>) -> Result<Job, Error> {
        let Some(name) = &self.algorithm else {
            return Err(Error::Usage("the format raw needs an algorithm with -a; -l lists them".into()));
        };
        let cipher = Cipher::from_name(name).ok_or_else(|| call.unknown(name))?;
        let Some((key, path)) = self.key(call, Format::Raw)? else {
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
        let p = raw::Parameters { cipher, key: &key, iv: &iv, associated_data: self.aad(), padding };
        raw::job(call.features, call.direction, &p).map_err(|error| match error {
            files::Error::Engine(error @ EngineError::NonceLength { .. }) => Error::Engine(error),
            error => call.failed_with_key(error, Some((&key, path))),
        })
    }

    fn raw_iv(&self, cipher: Cipher) -> Result<Vec<u8>, Error> {
        match (&self.iv, &self.iv_file) {
            (Some(text), _) => hex(text).ok_or_else(|| Error::Usage(format!("--iv {text}: not hexadecimal"))),
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

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
