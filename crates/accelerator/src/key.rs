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
    DesEcb(des::Ecb),
    DesCbc(des::Cbc),
    DesCfb(des::Cfb),
    DesMac(des::Mac),
    Rc4(Rc4),
    KasumiF8(kasumi::F8),
    KasumiF9(kasumi::F9),
    Hmac(HmacKey),
}

impl Key {
    /// Expands a key; the key of a hash is an HMAC's.
    ///
    /// # Errors
    /// As the engine's own `new`; [`Error::KeyLength`] for an algorithm that takes no key.
    pub fn new(features: Features, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        Ok(match algorithm {
            Algorithm::AesEcb => Key::AesEcb(aes::Ecb::new(features, key)?),
            Algorithm::AesCbc => Key::AesCbc(aes::Cbc::new(features, key)?),
            Algorithm::AesCtr => Key::AesCtr(aes::Ctr::new(features, key)?),
            Algorithm::AesCfb => Key::AesCfb(aes::Cfb::new(features, key)?),
            Algorithm::AesXts => Key::AesXts(aes::Xts::new(features, key)?),
            Algorithm::AesGcm => Key::AesGcm(Gcm::new(features, key)?),
            Algorithm::AesCmac => Key::AesCmac(aes::Cmac::new(features, key)?),
            Algorithm::ChaCha20Poly1305 => Key::ChaCha20Poly1305(ChaCha20Poly1305::new(features, key)?),
            Algorithm::CamelliaEcb => Key::CamelliaEcb(camellia::Ecb::new(features, key)?),
            Algorithm::CamelliaCbc => Key::CamelliaCbc(camellia::Cbc::new(features, key)?),
            Algorithm::CamelliaCtr => Key::CamelliaCtr(camellia::Ctr::new(features, key)?),
            Algorithm::DesEcb => Key::DesEcb(des::Ecb::new(features, key)?),
            Algorithm::DesCbc => Key::DesCbc(des::Cbc::new(features, key)?),
            Algorithm::DesCfb => Key::DesCfb(des::Cfb::new(features, key)?),
            Algorithm::DesMac => Key::DesMac(des::Mac::new(features, key)?),
            Algorithm::Rc4 => Key::Rc4(Rc4::new(features, key)?),
            Algorithm::KasumiF8 => Key::KasumiF8(kasumi::F8::new(features, key)?),
            Algorithm::KasumiF9 => Key::KasumiF9(kasumi::F9::new(features, key)?),
            _ => {
                let Some(hash) = hash_of(algorithm) else {
                    return Err(Error::KeyLength {
                        algorithm: "this algorithm",
                        given: key.len(),
                        takes: "no key",
                    });
                };
                Key::Hmac(HmacKey::new(features, hash, key))
            }
        })
    }

    /// The algorithm it is for.
    pub fn algorithm(&self) -> Algorithm {
        match self {
            Key::AesEcb(_) => Algorithm::AesEcb,
            Key::AesCbc(_) => Algorithm::AesCbc,
            Key::AesCtr(_) => Algorithm::AesCtr,
            Key::AesCfb(_) => Algorithm::AesCfb,
            Key::AesXts(_) => Algorithm::AesXts,
            Key::AesGcm(_) => Algorithm::AesGcm,
            Key::AesCmac(_) => Algorithm::AesCmac,
            Key::ChaCha20Poly1305(_) => Algorithm::ChaCha20Poly1305,
            Key::CamelliaEcb(_) => Algorithm::CamelliaEcb,
            Key::CamelliaCbc(_) => Algorithm::CamelliaCbc,
            Key::CamelliaCtr(_) => Algorithm::CamelliaCtr,
            Key::DesEcb(_) => Algorithm::DesEcb,
            Key::DesCbc(_) => Algorithm::DesCbc,
            Key::DesCfb(_) => Algorithm::DesCfb,
            Key::DesMac(_) => Algorithm::DesMac,
            Key::Rc4(_) => Algorithm::Rc4,
            Key::KasumiF8(_) => Algorithm::KasumiF8,
            Key::KasumiF9(_) => Algorithm::KasumiF9,
            Key::Hmac(key) => algorithm_of(key.hash()),
        }
    }

    /// The key as one for a cipher, if it is.
    #[inline(always)]
    pub fn as_cipher(&self) -> Option<CipherKey<'_>> {
        Some(match self {
            Key::AesEcb(key) => key.into(),
            Key::AesCbc(key) => key.into(),
            Key::AesCtr(key) => key.into(),
            Key::AesCfb(key) => key.into(),
            Key::AesXts(key) => key.into(),
            Key::CamelliaEcb(key) => key.into(),
            Key::CamelliaCbc(key) => key.into(),
            Key::CamelliaCtr(key) => key.into(),
            Key::DesEcb(key) => key.into(),
            Key::DesCbc(key) => key.into(),
            Key::DesCfb(key) => key.into(),
            Key::Rc4(key) => key.into(),
            Key::KasumiF8(key) => key.into(),
            _ => return None,
        })
    }

    /// The key as one for an AEAD, if it is.
    #[inline(always)]
    pub fn as_aead(&self) -> Option<AeadKey<'_>> {
        match self {
            Key::AesGcm(key) => Some(key.into()),
            Key::ChaCha20Poly1305(key) => Some(key.into()),
            _ => None,
        }
    }

    /// The key as one for a MAC, if it is.
    #[inline(always)]
    pub fn as_mac(&self) -> Option<MacKey<'_>> {
        match self {
            Key::Hmac(key) => Some(key.into()),
            Key::AesCmac(key) => Some(key.into()),
            Key::DesMac(key) => Some(key.into()),
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
