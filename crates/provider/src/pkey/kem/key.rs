//! Keys of mechanisms of key encapsulation, as OpenSSL sees them.
//!
//! A key is made once and then stays as it is. ML-KEM's private part is a seed (`seed`) or expanded (`priv`); a hybrid's is ML-KEM's
//! expanded one and the partner's.
//!
//! Ref. EVP_PKEY-ML-KEM(7), provider-keymgmt(7).

use std::marker::PhantomData;
use std::sync::Arc;

use millstream::publickey::mlkem::{PublicKey, SEED};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::partner::Partner;
use super::{Kem, Private, Public, encapsulate, strength};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UTF8_STRING};
use crate::cipher::random;
use crate::error::{Reason, Result};
use crate::params::{Param, Params};
use crate::pkey::{KeyType, Selection};
use crate::provider::Provider;

/// The parts that a key has.
enum Parts<K: Kem> {
    None,
    Public(Arc<Public<K>>),
    Pair(Arc<Private<K>>),
}

impl<K: Kem> Clone for Parts<K> {
    fn clone(&self) -> Self {
        match self {
            Parts::None => Parts::None,
            Parts::Public(public) => Parts::Public(Arc::clone(public)),
            Parts::Pair(private) => Parts::Pair(Arc::clone(private)),
        }
    }
}

/// A key: a pair, a public part, or nothing yet.
pub struct Key<K: Kem> {
    pub provider: Provider,
    parts: Parts<K>,
}

impl<K: Kem> Clone for Key<K> {
    fn clone(&self) -> Self {
        Key { parts: self.parts.clone(), ..*self }
    }
}

/// The public part of both mechanisms.
type Publics<'a, K> = (&'a PublicKey, &'a <<K as Kem>::Partner as Partner>::Public);

impl<K: Kem> Key<K> {
    fn private(&self) -> Option<&Private<K>> {
        match &self.parts {
            Parts::Pair(private) => Some(private),
            _ => None,
        }
    }

