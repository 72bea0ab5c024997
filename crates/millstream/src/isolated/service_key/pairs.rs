//! Private keys in the service: signatures, agreements, decryption, and keys that are kept wrapped.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use millstream_accelerator::{DecryptionScheme, SignatureScheme};
use millstream_publickey::rsa::MAX_PUBLIC_DER;
use zeroize::Zeroizing;

use super::{Result, ServiceKey, ServiceKeyError, UsageRange};
use crate::Error;
use crate::cwq::{Algorithm, ControlWord, Status, Usages};
use crate::isolated::grants::Grant;
use crate::isolated::{Attach, Grants};
use crate::queue::{Done, Pending, Refusal, Request};

/// Bytes of the place for a result of RSA, at least as many as the longest has.
const LONG_RESULT: usize = MAX_PUBLIC_DER;

impl ServiceKey {
    /// Brings a key to the service, and returns it once more in a form from which [`ServiceKey::unwrap`] makes it again: in a forked child,
    /// or after the grant has ended. That form tells nothing of the key, but lets whoever has a grant of the same service use it.
    ///
    /// # Errors
    /// As [`ServiceKey::import`].
    pub fn import_wrapped(
        grants: &'static Grants,
        options: &Attach,
        algorithm: Algorithm,
        key: &[u8],
        usages: impl Into<UsageRange>,
    ) -> std::result::Result<(Self, Vec<u8>), Error> {
        let options = options.for_key(algorithm);
        let wrapped = Cell::new(Vec::new());
        let made = ServiceKey::make(grants, &options, key.len(), usages.into(), |accelerator, options| {
            wrapped.set(accelerator.wrap_key(algorithm, key, options)?);
            accelerator.import_key_with(algorithm, key, options)
        });
        Ok((made?, wrapped.take()))
    }

    /// Makes a key from the form that [`ServiceKey::import_wrapped`] returned, in any process with a grant, as long as the service runs.
    ///
    /// # Errors
    /// As [`ServiceKey::import`]; [`KeyRefusal::Wrapped`](crate::isolated::KeyRefusal::Wrapped) where another service wrapped it, or the same one before it was started again.
    pub fn unwrap(
        grants: &'static Grants,
        options: &Attach,
        algorithm: Algorithm,
        wrapped: &[u8],
        usages: impl Into<UsageRange>,
    ) -> std::result::Result<Self, Error> {
        let options = options.for_key(algorithm);
        ServiceKey::make(grants, &options, wrapped.len(), usages.into(), |accelerator, options| {
            accelerator.unwrap_key(algorithm, wrapped, options)
        })
    }

    /// Signs a message with a private key. Private keys are in grants of their own, whatever the options say, so that no
    /// signature stands in the way of other keys.
    ///
    /// # Errors
    /// [`ServiceKeyError::TooLong`] for a message of more than 64 KiB; [`ServiceKeyError`].
    pub fn sign(&self, message: &[u8]) -> Result<Vec<u8>> {
        if message.len() > ControlWord::MOST_SIGNED_BYTES as usize {
            return Err(ServiceKeyError::TooLong { given: message.len() });
        }
        let source = self.to_sign(message)?;
        Ok(self.run(Request::sign(self.handle, source))?.tag().to_vec())
    }

