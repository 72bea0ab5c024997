//! The requests that a queue takes.

mod pairs;
mod pieces;

use std::fmt;

use millstream_accelerator::{Checksum, algorithm_of, hash_of};
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode};

use super::buffers::{Buffers, Cold};
use crate::hash::Hash;
use crate::heap::Buffer;
use crate::key::KeyHandle;
pub use pieces::Piece;

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

    /// The other way round: decrypts, opens or verifies.
    #[inline(always)]
    fn reversed(mut self) -> Self {
        self.word.flags |= Flags::REVERSE;
        self
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
