//! Requests with key pairs: signatures, agreed secrets, public keys.

use millstream_accelerator::{DecryptionScheme, SignatureScheme, given_by, is_long_result};
use millstream_cwq::{Algorithm, ControlWord, Opcode};

use super::{Request, RequestKey};
use crate::heap::Buffer;
use crate::publickey::mlkem::SECRET;

impl<'a> Request<'a> {
    /// Signs `source`, which has at most 64 KiB, with a private key: [`Done::tag`](crate::queue::Done::tag).
    ///
    /// ```
    /// use millstream::cwq::Algorithm;
    /// use millstream::publickey::ed25519::PublicKey;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let features = millstream::features()?;
    /// let mut queue = Queue::inline(features, Config::default())?;
    /// let key = queue.import_key(Algorithm::Ed25519, &[7; 32])?;
    /// queue.submit(Request::public_key(key))?;
    /// let public = PublicKey::new(features, queue.wait().unwrap().tag())?;
    /// let mut message = queue.buffer(5)?;
    /// message.copy_from_slice(b"hello");
    /// queue.submit(Request::sign(key, message))?;
    /// public.verify(b"hello", queue.wait().unwrap().tag())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign(key: impl Into<RequestKey<'a>>, source: Buffer) -> Self {
        Request::sign_with(key, SignatureScheme::Ed25519, source)
    }

    /// Signs `source`, the digest of a message, by a scheme: [`Done::tag`](crate::queue::Done::tag). Keys of RSA have [`Request::sign_rsa`], and those
    /// of ML-DSA and SLH-DSA [`Request::sign_ml_dsa`] and [`Request::sign_slh_dsa`].
    ///
    /// ```
    /// use millstream::SignatureScheme;
    /// use millstream::cwq::Algorithm;
    /// use millstream::hash::Hash;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let key = queue.import_key(Algorithm::P256, &[7; 32])?;
    /// let mut digest = queue.buffer(32)?;
    /// digest.fill(9);
    /// let scheme = SignatureScheme::Ecdsa { hash: Hash::Sha256, deterministic: false };
    /// queue.submit(Request::sign_with(key, scheme, digest))?;
    /// let done = queue.wait().unwrap();
    /// let signature = done.tag().to_vec();
    /// assert_eq!(signature.len(), 64);
    ///
    /// queue.submit(Request::public_key(key))?;
    /// let public = queue.wait().unwrap().tag().to_vec();
    /// let digest = done.buffers.source.unwrap();
    /// queue.submit(Request::verify_signature(Algorithm::P256, &public, scheme, digest, &signature))?;
    /// queue.wait().unwrap().check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_with(key: impl Into<RequestKey<'a>>, scheme: SignatureScheme, source: Buffer) -> Self {
        let mut request = Request::of_pair(Opcode::Sign, key.into(), Some(source));
        scheme.write_to(&mut request.word);
        request
    }

    /// Signs `digest` with RSA to the front of `signature`, which has at least as many bytes as the modulus:
    /// [`Done::value`](crate::queue::Done::value) is the signature's length.
    pub fn sign_rsa(
        key: impl Into<RequestKey<'a>>,
        scheme: SignatureScheme,
        digest: Buffer,
        signature: Buffer,
    ) -> Self {
        Request::sign_with(key, scheme, digest).answered_in(signature)
    }

    /// Signs `source` with ML-DSA, within a context of 0 to 255 bytes, to the front of `signature`, which has at least 2420, 3309 or 4627 bytes by the
    /// parameter set: [`Done::value`](crate::queue::Done::value) is the signature's length. The scheme says what `source` is
    /// ([`MlDsaInput`](crate::MlDsaInput)): a message of at most 64 KiB, a digest, or a longer message's representative.
    ///
    /// ```
    /// use millstream::cwq::Algorithm;
    /// use millstream::queue::{Config, Queue, Request};
    /// use millstream::{MlDsaInput, SignatureScheme};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// // The key is kept expanded, in a slot. It was made of a seed.
    /// let key = queue.import_key(Algorithm::MlDsa65, &[7; 32])?;
    /// let scheme = SignatureScheme::MlDsa { input: MlDsaInput::Message, deterministic: false };
    /// let mut message = queue.buffer(5)?;
    /// message.copy_from_slice(b"hello");
    /// queue.submit(Request::sign_ml_dsa(key, scheme, b"a context", message, queue.buffer(3309)?))?;
    /// let done = queue.wait().unwrap();
    /// done.check()?;
    /// let (message, signature) = (done.buffers.source.unwrap(), done.buffers.destination.unwrap());
    ///
    /// queue.submit(Request::public_key_to(key, queue.buffer(1952)?))?;
    /// let public = queue.wait().unwrap().buffers.destination.unwrap();
    /// let verify = Request::verify_signature(Algorithm::MlDsa65, &public, scheme, message, &signature);
    /// queue.submit(verify.within(b"a context"))?;
    /// queue.wait().unwrap().check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_ml_dsa(
        key: impl Into<RequestKey<'a>>,
        scheme: SignatureScheme,
        context: &'a [u8],
        source: Buffer,
        signature: Buffer,
    ) -> Self {
        Request::sign_with(key, scheme, source).answered_in(signature).within(context)
    }

    /// Signs `source` with SLH-DSA, within a context of 0 to 255 bytes, to the front of `signature`, which has at least 7856 to 49,856 bytes by the parameter
    /// set: [`Done::value`](crate::queue::Done::value) is the signature's length. The scheme says whether `source` is a message of at most 64 KiB, or a digest. A
    /// signature takes milliseconds with the sets `f`, and some twenty times as long with the sets `s`; other words of the queue wait behind it.
    ///
    /// ```
    /// use millstream::SignatureScheme;
    /// use millstream::cwq::Algorithm;
    /// use millstream::publickey::slhdsa::{PrivateKey, Set};
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let (features, set) = (millstream::features()?, Set::Sha2_128f);
    /// let mut queue = Queue::inline(features, Config::default())?;
    /// let private = PrivateKey::from_seeds(features, set, &[7; 48])?;
    /// let key = queue.import_key(Algorithm::SlhDsaSha2_128f, &private.to_bytes())?;
    /// let scheme = SignatureScheme::SlhDsa { digest: None, deterministic: false };
    /// let mut message = queue.buffer(5)?;
    /// message.copy_from_slice(b"hello");
    /// let place = queue.buffer(set.signature_len())?;
    /// queue.submit(Request::sign_slh_dsa(key, scheme, b"a context", message, place))?;
    /// let done = queue.wait().unwrap();
    /// done.check()?;
    /// let (message, signature) = (done.buffers.source.unwrap(), done.buffers.destination.unwrap());
    ///
    /// queue.submit(Request::public_key(key))?;
    /// let public = queue.wait().unwrap().tag().to_vec();
    /// let verify = Request::verify_signature(Algorithm::SlhDsaSha2_128f, &public, scheme, message, &signature);
    /// queue.submit(verify.within(b"a context"))?;
    /// queue.wait().unwrap().check()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sign_slh_dsa(
        key: impl Into<RequestKey<'a>>,
        scheme: SignatureScheme,
        context: &'a [u8],
        source: Buffer,
        signature: Buffer,
    ) -> Self {
        Request::sign_with(key, scheme, source).answered_in(signature).within(context)
    }

    /// Sets the context of a signature of ML-DSA (FIPS 204 §5.2) or SLH-DSA (FIPS 205 §10.2), which has 0 to 255 bytes.
    pub fn within(self, context: &'a [u8]) -> Self {
        self.with_iv(context)
    }

    /// Makes a shared secret of 32 random bytes for the owner of a public key of ML-KEM (FIPS 203 §7.2), which goes with the request:
    /// [`Done::tag`](crate::queue::Done::tag). The ciphertext, from which the owner gets it, goes to the front of `ciphertext`, which has at least 768, 1088 or 1568
    /// bytes by the parameter set: [`Done::value`](crate::queue::Done::value) is its length. A key in which a number is not below q ends with
    /// [`Status::Peer`](millstream_cwq::Status::Peer).
    ///
    /// ```
    /// use millstream::cwq::Algorithm;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// // The owner's key, kept expanded in a slot, was made of a seed.
    /// let key = queue.import_key(Algorithm::MlKem768, &[7; 64])?;
    /// queue.submit(Request::public_key_to(key, queue.buffer(1184)?))?;
    /// let public = queue.wait().unwrap().buffers.destination.unwrap();
    ///
    /// queue.submit(Request::encapsulate(Algorithm::MlKem768, &public, queue.buffer(1088)?))?;
    /// let sent = queue.wait().unwrap();
    /// let secret = sent.tag().to_vec();
    /// let ciphertext = sent.buffers.destination.unwrap();
    /// queue.submit(Request::decapsulate(key, ciphertext))?;
    /// assert_eq!(queue.wait().unwrap().tag(), secret);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encapsulate(algorithm: Algorithm, public: &'a [u8], ciphertext: Buffer) -> Self {
        let key = RequestKey::Carried(algorithm, public);
        let mut request = Request::of_pair(Opcode::Encapsulate, key, None).answered_in(ciphertext);
        request.word.mac_len = SECRET as u8;
        request
    }

    /// Gets the shared secret from a ciphertext with a private key of ML-KEM (FIPS 203 §7.3): [`Done::tag`](crate::queue::Done::tag). A ciphertext that was
    /// not made for the key gives a secret that nobody else knows, and no error.
    pub fn decapsulate(key: impl Into<RequestKey<'a>>, ciphertext: Buffer) -> Self {
        Request::of_pair(Opcode::Decapsulate, key.into(), Some(ciphertext))
    }

    /// Decrypts `ciphertext` with RSA to the front of `message`, which has at least as many bytes as the modulus:
    /// [`Done::value`](crate::queue::Done::value) is the message's length.
    pub fn decrypt_rsa(
        key: impl Into<RequestKey<'a>>,
        scheme: DecryptionScheme<'a>,
        ciphertext: Buffer,
        message: Buffer,
    ) -> Self {
        let mut request =
            Request::of_pair(Opcode::Decrypt, key.into(), Some(ciphertext)).answered_in(message);
        scheme.write_to(&mut request.word);
        request.parameters.aad = scheme.label();
        request
    }

    /// Verifies a signature over `source`: a message under Ed25519, ML-DSA and SLH-DSA ([`Request::within`] sets its context), else its digest. The public key, as [`VerifyingKey::new`](millstream_accelerator::VerifyingKey::new) takes it, goes with the
    /// request. A signature that does not verify ends with [`Status::Authentication`](millstream_cwq::Status::Authentication).
    pub fn verify_signature(
        algorithm: Algorithm,
        public: &'a [u8],
        scheme: SignatureScheme,
        source: Buffer,
        signature: &'a [u8],
    ) -> Self {
        let key = RequestKey::Carried(algorithm, public);
        let mut request = Request::of_pair(Opcode::Verify, key, Some(source));
        scheme.write_to(&mut request.word);
        request.parameters.aad = signature;
        request
    }

    /// Agrees with the peer whose public key is `peer` on a secret: [`Done::tag`](crate::queue::Done::tag). On P-256, P-384 and P-521 `peer` is a point
    /// (SEC 1 §2.3.3), compressed or not.
    pub fn agree(key: impl Into<RequestKey<'a>>, peer: Buffer) -> Self {
        Request::of_pair(Opcode::Agree, key.into(), Some(peer))
    }

    /// Computes the public key that belongs to a private one: [`Done::tag`](crate::queue::Done::tag). Keys of RSA, ML-KEM and ML-DSA have
    /// [`Request::public_key_to`].
    pub fn public_key(key: impl Into<RequestKey<'a>>) -> Self {
        Request::of_pair(Opcode::PublicKey, key.into(), None)
    }

    /// Writes the public key that belongs to a private one of RSA, as DER of an `RSAPublicKey` (RFC 8017 appendix A.1.1), to the front of
    /// `public`, which has at least [`MAX_PUBLIC_DER`](millstream_publickey::rsa::MAX_PUBLIC_DER) bytes: [`Done::value`](crate::queue::Done::value) is its
    /// length.
    pub fn public_key_rsa(key: impl Into<RequestKey<'a>>, public: Buffer) -> Self {
        Request::public_key_to(key, public)
    }

    /// Writes the public key that belongs to a private one to the front of `public`, for keys whose public one is too long for a tag: that of RSA as
    /// [`Request::public_key_rsa`] says, of ML-KEM 800, 1184 or 1568 bytes (FIPS 203 §7.1), of ML-DSA 1312, 1952 or 2592 (FIPS 204 §7.2).
    /// [`Done::value`](crate::queue::Done::value) is its length.
    pub fn public_key_to(key: impl Into<RequestKey<'a>>, public: Buffer) -> Self {
        Request::public_key(key).answered_in(public)
    }

    /// An operation with a key pair, whose result is a tag unless it is too long for one.
    fn of_pair(opcode: Opcode, key: RequestKey<'a>, source: Option<Buffer>) -> Self {
        let mut request = Request::new(opcode, source, None).keyed(key);
        let algorithm = key.algorithm();
        request.word.mac_len =
            if is_long_result(algorithm, opcode) { 0 } else { given_by(algorithm, opcode) as u8 };
        request
    }

    /// The result goes to a buffer of its own, whatever the length of the source.
    fn answered_in(mut self, destination: Buffer) -> Self {
        // No result is as long as the most that the field can tell, and a word with more is refused.
        self.word.mac_key_len = destination.len().min(ControlWord::MOST_RESULT_BYTES.into()) as u16;
        self.word.mac_len = 0;
        self.buffers.destination = Some(destination);
        self
    }
}
