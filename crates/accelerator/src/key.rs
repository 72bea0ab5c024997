//! Keys of any algorithm.

use std::fmt;

use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::aead::Aead;
use millstream_engines::chacha20poly1305::ChaCha20Poly1305;
use millstream_engines::gcm::Gcm;
use millstream_engines::hash::Hash;
use millstream_engines::hmac::HmacKey;
use millstream_engines::rc4::Rc4;
use millstream_engines::{Error, aes, camellia, des, kasumi};

use crate::kept::Engine;

/// Declares the enumeration of keys of one kind, by reference, and how it is made from each engine's.
macro_rules! references {
    ($(#[$doc:meta])* $name:ident { $($variant:ident: $engine:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        #[non_exhaustive]
        pub enum $name<'k> {
            $($variant(&'k $engine),)+
        }

        $(impl<'k> From<&'k $engine> for $name<'k> {
            #[inline(always)]
            fn from(key: &'k $engine) -> Self {
                $name::$variant(key)
            }
        })+
    };
}

references! {
    /// A key for a cipher without authentication, in one of its modes.
    CipherKey {
        AesEcb: aes::Ecb,
        AesCbc: aes::Cbc,
        AesCtr: aes::Ctr,
        AesCfb: aes::Cfb,
        AesXts: aes::Xts,
        CamelliaEcb: camellia::Ecb,
        CamelliaCbc: camellia::Cbc,
        CamelliaCtr: camellia::Ctr,
        DesEcb: des::Ecb,
        DesCbc: des::Cbc,
        DesCfb: des::Cfb,
        Rc4: Rc4,
        KasumiF8: kasumi::F8,
    }
}

references! {
    /// A key for an AEAD.
    AeadKey {
        AesGcm: Gcm,
        ChaCha20Poly1305: ChaCha20Poly1305,
    }
}

references! {
    /// A key for a MAC over one message.
    MacKey {
        Hmac: HmacKey,
        AesCmac: aes::Cmac,
        DesMac: des::Mac,
    }
}

impl CipherKey<'_> {
    /// The algorithm, as errors name it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            CipherKey::AesEcb(_) => "aes-ecb",
            CipherKey::AesCbc(_) => "aes-cbc",
            CipherKey::AesCtr(_) => "aes-ctr",
            CipherKey::AesCfb(_) => "aes-cfb128",
            CipherKey::AesXts(_) => "aes-xts",
            CipherKey::CamelliaEcb(_) => "camellia-ecb",
            CipherKey::CamelliaCbc(_) => "camellia-cbc",
            CipherKey::CamelliaCtr(_) => "camellia-ctr",
            CipherKey::DesEcb(_) => "des-ecb",
            CipherKey::DesCbc(_) => "des-cbc",
            CipherKey::DesCfb(_) => "des-cfb64",
            CipherKey::Rc4(_) => "rc4",
            CipherKey::KasumiF8(_) => "kasumi-f8",
        }
    }

    /// Bytes of initialisation vector.
    #[inline(always)]
    pub(crate) fn iv_len(&self) -> usize {
        match self {
            CipherKey::AesEcb(_) | CipherKey::CamelliaEcb(_) | CipherKey::DesEcb(_) | CipherKey::Rc4(_) => 0,
            CipherKey::DesCbc(_) | CipherKey::DesCfb(_) | CipherKey::KasumiF8(_) => 8,
            _ => 16,
        }
    }

    /// Bytes of which the data must be a multiple.
    #[inline(always)]
    pub(crate) fn block(&self) -> usize {
        match self {
            CipherKey::DesEcb(_) | CipherKey::DesCbc(_) => 8,
            CipherKey::AesEcb(_)
            | CipherKey::AesCbc(_)
            | CipherKey::CamelliaEcb(_)
            | CipherKey::CamelliaCbc(_) => 16,
            _ => 1,
        }
    }
}

