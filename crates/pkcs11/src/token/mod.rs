//! A slot and the token in it: who is logged in, and the objects, in step with the store.
//!
//! A store is open to one process at a time. So this module opens it for as long as one call needs it, keeps what it read, and reads
//! again when the file has changed. Before a login it shows what the file says. With the login every object is authenticated,
//! and one that does not stand the test is not shown.

pub mod config;
mod kept;
pub mod objects;
mod stamp;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use cryptoki_sys::*;
use millstream::Features;
use millstream_store::file::{File, Stored, TokenInfo};
use millstream_store::vault::{LocalSession, LocalVault, Session};
use millstream_store::{
    Attributes as Shared, DeviceSecret, Error as StoreError, ObjectId, Role, Token, TokenId,
    token as stored_token,
};

use self::objects::{Kept, Objects};
use self::stamp::Stamp;
use crate::object::attributes::Attributes;
use crate::object::{Draft, Home, Object, Secret};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// The name of the store in its folder.
const FILE: &str = "tokens.redb";

/// The longest time to wait for another process that has the store open.
const PATIENCE: Duration = Duration::from_secs(30);

/// A store.
pub struct Store {
    folder: PathBuf,
    features: Features,
}

impl Store {
    /// Names the store in a folder.
    pub fn new(folder: PathBuf, features: Features) -> Self {
        Store { folder, features }
    }

    /// Opens the file, and waits for another process that has it open.
    ///
    /// # Errors
    /// Those of the store; `CKR_DEVICE_ERROR` when somebody keeps it for half a minute.
    pub fn open(&self) -> Outcome<File> {
        Ok(File::open_within(&self.folder.join(FILE), PATIENCE)?)
    }

    /// Returns what tells whether the file has changed; none when there is no store.
    fn stamp(&self) -> Option<Stamp> {
        Stamp::of(&self.folder.join(FILE))
    }

    /// Returns the tokens of the store; none when there is no store yet.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn tokens(&self) -> Outcome<Vec<TokenInfo>> {
        if self.stamp().is_none() {
            return Ok(Vec::new());
        }
        Ok(self.open()?.tokens().collect())
    }

    fn vault(&self) -> Outcome<LocalVault> {
        let (device, _) = DeviceSecret::find(&self.folder)?;
        Ok(LocalVault::new(self.features, device))
    }
}

/// The one who is logged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LoggedIn {
    /// Nobody.
    Nobody = 0,
    /// The user.
    User = 1,
    /// The security officer.
    Officer = 2,
}

/// A slot.
pub struct Slot {
    /// The number by which the program names the slot.
    pub id: CK_SLOT_ID,
    store: Arc<Store>,
    /// The token; none in the slot for a new one.
    token: RwLock<Option<TokenId>>,
    /// The session of the store that opens the token.
    session: Mutex<Option<LocalSession>>,
    logged_in: AtomicU8,
    objects: RwLock<Objects>,
    /// The state of the file that `objects` shows, and for whom.
    shown: Mutex<Option<(Stamp, LoggedIn)>>,
    handles: Arc<AtomicU64>,
    /// The sessions that are open.
    pub sessions: AtomicUsize,
    /// The open sessions that may write.
    pub writing: AtomicUsize,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    /// Makes a slot; `handles` counts the handles of all slots.
    pub fn new(id: CK_SLOT_ID, store: Arc<Store>, token: Option<TokenId>, handles: Arc<AtomicU64>) -> Self {
        Slot {
            id,
            store,
            token: RwLock::new(token),
            session: Mutex::default(),
            logged_in: AtomicU8::new(LoggedIn::Nobody as u8),
            objects: RwLock::default(),
            shown: Mutex::default(),
            handles,
            sessions: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
        }
    }

    /// Returns the token's serial number.
    ///
    /// # Errors
    /// `CKR_TOKEN_NOT_RECOGNIZED` in the slot for a new token.
    pub fn token(&self) -> Outcome<TokenId> {
        let token = *self.token.read().unwrap_or_else(PoisonError::into_inner);
        token.ok_or(Refusal(CKR_TOKEN_NOT_RECOGNIZED))
    }

