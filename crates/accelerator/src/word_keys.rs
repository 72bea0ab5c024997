//! The keys that a checked word names: in slots of its grant, or carried by the word itself.

use millstream_cpu::Features;
use millstream_cwq::{Algorithm, ControlWord, Status};
use millstream_engines::Error;
use zeroize::Zeroizing;

use crate::arena::{Arena, Span};
use crate::check::{CheckedWord, KeyAt};
use crate::grant::Grant;
use crate::kept::{Kept, NotKept};
use crate::key::{KeyRef, PrivateKey};
use crate::pairs::CarriedPublic;
use crate::purpose::Demand;
use crate::sets::slh_dsa_set;
use crate::slots::Handle;
use crate::status::status_of;
use crate::uses::brings_public_key;

/// The expanded keys that came with a word.
#[derive(Default)]
pub(crate) struct CarriedKeys {
    key: Option<Kept>,
    mac_key: Option<Kept>,
    /// The public key.
    public: Option<CarriedPublic>,
}

/// Expands the keys that a word brings with it, in a stack frame of its own that the caller wipes.
#[inline(never)]
pub(crate) fn expand_carried_keys<A: Arena>(
    features: Features,
    arena: &A,
    checked: &CheckedWord,
) -> Result<CarriedKeys, Status> {
    let read = |span: Span| {
        let mut bytes = Zeroizing::new(vec![0; span.len as usize]);
        arena.read(span.at, &mut bytes);
        if slh_dsa_set(checked.algorithm).is_some() {
            arena.rest();
        }
        bytes
    };
    if brings_public_key(checked.opcode)
        && let KeyAt::Arena(span) = checked.key
    {
        let key = CarriedPublic::new(features, checked.algorithm, &read(span));
        let key = key.map_err(|error| match error {
            Error::DataLength { .. } => Status::KeyLength,
            error => status_of(error),
        })?;
        return Ok(CarriedKeys { public: Some(key), ..CarriedKeys::default() });
    }
    let expand = |at: KeyAt, algorithm: Algorithm| {
        let KeyAt::Arena(span) = at else { return Ok(None) };
        let bytes = read(span);
        Kept::expand(features, algorithm, &bytes, false, None).map(Some).map_err(|error| match error {
            NotKept::Engine(_) => Status::KeyLength,
            NotKept::Memory => Status::Key,
        })
    };
    Ok(CarriedKeys {
        key: expand(checked.key, checked.algorithm)?,
        mac_key: expand(checked.mac_key, checked.hash)?,
        public: None,
    })
}

/// The keys that a word names.
#[derive(Clone, Copy)]
pub(crate) struct WordKeys<'a> {
    /// The cipher's key, or the MAC's where there is no other.
    pub(crate) key: Option<KeyRef<'a>>,
    /// The MAC's key in a combined operation.
    pub(crate) mac_key: Option<KeyRef<'a>>,
    /// The public key that the word brings with it.
    pub(crate) public: Option<&'a CarriedPublic>,
    /// True when a signature may use a presignature.
    pub(crate) presigns: bool,
}

impl<'a> WordKeys<'a> {
    /// Returns the private key.
    #[inline(always)]
    pub(crate) fn private(&self) -> Result<PrivateKey<'a>, Status> {
        self.key.and_then(KeyRef::as_private).ok_or(Status::Key)
    }
}

/// Looks up the keys that a word names, and checks that each may be used as the word asks. The use counts where uses are limited.
#[inline(always)]
pub(crate) fn find_keys<'a, A>(
    checked: &CheckedWord,
    grant: &'a Grant<A>,
    carried: Option<&'a CarriedKeys>,
) -> Result<WordKeys<'a>, Status> {
    let demands = (Demand::of_key(checked), Demand::of_mac_key(checked));
    find_keys_for(checked, grant, carried, demands)
}

/// Looks up the keys of an operation that goes on: its use counted when it began.
pub(crate) fn find_keys_again<'a, A>(
    checked: &CheckedWord,
    grant: &'a Grant<A>,
    carried: Option<&'a CarriedKeys>,
) -> Result<WordKeys<'a>, Status> {
    let demands = (Demand::of_key(checked).again(), Demand::of_mac_key(checked).again());
    find_keys_for(checked, grant, carried, demands)
}

#[inline(always)]
fn find_keys_for<'a, A>(
    checked: &CheckedWord,
    grant: &'a Grant<A>,
    carried: Option<&'a CarriedKeys>,
    (of_key, of_mac_key): (Demand, Demand),
) -> Result<WordKeys<'a>, Status> {
    let public = carried.and_then(|keys| keys.public.as_ref());
    let (key, mac_key) =
        (carried.and_then(|keys| keys.key.as_ref()), carried.and_then(|keys| keys.mac_key.as_ref()));
    Ok(WordKeys {
        key: match checked.key {
            KeyAt::Arena(_) if brings_public_key(checked.opcode) => None,
            at => find_key(at, grant, key, checked.algorithm, of_key)?,
        },
        mac_key: find_key(checked.mac_key, grant, mac_key, checked.hash, of_mac_key)?,
        public,
        presigns: grant.presigns,
    })
}

/// Looks a key up. One for another algorithm is reported as missing. A carried key is the client's own and may do anything.
#[inline(always)]
fn find_key<'a, A>(
    at: KeyAt,
    grant: &'a Grant<A>,
    carried: Option<&'a Kept>,
    algorithm: Algorithm,
    demand: Demand,
) -> Result<Option<KeyRef<'a>>, Status> {
    match at {
        KeyAt::None => Ok(None),
        KeyAt::Slot(bits) => grant.keys.find(Handle::from_bits(bits), algorithm, demand).map(Some),
        KeyAt::Arena(_) => carried.map(|kept| Some(kept.key())).ok_or(Status::Key),
    }
}

/// Makes the nonce of a word that asks for one, after [`find_keys`] has found that its key permits that.
#[inline]
pub(crate) fn make_nonce<A>(
    key: KeyAt,
    grant: &Grant<A>,
) -> Result<[u8; ControlWord::MADE_NONCE_BYTES as usize], Status> {
    let KeyAt::Slot(bits) = key else { return Err(Status::NonceMissing) };
    grant.keys.make_nonce(Handle::from_bits(bits))
}
