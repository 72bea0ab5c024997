//! The capabilities of the provider in TLS: the groups of key agreements, and signatures.
//!
//! libssl of OpenSSL 3.0 has only the groups of which the same provider tells that it gets the keys from. So the provider tells of those of
//! its types of keys: on elliptic curves in the words of the provider that would have the keys otherwise, and with ML-KEM in its own,
//! because only OpenSSL from 3.5 on has such groups. There libssl hears of them twice, in the same words, and takes the first.
//!
//! The provider tells of its signatures in every version, although OpenSSL has the same from 3.5 on: libssl takes a provider's signatures only
//! where the keys are the same provider's, and these keys are ours where both have them.
//!
//! Ref. provider-base(7), "TLS-GROUP Capability" and "TLS-SIGALG Capability".
//!
//! # Safety
//! As at the [border](super) everywhere. The argument of [`forward`] is a [`Taker`] that lives as long as the call.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use super::guard;
use crate::abi::{INTEGER, OsslParam, UNSIGNED_INTEGER, UTF8_STRING};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::{Callback, Home};
use crate::params::Params;
use crate::pkey::ec::Ec;
use crate::pkey::held::Family;
use crate::pkey::kem::{
    Kem, MlKem512, MlKem768, MlKem1024, P256MlKem768, P384MlKem1024, X25519MlKem768, strength,
};
use crate::pkey::mldsa::{self, MlDsa, Named};
use crate::provider::Provider;

/// The type of the function that tells.
pub type Get = unsafe extern "C" fn(*mut c_void, *const c_char, Option<Callback>, *mut c_void) -> c_int;

/// The caller's function and its argument. There is one only during the call in which the function may be called with it.
#[derive(Clone, Copy)]
struct Taker(Callback, *mut c_void);

impl Taker {
    fn pass<const N: usize>(self, params: &[OsslParam; N]) -> Result<()> {
        // SAFETY: the caller's function and its argument; the array ends, and its values live as long as the call.
        if unsafe { (self.0)(params.as_ptr(), self.1) } == 1 { Ok(()) } else { Err(Reason::TOLD) }
    }
}

pub unsafe extern "C" fn get(
    provider: *mut c_void,
    capability: *const c_char,
    taker: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the provider's own pointer, and a C string or null.
    let (provider, capability) = unsafe {
        let capability = (!capability.is_null()).then(|| CStr::from_ptr(capability));
        (Provider::from_raw(provider), capability)
    };
    guard(
        || provider,
        || {
            let (provider, taker) = provider.zip(taker).ok_or(Reason::INTERNAL)?;
            let taker = Taker(taker, argument);
            match capability.map(CStr::to_bytes) {
                Some(b"TLS-GROUP") => tell_groups(provider, taker),
                Some(b"TLS-SIGALG") => SIGNATURES.iter().try_for_each(|signature| signature.tell(taker)),
                // Without anything to tell there is no failure: libssl would not go on.
                _ => Ok(()),
            }
        },
    )
}

fn tell_groups(provider: Provider, mut taker: Taker) -> Result<()> {
    match Home::find(provider, Ec::NAME) {
        // SAFETY: the function that goes with the argument, which lives as long as the call.
        Ok(home) => unsafe {
            home.capabilities(c"TLS-GROUP", forward, ptr::from_mut(&mut taker).cast())?;
        },
        Err(_) => X25519.tell(taker)?,
    }
    KEMS.iter().try_for_each(|group| group.tell(taker))
}

/// Hands a group to the caller's function, if keys for it are ours.
unsafe extern "C" fn forward(params: *const OsslParam, taker: *mut c_void) -> c_int {
    // SAFETY: a terminated array, and the caller's function with its argument.
    unsafe {
        let Taker(taker, argument) = *taker.cast::<Taker>();
        let keys = Params::new(params).find(c"tls-group-alg");
        match keys.and_then(|keys| keys.text().ok()) {
            Some("EC" | "X25519") => taker(params, argument),
            _ => 1,
        }
    }
}

/// A group, in the words of the capability.
struct Group {
    name: &'static CStr,
    internal: &'static CStr,
    keys: &'static CStr,
    id: c_uint,
    bits: c_uint,
    /// The first versions of TLS and of DTLS that have it; -1 stands for none.
    min_tls: c_int,
    min_dtls: c_int,
    is_kem: bool,
}

