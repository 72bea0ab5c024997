//! Keys of mechanisms of key encapsulation.
//!
//! ML-KEM's private part is a seed (`seed`) or expanded (`priv`); a hybrid's is ML-KEM's expanded one and the partner's.
//!
//! Ref. EVP_PKEY-ML-KEM(7), provider-keymgmt(7).

use millstream::publickey::mlkem::{MESSAGE, PublicKey, SEED};
use zeroize::Zeroizing;

use super::partner::Partner;
use super::{Kem, Private, Public, encapsulate, strength};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UTF8_STRING};
use crate::cipher::random;
use crate::error::{Reason, Result};
use crate::params::Param;
use crate::pkey::raw::Raw;
use crate::pkey::raw::key::{self, PRIVATE, PUBLIC, Parts, SEED_PART};

/// A key of a mechanism.
pub type Key<K> = key::Key<K>;

/// The public part of both mechanisms.
type Publics<'a, K> = (&'a PublicKey, &'a <<K as Kem>::Partner as Partner>::Public);

impl<K: Kem> Key<K> {
    fn publics(&self) -> Option<Publics<'_, K>> {
        match self.parts() {
            Parts::None => None,
            Parts::Public(public) => Some((&public.lattice, &public.partner)),
            Parts::Pair(private) => Some((private.lattice.public_key(), &private.partner_public)),
            Parts::There(there) => Some((&there.public.lattice, &there.public.partner)),
        }
    }

    /// Returns the kernel's name, where there is a part.
    pub fn kernel(&self) -> Option<&'static str> {
        Some(self.publics()?.0.kernel().name)
    }

    /// Makes a secret and its ciphertext, in places that are as long as both are. Without a message it is random.
    pub fn encapsulate(&self, message: Option<&[u8; MESSAGE]>, places: (&mut [u8], &mut [u8])) -> Result<()> {
        let publics = self.publics().ok_or(Reason::MISSING_KEY)?;
        match message {
            Some(message) => encapsulate::<K>(publics, message, places),
            None => {
                let mut message = Zeroizing::new([0; MESSAGE]);
                random(&mut *message)?;
                encapsulate::<K>(publics, &message, places)
            }
        }
    }

    /// Writes the secret in a ciphertext to a place that is as long.
    pub fn decapsulate(&self, ciphertext: &[u8], secret: &mut [u8]) -> Result<()> {
        self.private().ok_or(Reason::MISSING_KEY)?.decapsulate(ciphertext, secret)
    }
}

const ENCODED: OsslParam = OsslParam::described(c"encoded-pub-key", OCTET_STRING);
const PROPERTIES: OsslParam = OsslParam::described(c"properties", UTF8_STRING);
const GROUP: OsslParam = OsslParam::described(c"group", UTF8_STRING);
const BITS: OsslParam = OsslParam::described(c"bits", INTEGER);
const SECURITY_BITS: OsslParam = OsslParam::described(c"security-bits", INTEGER);
const MAX_SIZE: OsslParam = OsslParam::described(c"max-size", INTEGER);
const CATEGORY: OsslParam = OsslParam::described(c"security-category", INTEGER);
const RECIPIENT: OsslParam = OsslParam::described(c"ri-type", INTEGER);
const RECIPIENT_KDF: OsslParam = OsslParam::described(c"kemri-kdf-alg", OCTET_STRING);

/// The kind of recipient that a key makes in CMS, in OpenSSL's numbers: one with a KEM. Ref. RFC 9629.
const KEM_RECIPIENT: usize = 5;
/// The derivation of its keys, as an AlgorithmIdentifier: HKDF with SHA-256. Ref. RFC 9936, RFC 8619.
const HKDF_SHA256: &[u8] = b"\x30\x0d\x06\x0b\x2a\x86\x48\x86\xf7\x0d\x01\x09\x10\x03\x1c";

impl<K: Kem> Raw for K {
    const NAMES: &'static std::ffi::CStr = <K as Kem>::NAMES;
    const SEED: usize = if K::ALONE { SEED } else { 0 };
    const SHARED: bool = true;
    const PARTS: &'static [OsslParam] = if K::ALONE {
        &[SEED_PART, PRIVATE, PUBLIC, OsslParam::END]
    } else {
        &[PRIVATE, PUBLIC, OsslParam::END]
    };
    const GETTABLE: &'static [OsslParam] = if K::ALONE {
        &[
            BITS,
            SECURITY_BITS,
            MAX_SIZE,
            CATEGORY,
            SEED_PART,
            PRIVATE,
            PUBLIC,
            ENCODED,
            RECIPIENT,
            RECIPIENT_KDF,
            OsslParam::END,
        ]
    } else {
        &[BITS, SECURITY_BITS, MAX_SIZE, CATEGORY, ENCODED, PRIVATE, OsslParam::END]
    };
    const SETTABLE: &'static [OsslParam] =
        if K::ALONE { &[ENCODED, OsslParam::END] } else { &[ENCODED, PROPERTIES, OsslParam::END] };
    const GENERATED_BY: &'static [OsslParam] = if K::ALONE {
        &[SEED_PART, GROUP, PROPERTIES, OsslParam::END]
    } else {
        &[GROUP, PROPERTIES, OsslParam::END]
    };
    type Public = Public<K>;
    type Private = Private<K>;

    fn public(bytes: &[u8]) -> Result<Public<K>> {
        Public::new(bytes)
    }

    fn private(bytes: &[u8]) -> Result<Private<K>> {
        Private::new(bytes)
    }

    fn generate(seed: Option<&[u8]>) -> Result<Private<K>> {
        Private::generate(seed)
    }

    fn public_bytes(public: &Public<K>) -> &[u8] {
        &public.bytes
    }

    fn public_bytes_in(private: &Private<K>) -> &[u8] {
        &private.bytes
    }

    fn to_public(private: &Private<K>) -> Public<K> {
        private.to_public()
    }

    fn to_expanded(private: &Private<K>) -> Result<Zeroizing<Vec<u8>>> {
        private.to_bytes()
    }

    fn seed(private: &Private<K>) -> Option<&[u8]> {
        private.lattice.seed().filter(|_| K::ALONE).map(|seed| &seed[..])
    }

    fn check(private: &Private<K>) -> Result<()> {
        private.try_halves()
    }

    fn tell(param: &Param<'_>) -> Result<()> {
        let (security, category) = strength(K::SET);
        match param.key().to_bytes() {
            // OpenSSL counts the bits of ML-KEM by the set's number: 512, 768 or 1024.
            b"bits" => param.set_size(8 * (K::SET.public_key_len() - 32) / 12),
            b"security-bits" => param.set_size(security),
            b"security-category" => param.set_size(category),
            b"max-size" => param.set_size(K::CIPHERTEXT),
            b"ri-type" if K::ALONE => param.set_size(KEM_RECIPIENT),
            b"kemri-kdf-alg" if K::ALONE => param.set_octets(HKDF_SHA256),
            _ => Ok(()),
        }
    }

    fn check_group(group: &str) -> Result<()> {
        // libssl names the group, or the empty name where the type of key is the group.
        let ours = [K::NAME, K::GROUP.0].map(|name| name.to_str().unwrap_or_default());
        if group.is_empty() || ours.iter().any(|name| group.eq_ignore_ascii_case(name)) {
            Ok(())
        } else {
            Err(Reason::NOT_SUPPORTED.with("a key of this type has no group to choose"))
        }
    }
}
