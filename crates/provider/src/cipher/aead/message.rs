//! A key, wherever it is, and the message under way.

use std::sync::Arc;

use millstream::aead::{Aead, AeadState};
use millstream::modes::Direction;
use millstream::tally::Place;
use millstream::{EngineError, Features, InOut, cwq};
use subtle::ConstantTimeEq;

use super::held::Held;
use super::{Spec, TAG};
use crate::cipher::Offer;
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::remote::RemoteKey;

/// What differs from one AEAD to the next.
pub trait Algorithm: 'static {
    /// A key in this process.
    type Key: Aead + Send + Sync;
    /// A message in pieces under it.
    type State: AeadState<Key = Self::Key> + Send;
    /// What the service calls it.
    const REMOTE: cwq::Algorithm;

    fn key(features: Features, bytes: &[u8]) -> std::result::Result<Self::Key, EngineError>;
    /// What computes.
    fn kernel(key: &Self::Key) -> &'static str;
    fn begin(key: &Self::Key, nonce: &[u8]) -> std::result::Result<Self::State, EngineError>;
}

enum Key<A: Algorithm> {
    Local(Arc<A::Key>),
    Remote(Arc<RemoteKey>),
}

impl<A: Algorithm> Clone for Key<A> {
    fn clone(&self) -> Self {
        match self {
            Key::Local(key) => Key::Local(Arc::clone(key)),
            Key::Remote(key) => Key::Remote(Arc::clone(key)),
        }
    }
}

/// A message under way, of the same place as its key.
#[derive(Clone)]
enum Message<S> {
    Local(S),
    Held(Held),
}

/// A key and the message under way: one at a time.
pub struct Messages<A: Algorithm> {
    offer: Offer,
    name: &'static str,
    pub direction: Direction,
    key: Option<Key<A>>,
    message: Option<Message<A::State>>,
    count: Count,
}

impl<A: Algorithm> Clone for Messages<A> {
    fn clone(&self) -> Self {
        let Messages { offer, name, direction, key, message, count } = self;
        Messages {
            offer: *offer,
            name,
            direction: *direction,
            key: key.clone(),
            message: message.clone(),
            count: count.clone(),
        }
    }
}

const NO_KEY: Reason = Reason::CIPHER_OPERATION_FAILED.with("no key is set");
const NO_MESSAGE: Reason =
    Reason::CIPHER_OPERATION_FAILED.with("no message is under way: set a vector for each");

