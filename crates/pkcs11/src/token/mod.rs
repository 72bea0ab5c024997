//! A slot and the token in it: who is logged in, and the objects, in step with where they are kept.
//!
//! Before a login a slot shows what the store says. With the login every object is authenticated, when the file is read or before the object is used, and one that
//! does not stand the test is not there for the program. What is kept where is the matter of `store`.

pub mod config;
mod folder;
mod kept;
pub mod objects;
mod profiles;
pub mod service;
mod shown;
mod stamp;
mod state;
pub mod store;

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cryptoki_sys::*;
use millstream::Features;
use millstream_store::{Attributes as Shared, ObjectId, Role, TokenId, token as stored_token};

use self::objects::{Kept, Objects};
pub use self::state::LoggedIn;
use self::state::{Done, Listed, Seen, locked};
use self::store::{Opened, Store};
use crate::object::attributes::Attributes;
use crate::object::{Draft, Home, Material, Object, Secret};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// A slot.
pub struct Slot {
    /// The number by which the program names the slot.
    pub id: CK_SLOT_ID,
    features: Features,
    store: Arc<Store>,
    /// The token; none in the slot for a new one.
    token: RwLock<Option<TokenId>>,
    /// The session or the login that opens the token.
    opened: Mutex<Option<Opened>>,
    logged_in: AtomicU8,
    objects: RwLock<Objects>,
    /// The state that `objects` shows.
    shown: Mutex<Seen>,
    handles: Arc<AtomicU64>,
    /// The sessions that are open.
    pub sessions: AtomicUsize,
    /// The open sessions that may write.
    pub writing: AtomicUsize,
}

impl Slot {
    /// Makes a slot; `handles` counts the handles of all slots.
    pub fn new(
        id: CK_SLOT_ID,
        features: Features,
        store: Arc<Store>,
        token: Option<TokenId>,
        handles: Arc<AtomicU64>,
    ) -> Self {
        let slot = Slot {
            id,
            features,
            store,
            token: RwLock::new(token),
            opened: Mutex::default(),
            logged_in: AtomicU8::new(LoggedIn::Nobody as u8),
            objects: RwLock::default(),
            shown: Mutex::default(),
            handles,
            sessions: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
        };
        if token.is_some() {
            slot.show_profiles();
        }
        slot
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
        self.show_profiles();
    }

    /// Returns what the store says of the token; none in the slot for a new one.
    ///
    /// # Errors
    /// Those of the store; `CKR_TOKEN_NOT_PRESENT` when the token was removed.
    pub fn info(&self) -> Outcome<Option<Listed>> {
        let mut tokens = self.store.tokens()?.into_iter();
        let Ok(token) = self.token() else { return Ok(None) };
        let found = tokens.find(|listed| listed.info.token == token);
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
        let made = self.store.make(self.token().ok(), label, pin)?;
        self.holds(made);
        Ok(())
    }

