//! HPKE, hybrid public-key encryption: a key encapsulation, a key schedule, and an AEAD, for messages to whoever has a private key.
//!
//! [`Suite::seal`] and [`Suite::open`] are for one message. [`Suite::sender`] and [`Suite::receiver`] begin a context, which seals and opens
//! messages in their order, and exports secrets for other purposes. A message can be bound to a pre-shared key, and with a
//! Diffie-Hellman encapsulation to the sender's private key.
//!
//! | file | holds |
//! | --- | --- |
//! | `suite.rs` | the algorithms and their numbers |
//! | `keys.rs` | keys of every encapsulation |
//! | `encapsulate.rs` | the encapsulations |
//! | `derive.rs` | labelled extraction and expansion |
//! | `schedule.rs` | the key schedule |
//! | `context.rs` | messages |
//!
//! Ref. RFC 9180; draft-ietf-hpke-pq-03 (ML-KEM, its hybrids and SHAKE); draft-ietf-hpke-hpke-02 (derivation in one stage).

mod context;
mod derive;
mod encapsulate;
mod keys;
mod schedule;
mod suite;

use zeroize::Zeroizing;

pub use self::context::{Receiver, Sender};
pub use self::keys::{PrivateKey, PublicKey};
pub use self::suite::{Aead, Kdf, Kem, Suite};
use crate::{Error, Random};

const NAME: &str = "hpke";

/// The facts on which both ends of a context must agree, beside the suite and the receiver's key. `K` is the sender's key: the private one where
/// messages are sent, the public one where they are received.
#[derive(Debug)]
pub struct Setup<'a, K> {
    /// The purpose of the context, of any length up to 65,535 bytes.
    pub info: &'a [u8],
    /// A pre-shared key.
    pub psk: Option<Psk<'a>>,
    /// The key that authenticates the sender. Only encapsulations by Diffie-Hellman take one ([`Kem::authenticates`]).
    pub sender: Option<&'a K>,
}

impl<'a, K> Setup<'a, K> {
    /// Returns the setup of mode base: a purpose alone.
    pub const fn base(info: &'a [u8]) -> Self {
        Setup { info, psk: None, sender: None }
    }

    /// Returns the mode's number: RFC 9180 §5, table 1.
    fn mode(&self) -> u8 {
        u8::from(self.psk.is_some()) | u8::from(self.sender.is_some()) << 1
    }
}

/// A pre-shared key and its name.
#[derive(Clone, Copy)]
pub struct Psk<'a> {
    /// The key: 32 bytes at least, because short ones can be guessed (RFC 9180 §5.1.2).
    pub key: &'a [u8],
    /// The name by which both ends know it, of one byte at least.
    pub id: &'a [u8],
}

impl std::fmt::Debug for Psk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a pre-shared key")
    }
}

/// One message for each encapsulation: RFC 9180 §6.1.
impl Suite {
    /// Seals one message for the owner of `peer`. Returns the encapsulated key of [`Kem::encapsulated_len`] bytes, and the message with its tag.
    ///
    /// ```
    /// use millstream_cpu::Features;
    /// use millstream_publickey::hpke::{Aead, Kdf, Kem, PrivateKey, Setup, Suite};
    /// use millstream_publickey::hybrid::Hybrid;
    ///
    /// # struct Source;
    /// # impl millstream_publickey::Random for Source {
    /// #     fn fill(&mut self, bytes: &mut [u8]) -> Result<(), millstream_publickey::Error> {
    /// #         bytes.fill(7);
    /// #         Ok(())
    /// #     }
    /// # }
    /// let kem = Kem::Hybrid(Hybrid::MlKem768X25519);
    /// let suite = Suite::new(kem, Kdf::HkdfSha256, Aead::ChaCha20Poly1305);
    /// let key = PrivateKey::generate(Features::hardware(), kem, &mut Source)?;
    /// let (encapsulated, sealed) = suite.seal(key.public_key(), &Setup::base(b"example"), b"to whom", b"text", &mut Source)?;
    /// assert_eq!(*suite.open(&encapsulated, &key, &Setup::base(b"example"), b"to whom", &sealed)?, b"text");
    /// # Ok::<(), millstream_publickey::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Suite::sender`] and [`Sender::seal`].
    pub fn seal(
        self,
        peer: &PublicKey,
        setup: &Setup<'_, PrivateKey>,
        aad: &[u8],
        plaintext: &[u8],
        random: &mut dyn Random,
    ) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let (encapsulated, mut sender) = self.sender(peer, setup, random)?;
        Ok((encapsulated, sender.seal(aad, plaintext)?))
    }

    /// Opens one message that [`Suite::seal`] made for the owner of `key`.
    ///
    /// # Errors
    /// Those of [`Suite::receiver`] and [`Receiver::open`].
    pub fn open(
        self,
        encapsulated: &[u8],
        key: &PrivateKey,
        setup: &Setup<'_, PublicKey>,
        aad: &[u8],
        ciphertext: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.receiver(encapsulated, key, setup)?.open(aad, ciphertext)
    }
}
