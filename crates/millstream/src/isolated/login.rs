//! A PIN that is kept for as long as somebody is logged in, so that a token is opened in each grant that needs it.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use millstream_protocol::{KeyRefusal, KeyRequest, Secret};
use zeroize::Zeroizing;

use super::token::{OpenToken, Pin};
use super::{Accelerator, Attach, Grants};
use crate::Error;
use crate::cwq::Algorithm;
use crate::key::{KeyHandle, KeyOptions};
use crate::link::Link;

/// A token and a PIN, for [`ServiceKey::load`](super::ServiceKey::load): the token is opened in each grant that needs it. The PIN is in this process as long as this is,
/// or until [`Login::end`].
///
/// A PIN that turned out to be wrong is forgotten at once, and never tried again: a program that works on after somebody else has changed the PIN spends one
/// try, and does not lock the token.
///
/// ```no_run
/// use millstream::cwq::{Algorithm, Usages};
/// use millstream::isolated::token::Login;
/// use millstream::isolated::{Grants, ServiceKey};
///
/// static GRANTS: Grants = Grants::new();
///
/// # let (token, object) = (0, 0);
/// let login = Login::new(token, b"314159");
/// let options = Grants::options(None);
/// login.check(&GRANTS, &options)?;
/// let key = ServiceKey::load(&GRANTS, &options, &login, object, Algorithm::P256, Usages::SIGN)?;
/// println!("signature {:02x?}", key.sign(b"message")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Login {
    token: u128,
    officer: bool,
    state: Mutex<State>,
}

struct State {
    /// The PIN, or the error with which the token is refused from now on.
    pin: Result<Zeroizing<Vec<u8>>, Error>,
    /// The grants that have opened the token, and their numbers for it. The token is closed with the grant.
    open: Vec<(Weak<Link>, u32)>,
}

impl Login {
    /// Keeps the user's PIN. It is tried when the token is needed first.
    pub fn new(token: u128, pin: &[u8]) -> Self {
        Login::with_pin(token, Pin::User(pin))
    }

    /// Keeps a PIN, the user's or the security officer's. With the latter no key is used.
    pub fn with_pin(token: u128, pin: Pin<'_>) -> Self {
        let bytes = Zeroizing::new(pin.bytes().to_vec());
        let state = State { pin: Ok(bytes), open: Vec::new() };
        Login { token, officer: pin.is_officer(), state: Mutex::new(state) }
    }

    /// Returns the token's serial number.
    pub fn token(&self) -> u128 {
        self.token
    }

    /// Opens the token in a grant for private keys, to see whether the PIN is right.
    ///
    /// # Errors
    /// As [`Accelerator::open_token`].
    pub fn check(&self, grants: &'static Grants, options: &Attach) -> Result<(), Error> {
        self.with(grants, options, |_| Ok(()))
    }

    /// Does something with the token, as a grant for private keys has opened it. Where that grant has moved, which closed the token, it is opened again and `act` is
    /// called once more.
    ///
    /// # Errors
    /// As [`Accelerator::open_token`], and those of `act`.
    pub fn with<T>(
        &self,
        grants: &'static Grants,
        options: &Attach,
        act: impl Fn(&OpenToken) -> Result<T, Error>,
    ) -> Result<T, Error> {
        grants.with_grant(&options.for_key(Algorithm::P256), |accelerator| {
            self.opened(accelerator, |link, session| {
                let open: ManuallyDrop<OpenToken> = OpenToken::borrowed(Arc::clone(link), session);
                act(&open)
            })
        })
    }

    /// Sets the PIN of this login's role and keeps it in place of the old one.
    ///
    /// # Errors
    /// As [`OpenToken::set_pin`].
    pub fn set_pin(&self, grants: &'static Grants, options: &Attach, pin: &[u8]) -> Result<(), Error> {
        let new = if self.officer { Pin::Officer(pin) } else { Pin::User(pin) };
        self.with(grants, options, |open| open.set_pin(new))?;
        self.keep_pin(pin);
        Ok(())
    }

    /// Keeps another PIN in place of the old one, after it was set elsewhere.
    pub fn keep_pin(&self, pin: &[u8]) {
        self.state().pin = Ok(Zeroizing::new(pin.to_vec()));
    }

    /// Closes the token and forgets the PIN. Keys that were loaded with it go on until their grant ends, and are not loaded again.
    pub fn end(&self) {
        let mut state = self.state();
        state.pin = Err(Error::Key(KeyRefusal::TokenClosed));
        state.close();
    }

    /// Makes a key of a grant from one of the token.
    pub(super) fn load(
        &self,
        accelerator: &Accelerator,
        object: u128,
        algorithm: Algorithm,
        options: KeyOptions,
    ) -> Result<KeyHandle, Error> {
        self.opened(accelerator, |link, session| {
            let purpose = options.message();
            let request = KeyRequest::LoadObject { session, object, algorithm: algorithm as u8, purpose };
            link.load_object(algorithm, &request)
        })
    }

    /// Does something with the token as a grant has it.
    fn opened<T>(
        &self,
        accelerator: &Accelerator,
        act: impl Fn(&Arc<Link>, u32) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let link = accelerator.link()?;
        match act(link, self.session(link)?) {
            // The grant has moved, which closed the token.
            Err(Error::Key(KeyRefusal::TokenClosed)) => {
                let gone = Arc::downgrade(link);
                self.state().open.retain(|(its, _)| !Weak::ptr_eq(its, &gone));
                act(link, self.session(link)?)
            }
            done => done,
        }
    }

    /// Returns the number of the token in a grant, and opens it there if need be.
    fn session(&self, link: &Arc<Link>) -> Result<u32, Error> {
        let mut state = self.state();
        state.open.retain(|(its, _)| its.strong_count() > 0);
        let this = Arc::downgrade(link);
        if let Some((_, session)) = state.open.iter().find(|(its, _)| Weak::ptr_eq(its, &this)) {
            return Ok(*session);
        }
        let pin = Secret::new(state.pin.as_ref().map_err(Error::clone)?);
        let request = KeyRequest::OpenToken { token: self.token, officer: self.officer, pin };
        let opened = link.open_token(&request);
        if let Err(error @ Error::WrongPin { .. }) = &opened {
            // Another try would have the same end, and bring the token nearer to its lock.
            state.pin = Err(error.clone());
        }
        let session = opened?;
        state.open.push((this, session));
        Ok(session)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn close(&mut self) {
        for (link, session) in self.open.drain(..) {
            if let Some(link) = link.upgrade() {
                link.close_token(session);
            }
        }
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        self.state().close();
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Login({:032x})", self.token)
    }
}
