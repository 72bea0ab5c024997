//! A token with both of its sides: the vault that opens it, and the file that keeps it.

use std::time::{SystemTime, UNIX_EPOCH};

use millstream_protocol::Attributes;

use crate::Error;
use crate::file::File;
use crate::names::{ObjectId, Role, TokenId};
use crate::vault::{Secret, Session, Vault};

/// Makes a token in a store.
///
/// # Errors
/// [`Error::TokenExists`], and those of [`Vault::make`] and [`File::add_token`].
pub fn make(
    file: &mut File,
    vault: &impl Vault,
    label: &str,
    officer_pin: &[u8],
    user_pin: Option<&[u8]>,
) -> Result<TokenId, Error> {
    if file.find(label).is_ok() {
        return Err(Error::TokenExists(label.to_owned()));
    }
    file.add_token(&vault.make(TokenId::random()?, label, officer_pin, user_pin)?)
}

/// Makes a token in the place of another one, which goes with all of its objects in the same step.
///
/// # Errors
/// As [`make`], where the old token's label is free; those of [`File::replace_token`].
pub fn replace(
    file: &mut File,
    vault: &impl Vault,
    old: TokenId,
    label: &str,
    officer_pin: &[u8],
) -> Result<TokenId, Error> {
    if file.find(label).is_ok_and(|other| other != old) {
        return Err(Error::TokenExists(label.to_owned()));
    }
    file.replace_token(old, &vault.make(TokenId::random()?, label, officer_pin, None)?)
}

/// An open token.
///
/// A change that failed with [`Error::Full`] or [`Error::Io`] may have reached the disk all the same. Then the next one fails with
/// [`Error::Stale`]: open the token again to see.
///
/// ```
/// use millstream_cpu::Features;
/// use millstream_store::vault::LocalVault;
/// use millstream_store::{Attributes, DeviceSecret, File, Role, Token, token};
///
/// let folder = tempfile::tempdir().unwrap();
/// let mut file = File::create(&folder.path().join("tokens"))?;
/// let (device, _) = DeviceSecret::find_or_make(folder.path())?;
/// let vault = LocalVault::new(Features::hardware(), device);
/// token::make(&mut file, &vault, "web", b"officer's PIN", Some(b"314159"))?;
///
/// let mut token = Token::open(&mut file, &vault, "web", Role::User, b"314159")?;
/// let attributes = Attributes { label: "server".into(), kind: "aes".into(), ..Attributes::default() };
/// let object = token.add(&attributes, &[7; 32])?;
/// let (read, secret) = token.read(object)?;
/// assert_eq!((&read, &secret[..]), (&attributes, &[7; 32][..]));
/// # Ok::<(), millstream_store::Error>(())
/// ```
pub struct Token<'f, S> {
    file: &'f mut File,
    session: S,
    token: TokenId,
}

impl<'f, S: Session> Token<'f, S> {
    /// Opens the token with that label by a PIN. The try is counted on the disk before the PIN is compared.
    ///
    /// # Errors
    /// [`Error::WrongPin`], [`Error::Locked`], [`Error::NoToken`]; those of [`Vault::check`] and [`Vault::unlock`]; those of
    /// [`File::count_try`].
    pub fn open(
        file: &'f mut File,
        vault: &impl Vault<Session = S>,
        label: &str,
        role: Role,
        pin: &[u8],
    ) -> Result<Self, Error> {
        let token = file.find(label)?;
        let records = file.records(token)?;
        vault.check(&records.header, role, pin)?;
        let left = file.count_try(token, role)?;
        let unlocked = vault.unlock(&records, &mut file.objects(token)?, role, pin);
        if let Ok(None) = unlocked {
            return Err(Error::WrongPin { role, left });
        }
        if let Ok(Some(_)) | Err(Error::RolledBack | Error::Forged(_)) = unlocked {
            file.clear_tries(token, role)?;
        }
        let session = unlocked?.expect("a wrong PIN was reported above");
        Ok(Token { file, session, token })
    }

    /// Takes up a session that was left with [`Token::leave`]. The file may have been closed and opened again meanwhile, and others
    /// may have changed it: then [`Session::refresh`] comes first.
    pub fn resume(file: &'f mut File, token: TokenId, session: S) -> Self {
        Token { file, session, token }
    }

    /// Leaves the file to others, and keeps what opens the token.
    pub fn leave(self) -> S {
        self.session
    }

    /// Returns the file, whose public contents may be read meanwhile.
    pub fn file(&self) -> &File {
        self.file
    }

    /// Returns the serial number.
    pub fn id(&self) -> TokenId {
        self.token
    }

    /// Adds an object. It is on the disk when this returns.
    ///
    /// # Errors
    /// Those of [`Session::seal`] and [`File::change`].
    pub fn add(&mut self, attributes: &Attributes, secret: &[u8]) -> Result<ObjectId, Error> {
        let object = ObjectId::random()?;
        self.write(object, attributes, secret)?;
        Ok(object)
    }

    /// Writes an object with other attributes or another secret in place of what it was.
    ///
    /// # Errors
    /// Those of [`Session::seal`] and [`File::change`].
    pub fn write(&mut self, object: ObjectId, attributes: &Attributes, secret: &[u8]) -> Result<(), Error> {
        let attributes = attributes.encode()?;
        let before = self.session.index().to_vec();
        let change = self.session.seal(object, &attributes, secret)?;
        self.file.change(self.token, object, &before, &attributes, &change)?;
        self.session.applied();
        Ok(())
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Those of [`Session::forget`] and [`File::change`].
    pub fn remove(&mut self, object: ObjectId) -> Result<(), Error> {
        let before = self.session.index().to_vec();
        let change = self.session.forget(object)?;
        self.file.change(self.token, object, &before, &[], &change)?;
        self.session.applied();
        Ok(())
    }

    /// Reads an object, and authenticates it.
    ///
    /// # Errors
    /// Those of [`Session::open`] and [`File::get`].
    pub fn read(&mut self, object: ObjectId) -> Result<(Attributes, Secret), Error> {
        let stored = self.file.get(self.token, object)?;
        let secret = self.session.open(object, &stored.attributes, &stored.sealed)?;
        Ok((Attributes::decode(&stored.attributes)?, secret))
    }

    /// Returns the object with that label, or with that identifier as hexadecimal digits.
    ///
    /// # Errors
    /// [`Error::NoObject`], [`Error::Ambiguous`].
    pub fn find(&self, name: &str) -> Result<ObjectId, Error> {
        match self.file.labelled(self.token, name)? {
            [object] => return Ok(*object),
            [] => {}
            _ => return Err(Error::Ambiguous(name.to_owned())),
        }
        let mut objects = self.file.objects(self.token)?;
        let found = objects.find(|(object, _)| object.to_string() == name);
        found.map(|(object, _)| object).ok_or_else(|| Error::NoObject(name.to_owned()))
    }

    /// Sets a PIN.
    ///
    /// # Errors
    /// Those of [`Session::set_pin`] and [`File::replace_header`].
    pub fn set_pin(&mut self, role: Role, pin: &[u8]) -> Result<(), Error> {
        let before = self.session.index().to_vec();
        let records = self.session.set_pin(role, pin)?;
        self.file.replace_header(self.token, &before, &records, role)?;
        self.session.applied();
        Ok(())
    }
}

/// Returns this second, since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
