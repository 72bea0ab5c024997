//! Keys of Curve25519: a public and a private part of 32 bytes, for X25519 or for Ed25519.
//!
//! Ref. EVP_PKEY-X25519(7), EVP_PKEY-ED25519(7); RFC 7748, RFC 8032.

use std::marker::PhantomData;
use std::sync::Arc;

use millstream::cwq::Algorithm;
use millstream::hash::Hash;
use millstream::hkdf::Hkdf;
use millstream::hmac::HmacKey;
use zeroize::Zeroizing;

use super::held::OPAQUE;
use super::{KeyType, Selection};
use crate::abi::{INTEGER, OCTET_STRING, OsslParam, UTF8_STRING};
use crate::cipher::random;
use crate::digest;
use crate::error::{Reason, Result};
use crate::params::{Param, Params};
use crate::provider::Provider;
use crate::remote::{self, PrivateKey};

/// Bytes of either part.
pub const LEN: usize = 32;

/// The part of a key as bytes.
pub type Bytes = [u8; LEN];

/// The algorithm that a key is for.
pub trait Scheme: 'static {
    /// OpenSSL's names of the type of key.
    const NAMES: &'static std::ffi::CStr;
    /// The bits of a key.
    const BITS: usize;
    /// The most bytes that an operation gives.
    const OUTPUT: usize;
    /// True for key agreement: the public part is sent to peers, and the key has a group.
    const AGREES: bool;
    /// The algorithm's number in the service.
    const ALGORITHM: Algorithm;
    /// A private part that is bound to a kernel.
    type Private: Send + Sync;

    /// Binds a private part to a kernel.
    fn private(bytes: &Bytes) -> Result<Self::Private>;
    /// Returns the public part that belongs to a private one.
    fn public(private: &Self::Private) -> Bytes;
}

/// A private part.
pub enum Private<S: Scheme> {
    /// In this process: as OpenSSL wants it back, and as the engine uses it.
    Here(Zeroizing<Bytes>, S::Private),
    /// In the service, which does not give it out.
    There(PrivateKey),
}

impl<S: Scheme> Private<S> {
    /// Returns the public part that belongs to it.
    fn public(&self) -> Result<Bytes> {
        match self {
            Private::Here(_, key) => Ok(S::public(key)),
            Private::There(key) => key.public_key()?.try_into().map_err(|_| Reason::INTERNAL),
        }
    }
}

/// A key: both parts, one, or none yet.
pub struct Key<S: Scheme> {
    pub provider: Provider,
    isolated: bool,
    public: Option<Bytes>,
    private: Option<Arc<Private<S>>>,
}

impl<S: Scheme> Clone for Key<S> {
    fn clone(&self) -> Self {
        Key { private: self.private.clone(), ..*self }
    }
}

impl<S: Scheme> Key<S> {
    /// Returns the public part.
    ///
    /// # Errors
    /// When there is none.
    pub fn public(&self) -> Result<&Bytes> {
        self.public.as_ref().ok_or(Reason::NOT_A_PUBLIC_KEY)
    }

    /// Returns the private part.
    ///
    /// # Errors
    /// When there is none.
    pub fn private(&self) -> Result<&Private<S>> {
        self.private.as_deref().ok_or(Reason::NOT_A_PRIVATE_KEY)
    }

    /// Brings a private key to the service.
    pub fn bring(provider: Provider, bytes: &[u8]) -> Result<Self> {
        let mut key = Self::new(provider, true);
        key.set_private(Zeroizing::new(bytes.try_into().map_err(|_| Reason::INVALID_KEY_LENGTH)?))?;
        Ok(key)
    }

    /// Takes a private key that is in the service.
    pub fn there(provider: Provider, private: remote::PrivateKey) -> Result<Self> {
        let mut key = Self::new(provider, true);
        key.hold(Private::There(private))?;
        Ok(key)
    }

    /// Takes a private part, which goes to the service where the key is isolated.
    fn set_private(&mut self, bytes: Zeroizing<Bytes>) -> Result<()> {
        let private = match self.isolated {
            false => {
                let key = S::private(&bytes)?;
                Private::Here(bytes, key)
            }
            true => Private::There(remote::private(self.provider, S::ALGORITHM, &*bytes)?),
        };
        self.hold(private)
    }

    fn hold(&mut self, private: Private<S>) -> Result<()> {
        if self.public.is_none() {
            self.public = Some(private.public()?);
        }
        self.private = Some(Arc::new(private));
        Ok(())
    }
}

