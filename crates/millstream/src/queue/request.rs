//! The requests that a queue takes.

use std::fmt;

use millstream_accelerator::{
    Checksum, DecryptionScheme, SignatureScheme, algorithm_of, given_by, hash_of, is_long_result,
};
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode};

use super::buffers::{Buffers, Cold};
use crate::hash::Hash;
use crate::heap::Buffer;
use crate::key::KeyHandle;
use crate::publickey::mlkem::SECRET;

/// The key of a request.
#[derive(Clone, Copy)]
pub enum RequestKey<'a> {
    /// One that was imported before.
    Slot(KeyHandle),
    /// One that goes with the request and is forgotten after it: the control word is self-contained.
    Carried(Algorithm, &'a [u8]),
}

impl From<KeyHandle> for RequestKey<'_> {
    fn from(handle: KeyHandle) -> Self {
        RequestKey::Slot(handle)
    }
}

impl RequestKey<'_> {
    #[inline(always)]
    fn algorithm(&self) -> Algorithm {
        match self {
            RequestKey::Slot(key) => key.algorithm,
            RequestKey::Carried(algorithm, _) => *algorithm,
        }
    }
}

/// One operation for a queue: the same as an [`Operation`](crate::Operation), with buffers of the queue's
/// arena in place of borrowed bytes. What is small is copied when it is submitted.
///
/// An operation with a destination has a buffer of its own as its source, or `None`: then the input lies in the destination, and the
/// output takes its place. So fewer cache lines go to an accelerator on another core and come back. When its tag is wrong, the input is still
/// there. When such an operation is cut short, by [`Queue::cancel`](super::Queue::cancel) or the accelerator's end, the buffer may have some of both.
///
/// ```
/// use millstream::cwq::Algorithm;
/// use millstream::queue::{Config, Queue, Request};
///
/// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
/// let key = queue.import_key(Algorithm::AesCtr, &[7; 16])?;
/// let mut packet = queue.buffer(5)?;
/// packet.copy_from_slice(b"hello");
/// queue.submit(Request::encrypt(key, &[9; 16], None, packet))?;
/// let packet = queue.wait().unwrap().buffers.destination.unwrap();
/// assert_ne!(&packet[..], b"hello");
/// # Ok::<(), millstream::Error>(())
/// ```
pub struct Request<'a> {
    pub(super) word: ControlWord,
    pub(super) parameters: Parameters<'a>,
    pub(super) buffers: Buffers,
}

/// The parts of a request that the word does not tell of before it is submitted.
#[derive(Clone, Copy)]
pub(super) struct Parameters<'a> {
    pub(super) key: Option<RequestKey<'a>>,
    pub(super) mac_key: Option<RequestKey<'a>>,
    pub(super) iv: &'a [u8],
    /// Associated data, or the mid-state before.
    pub(super) aad: &'a [u8],
    /// The tag to compare with.
    pub(super) tag: &'a [u8],
    /// True when the message goes on after this piece of it.
    pub(super) leaves_state: bool,
}

