//! Checking the arguments of an operation, and handing its work to whoever keeps it.

use millstream_cwq::ControlWord;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305Job;
use millstream_engines::fernet::{self, KeyedFernetJob};
use millstream_engines::gcm::GcmJob;
use millstream_engines::gcm_siv::{GcmSivJob, KeyedGcmSivJob};
use millstream_engines::hash::MAX_DIGEST;
use millstream_engines::hmac::{HmacJob, HmacKey, MIN_TAG};
use millstream_engines::keywrap::{self, KeyedWrapJob};
use millstream_engines::modes::Direction;
use millstream_engines::siv::KeyedSivJob;
use millstream_engines::xaes::{KeyedXaesJob, XaesJob};
use millstream_engines::{Error, InOut, aes, des, kasumi};
use millstream_publickey::rsa::MAX_PUBLIC_DER;

use crate::algorithms::every_algorithm;
use crate::engines::ff1;
use crate::key::{AeadKey, CipherKey, MacKey, PrivateKey};
use crate::pairs::{
    Agree, Decapsulate, DecryptionScheme, LongSign, PublicKey, Rsa, Sign, SignatureScheme, no_context,
};
use crate::work::{Alone, Chained, Expected, Work};

/// Takes the work of an operation, or the reason why there is none.
///
/// The methods are inlined wherever a work is made, so that it is made where it will stay: an operation is some 200
/// bytes, and moving it would cost more than making it.
pub(crate) trait Sink<'a> {
    type Output;
    fn accept(self, work: Work<'a>) -> Self::Output;
    fn refuse(self, error: Error) -> Self::Output;
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
                        (CipherKey::$cipher(key), $direction) => {
                            return cipher_work!($start $module $job, $work, key, iv, data, sink);
                        }
                    )+)?
                    $((CipherKey::$cipher(_), $alone_direction) => {})?
                )+
            }
            sink.accept(Work::Alone(Alone { key, iv: padded(iv), direction, data }))
        }
    };
}
every_algorithm!(cipher_works);

