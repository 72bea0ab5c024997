//! The options that name the keys of envelopes: of sealed files, and of backups.

use std::path::{Path, PathBuf};

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::{ServiceKeyError, TokenKey};
use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_files::envelope::{Identity, Recipient, SERVICE_AAD, Service};
use millstream_files::key::{self, Found, Kind};
use millstream_files::{self as files, age};
use millstream_store::{Role, usage};
use zeroize::Zeroizing;

use crate::commands::Context;
use crate::error::Error;
use crate::secret::{self, Doubt, Secret};
use crate::tokens::pins::UserPin;
use crate::tokens::{self, Loaded, Place};

/// The keys that open an envelope, and that it can be sealed for.
#[derive(Default, clap::Args)]
pub(super) struct Keys {
    /// The file with a key of 32 bytes, as millstream keygen makes it
    #[arg(short = 'k', long, value_name = "KEYFILE", allow_hyphen_values = true)]
    key_file: Option<PathBuf>,
    /// The file whose first line is the passphrase
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// The label of a key of AES in a token of the service, where it stays
    #[arg(long, value_name = "LABEL")]
    isolated: Option<PathBuf>,
    /// The label of that token [default: the only one there is]
    #[arg(short = 'T', long, value_name = "TOKEN", requires = "isolated")]
    token: Option<String>,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

/// The keys for which something is sealed.
#[derive(clap::Args)]
pub(super) struct Sealing {
    #[command(flatten)]
    keys: Keys,
    /// The file with a public key of X25519 (PEM, DER or JWK), or with recipients of age, whose private key opens; may be given several times
    #[arg(long, value_name = "FILE")]
    recipient: Vec<PathBuf>,
}

/// The keys with which something is opened.
#[derive(clap::Args)]
pub(super) struct Opening {
    #[command(flatten)]
    keys: Keys,
    /// The file with a private key of X25519 (PEM, DER, JWK, or an identity file of age); may be given several times
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
}

/// The secrets that the options name, as far as this process has them.
#[derive(Default)]
pub(super) struct Secrets {
    key: Option<Zeroizing<[u8; 32]>>,
    passphrase: Option<Secret>,
    held: Option<Held>,
    public: Vec<age::Recipient>,
    private: Vec<age::Identity>,
}

impl Sealing {
    /// Makes the options of others that name keys.
    pub(super) fn named(
        key_file: Option<PathBuf>,
        passphrase_file: Option<PathBuf>,
        recipient: Vec<PathBuf>,
    ) -> Self {
        Sealing { keys: Keys { key_file, passphrase_file, ..Keys::default() }, recipient }
    }

    /// Returns true when an option names a key.
    pub(super) fn is_given(&self) -> bool {
        !self.recipient.is_empty() || self.keys.is_given()
    }

    /// Returns the files that an output must not overwrite, with their names for messages.
    pub(super) fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        self.keys.files()
    }

    /// Reads the keys. Without any, the terminal asks for a passphrase, twice.
    pub(super) fn read(&self, context: &Context) -> Result<Secrets, Error> {
        let mut secrets = self.keys.read(context, true)?;
        for path in &self.recipient {
            secrets.public.extend(public(path)?);
        }
        secrets.ask(!self.recipient.is_empty(), true)
    }
}

impl Opening {
    /// Returns the files that an output must not overwrite, with their names for messages.
    pub(super) fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        self.keys.files()
    }

    /// Returns true when an option names a key.
    pub(super) fn is_given(&self) -> bool {
        !self.identity.is_empty() || self.keys.is_given()
    }

    /// Reads the keys. Without any, the terminal asks for a passphrase.
    pub(super) fn read(&self, context: &Context) -> Result<Secrets, Error> {
        let mut secrets = self.keys.read(context, false)?;
        for path in &self.identity {
            secrets.private.extend(private(path, context)?);
        }
        secrets.ask(!self.identity.is_empty(), false)
    }
}