/// The place of a piece in an object of an AEAD.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// At the object's beginning, under this nonce.
    First(&'a [u8]),
    /// The piece goes on from this mid-state: [`Done::state`](super::Done::state).
    Next(&'a [u8]),
}

impl<'a> Request<'a> {
    #[inline(always)]
    fn new(opcode: Opcode, source: Option<Buffer>, destination: Option<Buffer>) -> Self {
        Request {
            word: ControlWord { opcode: opcode as u8, ..ControlWord::EMPTY },
            parameters: Parameters {
                key: None,
                mac_key: None,
                iv: &[],
                aad: &[],
                tag: &[],
                leaves_state: false,
            },
            buffers: Buffers { source, destination, cold: Cold::NONE },
        }
    }

    #[inline(always)]
    fn keyed(mut self, key: RequestKey<'a>) -> Self {
        self.word.algorithm = key.algorithm() as u8;
        self.parameters.key = Some(key);
        self
    }

    /// Nothing: what the way to an accelerator and back costs.
    #[inline(always)]
    pub fn null() -> Self {
        Request::new(Opcode::Null, None, None)
    }

    /// Copies `source` to `destination`.
    #[inline(always)]
    pub fn copy(source: impl Into<Option<Buffer>>, destination: Buffer) -> Self {
        Request::new(Opcode::Copy, source.into(), Some(destination))
    }

    /// Copies `source` to `destination` and takes its checksum: [`Done::value`](super::Done::value).
    #[inline(always)]
    pub fn copy_checksum(checksum: Checksum, source: impl Into<Option<Buffer>>, destination: Buffer) -> Self {
        let mut request = Request::new(Opcode::CopyChecksum, source.into(), Some(destination));
        request.word.algorithm = checksum_code(checksum) as u8;
        request
    }

    /// Takes the checksum of `source`: [`Done::value`](super::Done::value).
    #[inline(always)]
    pub fn checksum(checksum: Checksum, source: Buffer) -> Self {
        let mut request = Request::new(Opcode::Checksum, Some(source), None);
        request.word.algorithm = checksum_code(checksum) as u8;
        request
    }

    /// Encrypts `source` to `destination`, as [`Operation::encrypt`](crate::Operation::encrypt).
    #[inline(always)]
    pub fn encrypt(
        key: impl Into<RequestKey<'a>>,
        iv: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        let mut request = Request::new(Opcode::Cipher, source.into(), Some(destination)).keyed(key.into());
        request.parameters.iv = iv;
        request
    }

    /// Decrypts `source` to `destination`.
    #[inline(always)]
    pub fn decrypt(
        key: impl Into<RequestKey<'a>>,
        iv: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        Request::encrypt(key, iv, source, destination).reversed()
    }

    /// Encrypts digits of a radix from 2 to 65536 with FF1 (NIST SP 800-38G §5.1), under a tweak of at most 255 bytes: two bytes for each digit, the
    /// low one first, and at most 256 digits. The key is one of [`Algorithm::AesFf1`].
    ///
    /// ```
    /// # #[cfg(feature = "ff1")] {
    /// use millstream::cwq::Algorithm;
    /// use millstream::ff1::Alphabet;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let (key, decimal) = (queue.import_key(Algorithm::AesFf1, &[7; 32])?, Alphabet::new("0123456789")?);
    /// let digits = decimal.digits("4000123456789010")?;
    /// let (mut source, destination) = (queue.buffer(2 * digits.len())?, queue.buffer(2 * digits.len())?);
    /// source.as_chunks_mut().0.iter_mut().zip(&digits).for_each(|(pair, digit)| *pair = digit.to_le_bytes());
    /// queue.submit(Request::encrypt_digits(key, decimal.radix(), b"card", source, destination))?;
    /// let done = queue.wait().unwrap();
    /// done.check()?;
    /// let token = done.buffers.destination.unwrap();
    /// let token: Vec<u16> = token.as_chunks().0.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
    /// assert_eq!(decimal.text(&token)?.len(), 16);
    /// # }
    /// # Ok::<(), millstream::Error>(())
    /// ```
    pub fn encrypt_digits(
        key: impl Into<RequestKey<'a>>,
        radix: u32,
        tweak: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        let mut request = Request::encrypt(key, tweak, source, destination);
        request.word.parameter = radix;
        request
    }

    /// Decrypts digits that [`Request::encrypt_digits`] has encrypted. Nothing tells whether key and tweak are right.
    pub fn decrypt_digits(
        key: impl Into<RequestKey<'a>>,
        radix: u32,
        tweak: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        Request::encrypt_digits(key, radix, tweak, source, destination).reversed()
    }

    /// Encrypts `source` to `destination`; the tag over it and `aad` is [`Done::tag`](super::Done::tag).
    ///
    /// Under [`Algorithm::Fernet`] the source is a value with its padding, the nonce is the token's time and initialisation vector, and the
    /// tag has 32 bytes. Under [`Algorithm::AesKw`] and [`Algorithm::AesKwp`] the source is a key that is wrapped, in whole halves
    /// of a block, and the tag has 8 bytes, with which the wrapped key begins; the nonce of the latter is the key's length in four bytes, big-endian.
    #[inline(always)]
    pub fn seal(
        key: impl Into<RequestKey<'a>>,
        nonce: &'a [u8],
        aad: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        let key = key.into();
        let mut request = Request::new(Opcode::Aead, source.into(), Some(destination)).keyed(key);
        request.word.mac_len = tag_len(key.algorithm());
        (request.parameters.iv, request.parameters.aad) = (nonce, aad);
        request
    }

    /// The same, under a nonce that the accelerator makes: [`Done::nonce`](super::Done::nonce). The key must have been made so:
    /// see [`Nonces::Made`](super::Nonces::Made).
    #[inline(always)]
    pub fn seal_with_made_nonce(
        key: KeyHandle,
        aad: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        let mut request = Request::seal(key, &[], aad, source, destination);
        request.word.flags |= Flags::MAKE_NONCE;
        request
    }

    /// Decrypts `source` to `destination` if `tag` is right; else the destination is zero, or what it was if there is no source.
    #[inline(always)]
    pub fn open(
        key: impl Into<RequestKey<'a>>,
        nonce: &'a [u8],
        aad: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
        tag: &'a [u8; 16],
    ) -> Self {
        Request::seal(key, nonce, aad, source, destination).expecting(tag).reversed()
    }

    /// The same with a tag that was cut, as AES-GCM allows it, to as many bytes as the caller expects: see
    /// [`Gcm::open_cut`](crate::gcm::Gcm::open_cut); or with the tag of Fernet, AES-KW or AES-KWP, which has another length. Of a key that AES-KWP has
    /// unwrapped [`Done::value`](super::Done::value) is the length, and the nonce is empty. With a tag of another length it ends with
    /// [`Status::MacLength`](millstream_cwq::Status::MacLength).
    #[inline(always)]
    pub fn open_cut(
        key: impl Into<RequestKey<'a>>,
        nonce: &'a [u8],
        aad: &'a [u8],
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
        tag: &'a [u8],
        tag_len: usize,
    ) -> Self {
        // No tag has no bytes: the accelerator refuses it.
        let tag = if tag.len() == tag_len { tag } else { &[] };
        Request::seal(key, nonce, aad, source, destination).expecting(tag).reversed()
    }

    #[inline(always)]
    fn expecting(mut self, tag: &'a [u8]) -> Self {
        // A length that is too great for the field is too great for any tag.
        self.word.mac_len = tag.len().min(255) as u8;
        self.parameters.tag = tag;
        self
    }

    /// The digest of `source`: [`Done::tag`](super::Done::tag).
    #[inline(always)]
    pub fn digest(hash: Hash, source: Buffer) -> Self {
        let mut request = Request::new(Opcode::Hash, Some(source), None);
        (request.word.hash, request.word.mac_len) = (algorithm_of(hash) as u8, hash.output_len() as u8);
        request
    }

    /// Takes up a message at the mid-state `before`, or begins one, and adds `source`; the mid-state after it is
    /// [`Done::state`](super::Done::state).
    pub fn partial_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_hash(hash, before, source).leaving()
    }

    fn piece_of_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        let mut request = Request::digest(hash, source);
        request.word.opcode = Opcode::PartialHash as u8;
        request.after(before)
    }

    /// Takes up a message at a mid-state, or begins one.
    fn after(mut self, before: Option<&'a [u8]>) -> Self {
        match before {
            Some(state) => self.parameters.aad = state,
            None => self.word.flags |= Flags::FIRST,
        }
        self
    }

    /// Leaves the message off, so there is no tag.
    fn leaving(mut self) -> Self {
        self.word.mac_len = 0;
        self.parameters.leaves_state = true;
        self
    }

    /// Ends the message.
    fn ending(mut self) -> Self {
        self.word.flags |= Flags::LAST;
        self
    }

    /// The other way round: decrypts, opens or verifies.
    #[inline(always)]
    fn reversed(mut self) -> Self {
        self.word.flags |= Flags::REVERSE;
        self
    }

    /// Takes up a message at the mid-state `before`, or begins one, adds `source`, and ends it:
    /// [`Done::tag`](super::Done::tag).
    pub fn last_hash(hash: Hash, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_hash(hash, before, source).ending()
    }

    /// The MAC of `source`, all of it: [`Done::tag`](super::Done::tag). The key says which: one for a hash is an
    /// HMAC's.
    #[inline(always)]
    pub fn mac(key: impl Into<RequestKey<'a>>, source: Buffer) -> Self {
        let key = key.into();
        let mut request = Request::new(Opcode::Hmac, Some(source), None).keyed(key);
        match hash_len(key.algorithm()) {
            Some(len) => {
                (request.word.hash, request.word.algorithm) = (key.algorithm() as u8, 0);
                request.word.mac_len = len;
            }
            None => {
                request.word.opcode = Opcode::Mac as u8;
                request.word.mac_len = match key.algorithm() {
                    Algorithm::AesCmac => 16,
                    Algorithm::DesMac => 8,
                    _ => 4,
                };
            }
        }
        request
    }

    /// Compares the MAC of `source`, or as much of it as is given.
    #[inline(always)]
    pub fn verify(key: impl Into<RequestKey<'a>>, source: Buffer, tag: &'a [u8]) -> Self {
        Request::mac(key, source).expecting(tag).reversed()
    }

    /// Signs `source`, which has at most 64 KiB, with a private key: [`Done::tag`](super::Done::tag).
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

    /// Signs `source`, the digest of a message, by a scheme: [`Done::tag`](super::Done::tag). Keys of RSA have [`Request::sign_rsa`], and those
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
    /// [`Done::value`](super::Done::value) is the signature's length.
    pub fn sign_rsa(
        key: impl Into<RequestKey<'a>>,
        scheme: SignatureScheme,
        digest: Buffer,
        signature: Buffer,
    ) -> Self {
        Request::sign_with(key, scheme, digest).answered_in(signature)
    }

    /// Signs `source` with ML-DSA, within a context of 0 to 255 bytes, to the front of `signature`, which has at least 2420, 3309 or 4627 bytes by the
    /// parameter set: [`Done::value`](super::Done::value) is the signature's length. The scheme says what `source` is
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
    /// set: [`Done::value`](super::Done::value) is the signature's length. The scheme says whether `source` is a message of at most 64 KiB, or a digest. A
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
    /// [`Done::tag`](super::Done::tag). The ciphertext, from which the owner gets it, goes to the front of `ciphertext`, which has at least 768, 1088 or 1568
    /// bytes by the parameter set: [`Done::value`](super::Done::value) is its length. A key in which a number is not below q ends with
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

    /// Gets the shared secret from a ciphertext with a private key of ML-KEM (FIPS 203 §7.3): [`Done::tag`](super::Done::tag). A ciphertext that was
    /// not made for the key gives a secret that nobody else knows, and no error.
    pub fn decapsulate(key: impl Into<RequestKey<'a>>, ciphertext: Buffer) -> Self {
        Request::of_pair(Opcode::Decapsulate, key.into(), Some(ciphertext))
    }

    /// Decrypts `ciphertext` with RSA to the front of `message`, which has at least as many bytes as the modulus:
    /// [`Done::value`](super::Done::value) is the message's length.
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

    /// Agrees with the peer whose public key is `peer` on a secret: [`Done::tag`](super::Done::tag). On P-256, P-384 and P-521 `peer` is a point
    /// (SEC 1 §2.3.3), compressed or not.
    pub fn agree(key: impl Into<RequestKey<'a>>, peer: Buffer) -> Self {
        Request::of_pair(Opcode::Agree, key.into(), Some(peer))
    }

    /// Computes the public key that belongs to a private one: [`Done::tag`](super::Done::tag). Keys of RSA, ML-KEM and ML-DSA have
    /// [`Request::public_key_to`].
    pub fn public_key(key: impl Into<RequestKey<'a>>) -> Self {
        Request::of_pair(Opcode::PublicKey, key.into(), None)
    }

    /// Writes the public key that belongs to a private one of RSA, as DER of an `RSAPublicKey` (RFC 8017 appendix A.1.1), to the front of
    /// `public`, which has at least [`MAX_PUBLIC_DER`](millstream_publickey::rsa::MAX_PUBLIC_DER) bytes: [`Done::value`](super::Done::value) is its
    /// length.
    pub fn public_key_rsa(key: impl Into<RequestKey<'a>>, public: Buffer) -> Self {
        Request::public_key_to(key, public)
    }

    /// Writes the public key that belongs to a private one to the front of `public`, for keys whose public one is too long for a tag: that of RSA as
    /// [`Request::public_key_rsa`] says, of ML-KEM 800, 1184 or 1568 bytes (FIPS 203 §7.1), of ML-DSA 1312, 1952 or 2592 (FIPS 204 §7.2).
    /// [`Done::value`](super::Done::value) is its length.
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

    /// Fills `destination`, which has at most 64 KiB, with random bytes that are fit for keys. In a worker they come from its own
    /// generator, which no process can read; what they fill is the arena, which both sides can.
    ///
    /// ```
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let nonce = queue.buffer(12)?;
    /// queue.submit(Request::random(nonce))?;
    /// let done = queue.wait().unwrap();
    /// assert_eq!(done.result, Ok(()));
    /// assert_ne!(done.buffers.destination.unwrap()[..], [0; 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn random(destination: Buffer) -> Self {
        let mut request = Request::new(Opcode::Random, None, Some(destination));
        request.word.algorithm = Algorithm::Random as u8;
        request
    }

    /// Takes up a message under an HMAC or CMAC at the mid-state `before`, or begins one, and adds `source`; the mid-state after it
    /// is [`Done::state`](super::Done::state). It is sealed: who keeps it can neither read nor change it, and it is of
    /// use with the same key only.
    ///
    /// ```
    /// use millstream::cwq::Algorithm;
    /// use millstream::queue::{Config, Queue, Request};
    ///
    /// let mut queue = Queue::inline(millstream::features()?, Config::default())?;
    /// let key = queue.import_key(Algorithm::Sha256, b"Jefe")?;
    /// let mut filled = |bytes: &[u8]| {
    ///     let mut buffer = queue.buffer(bytes.len())?;
    ///     buffer.copy_from_slice(bytes);
    ///     Ok::<_, millstream::queue::Refusal>(buffer)
    /// };
    /// let (first, last) = (filled(b"what do ya want ")?, filled(b"for nothing?")?);
    /// queue.submit(Request::partial_mac(key, None, first))?;
    /// let so_far = queue.wait().unwrap();
    /// queue.submit(Request::last_mac(key, Some(so_far.state()), last))?;
    /// // RFC 4231 §4.3.
    /// assert_eq!(queue.wait().unwrap().tag()[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn partial_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_mac(key, before, source).leaving()
    }

    fn piece_of_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        let mut request = Request::mac(key, source);
        request.word.opcode = Opcode::PartialMac as u8;
        request.after(before)
    }

    /// The same, and ends the message: [`Done::tag`](super::Done::tag).
    pub fn last_mac(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::piece_of_mac(key, before, source).ending()
    }

    /// The same, and compares the MAC, or as much of it as is given. All pieces under a key that may only verify are
    /// [`Request::partial_verify`].
    pub fn last_verify(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer, tag: &'a [u8]) -> Self {
        Request::last_mac(key, before, source).expecting(tag).reversed()
    }

    /// Does the same as [`Request::partial_mac`], under a key that need not be for signing.
    pub fn partial_verify(key: KeyHandle, before: Option<&'a [u8]>, source: Buffer) -> Self {
        Request::partial_mac(key, before, source).reversed()
    }

    /// A piece of an object of an AEAD: adds `aad`, then encrypts `source` to `destination`. Associated data comes before data, in as
    /// many pieces as one likes. The mid-state after it is [`Done::state`](super::Done::state), sealed as that of
    /// [`Request::partial_mac`]. The key must be for given nonces.
    pub fn partial_seal(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::piece_of_aead(key, piece, aad, source, destination).leaving()
    }

    fn piece_of_aead(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        let (iv, first) = match piece {
            Piece::First(nonce) => (nonce, Flags::FIRST),
            Piece::Next(state) => (state, 0),
        };
        let mut request = Request::seal(key, iv, aad, source, destination);
        request.word.opcode = Opcode::PartialAead as u8;
        request.word.flags |= first;
        request
    }

    /// The same, and ends the object: [`Done::tag`](super::Done::tag).
    pub fn last_seal(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::piece_of_aead(key, piece, aad, source, destination).ending()
    }

    /// Does the same as [`Request::partial_seal`], but decrypts. The output is not verified: nothing may act on it
    /// before [`Request::last_open`] was right. The key must be for both, because what is decrypted so gives away what
    /// encrypts.
    pub fn partial_open(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
    ) -> Self {
        Request::partial_seal(key, piece, aad, source, destination).reversed()
    }

    /// The same, and compares the tag. The last piece, too, is decrypted whether it is right or not.
    pub fn last_open(
        key: KeyHandle,
        piece: Piece<'a>,
        aad: &'a [u8],
        source: Buffer,
        destination: Buffer,
        tag: &'a [u8],
    ) -> Self {
        Request::last_seal(key, piece, aad, source, destination).expecting(tag).reversed()
    }

    /// Copies the first `clear` bytes of `source` and encrypts the rest, to `destination`; the HMAC of all of
    /// that is [`Done::tag`](super::Done::tag).
    #[inline(always)]
    pub fn encrypt_then_mac(
        cipher: impl Into<RequestKey<'a>>,
        iv: &'a [u8],
        mac: impl Into<RequestKey<'a>>,
        clear: u32,
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
    ) -> Self {
        let mac = mac.into();
        let mut request =
            Request::new(Opcode::EncryptThenMac, source.into(), Some(destination)).keyed(cipher.into());
        request.word.hash = mac.algorithm() as u8;
        request.word.mac_len = hash_len(mac.algorithm()).unwrap_or(0);
        request.word.aad_len = clear;
        (request.parameters.iv, request.parameters.mac_key) = (iv, Some(mac));
        request
    }

    /// Compares the HMAC of all of `source` with `tag`; if it is right, copies the first `clear` bytes and
    /// decrypts the rest, to `destination`, which else is zero, or what it was if there is no source.
    #[inline(always)]
    pub fn mac_then_decrypt(
        cipher: impl Into<RequestKey<'a>>,
        iv: &'a [u8],
        mac: impl Into<RequestKey<'a>>,
        clear: u32,
        source: impl Into<Option<Buffer>>,
        destination: Buffer,
        tag: &'a [u8],
    ) -> Self {
        let mut request =
            Request::encrypt_then_mac(cipher, iv, mac, clear, source, destination).expecting(tag);
        request.word.opcode = Opcode::MacThenDecrypt as u8;
        request
    }

    /// Sets KASUMI's parameters: how many bits of the last byte are no part of the message, and the DIRECTION of F9.
    /// COUNT, FRESH, BEARER and the DIRECTION of F8 are in `iv`: see [`Algorithm`].
    #[inline(always)]
    pub fn with_parameter(mut self, unused_bits: u8, direction: u8) -> Self {
        self.word.parameter = u32::from(unused_bits) | u32::from(direction) << 8;
        self
    }

    /// Lets the initialisation vector of KASUMI F8 end with any 26 bits. TS 35.201 §3.4 has zeros there, and others are refused without this.
    #[inline(always)]
    pub fn with_any_start(mut self) -> Self {
        self.word.parameter |= ControlWord::ANY_START;
        self
    }

    /// The initialisation vector, for what takes one and was not asked for it: COUNT and FRESH of KASUMI F9, or the context of ML-DSA or SLH-DSA.
    #[inline(always)]
    pub fn with_iv(mut self, iv: &'a [u8]) -> Self {
        self.parameters.iv = iv;
        self
    }

    /// More input: these buffers are read after the source as if they were one with it. The destination is as
    /// long as all together.
    pub fn and_then(mut self, more: Vec<Buffer>) -> Self {
        self.buffers.cold.get_or_insert_default().more = more;
        self
    }
}

fn checksum_code(checksum: Checksum) -> Algorithm {
    match checksum {
        Checksum::Crc32 => Algorithm::Crc32,
        Checksum::Crc32c => Algorithm::Crc32c,
        Checksum::Ip => Algorithm::IpChecksum,
    }
}

/// Bytes of a whole tag of an AEAD.
#[inline(always)]
fn tag_len(algorithm: Algorithm) -> u8 {
    match algorithm {
        Algorithm::Fernet => 32,
        Algorithm::AesKw | Algorithm::AesKwp => 8,
        _ => 16,
    }
}

/// Bytes of a digest, if the algorithm is a hash.
#[inline(always)]
fn hash_len(algorithm: Algorithm) -> Option<u8> {
    hash_of(algorithm).map(|hash| hash.output_len() as u8)
}

/// Says what it is and shows neither data nor keys.
impl fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (opcode, algorithm) =
            (Opcode::from_code(self.word.opcode), Algorithm::from_code(self.word.algorithm));
        write!(f, "Request({opcode:?}, {algorithm:?}, {:?})", self.buffers)
    }
}
