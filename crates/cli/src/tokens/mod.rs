//! The tokens that commands work on: those of the service where it keeps any for this user, else those of a store of this user's.

mod local;
mod named;
pub mod pins;
mod service;

use std::collections::BTreeSet;
use std::path::PathBuf;

use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::TokenKey;
use millstream_files::certificate::Certificate;
use millstream_files::key::Kind;
use millstream_store::file::{Damage, TokenInfo};
use millstream_store::{Attributes, CertificateParts, Error as StoreError, ObjectId, Role, usage};
use zeroize::Zeroizing;

use self::local::{Local, OpenLocal};
pub(crate) use self::local::{described, unmade};
use self::service::{OfService, OpenService};
use crate::error::Error;
use crate::secret::Secret;
use crate::shown;

/// The option that names the store.
#[derive(Default, clap::Args)]
pub struct Place {
    /// The folder of a store of this machine's files [default: what MILLSTREAM_STORE names; else the tokens of the service, if it keeps any
    /// for this user; else the folder of this user, or of the machine for root]
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

/// Tokens, wherever they are.
pub enum Store {
    /// Tokens in a file that this process opens.
    Local(Local),
    /// Tokens of the service.
    Service(OfService),
}

/// A key that is ready for use.
pub enum Loaded {
    /// The bytes of the key, as its kind has them.
    Here(Secret),
    /// A key in the service.
    Service(TokenKey),
}

/// An open token.
pub enum Open<'s> {
    Local(Box<OpenLocal<'s>>),
    Service(OpenService),
}

impl Place {
    /// Returns the folder that is named, if one is.
    fn named(&self) -> Option<PathBuf> {
        let variable = || std::env::var_os("MILLSTREAM_STORE").filter(|value| !value.is_empty());
        self.store.clone().or_else(|| variable().map(PathBuf::from))
    }

    /// Returns the folder of a local store.
    ///
    /// # Errors
    /// [`Error::Usage`] where none is named and the user has no home.
    pub fn folder(&self) -> Result<PathBuf, Error> {
        if let Some(folder) = self.named() {
            return Ok(folder);
        }
        let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if rustix::process::geteuid().is_root() {
            return Ok("/var/lib/millstream".into());
        }
        let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
        let state =
            state.ok_or_else(|| Error::Usage("there is no home; name a folder with --store".into()))?;
        Ok(state.join("millstream"))
    }

    /// Returns the service's tokens, if they are meant.
    fn service(&self) -> Result<Option<OfService>, Error> {
        if self.named().is_some() { Ok(None) } else { OfService::connect() }
    }

    /// Opens the store that is there.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Service`].
    pub fn open(&self) -> Result<Store, Error> {
        match self.service()? {
            Some(service) => Ok(Store::Service(service)),
            None => Ok(Store::Local(Local::open(&self.folder()?)?)),
        }
    }

    /// Opens the store, and makes it, its folder and the device secret if they are not there.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub fn open_or_make(&self) -> Result<Store, Error> {
        match self.service()? {
            Some(service) => Ok(Store::Service(service)),
            None => Ok(Store::Local(Local::open_or_make(&self.folder()?)?)),
        }
    }

    /// Opens the store to look at what needs no PIN, and no device secret.
    ///
    /// # Errors
    /// As [`Place::open`].
    pub fn look(&self) -> Result<Store, Error> {
        match self.service()? {
            Some(service) => Ok(Store::Service(service)),
            None => Ok(Store::Local(Local::look(&self.folder()?)?)),
        }
    }
}

impl Store {
    /// Lists the tokens.
    ///
    /// # Errors
    /// [`Error::Service`].
    pub fn tokens(&mut self) -> Result<Vec<TokenInfo>, Error> {
        match self {
            Store::Local(local) => Ok(local.file.tokens().collect()),
            Store::Service(service) => service.tokens(),
        }
    }

    /// Returns the token with that label.
    ///
    /// # Errors
    /// [`StoreError::NoToken`]; [`Error::Service`].
    pub fn find(&mut self, label: &str) -> Result<TokenInfo, Error> {
        let found = self.tokens()?.into_iter().find(|token| token.label == label);
        Ok(found.ok_or_else(|| StoreError::NoToken(label.to_owned()))?)
    }

