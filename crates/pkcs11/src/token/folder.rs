//! A store in a folder, which this process opens itself.
//!
//! A store is open to one process at a time. So this module opens it for as long as one call needs it, keeps what it read, and reads
//! again when the file has changed. With a login every object is authenticated, and one that does not stand the test is left out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cryptoki_sys::*;
use millstream::Features;
use millstream_store::file::{File, TokenInfo};
use millstream_store::vault::{LocalSession, LocalVault, Session};
use millstream_store::{
    Attributes as Shared, DeviceSecret, Error as StoreError, ObjectId, Role, Token, TokenId,
    token as stored_token,
};

use super::stamp::Stamp;
use super::state::{Done, Found, Step};
use crate::object::Secret;
use crate::refusal::{Outcome, Refusal};

/// The name of the store in its folder.
const FILE: &str = "tokens.redb";

/// The longest time to wait for another process that has the store open.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store.
pub struct Folder {
    folder: PathBuf,
    features: Features,
}

impl Folder {
    /// Names the store in a folder.
    pub fn new(folder: PathBuf, features: Features) -> Self {
        Folder { folder, features }
    }

    /// Opens the file, and waits for another process that has it open.
    ///
    /// # Errors
    /// Those of the store; `CKR_DEVICE_ERROR` when somebody keeps it for half a minute.
    fn open(&self) -> Outcome<File> {
        Ok(File::open_within(&self.folder.join(FILE), PATIENCE)?)
    }

    /// Returns what tells whether the file has changed.
    ///
    /// # Errors
    /// `CKR_TOKEN_NOT_PRESENT` when there is no store.
    pub fn stamp(&self) -> Outcome<Stamp> {
        Stamp::of(&self.folder.join(FILE)).ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))
    }

    /// Returns the tokens of the store; none when there is no store yet.
    ///
    /// # Errors
    /// Those of the store.
    pub fn tokens(&self) -> Outcome<Vec<TokenInfo>> {
        if !self.folder.join(FILE).exists() {
            return Ok(Vec::new());
        }
        Ok(self.open()?.tokens().collect())
    }

    fn vault(&self) -> Outcome<LocalVault> {
        let (device, _) = DeviceSecret::find(&self.folder)?;
        Ok(LocalVault::new(self.features, device))
    }

    fn label(file: &File, token: TokenId) -> Outcome<String> {
        let found = file.tokens().find(|info| info.token == token);
        found.map(|info| info.label).ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))
    }

    /// Makes a token with its officer's PIN. The one that was there before goes, if the PIN opens it.
    ///
    /// # Errors
    /// Those of the store; `CKR_ARGUMENTS_BAD` for a label that another token has.
    pub fn make(&self, before: Option<TokenId>, label: &str, pin: &[u8]) -> Outcome<TokenId> {
        let mut file = self.open()?;
        let vault = self.vault()?;
        if let Some(token) = before {
            let its_label = Folder::label(&file, token)?;
            Token::open(&mut file, &vault, &its_label, Role::Officer, pin)?;
        }
        let made = match before {
            Some(token) => stored_token::replace(&mut file, &vault, token, label, pin),
            None => stored_token::make(&mut file, &vault, label, pin, None),
        };
        made.map_err(|error| match error {
            StoreError::TokenExists(_) => Refusal(CKR_ARGUMENTS_BAD),
            error => error.into(),
        })
    }

    /// Opens a token by a PIN.
    ///
    /// # Errors
    /// Those of the store.
    pub fn unlock(&self, token: TokenId, role: Role, pin: &[u8]) -> Outcome<LocalSession> {
        let mut file = self.open()?;
        let label = Folder::label(&file, token)?;
        let opened = Token::open(&mut file, &self.vault()?, &label, role, pin);
        Ok(opened?.leave())
    }

    /// Returns the objects of a token and the state of the file. What its user has opened is authenticated.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(
        &self,
        token: TokenId,
        mut session: Option<&mut LocalSession>,
        is_user: bool,
    ) -> Outcome<(Stamp, Found)> {
        let mut file = self.open()?;
        let stamp = self.stamp()?;
        Folder::label(&file, token)?;
        let names: Vec<ObjectId> = file.objects(token)?.map(|(object, _)| object).collect();
        if let Some(session) = &mut session {
            session.refresh(&file.records(token)?, &mut file.objects(token)?)?;
        }
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let stored = file.get(token, name)?;
            let is_sound = match &session {
                Some(session) if is_user => session.open(name, &stored.attributes, &stored.sealed).is_ok(),
                _ => true,
            };
            if is_sound {
                found.push((name, stored.into()));
            }
        }
        Ok((stamp, found))
    }

    /// Opens an object's secret.
    ///
    /// # Errors
    /// `CKR_DEVICE_ERROR` for one that is not authentic.
    pub fn secret(
        &self,
        session: &LocalSession,
        name: ObjectId,
        attributes: &[u8],
        sealed: &[u8],
    ) -> Outcome<Secret> {
        Ok(session.open(name, attributes, sealed)?)
    }

    /// Does a change of the token as its file has it now.
    ///
    /// # Errors
    /// Those of the store. `session` stays open.
    pub fn change(
        &self,
        token: TokenId,
        session: &mut Option<Box<LocalSession>>,
        change: impl FnOnce(&mut Token<'_, LocalSession>) -> Result<(), StoreError>,
    ) -> Outcome {
        changed(&mut self.open()?, token, session, change)
    }

    /// Does a change of an object, and returns the object as the file has it then.
    fn change_object(
        &self,
        token: TokenId,
        session: &mut Option<Box<LocalSession>>,
        name: ObjectId,
        change: impl FnOnce(&mut Token<'_, LocalSession>) -> Result<(), StoreError>,
    ) -> Outcome<Done> {
        // Nobody else changes the file while it is open.
        let mut file = self.open()?;
        let before = self.stamp()?;
        changed(&mut file, token, session, change)?;
        let stored = match file.get(token, name) {
            Ok(stored) => Some(Arc::new(stored)),
            Err(StoreError::NoObject(_)) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Done { name, stored, step: Step::File(before, self.stamp()?) })
    }

    /// Writes an object, new or in place of itself.
    ///
    /// # Errors
    /// Those of the store.
    pub fn write(
        &self,
        token: TokenId,
        session: &mut Option<Box<LocalSession>>,
        (name, shared, secret): (ObjectId, &Shared, &[u8]),
    ) -> Outcome<Done> {
        self.change_object(token, session, name, |token| token.write(name, shared, secret))
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Those of the store.
    pub fn remove(
        &self,
        token: TokenId,
        session: &mut Option<Box<LocalSession>>,
        name: ObjectId,
    ) -> Outcome<Done> {
        self.change_object(token, session, name, |token| token.remove(name))
    }
}

fn changed(
    file: &mut File,
    token: TokenId,
    session: &mut Option<Box<LocalSession>>,
    change: impl FnOnce(&mut Token<'_, LocalSession>) -> Result<(), StoreError>,
) -> Outcome {
    let own = session.as_mut().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
    own.refresh(&file.records(token)?, &mut file.objects(token)?)?;
    let own = session.take().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
    let mut token = Token::resume(file, token, *own);
    let done = change(&mut token).map_err(Refusal::from);
    *session = Some(Box::new(token.leave()));
    done
}