/// A key of any algorithm, expanded. Zeroised on drop.
///
/// ```
/// use millstream_accelerator::Key;
/// use millstream_cpu::Features;
/// use millstream_cwq::Algorithm;
///
/// let key = Key::new(Features::hardware(), Algorithm::AesCbc, &[7; 16])?;
/// assert_eq!(key.algorithm(), Algorithm::AesCbc);
/// assert!(Key::new(Features::hardware(), Algorithm::AesCbc, &[7; 15]).is_err());
/// # Ok::<(), millstream_engines::Error>(())
/// ```
#[allow(missing_docs)]
#[non_exhaustive]
pub enum Key {
    AesEcb(aes::Ecb),
    AesCbc(aes::Cbc),
    AesCtr(aes::Ctr),
    AesCfb(aes::Cfb),
    AesXts(aes::Xts),
    AesGcm(Gcm),
    AesCmac(aes::Cmac),
    ChaCha20Poly1305(ChaCha20Poly1305),
    CamelliaEcb(camellia::Ecb),
    CamelliaCbc(camellia::Cbc),
    CamelliaCtr(camellia::Ctr),
    DesEcb(Box<des::Ecb>),
    DesCbc(Box<des::Cbc>),
    DesCfb(Box<des::Cfb>),
    DesMac(Box<des::Mac>),
    Rc4(Rc4),
    KasumiF8(kasumi::F8),
    KasumiF9(kasumi::F9),
    Hmac(HmacKey),
}

/// Gives every variant of [`Key`] with the engine's own type to another macro.
macro_rules! every_engine {
    ($callback:ident) => {
        $callback! {
            AesEcb: millstream_engines::aes::Ecb,
            AesCbc: millstream_engines::aes::Cbc,
            AesCtr: millstream_engines::aes::Ctr,
            AesCfb: millstream_engines::aes::Cfb,
            AesXts: millstream_engines::aes::Xts,
            AesGcm: millstream_engines::gcm::Gcm,
            AesCmac: millstream_engines::aes::Cmac,
            ChaCha20Poly1305: millstream_engines::chacha20poly1305::ChaCha20Poly1305,
            CamelliaEcb: millstream_engines::camellia::Ecb,
            CamelliaCbc: millstream_engines::camellia::Cbc,
            CamelliaCtr: millstream_engines::camellia::Ctr,
            DesEcb: millstream_engines::des::Ecb,
            DesCbc: millstream_engines::des::Cbc,
            DesCfb: millstream_engines::des::Cfb,
            DesMac: millstream_engines::des::Mac,
            Rc4: millstream_engines::rc4::Rc4,
            KasumiF8: millstream_engines::kasumi::F8,
            KasumiF9: millstream_engines::kasumi::F9,
            Hmac: millstream_engines::hmac::HmacKey,
        }
    };
}
pub(crate) use every_engine;

macro_rules! by_reference {
    ($($variant:ident: $engine:ty,)+) => {
        /// A key of any algorithm, by reference. In a slot a key takes the room that its own algorithm needs, so there
        /// is no [`Key`] to refer to.
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        #[non_exhaustive]
        pub enum KeyRef<'k> {
            $($variant(&'k $engine),)+
        }

        impl Key {
            /// The same key by reference.
            #[inline(always)]
            pub fn by_ref(&self) -> KeyRef<'_> {
                match self {
                    $(Key::$variant(key) => KeyRef::$variant(key),)+
                }
            }
        }
    };
}
every_engine!(by_reference);

/// Takes an engine's key that was just expanded, whichever engine's it is.
pub(crate) trait KeySink {
    type Output;

    fn accept<E: Engine>(self, key: E) -> Self::Output;
}