    /// Signs the digest of a message with a private key by a scheme; under [`SignatureScheme::Ed25519`] the message itself.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Status::Parameter`] for a scheme of other keys, [`Status::DataLength`] for a digest that the scheme does not take.
    pub fn sign_with(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<Vec<u8>> {
        if digest.len() > ControlWord::MOST_SIGNED_BYTES as usize {
            return Err(ServiceKeyError::TooLong { given: digest.len() });
        }
        let source = self.to_sign(digest)?;
        if self.algorithm() != Algorithm::Rsa {
            return Ok(self.run(Request::sign_with(self.handle, scheme, source))?.tag().to_vec());
        }
        let place = self.grant.buffer(LONG_RESULT)?;
        let mut signature = self.long(Request::sign_rsa(self.handle, scheme, source, place))?;
        Ok(std::mem::take(&mut *signature))
    }

    /// Puts a signature in flight, as [`ServiceKey::sign_with`] makes it, for its end to be awaited: several at a time are computed side by side.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Refusal::Full`] as [`Error::Queue`] when as many operations are in flight as the queue takes.
    pub fn begin_signature(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<BegunSignature> {
        if digest.len() > ControlWord::MOST_SIGNED_BYTES as usize {
            return Err(ServiceKeyError::TooLong { given: digest.len() });
        }
        let (source, is_long) = (self.to_sign(digest)?, self.algorithm() == Algorithm::Rsa);
        let request = match is_long {
            true => Request::sign_rsa(self.handle, scheme, source, self.grant.buffer(LONG_RESULT)?),
            false => Request::sign_with(self.handle, scheme, source),
        };
        Ok(BegunSignature { grant: Arc::clone(&self.grant), pending: self.grant.begin(request)?, is_long })
    }

    /// Decrypts with a private key of RSA.
    ///
    /// # Errors
    /// [`ServiceKeyError::Authentication`] for OAEP that is wrong in whatever way; [`ServiceKeyError`].
    pub fn decrypt(&self, scheme: DecryptionScheme<'_>, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        self.check(Usages::DECRYPT)?;
        let mut source = self.grant.buffer(ciphertext.len())?;
        source.copy_from_slice(ciphertext);
        let place = self.grant.buffer(LONG_RESULT)?;
        self.long(Request::decrypt_rsa(self.handle, scheme, source, place))
    }

    /// Executes an operation of RSA, and returns its result.
    fn long(&self, request: Request<'_>) -> Result<Zeroizing<Vec<u8>>> {
        match self.run(request) {
            Err(ServiceKeyError::Failed(Error::Operation(Status::Authentication))) => {
                Err(ServiceKeyError::Authentication)
            }
            done => long_result(&done?),
        }
    }

    /// Agrees with the peer whose public key is `peer` on a secret, with a private key.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Status::Peer`] for a public key with which everybody agrees on the same secret.
    pub fn agree(&self, peer: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        self.check(Usages::DERIVE)?;
        let mut source = self.grant.buffer(peer.len())?;
        source.copy_from_slice(peer);
        Ok(Zeroizing::new(self.run(Request::agree(self.handle, source))?.tag().to_vec()))
    }

    /// Returns the public key that belongs to a private one: 32 bytes of Curve25519, a point of another curve (SEC 1 §2.3.3, uncompressed), or the DER of an
    /// `RSAPublicKey` (RFC 8017 appendix A.1.1).
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn public_key(&self) -> Result<Vec<u8>> {
        self.check(Usages::NONE)?;
        if self.algorithm() == Algorithm::Rsa {
            let place = self.grant.buffer(LONG_RESULT)?;
            let mut public = self.long(Request::public_key_rsa(self.handle, place))?;
            return Ok(std::mem::take(&mut *public));
        }
        Ok(self.run(Request::public_key(self.handle))?.tag().to_vec())
    }
}

/// Returns the result that an operation of RSA left in its place.
fn long_result(done: &Done) -> Result<Zeroizing<Vec<u8>>> {
    let place = done.buffers.destination.as_deref().ok_or(Refusal::Gone)?;
    let result = place.get(..done.value as usize).ok_or(Refusal::Gone)?;
    Ok(Zeroizing::new(result.to_vec()))
}

/// A signature in flight. If this is dropped, nobody gets it.
pub struct BegunSignature {
    grant: Arc<Grant>,
    pending: Pending,
    is_long: bool,
}

impl BegunSignature {
    /// Waits for the signature.
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn wait(self) -> Result<Vec<u8>> {
        if !self.grant.is_ours() {
            return Err(ServiceKeyError::Forked);
        }
        let done = self.pending.wait();
        done.result.map_err(Error::from)?;
        if self.is_long { Ok(std::mem::take(&mut *long_result(&done)?)) } else { Ok(done.tag().to_vec()) }
    }
}

impl fmt::Debug for BegunSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BegunSignature").finish_non_exhaustive()
    }
}
