//! One operation: what a control word says, over borrowed bytes.

use std::fmt;

use millstream_cwq::Algorithm;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305Job;
use millstream_engines::compare::begins;
use millstream_engines::gcm::GcmJob;
use millstream_engines::hash::{Digest, Hash, HashJob, MAX_DIGEST};
use millstream_engines::hmac::{HmacJob, HmacKey, MIN_TAG};
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, aes, des, kasumi};

use crate::algorithms::{every_algorithm, every_lane};
use crate::key::{AeadKey, CipherKey, MacKey};

/// The longest initialisation vector of a cipher, in bytes.
pub(crate) const MAX_IV: usize = 16;

/// Which checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// CRC-32 as in Ethernet and gzip.
    Crc32,
    /// CRC-32C as in iSCSI and SCTP.
    Crc32c,
    /// The checksum of IP, in the low 16 bits.
    Ip,
}

impl Checksum {
    /// Returns the checksum that an algorithm names.
    pub(crate) fn of(algorithm: Algorithm) -> Option<Self> {
        match algorithm {
            Algorithm::Crc32 => Some(Checksum::Crc32),
            Algorithm::Crc32c => Some(Checksum::Crc32c),
            Algorithm::IpChecksum => Some(Checksum::Ip),
            _ => None,
        }
    }
}

/// One operation on borrowed bytes, with its result in place.
///
/// It is the same thing whether it is executed directly ([`Unit::run_one`](crate::Unit::run_one)), in a
/// batch ([`Unit::run`](crate::Unit::run)) or from a control word. Whatever was wrong with its arguments is
/// its own result, and no other operation's affair.
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