    /// Returns the label of the token that is meant: the one that was named, else the only one.
    ///
    /// # Errors
    /// [`Error::Usage`] when none was named and there is not one; [`Error::Service`].
    pub fn meant(&mut self, named: Option<&str>) -> Result<String, Error> {
        if let Some(named) = named {
            return Ok(named.to_owned());
        }
        let mut tokens = self.tokens()?;
        match tokens.pop() {
            Some(only) if tokens.is_empty() => Ok(only.label),
            last => {
                let number = tokens.len() + usize::from(last.is_some());
                Err(Error::Usage(format!("there are {number} tokens; name one with -T")))
            }
        }
    }

    /// Lists the keys of a token.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Service`].
    pub fn objects(&mut self, label: &str) -> Result<Vec<(ObjectId, Attributes)>, Error> {
        let token = self.find(label)?.token;
        match self {
            Store::Local(local) => local.objects(token),
            Store::Service(service) => service.objects(token),
        }
    }

    /// Refuses labels that keys of a token have already.
    ///
    /// # Errors
    /// [`Error::Key`], which names all of them; the errors of [`Store::objects`].
    pub fn are_free(&mut self, token: &str, labels: &BTreeSet<&str>) -> Result<(), Error> {
        let objects = self.objects(token)?;
        let taken = objects.iter().filter(|(_, is)| named::is_key(is) && labels.contains(&*is.label));
        let taken: BTreeSet<String> = taken.map(|(_, is)| shown::text(&is.label)).collect();
        if taken.is_empty() {
            return Ok(());
        }
        let taken = Vec::from_iter(taken).join(", ");
        Err(Error::Key(format!(
            "the token has keys of these labels already, and nothing was brought: {taken}; if this command brought them and was interrupted, add --resume, else \
             copy them to other labels with 'millstream key copy', or remove them first"
        )))
    }

    /// Returns the records that can't be understood. The service writes those of its own store into its log.
    pub fn damage(&self) -> &[Damage] {
        match self {
            Store::Local(local) => local.file.damage(),
            Store::Service(_) => &[],
        }
    }

    /// Makes a token.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn make(&mut self, label: &str, officer: &Secret, user: &Secret) -> Result<(), Error> {
        match self {
            Store::Local(local) => local.make(label, officer, user),
            Store::Service(service) => service.make(label, officer, user),
        }
    }

    /// Opens a token.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn token(&mut self, label: &str, role: Role, pin: &Secret) -> Result<Open<'_>, Error> {
        let token = self.find(label)?.token;
        match self {
            Store::Local(local) => Ok(Open::Local(Box::new(local.token(label, role, pin)?))),
            Store::Service(service) => Ok(Open::Service(service.token(token, role, pin)?)),
        }
    }

    /// Removes a token, which the security officer must have opened in the service.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Usage`].
    pub fn remove_unopened(&mut self, label: &str) -> Result<(), Error> {
        let token = self.find(label)?.token;
        match self {
            Store::Local(local) => Ok(local.file.remove_token(token)?),
            Store::Service(_) => Err(Error::Usage(
                "--force: the service removes a token with the security officer's PIN only; leave the option out"
                    .into(),
            )),
        }
    }
}

/// Refuses a key that was not made for any of the usages that are wanted.
///
/// # Errors
/// [`Error::Key`], which names the key and the first of them.
pub fn is_for(label: &str, attributes: &Attributes, wanted: u32) -> Result<(), Error> {
    if attributes.usages & wanted != 0 {
        return Ok(());
    }
    let name = usage::NAMES[wanted.trailing_zeros() as usize];
    Err(Error::Key(format!("key {label} was not made to {name}: it has no such usage")))
}

/// Refuses a key that is not one of AES.
///
/// # Errors
/// [`Error::Key`], which names the key and its kind.
pub fn is_aes(label: &str, attributes: &Attributes) -> Result<(), Error> {
    if attributes.kind == Kind::Aes.name() {
        return Ok(());
    }
    let kind = &attributes.kind;
    Err(Error::Key(format!("key {label} is of the kind {kind}, and one of aes is wanted")))
}

