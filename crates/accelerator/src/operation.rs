//! One operation over borrowed bytes, as a control word describes it.

use std::fmt;

use millstream_engines::hash::{Hash, HashJob};
use millstream_engines::hmac::HmacKey;
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, kasumi};

use crate::engines::ff1;
use crate::key::{AeadKey, CipherKey, MacKey};
use crate::sink::{Sink, aead, chained, cipher, format, kasumi_f9, keyed};
use crate::source::Fill;
use crate::work::{Chained, Checksum, Partial, Work};

/// One operation on borrowed bytes, with its result in place.
///
/// An operation is the same whether it is executed directly ([`Unit::run_one`](crate::Unit::run_one)), in a
/// batch ([`Unit::run`](crate::Unit::run)) or from a control word. An error in its arguments becomes its own result, and
/// concerns no other operation.
///
/// ```
/// use millstream_accelerator::{Operation, Unit};
/// use millstream_cpu::Features;
/// use millstream_engines::{InOut, aes, hash::Hash};
///
/// let key = aes::Ctr::new(Features::hardware(), &[7; 16])?;
/// let mut packets = [[0; 160]; 8];
/// let mut operations: Vec<_> = packets
///     .iter_mut()
///     .map(|packet| Operation::encrypt(&key, &[1; 16], InOut::in_place(packet)))
///     .collect();
/// operations.push(Operation::digest(Hash::Sha256, b"abc"));
///
/// Unit::new(Features::hardware()).run(&mut operations);
/// assert!(operations.iter().all(|operation| operation.result().is_ok()));
/// assert_eq!(operations[8].tag()[..4], [0xba, 0x78, 0x16, 0xbf]);
/// # Ok::<(), millstream_engines::Error>(())
/// ```
pub struct Operation<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) result: Result<(), Error>,
    pub(crate) value: u32,
}

impl<'a> Operation<'a> {
    #[inline(always)]
    pub(crate) fn new(work: Work<'a>) -> Self {
        Operation { work, result: Ok(()), value: 0 }
    }

    /// Makes an operation of work, or one that ends with the error.
    pub(crate) fn of(work: Result<Work<'a>, Error>) -> Self {
        work.map_or_else(Operation::refused, Operation::new)
    }

    #[cold]
    pub(crate) fn refused(error: Error) -> Self {
        Operation { work: Work::Null, result: Err(error), value: 0 }
    }

    /// Does nothing, which shows the cost of the way to an engine and back.
    pub fn null() -> Self {
        Operation::new(Work::Null)
    }

    /// Copies `source` to `destination`. Its result may be [`Error::OutputLength`].
    pub fn copy(source: &'a [u8], destination: &'a mut [u8]) -> Self {
        match same_length(source, destination) {
            Ok(()) => Operation::new(Work::Copy { source, destination }),
            Err(error) => Operation::refused(error),
        }
    }

    /// Copies `source` to `destination` and takes its checksum, in one pass over the data. Its result may be
    /// [`Error::OutputLength`].
    pub fn copy_checksum(checksum: Checksum, source: &'a [u8], destination: &'a mut [u8]) -> Self {
        match same_length(source, destination) {
            Ok(()) => Operation::new(Work::CopyChecksum { checksum, source, destination }),
            Err(error) => Operation::refused(error),
        }
    }

    /// Takes the checksum of `data`: see [`Operation::value`].
    pub fn checksum(checksum: Checksum, data: &'a [u8]) -> Self {
        Operation::new(Work::Checksum { checksum, data })
    }

    /// Encrypts `data`. `iv` is the initialisation vector, the first counter block, or the tweak: as many
    /// bytes as the mode takes. For KASUMI F8 it is COUNT, BEARER, DIRECTION and zeros (32, 5, 1 and 26 bits).
    ///
    /// The result may be [`Error::NonceLength`], [`Error::DataLength`] or [`Error::Parameter`].
    #[inline]
    pub fn encrypt(key: impl Into<CipherKey<'a>>, iv: &[u8], data: InOut<'a>) -> Self {
        Operation::cipher(key.into(), Direction::Encrypt, iv, data)
    }

    /// Decrypts `data`, as [`Operation::encrypt`].
    #[inline]
    pub fn decrypt(key: impl Into<CipherKey<'a>>, iv: &[u8], data: InOut<'a>) -> Self {
        Operation::cipher(key.into(), Direction::Decrypt, iv, data)
    }

    #[inline(always)]
    pub(crate) fn cipher(key: CipherKey<'a>, direction: Direction, iv: &[u8], data: InOut<'a>) -> Self {
        cipher(key, direction, iv, data, Returned)
    }

    /// Encrypts digits of a radix from 2 to 65536 with FF1 (NIST SP 800-38G §5.1): two bytes each, the low one first. Its result may be
    /// [`Error::DataLength`] or [`Error::Parameter`].
    #[inline]
    pub fn encrypt_digits(key: &'a ff1::Ff1Key, radix: u32, tweak: &'a [u8], digits: InOut<'a>) -> Self {
        Operation::new(format(key, Direction::Encrypt, radix, tweak, digits))
    }

