//! A key, as OpenSSL sees it: a pair, a public part, or nothing yet. The private half of a pair may be in the service.

use std::marker::PhantomData;
use std::sync::Arc;

use millstream::cwq::Algorithm;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{Raw, check_len};
use crate::abi::{OCTET_STRING, OsslParam};
use crate::error::{Reason, Result};
use crate::params::{Param, Params};
use crate::pkey::held::OPAQUE;
use crate::pkey::{KeyType, Selection};
use crate::provider::Provider;
use crate::remote::{self, PrivateKey};

/// The parts that a key has.
pub enum Parts<R: Raw> {
    None,
    Public(Arc<R::Public>),
    Pair(Arc<R::Private>),
    /// A pair whose private part is in the service.
    There(Arc<There<R>>),
}

/// A private part in the service, which does not give it out, and the public one that belongs to it.
pub struct There<R: Raw> {
    pub private: PrivateKey,
    pub public: Arc<R::Public>,
}

impl<R: Raw> There<R> {
    fn of(private: PrivateKey) -> Result<Self> {
        let public = Arc::new(R::public(&private.public_key()?)?);
        Ok(There { private, public })
    }

    /// Brings a private part to the service: the seed, if there is one. Parts that are given twice must have the same public key, which the
    /// service computes, so that nothing of a private part is expanded in this process.
    fn bring(
        provider: Provider,
        (algorithm, expanded_len): (Algorithm, usize),
        given: &Given<'_>,
    ) -> Result<Self> {
        let bring = |bytes: &[u8]| There::<R>::of(remote::private(provider, algorithm, bytes)?);
        let seed = given.seed.map(checked_seed::<R>).transpose()?;
        if let Some(private) = given.private {
            check_len("private", private, expanded_len)?;
        }
        let there = bring(seed.or(given.private).ok_or(Reason::MISSING_KEY)?)?;
        let public = R::public_bytes(&there.public);
        if let (Some(_), Some(private)) = (seed, given.private)
            && *R::public_bytes(&bring(private)?.public) != *public
        {
            return Err(OTHER_SEED);
        }
        match given.public {
            Some(given) if *given != *public => Err(OTHER_PUBLIC),
            _ => Ok(there),
        }
    }
}

const OTHER_SEED: Reason = Reason::INVALID_KEY.with("the private key is not that of the seed");
const OTHER_PUBLIC: Reason = Reason::INVALID_KEY.with("the public key is not that of the private key");

impl<R: Raw> Clone for Parts<R> {
    fn clone(&self) -> Self {
        match self {
            Parts::None => Parts::None,
            Parts::Public(public) => Parts::Public(Arc::clone(public)),
            Parts::Pair(private) => Parts::Pair(Arc::clone(private)),
            Parts::There(there) => Parts::There(Arc::clone(there)),
        }
    }
}

/// A key.
pub struct Key<R: Raw> {
    provider: Provider,
    /// True where a private part goes to the service, if that has such keys.
    isolated: bool,
    parts: Parts<R>,
}

impl<R: Raw> Clone for Key<R> {
    fn clone(&self) -> Self {
        Key { parts: self.parts.clone(), ..*self }
    }
}

impl<R: Raw> Key<R> {
    /// Makes a key of its parts, in this process.
    pub fn of(provider: Provider, given: &Given<'_>) -> Result<Self> {
        Ok(Key { provider, isolated: false, parts: given.parts()? })
    }

    /// Makes a key of its parts, of which the private one goes to the service.
    pub fn bring(provider: Provider, given: &Given<'_>) -> Result<Self> {
        let mut key = Self::new(provider, true);
        key.take(given)?;
        Ok(key)
    }

    /// Makes a key whose private part is in the service already.
    pub fn in_service(provider: Provider, private: PrivateKey) -> Result<Self> {
        let parts = Parts::There(Arc::new(There::of(private)?));
        Ok(Key { parts, ..Self::new(provider, true) })
    }

    fn take(&mut self, given: &Given<'_>) -> Result<()> {
        let is_private = given.seed.is_some() || given.private.is_some();
        self.parts = match R::IN_SERVICE.filter(|_| self.isolated && is_private) {
            Some(there) => Parts::There(Arc::new(There::bring(self.provider, there, given)?)),
            None => given.parts()?,
        };
        Ok(())
    }

