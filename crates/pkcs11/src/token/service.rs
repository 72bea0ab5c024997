//! The tokens of the service: PINs and keys go to one of its workers, and what this process knows of a key is public.
//!
//! Lists come over a connection to the broker, without a PIN, and again only after somebody else has changed the token: a page that the broker alone writes counts the changes of
//! all tokens, and the worker numbers those of each. A login is a PIN that is kept until the logout, so that keys
//! are loaded again after the service was started again. With a login, the worker authenticates each object before the program uses it or reads an attribute.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cryptoki_sys::*;
use millstream::cwq::{Algorithm, Usages};
use millstream::isolated::token::{Login, OpenToken, Pin};
use millstream::isolated::{
    Attach, Grants, KeyRefusal, Service, ServiceError, ServiceRefusal, TokenChanges, TokenKey,
    may_change_root,
};
use millstream_store::file::Stored;
use millstream_store::{Attributes as Shared, ObjectId, Role, TokenId};

use super::state::{Done, Found, Listed, SeenChanges, Step, locked};
use crate::object::Secret;
use crate::refusal::{Outcome, Refusal};

/// The grants of the keys that this process uses.
static GRANTS: Grants = Grants::new();

/// The time that the service may take: others may try PINs before, and keys of RSA take long to make.
const LIMIT: Duration = Duration::from_secs(60);

/// The service.
pub struct OfService {
    options: Attach,
    /// The connection for lists; none before the first, and after a failure.
    connection: Mutex<Option<Connection>>,
    /// The connections so far.
    connections: AtomicU64,
}

/// A connection for lists.
struct Connection {
    service: Service,
    /// The number of the connection.
    number: u64,
    /// The count of all tokens' changes; none before it was asked for.
    changes: Option<TokenChanges>,
}

impl Connection {
    /// Returns the count of all tokens' changes, with the connection's number.
    fn count(&mut self) -> Result<(u64, u64), ServiceError> {
        if self.changes.is_none() {
            self.changes = Some(self.service.changes()?);
        }
        Ok((self.number, self.changes.as_ref().map_or(0, TokenChanges::count)))
    }
}

fn number(token: TokenId) -> u128 {
    u128::from_be_bytes(token.0)
}

fn object(name: ObjectId) -> u128 {
    u128::from_be_bytes(name.0)
}

fn object_id(number: u128) -> ObjectId {
    ObjectId(number.to_be_bytes())
}

/// Returns an object as a list has it.
fn stored(shared: &Shared) -> Outcome<Arc<Stored>> {
    let attributes = shared.encode().map_err(|_| Refusal(CKR_DEVICE_ERROR))?;
    Ok(Stored { attributes, sealed: Vec::new() }.into())
}

/// Returns a change that the worker has made, with the object as the worker says that it is.
fn done(login: &Login, name: u128, now: Option<&Shared>, numbers: Vec<u64>) -> Outcome<Done> {
    let step = Step::Changes(TokenId(login.token().to_be_bytes()), numbers);
    Ok(Done { name: object_id(name), stored: now.map(stored).transpose()?, step })
}

/// Returns the PIN of a role.
fn with_role(role: Role, pin: &[u8]) -> Pin<'_> {
    match role {
        Role::User => Pin::User(pin),
        Role::Officer => Pin::Officer(pin),
    }
}

impl OfService {
    /// Names the service at a socket, or at the usual ones.
    pub fn new(socket: Option<PathBuf>) -> Self {
        let options = Attach { limit: LIMIT, ..Grants::options(socket) };
        if may_change_root() {
            GRANTS.connect_early(&options);
        }
        OfService { options, connection: Mutex::default(), connections: AtomicU64::new(0) }
    }

    /// Closes the connection for lists.
    pub fn disconnect(&self) {
        *locked(&self.connection) = None;
    }

    /// Asks over the connection, or over a new one where the service was started again.
    fn ask<T>(&self, ask: impl Fn(&mut Connection) -> Result<T, ServiceError>) -> Result<T, ServiceError> {
        let mut connection = locked(&self.connection);
        if let Some(mut open) = connection.take() {
            let answer = ask(&mut open);
            if matches!(answer, Ok(_) | Err(ServiceError::Refused { .. })) {
                *connection = Some(open);
                return answer;
            }
        }
        let service = Service::connect(self.options.socket.as_deref())?;
        let number = self.connections.fetch_add(1, Ordering::Relaxed);
        let mut open = Connection { service, number, changes: None };
        let answer = ask(&mut open)?;
        *connection = Some(open);
        Ok(answer)
    }