/// Parses the start value of F8 (TS 35.201 §3.4): COUNT || BEARER || DIRECTION || 0...0. With [`ControlWord::ANY_START`] in the word's
/// parameter its end may be anything.
#[inline(always)]
pub(crate) fn f8_start(iv: &[u8], parameter: u32) -> Result<u64, Error> {
    let start = u64::from_be_bytes(kasumi_iv("kasumi-f8", iv)?);
    if parameter & ControlWord::ANY_START == 0 && start & ((1 << 26) - 1) != 0 {
        return Err(Error::Parameter {
            algorithm: "kasumi-f8",
            name: "IV",
            given: start,
            takes: "COUNT, BEARER, DIRECTION and 26 bits of zeros",
        });
    }
    Ok(start)
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

/// Makes the work of F8, whose parameter says how many of the data's last bits have no meaning.
#[inline(always)]
pub(crate) fn kasumi_f8<'a, S: Sink<'a>>(
    key: &'a kasumi::F8,
    iv: &[u8],
    data: InOut<'a>,
    parameter: u32,
    sink: S,
) -> S::Output {
    let start = match f8_start(iv, parameter) {
        Ok(start) => start,
        Err(error) => return sink.refuse(error),
    };
    let bits = 8 * data.len() - (parameter & 7) as usize;
    sink.accept(Work::KasumiF8(kasumi::F8Job::with_iv(key, start, data, bits)))
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

/// Opens with a tag, and seals without one.
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
            AeadKey::AesSiv(key) => sink.accept(Work::SivSeal(KeyedSivJob::new(key, nonce, aad, data))),
            AeadKey::AesGcmSiv(key) => {
                let job = GcmSivJob::new(nonce, aad, data);
                sink.accept(Work::GcmSivSeal(KeyedGcmSivJob { key, job }))
            }
            AeadKey::Xaes256Gcm(key) => {
                let job = XaesJob::new(nonce, aad, data);
                sink.accept(Work::XaesSeal(KeyedXaesJob { key, job }))
            }
            _ if !aad.is_empty() => sink.refuse(no_aad(key, aad.len())),
            AeadKey::Fernet(key) => sink.accept(Work::FernetSeal(KeyedFernetJob::new(key, nonce, data))),
            AeadKey::AesKw(key) => sink.accept(Work::KwSeal(KeyedWrapJob::new(key, nonce, data))),
            AeadKey::AesKwp(key) => sink.accept(Work::KwpSeal(KeyedWrapJob::new(key, nonce, data))),
        };
    };
    match key {
        AeadKey::AesGcm(key) if tag.len() <= 16 => {
            let mut job = GcmJob::new(key, nonce, aad, data);
            expect_gcm(&mut job, tag);
            sink.accept(Work::GcmOpen(job))
        }
        AeadKey::ChaCha20Poly1305(key) if tag.len() == 16 => {
            let mut job = ChaCha20Poly1305Job::new(key, nonce, aad, data);
            expect(&mut job.tag, tag);
            sink.accept(Work::ChaChaOpen(job))
        }
        AeadKey::AesSiv(key) if tag.len() == 16 => {
            let mut job = KeyedSivJob::new(key, nonce, aad, data);
            expect(&mut job.tag, tag);
            sink.accept(Work::SivOpen(job))
        }
        AeadKey::AesGcmSiv(key) if tag.len() == 16 => {
            let mut job = GcmSivJob::new(nonce, aad, data);
            expect(&mut job.tag, tag);
            sink.accept(Work::GcmSivOpen(KeyedGcmSivJob { key, job }))
        }
        AeadKey::Xaes256Gcm(key) if tag.len() == 16 => {
            let mut job = XaesJob::new(nonce, aad, data);
            expect(&mut job.tag, tag);
            sink.accept(Work::XaesOpen(KeyedXaesJob { key, job }))
        }
        AeadKey::Fernet(key) if tag.len() == fernet::TAG && aad.is_empty() => {
            let mut job = KeyedFernetJob::new(key, nonce, data);
            job.tag = block(tag);
            sink.accept(Work::FernetOpen(job))
        }
        AeadKey::AesKw(key) if tag.len() == keywrap::TAG && aad.is_empty() => {
            let mut job = KeyedWrapJob::new(key, nonce, data);
            job.tag = block(tag);
            sink.accept(Work::KwOpen(job))
        }
        AeadKey::AesKwp(key) if tag.len() == keywrap::TAG && aad.is_empty() => {
            let mut job = KeyedWrapJob::new(key, nonce, data);
            job.tag = block(tag);
            sink.accept(Work::KwpOpen(job))
        }
        AeadKey::Fernet(_) | AeadKey::AesKw(_) | AeadKey::AesKwp(_) if !aad.is_empty() => {
            sink.refuse(no_aad(key, aad.len()))
        }
        _ => sink.refuse(Error::TagLength {
            algorithm: key.name(),
            given: tag.len(),
            takes: match key {
                AeadKey::AesGcm(_) => "at most 16 bytes",
                AeadKey::Fernet(_) => "32 bytes",
                AeadKey::AesKw(_) | AeadKey::AesKwp(_) => "8 bytes",
                _ => "16 bytes",
            },
        }),
    }
}

/// Gives a job the tag to compare with. Returns false when it is of another length than AES-GCM's tags.
#[inline(always)]
pub(crate) fn expect_gcm(job: &mut GcmJob<'_>, tag: &[u8]) -> bool {
    (job.tag, job.tag_len) = (padded(tag), tag.len());
    tag.len() <= 16
}

/// Does the same with a tag that always has 16 bytes.
#[inline(always)]
pub(crate) fn expect(job: &mut [u8; 16], tag: &[u8]) -> bool {
    *job = padded(tag);
    tag.len() == 16
}

/// Refuses associated data of an AEAD that takes none.
#[cold]
fn no_aad(key: AeadKey<'_>, given: usize) -> Error {
    Error::Parameter {
        algorithm: key.name(),
        name: "the length of associated data",
        given: given as u64,
        takes: "none",
    }
}

