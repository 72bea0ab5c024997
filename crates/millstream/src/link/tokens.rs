//! Tokens, over the socket for keys.

use std::time::Duration;

use millstream_accelerator::Handle;
use millstream_protocol::{Attributes, KeyRefusal, KeyReply, KeyRequest, Message};

use super::Link;
use crate::Error;
use crate::cwq::Algorithm;
use crate::key::KeyHandle;

/// The time that a service may take about tokens at least, whatever the limit is: it tries PINs one after another, each on purpose at great
/// cost, and makes keys of RSA. Others may be in front.
const LIMIT: Duration = Duration::from_secs(60);

impl Link {
    /// Asks about tokens, and asks again where others are in front, until the limit.
    fn ask_about_tokens(&self, request: &KeyRequest) -> Result<KeyReply, Error> {
        self.ask_patiently(request, self.limit.max(LIMIT))
    }

    /// Returns the session of a token that was opened.
    pub(crate) fn open_token(&self, request: &KeyRequest) -> Result<u32, Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Opened { session } => Ok(session),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Closes a token without waiting. What the worker does not take now ends with the grant.
    pub(crate) fn close_token(&self, session: u32) {
        if self.refusal().is_none() {
            let _ = self.keys.try_send(&KeyRequest::CloseToken { session }.encode(), &[]);
        }
    }

    /// Returns the serial number of a token that was made.
    pub(crate) fn make_token(&self, request: &KeyRequest) -> Result<u128, Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Made { token } => Ok(token),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Returns the key that was made of an object.
    pub(crate) fn load_object(&self, algorithm: Algorithm, request: &KeyRequest) -> Result<KeyHandle, Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Key { handle } => Ok(KeyHandle { handle: Handle::from_bits(handle), algorithm }),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Returns the object that was made, changed or looked at.
    /// The number of changes of its token comes along.
    pub(crate) fn object(&self, request: &KeyRequest) -> Result<(u128, Attributes, u64), Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Object { object, attributes, changes } => match Attributes::decode(&attributes) {
                Ok(attributes) => Ok((object, attributes, changes)),
                Err(_) => Err(Error::Key(KeyRefusal::Forged)),
            },
            other => Err(self.unexpected(&other)),
        }
    }

    /// Returns the key of an object that may leave its token.
    pub(crate) fn exported_object(&self, request: &KeyRequest) -> Result<zeroize::Zeroizing<Vec<u8>>, Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Exported { bytes } => Ok(zeroize::Zeroizing::new(bytes.expose().to_vec())),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Has something changed or removed, and returns the number of changes of the token.
    pub(crate) fn change_token(&self, request: &KeyRequest) -> Result<u64, Error> {
        match self.ask_about_tokens(request)? {
            KeyReply::Changed { changes } => Ok(changes),
            other => Err(self.unexpected(&other)),
        }
    }
}
