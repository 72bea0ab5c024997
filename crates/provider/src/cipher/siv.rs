//! AES-SIV and AES-GCM-SIV: which calls their contexts accept, and when.
//!
//! Both go over a message twice, so it comes whole, in one update. An update without output is associated data: a component of its
//! own for AES-SIV, of which a nonce is the last, and a piece of the whole for AES-GCM-SIV, whose nonce is its vector. Nothing of a
//! forged message is handed out.
//!
//! Ref. RFC 5297; RFC 8452; EVP_EncryptInit(3), "SIV Mode".

use std::sync::Arc;

use millstream::aead::{Aead, TAG};
use millstream::gcm_siv::{GcmSiv, NONCE};
use millstream::modes::Direction;
use millstream::siv::Siv;
use millstream::tally::Place;
use millstream::{EngineError, Features, InOut};

use super::{Context, LAST, Registration};
use crate::abi::{OCTET_STRING, OsslParam, UNSIGNED_INTEGER};
use crate::count::Count;
use crate::error::{Reason, Result};
use crate::exchange::Exchange;
use crate::params::{Param, Params};

/// One of the two algorithms.
pub trait Algorithm: Sized + Send + Sync + 'static {
    /// True if each update of associated data is a component of its own, even an empty one.
    const COMPONENTS: bool;

    fn key(features: Features, bytes: &[u8]) -> Made<Self>;
    /// Returns the name of the kernel that computes with the key.
    fn kernel_name(&self) -> &'static str;
    /// Encrypts the data and writes the tag, or decrypts the data if the tag is right.
    fn crypt(
        &self,
        direction: Direction,
        nonce: &[u8],
        associated: &[&[u8]],
        data: InOut<'_>,
        tag: &mut [u8; TAG],
    ) -> Made<()>;
}

type Made<T> = std::result::Result<T, EngineError>;

impl Algorithm for Siv {
    const COMPONENTS: bool = true;

    fn key(features: Features, bytes: &[u8]) -> Made<Self> {
        Siv::new(features, bytes)
    }

    fn kernel_name(&self) -> &'static str {
        self.kernel().name
    }

    fn crypt(
        &self,
        direction: Direction,
        _nonce: &[u8],
        associated: &[&[u8]],
        data: InOut<'_>,
        tag: &mut [u8; TAG],
    ) -> Made<()> {
        match direction {
            Direction::Encrypt => self.seal(associated, data, tag),
            Direction::Decrypt => self.open(associated, data, tag),
        }
    }
}

impl Algorithm for GcmSiv {
    const COMPONENTS: bool = false;

    fn key(features: Features, bytes: &[u8]) -> Made<Self> {
        GcmSiv::new(features, bytes)
    }

    fn kernel_name(&self) -> &'static str {
        self.kernel().name
    }

    fn crypt(
        &self,
        direction: Direction,
        nonce: &[u8],
        associated: &[&[u8]],
        data: InOut<'_>,
        tag: &mut [u8; TAG],
    ) -> Made<()> {
        let whole = associated.first().copied().unwrap_or_default();
        match direction {
            Direction::Encrypt => self.seal(nonce, whole, data, tag),
            Direction::Decrypt => self.open(nonce, whole, data, tag),
        }
    }
}

/// The parameters of one such cipher.
pub struct Spec {
    /// The name under which the cipher is counted.
    pub name: &'static str,
}

/// The stage that a message has reached.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    /// Associated data may still come.
    Open,
    /// The data came and the tag was computed, or it was right.
    Done,
    /// The tag was wrong, or the engine refused the message.
    Failed,
}

/// The context behind an `EVP_CIPHER_CTX`.
pub struct SivContext<A> {
    registration: Registration,
    spec: &'static Spec,
    direction: Direction,
    key: Option<Arc<A>>,
    nonce: [u8; NONCE],
    nonce_set: bool,
    associated: Vec<Vec<u8>>,
    tag: [u8; TAG],
    tag_set: bool,
    message: Message,
    count: Count,
}

impl<A> Clone for SivContext<A> {
    fn clone(&self) -> Self {
        SivContext {
            key: self.key.clone(),
            associated: self.associated.clone(),
            count: self.count.clone(),
            ..*self
        }
    }
}