/// Makes the work of a cipher that preserves the format.
#[inline(always)]
pub(crate) fn format<'a>(
    key: &'a ff1::Ff1Key,
    direction: Direction,
    radix: u32,
    tweak: &'a [u8],
    digits: InOut<'a>,
) -> Work<'a> {
    let job = ff1::KeyedFf1Job::new(key, radix, tweak, digits);
    match direction {
        Direction::Encrypt => Work::Ff1Encrypt(job),
        Direction::Decrypt => Work::Ff1Decrypt(job),
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

/// Decrypts with a tag, and encrypts without one.
///
/// # Errors
/// Where the lengths are not those that the cipher and the HMAC take.
#[inline(always)]
pub(crate) fn chained<'a>(
    cipher: CipherKey<'a>,
    iv: &[u8],
    mac: &'a HmacKey,
    clear: usize,
    data: InOut<'a>,
    expected: Expected<'a>,
) -> Result<Chained<'a>, Error> {
    let secret = data.len().checked_sub(clear).ok_or_else(|| Error::DataLength {
        algorithm: cipher.name(),
        given: data.len() as u64,
        takes: "at least the bytes that are not encrypted",
    })?;
    check_cipher(cipher, iv, secret)?;
    check_tag(mac.hash().name(), expected, mac.hash().output_len())?;
    Ok(Chained { cipher, iv: padded(iv), mac, clear, data, expected, end: Ok(None) })
}

/// Makes the work of a signature under whichever key. That of RSA, ML-DSA and SLH-DSA goes to the front of `out`.
///
/// # Errors
/// When the key is not one that signs by the scheme, or has no contexts.
pub(crate) fn sign<'a>(
    key: PrivateKey<'a>,
    scheme: SignatureScheme,
    context: &'a [u8],
    message: &'a [u8],
    out: &'a mut [u8],
) -> Result<Work<'a>, Error> {
    match key {
        PrivateKey::MlDsa(key) => {
            return LongSign::ml_dsa(key, scheme, context, message, out).map(Work::LongSign);
        }
        PrivateKey::SlhDsa(key) => {
            return LongSign::slh_dsa(key, scheme, context, message, out).map(Work::LongSign);
        }
        _ => {}
    }
    if !context.is_empty() {
        return Err(no_context(context.len()));
    }
    match (key, scheme) {
        (PrivateKey::Ed25519(key), SignatureScheme::Ed25519) => Ok(Work::Sign(Sign::ed25519(key, message))),
        (PrivateKey::Curve(key), SignatureScheme::Ecdsa { hash, deterministic }) => {
            Ok(Work::Sign(Sign::ecdsa(key, hash, deterministic, message)))
        }
        (
            PrivateKey::Rsa(key),
            SignatureScheme::RsaPkcs1 { .. } | SignatureScheme::RsaPss { .. } | SignatureScheme::RsaRaw,
        ) => Ok(Work::Rsa(Rsa::sign(key, scheme, message, out))),
        _ => Err(scheme.other_key()),
    }
}

/// Makes the work of a decryption to the front of `out`.
///
/// # Errors
/// When the key is not one of RSA.
pub(crate) fn decrypt<'a>(
    key: PrivateKey<'a>,
    scheme: DecryptionScheme<'a>,
    ciphertext: &'a [u8],
    out: &'a mut [u8],
) -> Result<Work<'a>, Error> {
    match key {
        PrivateKey::Rsa(key) => Ok(Work::Rsa(Rsa::decrypt(key, scheme, ciphertext, out))),
        PrivateKey::Ed25519(_)
        | PrivateKey::X25519(_)
        | PrivateKey::Curve(_)
        | PrivateKey::MlKem(_)
        | PrivateKey::MlDsa(_)
        | PrivateKey::SlhDsa(_) => Err(other_key("rsa")),
    }
}