    /// Returns true if no token was changed since a count was taken. That asks nobody.
    fn is_unchanged(&self, since: Option<(u64, u64)>) -> bool {
        let mut connection = locked(&self.connection);
        let open = connection.as_mut().filter(|open| open.changes.is_some() && !open.service.is_closed());
        since.is_some() && open.and_then(|open| open.count().ok()) == since
    }

    /// Returns the tokens that this user may use; none from a service that keeps none for this user.
    ///
    /// # Errors
    /// `CKR_DEVICE_REMOVED` while no service answers.
    pub fn tokens(&self) -> Outcome<Vec<Listed>> {
        let tokens = match self.ask(|open| open.service.tokens()) {
            Err(ServiceError::Refused { why: ServiceRefusal::NoTokens | ServiceRefusal::Denied, .. }) => {
                return Ok(Vec::new());
            }
            tokens => tokens?,
        };
        Ok(tokens.into_iter().map(|token| Listed { writable: token.manages, info: token.into() }).collect())
    }

    /// Makes a token with its officer's PIN. The one that was there before goes, if the PIN opens it.
    ///
    /// # Errors
    /// Those of the service; `CKR_ARGUMENTS_BAD` for a label that another token has.
    pub fn make(&self, before: Option<TokenId>, label: &str, pin: &[u8]) -> Outcome<TokenId> {
        let accelerator = Attach { key_slots: 1, arena_bytes: 64 << 10, depth: 16, ..self.options.clone() };
        let accelerator = accelerator.attach().map_err(millstream::Error::from)?;
        let made = match before {
            Some(token) => {
                accelerator.open_token(number(token), Pin::Officer(pin))?.replace_token(label, pin)
            }
            None => accelerator.make_token(label, pin, None),
        };
        match made {
            Err(millstream::Error::Key(KeyRefusal::TokenExists)) => Err(Refusal(CKR_ARGUMENTS_BAD)),
            made => Ok(TokenId(made?.to_be_bytes())),
        }
    }

    /// Tries a PIN, and keeps it.
    ///
    /// # Errors
    /// `CKR_PIN_INCORRECT`, `CKR_PIN_LOCKED` and others of the service.
    pub fn log_in(&self, token: TokenId, role: Role, pin: &[u8]) -> Outcome<Login> {
        let login = Login::with_pin(number(token), with_role(role, pin));
        login.check(&GRANTS, &self.options)?;
        Ok(login)
    }

    /// Sets the PIN of a role in a token that somebody has opened.
    ///
    /// # Errors
    /// Those of the service.
    pub fn set_pin(&self, login: &Login, role: Role, pin: &[u8]) -> Outcome {
        Ok(login.with(&GRANTS, &self.options, |open| open.set_pin(with_role(role, pin)))?)
    }