/// X25519, of which the provider that has EC keys tells where it can be asked. Ref. RFC 8446 §4.2.7.
static X25519: Group = Group {
    name: c"x25519",
    internal: c"X25519",
    keys: c"X25519",
    id: 29,
    bits: 128,
    min_tls: 0x0301,
    min_dtls: 0xfeff,
    is_kem: false,
};

/// Returns the group of a KEM. TLS 1.3 alone has them: the client sends a public key, and the server a ciphertext.
const fn of_kem<K: Kem>() -> Group {
    let ((name, id), (bits, _)) = (K::GROUP, strength(K::SET));
    let (id, bits) = (id as c_uint, bits as c_uint);
    Group { name, internal: name, keys: K::NAME, id, bits, min_tls: 0x0304, min_dtls: -1, is_kem: true }
}

static KEMS: [Group; 6] = [
    of_kem::<X25519MlKem768>(),
    of_kem::<P256MlKem768>(),
    of_kem::<P384MlKem1024>(),
    of_kem::<MlKem512>(),
    of_kem::<MlKem768>(),
    of_kem::<MlKem1024>(),
];

impl Group {
    fn tell(&self, taker: Taker) -> Result<()> {
        // No version is the last one that has the group: 0 stands for no end.
        let (is_kem, max_tls, max_dtls) = (c_uint::from(self.is_kem), 0, self.min_dtls.min(0));
        taker.pass(&[
            text(c"tls-group-name", self.name),
            text(c"tls-group-name-internal", self.internal),
            text(c"tls-group-alg", self.keys),
            uint(c"tls-group-id", &self.id),
            uint(c"tls-group-sec-bits", &self.bits),
            uint(c"tls-group-is-kem", &is_kem),
            int(c"tls-min-tls", &self.min_tls),
            int(c"tls-max-tls", &max_tls),
            int(c"tls-min-dtls", &self.min_dtls),
            int(c"tls-max-dtls", &max_dtls),
            OsslParam::END,
        ])
    }
}

/// A signature, in the words of the capability.
struct Signature {
    named: &'static Named,
    id: c_uint,
    bits: c_uint,
}

const fn of_set<const N: usize>() -> Signature {
    let named = MlDsa::<N>::NAMED;
    let (bits, _) = mldsa::strength(named.set);
    Signature { named, id: named.tls.1 as c_uint, bits: bits as c_uint }
}

static SIGNATURES: [Signature; 3] = [of_set::<44>(), of_set::<65>(), of_set::<87>()];

impl Signature {
    fn tell(&self, taker: Taker) -> Result<()> {
        // TLS 1.3 has them and whatever comes after it; DTLS has them in no version.
        let (min_tls, max_tls, no_dtls) = (0x0304, 0, -1);
        taker.pass(&[
            text(c"tls-sigalg-iana-name", self.named.tls.0),
            text(c"tls-sigalg-name", self.named.name),
            text(c"tls-sigalg-oid", self.named.oid),
            uint(c"tls-sigalg-code-point", &self.id),
            uint(c"tls-sigalg-sec-bits", &self.bits),
            int(c"tls-min-tls", &min_tls),
            int(c"tls-max-tls", &max_tls),
            int(c"tls-min-dtls", &no_dtls),
            int(c"tls-max-dtls", &no_dtls),
            OsslParam::END,
        ])
    }
}

fn text(key: &'static CStr, text: &'static CStr) -> OsslParam {
    OsslParam {
        data: text.as_ptr().cast_mut().cast(),
        data_size: text.count_bytes(),
        ..OsslParam::described(key, UTF8_STRING)
    }
}

fn uint(key: &'static CStr, at: &c_uint) -> OsslParam {
    OsslParam {
        data: ptr::from_ref(at).cast_mut().cast(),
        data_size: size_of::<c_uint>(),
        ..OsslParam::described(key, UNSIGNED_INTEGER)
    }
}

fn int(key: &'static CStr, at: &c_int) -> OsslParam {
    OsslParam {
        data: ptr::from_ref(at).cast_mut().cast(),
        data_size: size_of::<c_int>(),
        ..OsslParam::described(key, INTEGER)
    }
}