    /// Takes up a token that another program made, in the slot for a new one.
    pub fn holds(&self, token: TokenId) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = Some(token);
    }

    /// Returns what the file says of the token; none in the slot for a new one.
    ///
    /// # Errors
    /// Those of the store; `CKR_TOKEN_NOT_PRESENT` when the token was removed.
    pub fn info(&self) -> Outcome<Option<TokenInfo>> {
        let Ok(token) = self.token() else { return Ok(None) };
        let found = self.store.tokens()?.into_iter().find(|info| info.token == token);
        found.map(Some).ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))
    }

    /// Returns who is logged in.
    pub fn logged_in(&self) -> LoggedIn {
        match self.logged_in.load(Ordering::Acquire) {
            1 => LoggedIn::User,
            2 => LoggedIn::Officer,
            _ => LoggedIn::Nobody,
        }
    }

    /// Makes a token with a label in the slot for a new one, or makes the slot's token anew, which its officer's PIN allows. All
    /// its objects go then.
    ///
    /// # Errors
    /// Those of the store; `CKR_SESSION_EXISTS`.
    pub fn initialise(&self, label: &str, pin: &[u8]) -> Outcome {
        demand(self.sessions.load(Ordering::Acquire) == 0, CKR_SESSION_EXISTS)?;
        let mut file = self.store.open()?;
        let vault = self.store.vault()?;
        if let Ok(token) = self.token() {
            let named = file.tokens().find(|info| info.token == token);
            let before = named.ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))?.label;
            Token::open(&mut file, &vault, &before, Role::Officer, pin)?;
            demand(before == label || file.find(label).is_err(), CKR_ARGUMENTS_BAD)?;
            file.remove_token(token)?;
        }
        let made = stored_token::make(&mut file, &vault, label, pin, None);
        let made = made.map_err(|error| match error {
            StoreError::TokenExists(_) => Refusal(CKR_ARGUMENTS_BAD),
            error => error.into(),
        })?;
        self.holds(made);
        Ok(())
    }

    /// Opens the token by a PIN.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`, `CKR_USER_ANOTHER_ALREADY_LOGGED_IN`, and those of the store.
    pub fn log_in(&self, role: Role, pin: &[u8]) -> Outcome {
        let wanted = if role == Role::User { LoggedIn::User } else { LoggedIn::Officer };
        let mut session = locked(&self.session);
        match self.logged_in() {
            LoggedIn::Nobody => {}
            now if now == wanted => return refuse(CKR_USER_ALREADY_LOGGED_IN),
            _ => return refuse(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        }
        *session = Some(self.unlocked(role, pin)?);
        self.logged_in.store(wanted as u8, Ordering::Release);
        drop(session);
        self.refresh().inspect_err(|_| {
            // A token whose contents are not what was sealed is not opened.
            let _ = self.log_out();
        })
    }

    /// Tries the user's PIN once more, for a key that wants it at each use.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, and those of the store.
    pub fn try_pin(&self, pin: &[u8]) -> Outcome {
        demand(self.logged_in() == LoggedIn::User, CKR_USER_NOT_LOGGED_IN)?;
        self.unlocked(Role::User, pin).map(drop)
    }

    fn unlocked(&self, role: Role, pin: &[u8]) -> Outcome<LocalSession> {
        let token = self.token()?;
        let mut file = self.store.open()?;
        let label =
            file.tokens().find(|info| info.token == token).ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))?.label;
        let opened = Token::open(&mut file, &self.store.vault()?, &label, role, pin);
        Ok(opened?.leave())
    }

    /// Closes the token: private objects go, and so does what opens it.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    pub fn log_out(&self) -> Outcome {
        let mut session = locked(&self.session);
        demand(session.is_some(), CKR_USER_NOT_LOGGED_IN)?;
        *session = None;
        self.logged_in.store(LoggedIn::Nobody as u8, Ordering::Release);
        drop(session);
        *locked(&self.shown) = None;
        self.write_objects().remove_all(|object| object.is_private());
        Ok(())
    }

    /// Sets a PIN: as the officer the user's, else the caller's own, for which the old one is given.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`; those of the store.
    pub fn set_pin(&self, role: Role, old: Option<&[u8]>, new: &[u8]) -> Outcome {
        let mut session = locked(&self.session);
        let own = match old {
            Some(old) => {
                let by = if self.logged_in() == LoggedIn::Officer { Role::Officer } else { Role::User };
                demand(by == role, CKR_USER_NOT_LOGGED_IN)?;
                self.unlocked(by, old)?
            }
            None => session.take().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?,
        };
        let (own, done) = self.on_file(own, |token| token.set_pin(role, new));
        // Whoever is logged in stays so, with what is true now.
        if session.is_some() || old.is_none() {
            *session = Some(own);
        }
        done
    }

    /// Does a change of the token as its file has it now.
    fn on_file(
        &self,
        mut own: LocalSession,
        change: impl FnOnce(&mut Token<'_, LocalSession>) -> Result<(), StoreError>,
    ) -> (LocalSession, Outcome) {
        let opened = self.token().and_then(|token| {
            let file = self.store.open()?;
            own.refresh(&file.records(token)?, &mut file.objects(token)?)?;
            Ok((token, file))
        });
        let (token, mut file) = match opened {
            Ok(opened) => opened,
            Err(refusal) => return (own, Err(refusal)),
        };
        let mut token = Token::resume(&mut file, token, own);
        let done = change(&mut token).map_err(Refusal::from);
        (token.leave(), done)
    }

    fn read_objects(&self) -> std::sync::RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_objects(&self) -> std::sync::RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the token again if its file has changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn refresh(&self) -> Outcome {
        let Ok(token) = self.token() else { return Ok(()) };
        let mut shown = locked(&self.shown);
        let role = self.logged_in();
        let stamp = self.store.stamp().ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))?;
        if *shown == Some((stamp, role)) {
            return Ok(());
        }
        let mut file = self.store.open()?;
        let stamp = self.store.stamp().ok_or(Refusal(CKR_TOKEN_NOT_PRESENT))?;
        demand(file.tokens().any(|info| info.token == token), CKR_TOKEN_NOT_PRESENT)?;
        let names: Vec<ObjectId> = file.objects(token)?.map(|(object, _)| object).collect();
        let mut session = locked(&self.session);
        if let Some(session) = &mut *session {
            session.refresh(&file.records(token)?, &mut file.objects(token)?)?;
        }
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let stored = file.get(token, name)?;
            let is_sound = match &*session {
                Some(session) if role == LoggedIn::User => {
                    session.open(name, &stored.attributes, &stored.sealed).is_ok()
                }
                _ => true,
            };
            if is_sound {
                found.push((name, Arc::new(stored)));
            }
        }
        drop((session, file));
        self.show(found);
        *shown = Some((stamp, role));
        Ok(())
    }

    /// Makes the objects what the file has.
    fn show(&self, found: Vec<(ObjectId, Arc<Stored>)>) {
        let features = self.store.features;
        let mut objects = self.write_objects();
        let names: HashSet<_> = found.iter().map(|(name, _)| *name).collect();
        objects.remove_all(|object| match object.home {
            Home::Token(name) | Home::Half(name) => !names.contains(&name),
            Home::Session(_) => false,
        });
        for (name, stored) in found {
            if objects.kept.get(&name).is_some_and(|kept| kept.stored == stored) {
                continue;
            }
            let shared = Shared::decode(&stored.attributes).ok();
            let Some(mut attributes) = shared.and_then(|shared| kept::from_store(features, &shared)) else {
                continue;
            };
            attributes.set(CKA_UNIQUE_ID, name.to_string().as_bytes());
            let known = objects.kept.get(&name).and_then(|kept| objects.get(kept.handle)).cloned();
            let object = match known {
                Some(object) => {
                    object.forget_secret();
                    object.set_attributes(attributes);
                    objects.note(&object);
                    object
                }
                None => {
                    let draft = Draft { attributes, secret: None };
                    let object = Arc::new(Object::new(self.next(), Home::Token(name), draft));
                    objects.add(Arc::clone(&object));
                    object
                }
            };
            objects.kept.insert(name, Kept { stored, handle: object.handle });
        }
        self.complete_pairs(&mut objects);
    }

    /// Gives each private key of the token a public object, if it has none of its own.
    fn complete_pairs(&self, objects: &mut Objects) {
        let info = |object: &Object| object.attributes().get(CKA_PUBLIC_KEY_INFO).map(<[u8]>::to_vec);
        let (mut own, mut halves, mut private) = (HashSet::new(), HashMap::new(), Vec::new());
        for object in objects.iter() {
            match (object.home, object.attributes().class()) {
                (Home::Token(_), CKO_PUBLIC_KEY) => own.extend(info(object)),
                (Home::Token(name), CKO_PRIVATE_KEY) => private.push((name, Arc::clone(object))),
                (Home::Half(name), _) => {
                    halves.insert(name, object.handle);
                }
                _ => {}
            }
        }
        for (name, key) in private {
            let half = halves.get(&name);
            if info(&key).is_none_or(|info| own.contains(&info)) {
                half.into_iter().for_each(|half| objects.remove(*half));
                continue;
            }
            let Ok(mut attributes) = kept::half_of(self.store.features, &key.attributes()) else { continue };
            attributes.set(CKA_UNIQUE_ID, format!("{name}-public").as_bytes());
            match half.and_then(|half| objects.get(*half)).cloned() {
                Some(half) => {
                    half.set_attributes(attributes);
                    objects.note(&half);
                }
                None => {
                    let draft = Draft { attributes, secret: None };
                    objects.add(Arc::new(Object::new(self.next(), Home::Half(name), draft)));
                }
            }
        }
    }

    fn next(&self) -> CK_OBJECT_HANDLE {
        self.handles.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns true for an object that the program sees now.
    fn sees(&self, object: &Object) -> bool {
        !object.is_private() || self.logged_in() == LoggedIn::User
    }

    /// Returns an object.
    ///
    /// # Errors
    /// `missing` when there is none, or none that the program sees.
    pub fn object(&self, handle: CK_OBJECT_HANDLE, missing: CK_RV) -> Outcome<Arc<Object>> {
        let object = self.read_objects().get(handle).cloned().ok_or(Refusal(missing))?;
        demand(self.sees(&object), missing)?;
        Ok(object)
    }

    /// Returns the handles of objects that have every value of a template.
    ///
    /// # Errors
    /// Those of the store.
    pub fn find(&self, template: &[(CK_ATTRIBUTE_TYPE, Vec<u8>)]) -> Outcome<Vec<CK_OBJECT_HANDLE>> {
        self.refresh()?;
        Ok(self.read_objects().find(template, |object| self.sees(object)))
    }

    /// Returns an object's secret, which is opened if it is sealed.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, and `CKR_DEVICE_ERROR` for one that is not authentic.
    pub fn secret(&self, object: &Object) -> Outcome<Arc<Secret>> {
        if let Some(open) = object.open_secret() {
            return Ok(open);
        }
        let Home::Token(name) = object.home else { return Ok(Arc::default()) };
        let stored = self.read_objects().kept.get(&name).map(|kept| Arc::clone(&kept.stored));
        let stored = stored.ok_or(Refusal(CKR_OBJECT_HANDLE_INVALID))?;
        let session = locked(&self.session);
        let session = session.as_ref().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
        let secret = Arc::new(session.open(name, &stored.attributes, &stored.sealed)?);
        object.keep_secret(Arc::clone(&secret));
        Ok(secret)
    }

    /// Adds an object: to the token, where it is on the disk when this returns, or to a session.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, and those of the store.
    pub fn add(&self, draft: Draft, session: CK_SESSION_HANDLE) -> Outcome<CK_OBJECT_HANDLE> {
        if draft.attributes.is(CKA_TOKEN) {
            let name = ObjectId::random().map_err(StoreError::from)?;
            let secret = draft.secret.as_ref().map_or(&[][..], |secret| secret);
            self.write(name, &draft.attributes, secret)?;
            return self.handle_of(name);
        }
        demand(
            !draft.attributes.is(CKA_PRIVATE) || self.logged_in() == LoggedIn::User,
            CKR_USER_NOT_LOGGED_IN,
        )?;
        let handle = self.next();
        let mut draft = draft;
        draft.attributes.set(CKA_UNIQUE_ID, format!("session-{handle}").as_bytes());
        self.write_objects().add(Arc::new(Object::new(handle, Home::Session(session), draft)));
        Ok(handle)
    }

    fn handle_of(&self, name: ObjectId) -> Outcome<CK_OBJECT_HANDLE> {
        self.refresh()?;
        let objects = self.read_objects();
        objects.kept.get(&name).map(|kept| kept.handle).ok_or(Refusal(CKR_DEVICE_ERROR))
    }

    /// Has the user's token do a change.
    fn change(&self, change: impl FnOnce(&mut Token<'_, LocalSession>) -> Result<(), StoreError>) -> Outcome {
        demand(self.logged_in() == LoggedIn::User, CKR_USER_NOT_LOGGED_IN)?;
        let mut session = locked(&self.session);
        let own = session.take().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
        let (own, done) = self.on_file(own, change);
        *session = Some(own);
        done
    }

    fn write(&self, name: ObjectId, attributes: &Attributes, secret: &[u8]) -> Outcome {
        let mut attributes = attributes.clone();
        attributes.take(CKA_UNIQUE_ID);
        let shared = kept::to_store(&attributes, stored_token::now())?;
        self.change(|token| token.write(name, &shared, secret))
    }

    /// Changes an object's attributes.
    ///
    /// # Errors
    /// Those of the store.
    pub fn set_attributes(&self, object: &Object, attributes: Attributes) -> Outcome {
        match object.home {
            Home::Token(name) => {
                let secret = self.secret(object)?;
                self.write(name, &attributes, &secret)?;
                self.refresh()
            }
            Home::Session(_) => {
                object.set_attributes(attributes);
                self.write_objects().note(object);
                Ok(())
            }
            Home::Half(_) => refuse(CKR_ACTION_PROHIBITED),
        }
    }

    /// Removes an object.
    ///
    /// # Errors
    /// `CKR_ACTION_PROHIBITED`; those of the store.
    pub fn remove(&self, object: &Object) -> Outcome {
        object.check_destroyable()?;
        if let Home::Token(name) = object.home {
            self.change(|token| token.remove(name))?;
            return self.refresh();
        }
        self.write_objects().remove(object.handle);
        Ok(())
    }

    /// Removes the objects of a session that ends. With the last session the login ends, too.
    pub fn end_session(&self, session: CK_SESSION_HANDLE, is_last: bool) {
        self.write_objects().end_session(session);
        if is_last {
            // Nobody may be logged in.
            let _ = self.log_out();
        }
    }
}