    /// Opens the token by a PIN.
    ///
    /// # Errors
    /// `CKR_USER_ALREADY_LOGGED_IN`, `CKR_USER_ANOTHER_ALREADY_LOGGED_IN`, and those of the store.
    pub fn log_in(&self, role: Role, pin: &[u8]) -> Outcome {
        let wanted = if role == Role::User { LoggedIn::User } else { LoggedIn::Officer };
        let mut opened = locked(&self.opened);
        match self.logged_in() {
            LoggedIn::Nobody => {}
            now if now == wanted => return refuse(CKR_USER_ALREADY_LOGGED_IN),
            _ => return refuse(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        }
        *opened = Some(self.store.open(self.token()?, role, pin)?);
        self.logged_in.store(wanted as u8, Ordering::Release);
        drop(opened);
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
        self.store.open(self.token()?, Role::User, pin).map(drop)
    }

    /// Closes the token: private objects go, and so does what opens it.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`.
    pub fn log_out(&self) -> Outcome {
        let closed = locked(&self.opened).take().ok_or(Refusal(CKR_USER_NOT_LOGGED_IN))?;
        self.logged_in.store(LoggedIn::Nobody as u8, Ordering::Release);
        drop(closed);
        *locked(&self.shown) = Seen::Nothing;
        let mut objects = self.write_objects();
        objects.remove_all(|object| object.is_private());
        // Keys that everybody sees were opened by the one who goes.
        objects.iter().filter(|object| object.home.is_token()).for_each(|object| object.forget_secret());
        Ok(())
    }

    /// Sets a PIN: as the officer the user's, else the caller's own, for which the old one is given.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`; those of the store.
    pub fn set_pin(&self, role: Role, old: Option<&[u8]>, new: &[u8]) -> Outcome {
        let token = self.token()?;
        let Some(old) = old else { return self.store.set_pin(token, &self.opened, role, new) };
        let now = self.logged_in();
        let by = if now == LoggedIn::Officer { Role::Officer } else { Role::User };
        demand(by == role, CKR_USER_NOT_LOGGED_IN)?;
        let by_old = Mutex::new(Some(self.store.open(token, by, old)?));
        self.store.set_pin(token, &by_old, role, new)?;
        let by_new = by_old.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Whoever is logged in stays so, with what is true now.
        let mut opened = locked(&self.opened);
        match (&*opened, by_new) {
            (Some(Opened::Service(_)), _) => opened.iter().for_each(|opened| opened.keep_pin(new)),
            (Some(Opened::Folder(_)), by_new) => *opened = by_new,
            (None, _) => {}
        }
        Ok(())
    }

    fn read_objects(&self) -> std::sync::RwLockReadGuard<'_, Objects> {
        self.objects.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_objects(&self) -> std::sync::RwLockWriteGuard<'_, Objects> {
        self.objects.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the token again if it has changed.
    ///
    /// # Errors
    /// Those of the store.
    pub fn refresh(&self) -> Outcome {
        let Ok(token) = self.token() else { return Ok(()) };
        let mut shown = locked(&self.shown);
        if let Some(found) = self.store.read(token, self.logged_in(), &self.opened, &mut shown)? {
            let changes = if let Seen::Changes(seen) = &*shown { seen.read } else { 0 };
            self.show(found, changes);
        }
        Ok(())
    }

    fn next(&self) -> CK_OBJECT_HANDLE {
        self.handles.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns true for an object that the program sees now.
    fn sees(&self, object: &Object) -> bool {
        !object.is_private() || self.logged_in() == LoggedIn::User
    }

    /// Returns an object. With the user's login one of the token is authentic.
    ///
    /// # Errors
    /// `missing` when there is none, or none that the program sees; those of the store.
    pub fn object(&self, handle: CK_OBJECT_HANDLE, missing: CK_RV) -> Outcome<Arc<Object>> {
        let object = self.seen(handle, missing)?;
        if self.prove(&object)? {
            return Ok(object);
        }
        // Another program may have changed it since it was read.
        self.refresh()?;
        let object = self.seen(handle, missing)?;
        demand(self.prove(&object)?, missing)?;
        Ok(object)
    }

    /// Returns an object that the program sees now.
    fn seen(&self, handle: CK_OBJECT_HANDLE, missing: CK_RV) -> Outcome<Arc<Object>> {
        let object = self.read_objects().get(handle).cloned().ok_or(Refusal(missing))?;
        demand(self.sees(&object), missing)?;
        Ok(object)
    }

    /// Has the service authenticate an object of the token, once for each state of it. Returns false if the token has the object otherwise. Without the user's login nobody can tell, and
    /// the objects of a store in a folder were authenticated when they were read.
    fn prove(&self, object: &Object) -> Outcome<bool> {
        let (Home::Token(name) | Home::Half(name)) = object.home else { return Ok(true) };
        if !self.store.holds_keys() || self.logged_in() != LoggedIn::User {
            return Ok(true);
        }
        let unproven = |kept: &&Kept| !kept.is_authentic.load(Ordering::Acquire);
        let stored =
            self.read_objects().kept.get(&name).filter(unproven).map(|kept| Arc::clone(&kept.stored));
        let Some(stored) = stored else { return Ok(true) };
        let is_authentic = self.store.is_authentic(&self.opened, name, &stored)?;
        if is_authentic {
            let objects = self.read_objects();
            // The object may have been read anew meanwhile, and is to be authenticated again then.
            let same = objects.kept.get(&name).filter(|kept| Arc::ptr_eq(&kept.stored, &stored));
            same.into_iter().for_each(|kept| kept.is_authentic.store(true, Ordering::Release));
        }
        Ok(is_authentic)
    }

    /// Returns the handles of objects that have every value of a template.
    ///
    /// # Errors
    /// Those of the store.
    pub fn find(&self, template: &[(CK_ATTRIBUTE_TYPE, Vec<u8>)]) -> Outcome<Vec<CK_OBJECT_HANDLE>> {
        self.refresh()?;
        let profiles = profiles::asked_for(template);
        let sees = |object: &Object| self.sees(object) && (profiles || object.home != Home::Module);
        Ok(self.read_objects().find(template, sees))
    }

    /// Returns an object's secret, which is opened if it is sealed.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`; `CKR_DEVICE_ERROR` for one that is not authentic; `CKR_KEY_UNEXTRACTABLE` for one that stays in the service.
    pub fn secret(&self, object: &Object) -> Outcome<Arc<Secret>> {
        if let Some(open) = object.open_secret() {
            return Ok(open);
        }
        let Home::Token(name) = object.home else { return Ok(Arc::default()) };
        let stored = self.read_objects().kept.get(&name).map(|kept| Arc::clone(&kept.stored));
        let stored = stored.ok_or(Refusal(CKR_OBJECT_HANDLE_INVALID))?;
        let secret = Arc::new(self.store.secret(&self.opened, name, &stored)?);
        if object.held.is_none() {
            object.keep_secret(Arc::clone(&secret));
        }
        Ok(secret)
    }

    /// Returns what an object's key is expanded from.
    ///
    /// # Errors
    /// As [`Slot::secret`].
    pub fn material(&self, object: &Object) -> Outcome<Material> {
        if let Some(name) = object.held
            && let Some(held) = self.store.held(&self.opened, name)?
        {
            return Ok(Material::Held(held));
        }
        self.secret(object).map(Material::Secret)
    }

    /// Returns true if the token makes its keys where they stay.
    pub fn makes_keys(&self) -> bool {
        self.store.holds_keys()
    }

    /// Has the token make a key, which is on the disk when this returns. Returns its handle, and its public key.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, and those of the service.
    pub fn generate(&self, attributes: &Attributes, bits: u32) -> Outcome<(CK_OBJECT_HANDLE, Vec<u8>)> {
        let asked = self.shared(attributes)?;
        let (done, public) = self.store.generate(&self.opened, &asked, bits)?;
        Ok((self.handle_of(done)?, public))
    }

    /// Adds an object: to the token, where it is on the disk when this returns, or to a session.
    ///
    /// # Errors
    /// `CKR_USER_NOT_LOGGED_IN`, and those of the store.
    pub fn add(&self, draft: Draft, session: CK_SESSION_HANDLE) -> Outcome<CK_OBJECT_HANDLE> {
        self.add_from(draft, session, None)
    }

    /// Adds a copy of an object. One whose key stays in the service has the same key there.
    ///
    /// # Errors
    /// As [`Slot::add`]; those of [`Slot::secret`].
    pub fn copy(
        &self,
        from: &Object,
        attributes: Attributes,
        session: CK_SESSION_HANDLE,
    ) -> Outcome<CK_OBJECT_HANDLE> {
        let is_key = matches!(attributes.class(), CKO_PRIVATE_KEY | CKO_SECRET_KEY);
        let has_secret = is_key || attributes.class() == CKO_DATA;
        if is_key && from.held.is_some() {
            return self.add_from(Draft { attributes, secret: None }, session, from.held);
        }
        let secret = if has_secret { Some(self.secret(from)?.as_ref().clone()) } else { None };
        self.add(Draft { attributes, secret }, session)
    }

    fn add_from(
        &self,
        mut draft: Draft,
        session: CK_SESSION_HANDLE,
        from: Option<ObjectId>,
    ) -> Outcome<CK_OBJECT_HANDLE> {
        if draft.attributes.is(CKA_TOKEN) {
            let secret = draft.secret.as_ref().map_or(&[][..], |secret| secret);
            self.demand_user()?;
            let shared = self.shared(&draft.attributes)?;
            let done = self.store.add(self.token()?, &self.opened, &shared, secret, from)?;
            return self.handle_of(done);
        }
        // The default is private with a login of the user, and public without one: nobody could use the object otherwise.
        let is_user = self.logged_in() == LoggedIn::User;
        draft.attributes.set_default_flag(CKA_PRIVATE, is_user);
        demand(!draft.attributes.is(CKA_PRIVATE) || is_user, CKR_USER_NOT_LOGGED_IN)?;
        let handle = self.next();
        draft.attributes.set(CKA_UNIQUE_ID, format!("session-{handle}").as_bytes());
        let object = Object::new(handle, Home::Session(session), draft).held_as(from);
        self.write_objects().add(Arc::new(object));
        Ok(handle)
    }

    /// Shows an object that was made, and returns its handle.
    fn handle_of(&self, done: Done) -> Outcome<CK_OBJECT_HANDLE> {
        let name = done.name;
        self.took(done)?;
        let objects = self.read_objects();
        objects.kept.get(&name).map(|kept| kept.handle).ok_or(Refusal(CKR_DEVICE_ERROR))
    }

    fn demand_user(&self) -> Outcome {
        demand(self.logged_in() == LoggedIn::User, CKR_USER_NOT_LOGGED_IN)
    }

    /// Returns attributes as the store keeps them.
    fn shared(&self, attributes: &Attributes) -> Outcome<Shared> {
        let mut attributes = attributes.clone();
        attributes.take(CKA_UNIQUE_ID);
        kept::to_store(&attributes, stored_token::now())
    }

    /// Changes an object's attributes.
    ///
    /// # Errors
    /// Those of the store.
    pub fn set_attributes(&self, object: &Object, attributes: Attributes) -> Outcome {
        match object.home {
            Home::Token(name) => {
                self.demand_user()?;
                let shared = self.shared(&attributes)?;
                let changed = (name, &shared);
                let done = self.store.change(self.token()?, &self.opened, changed, || self.secret(object))?;
                self.took(done)
            }
            Home::Session(_) => {
                object.set_attributes(attributes);
                self.write_objects().note(object);
                Ok(())
            }
            Home::Half(_) | Home::Module => refuse(CKR_ACTION_PROHIBITED),
        }
    }

    /// Removes an object.
    ///
    /// # Errors
    /// `CKR_ACTION_PROHIBITED`; those of the store.
    pub fn remove(&self, object: &Object) -> Outcome {
        object.check_destroyable()?;
        if let Home::Token(name) = object.home {
            self.demand_user()?;
            return self.took(self.store.remove(self.token()?, &self.opened, name)?);
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
