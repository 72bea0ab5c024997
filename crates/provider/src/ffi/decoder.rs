//! Decoders of private keys for the service, and how a key of ours is loaded that they have read.
//!
//! OpenSSL goes from a file to a key in steps, each of which is a decoder's. Ours are the PEM of a private key, the DER of one
//! whose type is not known yet, and the DER of a type. The first two pass on a structure that only the third has, so no decoder of another
//! provider reads the key on the way, to leave copies in memory that it frees. What is none of the service's keys they leave alone,
//! and OpenSSL asks the next decoder.
//!
//! Ref. provider-decoder(7), provider-object(7).
//!
//! # Safety
//! As at the [border](super) everywhere.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int, c_void};

use millstream::cwq::Algorithm;
use zeroize::Zeroizing;

use super::object::{Export, Reference, Taker, export, filled, text, type_name};
use super::{Free, NewCtx, guard};
use crate::abi::{Dispatch, OCTET_STRING, decoder as id, object};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::Callback;
use crate::pkey::curve25519;
use crate::pkey::ec::Ec;
use crate::pkey::ed25519::Ed25519;
use crate::pkey::held::{self, Secret};
use crate::pkey::mldsa::MlDsa;
use crate::pkey::rsa::Rsa;
use crate::pkey::x25519::X25519;
use crate::pkey::{Selection, raw, stored};
use crate::provider::{Bio, Provider};

pub(super) type Selects = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
pub(super) type Decode = unsafe extern "C" fn(
    *mut c_void,
    *mut Bio,
    c_int,
    Option<Callback>,
    *mut c_void,
    *const c_void,
    *mut c_void,
) -> c_int;

/// The structure that these decoders pass to each other.
const OURS: &CStr = c"millstream";

/// A type of key that is decoded.
pub trait Decoded: 'static {
    /// The key that OpenSSL holds.
    type Key;

    /// Tells whether a key is of the type.
    fn takes(algorithm: Algorithm) -> bool;
    /// Brings a key to the service.
    fn bring(provider: Provider, secret: &Secret) -> Result<Self::Key>;
}

macro_rules! decoded {
    ($($type:ident: $key:ty = $($algorithm:ident)|+, $bring:expr;)*) => {
        $(impl Decoded for $type {
            type Key = $key;

            fn takes(algorithm: Algorithm) -> bool {
                matches!(algorithm, $(Algorithm::$algorithm)|+)
            }

            fn bring(provider: Provider, secret: &Secret) -> Result<$key> {
                $bring(provider, secret)
            }
        })*
    };
}

decoded! {
    Ec: held::Key<Ec> = P256 | P384 | P521, held::Key::bring;
    Rsa: held::Key<Rsa> = Rsa, held::Key::bring;
    X25519: curve25519::Key<X25519> = X25519,
        |provider, secret: &Secret| curve25519::Key::bring(provider, &secret.bytes);
    Ed25519: curve25519::Key<Ed25519> = Ed25519,
        |provider, secret: &Secret| curve25519::Key::bring(provider, &secret.bytes);
}

impl<const N: usize> Decoded for MlDsa<N> {
    type Key = raw::key::Key<Self>;

    fn takes(algorithm: Algorithm) -> bool {
        algorithm == Self::ALGORITHM
    }

    fn bring(provider: Provider, secret: &Secret) -> Result<Self::Key> {
        let given = raw::asn1::read_private::<Self>(&secret.bytes)?.ok_or(Reason::INTERNAL)?;
        raw::key::Key::bring(provider, &given)
    }
}

/// Makes the functions of a decoder: what all have, and its own.
macro_rules! decoder {
    ($decode:expr $(, $more:expr)*) => {
        &[
            function!(id::NEWCTX, NewCtx, new),
            function!(id::FREECTX, Free, free),
            function!(id::DOES_SELECTION, Selects, selects),
            function!(id::DECODE, Decode, $decode),
            $($more,)*
            Dispatch::END,
        ]
    };
}

/// The functions of the decoder from DER to keys of a type.
pub const fn key_decoder_functions<K: Decoded>() -> &'static [Dispatch] {
    const { decoder!(decode_key::<K>, function!(id::EXPORT_OBJECT, Export, export)) }
}

/// The functions of the decoder that finds the type of a key in DER.
pub const TYPE_DECODER_FUNCTIONS: &[Dispatch] = decoder!(decode_der);

/// The functions of the decoder from PEM to DER.
pub const PEM_DECODER_FUNCTIONS: &[Dispatch] = decoder!(decode_pem);

/// A decoder needs nothing but the provider, so that is its context.
pub(super) unsafe extern "C" fn new(provider: *mut c_void) -> *mut c_void {
    provider
}

pub(super) unsafe extern "C" fn free(_: *mut c_void) {}

/// Tells whether private keys are selected. Nothing selected is all.
fn wants_private(selection: c_int) -> bool {
    selection == 0 || Selection(selection).has_private()
}