    /// Returns the parts.
    pub fn parts(&self) -> &Parts<R> {
        &self.parts
    }

    /// Returns the private part, if it is in this process.
    pub fn private(&self) -> Option<&R::Private> {
        match &self.parts {
            Parts::Pair(private) => Some(private),
            _ => None,
        }
    }

    /// Returns the private part, if it is in the service.
    pub fn there(&self) -> Option<&PrivateKey> {
        match &self.parts {
            Parts::There(there) => Some(&there.private),
            _ => None,
        }
    }

    /// Returns the private part that is to leave this process.
    ///
    /// # Errors
    /// `missing` where there is none, and [`OPAQUE`] where it is in the service.
    pub fn leaving(&self, missing: Reason) -> Result<&R::Private> {
        self.private().ok_or(if self.there().is_some() { OPAQUE } else { missing })
    }

    /// Returns the encoding of the public part.
    pub fn public_bytes(&self) -> Option<&[u8]> {
        match &self.parts {
            Parts::None => None,
            Parts::Public(public) => Some(R::public_bytes(public)),
            Parts::Pair(private) => Some(R::public_bytes_in(private)),
            Parts::There(there) => Some(R::public_bytes(&there.public)),
        }
    }
}

/// The parameters that are parts of keys.
pub const SEED_PART: OsslParam = OsslParam::described(c"seed", OCTET_STRING);
pub const PUBLIC: OsslParam = OsslParam::described(c"pub", OCTET_STRING);
pub const PRIVATE: OsslParam = OsslParam::described(c"priv", OCTET_STRING);

/// A key that is to be made.
pub struct Wanted<R> {
    provider: Provider,
    isolated: bool,
    selection: Selection,
    /// The seed, where it is not random.
    seed: Option<Zeroizing<Vec<u8>>>,
    kind: PhantomData<R>,
}

/// The parts of a key that is imported or read.
#[derive(Default)]
pub struct Given<'a> {
    pub seed: Option<&'a [u8]>,
    /// The private part in its expanded form.
    pub private: Option<&'a [u8]>,
    pub public: Option<&'a [u8]>,
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
    fn parts<R: Raw>(&self) -> Result<Parts<R>> {
        let pair = match (self.seed, self.private) {
            (Some(seed), private) => {
                let key = R::generate(Some(checked_seed::<R>(seed)?))?;
                if let Some(private) = private
                    && !bool::from(R::to_expanded(&key)?.ct_eq(private))
                {
                    return Err(OTHER_SEED);
                }
                Some(key)
            }
            (None, Some(private)) => Some(match self.public {
                Some(public) => R::private_beside(private, public)?,
                None => R::private(private)?,
            }),
            (None, None) => None,
        };
        match (pair, self.public) {
            (Some(pair), Some(public)) if *R::public_bytes_in(&pair) != *public => Err(OTHER_PUBLIC),
            (Some(pair), _) => Ok(Parts::Pair(Arc::new(pair))),
            (None, Some(public)) => Ok(Parts::Public(Arc::new(R::public(public)?))),
            (None, None) => Err(Reason::MISSING_KEY),
        }
    }
}

fn checked_seed<R: Raw>(seed: &[u8]) -> Result<&[u8]> {
    if seed.len() == R::SEED { Ok(seed) } else { Err(Reason::INVALID_SEED_LENGTH) }
}

/// Answers with bytes that are gone after the call, so that there is nothing to point to.
fn set_passing(param: &Param<'_>, bytes: &[u8]) -> Result<()> {
    if param.is_octets() { param.set_octets(bytes) } else { Err(Reason::FAILED_TO_SET_PARAMETER) }
}

impl<R: Raw> KeyType for Key<R> {
    const NAMES: &'static std::ffi::CStr = R::NAMES;
    const PARTS: &'static [OsslParam] = R::PARTS;
    const GETTABLE: &'static [OsslParam] = R::GETTABLE;
    const SETTABLE: &'static [OsslParam] = R::SETTABLE;
    const GENERATED_BY: &'static [OsslParam] = R::GENERATED_BY;
    const LOADED: bool = true;
    type Wanted = Wanted<R>;

    fn new(provider: Provider, isolated: bool) -> Self {
        Key { provider, isolated, parts: Parts::None }
    }

    fn provider(&self) -> Provider {
        self.provider
    }