impl<A: Algorithm> Messages<A> {
    pub fn new(offer: Offer, spec: &'static Spec) -> Self {
        Messages {
            offer,
            name: spec.name,
            direction: Direction::Encrypt,
            key: None,
            message: None,
            count: Count::default(),
        }
    }

    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    pub fn encrypts(&self) -> bool {
        self.direction == Direction::Encrypt
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Sets the key; a message under way was the last one's.
    pub fn set_key(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() != self.offer.traits.key {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        self.message = None;
        let Offer { provider, rows, isolated, .. } = self.offer;
        if isolated {
            let key = RemoteKey::import(provider, A::REMOTE, bytes)?;
            self.count.bind(rows.row(provider, Place::Isolated, self.name, "worker"));
            self.key = Some(Key::Remote(Arc::new(key)));
            return Ok(());
        }
        let key = A::key(millstream::features()?, bytes)?;
        self.count.bind(rows.row(provider, Place::InProcess, self.name, A::kernel(&key)));
        // Some set a key for each message: it takes the last one's place.
        if let Some(Key::Local(last)) = &mut self.key
            && let Some(last) = Arc::get_mut(last)
        {
            *last = key;
        } else {
            self.key = Some(Key::Local(Arc::new(key)));
        }
        Ok(())
    }

    /// Whether a message is under way.
    pub fn under_way(&self) -> bool {
        self.message.is_some()
    }

    /// Forgets the message under way.
    pub fn abandon(&mut self) {
        self.message = None;
    }

    /// Begins a message.
    #[inline]
    pub fn begin(&mut self, nonce: &[u8]) -> Result<()> {
        self.message = Some(match &self.key {
            None => return Err(NO_KEY),
            Some(Key::Local(key)) => Message::Local(A::begin(key, nonce)?),
            Some(Key::Remote(_)) => Message::Held(Held::new(nonce)),
        });
        Ok(())
    }

    /// Adds associated data.
    pub fn associate(&mut self, aad: &[u8]) -> Result<()> {
        match (&self.key, &mut self.message) {
            (Some(Key::Local(key)), Some(Message::Local(state))) => Ok(state.aad(key, aad)?),
            (Some(Key::Remote(_)), Some(Message::Held(held))) => held.associate(aad),
            _ => Err(NO_MESSAGE),
        }
    }

    /// Passes the next piece. `tag` is what the message should end with, where that is known already.
    #[inline]
    pub fn pass(&mut self, data: InOut<'_>, tag: Option<&[u8]>) -> Result<()> {
        self.count.add_bytes(data.len());
        match (&self.key, &mut self.message) {
            (Some(Key::Local(key)), Some(Message::Local(state))) => match self.direction {
                Direction::Encrypt => state.encrypt(key, data)?,
                Direction::Decrypt => state.decrypt_unverified(key, data)?,
            },
            (Some(Key::Remote(key)), Some(Message::Held(held))) => {
                held.pass(key, self.direction, data, tag)?
            }
            _ => return Err(NO_MESSAGE),
        }
        Ok(())
    }

    /// Ends the message; returns its tag.
    pub fn tag(&mut self) -> Result<[u8; TAG]> {
        self.count.add(0);
        match (&self.key, self.message.take()) {
            (Some(Key::Local(key)), Some(Message::Local(state))) => Ok(state.tag(key)),
            (Some(Key::Remote(key)), Some(Message::Held(held))) => held.tag(key),
            _ => Err(NO_MESSAGE),
        }
    }

    /// Ends the message, whose tag should begin with `tag`.
    pub fn verify(&mut self, tag: &[u8]) -> Result<()> {
        self.count.add(0);
        let right = match (&self.key, self.message.take()) {
            // Tags of any length are taken, as the default provider does.
            (Some(Key::Local(key)), Some(Message::Local(state))) => begins(&state.tag(key), tag),
            (Some(Key::Remote(key)), Some(Message::Held(held))) => held.verify(key, tag)?,
            _ => return Err(NO_MESSAGE),
        };
        if right { Ok(()) } else { Err(Reason::SILENT) }
    }

    /// Encrypts a whole record; returns its tag.
    pub fn seal(&mut self, nonce: &[u8], aad: &[u8], data: InOut<'_>) -> Result<[u8; TAG]> {
        self.count.add(data.len());
        match self.key.as_ref().ok_or(NO_KEY)? {
            Key::Local(key) => {
                let mut tag = [0; TAG];
                key.seal(nonce, aad, data, &mut tag)?;
                Ok(tag)
            }
            Key::Remote(key) => key.seal(nonce, aad, data),
        }
    }

    /// Decrypts a whole record; if its tag is wrong the output is zero.
    pub fn open(&mut self, nonce: &[u8], aad: &[u8], mut data: InOut<'_>, tag: &[u8; TAG]) -> Result<()> {
        self.count.add(data.len());
        let right = match self.key.as_ref().ok_or(NO_KEY)? {
            Key::Local(key) => key.open(nonce, aad, data.reborrow(), tag).is_ok(),
            Key::Remote(key) => key.open(nonce, aad, data.reborrow(), tag)?,
        };
        if right {
            return Ok(());
        }
        data.output().fill(0);
        Err(Reason::SILENT)
    }
}

/// Whether a tag begins with what was given. The time depends on the length alone.
pub fn begins(tag: &[u8; TAG], given: &[u8]) -> bool {
    tag.get(..given.len()).is_some_and(|tag| tag.ct_eq(given).into())
}