/// Reads one part.
fn part(param: &Param<'_>) -> Result<Zeroizing<Bytes>> {
    let bytes = param.octets()?;
    Ok(Zeroizing::new(bytes.try_into().map_err(|_| Reason::INVALID_KEY_LENGTH)?))
}

const PUBLIC: OsslParam = OsslParam::described(c"pub", OCTET_STRING);
const PRIVATE: OsslParam = OsslParam::described(c"priv", OCTET_STRING);
const ENCODED: OsslParam = OsslParam::described(c"encoded-pub-key", OCTET_STRING);
const PROPERTIES: OsslParam = OsslParam::described(c"properties", UTF8_STRING);

/// A key that is to be made.
pub struct Wanted<S> {
    provider: Provider,
    isolated: bool,
    selection: Selection,
    /// The secret from which the private part is derived, where it is not random.
    secret: Option<Zeroizing<Vec<u8>>>,
    scheme: PhantomData<S>,
}

impl<S: Scheme> KeyType for Key<S> {
    const NAMES: &'static std::ffi::CStr = S::NAMES;
    const PARTS: &'static [OsslParam] = &[PUBLIC, PRIVATE, OsslParam::END];
    const GETTABLE: &'static [OsslParam] = &[
        OsslParam::described(c"bits", INTEGER),
        OsslParam::described(c"security-bits", INTEGER),
        OsslParam::described(c"max-size", INTEGER),
        if S::AGREES { ENCODED } else { OsslParam::described(c"mandatory-digest", UTF8_STRING) },
        PUBLIC,
        PRIVATE,
        OsslParam::END,
    ];
    const SETTABLE: &'static [OsslParam] =
        if S::AGREES { &[ENCODED, PROPERTIES, OsslParam::END] } else { &[OsslParam::END] };
    const GENERATED_BY: &'static [OsslParam] = &[
        OsslParam::described(c"group", UTF8_STRING),
        PROPERTIES,
        OsslParam::described(c"dhkem-ikm", OCTET_STRING),
        OsslParam::END,
    ];
    type Wanted = Wanted<S>;

    fn new(provider: Provider, isolated: bool) -> Self {
        Key { provider, isolated, public: None, private: None }
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn has(&self, selection: Selection) -> bool {
        (!selection.has_public() || self.public.is_some())
            && (!selection.has_private() || self.private.is_some())
    }

    fn matches(&self, other: &Self, selection: Selection) -> bool {
        if !selection.has_keys() {
            return true;
        }
        match (&self.public, &other.public, &self.private, &other.private) {
            (Some(ours), Some(theirs), ..) if selection.has_public() => ours == theirs,
            // Equal private parts have equal public ones, which are no secret.
            (.., Some(ours), Some(theirs)) if selection.has_private() => {
                matches!((ours.public(), theirs.public()), (Ok(ours), Ok(theirs)) if ours == theirs)
            }
            _ => false,
        }
    }

    fn validate(&self, selection: Selection) -> Result<()> {
        let public = selection.has_public().then(|| self.public()).transpose()?;
        let private = selection.has_private().then(|| self.private()).transpose()?;
        match (public, private) {
            (Some(public), Some(private)) if *public != private.public()? => Err(Reason::INVALID_KEY),
            _ => Ok(()),
        }
    }

    fn import(&mut self, selection: Selection, params: Params<'_>) -> Result<()> {
        let public = params.find(c"pub").map(|param| part(&param)).transpose()?;
        let private = params.find(c"priv").filter(|_| selection.has_private());
        let private = private.map(|param| part(&param)).transpose()?;
        if !selection.has_keys() || (public.is_none() && private.is_none()) {
            return Err(Reason::MISSING_KEY);
        }
        self.public = public.map(|bytes| *bytes);
        private.map_or(Ok(()), |bytes| self.set_private(bytes))
    }

    fn export(&self, selection: Selection, taker: &mut dyn FnMut(&[OsslParam]) -> bool) -> Result<()> {
        if !selection.has_keys() {
            return Err(Reason::MISSING_KEY);
        }
        let filled = |of: &OsslParam, bytes: &Bytes| OsslParam {
            data: bytes.as_ptr().cast_mut().cast(),
            data_size: LEN,
            ..*of
        };
        let mut params = [OsslParam::END; 3];
        let public = self.public.as_ref().map(|bytes| filled(&PUBLIC, bytes));
        let private = match self.private.as_deref().filter(|_| selection.has_private()) {
            None => None,
            Some(Private::Here(bytes, _)) => Some(filled(&PRIVATE, bytes)),
            Some(Private::There(_)) => return Err(OPAQUE),
        };
        let parts = public.into_iter().chain(private);
        params.iter_mut().zip(parts).for_each(|(place, part)| *place = part);
        if taker(&params) { Ok(()) } else { Err(Reason::TOLD) }
    }

    fn get(&self, params: Params<'_>) -> Result<()> {
        for param in params {
            match (param.key().to_bytes(), &self.public, self.private.as_deref()) {
                (b"bits", ..) => param.set_size(S::BITS)?,
                (b"security-bits", ..) => param.set_size(128)?,
                // Against quantum computers there is no security.
                (b"security-category", ..) => param.set_size(0)?,
                (b"max-size", ..) => param.set_size(S::OUTPUT)?,
                (b"mandatory-digest", ..) if !S::AGREES => param.set_text(c"")?,
                (b"encoded-pub-key", Some(public), _) if S::AGREES => param.set_octets(public)?,
                (b"pub", Some(public), _) => param.set_octets(public)?,
                (b"priv", _, Some(Private::Here(bytes, _))) => param.set_octets(&**bytes)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        if let Some(encoded) = params.find(c"encoded-pub-key").filter(|_| S::AGREES) {
            self.public = Some(*part(&encoded)?);
            self.private = None;
        }
        Ok(())
    }

    fn copy(&self, selection: Selection) -> Self {
        Key {
            public: self.public.filter(|_| selection.has_public()),
            private: self.private.clone().filter(|_| selection.has_private()),
            ..*self
        }
    }

    fn want(provider: Provider, isolated: bool, selection: Selection) -> Wanted<S> {
        Wanted { provider, isolated, selection, secret: None, scheme: PhantomData }
    }

    fn specify(wanted: &mut Wanted<S>, params: Params<'_>) -> Result<()> {
        if let Some(group) = params.find(c"group")
            && !(S::AGREES && group.text()?.eq_ignore_ascii_case("x25519"))
        {
            return Err(
                Reason::NOT_SUPPORTED.with("the only group is X25519, and Ed25519 has none to choose")
            );
        }
        if let Some(secret) = params.find(c"dhkem-ikm").filter(|_| S::AGREES) {
            let secret = secret.octets()?;
            wanted.secret = (!secret.is_empty()).then(|| Zeroizing::new(secret.to_vec()));
        }
        Ok(())
    }

    fn generate(wanted: &Wanted<S>) -> Result<Self> {
        let mut key = Self::new(wanted.provider, wanted.isolated);
        if !wanted.selection.has_keys() {
            return Ok(key);
        }
        if wanted.isolated && wanted.secret.is_none() {
            // This process never sees it.
            key.hold(Private::There(remote::generate_private(wanted.provider, S::ALGORITHM, LEN)?))?;
            return Ok(key);
        }
        let mut bytes = Zeroizing::new([0; LEN]);
        match &wanted.secret {
            Some(secret) => derive(secret, &mut bytes)?,
            None => random(&mut *bytes)?,
        }
        key.set_private(bytes)?;
        Ok(key)
    }

    fn wanted_by(wanted: &Wanted<S>) -> Provider {
        wanted.provider
    }
}

/// Derives a private part of DHKEM(X25519, HKDF-SHA256) from a secret. Ref. RFC 9180 §4, §7.1.3.
fn derive(secret: &[u8], out: &mut Bytes) -> Result<()> {
    if secret.len() < LEN {
        return Err(Reason::INVALID_INPUT_LENGTH.with("dhkem-ikm has fewer than 32 bytes"));
    }
    const SUITE: &[u8] = b"HPKE-v1KEM\x00\x20";
    let hmac = |key: &[u8]| Ok::<_, Reason>(HmacKey::with_kernel(*digest::kernel(Hash::Sha256)?, key));
    let labeled = Zeroizing::new([SUITE, b"dkp_prk", secret].concat());
    let prk = Zeroizing::new(hmac(&[])?.sign(&labeled).to_vec());
    let info = [&(LEN as u16).to_be_bytes(), SUITE, b"sk"].concat();
    let expanded = Hkdf::with_key(hmac(&prk)?).expand(&info, out);
    expanded.map_err(|why| Reason::FAILED_TO_GENERATE_KEY.because(why.to_string()))
}