/// The result of a cipher's job. A job that takes its initialisation vector as it is has none of its own.
macro_rules! cipher_result {
    ({ $start:ident } $job:ident $operation:ident) => {{
        let _ = $job;
        $operation.result
    }};
    (($make:ident) $job:ident $operation:ident) => {
        $job.result
    };
}
macro_rules! works {
    (
        managers $managers:tt
        ciphers { $($cipher:ident: $cipher_in:ident::$cipher_job:ident $start:tt by $cipher_by:ident.$cipher_run:ident;)+ }
        aeads { $($seal:ident, $open:ident: $aead_in:ident::$aead_job:ident by $aead_by:ident;)+ }
        macs { $($mac:ident: $mac_in:ident::$mac_job:ident by $mac_by:ident.$mac_run:ident;)+ }
    ) => {
        /// The work of an operation, in the form in which its engine takes it.
        pub(crate) enum Work<'a> {
            /// Nothing, or nothing more: the operation was refused.
            Null,
            Copy {
                source: &'a [u8],
                destination: &'a mut [u8],
            },
            CopyChecksum {
                checksum: Checksum,
                source: &'a [u8],
                destination: &'a mut [u8],
            },
            Checksum {
                checksum: Checksum,
                data: &'a [u8],
            },
            /// A cipher that has no lanes in this direction: it works on many blocks of one object.
            Alone(Alone<'a>),
            $($cipher(millstream_engines::$cipher_in::$cipher_job<'a>),)+
            $(
                $seal(millstream_engines::$aead_in::$aead_job<'a>),
                $open(millstream_engines::$aead_in::$aead_job<'a>),
            )+
            Hash(Hash, HashJob<'a>),
            Hmac(HmacJob<'a>, Expected<'a>),
            $($mac(millstream_engines::$mac_in::$mac_job<'a>, Expected<'a>),)+
            Partial(Partial<'a>),
            Chained(Chained<'a>),
        }

        impl Operation<'_> {
            /// Returns what came of the operation. Before it was executed that is `Ok`, or what is wrong with its arguments.
            #[inline]
            pub fn result(&self) -> Result<(), Error> {
                match &self.work {
                    Work::Null
                    | Work::Copy { .. }
                    | Work::CopyChecksum { .. }
                    | Work::Checksum { .. }
                    | Work::Alone(_)
                    | Work::Hash(..)
                    | Work::Hmac(..)
                    | Work::Partial(_)
                    | Work::Chained(_) => self.result,
                    $(Work::$cipher(job) => cipher_result!($start job self),)+
                    $(Work::$seal(job) | Work::$open(job) => job.result,)+
                    $(Work::$mac(job, _) => job.code().and(self.result),)+
                }
            }

            /// Returns the digest or tag that was computed, or nothing where none was or one was compared.
            #[inline]
            pub fn tag(&self) -> &[u8] {
                match &self.work {
                    Work::Null
                    | Work::Copy { .. }
                    | Work::CopyChecksum { .. }
                    | Work::Checksum { .. }
                    | Work::Alone(_) => &[],
                    $(Work::$cipher(_) => &[],)+
                    $(
                        Work::$seal(job) if job.result.is_ok() => &job.tag,
                        Work::$seal(_) | Work::$open(_) => &[],
                    )+
                    Work::Hash(_, job) => &job.digest,
                    Work::Hmac(job, None) => &job.tag,
                    $(Work::$mac(job, None) => job.code().unwrap_or_default(),)+
                    Work::Hmac(_, Some(_)) => &[],
                    $(Work::$mac(_, Some(_)) => &[],)+
                    Work::Partial(partial) => partial.digest.as_deref().unwrap_or_default(),
                    Work::Chained(chained) => chained.tag.as_deref().unwrap_or_default(),
                }
            }

            /// Compares a computed tag, or as much of it as is given, in constant time.
            #[inline(always)]
            pub(crate) fn compare(&mut self) {
                let (tag, expected) = match &self.work {
                    Work::Hmac(job, Some(expected)) => (Ok(&job.tag[..]), expected),
                    $(Work::$mac(job, Some(expected)) => (job.code(), expected),)+
                    // Only MACs come here, and those that sign have nothing to compare.
                    _ => return,
                };
                let Ok(tag) = tag else { return };
                self.result = if begins(tag, expected).into() { Ok(()) } else { Err(Error::Authentication) };
            }
        }
    };
}

every_lane!(works);

/// A job whose code may be compared.
trait Coded {
    /// Returns the code, or why there is none.
    fn code(&self) -> Result<&[u8], Error>;
}

impl Coded for aes::CmacJob<'_> {
    #[inline(always)]
    fn code(&self) -> Result<&[u8], Error> {
        Ok(&self.tag)
    }
}

impl Coded for des::MacJob<'_> {
    #[inline(always)]
    fn code(&self) -> Result<&[u8], Error> {
        Ok(&self.mac)
    }
}

impl Coded for kasumi::F9Job<'_> {
    #[inline(always)]
    fn code(&self) -> Result<&[u8], Error> {
        match &self.result {
            Ok(code) => Ok(code),
            Err(error) => Err(*error),
        }
    }
}

/// The tag to compare with, where a MAC is verified.
pub(crate) type Expected<'a> = Option<&'a [u8]>;

pub(crate) struct Alone<'a> {
    pub(crate) key: CipherKey<'a>,
    pub(crate) iv: [u8; MAX_IV],
    pub(crate) direction: Direction,
    pub(crate) data: InOut<'a>,
}

/// A piece of a message: the mid-state before, and where it goes after; after the last piece there is
/// a digest instead.
pub(crate) struct Partial<'a> {
    pub(crate) hash: Hash,
    pub(crate) before: Option<&'a [u8]>,
    pub(crate) data: &'a [u8],
    pub(crate) after: Option<&'a mut [u8]>,
    pub(crate) digest: Option<Digest>,
}

/// A cipher and an HMAC over the same bytes.
pub(crate) struct Chained<'a> {
    pub(crate) cipher: CipherKey<'a>,
    pub(crate) iv: [u8; MAX_IV],
    pub(crate) mac: &'a HmacKey,
    /// Bytes in front that are authenticated and not encrypted.
    pub(crate) clear: usize,
    pub(crate) data: InOut<'a>,
    pub(crate) tag: Option<Digest>,
    /// `Some` decrypts.
    pub(crate) expected: Expected<'a>,
}

impl<'a> Operation<'a> {
    #[inline(always)]
    pub(crate) fn new(work: Work<'a>) -> Self {
        Operation { work, result: Ok(()), value: 0 }
    }

    #[cold]
    pub(crate) fn refused(error: Error) -> Self {
        Operation { work: Work::Null, result: Err(error), value: 0 }
    }

    /// Nothing: what the way to an engine and back costs.
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
    /// Its result may be [`Error::NonceLength`], [`Error::DataLength`] or [`Error::Parameter`].
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

    /// The KASUMI F9 code of the first `bits` bits of `message` (3GPP TS 35.201 §4). Its result may be
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

    /// Decrypts `data` if `tag` is right; a failure leaves no plaintext, as
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