    /// Returns the objects of a token and its state; none where that is the one that is `known`.
    ///
    /// # Errors
    /// `CKR_TOKEN_NOT_PRESENT` when the token was removed; those of the service.
    pub fn read(
        &self,
        token: TokenId,
        known: Option<&mut SeenChanges>,
    ) -> Outcome<Option<(SeenChanges, Found)>> {
        if known.as_ref().is_some_and(|known| self.is_unchanged(known.count)) {
            return Ok(None);
        }
        // The numbers may be older than the list, and are not newer.
        let count = self.ask(Connection::count).ok();
        let mut tokens = self.tokens()?.into_iter();
        let now = tokens.find(|listed| listed.info.token == token).ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))?;
        let changes = now.info.changes;
        if let Some(known) = known
            && known.read == changes
        {
            known.count = count;
            return Ok(None);
        }
        let objects = self.ask(|open| open.service.objects(number(token)))?;
        let found = objects.iter().map(|(name, shared)| Ok((object_id(*name), stored(shared)?)));
        Ok(Some((SeenChanges::new(token, changes, count), found.collect::<Outcome<_>>()?)))
    }

    /// Has the worker authenticate an object; false if the token has it otherwise.
    ///
    /// # Errors
    /// Those of the service.
    pub fn is_authentic(&self, login: &Login, name: ObjectId, stored: &Stored) -> Outcome<bool> {
        match login.with(&GRANTS, &self.options, |open| open.show(object(name))) {
            Ok(shown) => Ok(shown.encode().is_ok_and(|shown| shown == stored.attributes)),
            Err(millstream::Error::Key(KeyRefusal::Forged | KeyRefusal::NoSuchObject)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the worker make a key, and returns its public key, too.
    ///
    /// # Errors
    /// Those of the service.
    pub fn generate(&self, login: &Login, asked: &Shared, bits: u32) -> Outcome<(Done, Vec<u8>)> {
        let bits = (bits != 0).then_some(bits);
        let made = self.with(login, |open| open.generate(asked, bits))?;
        let (public, done) = (made.1.public_key.clone(), self.narrowed(login, asked, made)?);
        Ok((done, public))
    }

    /// Brings an object to the token.
    ///
    /// # Errors
    /// Those of the service.
    pub fn import(&self, login: &Login, asked: &Shared, secret: &[u8]) -> Outcome<Done> {
        let made = self.with(login, |open| open.import(asked, secret))?;
        self.narrowed(login, asked, made)
    }

    /// Takes all usages from a key that is to have none: to ask for none stands for all.
    fn narrowed(&self, login: &Login, asked: &Shared, made: (u128, Shared, u64)) -> Outcome<Done> {
        let (name, mut made, first) = made;
        let mut numbers = vec![first];
        if asked.usages == 0 && made.usages != 0 {
            made.usages = 0;
            let (_, now, second) = self.with(login, |open| Ok((name, open.change(name, &made)?)))?;
            made = now;
            numbers.push(second);
        }
        done(login, name, Some(&made), numbers)
    }

    /// Does something with an object of the open token, and returns the number of the token's changes, too.
    fn with(
        &self,
        login: &Login,
        act: impl Fn(&OpenToken) -> Result<(u128, Shared), millstream::Error>,
    ) -> Outcome<(u128, Shared, u64)> {
        Ok(login.with(&GRANTS, &self.options, |open| {
            let (name, shared) = act(open)?;
            Ok((name, shared, open.changes()))
        })?)
    }

    /// Copies an object within its token.
    ///
    /// # Errors
    /// Those of the service.
    pub fn copy(&self, login: &Login, name: ObjectId, asked: &Shared) -> Outcome<Done> {
        let (copy, is, number) = self.with(login, |open| open.copy(object(name), open, asked))?;
        done(login, copy, Some(&is), vec![number])
    }

    /// Changes an object's attributes.
    ///
    /// # Errors
    /// Those of the service.
    pub fn change(&self, login: &Login, name: ObjectId, asked: &Shared) -> Outcome<Done> {
        let name = object(name);
        let (_, is, number) = self.with(login, |open| Ok((name, open.change(name, asked)?)))?;
        done(login, name, Some(&is), vec![number])
    }

    /// Removes an object.
    ///
    /// # Errors
    /// Those of the service.
    pub fn remove(&self, login: &Login, name: ObjectId) -> Outcome<Done> {
        let removed = login.with(&GRANTS, &self.options, |open| {
            open.remove(object(name))?;
            Ok(open.changes())
        })?;
        done(login, object(name), None, vec![removed])
    }

    /// Returns the bytes of an object that may leave its token.
    ///
    /// # Errors
    /// `CKR_KEY_UNEXTRACTABLE`; those of the service.
    pub fn export(&self, login: &Login, name: ObjectId) -> Outcome<Secret> {
        Ok(login.with(&GRANTS, &self.options, |open| open.export(object(name)))?)
    }

    /// Loads a key for an algorithm.
    ///
    /// # Errors
    /// Those of the service.
    pub fn load(
        &self,
        login: Arc<Login>,
        name: ObjectId,
        algorithm: Algorithm,
        usages: Usages,
    ) -> Outcome<TokenKey> {
        Ok(TokenKey::load(&GRANTS, &self.options, login, object(name), algorithm, usages)?)
    }
}