    fn publics(&self) -> Option<Publics<'_, K>> {
        match &self.parts {
            Parts::None => None,
            Parts::Public(public) => Some((&public.lattice, &public.partner)),
            Parts::Pair(private) => Some((private.lattice.public_key(), &private.partner_public)),
        }
    }

    /// Returns the encoding of the public part.
    fn public_bytes(&self) -> Option<&[u8]> {
        match &self.parts {
            Parts::None => None,
            Parts::Public(public) => Some(&public.bytes),
            Parts::Pair(private) => Some(&private.bytes),
        }
    }

    /// Returns the kernel's name, where there is a part.
    pub fn kernel(&self) -> Option<&'static str> {
        Some(self.publics()?.0.kernel().name)
    }

    /// Makes a secret and its ciphertext, in places that are as long as both are. Without a message it is random.
    pub fn encapsulate(&self, message: Option<&[u8; 32]>, places: (&mut [u8], &mut [u8])) -> Result<()> {
        let publics = self.publics().ok_or(Reason::MISSING_KEY)?;
        match message {
            Some(message) => encapsulate::<K>(publics, message, places),
            None => {
                let mut message = Zeroizing::new([0; 32]);
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

const SEED_PART: OsslParam = OsslParam::described(c"seed", OCTET_STRING);
const PUBLIC: OsslParam = OsslParam::described(c"pub", OCTET_STRING);
const PRIVATE: OsslParam = OsslParam::described(c"priv", OCTET_STRING);
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

/// A key that is to be made.
pub struct Wanted<K> {
    provider: Provider,
    selection: Selection,
    /// The seed, where it is not random.
    seed: Option<Zeroizing<[u8; SEED]>>,
    kem: PhantomData<K>,
}

/// The private parts of a key that is imported.
struct Given<'a> {
    seed: Option<&'a [u8]>,
    private: Option<&'a [u8]>,
    public: Option<&'a [u8]>,
}

impl<'a> Given<'a> {
    /// Reads parameters, in which an empty value stands for none.
    fn read(params: Params<'a>, seeds: bool, privates: bool) -> Result<Self> {
        let part = |name, wanted: bool| -> Result<Option<&'a [u8]>> {
            let param = params.find(name).filter(|_| wanted);
            Ok(param.map(|param| param.octets()).transpose()?.filter(|bytes| !bytes.is_empty()))
        };
        let seed = part(c"seed", seeds && privates)?;
        Ok(Given { seed, private: part(c"priv", privates)?, public: part(c"pub", true)? })
    }

    /// Makes the parts of a key. Those that are given twice, as with a seed and expanded, must be the same.
    fn key<K: Kem>(&self) -> Result<Parts<K>> {
        let pair = match (self.seed, self.private) {
            (Some(seed), private) => {
                let key = Private::<K>::generate(Some(checked_seed(seed)?))?;
                if let Some(private) = private
                    && !bool::from(key.to_bytes()?.ct_eq(private))
                {
                    return Err(Reason::INVALID_KEY.with("the private key is not that of the seed"));
                }
                Some(key)
            }
            (None, Some(private)) => Some(Private::new(private)?),
            (None, None) => None,
        };
        match (pair, self.public) {
            (Some(pair), Some(public)) if *pair.bytes != *public => {
                Err(Reason::INVALID_KEY.with("the public key is not that of the private key"))
            }
            (Some(pair), _) => Ok(Parts::Pair(Arc::new(pair))),
            (None, Some(public)) => Ok(Parts::Public(Arc::new(Public::new(public)?))),
            (None, None) => Err(Reason::MISSING_KEY),
        }
    }
}

fn checked_seed(seed: &[u8]) -> Result<&[u8]> {
    if seed.len() == SEED { Ok(seed) } else { Err(Reason::INVALID_SEED_LENGTH) }
}

/// Answers with bytes that are gone after the call, so that there is nothing to point to.
fn set_passing(param: &Param<'_>, bytes: &[u8]) -> Result<()> {
    if param.is_octets() { param.set_octets(bytes) } else { Err(Reason::FAILED_TO_SET_PARAMETER) }
}

impl<K: Kem> KeyType for Key<K> {
    const NAMES: &'static std::ffi::CStr = K::NAMES;
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
    type Wanted = Wanted<K>;

    fn new(provider: Provider, _isolated: bool) -> Self {
        Key { provider, parts: Parts::None }
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn has(&self, selection: Selection) -> bool {
        match (selection.has_private(), selection.has_public()) {
            (true, _) => self.private().is_some(),
            (false, true) => self.publics().is_some(),
            (false, false) => true,
        }
    }

    fn matches(&self, other: &Self, selection: Selection) -> bool {
        // A private part has its public one with it, which is no secret.
        !selection.has_keys() || self.public_bytes() == other.public_bytes()
    }

    fn validate(&self, selection: Selection) -> Result<()> {
        if !self.has(selection) {
            return Err(Reason::MISSING_KEY);
        }
        match self.private() {
            Some(private) if selection.has_private() && selection.has_public() => private.try_halves(),
            _ => Ok(()),
        }
    }

    fn import(&mut self, selection: Selection, params: Params<'_>) -> Result<()> {
        if !selection.has_keys() {
            return Err(Reason::MISSING_KEY);
        }
        self.parts = Given::read(params, K::ALONE, selection.has_private())?.key()?;
        Ok(())
    }

    fn export(&self, selection: Selection, taker: &mut dyn FnMut(&[OsslParam]) -> bool) -> Result<()> {
        let public = self.public_bytes().filter(|_| selection.has_keys()).ok_or(Reason::MISSING_KEY)?;
        let private = self.private().filter(|_| selection.has_private());
        let expanded = private.map(Private::to_bytes).transpose()?;
        let seed = private.and_then(|private| private.lattice.seed()).filter(|_| K::ALONE);
        let filled = |of: &OsslParam, bytes: &[u8]| OsslParam {
            data: bytes.as_ptr().cast_mut().cast(),
            data_size: bytes.len(),
            ..*of
        };
        let mut params = [OsslParam::END; 4];
        let parts = [
            seed.map(|seed| filled(&SEED_PART, seed)),
            expanded.as_ref().map(|expanded| filled(&PRIVATE, expanded)),
            selection.has_public().then(|| filled(&PUBLIC, public)),
        ];
        params.iter_mut().zip(parts.into_iter().flatten()).for_each(|(place, part)| *place = part);
        if taker(&params) { Ok(()) } else { Err(Reason::TOLD) }
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        let (security, category) = strength(K::SET);
        for param in params {
            match (param.key().to_bytes(), self.public_bytes(), self.private()) {
                // OpenSSL counts the bits of ML-KEM by the set's number: 512, 768 or 1024.
                (b"bits", ..) => param.set_size(8 * (K::SET.public_key_len() - 32) / 12)?,
                (b"security-bits", ..) => param.set_size(security)?,
                (b"security-category", ..) => param.set_size(category)?,
                (b"max-size", ..) => param.set_size(K::CIPHERTEXT)?,
                (b"encoded-pub-key" | b"pub", Some(public), _) => param.set_octets(public)?,
                (b"priv", _, Some(private)) => set_passing(&param, &private.to_bytes()?)?,
                (b"seed", _, Some(private)) if K::ALONE => {
                    private.lattice.seed().map_or(Ok(()), |seed| set_passing(&param, seed))?;
                }
                (b"ri-type", ..) if K::ALONE => param.set_size(KEM_RECIPIENT)?,
                (b"kemri-kdf-alg", ..) if K::ALONE => param.set_octets(HKDF_SHA256)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        let Some(encoded) = params.find(c"encoded-pub-key") else { return Ok(()) };
        if self.publics().is_some() {
            return Err(
                Reason::OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE.with("a key with a public part keeps it")
            );
        }
        self.parts = Parts::Public(Arc::new(Public::new(encoded.octets()?)?));
        Ok(())
    }

    fn copy(&self, selection: Selection) -> Self {
        let parts = match &self.parts {
            Parts::Pair(private) if selection.has_private() => Parts::Pair(Arc::clone(private)),
            Parts::Pair(private) if selection.has_public() => Parts::Public(Arc::new(private.to_public())),
            Parts::Public(public) if selection.has_public() => Parts::Public(Arc::clone(public)),
            _ => Parts::None,
        };
        Key { parts, ..*self }
    }

    fn want(provider: Provider, _isolated: bool, selection: Selection) -> Wanted<K> {
        Wanted { provider, selection, seed: None, kem: PhantomData }
    }

    fn specify(wanted: &mut Wanted<K>, params: Params<'_>) -> Result<()> {
        // libssl names the group, or the empty name where the type of key is the group.
        if let Some(group) = params.find(c"group") {
            let group = group.text()?;
            let ours = [K::NAME, K::GROUP.0].map(|name| name.to_str().unwrap_or_default());
            if !group.is_empty() && !ours.iter().any(|name| group.eq_ignore_ascii_case(name)) {
                return Err(Reason::NOT_SUPPORTED.with("a key of this type has no group to choose"));
            }
        }
        if let Some(seed) = params.find(c"seed").filter(|_| K::ALONE) {
            let seed = seed.octets()?.try_into().map_err(|_| Reason::INVALID_SEED_LENGTH)?;
            wanted.seed = Some(Zeroizing::new(seed));
        }
        Ok(())
    }

    fn generate(wanted: &Wanted<K>) -> Result<Self> {
        let mut key = Self::new(wanted.provider, false);
        if wanted.selection.has_keys() {
            let seed = wanted.seed.as_ref().map(|seed| &seed[..]);
            key.parts = Parts::Pair(Arc::new(Private::generate(seed)?));
        }
        Ok(key)
    }

    fn wanted_by(wanted: &Wanted<K>) -> Provider {
        wanted.provider
    }
}