    /// The same with a tag that was cut to `tag_len` bytes, as AES-GCM allows it: see
    /// [`Gcm::open_cut`](millstream_engines::gcm::Gcm::open_cut). A tag of another length is [`Error::TagLength`].
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

    /// The digest of `data`: see [`Operation::tag`].
    #[inline]
    pub fn digest(hash: Hash, data: &'a [u8]) -> Self {
        Operation::new(Work::Hash(hash, HashJob::new(data)))
    }

    /// Takes up a message at `before`, or begins one, adds `data`, and leaves it off: the mid-state is
    /// written to the front of `after`, and [`Operation::value`] is its length in bytes.
    ///
    /// Its result may be [`Error::MidState`] or [`Error::OutputLength`].
    pub fn partial_hash(hash: Hash, before: Option<&'a [u8]>, data: &'a [u8], after: &'a mut [u8]) -> Self {
        Operation::new(Work::Partial(Partial { hash, before, data, after: Some(after), digest: None }))
    }

    /// Takes up a message at `before`, or begins one, adds `data`, and ends it: see [`Operation::tag`]. Its
    /// result may be [`Error::MidState`].
    pub fn last_hash(hash: Hash, before: Option<&'a [u8]>, data: &'a [u8]) -> Self {
        Operation::new(Work::Partial(Partial { hash, before, data, after: None, digest: None }))
    }

    /// The MAC of `data`: see [`Operation::tag`].
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
    /// Its result may be [`Error::NonceLength`] or [`Error::DataLength`].
    #[inline]
    pub fn encrypt_then_mac(
        cipher: impl Into<CipherKey<'a>>,
        iv: &[u8],
        mac: &'a HmacKey,
        clear: usize,
        data: InOut<'a>,
    ) -> Self {
        chained(cipher.into(), iv, mac, clear, data, None, Returned)
    }

    /// Compares the HMAC of all the input with `tag`, or as much of it as is given; only if it is right,
    /// copies the first `clear` bytes and decrypts the rest. Else a separate output is zero.
    ///
    /// Its result may be [`Error::Authentication`], [`Error::TagLength`], [`Error::NonceLength`] or
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
        chained(cipher.into(), iv, mac, clear, data, Some(tag), Returned)
    }

    /// The checksum that was taken, or the bytes of the mid-state that was written.
    #[inline]
    pub fn value(&self) -> u32 {
        self.value
    }
}

/// Says what it is and what came of it, and shows no data.
impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({:?})", self.result())
    }
}