impl Keys {
    fn is_given(&self) -> bool {
        let Keys { key_file, passphrase_file, isolated, .. } = self;
        [key_file, passphrase_file, isolated].iter().any(|path| path.is_some())
    }

    fn files(&self) -> [(&'static str, Option<&Path>); 2] {
        [("key file", self.key_file.as_deref()), ("passphrase file", self.passphrase_file.as_deref())]
    }

    fn read(&self, context: &Context, sealing: bool) -> Result<Secrets, Error> {
        let mut secrets = Secrets::default();
        if let Some(path) = &self.key_file {
            let (bytes, warning) = secret::key_file(path)?;
            warning.into_iter().for_each(|warning| context.warn(warning));
            let Ok(key) = <[u8; 32]>::try_from(&bytes[..]) else {
                return Err(secret::length(
                    path,
                    &bytes,
                    format!("a key of {} bytes; it takes 32", bytes.len()),
                ));
            };
            if sealing && secret::doubt(&bytes) == Some(Doubt::Zero) {
                return Err(Error::secret(path, Doubt::Zero));
            }
            secrets.key = Some(Zeroizing::new(key));
        }
        if let Some(path) = &self.passphrase_file {
            let (passphrase, warning) = secret::passphrase_file(path)?;
            warning.into_iter().for_each(|warning| context.warn(warning));
            secrets.passphrase = Some(passphrase);
        }
        if let Some(label) = &self.isolated {
            secrets.held = Some(self.held(label)?);
        }
        Ok(secrets)
    }

    fn held(&self, label: &Path) -> Result<Held, Error> {
        let label = label.to_str().ok_or_else(|| Error::Usage("--isolated: a label is UTF-8".into()))?;
        let mut store = self.place.open()?;
        let token = store.meant(self.token.as_deref())?;
        let mut token = store.token(&token, Role::User, &self.pin.get()?)?;
        let object = token.find(label)?;
        let attributes = token.show(object)?;
        tokens::is_aes(label, &attributes)?;
        // Whoever encrypts with nonces of his own can decrypt, so the service wants keys for both here.
        for wanted in [usage::ENCRYPT, usage::DECRYPT] {
            tokens::is_for(label, &attributes, wanted)?;
        }
        match token.load(object, Algorithm::AesGcm, Usages::ENCRYPT | Usages::DECRYPT)? {
            Loaded::Service(key) => Ok(Held(key)),
            Loaded::Here(_) => Err(Error::Usage(
                "--isolated needs a token of the service, and this one is in a file of this machine; keep a copy of the key in a file, and name that with -k"
                    .into(),
            )),
        }
    }
}

impl Secrets {
    /// Asks for a passphrase when no key is there.
    fn ask(mut self, is_pair: bool, twice: bool) -> Result<Self, Error> {
        if !is_pair && self.key.is_none() && self.passphrase.is_none() && self.held.is_none() {
            self.passphrase = Some(secret::ask(twice)?);
        }
        Ok(self)
    }

    /// Returns all that something is sealed for.
    pub(super) fn recipients(&self) -> Vec<Recipient<'_>> {
        let mut all: Vec<Recipient<'_>> = self.key.iter().map(|key| Recipient::Key(key)).collect();
        all.extend(self.passphrase.iter().map(|passphrase| Recipient::Passphrase(passphrase)));
        all.extend(self.held.iter().map(|held| Recipient::Service(held)));
        all.extend(self.public.iter().map(|key| match key {
            age::Recipient::X25519(key) => Recipient::X25519(key),
            age::Recipient::Hybrid(key) => Recipient::Hybrid(key),
        }));
        all
    }

