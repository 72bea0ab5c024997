//! Keys of any algorithm.

use std::fmt;

use millstream_cpu::Features;
use millstream_cwq::Algorithm;
use millstream_engines::aead::Aead;
use millstream_engines::hmac::HmacKey;
use millstream_engines::modes::{BlockMode, StreamMode};
use millstream_engines::{Error, Kernel};
use millstream_publickey::{ecdsa, mldsa, mlkem, slhdsa};

use crate::algorithms::{algorithm_of, every_algorithm, every_engine, hash_of, whole_tag};
use crate::sets::{algorithm_of_curve, algorithm_of_kem, algorithm_of_signer, algorithm_of_slh_dsa};

/// A key that a [`Key`] holds itself.
type Inline<T> = T;
/// A key that a [`Key`] holds in a box, because it is much larger than others.
type Boxed<T> = Box<T>;

/// An engine's key, which a slot can hold.
pub(crate) trait Engine: Send + Sync + Sized {
    const KIND: KeyKind;

    fn into_key(self) -> Key;
}

/// Takes an engine's key that was just expanded, whichever engine's it is.
pub(crate) trait KeySink {
    type Output;

    fn accept<E: Engine>(self, key: E) -> Self::Output;
}

macro_rules! keys {
    ($($name:ident = $module:ident::$engine:ident as $stored:ident;)+) => {
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
            $($name($stored<crate::engines::$module::$engine>),)+
        }

        /// A key of any algorithm, by reference. In a slot a key takes the room that its own algorithm needs, so there
        /// is no [`Key`] to refer to.
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        #[non_exhaustive]
        pub enum KeyRef<'k> {
            $($name(&'k crate::engines::$module::$engine),)+
        }

        /// The engine whose key lies in a place.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum KeyKind {
            $($name,)+
        }

        impl Key {
            /// Returns the same key by reference.
            #[inline(always)]
            pub fn by_ref(&self) -> KeyRef<'_> {
                match self {
                    $(Key::$name(key) => KeyRef::$name(key),)+
                }
            }

            /// Returns the kernel that the key is bound to.
            pub fn kernel(&self) -> &'static Kernel {
                match self {
                    $(Key::$name(key) => key.kernel(),)+
                }
            }
        }

        $(impl Engine for crate::engines::$module::$engine {
            const KIND: KeyKind = KeyKind::$name;

            #[inline(always)]
            fn into_key(self) -> Key {
                Key::$name(self.into())
            }
        })+
    };
}
every_engine!(keys);

