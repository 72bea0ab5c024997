//! The options that name a key in a token, as the Solaris commands have them, and the key itself: its bytes, or what uses it in the service.

use std::path::{Path, PathBuf};

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::{ServiceKeyError, TokenKey};
use millstream_cpu::Features;
use millstream_engines::aead::Aead;
use millstream_engines::gcm::Gcm;
use millstream_engines::{Error as EngineError, InOut};
use millstream_files::key::Kind;
use millstream_store::{Attributes, ObjectId, Role, usage};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::secret::Secret;
use crate::tokens::pins::UserPin;
use crate::tokens::{self, Loaded, Open, Place};

/// The options of a key in a token.
#[derive(clap::Args)]
pub(crate) struct Token {
    /// The label of a key in a token, or its identifier
    #[arg(short = 'K', long, value_name = "LABEL", allow_hyphen_values = true)]
    token_key: Option<PathBuf>,
    /// The label of the token [default: the only one there is]
    #[arg(short = 'T', long, value_name = "TOKEN", allow_hyphen_values = true)]
    token: Option<String>,
    #[command(flatten)]
    pin: UserPin,
    #[command(flatten)]
    place: Place,
}

impl Token {
    pub(crate) fn is_given(&self) -> bool {
        self.token_key.is_some() || self.token.is_some()
    }

    /// Applies the rules of the Solaris commands.
    ///
    /// # Errors
    /// [`Error::Usage`].
    pub(crate) fn check(&self, with_key_file: bool, with_passphrase: bool) -> Result<(), Error> {
        let why = match (&self.token_key, &self.token) {
            (Some(_), _) if with_key_file => "-k and -K can't be used together",
            (Some(_), _) if with_passphrase => "-K and --passphrase-file can't be used together",
            (None, Some(_)) => "-T needs -K",
            _ => return Ok(()),
        };
        Err(Error::Usage(why.into()))
    }

    /// Returns the label of the key, for messages.
    pub(crate) fn label(&self) -> Option<&Path> {
        self.token_key.as_deref()
    }

    /// Opens the token and returns the bytes of the key, if one is named. It must be a secret key with that usage.
    ///
    /// # Errors
    /// [`Error::Key`] for a key of another kind or for other uses, and for one that stays in the service; [`Error::Usage`], [`Error::Store`].
    pub(crate) fn key(&self, wanted: u32) -> Result<Option<Secret>, Error> {
        let Some(label) = self.named()? else { return Ok(None) };
        let key = self.with_key(label, wanted, &self.pin.get()?, |token, object, attributes| {
            if matches!(token, Open::Service(_)) && !attributes.exportable {
                let why = format!(
                    "key {label} stays in the service, and this format needs its bytes: leave out --format, or use the key through the PKCS #11 module"
                );
                return Err(Error::Key(why));
            }
            token.export(object)
        });
        key.map(Some)
    }

    /// Opens the token and returns the key, if one is named. It must be a secret key with that usage. One of the service stays there.
    ///
    /// # Errors
    /// [`Error::Key`] for a key of another kind or for other uses; [`Error::Usage`], [`Error::Store`].
    pub(crate) fn secret(&self, wanted: u32) -> Result<Option<Named>, Error> {
        let Some(label) = self.named()? else { return Ok(None) };
        let pin = self.pin.get()?;
        let found = self.with_key(label, wanted, &pin, |token, object, _| match token {
            Open::Service(open) => {
                let (socket, token) = open.place();
                let object = u128::from_be_bytes(object.0);
                Ok(Named::InService(Held { socket, token, object, pin: pin.clone() }))
            }
            token => token.export(object).map(Named::Here),
        });
        found.map(Some)
    }

