//! Tokens of the service: keys that outlive it, and are used without leaving it.
//!
//! The service keeps tokens where its policy says so. [`Service::tokens`](super::Service::tokens) and [`Service::objects`](super::Service::objects) list what this
//! user may use, without a PIN. [`Accelerator::open_token`] opens a token with its PIN, which goes to the worker of the grant and nowhere else. A key of the token
//! becomes a key of the grant by [`OpenToken::load`], and is used as any other. Its bytes are in the worker only.
//!
//! ```no_run
//! use millstream::cwq::Algorithm;
//! use millstream::isolated::token::{Attributes, Pin};
//! use millstream::isolated::{Attach, Service};
//! use millstream::queue::{KeyOptions, Request};
//!
//! let tokens = Service::connect(None)?.tokens()?;
//! let token = tokens.iter().find(|token| token.label == "web").expect("a token of that label");
//! // Private keys are in grants of their own.
//! let accelerator = Attach { private_keys: true, ..Attach::default() }.attach()?;
//! let open = accelerator.open_token(token.token, Pin::User(b"314159"))?;
//! let asked = Attributes { label: "server".into(), kind: "p-256".into(), ..Attributes::default() };
//! let (object, made) = open.generate(&asked, None)?;
//! println!("the public key has {} bytes", made.public_key.len());
//! let key = open.load(object, Algorithm::P256, KeyOptions::default())?;
//! let mut queue = accelerator.queue()?;
//! let mut message = queue.buffer(5)?;
//! message.copy_from_slice(b"hello");
//! queue.submit(Request::sign(key, message))?;
//! println!("signature {:02x?}", queue.wait().expect("one is in flight").tag());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What ends when
//! An open token is closed when its [`OpenToken`] is dropped, when the grant ends in whatever way, and when the grant moves to another worker. Keys that were loaded
//! stay as long as the grant does, and go along when it moves. A forked child has neither.

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use millstream_protocol::{KeyRequest, MOST_OBJECT_BYTES, Secret};
use zeroize::Zeroizing;

pub use millstream_protocol::{Attributes, AttributesError, TokenHolder, TokenStatus, usage};

pub use super::login::Login;

use super::Accelerator;
use crate::Error;
use crate::cwq::Algorithm;
use crate::key::{KeyHandle, KeyOptions};
use crate::link::Link;
use crate::queue::Exportable;

/// A PIN, and whose it is. Neither is shown by its debug output.
#[derive(Clone, Copy)]
pub enum Pin<'a> {
    /// The user's, who uses keys and, as far as the policy lets him, makes and removes them.
    User(&'a [u8]),
    /// The security officer's, who sets PINs and removes the token.
    Officer(&'a [u8]),
}

impl fmt::Debug for Pin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_officer() { "Pin::Officer" } else { "Pin::User" })
    }
}

impl Pin<'_> {
    pub(super) fn is_officer(&self) -> bool {
        matches!(self, Pin::Officer(_))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        let (Pin::User(pin) | Pin::Officer(pin)) = self;
        pin
    }

    fn secret(&self) -> Secret {
        Secret::new(self.bytes())
    }
}

/// A token that a grant has opened. It is closed when this is dropped.
///
/// Serial numbers and identifiers of objects are numbers of 128 bits, in big-endian order as lists show them. The
/// [module](self) has an example.
pub struct OpenToken {
    link: Arc<Link>,
    session: u32,
    changes: AtomicU64,
}

impl Accelerator {
    /// Opens a token with a PIN. Each try is counted on the disk before the PIN is looked at, and takes a tenth of a second.
    ///
    /// # Errors
    /// [`Error::WrongPin`]; [`Error::Key`] with [`KeyRefusal::PinLocked`](super::KeyRefusal::PinLocked) and its like; [`Error::NoAnswer`];
    /// [`Error::Queue`] after the grant's end. There are no tokens without a service.
    pub fn open_token(&self, token: u128, pin: Pin<'_>) -> Result<OpenToken, Error> {
        let link = self.link()?;
        let (officer, pin) = (pin.is_officer(), pin.secret());
        let session = link.open_token(&KeyRequest::OpenToken { token, officer, pin })?;
        Ok(OpenToken { link: link.clone(), session, changes: AtomicU64::new(0) })
    }

    /// Makes a token and returns its serial number. It is on the disk then.
    ///
    /// # Errors
    /// [`Error::Key`]: the policy does not let this user make one of that label, or there is one already; else as [`Accelerator::open_token`].
    pub fn make_token(&self, label: &str, officer: &[u8], user: Option<&[u8]>) -> Result<u128, Error> {
        let (officer, user) = (Secret::new(officer), Secret::new(user.unwrap_or_default()));
        self.link()?.make_token(&KeyRequest::MakeToken { session: 0, label: label.to_owned(), officer, user })
    }
}

impl OpenToken {
    /// Returns a token that a grant has opened, for as long as somebody else keeps it open.
    pub(super) fn borrowed(link: Arc<Link>, session: u32) -> ManuallyDrop<Self> {
        ManuallyDrop::new(OpenToken { link, session, changes: AtomicU64::new(0) })
    }

    /// Makes a key of this grant from a key of the token. It has the usages of `options`, which the token's key must have too; where they are not said, all that the token's key and the
    /// algorithm both have. It can't be exported.
    ///
    /// # Errors
    /// [`Error::Key`]; [`Error::KeySlots`]; else as [`Accelerator::import_key_with`].
    pub fn load(&self, object: u128, algorithm: Algorithm, options: KeyOptions) -> Result<KeyHandle, Error> {
        if options.exportable == Exportable::Yes {
            return Err(Error::Key(super::KeyRefusal::NotExportable));
        }
        let (session, purpose) = (self.session, options.message());
        let request = KeyRequest::LoadObject { session, object, algorithm: algorithm as u8, purpose };
        self.link.load_object(algorithm, &request)
    }