impl Open<'_> {
    /// Returns the key with that label, or with that identifier as hexadecimal digits.
    ///
    /// # Errors
    /// [`StoreError::NoObject`], [`StoreError::Ambiguous`]; [`Error::Service`].
    pub fn find(&mut self, name: &str) -> Result<ObjectId, Error> {
        match self {
            Open::Local(token) => token.find(name),
            Open::Service(token) => token.find(name),
        }
    }

    /// Returns the attributes of a key, which are authentic.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn show(&mut self, object: ObjectId) -> Result<Attributes, Error> {
        match self {
            Open::Local(token) => Ok(token.read(object)?.0),
            Open::Service(token) => token.show(object),
        }
    }

    /// Returns a key that may leave its token, as its kind has it.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn export(&mut self, object: ObjectId) -> Result<Zeroizing<Vec<u8>>, Error> {
        match self {
            Open::Local(token) => Ok(token.read(object)?.1),
            Open::Service(token) => token.export(object),
        }
    }

    /// Returns all objects of the token.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Service`].
    pub fn objects(&mut self) -> Result<Vec<ObjectId>, Error> {
        match self {
            Open::Local(token) => token.objects(),
            Open::Service(token) => token.objects(),
        }
    }

    /// Returns all keys of the token with their attributes, which are authentic.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Service`].
    pub fn keys(&mut self) -> Result<Vec<(ObjectId, Attributes)>, Error> {
        let mut keys = Vec::new();
        for object in self.objects()? {
            let is = self.show(object)?;
            if named::is_key(&is) {
                keys.push((object, is));
            }
        }
        Ok(keys)
    }

    /// Returns what uses a key of the kind that its attributes name.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn load(&mut self, object: ObjectId, algorithm: Algorithm, usages: Usages) -> Result<Loaded, Error> {
        match self {
            Open::Local(token) => Ok(Loaded::Here(token.read(object)?.1)),
            Open::Service(token) => Ok(Loaded::Service(token.load(object, algorithm, usages)?)),
        }
    }

    /// Makes a key.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`], [`Error::Usage`].
    pub fn generate(&mut self, kind: Kind, bits: Option<usize>, asked: &Attributes) -> Result<(), Error> {
        match self {
            Open::Local(token) => token.generate(kind, bits, asked),
            Open::Service(token) => token.generate(bits, asked),
        }
    }

    /// Brings a key in.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn import(&mut self, kind: Kind, key: &[u8], asked: &Attributes) -> Result<(), Error> {
        match self {
            Open::Local(token) => token.import(kind, key, asked),
            Open::Service(token) => token.import(key, asked),
        }
    }

    /// Brings a certificate in, which gets the identifier of the key that it certifies if it was given none.
    ///
    /// # Errors
    /// [`Error::Key`] when the token has it; [`Error::Store`], [`Error::Queue`].
    pub fn import_certificate(
        &mut self,
        label: &str,
        id: &[u8],
        certificate: &Certificate,
    ) -> Result<(), Error> {
        let Certificate { der, serial, issuer, subject, public_key } = certificate;
        let parts = CertificateParts { der, serial, issuer, subject, public_key };
        let mut objects = Vec::new();
        for object in self.objects()? {
            objects.push((object, self.show(object)?));
        }
        let id = named::certificate(&Attributes::of_certificate(label, id, parts), &objects)?;
        let asked = Attributes::of_certificate(label, &id, parts);
        match self {
            Open::Local(token) => token.keep(&asked),
            Open::Service(token) => token.keep(&asked),
        }
    }

    /// Removes a key.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn remove(&mut self, object: ObjectId) -> Result<(), Error> {
        match self {
            Open::Local(token) => token.remove(object),
            Open::Service(token) => token.remove(object),
        }
    }

    /// Sets a PIN.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Queue`].
    pub fn set_pin(&mut self, role: Role, pin: &Secret) -> Result<(), Error> {
        match self {
            Open::Local(token) => token.set_pin(role, pin),
            Open::Service(token) => token.set_pin(role, pin),
        }
    }
}

/// Copies a key to another token, or gives a copy in the same one another label.
///
/// # Errors
/// [`Error::Store`], [`Error::Queue`], [`Error::Service`].
pub fn copy(
    store: &mut Store,
    (from, pin, name): (&str, &Secret, &str),
    to: Option<(&str, &Secret)>,
    label: Option<String>,
) -> Result<(), Error> {
    match store {
        Store::Local(local) => local.copy((from, pin, name), to, label),
        Store::Service(_) => {
            let source = store.find(from)?.token;
            let target = to.map(|(to, pin)| Ok::<_, Error>((store.find(to)?.token, pin))).transpose()?;
            let Store::Service(service) = store else { return Ok(()) };
            service.copy((source, pin, name), target, label)
        }
    }
}

/// Removes a token that the security officer's PIN opens.
///
/// # Errors
/// [`Error::Store`], [`Error::Queue`].
pub fn remove(store: &mut Store, label: &str, pin: &Secret) -> Result<(), Error> {
    match store.token(label, Role::Officer, pin)? {
        Open::Local(_) => {}
        Open::Service(token) => return token.remove_token(),
    }
    store.remove_unopened(label)
}
