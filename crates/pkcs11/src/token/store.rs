//! The two homes of tokens, as a slot sees them: a store that this process opens, and the service.

use std::sync::{Arc, Mutex};

use cryptoki_sys::*;
use millstream::Features;
use millstream::isolated::token::Login;
use millstream_store::file::Stored;
use millstream_store::vault::LocalSession;
use millstream_store::{Attributes as Shared, Error as StoreError, ObjectId, Role, TokenId};

use super::config::Place;
use super::folder::Folder;
use super::service::OfService;
use super::state::{Done, Found, Listed, LoggedIn, Seen, locked};
use crate::object::{Held, Secret};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// A home of tokens.
pub enum Store {
    /// A store in a folder.
    Folder(Folder),
    /// The service.
    Service(Arc<OfService>),
}

/// An open token.
pub enum Opened {
    /// One of a store in a folder; none in the middle of a change.
    Folder(Option<Box<LocalSession>>),
    /// One of the service.
    Service(Arc<Login>),
}

impl Store {
    /// Names the tokens in a place.
    pub fn new(place: Place, features: Features) -> Self {
        match place {
            Place::Folder(folder) => Store::Folder(Folder::new(folder, features)),
            Place::Service(socket) => Store::Service(Arc::new(OfService::new(socket))),
        }
    }

    /// Lets go of what is open between calls.
    pub fn disconnect(&self) {
        if let Store::Service(service) = self {
            service.disconnect();
        }
    }

    /// Returns the tokens.
    ///
    /// # Errors
    /// Those of the store; `CKR_DEVICE_REMOVED` while no service answers.
    pub fn tokens(&self) -> Outcome<Vec<Listed>> {
        match self {
            Store::Folder(folder) => {
                let tokens = folder.tokens()?.into_iter();
                Ok(tokens.map(|info| Listed { info, writable: true }).collect())
            }
            Store::Service(service) => service.tokens(),
        }
    }

    /// Returns true if a program may make a token here. In the service that is for who may change a token: most users may not.
    pub fn takes_new(&self, tokens: &[Listed]) -> bool {
        match self {
            Store::Folder(_) => true,
            Store::Service(_) => tokens.iter().any(|token| token.writable),
        }
    }

    /// Returns true if the keys of tokens are made and used elsewhere.
    pub fn holds_keys(&self) -> bool {
        matches!(self, Store::Service(_))
    }

    /// Makes a token with its officer's PIN. The one that was there before goes, if the PIN opens it.
    ///
    /// # Errors
    /// Those of the store; `CKR_ARGUMENTS_BAD` for a label that another token has.
    pub fn make(&self, before: Option<TokenId>, label: &str, pin: &[u8]) -> Outcome<TokenId> {
        match self {
            Store::Folder(folder) => folder.make(before, label, pin),
            Store::Service(service) => service.make(before, label, pin),
        }
    }

