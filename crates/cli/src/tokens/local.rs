//! A store in a file that this process opens.

use std::io;
use std::path::Path;
use std::time::Duration;

use millstream_cpu::Features;
use millstream_files::key::{Form, Key, Kind};
use millstream_store::vault::{LocalSession, LocalVault};
use millstream_store::{
    Attributes, DeviceSecret, Error as StoreError, File, ObjectId, Role, Token, TokenId, folder, token, usage,
};
use zeroize::Zeroizing;

use super::named;
use crate::error::Error;
use crate::secret::Secret;

/// The longest time to wait for another command that has the store open.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store that is open, and what opens tokens in it.
pub struct Local {
    pub(super) file: File,
    /// None where only a look is taken.
    vault: Option<LocalVault>,
}

impl Local {
    pub(super) fn open(place: &Path) -> Result<Self, Error> {
        let file = opened(&folder::file(place))?;
        let (device, _) = DeviceSecret::find(place)?;
        Local::with(file, device)
    }

    pub(super) fn open_or_make(place: &Path) -> Result<Self, Error> {
        let (file, device, _) = folder::open_or_make(place, opened)?;
        Local::with(file, device)
    }

    pub(super) fn look(place: &Path) -> Result<Self, Error> {
        let path = folder::file(place);
        let file = match opened(&path) {
            // Whoever may only read a store may see what there is in it.
            Err(StoreError::Io { source, .. })
                if matches!(
                    source.kind(),
                    io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
                ) =>
            {
                File::copied_within(&path, PATIENCE)?
            }
            file => file?,
        };
        Ok(Local { file, vault: None })
    }

    fn with(file: File, device: DeviceSecret) -> Result<Self, Error> {
        Ok(Local { file, vault: Some(LocalVault::new(Features::active()?, device)) })
    }

    fn vault(&self) -> LocalVault {
        self.vault.clone().expect("a store that was opened with its device secret")
    }

    pub(super) fn objects(&mut self, token: TokenId) -> Result<Vec<(ObjectId, Attributes)>, Error> {
        let objects: Vec<_> = self.file.objects(token)?.map(|(object, _)| object).collect();
        let read = |object| {
            let stored = self.file.get(token, object)?;
            Ok((object, Attributes::decode(&stored.attributes).map_err(StoreError::from)?))
        };
        objects.into_iter().map(read).collect()
    }

    pub(super) fn make(&mut self, label: &str, officer: &Secret, user: &Secret) -> Result<(), Error> {
        let vault = self.vault();
        token::make(&mut self.file, &vault, label, officer, Some(user))?;
        Ok(())
    }

    pub(super) fn token(&mut self, label: &str, role: Role, pin: &Secret) -> Result<OpenLocal<'_>, Error> {
        let vault = self.vault();
        Ok(OpenLocal(Token::open(&mut self.file, &vault, label, role, pin)?))
    }

    pub(super) fn copy(
        &mut self,
        (from, pin, name): (&str, &Secret, &str),
        to: Option<(&str, &Secret)>,
        label: Option<String>,
    ) -> Result<(), Error> {
        let mut token = self.token(from, Role::User, pin)?;
        let object = token.find(name)?;
        let (mut attributes, secret) = token.read(object)?;
        if let Some(label) = label {
            attributes.label = label;
        }
        let mut token = match to {
            None => token,
            Some((to, pin)) => self.token(to, Role::User, pin)?,
        };
        token.add(&attributes, &secret)
    }
}

/// An open token of such a store.
pub struct OpenLocal<'s>(Token<'s, LocalSession>);

