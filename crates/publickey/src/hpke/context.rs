//! Contexts: messages in their order, and exported secrets.
//!
//! Ref. RFC 9180 §5.2 and §5.3.

use std::fmt;

use millstream_cpu::Features;
use millstream_engines::aead::{Aead as _, TAG};
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::gcm::Gcm;
use millstream_engines::{Error as EngineError, InOut};
use zeroize::Zeroizing;

use super::encapsulate::{decapsulate, encapsulate, other_key};
use super::keys::{PrivateKey, PublicKey};
use super::schedule::{NONCE, derive_secrets, export};
use super::suite::{Aead, Suite};
use super::{NAME, Setup};
use crate::{Error, Random};

impl Suite {
    /// Begins a context with the owner of `peer`. Returns the encapsulated key of [`Kem::encapsulated_len`](super::Kem::encapsulated_len)
    /// bytes, which the receiver needs, and the context.
    ///
    /// # Errors
    /// [`Error::Encoding`] for a key of another encapsulation, or a sender's key where the encapsulation takes none; [`Error::Length`] for a
    /// pre-shared key that is too short or has no name; those of the encapsulation, and of `random`.
    pub fn sender(
        self,
        peer: &PublicKey,
        setup: &Setup<'_, PrivateKey>,
        random: &mut dyn Random,
    ) -> Result<(Vec<u8>, Sender), Error> {
        self.takes(peer)?;
        setup.sender.map_or(Ok(()), |sender| self.takes(sender.public_key()))?;
        let (encapsulated, shared) = encapsulate(peer, setup.sender, random)?;
        Ok((encapsulated, Sender(Context::new(peer.features, self, &shared, setup)?)))
    }

    /// Begins the receiver's side of a context.
    ///
    /// # Errors
    /// As [`Suite::sender`], and those of the encapsulation for bytes that are no encapsulated key. For ML-KEM and the hybrids' part of
    /// it a changed key is no error: what was sealed then does not open.
    pub fn receiver(
        self,
        encapsulated: &[u8],
        key: &PrivateKey,
        setup: &Setup<'_, PublicKey>,
    ) -> Result<Receiver, Error> {
        self.takes(key.public_key())?;
        setup.sender.map_or(Ok(()), |sender| self.takes(sender))?;
        let shared = decapsulate(encapsulated, key, setup.sender)?;
        Ok(Receiver(Context::new(key.features, self, &shared, setup)?))
    }

    fn takes(self, key: &PublicKey) -> Result<(), Error> {
        if key.kem() == self.kem { Ok(()) } else { Err(other_key()) }
    }
}

/// The sender's side of a context.
pub struct Sender(Context);

impl Sender {
    /// Seals the next message: its ciphertext, then the tag of 16 bytes.
    ///
    /// # Errors
    /// [`Error::Encoding`] if the suite only exports; [`Error::Message`] for a message that is too long for its cipher, and after 2^64 - 1
    /// messages.
    pub fn seal(&mut self, aad: &[u8], plaintext: &[u8]) -> Result<Vec<u8>, Error> {
        let mut sealed = Vec::with_capacity(plaintext.len() + TAG);
        sealed.extend_from_slice(plaintext);
        let nonce = self.0.nonce()?;
        let tag = self.0.cipher.seal(&nonce, aad, &mut sealed)?;
        self.0.sequence += 1;
        sealed.extend(tag);
        Ok(sealed)
    }

    /// Fills `out` with a secret that both sides have, for the purpose that `context` names.
    ///
    /// # Errors
    /// [`Error::Length`] for more than 255 digests of HKDF, or 65,535 bytes of SHAKE.
    pub fn export(&self, context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.0.export(context, out)
    }
}

/// The receiver's side of a context.
pub struct Receiver(Context);

impl Receiver {
    /// Opens the next message. One that does not open leaves the context as it was.
    ///
    /// # Errors
    /// [`Error::Authentication`] if the message, its place, its associated data or the setup is another than the sender's; [`Error::Encoding`]
    /// if the suite only exports.
    pub fn open(&mut self, aad: &[u8], ciphertext: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (data, tag) = ciphertext.split_last_chunk().ok_or(Error::Authentication)?;
        let mut opened = Zeroizing::new(data.to_vec());
        let nonce = self.0.nonce()?;
        self.0.cipher.open(&nonce, aad, &mut opened, tag)?;
        self.0.sequence += 1;
        Ok(opened)
    }