/// Expands a key into a sink. A key that goes to a slot never is a [`Key`], which is as large as the largest of them.
///
/// # Errors
/// As [`Key::new`].
#[inline(always)]
pub(crate) fn expand<S: KeySink>(
    features: Features,
    algorithm: Algorithm,
    key: &[u8],
    sink: S,
) -> Result<S::Output, Error> {
    Ok(match algorithm {
        Algorithm::AesEcb => sink.accept(aes::Ecb::new(features, key)?),
        Algorithm::AesCbc => sink.accept(aes::Cbc::new(features, key)?),
        Algorithm::AesCtr => sink.accept(aes::Ctr::new(features, key)?),
        Algorithm::AesCfb => sink.accept(aes::Cfb::new(features, key)?),
        Algorithm::AesXts => sink.accept(aes::Xts::new(features, key)?),
        Algorithm::AesGcm => sink.accept(Gcm::new(features, key)?),
        Algorithm::AesCmac => sink.accept(aes::Cmac::new(features, key)?),
        Algorithm::ChaCha20Poly1305 => sink.accept(ChaCha20Poly1305::new(features, key)?),
        Algorithm::CamelliaEcb => sink.accept(camellia::Ecb::new(features, key)?),
        Algorithm::CamelliaCbc => sink.accept(camellia::Cbc::new(features, key)?),
        Algorithm::CamelliaCtr => sink.accept(camellia::Ctr::new(features, key)?),
        Algorithm::DesEcb => sink.accept(des::Ecb::new(features, key)?),
        Algorithm::DesCbc => sink.accept(des::Cbc::new(features, key)?),
        Algorithm::DesCfb => sink.accept(des::Cfb::new(features, key)?),
        Algorithm::DesMac => sink.accept(des::Mac::new(features, key)?),
        Algorithm::Rc4 => sink.accept(Rc4::new(features, key)?),
        Algorithm::KasumiF8 => sink.accept(kasumi::F8::new(features, key)?),
        Algorithm::KasumiF9 => sink.accept(kasumi::F9::new(features, key)?),
        _ => {
            let Some(hash) = hash_of(algorithm) else {
                return Err(Error::KeyLength {
                    algorithm: "this algorithm",
                    given: key.len(),
                    takes: "no key",
                });
            };
            sink.accept(HmacKey::new(features, hash, key))
        }
    })
}

/// A key as a [`Key`].
struct Whole;

impl KeySink for Whole {
    type Output = Key;

    #[inline(always)]
    fn accept<E: Engine>(self, key: E) -> Key {
        key.into_key()
    }
}

impl Key {
    /// Expands a key; the key of a hash is an HMAC's.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeyLength`] for an algorithm that takes no key.
    pub fn new(features: Features, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        expand(features, algorithm, key, Whole)
    }

    /// Bytes of key memory that a slot takes which holds a key of that algorithm, made from so many bytes, a copy of
    /// which it keeps; none for an algorithm without keys. Memory for keys is given out in units of 64 bytes, so this
    /// is a multiple of 64.
    ///
    /// ```
    /// use millstream_accelerator::Key;
    /// use millstream_cwq::Algorithm;
    ///
    /// let (hmac, gcm) = (Key::place_bytes(Algorithm::Sha256, 32), Key::place_bytes(Algorithm::AesGcm, 32));
    /// assert!(hmac.unwrap() <= 256 && gcm.unwrap() <= 2048);
    /// assert_eq!(Key::place_bytes(Algorithm::Crc32, 4), None);
    /// ```
    pub fn place_bytes(algorithm: Algorithm, key_len: usize) -> Option<usize> {
        crate::kept::place_bytes(algorithm, key_len)
    }

    /// The algorithm it is for.
    pub fn algorithm(&self) -> Algorithm {
        self.by_ref().algorithm()
    }

    /// The key as one for a cipher, if it is.
    #[inline(always)]
    pub fn as_cipher(&self) -> Option<CipherKey<'_>> {
        self.by_ref().as_cipher()
    }

    /// The key as one for an AEAD, if it is.
    #[inline(always)]
    pub fn as_aead(&self) -> Option<AeadKey<'_>> {
        self.by_ref().as_aead()
    }

    /// The key as one for a MAC, if it is.
    #[inline(always)]
    pub fn as_mac(&self) -> Option<MacKey<'_>> {
        self.by_ref().as_mac()
    }
}

impl<'k> KeyRef<'k> {
    /// The algorithm it is for.
    pub fn algorithm(self) -> Algorithm {
        match self {
            KeyRef::AesEcb(_) => Algorithm::AesEcb,
            KeyRef::AesCbc(_) => Algorithm::AesCbc,
            KeyRef::AesCtr(_) => Algorithm::AesCtr,
            KeyRef::AesCfb(_) => Algorithm::AesCfb,
            KeyRef::AesXts(_) => Algorithm::AesXts,
            KeyRef::AesGcm(_) => Algorithm::AesGcm,
            KeyRef::AesCmac(_) => Algorithm::AesCmac,
            KeyRef::ChaCha20Poly1305(_) => Algorithm::ChaCha20Poly1305,
            KeyRef::CamelliaEcb(_) => Algorithm::CamelliaEcb,
            KeyRef::CamelliaCbc(_) => Algorithm::CamelliaCbc,
            KeyRef::CamelliaCtr(_) => Algorithm::CamelliaCtr,
            KeyRef::DesEcb(_) => Algorithm::DesEcb,
            KeyRef::DesCbc(_) => Algorithm::DesCbc,
            KeyRef::DesCfb(_) => Algorithm::DesCfb,
            KeyRef::DesMac(_) => Algorithm::DesMac,
            KeyRef::Rc4(_) => Algorithm::Rc4,
            KeyRef::KasumiF8(_) => Algorithm::KasumiF8,
            KeyRef::KasumiF9(_) => Algorithm::KasumiF9,
            KeyRef::Hmac(key) => algorithm_of(key.hash()),
        }
    }