    fn has(&self, selection: Selection) -> bool {
        match (selection.has_private(), selection.has_public()) {
            (true, _) => matches!(self.parts, Parts::Pair(_) | Parts::There(_)),
            (false, true) => self.public_bytes().is_some(),
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
            Some(private) if selection.has_private() && selection.has_public() => R::check(private),
            _ => Ok(()),
        }
    }

    fn import(&mut self, selection: Selection, params: Params<'_>) -> Result<()> {
        if !selection.has_keys() {
            return Err(Reason::MISSING_KEY);
        }
        self.take(&Given::read(params, R::KEEPS_SEED, selection.has_private())?)
    }

    fn export(&self, selection: Selection, taker: &mut dyn FnMut(&[OsslParam]) -> bool) -> Result<()> {
        let public = self.public_bytes().filter(|_| selection.has_keys()).ok_or(Reason::MISSING_KEY)?;
        if selection.has_private() && self.there().is_some() {
            return Err(OPAQUE);
        }
        let private = self.private().filter(|_| selection.has_private());
        let expanded = private.map(R::to_expanded).transpose()?;
        let seed = private.and_then(R::seed);
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
        for param in params {
            match (param.key().to_bytes(), self.public_bytes(), self.private()) {
                (b"pub", Some(public), _) => param.set_octets(public)?,
                (b"encoded-pub-key", Some(public), _) if R::SHARED => param.set_octets(public)?,
                (b"priv", _, Some(private)) => set_passing(&param, &R::to_expanded(private)?)?,
                (b"seed", _, Some(private)) => {
                    R::seed(private).map_or(Ok(()), |seed| set_passing(&param, seed))?;
                }
                _ => R::tell(&param)?,
            }
        }
        Ok(())
    }

    fn set(&mut self, params: Params<'_>) -> Result<()> {
        let Some(encoded) = params.find(c"encoded-pub-key").filter(|_| R::SHARED) else { return Ok(()) };
        if self.public_bytes().is_some() {
            return Err(
                Reason::OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE.with("a key with a public part keeps it")
            );
        }
        self.parts = Parts::Public(Arc::new(R::public(encoded.octets()?)?));
        Ok(())
    }

    fn copy(&self, selection: Selection) -> Self {
        let parts = match &self.parts {
            Parts::Pair(private) if selection.has_private() => Parts::Pair(Arc::clone(private)),
            Parts::Pair(private) if selection.has_public() => Parts::Public(Arc::new(R::to_public(private))),
            Parts::There(there) if selection.has_private() => Parts::There(Arc::clone(there)),
            Parts::There(there) if selection.has_public() => Parts::Public(Arc::clone(&there.public)),
            Parts::Public(public) if selection.has_public() => Parts::Public(Arc::clone(public)),
            _ => Parts::None,
        };
        Key { parts, ..*self }
    }

    fn want(provider: Provider, isolated: bool, selection: Selection) -> Wanted<R> {
        Wanted { provider, isolated, selection, seed: None, kind: PhantomData }
    }

    fn specify(wanted: &mut Wanted<R>, params: Params<'_>) -> Result<()> {
        if let Some(group) = params.find(c"group") {
            R::check_group(group.text()?)?;
        }
        if let Some(seed) = params.find(c"seed").filter(|_| R::SEED > 0) {
            wanted.seed = Some(Zeroizing::new(checked_seed::<R>(seed.octets()?)?.to_vec()));
        }
        Ok(())
    }

    fn generate(wanted: &Wanted<R>) -> Result<Self> {
        let mut key = Self::new(wanted.provider, wanted.isolated);
        if !wanted.selection.has_keys() {
            return Ok(key);
        }
        let seed = wanted.seed.as_ref().map(|seed| &seed[..]);
        match (R::IN_SERVICE.filter(|_| wanted.isolated), seed) {
            // This process never sees it.
            (Some((algorithm, _)), None) => {
                let private = remote::generate_private(wanted.provider, algorithm, R::SEED)?;
                return Self::in_service(wanted.provider, private);
            }
            (Some(_), seed) => key.take(&Given { seed, ..Given::default() })?,
            (None, seed) => key.parts = Parts::Pair(Arc::new(R::generate(seed)?)),
        }
        Ok(key)
    }

    fn wanted_by(wanted: &Wanted<R>) -> Provider {
        wanted.provider
    }
}