    /// Fills `out` with a secret that both sides have, for the purpose that `context` names.
    ///
    /// # Errors
    /// As [`Sender::export`].
    pub fn export(&self, context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        self.0.export(context, out)
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the sender's context of {:?}", self.0.suite)
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the receiver's context of {:?}", self.0.suite)
    }
}

/// The state that both sides have.
struct Context {
    features: Features,
    suite: Suite,
    cipher: Cipher,
    base_nonce: [u8; NONCE],
    exporter: Zeroizing<Vec<u8>>,
    /// Messages so far.
    sequence: u64,
}

impl Context {
    fn new<K>(features: Features, suite: Suite, shared: &[u8], setup: &Setup<'_, K>) -> Result<Self, Error> {
        let secrets = derive_secrets(features, suite, shared, setup)?;
        let cipher = Cipher::new(features, suite.aead, &secrets.key)?;
        let (base_nonce, exporter) = (secrets.base_nonce, secrets.exporter);
        Ok(Context { features, suite, cipher, base_nonce, exporter, sequence: 0 })
    }

    /// Returns the nonce of the next message: RFC 9180 §5.2, ComputeNonce.
    fn nonce(&self) -> Result<[u8; NONCE], Error> {
        // The last number is kept free, so that the next one can always be counted.
        if self.sequence == u64::MAX {
            return Err(Error::Message);
        }
        let mut nonce = self.base_nonce;
        let counted = nonce[NONCE - 8..].iter_mut().zip(self.sequence.to_be_bytes());
        counted.for_each(|(byte, counter)| *byte ^= counter);
        Ok(nonce)
    }

    fn export(&self, context: &[u8], out: &mut [u8]) -> Result<(), Error> {
        export(self.features, self.suite, &self.exporter, context, out)
    }
}

/// The cipher of a context with its key.
enum Cipher {
    Gcm(Box<Gcm>),
    ChaCha20Poly1305(ChaCha20Poly1305),
    ExportOnly,
}

impl Cipher {
    fn new(features: Features, aead: Aead, key: &[u8]) -> Result<Self, Error> {
        Ok(match aead {
            Aead::Aes128Gcm | Aead::Aes256Gcm => {
                Cipher::Gcm(Box::new(Gcm::new(features, key).map_err(refusal)?))
            }
            Aead::ChaCha20Poly1305 => {
                Cipher::ChaCha20Poly1305(ChaCha20Poly1305::new(features, key).map_err(refusal)?)
            }
            Aead::ExportOnly => Cipher::ExportOnly,
        })
    }

    fn seal(&self, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8]) -> Result<[u8; TAG], Error> {
        let mut tag = [0; TAG];
        let sealed = match self {
            Cipher::Gcm(key) => key.seal(nonce, aad, InOut::in_place(data), &mut tag),
            Cipher::ChaCha20Poly1305(key) => key.seal(nonce, aad, InOut::in_place(data), &mut tag),
            Cipher::ExportOnly => return Err(only_exports()),
        };
        sealed.map(|()| tag).map_err(refusal)
    }

    fn open(&self, nonce: &[u8; NONCE], aad: &[u8], data: &mut [u8], tag: &[u8; TAG]) -> Result<(), Error> {
        let opened = match self {
            Cipher::Gcm(key) => key.open(nonce, aad, InOut::in_place(data), tag),
            Cipher::ChaCha20Poly1305(key) => key.open(nonce, aad, InOut::in_place(data), tag),
            Cipher::ExportOnly => return Err(only_exports()),
        };
        opened.map_err(refusal)
    }
}

fn only_exports() -> Error {
    Error::Encoding { algorithm: NAME, what: "a message of a suite that only exports" }
}

fn refusal(error: EngineError) -> Error {
    match error {
        EngineError::Authentication => Error::Authentication,
        _ => Error::Message,
    }
}