/// Takes the work of an operation, or the reason why there is none.
///
/// Its methods are inlined wherever a work is made, so that it is made where it will stay: an operation is some 200
/// bytes, and to move it costs more than to make it.
pub(crate) trait Sink<'a> {
    type Output;
    fn accept(self, work: Work<'a>) -> Self::Output;
    fn refuse(self, error: Error) -> Self::Output;
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

/// Makes a cipher's job: from its field for the initialisation vector, or by a function that reads that.
macro_rules! cipher_work {
    ({ $start:ident } $module:ident $job:ident, $work:ident, $key:ident, $iv:ident, $data:ident, $sink:ident) => {
        $sink.accept(Work::$work(millstream_engines::$module::$job {
            key: $key,
            $start: block($iv),
            data: $data,
        }))
    };
    (($make:ident) $module:ident $job:ident, $work:ident, $key:ident, $iv:ident, $data:ident, $sink:ident) => {
        $make($key, $iv, $data, 0, $sink)
    };
}

macro_rules! cipher_works {
    (
        ciphers { $($cipher:ident = $module:ident::$key:ident as $stored:ident {
            facts $facts:tt
            keys $keys:tt
            lanes { $(
                $field:ident: $manager:ident;
                $($direction:pat => $work:ident($job:ident $start:tt) by $run:ident;)+
            )? }
            alone { $($alone_direction:pat => $alone:ident;)? }
            slices $slices:ident
        })+ }
        $($rest:tt)+
    ) => {
        /// Hands a cipher's work to a sink.
        #[inline(always)]
        pub(crate) fn cipher<'a, S: Sink<'a>>(
            key: CipherKey<'a>,
            direction: Direction,
            iv: &[u8],
            data: InOut<'a>,
            sink: S,
        ) -> S::Output {
            use Direction::{Decrypt, Encrypt};
            if let Err(error) = check_cipher(key, iv, data.len()) {
                return sink.refuse(error);
            }
            match (key, direction) {
                $(
                    $($(
                        (CipherKey::$cipher(key), $direction) => cipher_work!($start $module $job, $work, key, iv, data, sink),
                    )+)?
                    $(
                        (CipherKey::$cipher(_), $alone_direction) => {
                            sink.accept(Work::Alone(Alone { key, iv: padded(iv), direction, data }))
                        }
                    )?
                )+
            }
        }
    };
}

every_algorithm!(cipher_works);

/// COUNT, BEARER and DIRECTION, with which F8 begins.
pub(crate) type F8Start = (u32, u8, u8);

/// Parses the start value of F8 (TS 35.201 §3.4): COUNT || BEARER || DIRECTION || 0...0.
#[inline(always)]
pub(crate) fn f8_start(iv: &[u8]) -> Result<F8Start, Error> {
    let start = u64::from_be_bytes(kasumi_iv("kasumi-f8", iv)?);
    if start & ((1 << 26) - 1) != 0 {
        return Err(Error::Parameter {
            algorithm: "kasumi-f8",
            name: "IV",
            given: start,
            takes: "COUNT, BEARER, DIRECTION and 26 bits of zeros",
        });
    }
    Ok(((start >> 32) as u32, (start >> 27) as u8 & 31, (start >> 26) as u8 & 1))
}

/// Parses the start value of F9 (TS 35.201 §4.4): COUNT || FRESH.
#[inline(always)]
pub(crate) fn f9_start(iv: &[u8]) -> Result<(u32, u32), Error> {
    let start = u64::from_be_bytes(kasumi_iv("kasumi-f9", iv)?);
    Ok(((start >> 32) as u32, start as u32))
}

#[inline(always)]
fn kasumi_iv(algorithm: &'static str, iv: &[u8]) -> Result<[u8; 8], Error> {
    iv.try_into().map_err(|_| Error::NonceLength { algorithm, given: iv.len(), takes: "8 bytes" })
}

/// Makes the work of F8, which leaves out the last `unused` bits of the data.
#[inline(always)]
pub(crate) fn kasumi_f8<'a, S: Sink<'a>>(
    key: &'a kasumi::F8,
    iv: &[u8],
    data: InOut<'a>,
    unused: usize,
    sink: S,
) -> S::Output {
    let (count, bearer, direction) = match f8_start(iv) {
        Ok(start) => start,
        Err(error) => return sink.refuse(error),
    };
    let bits = 8 * data.len() - unused;
    sink.accept(Work::KasumiF8(kasumi::F8Job::new(key, count, bearer, direction, data, bits)))
}

/// Returns the work of F9.
#[inline(always)]
pub(crate) fn kasumi_f9<'a>(
    key: &'a kasumi::F9,
    (count, fresh): (u32, u32),
    direction: u8,
    message: &'a [u8],
    bits: usize,
    expected: Expected<'a>,
) -> Work<'a> {
    Work::KasumiF9(kasumi::F9Job::new(key, count, fresh, direction, message, bits), expected)
}

/// With a tag it opens, without one it seals.
#[inline(always)]
pub(crate) fn aead<'a, S: Sink<'a>>(
    key: AeadKey<'a>,
    nonce: &'a [u8],
    aad: &'a [u8],
    data: InOut<'a>,
    tag: Option<&[u8]>,
    sink: S,
) -> S::Output {
    let Some(tag) = tag else {
        return match key {
            AeadKey::AesGcm(key) => sink.accept(Work::GcmSeal(GcmJob::new(key, nonce, aad, data))),
            AeadKey::ChaCha20Poly1305(key) => {
                sink.accept(Work::ChaChaSeal(ChaCha20Poly1305Job::new(key, nonce, aad, data)))
            }
        };
    };
    match key {
        AeadKey::AesGcm(key) if tag.len() <= 16 => {
            let mut job = GcmJob::new(key, nonce, aad, data);
            (job.tag, job.tag_len) = (padded(tag), tag.len());
            sink.accept(Work::GcmOpen(job))
        }
        AeadKey::ChaCha20Poly1305(key) if tag.len() == 16 => {
            let mut job = ChaCha20Poly1305Job::new(key, nonce, aad, data);
            job.tag = padded(tag);
            sink.accept(Work::ChaChaOpen(job))
        }
        AeadKey::AesGcm(_) | AeadKey::ChaCha20Poly1305(_) => sink.refuse(Error::TagLength {
            algorithm: key.name(),
            given: tag.len(),
            takes: if matches!(key, AeadKey::AesGcm(_)) { "at most 16 bytes" } else { "16 bytes" },
        }),
    }
}