    /// Returns all that may open something.
    pub(super) fn identities(&self) -> Vec<Identity<'_>> {
        let mut all: Vec<Identity<'_>> = self.key.iter().map(|key| Identity::Key(key)).collect();
        all.extend(self.held.iter().map(|held| Identity::Service(held)));
        all.extend(self.private.iter().map(|key| match key {
            age::Identity::X25519(key) => Identity::X25519(key),
            age::Identity::Hybrid(seed) => Identity::Hybrid(seed),
        }));
        // This one takes the longest, so it comes last.
        all.extend(self.passphrase.iter().map(|passphrase| Identity::Passphrase(passphrase)));
        all
    }
}

fn public(path: &Path) -> Result<Vec<age::Recipient>, Error> {
    let (bytes, _) = secret::key_file(path)?;
    let features = Features::active()?;
    let failed = |error: files::Error| Error::secret(path, error);
    if age::is_recipients_file(&bytes) {
        return age::recipients(features, &bytes).map_err(failed);
    }
    if age::is_identity_file(&bytes) {
        return Err(Error::secret(path, PRIVATE));
    }
    match key::read(features, &bytes, None).map_err(failed)? {
        Found::Public(key) if key.kind() == Kind::X25519 => {
            let key = key.as_bytes().try_into().expect("a public key of X25519 has 32 bytes");
            Ok(vec![age::Recipient::X25519(key)])
        }
        Found::Public(key) => {
            Err(Error::secret(path, format!("a public key of {}; it takes x25519", key.kind())))
        }
        Found::Key(_) => Err(Error::secret(path, PRIVATE)),
    }
}

/// The remedy for a private key where a public one is asked for.
const PRIVATE: &str =
    "a private key, where the public one is enough; write that out with 'millstream key public'";

fn private(path: &Path, context: &Context) -> Result<Vec<age::Identity>, Error> {
    let (bytes, warning) = secret::key_file(path)?;
    warning.into_iter().for_each(|warning| context.warn(warning));
    let failed = |error: files::Error| Error::secret(path, error);
    if age::is_identity_file(&bytes) {
        return age::identities(&bytes).map_err(failed);
    }
    if age::is_recipients_file(&bytes) {
        return Err(Error::secret(path, PUBLIC));
    }
    match key::read(Features::active()?, &bytes, None).map_err(failed)? {
        Found::Key(key) if key.kind() == Kind::X25519 => {
            let key = key.secret().try_into().expect("a key of X25519 has 32 bytes");
            Ok(vec![age::Identity::X25519(Zeroizing::new(key))])
        }
        Found::Key(key) => Err(Error::secret(path, format!("a key of {}; it takes x25519", key.kind()))),
        Found::Public(_) => Err(Error::secret(path, PUBLIC)),
    }
}

/// The remedy for a public key where a private one is asked for.
const PUBLIC: &str = "a public key, which opens nothing; name the private one";

/// A key in the service.
struct Held(TokenKey);

impl Service for Held {
    fn wrap(&self, nonce: &[u8; 12], key: &mut [u8; 32]) -> Result<[u8; 16], files::Error> {
        let plain = Zeroizing::new(*key);
        let sealed = self.0.with(|held| {
            let mut sealed = *plain;
            held.seal(nonce, SERVICE_AAD, InOut::in_place(&mut sealed)).map(|tag| (sealed, tag))
        });
        let (sealed, tag) = sealed.map_err(failed)?;
        *key = sealed;
        Ok(tag)
    }

    fn unwrap(&self, nonce: &[u8; 12], key: &mut [u8; 32], tag: &[u8; 16]) -> Result<bool, files::Error> {
        let sealed = *key;
        let opened = self.0.with(|held| {
            let mut opened = Zeroizing::new(sealed);
            held.open(nonce, SERVICE_AAD, InOut::in_place(&mut *opened), tag).map(|()| opened)
        });
        match opened {
            Ok(opened) => {
                *key = *opened;
                Ok(true)
            }
            Err(ServiceKeyError::Authentication) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }
}

fn failed(error: ServiceKeyError) -> files::Error {
    files::Error::Service(error.to_string())
}