impl<A: Algorithm> SivContext<A> {
    /// Encrypts or decrypts the message.
    fn crypt(&mut self, data: InOut<'_>) -> Result<()> {
        let key = self.key.clone().ok_or(Reason::NO_KEY_SET)?;
        if self.registration.info.iv > 0 && !self.nonce_set {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("set a nonce for each message"));
        }
        if self.message != Message::Open {
            return Err(Reason::CIPHER_OPERATION_FAILED
                .with("the message comes in one update: begin another for what follows"));
        }
        let associated: Vec<&[u8]> = self.associated.iter().map(Vec::as_slice).collect();
        let len = data.len();
        if self.direction == Direction::Decrypt && !self.tag_set {
            return Err(Reason::TAG_NOT_SET);
        }
        if let Err(error) = key.crypt(self.direction, &self.nonce, &associated, data, &mut self.tag) {
            self.message = Message::Failed;
            return Err(error.into());
        }
        self.message = Message::Done;
        self.count.add(len);
        Ok(())
    }

    /// Begins another message. One that has ended has used its nonce and its tag; before that, they may be set in an earlier call
    /// than the key.
    fn begin(&mut self) {
        self.associated.clear();
        if self.message != Message::Open {
            (self.nonce_set, self.tag_set) = (false, false);
        }
        self.message = Message::Open;
    }

    fn set_tag(&mut self, param: &Param<'_>) -> Result<()> {
        if self.direction == Direction::Encrypt {
            return Err(Reason::TAG_NOT_NEEDED);
        }
        self.tag = param.octets()?.try_into().map_err(|_| Reason::INVALID_TAG_LENGTH)?;
        self.tag_set = true;
        Ok(())
    }

    fn get_tag(&self, param: &Param<'_>) -> Result<()> {
        if self.direction == Direction::Decrypt || self.message != Message::Done {
            return Err(Reason::TAG_NOT_SET);
        }
        if param.room() != TAG {
            return Err(Reason::INVALID_TAG_LENGTH);
        }
        param.set_octets(&self.tag)
    }
}

impl<A: Algorithm> Context for SivContext<A> {
    type Spec = Spec;
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"ivlen", UNSIGNED_INTEGER),
        OsslParam::described(c"taglen", UNSIGNED_INTEGER),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"keylen", UNSIGNED_INTEGER),
        OsslParam::described(c"tag", OCTET_STRING),
        OsslParam::described(c"speed", UNSIGNED_INTEGER),
        OsslParam::END,
    ];

    fn new(registration: Registration, spec: &'static Spec) -> Self {
        SivContext {
            registration,
            spec,
            direction: Direction::Encrypt,
            key: None,
            nonce: [0; NONCE],
            nonce_set: false,
            associated: Vec::new(),
            tag: [0; TAG],
            tag_set: false,
            message: Message::Open,
            count: Count::default(),
        }
    }

    fn start(&mut self, direction: Direction, iv: Option<&[u8]>) -> Result<()> {
        self.direction = direction;
        self.begin();
        // AES-SIV has no vector, and as with OpenSSL one that is given does nothing.
        if let Some(iv) = iv.filter(|_| self.registration.info.iv > 0) {
            self.nonce = iv.try_into().map_err(|_| Reason::INVALID_IV_LENGTH)?;
            self.nonce_set = true;
        }
        Ok(())
    }

    fn set_key(&mut self, key: &[u8]) -> Result<()> {
        let Registration { info, provider, rows, .. } = self.registration;
        if key.len() != info.key {
            return Err(Reason::INVALID_KEY_LENGTH);
        }
        let key = A::key(millstream::features()?, key)?;
        self.count.bind(rows.row(provider, Place::InProcess, self.spec.name, key.kernel_name()));
        self.key = Some(Arc::new(key));
        Ok(())
    }

    fn update_len(&self, input: usize) -> Result<usize> {
        Ok(input)
    }

    fn update(&mut self, mut data: Exchange<'_>) -> Result<usize> {
        let data = data.in_out()?;
        let len = data.len();
        self.crypt(data).map(|()| len)
    }

    fn associate(&mut self, data: &[u8]) -> Result<usize> {
        if self.message != Message::Open {
            return Err(Reason::CIPHER_OPERATION_FAILED.with("associated data comes before the message"));
        }
        match self.associated.first_mut() {
            Some(whole) if !A::COMPONENTS => whole.extend_from_slice(data),
            _ => self.associated.push(data.to_vec()),
        }
        Ok(data.len())
    }

    fn finish(&mut self, _out: &mut [u8; LAST]) -> Result<usize> {
        match self.message {
            Message::Done => Ok(0),
            // A message without data is one, too.
            Message::Open => self.crypt(InOut::in_place(&mut [])).map(|()| 0),
            Message::Failed if self.direction == Direction::Decrypt => {
                Err(EngineError::Authentication.into())
            }
            Message::Failed => Err(Reason::CIPHER_OPERATION_FAILED),
        }
    }

    fn cipher(&mut self, data: Exchange<'_>) -> Result<usize> {
        self.update(data)
    }

    fn end(&mut self) -> Result<usize> {
        self.finish(&mut [0; LAST])
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"keylen" => param.set_size(self.registration.info.key)?,
                b"ivlen" => param.set_size(self.registration.info.iv)?,
                b"taglen" => param.set_size(TAG)?,
                b"tag" => self.get_tag(&param)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        for param in params {
            match param.key().to_bytes() {
                b"tag" => self.set_tag(&param)?,
                b"keylen" if param.size()? != self.registration.info.key => {
                    return Err(Reason::INVALID_KEY_LENGTH);
                }
                // Both algorithms need every pass there is, so there is nothing to be gained by asking for speed.
                _ => {}
            }
        }
        Ok(())
    }
}
