//! Keys whose parts are strings of bytes: those of ML-KEM, of its hybrids, of ML-DSA and of SLH-DSA.
//!
//! A key is made once and then stays as it is. A private part is a seed, from which the rest is computed, or expanded, or both. Where keys
//! are isolated, private parts of types that the service has are there.
//!
//! Ref. EVP_PKEY-ML-KEM(7), EVP_PKEY-ML-DSA(7), EVP_PKEY-SLH-DSA(7), provider-keymgmt(7).

pub mod asn1;
pub mod encoding;
pub mod key;
mod text;

use std::ffi::CStr;

use der::asn1::ObjectIdentifier;
use millstream::cwq::Algorithm;
use zeroize::Zeroizing;

use crate::abi::OsslParam;
use crate::error::{Reason, Result};
use crate::params::Param;

/// A type of keys.
pub trait Raw: 'static {
    /// OpenSSL's names of the type.
    const NAMES: &'static CStr;
    /// The bytes of a seed; 0 where keys have none.
    const SEED: usize;
    /// True where a key can be told by its seed alone, when it is imported and afterwards. Otherwise a seed is for making a key only.
    const KEEPS_SEED: bool = Self::SEED > 0;
    /// The algorithm of the service that takes such private keys, as a seed or expanded, and the bytes of an expanded one; none where
    /// private parts always stay in this process.
    const IN_SERVICE: Option<(Algorithm, usize)> = None;
    /// True where the public part of a key can be set, once, as it comes from a peer: in the parameter `encoded-pub-key`.
    const SHARED: bool;
    /// The parameters that a key is imported from and exported to.
    const PARTS: &'static [OsslParam];
    /// The parameters that tell about a key.
    const GETTABLE: &'static [OsslParam];
    /// The parameters of a key that can be set.
    const SETTABLE: &'static [OsslParam];
    /// The parameters of a key that is to be made.
    const GENERATED_BY: &'static [OsslParam];
    /// The public part.
    type Public: 'static;
    /// The private part, which has the public part in it.
    type Private: 'static;

    /// Takes an encoded public part, and checks it.
    fn public(bytes: &[u8]) -> Result<Self::Public>;
    /// Takes an expanded private part, and checks that its halves belong together.
    fn private(bytes: &[u8]) -> Result<Self::Private>;
    /// Does the same where an encoded public part comes beside it, which the key has to have.
    fn private_beside(bytes: &[u8], _public: &[u8]) -> Result<Self::Private> {
        Self::private(bytes)
    }
    /// Makes a private part of a seed of [`Raw::SEED`] bytes, or of random bytes.
    fn generate(seed: Option<&[u8]>) -> Result<Self::Private>;
    /// Returns the encoding of a public part.
    fn public_bytes(public: &Self::Public) -> &[u8];
    /// Returns the encoding of the public part in a private one.
    fn public_bytes_in(private: &Self::Private) -> &[u8];
    /// Returns a copy of the public part in a private one.
    fn to_public(private: &Self::Private) -> Self::Public;
    /// Returns the expanded form of a private part.
    fn to_expanded(private: &Self::Private) -> Result<Zeroizing<Vec<u8>>>;
    /// Returns the seed that a private part came from; none where it was given in its expanded form.
    fn seed(private: &Self::Private) -> Option<&[u8]>;
    /// Fails unless the halves of a private part belong together.
    fn check(private: &Self::Private) -> Result<()>;
    /// Answers a question about keys of the type.
    fn tell(param: &Param<'_>) -> Result<()>;

    /// Fails where keys of the type do not belong to a group of that name.
    fn check_group(_name: &str) -> Result<()> {
        Ok(())
    }
}

/// A type of keys that files and certificates have.
pub trait Encoded: Raw {
    /// The object identifier of the keys.
    const OID: ObjectIdentifier;
    /// The name that OpenSSL writes.
    const NAME: &'static CStr;
    /// The words that OpenSSL writes before an expanded private part and before a public one.
    const LABELS: [&'static str; 2];
    /// The line of the provider's configuration that lists the forms in which private keys are written, as OpenSSL has it from 3.5 on;
    /// none where a private key has one form alone, which stands in PKCS#8 as it is.
    const OUTPUT_FORMATS: Option<&'static CStr>;
}

/// Fails unless a key's encoding has as many bytes as it has to have.
pub fn check_len(what: &str, bytes: &[u8], len: usize) -> Result<()> {
    if bytes.len() == len {
        return Ok(());
    }
    let given = bytes.len();
    Err(Reason::INVALID_KEY_LENGTH.because(format!("the {what} key has {given} bytes; it has to have {len}")))
}