unsafe extern "C" fn selects(_: *mut c_void, selection: c_int) -> c_int {
    c_int::from(wants_private(selection))
}

/// A call of a decoder: the input, and the function to which what was found in it is passed.
pub(super) struct Call {
    pub(super) provider: Provider,
    bio: *mut Bio,
    pub(super) taker: Taker,
}

impl Call {
    /// Takes the arguments of a decoder's function.
    ///
    /// # Safety
    /// The taker may be called with the argument as long as there is the call.
    pub(super) unsafe fn new(
        provider: Option<Provider>,
        bio: *mut Bio,
        taker: Option<Callback>,
        argument: *mut c_void,
    ) -> Result<Self> {
        let (provider, function) = provider.zip(taker).ok_or(Reason::INTERNAL)?;
        Ok(Call { provider, bio, taker: Taker { function, argument } })
    }

    /// Passes DER on for the decoder of its type.
    fn pass_der(&self, der: &[u8], secret: &Secret) -> Result<()> {
        let params = [
            text(c"data-type", type_name(secret.algorithm)),
            text(c"data-structure", OURS),
            filled(c"data", OCTET_STRING, der),
        ];
        // SAFETY: parameters of an object that is data.
        unsafe { self.taker.pass(object::PKEY, &params) }
    }

    /// Reads one value of DER; none where there is none, or it is too long for a key.
    pub(super) fn read_der(&self) -> Option<Zeroizing<Vec<u8>>> {
        let mut der = Zeroizing::new(Vec::with_capacity(stored::LONGEST));
        self.read_to(&mut der, 2)?;
        // The length is in this byte, or in as many as it says (X.690 §8.1.3).
        let mut len = usize::from(der[1]);
        if len >= 0x80 {
            let octets = len - 0x80;
            if !(1..=2).contains(&octets) {
                return None;
            }
            self.read_to(&mut der, 2 + octets)?;
            len = der[2..].iter().fold(0, |len, octet| len << 8 | usize::from(*octet));
        }
        let whole = der.len() + len;
        let fits = der[0] == 0x30 && whole <= stored::LONGEST;
        if fits { self.read_to(&mut der, whole) } else { None }?;
        Some(der)
    }

    /// Reads until there are `len` bytes.
    fn read_to(&self, bytes: &mut Vec<u8>, len: usize) -> Option<()> {
        let mut filled = bytes.len();
        bytes.resize(len, 0);
        while filled < len {
            filled += self.provider.read(self.bio, &mut bytes[filled..]).filter(|read| *read > 0)?;
        }
        Some(())
    }
}

/// Decodes where private keys are selected. An input that is none of ours is no failure.
///
/// # Safety
/// The arguments are those of a decoder's function.
unsafe fn decode(
    provider: *mut c_void,
    bio: *mut Bio,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
    inner: impl FnOnce(&Call) -> Result<()>,
) -> c_int {
    // SAFETY: the decoder's context is the provider.
    let provider = unsafe { Provider::from_raw(provider) };
    guard(
        || provider,
        || {
            if !wants_private(selection) {
                return Ok(());
            }
            // SAFETY: a decoder's arguments, which serve this call.
            inner(&unsafe { Call::new(provider, bio, taker, argument) }?)
        },
    )
}

unsafe extern "C" fn decode_pem(
    provider: *mut c_void,
    bio: *mut Bio,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
    _: *const c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a decoder's arguments.
    unsafe {
        decode(provider, bio, selection, taker, argument, |call| {
            let der = stored::read_pem(|place| call.provider.read_line(bio, place));
            let Some((der, secret)) = der.and_then(|der| stored::read(&der).map(|secret| (der, secret)))
            else {
                return Ok(());
            };
            call.pass_der(&der, &secret)
        })
    }
}

unsafe extern "C" fn decode_der(
    provider: *mut c_void,
    bio: *mut Bio,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
    _: *const c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a decoder's arguments.
    unsafe {
        decode(provider, bio, selection, taker, argument, |call| {
            let Some(der) = call.read_der() else { return Ok(()) };
            stored::read(&der).map_or(Ok(()), |secret| call.pass_der(&der, &secret))
        })
    }
}

unsafe extern "C" fn decode_key<K: Decoded>(
    provider: *mut c_void,
    bio: *mut Bio,
    selection: c_int,
    taker: Option<Callback>,
    argument: *mut c_void,
    _: *const c_void,
    _: *mut c_void,
) -> c_int {
    // SAFETY: a decoder's arguments.
    unsafe {
        decode(provider, bio, selection, taker, argument, |call| {
            let secret = call.read_der().and_then(|der| stored::read(&der));
            let Some(secret) = secret.filter(|secret| K::takes(secret.algorithm)) else { return Ok(()) };
            let mut reference = Reference::<K::Key>::new(K::bring(call.provider, &secret)?);
            reference.pass(&call.taker, type_name(secret.algorithm))
        })
    }
}