/// Makes the work of a public key. That of RSA goes to the front of `out`, and so does that of ML-KEM and ML-DSA if `out` has bytes.
///
/// # Errors
/// When there is no room for it.
pub(crate) fn public_key<'a>(key: PrivateKey<'a>, out: &'a mut [u8]) -> Result<Work<'a>, Error> {
    Ok(match key {
        PrivateKey::Ed25519(key) => Work::PublicKey(PublicKey::Ed25519(key)),
        PrivateKey::X25519(key) => Work::PublicKey(PublicKey::X25519(key, None)),
        PrivateKey::Curve(key) => Work::PublicKey(PublicKey::Curve(key, None)),
        PrivateKey::MlKem(key) => Work::PublicKey(PublicKey::kept(key.public_key().as_bytes(), out)?),
        PrivateKey::MlDsa(key) => Work::PublicKey(PublicKey::kept(key.public_key().as_bytes(), out)?),
        PrivateKey::SlhDsa(key) => Work::PublicKey(PublicKey::kept(key.public_key().as_bytes(), out)?),
        PrivateKey::Rsa(_) if out.is_empty() => {
            return Err(Error::OutputLength { given: 0, needed: MAX_PUBLIC_DER });
        }
        PrivateKey::Rsa(key) => Work::Rsa(Rsa::public_key(key, out)),
    })
}

/// Makes the work of an agreement under whichever key.
///
/// # Errors
/// When the key is not one to agree with, or the peer's is not one of its kind.
pub(crate) fn agree<'a>(key: PrivateKey<'a>, peer: &'a [u8]) -> Result<Work<'a>, Error> {
    match key {
        PrivateKey::X25519(key) => Ok(Work::Agree(Agree::x25519(key, peer)?)),
        PrivateKey::Curve(key) => Ok(Work::Agree(Agree::curve(key, peer))),
        PrivateKey::Ed25519(_) => Err(other_key("ed25519")),
        PrivateKey::Rsa(_) => Err(other_key("rsa")),
        PrivateKey::MlKem(_) => Err(other_key("ml-kem")),
        PrivateKey::MlDsa(_) => Err(other_key("ml-dsa")),
        PrivateKey::SlhDsa(_) => Err(other_key("slh-dsa")),
    }
}

/// Makes the work of a decapsulation.
///
/// # Errors
/// When the key is not one of ML-KEM.
pub(crate) fn decapsulate<'a>(key: PrivateKey<'a>, ciphertext: &'a [u8]) -> Result<Work<'a>, Error> {
    match key {
        PrivateKey::MlKem(key) => Ok(Work::Decapsulate(Decapsulate::new(key, ciphertext))),
        PrivateKey::Ed25519(_)
        | PrivateKey::X25519(_)
        | PrivateKey::Curve(_)
        | PrivateKey::Rsa(_)
        | PrivateKey::MlDsa(_)
        | PrivateKey::SlhDsa(_) => Err(other_key("ml-kem")),
    }
}

#[cold]
fn other_key(algorithm: &'static str) -> Error {
    Error::Parameter { algorithm, name: "key", given: 0, takes: "the operations of its own kind only" }
}

/// Fills the bytes up with zeros, or takes the first of more.
#[inline(always)]
fn padded(bytes: &[u8]) -> [u8; 16] {
    if let Some(whole) = bytes.first_chunk() {
        return *whole;
    }
    let mut padded = [0; 16];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

/// Returns an initialisation vector whose length was checked.
#[inline(always)]
pub(crate) fn block<const N: usize>(iv: &[u8]) -> [u8; N] {
    match iv.first_chunk() {
        Some(block) => *block,
        None => [0; N],
    }
}

/// Checks that a cipher takes an initialisation vector and data of these lengths.
#[inline(always)]
pub(crate) fn check_cipher(key: CipherKey<'_>, iv: &[u8], data: usize) -> Result<(), Error> {
    if iv.len() != key.iv_len() {
        return Err(iv_length(key, iv.len()));
    }
    if !data.is_multiple_of(key.block()) {
        return Err(Error::DataLength { algorithm: key.name(), given: data as u64, takes: "whole blocks" });
    }
    // IEEE 1619 §5.1. The engine checks this too, but a combined operation would have written something by then.
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

/// Checks that a tag to compare with has a length that the algorithm produces.
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
