//! A key, wherever it is, and the message under way.

use std::sync::Arc;

use millstream::InOut;
use millstream::aead::Aead;
use millstream::isolated::ServiceKey;
use millstream::modes::Direction;
use millstream::tally::Place;

use super::algorithm::Algorithm;
use super::held::{Held, Keyed};
use super::local::{Local, NO_MESSAGE};
use super::{Spec, TAG};
use crate::cipher::Registration;
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::remote;

/// A key, and the message under way where it is.
enum Key<A: Algorithm> {
    Local(Arc<A::Key>, Local<A>),
    Remote(Arc<ServiceKey>, Option<Box<Held>>),
}

impl<A: Algorithm> Clone for Key<A> {
    fn clone(&self) -> Self {
        match self {
            Key::Local(key, message) => Key::Local(Arc::clone(key), message.clone()),
            Key::Remote(key, message) => Key::Remote(Arc::clone(key), message.clone()),
        }
    }
}

/// A key and the message under way: one at a time.
pub struct Messages<A: Algorithm> {
    registration: Registration,
    name: &'static str,
    direction: Direction,
    key: Option<Key<A>>,
    count: Count,
}

impl<A: Algorithm> Clone for Messages<A> {
    fn clone(&self) -> Self {
        let Messages { registration, name, direction, key, count } = self;
        Messages {
            registration: *registration,
            name,
            direction: *direction,
            key: key.clone(),
            count: count.clone(),
        }
    }
}

const NO_KEY: Reason = Reason::CIPHER_OPERATION_FAILED.with("no key is set");

impl<A: Algorithm> Messages<A> {
    pub fn new(registration: Registration, spec: &'static Spec) -> Self {
        Messages {
            registration,
            name: spec.name,
            direction: Direction::Encrypt,
            key: None,
            count: Count::default(),
        }
    }

    pub fn registration(&self) -> &Registration {
        &self.registration
    }

    /// Sets the direction. A message under way in the other direction is abandoned.
    pub fn set_direction(&mut self, direction: Direction) {
        if direction != self.direction {
            self.direction = direction;
            self.abandon();
        }
    }

    pub fn encrypts(&self) -> bool {
        self.direction == Direction::Encrypt
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sets the key. A message under way was the last key's, and is abandoned.
    pub fn set_key(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.registration.info.key {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let Registration { provider, rows, isolated, .. } = self.registration;
        if isolated {
            let key = remote::aead(provider, A::REMOTE, bytes, self.direction)?;
            self.count.bind(rows.row(provider, Place::Isolated, self.name, "worker"));
            self.key = Some(Key::Remote(Arc::new(key), None));
            return Ok(());
        }
        // Some programs set a key for each message: it takes the last one's place, and is counted in the same row.
        if let Some(Key::Local(last, message)) = &mut self.key {
            message.abandon();
            if let Some(last) = Arc::get_mut(last) {
                return Ok(A::rekey(last, bytes)?);
            }
        }
        let key = A::key(millstream::features()?, bytes)?;
        self.count.bind(rows.row(provider, Place::InProcess, self.name, A::kernel(&key)));
        self.key = Some(Key::Local(Arc::new(key), Local::default()));
        Ok(())
    }

    /// Takes a key that is in the service already. A message under way is abandoned.
    pub fn take(&mut self, key: &Arc<ServiceKey>) -> Result<()> {
        let Registration { provider, rows, info, .. } = self.registration;
        remote::fits(key, Some(A::REMOTE), Some(info.key))?;
        self.count.bind(rows.row(provider, Place::Isolated, self.name, "worker"));
        self.key = Some(Key::Remote(Arc::clone(key), None));
        Ok(())
    }

    /// Tells whether a message is under way.
    pub fn under_way(&self) -> bool {
        match &self.key {
            None => false,
            Some(Key::Local(_, message)) => message.under_way(),
            Some(Key::Remote(_, message)) => message.is_some(),
        }
    }

    /// Forgets the message under way.
    pub fn abandon(&mut self) {
        match &mut self.key {
            None => {}
            Some(Key::Local(_, message)) => message.abandon(),
            Some(Key::Remote(_, message)) => *message = None,
        }
    }

    /// Begins a message.
    #[inline]
    pub fn begin(&mut self, nonce: &[u8]) -> Result<()> {
        match self.key.as_mut().ok_or(NO_KEY)? {
            Key::Local(key, message) => message.begin(key, nonce)?,
            Key::Remote(_, message) => *message = Some(Box::new(Held::new(nonce))),
        }
        Ok(())
    }

    /// Adds associated data.
    #[inline]
    pub fn associate(&mut self, aad: &[u8]) -> Result<()> {
        match self.key.as_mut().ok_or(NO_KEY)? {
            Key::Local(key, message) => message.associate(key, aad),
            Key::Remote(key, message) => message.as_mut().ok_or(NO_MESSAGE)?.associate(&**key, aad),
        }
    }

    /// Encrypts or decrypts the next piece. `tag` is the tag that the message should end with, where it is known
    /// already.
    #[inline(always)]
    pub fn crypt(&mut self, data: InOut<'_>, tag: Option<&[u8]>) -> Result<()> {
        self.count.add_bytes(data.len());
        match self.key.as_mut().ok_or(NO_KEY)? {
            Key::Local(key, message) => message.crypt(key, self.direction, data, tag),
            Key::Remote(key, message) => {
                message.as_mut().ok_or(NO_MESSAGE)?.crypt(&**key, self.direction, data, tag)
            }
        }
    }

    /// Ends the message, and returns its tag.
    pub fn tag(&mut self) -> Result<[u8; TAG]> {
        self.count.add(0);
        match self.key.as_mut().ok_or(NO_KEY)? {
            Key::Local(key, message) => message.tag(key),
            Key::Remote(key, message) => message.take().ok_or(NO_MESSAGE)?.tag(&**key),
        }
    }

    /// Ends the message, and fails unless its tag begins with `tag`.
    pub fn verify(&mut self, tag: &[u8]) -> Result<()> {
        self.count.add(0);
        let right = match self.key.as_mut().ok_or(NO_KEY)? {
            Key::Local(key, message) => message.verify(key, tag)?,
            Key::Remote(key, message) => message.take().ok_or(NO_MESSAGE)?.verify(&**key, tag)?,
        };
        if right { Ok(()) } else { Err(Reason::SILENT) }
    }

    /// Encrypts a whole record, and returns its tag.
    pub fn seal(&mut self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]> {
        self.count.add(data.len());
        match self.key.as_ref().ok_or(NO_KEY)? {
            Key::Local(key, _) => {
                let mut tag = [0; TAG];
                key.seal(nonce, aad, data, &mut tag)?;
                Ok(tag)
            }
            Key::Remote(key, _) => Keyed::seal(&**key, nonce, aad, data),
        }
    }

    /// Decrypts a whole record. If its tag is wrong the output is zeros.
    pub fn open(&mut self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; TAG]) -> Result<()> {
        self.count.add(data.len());
        let right = match self.key.as_ref().ok_or(NO_KEY)? {
            Key::Local(key, _) => key.open(nonce, aad, data.reborrow(), tag).is_ok(),
            Key::Remote(key, _) => Keyed::open(&**key, nonce, aad, data.reborrow(), tag)?,
        };
        if right {
            return Ok(());
        }
        data.output().fill(0);
        Err(Reason::SILENT)
    }
}
