//! The work of an operation, in the form in which its engine takes it.

use millstream_cwq::Algorithm;
use millstream_engines::compare::begins;
use millstream_engines::hash::{Digest, Hash, HashJob};
use millstream_engines::hmac::{HmacJob, HmacKey};
use millstream_engines::modes::Direction;
use millstream_engines::{Error, InOut, aes, des, kasumi};

use crate::algorithms::{MAX_IV, every_lane};
use crate::key::CipherKey;
use crate::pairs::{Agree, Decapsulate, Encapsulate, LongSign, PublicKey, Rsa, Sign, Verify};
use crate::source::Fill;

/// A checksum.
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

/// The result of a cipher's job. A job that takes its initialisation vector as it is has none of its own.
macro_rules! cipher_result {
    ({ $start:ident } $job:ident $own:ident) => {{
        let _ = $job;
        $own
    }};
    (($make:ident) $job:ident $own:ident) => {
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
            $($cipher(crate::engines::$cipher_in::$cipher_job<'a>),)+
            $(
                $seal(millstream_engines::$aead_in::$aead_job<'a>),
                $open(millstream_engines::$aead_in::$aead_job<'a>),
            )+
            Hash(Hash, HashJob<'a>),
            Hmac(HmacJob<'a>, Expected<'a>),
            $($mac(millstream_engines::$mac_in::$mac_job<'a>, Expected<'a>),)+
            Partial(Partial<'a>),
            Chained(Chained<'a>),
            Sign(Sign<'a>),
            Agree(Agree<'a>),
            PublicKey(PublicKey<'a>),
            Rsa(Rsa<'a>),
            LongSign(LongSign<'a>),
            Encapsulate(Encapsulate<'a>),
            Decapsulate(Decapsulate<'a>),
            Verify(Verify<'a>),
            Random(Fill<'a>),
        }

        impl Work<'_> {
            /// Returns the result of a job that has one of its own, and else that of its operation.
            #[inline]
            pub(crate) fn result(&self, own: Result<(), Error>) -> Result<(), Error> {
                match self {
                    Work::Null
                    | Work::Copy { .. }
                    | Work::CopyChecksum { .. }
                    | Work::Checksum { .. }
                    | Work::Alone(_)
                    | Work::Hash(..)
                    | Work::Hmac(..)
                    | Work::Partial(_) => own,
                    Work::Chained(chained) => chained.result(),
                    $(Work::$cipher(job) => cipher_result!($start job own),)+
                    $(Work::$seal(job) | Work::$open(job) => job.result,)+
                    $(Work::$mac(job, _) => job.code().and(own),)+
                    Work::Sign(sign) => sign.result(),
                    Work::Agree(agree) => agree.result(),
                    Work::PublicKey(_) => own,
                    Work::Rsa(rsa) => rsa.result(),
                    Work::LongSign(sign) => sign.result(),
                    Work::Encapsulate(encapsulate) => encapsulate.result(),
                    Work::Decapsulate(decapsulate) => decapsulate.result(),
                    Work::Verify(verify) => verify.result(),
                    Work::Random(fill) => fill.result,
                }
            }

            /// Returns the digest or tag that was computed, or nothing where none was or one was compared.
            #[inline]
            pub(crate) fn tag(&self) -> &[u8] {
                match self {
                    Work::Null
                    | Work::Copy { .. }
                    | Work::CopyChecksum { .. }
                    | Work::Checksum { .. }
                    | Work::Alone(_)
                    | Work::Random(_) => &[],
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
                    Work::Chained(chained) => chained.tag(),
                    Work::Sign(sign) => sign.signature(),
                    Work::Agree(agree) => agree.secret(),
                    Work::PublicKey(key) => key.bytes(),
                    Work::Encapsulate(encapsulate) => encapsulate.secret(),
                    Work::Decapsulate(decapsulate) => decapsulate.secret(),
                    Work::Rsa(_) | Work::LongSign(_) | Work::Verify(_) => &[],
                }
            }

            /// Returns the bytes that an operation with a key pair has written to a place of its own; none for others.
            pub(crate) fn written(&self) -> Option<u32> {
                match self {
                    Work::PublicKey(key) => Some(key.written()),
                    Work::Rsa(rsa) => Some(rsa.written()),
                    Work::LongSign(sign) => Some(sign.written()),
                    Work::Encapsulate(encapsulate) => Some(encapsulate.written()),
                    _ => None,
                }
            }

            /// Compares a computed code, or as much of it as is given, in constant time. Returns nothing where there is no
            /// code, or none was given.
            #[inline(always)]
            pub(crate) fn compared(&self) -> Option<Result<(), Error>> {
                let (code, expected) = match self {
                    Work::Hmac(job, Some(expected)) => (Ok(&job.tag[..]), expected),
                    $(Work::$mac(job, Some(expected)) => (job.code(), expected),)+
                    // Only MACs are asked, and those that sign have nothing to compare.
                    _ => return None,
                };
                let same = begins(code.ok()?, expected);
                Some(if same.into() { Ok(()) } else { Err(Error::Authentication) })
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

/// A piece of a message, with the mid-state before it and the place for the one after it. After the last piece there is
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
    /// `Some` decrypts.
    pub(crate) expected: Expected<'a>,
    /// The tag once it was computed, if none is expected; or the reason why it failed.
    pub(crate) end: Result<Option<Digest>, Error>,
}

impl Chained<'_> {
    /// Returns what came of it.
    #[inline(always)]
    pub(crate) fn result(&self) -> Result<(), Error> {
        match &self.end {
            Ok(_) => Ok(()),
            Err(error) => Err(*error),
        }
    }

    /// Returns the tag that was computed, or nothing where one was compared.
    #[inline(always)]
    pub(crate) fn tag(&self) -> &[u8] {
        match &self.end {
            Ok(Some(tag)) => tag,
            _ => &[],
        }
    }
}