    /// Decrypts digits, as [`Operation::encrypt_digits`].
    #[inline]
    pub fn decrypt_digits(key: &'a ff1::Ff1Key, radix: u32, tweak: &'a [u8], digits: InOut<'a>) -> Self {
        Operation::new(format(key, Direction::Decrypt, radix, tweak, digits))
    }

    /// Enciphers or deciphers the first `bits` bits of `data` with KASUMI F8 (3GPP TS 35.201 §3). Its result
    /// may be [`Error::DataLength`] or [`Error::Parameter`].
    #[inline]
    pub fn kasumi_f8(
        key: &'a kasumi::F8,
        count: u32,
        bearer: u8,
        direction: u8,
        data: InOut<'a>,
        bits: usize,
    ) -> Self {
        let job = kasumi::F8Job::new(key, count, bearer, direction, data, bits);
        Operation::new(Work::KasumiF8(job))
    }

    /// Does the same as [`Operation::kasumi_f8`] with the block that is enciphered first as a whole, also if its last 26 bits are not the
    /// zeros of TS 35.201. Its result may be [`Error::DataLength`].
    #[inline]
    pub fn kasumi_f8_iv(key: &'a kasumi::F8, iv: [u8; 8], data: InOut<'a>, bits: usize) -> Self {
        Operation::new(Work::KasumiF8(kasumi::F8Job::with_iv(key, u64::from_be_bytes(iv), data, bits)))
    }

    /// Computes the KASUMI F9 code of the first `bits` bits of `message` (3GPP TS 35.201 §4). Its result may be
    /// [`Error::DataLength`] or [`Error::Parameter`].
    #[inline]
    pub fn kasumi_f9(
        key: &'a kasumi::F9,
        count: u32,
        fresh: u32,
        direction: u8,
        message: &'a [u8],
        bits: usize,
    ) -> Self {
        Operation::new(kasumi_f9(key, (count, fresh), direction, message, bits, None))
    }

    /// Compares the KASUMI F9 code of the first `bits` bits of `message` with `code`, in constant time. Its
    /// result may be [`Error::Authentication`], [`Error::DataLength`] or [`Error::Parameter`].
    pub fn verify_kasumi_f9(
        key: &'a kasumi::F9,
        count: u32,
        fresh: u32,
        direction: u8,
        message: &'a [u8],
        bits: usize,
        code: &'a [u8; 4],
    ) -> Self {
        Operation::new(kasumi_f9(key, (count, fresh), direction, message, bits, Some(code)))
    }

    /// Encrypts `data`; the tag over it and `aad` is [`Operation::tag`]. Its result may be
    /// [`Error::NonceLength`] or [`Error::DataLength`].
    #[inline]
    pub fn seal(key: impl Into<AeadKey<'a>>, nonce: &'a [u8], aad: &'a [u8], data: InOut<'a>) -> Self {
        aead(key.into(), nonce, aad, data, None, Returned)
    }

    /// Decrypts `data` if `tag` is right. A failure leaves no plaintext, as
    /// [`Aead::open`](millstream_engines::aead::Aead::open) says.
    #[inline]
    pub fn open(
        key: impl Into<AeadKey<'a>>,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: InOut<'a>,
        tag: &[u8; 16],
    ) -> Self {
        aead(key.into(), nonce, aad, data, Some(tag), Returned)
    }

    /// Opens with a tag that was cut to `tag_len` bytes, as AES-GCM allows it: see
    /// [`Gcm::open_cut`](millstream_engines::gcm::Gcm::open_cut); or with one that has another length than 16 bytes, as those of Fernet, AES-KW
    /// and AES-KWP. A tag of another length is [`Error::TagLength`].
    pub fn open_cut(
        key: impl Into<AeadKey<'a>>,
        nonce: &'a [u8],
        aad: &'a [u8],
        data: InOut<'a>,
        tag: &[u8],
        tag_len: usize,
    ) -> Self {
        let key = key.into();
        if tag.len() != tag_len {
            let takes = "as many bytes as the caller expects";
            return Returned.refuse(Error::TagLength { algorithm: key.name(), given: tag.len(), takes });
        }
        aead(key, nonce, aad, data, Some(tag), Returned)
    }

    /// Computes the digest of `data`: see [`Operation::tag`].
    #[inline]
    pub fn digest(hash: Hash, data: &'a [u8]) -> Self {
        Operation::new(Work::Hash(hash, HashJob::new(data)))
    }

    /// Takes up a message at `before`, or begins one, adds `data`, and leaves it off: the mid-state is
    /// written to the front of `after`, and [`Operation::value`] is its length in bytes.
    ///
    /// The result may be [`Error::MidState`] or [`Error::OutputLength`].
    pub fn partial_hash(hash: Hash, before: Option<&'a [u8]>, data: &'a [u8], after: &'a mut [u8]) -> Self {
        Operation::new(Work::Partial(Partial { hash, before, data, after: Some(after), digest: None }))
    }