impl OpenLocal<'_> {
    pub(super) fn find(&mut self, name: &str) -> Result<ObjectId, Error> {
        let labelled = self.0.file().labelled(self.0.id(), name)?.to_vec();
        if let Some(key) = named::only(name, &self.keys_of(labelled)?)? {
            return Ok(key);
        }
        if let Some(id) = named::identifier(name) {
            let identified = self.0.file().identified(self.0.id(), &id)?.to_vec();
            if let Some(key) = named::only(name, &self.keys_of(identified)?)? {
                return Ok(key);
            }
        }
        Ok(self.0.find(name)?)
    }

    /// Returns those of the objects that are keys.
    fn keys_of(&mut self, objects: Vec<ObjectId>) -> Result<Vec<ObjectId>, Error> {
        let mut keys = Vec::new();
        for object in objects {
            if named::is_key(&self.read(object)?.0) {
                keys.push(object);
            }
        }
        Ok(keys)
    }

    /// Returns all objects of the token.
    pub(super) fn objects(&self) -> Result<Vec<ObjectId>, Error> {
        Ok(self.0.file().objects(self.0.id())?.map(|(object, _)| object).collect())
    }

    pub(super) fn read(&mut self, object: ObjectId) -> Result<(Attributes, Zeroizing<Vec<u8>>), Error> {
        Ok(self.0.read(object)?)
    }

    pub(super) fn generate(
        &mut self,
        kind: Kind,
        bits: Option<usize>,
        asked: &Attributes,
    ) -> Result<(), Error> {
        let key = Key::generate(Features::active()?, kind, bits).map_err(unmade)?;
        let asked = Attributes { never_outside: true, ..asked.clone() };
        self.add(&described(Features::active()?, &key, &asked)?, key.secret())
    }

    pub(super) fn import(&mut self, kind: Kind, key: &[u8], asked: &Attributes) -> Result<(), Error> {
        let key = Key::new(Features::active()?, kind, key);
        let key = key.map_err(|error| Error::in_format(error, &asked.label, ""))?;
        self.add(&described(Features::active()?, &key, asked)?, key.secret())
    }

    fn add(&mut self, attributes: &Attributes, secret: &[u8]) -> Result<(), Error> {
        let labelled = self.0.file().labelled(self.0.id(), &attributes.label)?.to_vec();
        named::is_free(&attributes.label, &self.keys_of(labelled)?)?;
        self.0.add(attributes, secret)?;
        Ok(())
    }

    /// Adds an object that is public as a whole.
    pub(super) fn keep(&mut self, attributes: &Attributes) -> Result<(), Error> {
        self.0.add(&Attributes { created: token::now(), ..attributes.clone() }, &[])?;
        Ok(())
    }

    pub(super) fn remove(&mut self, object: ObjectId) -> Result<(), Error> {
        Ok(self.0.remove(object)?)
    }

    pub(super) fn set_pin(&mut self, role: Role, pin: &Secret) -> Result<(), Error> {
        Ok(self.0.set_pin(role, pin)?)
    }
}

/// Returns the attributes of a key: what is asked for, and what follows from the key.
pub(crate) fn described(features: Features, key: &Key, asked: &Attributes) -> Result<Attributes, Error> {
    let public_key = match key.kind().is_pair() {
        true => key.public(features).and_then(|public| public.write(Form::Der)),
        false => Ok(Vec::new()),
    };
    let failed = |error| Error::in_format(error, &asked.label, &asked.label);
    let all = usage::of_kind(key.kind().name());
    Ok(Attributes {
        kind: key.kind().name().to_owned(),
        bits: key.bits(features).map_err(failed)? as u32,
        usages: if asked.usages == 0 { all } else { asked.usages },
        created: token::now(),
        public_key: public_key.map_err(failed)?,
        ..asked.clone()
    })
}

/// Returns the error of a command line that asks for a key or a form that is not there.
pub(crate) fn unmade(error: millstream_files::Error) -> Error {
    match error {
        millstream_files::Error::Key(why) => Error::Usage(why),
        error => Error::in_format(error, "", ""),
    }
}

/// Opens a store, and waits for a command that has it open.
fn opened(path: &Path) -> Result<File, StoreError> {
    File::open_within(path, PATIENCE)
}