#[inline(always)]
pub(crate) fn keyed<'a, S: Sink<'a>>(
    key: MacKey<'a>,
    data: &'a [u8],
    expected: Expected<'a>,
    sink: S,
) -> S::Output {
    let (name, longest) = key.name_and_tag();
    if let Err(error) = check_tag(name, expected, longest) {
        return sink.refuse(error);
    }
    match key {
        MacKey::Hmac(key) => sink.accept(Work::Hmac(HmacJob::new(key, data), expected)),
        MacKey::AesCmac(key) => sink.accept(Work::Cmac(aes::CmacJob { key, data, tag: [0; 16] }, expected)),
        MacKey::DesMac(key) => {
            sink.accept(Work::DesMac(des::MacJob { key, message: data, mac: [0; 8] }, expected))
        }
    }
}

/// With a tag it decrypts, without one it encrypts.
#[inline(always)]
pub(crate) fn chained<'a, S: Sink<'a>>(
    cipher: CipherKey<'a>,
    iv: &[u8],
    mac: &'a HmacKey,
    clear: usize,
    data: InOut<'a>,
    expected: Expected<'a>,
    sink: S,
) -> S::Output {
    let checked = match data.len().checked_sub(clear) {
        Some(secret) => check_cipher(cipher, iv, secret),
        None => Err(Error::DataLength {
            algorithm: cipher.name(),
            given: data.len() as u64,
            takes: "at least the bytes that are not encrypted",
        }),
    };
    if let Err(error) = checked.and_then(|()| check_tag(mac.hash().name(), expected, mac.hash().output_len()))
    {
        return sink.refuse(error);
    }
    sink.accept(Work::Chained(Chained { cipher, iv: padded(iv), mac, clear, data, tag: None, expected }))
}

/// The bytes, and zeros.
#[inline(always)]
fn padded(bytes: &[u8]) -> [u8; 16] {
    let mut padded = [0; 16];
    let len = bytes.len().min(16);
    padded[..len].copy_from_slice(&bytes[..len]);
    padded
}

fn same_length(source: &[u8], destination: &[u8]) -> Result<(), Error> {
    if source.len() == destination.len() {
        return Ok(());
    }
    Err(Error::OutputLength { given: destination.len(), needed: source.len() })
}

/// An initialisation vector whose length was checked.
#[inline(always)]
fn block<const N: usize>(iv: &[u8]) -> [u8; N] {
    match iv.first_chunk() {
        Some(block) => *block,
        None => [0; N],
    }
}

/// Whether a cipher takes an initialisation vector and data of these lengths.
#[inline(always)]
pub(crate) fn check_cipher(key: CipherKey<'_>, iv: &[u8], data: usize) -> Result<(), Error> {
    if iv.len() != key.iv_len() {
        return Err(iv_length(key, iv.len()));
    }
    if !data.is_multiple_of(key.block()) {
        return Err(Error::DataLength { algorithm: key.name(), given: data as u64, takes: "whole blocks" });
    }
    // IEEE 1619 §5.1. Looked at here so that a combined operation has written nothing when it is refused.
    if matches!(key, CipherKey::AesXts(_)) && !(16..=16 << 20).contains(&data) {
        let (algorithm, given) = (key.name(), data as u64);
        return Err(Error::DataLength { algorithm, given, takes: "16 bytes to 2^20 blocks" });
    }
    Ok(())
}

#[cold]
fn iv_length(key: CipherKey<'_>, given: usize) -> Error {
    let takes = match key.iv_len() {
        0 => "none",
        8 => "8 bytes",
        _ => "16 bytes",
    };
    Error::NonceLength { algorithm: key.name(), given, takes }
}

/// Whether a tag that is to be compared has a length there is.
#[inline(always)]
fn check_tag(algorithm: &'static str, expected: Expected<'_>, longest: usize) -> Result<(), Error> {
    debug_assert!(longest <= MAX_DIGEST);
    match expected {
        Some(tag) if !(MIN_TAG..=longest).contains(&tag.len()) => {
            Err(Error::TagLength { algorithm, given: tag.len(), takes: "4 bytes to the whole tag" })
        }
        _ => Ok(()),
    }
}