    /// Takes up a message at `before`, or begins one, adds `data`, and ends it: see [`Operation::tag`]. Its
    /// result may be [`Error::MidState`].
    pub fn last_hash(hash: Hash, before: Option<&'a [u8]>, data: &'a [u8]) -> Self {
        Operation::new(Work::Partial(Partial { hash, before, data, after: None, digest: None }))
    }

    /// Computes the MAC of `data`: see [`Operation::tag`].
    #[inline]
    pub fn mac(key: impl Into<MacKey<'a>>, data: &'a [u8]) -> Self {
        keyed(key.into(), data, None, Returned)
    }

    /// Compares the MAC of `data`, or as much of it as is given, in constant time. Its result may be
    /// [`Error::Authentication`] or [`Error::TagLength`].
    #[inline]
    pub fn verify(key: impl Into<MacKey<'a>>, data: &'a [u8], tag: &'a [u8]) -> Self {
        keyed(key.into(), data, Some(tag), Returned)
    }

    /// Copies the first `clear` bytes and encrypts the rest; then takes the HMAC of all the output. A packet
    /// with its header in front is one such object.
    ///
    /// The result may be [`Error::NonceLength`] or [`Error::DataLength`].
    #[inline]
    pub fn encrypt_then_mac(
        cipher: impl Into<CipherKey<'a>>,
        iv: &[u8],
        mac: &'a HmacKey,
        clear: usize,
        data: InOut<'a>,
    ) -> Self {
        Operation::of_chained(chained(cipher.into(), iv, mac, clear, data, None))
    }

    /// Compares the HMAC of all the input with `tag`, or as much of it as is given; only if it is right,
    /// copies the first `clear` bytes and decrypts the rest. Else a separate output is zero.
    ///
    /// The result may be [`Error::Authentication`], [`Error::TagLength`], [`Error::NonceLength`] or
    /// [`Error::DataLength`].
    #[inline]
    pub fn mac_then_decrypt(
        cipher: impl Into<CipherKey<'a>>,
        iv: &[u8],
        mac: &'a HmacKey,
        clear: usize,
        data: InOut<'a>,
        tag: &'a [u8],
    ) -> Self {
        Operation::of_chained(chained(cipher.into(), iv, mac, clear, data, Some(tag)))
    }

    #[inline]
    fn of_chained(chained: Result<Chained<'a>, Error>) -> Self {
        chained.map_or_else(Operation::refused, |chained| Operation::new(Work::Chained(chained)))
    }

    /// Takes over how many bytes an operation with a key pair has written.
    #[inline]
    pub(crate) fn take_length(&mut self) {
        if let Some(written) = self.work.written() {
            self.value = written;
        }
    }

    /// Fills `bytes` with random ones from the unit's source: see [`Unit::seed`](crate::Unit::seed). The result is
    /// [`Error::Random`] where the unit has no source, or the source fails; nothing may be made of the bytes then.
    ///
    /// ```
    /// use millstream_accelerator::{Operation, Unit};
    /// use millstream_cpu::Features;
    ///
    /// let mut unit = Unit::new(Features::hardware());
    /// # let from_the_kernel = [7; 32];
    /// unit.seed(&from_the_kernel);
    /// let (mut key, mut nonce) = ([0; 32], [0; 12]);
    /// let mut operations = [Operation::random(&mut key), Operation::random(&mut nonce)];
    /// unit.run(&mut operations);
    /// assert!(operations.iter().all(|operation| operation.result().is_ok()));
    /// ```
    pub fn random(bytes: &'a mut [u8]) -> Self {
        Operation::new(Work::Random(Fill::new(bytes)))
    }

    /// Returns what came of the operation. Before it was executed that is `Ok`, or what is wrong with its arguments.
    #[inline]
    pub fn result(&self) -> Result<(), Error> {
        self.work.result(self.result)
    }

    /// Returns the digest, tag, signature, secret or public key that was computed, or nothing where none was or one was compared.
    #[inline]
    pub fn tag(&self) -> &[u8] {
        self.work.tag()
    }

    /// Compares a computed code with the one that was given, where there are both.
    #[inline(always)]
    pub(crate) fn compare(&mut self) {
        if let Some(result) = self.work.compared() {
            self.result = result;
        }
    }

    /// Returns the checksum that was taken, the bytes that were written of a mid-state or of a long result of a key pair, or those
    /// of a key that AES-KWP has unwrapped.
    #[inline]
    pub fn value(&self) -> u32 {
        if let Work::KwpOpen(job) = &self.work { job.len } else { self.value }
    }
}

/// Says what came of the operation, and shows no data.
impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({:?})", self.result())
    }
}

/// Makes an operation that is returned.
struct Returned;

impl<'a> Sink<'a> for Returned {
    type Output = Operation<'a>;

    #[inline(always)]
    fn accept(self, work: Work<'a>) -> Operation<'a> {
        Operation::new(work)
    }

    #[inline(always)]
    fn refuse(self, error: Error) -> Operation<'a> {
        Operation::refused(error)
    }
}

fn same_length(source: &[u8], destination: &[u8]) -> Result<(), Error> {
    if source.len() == destination.len() {
        return Ok(());
    }
    Err(Error::OutputLength { given: destination.len(), needed: source.len() })
}