    /// Opens the token and returns its key as one that seals the keys of files.
    ///
    /// # Errors
    /// As [`Token::secret`]; [`Error::Key`] for a key that is not one of AES; [`Error::Queue`].
    pub(crate) fn sealer(&self, features: Features, wanted: u32) -> Result<Sealer, Error> {
        let label = self.named()?.ok_or_else(|| Error::Usage("name a key with -K".into()))?;
        let loaded = self.with_key(label, wanted, &self.pin.get()?, |token, object, attributes| {
            tokens::is_aes(label, attributes)?;
            let usages = if wanted == usage::DECRYPT { Usages::DECRYPT } else { Usages::ENCRYPT | Usages::DECRYPT };
            if matches!(token, Open::Service(_)) && attributes.usages & usage::DECRYPT == 0 {
                let why = format!(
                    "key {label} encrypts and does not decrypt, and with nonces of a program's choice it could be made to: the service wants a key for both"
                );
                return Err(Error::Key(why));
            }
            token.load(object, Algorithm::AesGcm, usages)
        })?;
        Ok(match loaded {
            Loaded::Here(key) => Sealer::Here(Box::new(Gcm::new(features, &key)?)),
            Loaded::Service(key) => Sealer::Service(key),
        })
    }

    fn named(&self) -> Result<Option<&str>, Error> {
        let label = self.token_key.as_deref().map(Path::to_str);
        label.map(|label| label.ok_or_else(|| Error::Usage("-K: a label is UTF-8".into()))).transpose()
    }

    /// Opens the token, and does something with its key of that label.
    fn with_key<T>(
        &self,
        label: &str,
        wanted: u32,
        pin: &Secret,
        act: impl FnOnce(&mut Open<'_>, ObjectId, &Attributes) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut store = self.place.open()?;
        let token = store.meant(self.token.as_deref())?;
        let mut token = store.token(&token, Role::User, pin)?;
        let object = token.find(label)?;
        let attributes = token.show(object)?;
        if Kind::named(&attributes.kind).is_some_and(Kind::is_pair) {
            let why = format!("key {label} is of the kind {}, and a secret key is wanted", attributes.kind);
            return Err(Error::Key(why));
        }
        tokens::is_for(label, &attributes, wanted)?;
        act(&mut token, object, &attributes)
    }
}

/// A secret key of a token.
pub(crate) enum Named {
    /// The bytes of one of a store of this user's.
    Here(Secret),
    /// One of the service, which stays there.
    InService(Held),
}

/// A key of a token of the service, and what opens the token.
pub(crate) struct Held {
    /// The service's socket.
    pub(crate) socket: PathBuf,
    /// The token's serial number.
    pub(crate) token: u128,
    /// The key's identifier.
    pub(crate) object: u128,
    /// The user PIN.
    pub(crate) pin: Secret,
}

/// A key of a token that seals the keys of files, where it is.
pub(crate) enum Sealer {
    Here(Box<Gcm>),
    Service(TokenKey),
}

impl Sealer {
    /// Seals a key in place, and returns the tag.
    pub(crate) fn seal(&self, nonce: &[u8], aad: &[u8], key: &mut [u8]) -> Result<[u8; 16], Error> {
        match self {
            Sealer::Here(gcm) => {
                let mut tag = [0; 16];
                gcm.seal(nonce, aad, InOut::in_place(key), &mut tag)?;
                Ok(tag)
            }
            Sealer::Service(held) => {
                // The operation is done twice if its grant has ended meanwhile, so the input stays as it is until then.
                let (sealed, tag) = held.with(|held| {
                    let mut sealed = Zeroizing::new(key.to_vec());
                    let tag = held.seal(nonce, aad, InOut::in_place(&mut sealed))?;
                    Ok((sealed, tag))
                })?;
                key.copy_from_slice(&sealed);
                Ok(tag)
            }
        }
    }

    /// Opens a key in place. The error is none when another key has sealed it, or it was changed.
    pub(crate) fn open(
        &self,
        nonce: &[u8],
        aad: &[u8],
        key: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), Option<Error>> {
        match self {
            Sealer::Here(gcm) => match gcm.open(nonce, aad, InOut::in_place(key), tag) {
                Err(EngineError::Authentication) => Err(None),
                done => done.map_err(|error| Some(error.into())),
            },
            Sealer::Service(held) => {
                let opened = held.with(|held| {
                    let mut opened = Zeroizing::new(key.to_vec());
                    held.open(nonce, aad, InOut::in_place(&mut opened), tag)?;
                    Ok(opened)
                });
                match opened {
                    Ok(opened) => key.copy_from_slice(&opened),
                    Err(ServiceKeyError::Authentication) => return Err(None),
                    Err(error) => return Err(Some(error.into())),
                }
                Ok(())
            }
        }
    }
}