/// Declares the enumeration of keys of one class, by reference, and how it is made from each engine's.
macro_rules! references {
    ($(#[$doc:meta])* $class:ident { $($name:ident: $engine:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[allow(missing_docs)]
        #[non_exhaustive]
        pub enum $class<'k> {
            $($name(&'k $engine),)+
        }

        $(impl<'k> From<&'k $engine> for $class<'k> {
            #[inline(always)]
            fn from(key: &'k $engine) -> Self {
                $class::$name(key)
            }
        })+
    };
}

/// An algorithm's name: that of its number, or the engine's own, which one of its traits has.
macro_rules! name {
    (Algorithm $algorithm:ident $module:ident::$engine:ident) => {
        Algorithm::$algorithm.name()
    };
    ($mode:ident $algorithm:ident $module:ident::$engine:ident) => {
        <crate::engines::$module::$engine as $mode>::NAME
    };
}

macro_rules! classes {
    (
        ciphers { $($cipher:ident = $cipher_in:ident::$cipher_key:ident as $cipher_stored:ident {
            facts { name: $cipher_name:ident, iv: $iv:literal, block: $block:literal, cost: $cipher_cost:literal }
            $($cipher_rest:tt)+
        })+ }
        aeads { $($aead:ident = $aead_in:ident::$aead_key:ident as $aead_stored:ident {
            facts { name: $aead_name:ident, cost: $aead_cost:literal }
            $($aead_rest:tt)+
        })+ }
        macs { $($mac:ident = $mac_in:ident::$mac_key:ident as $mac_stored:ident {
            facts { name: $mac_name:ident, cost: $mac_cost:literal }
            $($mac_rest:tt)+
        })+ }
        macs_with_iv { $($coded:ident = $coded_in:ident::$coded_key:ident as $coded_stored:ident $coded_rest:tt)+ }
        formats { $($format:ident = $format_in:ident::$format_key:ident as $format_stored:ident $format_rest:tt)+ }
        private_keys { $($pair:ident = $pair_in:ident::$pair_key:ident as $pair_stored:ident {
            facts $pair_facts:tt
            new $pair_new:ident
            keys $pair_keys:tt
            gives $pair_gives:tt
        })+ }
        curves { $($curve:ident $curve_rest:tt)+ }
        post_quantum { $($set_of:ident = $set_in:ident::$set:ident as $set_key:ident $set_rest:tt)+ }
        $($rest:tt)+
    ) => {
        references! {
            /// A key for a cipher without authentication, in one of its modes.
            CipherKey { $($cipher: crate::engines::$cipher_in::$cipher_key,)+ }
        }

        references! {
            /// A key for an AEAD.
            AeadKey { $($aead: crate::engines::$aead_in::$aead_key,)+ }
        }

        references! {
            /// A key for a MAC over one message.
            MacKey {
                Hmac: HmacKey,
                $($mac: crate::engines::$mac_in::$mac_key,)+
            }
        }

        references! {
            /// A private key of a public-key algorithm.
            PrivateKey {
                Curve: ecdsa::PrivateKey,
                MlKem: mlkem::PrivateKey,
                MlDsa: mldsa::PrivateKey,
                SlhDsa: slhdsa::PrivateKey,
                $($pair: crate::engines::$pair_in::$pair_key,)+
            }
        }

        impl CipherKey<'_> {
            /// Returns the algorithm, as errors name it.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(CipherKey::$cipher(_) => name!($cipher_name $cipher $cipher_in::$cipher_key),)+
                }
            }

            /// Returns the bytes of an initialisation vector.
            #[inline(always)]
            pub(crate) fn iv_len(&self) -> usize {
                match self {
                    $(CipherKey::$cipher(_) => $iv,)+
                }
            }

            /// Returns the number of bytes of which the data must be a multiple.
            #[inline(always)]
            pub(crate) fn block(&self) -> usize {
                match self {
                    $(CipherKey::$cipher(_) => $block,)+
                }
            }
        }

        impl AeadKey<'_> {
            /// Returns the algorithm, as errors name it.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(AeadKey::$aead(_) => name!($aead_name $aead $aead_in::$aead_key),)+
                }
            }
        }

        impl MacKey<'_> {
            /// Returns the algorithm, as errors name it, and the bytes of a whole tag.
            #[inline(always)]
            pub(crate) fn name_and_tag(&self) -> (&'static str, usize) {
                match self {
                    MacKey::Hmac(key) => (key.hash().name(), key.hash().output_len()),
                    $(MacKey::$mac(_) => {
                        (name!($mac_name $mac $mac_in::$mac_key), const { whole_tag(Algorithm::$mac) })
                    })+
                }
            }
        }

        impl<'k> KeyRef<'k> {
            /// Returns the key's algorithm.
            pub fn algorithm(self) -> Algorithm {
                match self {
                    $(KeyRef::$cipher(_) => Algorithm::$cipher,)+
                    $(KeyRef::$aead(_) => Algorithm::$aead,)+
                    $(KeyRef::$mac(_) => Algorithm::$mac,)+
                    $(KeyRef::$coded(_) => Algorithm::$coded,)+
                    $(KeyRef::$format(_) => Algorithm::$format,)+
                    $(KeyRef::$pair(_) => Algorithm::$pair,)+
                    KeyRef::Curve(key) => algorithm_of_curve(key.curve()),
                    KeyRef::MlKem(key) => algorithm_of_kem(key.set()),
                    KeyRef::MlDsa(key) => algorithm_of_signer(key.set()),
                    KeyRef::SlhDsa(key) => algorithm_of_slh_dsa(key.set()),
                    KeyRef::Hmac(key) => algorithm_of(key.hash()),
                }
            }

            /// Returns the key as one for a cipher, if it is.
            #[inline(always)]
            pub fn as_cipher(self) -> Option<CipherKey<'k>> {
                match self {
                    $(KeyRef::$cipher(key) => Some(key.into()),)+
                    $(KeyRef::$aead(_) => None,)+
                    $(KeyRef::$mac(_) => None,)+
                    $(KeyRef::$coded(_) => None,)+
                    $(KeyRef::$format(_) => None,)+
                    $(KeyRef::$pair(_) => None,)+
                    KeyRef::Curve(_)
                    | KeyRef::MlKem(_)
                    | KeyRef::MlDsa(_)
                    | KeyRef::SlhDsa(_)
                    | KeyRef::Hmac(_) => None,
                }
            }

            /// Returns the key as one for an AEAD, if it is.
            #[inline(always)]
            pub fn as_aead(self) -> Option<AeadKey<'k>> {
                match self {
                    $(KeyRef::$aead(key) => Some(key.into()),)+
                    _ => None,
                }
            }

            /// Returns the key as a private key, if it is.
            #[inline(always)]
            pub fn as_private(self) -> Option<PrivateKey<'k>> {
                match self {
                    KeyRef::Curve(key) => Some(key.into()),
                    KeyRef::MlKem(key) => Some(key.into()),
                    KeyRef::MlDsa(key) => Some(key.into()),
                    KeyRef::SlhDsa(key) => Some(key.into()),
                    $(KeyRef::$pair(key) => Some(key.into()),)+
                    _ => None,
                }
            }

            /// Returns the key as one for a MAC, if it is.
            #[inline(always)]
            pub fn as_mac(self) -> Option<MacKey<'k>> {
                match self {
                    KeyRef::Hmac(key) => Some(key.into()),
                    $(KeyRef::$mac(key) => Some(key.into()),)+
                    _ => None,
                }
            }
        }

        impl KeyKind {
            /// Returns the kind of an algorithm's keys.
            #[inline(always)]
            pub(crate) fn of(algorithm: Algorithm) -> Option<Self> {
                match algorithm {
                    $(Algorithm::$cipher => Some(KeyKind::$cipher),)+
                    $(Algorithm::$aead => Some(KeyKind::$aead),)+
                    $(Algorithm::$mac => Some(KeyKind::$mac),)+
                    $(Algorithm::$coded => Some(KeyKind::$coded),)+
                    $(Algorithm::$format => Some(KeyKind::$format),)+
                    $(Algorithm::$pair => Some(KeyKind::$pair),)+
                    $(Algorithm::$curve => Some(KeyKind::Curve),)+
                    $(Algorithm::$set_of => Some(KeyKind::$set_key),)+
                    _ => hash_of(algorithm).map(|_| KeyKind::Hmac),
                }
            }
        }

        /// Expands a key into a sink. A key that goes to a slot never is a [`Key`], which is as large as the largest of them.
        ///
        /// # Errors
        /// The errors of [`Key::new`].
        #[inline(always)]
        pub(crate) fn expand<S: KeySink>(
            features: Features,
            algorithm: Algorithm,
            key: &[u8],
            sink: S,
        ) -> Result<S::Output, Error> {
            Ok(match algorithm {
                $(Algorithm::$cipher => {
                    sink.accept(crate::engines::$cipher_in::$cipher_key::new(features, key)?)
                })+
                $(Algorithm::$aead => {
                    sink.accept(crate::engines::$aead_in::$aead_key::new(features, key)?)
                })+
                $(Algorithm::$mac => sink.accept(crate::engines::$mac_in::$mac_key::new(features, key)?),)+
                $(Algorithm::$coded => {
                    sink.accept(crate::engines::$coded_in::$coded_key::new(features, key)?)
                })+
                $(Algorithm::$format => {
                    sink.accept(crate::engines::$format_in::$format_key::new(features, key)?)
                })+
                $(Algorithm::$pair => {
                    let pair = crate::engines::$pair_in::$pair_key::$pair_new(features, key);
                    sink.accept(pair.map_err(|error| refusal(error, key.len()))?)
                })+
                $(Algorithm::$curve => {
                    let pair = ecdsa::PrivateKey::new(features, ecdsa::Curve::$curve, key);
                    sink.accept(pair.map_err(|error| refusal(error, key.len()))?)
                })+
                $(Algorithm::$set_of => {
                    let set = crate::engines::$set_in::Set::$set;
                    let pair = crate::engines::$set_in::PrivateKey::new(features, set, key);
                    sink.accept(pair.map_err(|error| refusal(error, key.len()))?)
                })+
                _ => sink.accept(expand_hmac(features, algorithm, key)?),
            })
        }
    };
}
every_algorithm!(classes);

