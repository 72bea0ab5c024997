//! Private keys in the service: signatures, agreements, decryption, and keys that are kept wrapped.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use millstream_accelerator::{DecryptionScheme, SignatureScheme, given_by, is_long_result};
use millstream_publickey::rsa::MAX_PUBLIC_DER;
use zeroize::Zeroizing;

use super::{Result, ServiceKey, ServiceKeyError, UsageRange};
use crate::Error;
use crate::cwq::{Algorithm, ControlWord, Opcode, Status, Usages};
use crate::isolated::grants::Grant;
use crate::isolated::{Attach, Grants};
use crate::queue::{Done, Pending, Refusal, Request};

/// Returns the bytes of the place for a long result: of RSA as many as the longest has.
fn room(algorithm: Algorithm, opcode: Opcode) -> usize {
    (given_by(algorithm, opcode) as usize).max(if algorithm == Algorithm::Rsa { MAX_PUBLIC_DER } else { 0 })
}

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

    /// Signs the digest of a message with a private key by a scheme; under [`SignatureScheme::Ed25519`] the message itself, and under
    /// [`SignatureScheme::MlDsa`] and [`SignatureScheme::SlhDsa`] what they say, without a context.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Status::Parameter`] for a scheme of other keys, [`Status::DataLength`] for a digest that the scheme does not take.
    pub fn sign_with(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<Vec<u8>> {
        self.sign_within(scheme, &[], digest)
    }

    /// Signs with ML-DSA or SLH-DSA within a context of 0 to 255 bytes (FIPS 204 §5.2 and §5.4, FIPS 205 §10.2), else as [`ServiceKey::sign_with`].
    ///
    /// # Errors
    /// Those of [`ServiceKey::sign_with`]; [`Status::Parameter`] for a context beside a representative, [`Status::Reserved`] for one of
    /// another algorithm, and [`Refusal::TooLong`] for more than 255 bytes.
    pub fn sign_within(&self, scheme: SignatureScheme, context: &[u8], message: &[u8]) -> Result<Vec<u8>> {
        let (request, is_long) = self.signature(scheme, context, message)?;
        if !is_long {
            return Ok(self.run(request)?.tag().to_vec());
        }
        let mut signature = self.long(request)?;
        Ok(std::mem::take(&mut *signature))
    }

    /// Returns the request of a signature, and true if that has a place of its own.
    fn signature<'r>(
        &self,
        scheme: SignatureScheme,
        context: &'r [u8],
        message: &[u8],
    ) -> Result<(Request<'r>, bool)> {
        if message.len() > ControlWord::MOST_SIGNED_BYTES as usize {
            return Err(ServiceKeyError::TooLong { given: message.len() });
        }
        let (source, algorithm) = (self.to_sign(message)?, self.algorithm());
        if !is_long_result(algorithm, Opcode::Sign) {
            return Ok((Request::sign_with(self.handle, scheme, source).within(context), false));
        }
        let place = self.grant.buffer(room(algorithm, Opcode::Sign))?;
        Ok((Request::sign_rsa(self.handle, scheme, source, place).within(context), true))
    }

    /// Puts a signature in flight, as [`ServiceKey::sign_with`] makes it, for its end to be awaited: several at a time are computed side by side.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Refusal::Full`] as [`Error::Queue`] when as many operations are in flight as the queue takes.
    pub fn begin_signature(&self, scheme: SignatureScheme, digest: &[u8]) -> Result<BegunSignature> {
        self.begin_signature_within(scheme, &[], digest)
    }

    /// Puts a signature within a context in flight, as [`ServiceKey::sign_within`] makes it.
    ///
    /// # Errors
    /// Those of [`ServiceKey::begin_signature`], and of [`ServiceKey::sign_within`] for the context.
    pub fn begin_signature_within(
        &self,
        scheme: SignatureScheme,
        context: &[u8],
        message: &[u8],
    ) -> Result<BegunSignature> {
        let (request, is_long) = self.signature(scheme, context, message)?;
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
        let place = self.grant.buffer(room(Algorithm::Rsa, Opcode::Decrypt))?;
        self.long(Request::decrypt_rsa(self.handle, scheme, source, place))
    }

    /// Executes an operation with a long result, and returns that.
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

    /// Gets the shared secret of 32 bytes from a ciphertext with a private key of ML-KEM (FIPS 203 §7.3). A ciphertext that was not made for the
    /// key gives a secret that nobody else knows, and no error.
    ///
    /// # Errors
    /// [`ServiceKeyError`]; [`Status::DataLength`] for a ciphertext of another length.
    pub fn decapsulate(&self, ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        self.check(Usages::DERIVE)?;
        let source = self.filled(ciphertext)?;
        Ok(Zeroizing::new(self.run(Request::decapsulate(self.handle, source))?.tag().to_vec()))
    }

    /// Returns the public key that belongs to a private one: 32 bytes of Curve25519, a point of another curve (SEC 1 §2.3.3, uncompressed), the DER of an
    /// `RSAPublicKey` (RFC 8017 appendix A.1.1), or the encoding of ML-KEM (FIPS 203 §7.1), ML-DSA (FIPS 204 §7.2) or SLH-DSA
    /// (FIPS 205 §9.1).
    ///
    /// # Errors
    /// [`ServiceKeyError`].
    pub fn public_key(&self) -> Result<Vec<u8>> {
        self.check(Usages::NONE)?;
        if is_long_result(self.algorithm(), Opcode::PublicKey) {
            let place = self.grant.buffer(room(self.algorithm(), Opcode::PublicKey))?;
            let mut public = self.long(Request::public_key_to(self.handle, place))?;
            return Ok(std::mem::take(&mut *public));
        }
        Ok(self.run(Request::public_key(self.handle))?.tag().to_vec())
    }
}

/// Returns the result that an operation left in its place.
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