    /// Opens a token by a PIN.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(&self, token: TokenId, role: Role, pin: &[u8]) -> Outcome<Opened> {
        match self {
            Store::Folder(folder) => Ok(Opened::Folder(Some(Box::new(folder.unlock(token, role, pin)?)))),
            Store::Service(service) => Ok(Opened::Service(Arc::new(service.log_in(token, role, pin)?))),
        }
    }

    /// Returns the objects of a token; none if they are what was `seen` last. What its user has opened is authenticated, in a store in a folder.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(
        &self,
        token: TokenId,
        by: LoggedIn,
        opened: &Mutex<Option<Opened>>,
        seen: &mut Seen,
    ) -> Outcome<Option<Found>> {
        match self {
            Store::Folder(folder) => {
                if matches!(seen, Seen::Folder(stamp, role) if (*stamp, *role) == (folder.stamp()?, by)) {
                    return Ok(None);
                }
                let mut opened = locked(opened);
                let session = match &mut *opened {
                    Some(Opened::Folder(session)) => session.as_deref_mut(),
                    _ => None,
                };
                let (stamp, found) = folder.read(token, session, by == LoggedIn::User)?;
                *seen = Seen::Folder(stamp, by);
                Ok(Some(found))
            }
            Store::Service(service) => {
                let known = match seen {
                    Seen::Changes(known) if known.token == token => Some(known),
                    _ => None,
                };
                let Some((read, found)) = service.read(token, known)? else { return Ok(None) };
                *seen = Seen::Changes(read);
                Ok(Some(found))
            }
        }
    }

    /// Has the service authenticate an object of a token whose user is logged in; false if the token has it otherwise. Those of a store in a folder were authenticated
    /// when they were read.
    ///
    /// # Errors
    /// Those of the service.
    pub fn is_authentic(
        &self,
        opened: &Mutex<Option<Opened>>,
        name: ObjectId,
        stored: &Stored,
    ) -> Outcome<bool> {
        match self {
            Store::Folder(_) => Ok(true),
            Store::Service(service) => service.is_authentic(&*login(opened)?, name, stored),
        }
    }

    /// Adds an object to a token, where it is on the disk when this returns. `from` is the object of that token whose copy it is.
    ///
    /// # Errors
    /// Those of the store.
    pub fn add(
        &self,
        token: TokenId,
        opened: &Mutex<Option<Opened>>,
        shared: &Shared,
        secret: &[u8],
        from: Option<ObjectId>,
    ) -> Outcome<Done> {
        match (self, from) {
            (Store::Folder(folder), _) => {
                let name = ObjectId::random().map_err(StoreError::from)?;
                with_session(opened, |session| folder.write(token, session, (name, shared, secret)))
            }
            (Store::Service(service), None) => service.import(&*login(opened)?, shared, secret),
            (Store::Service(service), Some(from)) => service.copy(&*login(opened)?, from, shared),
        }
    }

    /// Has the token make a key; returns its public key, too.
    ///
    /// # Errors
    /// Those of the service.
    pub fn generate(
        &self,
        opened: &Mutex<Option<Opened>>,
        asked: &Shared,
        bits: u32,
    ) -> Outcome<(Done, Vec<u8>)> {
        let Store::Service(service) = self else { return refuse(CKR_FUNCTION_FAILED) };
        service.generate(&*login(opened)?, asked, bits)
    }

    /// Changes an object's attributes.
    ///
    /// # Errors
    /// Those of the store, and those of `secret`.
    pub fn change(
        &self,
        token: TokenId,
        opened: &Mutex<Option<Opened>>,
        (name, shared): (ObjectId, &Shared),
        secret: impl FnOnce() -> Outcome<Arc<Secret>>,
    ) -> Outcome<Done> {
        match self {
            Store::Folder(folder) => {
                let secret = secret()?;
                with_session(opened, |session| folder.write(token, session, (name, shared, &secret)))
            }
            Store::Service(service) => service.change(&*login(opened)?, name, shared),
        }
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Those of the store.
    pub fn remove(&self, token: TokenId, opened: &Mutex<Option<Opened>>, name: ObjectId) -> Outcome<Done> {
        match self {
            Store::Folder(folder) => with_session(opened, |session| folder.remove(token, session, name)),
            Store::Service(service) => service.remove(&*login(opened)?, name),
        }
    }

    /// Sets a PIN in a token that somebody has opened.
    ///
    /// # Errors
    /// Those of the store.
    pub fn set_pin(&self, token: TokenId, opened: &Mutex<Option<Opened>>, role: Role, pin: &[u8]) -> Outcome {
        match self {
            Store::Folder(folder) => with_session(opened, |session| {
                folder.change(token, session, |token| token.set_pin(role, pin))
            }),
            Store::Service(service) => service.set_pin(&*login(opened)?, role, pin),
        }
    }

    /// Returns the secret of an object of a token.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`; `CKR_DEVICE_ERROR` for one that is not authentic; `CKR_KEY_UNEXTRACTABLE` for a key that stays in the service.
    pub fn secret(&self, opened: &Mutex<Option<Opened>>, name: ObjectId, stored: &Stored) -> Outcome<Secret> {
        match self {
            Store::Folder(folder) => with_session(opened, |session| {
                let session = session.as_ref().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
                folder.secret(session, name, &stored.attributes, &stored.sealed)
            }),
            Store::Service(service) => service.export(&*login(opened)?, name),
        }
    }

    /// Returns a key that is used in the service; none for one of a store in a folder.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    pub fn held(&self, opened: &Mutex<Option<Opened>>, name: ObjectId) -> Outcome<Option<Held>> {
        match self {
            Store::Folder(_) => Ok(None),
            Store::Service(service) => {
                let (service, login) = (Arc::clone(service), login(opened)?);
                Ok(Some(Held::new(move |algorithm, usages| service.load(login, name, algorithm, usages))))
            }
        }
    }
}

impl Opened {
    /// Takes up a PIN that was set elsewhere, for when the token has to be opened again.
    pub fn keep_pin(&self, pin: &[u8]) {
        if let Opened::Service(login) = self {
            login.keep_pin(pin);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Keys under way may keep the login for a moment.
        if let Opened::Service(login) = self {
            login.end();
        }
    }
}

/// Returns the login in the service. The lock is not kept: the service may take long.
fn login(opened: &Mutex<Option<Opened>>) -> Outcome<Arc<Login>> {
    match &*locked(opened) {
        Some(Opened::Service(login)) => Ok(Arc::clone(login)),
        _ => refuse(CKR_USER_NOT_LOGGED_IN),
    }
}

/// Does something with the session of a token in a folder.
fn with_session<T>(
    opened: &Mutex<Option<Opened>>,
    act: impl FnOnce(&mut Option<Box<LocalSession>>) -> Outcome<T>,
) -> Outcome<T> {
    let mut opened = locked(opened);
    let Some(Opened::Folder(session)) = &mut *opened else { return refuse(CKR_USER_NOT_LOGGED_IN) };
    demand(session.is_some(), CKR_USER_NOT_LOGGED_IN)?;
    act(session)
}