/// Returns the refusal of a private key as the engines' own.
#[cold]
fn refusal(error: millstream_publickey::Error, given: usize) -> Error {
    match error {
        millstream_publickey::Error::Length { algorithm, takes, .. } => {
            Error::KeyLength { algorithm, given, takes }
        }
        millstream_publickey::Error::Scalar { algorithm } => Error::KeyLength {
            algorithm,
            given,
            takes: "a scalar above zero and below the order of the group",
        },
        millstream_publickey::Error::Encoding { algorithm, .. } => {
            Error::KeyLength { algorithm, given, takes: "a seed, or a whole key whose parts fit each other" }
        }
        _ => Error::KeyLength {
            algorithm: "rsa",
            given,
            takes: "an RSAPrivateKey in DER, with two primes and a modulus of 1024 to 4096 bits",
        },
    }
}

/// Expands the HMAC key of a hash.
#[inline(always)]
fn expand_hmac(features: Features, algorithm: Algorithm, key: &[u8]) -> Result<HmacKey, Error> {
    let Some(hash) = hash_of(algorithm) else {
        return Err(Error::KeyLength { algorithm: "this algorithm", given: key.len(), takes: "no key" });
    };
    Ok(HmacKey::new(features, hash, key))
}

/// Makes a [`Key`] of whatever engine's key it gets.
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
    /// The errors of the engine's own `new`; [`Error::KeyLength`] for an algorithm that takes no key.
    pub fn new(features: Features, algorithm: Algorithm, key: &[u8]) -> Result<Self, Error> {
        expand(features, algorithm, key, Whole)
    }

    /// Returns the key's algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.by_ref().algorithm()
    }

    /// Returns the key as one for a cipher, if it is.
    #[inline(always)]
    pub fn as_cipher(&self) -> Option<CipherKey<'_>> {
        self.by_ref().as_cipher()
    }

    /// Returns the key as one for an AEAD, if it is.
    #[inline(always)]
    pub fn as_aead(&self) -> Option<AeadKey<'_>> {
        self.by_ref().as_aead()
    }

    /// Returns the key as one for a MAC, if it is.
    #[inline(always)]
    pub fn as_mac(&self) -> Option<MacKey<'_>> {
        self.by_ref().as_mac()
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

#[cfg(test)]
mod tests {
    use millstream_testkit::keys;

    use super::*;
    use crate::sets::{slh_dsa_set, some_slh_dsa_key};

    #[test]
    fn every_algorithm_with_a_key_makes_one() {
        for &algorithm in Algorithm::ALL {
            let keys = match slh_dsa_set(algorithm) {
                Some(set) => vec![some_slh_dsa_key(set)],
                None => [5_u8, 8, 16, 24, 32, 48, 64, 66]
                    .map(|len| (0..len).collect())
                    .into_iter()
                    .chain([keys::RSA_1024.to_vec()])
                    .collect(),
            };
            let keys = keys.iter().map(|bytes| Key::new(Features::hardware(), algorithm, bytes));
            let made = keys.flatten().inspect(|key| assert_eq!(key.algorithm(), algorithm)).count();
            let keyless = matches!(
                algorithm,
                Algorithm::None
                    | Algorithm::Crc32
                    | Algorithm::Crc32c
                    | Algorithm::IpChecksum
                    | Algorithm::Random
            );
            assert_eq!(made > 0, !keyless, "{algorithm:?}");
        }
    }
}