    /// The key as one for a cipher, if it is.
    #[inline(always)]
    pub fn as_cipher(self) -> Option<CipherKey<'k>> {
        Some(match self {
            KeyRef::AesEcb(key) => key.into(),
            KeyRef::AesCbc(key) => key.into(),
            KeyRef::AesCtr(key) => key.into(),
            KeyRef::AesCfb(key) => key.into(),
            KeyRef::AesXts(key) => key.into(),
            KeyRef::CamelliaEcb(key) => key.into(),
            KeyRef::CamelliaCbc(key) => key.into(),
            KeyRef::CamelliaCtr(key) => key.into(),
            KeyRef::DesEcb(key) => key.into(),
            KeyRef::DesCbc(key) => key.into(),
            KeyRef::DesCfb(key) => key.into(),
            KeyRef::Rc4(key) => key.into(),
            KeyRef::KasumiF8(key) => key.into(),
            _ => return None,
        })
    }

    /// The key as one for an AEAD, if it is.
    #[inline(always)]
    pub fn as_aead(self) -> Option<AeadKey<'k>> {
        match self {
            KeyRef::AesGcm(key) => Some(key.into()),
            KeyRef::ChaCha20Poly1305(key) => Some(key.into()),
            _ => None,
        }
    }

    /// The key as one for a MAC, if it is.
    #[inline(always)]
    pub fn as_mac(self) -> Option<MacKey<'k>> {
        match self {
            KeyRef::Hmac(key) => Some(key.into()),
            KeyRef::AesCmac(key) => Some(key.into()),
            KeyRef::DesMac(key) => Some(key.into()),
            _ => None,
        }
    }
}

impl AeadKey<'_> {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            AeadKey::AesGcm(_) => Gcm::NAME,
            AeadKey::ChaCha20Poly1305(_) => ChaCha20Poly1305::NAME,
        }
    }
}

/// Says which algorithm and nothing of the key.
impl fmt::Debug for KeyRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyRef({:?})", self.algorithm())
    }
}

/// Says which algorithm and nothing of the key.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.algorithm())
    }
}

/// The hash that an algorithm is.
#[inline(always)]
pub const fn hash_of(algorithm: Algorithm) -> Option<Hash> {
    Some(match algorithm {
        Algorithm::Md5 => Hash::Md5,
        Algorithm::Sha1 => Hash::Sha1,
        Algorithm::Sha224 => Hash::Sha224,
        Algorithm::Sha256 => Hash::Sha256,
        Algorithm::Sha384 => Hash::Sha384,
        Algorithm::Sha512 => Hash::Sha512,
        Algorithm::Sha512_256 => Hash::Sha512_256,
        _ => return None,
    })
}

/// The algorithm that a hash is.
pub const fn algorithm_of(hash: Hash) -> Algorithm {
    match hash {
        Hash::Md5 => Algorithm::Md5,
        Hash::Sha1 => Algorithm::Sha1,
        Hash::Sha224 => Algorithm::Sha224,
        Hash::Sha256 => Algorithm::Sha256,
        Hash::Sha384 => Algorithm::Sha384,
        Hash::Sha512 => Algorithm::Sha512,
        Hash::Sha512_256 => Algorithm::Sha512_256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_with_a_key_makes_one() {
        for &algorithm in Algorithm::ALL {
            let keys = [5, 8, 16, 24, 32].iter().map(|&n| {
                let bytes: Vec<u8> = (0..n).collect();
                Key::new(Features::hardware(), algorithm, &bytes)
            });
            let made = keys.flatten().inspect(|key| assert_eq!(key.algorithm(), algorithm)).count();
            let keyless = matches!(
                algorithm,
                Algorithm::None | Algorithm::Crc32 | Algorithm::Crc32c | Algorithm::IpChecksum
            );
            assert_eq!(made > 0, !keyless, "{algorithm:?}");
        }
    }
}