    /// Returns the attributes of a key, which the worker has authenticated.
    ///
    /// # Errors
    /// [`Error::Key`]; else as [`Accelerator::open_token`].
    pub fn show(&self, object: u128) -> Result<Attributes, Error> {
        Ok(self.object(&KeyRequest::ShowObject { session: self.session, object })?.1)
    }

    /// Makes a key in the token, and returns its identifier and its attributes, with the public key where there is one. It is on the disk then, and was nowhere else.
    /// The kind, the label, the identifier, the usages (0 for all), exportability and what has no field here count of the attributes that are asked for.
    ///
    /// # Errors
    /// [`Error::Key`]; else as [`Accelerator::open_token`]. After [`Error::NoAnswer`], or the end of the grant, the key may be there all the same.
    pub fn generate(&self, asked: &Attributes, bits: Option<u32>) -> Result<(u128, Attributes), Error> {
        let (session, attributes) = (self.session, encoded(asked)?);
        self.object(&KeyRequest::GenerateObject { session, bits: bits.unwrap_or(0), attributes })
    }

    /// Brings a key into the token: the bytes of a secret key, a scalar or seed, or an `RSAPrivateKey` in DER.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn import(&self, asked: &Attributes, key: &[u8]) -> Result<(u128, Attributes), Error> {
        let (session, attributes) = (self.session, encoded(asked)?);
        if key.len() + attributes.len() > MOST_OBJECT_BYTES {
            return Err(Error::Key(super::KeyRefusal::TooLong));
        }
        self.object(&KeyRequest::ImportObject { session, attributes, bytes: Secret::new(key) })
    }

    /// Copies a key within the token, or to another one that the same grant has opened. The copy may have fewer usages and another label, and is exportable only
    /// if the key is.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn copy(
        &self,
        object: u128,
        to: &OpenToken,
        asked: &Attributes,
    ) -> Result<(u128, Attributes), Error> {
        if !Arc::ptr_eq(&self.link, &to.link) {
            return Err(Error::Key(super::KeyRefusal::TokenClosed));
        }
        let (session, attributes) = (self.session, encoded(asked)?);
        self.object(&KeyRequest::CopyObject { session, object, to: to.session, attributes })
    }

    /// Changes the label, the identifier and what has no field here, and takes away usages and exportability.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn change(&self, object: u128, asked: &Attributes) -> Result<Attributes, Error> {
        let (session, attributes) = (self.session, encoded(asked)?);
        Ok(self.object(&KeyRequest::ChangeObject { session, object, attributes })?.1)
    }

    /// Returns the bytes of a key that was made exportable, as [`OpenToken::import`] takes them. From then on the token says that the key has been outside.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn export(&self, object: u128) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.link.exported_object(&KeyRequest::ExportObject { session: self.session, object })
    }

    /// Removes a key from the token. Keys that were loaded from it stay.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn remove(&self, object: u128) -> Result<(), Error> {
        self.change_token(&KeyRequest::RemoveObject { session: self.session, object })
    }

    /// Sets a PIN: the user their own, the security officer either.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn set_pin(&self, pin: Pin<'_>) -> Result<(), Error> {
        let (session, officer, pin) = (self.session, pin.is_officer(), pin.secret());
        self.change_token(&KeyRequest::SetPin { session, officer, pin })
    }

    /// Makes a token without a user PIN in the place of this one, if the security officer has opened it, and returns its serial number. This token goes with
    /// all of its keys in the same step.
    ///
    /// # Errors
    /// As [`Accelerator::make_token`]: this token stays as it is then.
    pub fn replace_token(self, label: &str, officer: &[u8]) -> Result<u128, Error> {
        let (session, label, officer) = (self.session, label.to_owned(), Secret::new(officer));
        self.link.make_token(&KeyRequest::MakeToken { session, label, officer, user: Secret::default() })
    }

    /// Removes the token with all of its keys, if the security officer has opened it.
    ///
    /// # Errors
    /// As [`OpenToken::generate`].
    pub fn remove_token(self) -> Result<(), Error> {
        self.change_token(&KeyRequest::RemoveToken { session: self.session })
    }
}

impl OpenToken {
    /// Returns the number of changes of the token right after the last change that was made through this, or as of the last object that it showed; 0 before the first.
    /// A program that keeps a list of the token's objects sees so whether others changed it meanwhile, as [`TokenStatus::changes`] tells.
    pub fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    fn object(&self, request: &KeyRequest) -> Result<(u128, Attributes), Error> {
        let (object, attributes, changes) = self.link.object(request)?;
        self.changes.store(changes, Ordering::Relaxed);
        Ok((object, attributes))
    }

    fn change_token(&self, request: &KeyRequest) -> Result<(), Error> {
        let changes = self.link.change_token(request)?;
        self.changes.store(changes, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for OpenToken {
    fn drop(&mut self) {
        self.link.close_token(self.session);
    }
}

impl fmt::Debug for OpenToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenToken({} of grant {})", self.session, self.link.grant().id)
    }
}

fn encoded(attributes: &Attributes) -> Result<Vec<u8>, Error> {
    match attributes.encode() {
        Ok(bytes) if bytes.len() <= MOST_OBJECT_BYTES => Ok(bytes),
        Ok(_) | Err(AttributesError::TooLong { .. }) => Err(Error::Key(super::KeyRefusal::TooLong)),
        Err(_) => Err(Error::Key(super::KeyRefusal::Attributes)),
    }
}
