//! Signatures with Ed25519, Ed25519ctx and Ed25519ph.
//!
//! Ref. EVP_SIGNATURE-ED25519(7); RFC 8032 §5.1.

use std::ffi::CStr;

use millstream::cwq::Algorithm;
use millstream::publickey::ed25519::{self, PrivateKey, PublicKey, Rules, Scheme as Variant};
use millstream::tally::Place;

use super::curve25519::{Bytes, Key, Private, Scheme};
use crate::abi::{OCTET_STRING, OsslParam, UTF8_STRING};
use crate::count::{Count, Rows};
use crate::error::{Reason, Result};
use crate::params::Params;
use crate::provider::Provider;
use millstream::SignatureScheme;

/// Bytes of a signature.
pub const SIGNATURE: usize = ed25519::SIGNATURE;

/// Ed25519.
pub struct Ed25519;

impl Scheme for Ed25519 {
    const NAMES: &'static CStr = c"ED25519:1.3.101.112";
    const BITS: usize = 256;
    const OUTPUT: usize = SIGNATURE;
    const AGREES: bool = false;
    const ALGORITHM: Algorithm = Algorithm::Ed25519;
    type Private = PrivateKey;

    fn private(bytes: &Bytes) -> Result<PrivateKey> {
        Ok(PrivateKey::new(super::features()?, bytes)?)
    }

    fn public(private: &PrivateKey) -> Bytes {
        *private.public_bytes()
    }
}

/// A form of the algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instance {
    Pure,
    /// With a context that must not be empty.
    WithContext,
    /// Signs the SHA-512 of a message.
    Prehashed,
}

impl Instance {
    fn named(name: &str) -> Option<Self> {
        Some(match () {
            () if name.eq_ignore_ascii_case("Ed25519") => Instance::Pure,
            () if name.eq_ignore_ascii_case("Ed25519ctx") => Instance::WithContext,
            () if name.eq_ignore_ascii_case("Ed25519ph") => Instance::Prehashed,
            () => return None,
        })
    }
}

/// A form that OpenSSL offers under a name of its own, from 3.4 on for the other two.
pub trait Form: 'static {
    const NAMES: &'static CStr;
    const INSTANCE: Instance;
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident = $names:literal, $instance:ident;)*) => {
        $($(#[$doc])*
        pub struct $name;

        impl Form for $name {
            const NAMES: &'static CStr = $names;
            const INSTANCE: Instance = Instance::$instance;
        })*
    };
}

forms! {
    /// Ed25519, or the instance that the caller names.
    Pure = c"ED25519:1.3.101.112", Pure;
    /// Ed25519ph alone.
    Prehashed = c"ED25519ph", Prehashed;
    /// Ed25519ctx alone.
    WithContext = c"ED25519ctx", WithContext;
}

/// The call that a context was initialised by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// `EVP_DigestSignInit` and its like: messages come whole, and the caller may name an instance.
    Digest,
    /// `EVP_PKEY_sign_message_init` and its like: messages come whole, and the name of the algorithm is the instance.
    Message,
    /// `EVP_PKEY_sign_init` and its like: the caller has hashed already, so only Ed25519ph can follow.
    Hash,
}

/// The parameters of a context that can be set, and those where the instance is fixed.
pub const SETTABLE: &[OsslParam] = &[INSTANCE, CONTEXT, OsslParam::END];
pub const SETTABLE_OF_FORM: &[OsslParam] = &[CONTEXT, OsslParam::END];
/// The parameters that tell about a context.
pub const GETTABLE: &[OsslParam] = &[OsslParam::described(c"algorithm-id", OCTET_STRING), OsslParam::END];

const INSTANCE: OsslParam = OsslParam::described(c"instance", UTF8_STRING);
const CONTEXT: OsslParam = OsslParam::described(c"context-string", OCTET_STRING);

/// The AlgorithmIdentifier in DER: the object identifier 1.3.101.112, without parameters (RFC 8410 §3).
const IDENTIFIER: &[u8] = &[0x30, 5, 6, 3, 0x2b, 0x65, 0x70];

/// The most bytes of a context string (RFC 8032 §2).
const LONGEST_CONTEXT: usize = 255;

/// The context of a signature.
#[derive(Clone)]
pub struct Signature {
    pub provider: Provider,
    key: Option<Key<Ed25519>>,
    instance: Instance,
    /// True if the caller may not name another instance.
    fixed: bool,
    /// True if the caller hands over the SHA-512 of a message.
    hashed: bool,
    context: Vec<u8>,
    count: Count,
}

const FIXED: Reason = Reason::NO_INSTANCE_ALLOWED
    .with("the algorithm that was fetched is the instance, so no other can be set");
const UNKNOWN: Reason = Reason::INVALID_EDDSA_INSTANCE.with("instance is Ed25519, Ed25519ctx or Ed25519ph");
/// A digest was named.
pub const NO_DIGEST: Reason = Reason::INVALID_DIGEST.with("Ed25519 hashes by itself: name no digest");
const PURE_ONLY: Reason = Reason::NOT_SUPPORTED
    .with("a key in the service signs with Ed25519 itself only; ask for millstream.isolated=no");
const NEITHER: Reason = Reason::INVALID_EDDSA_INSTANCE.with(
    "only Ed25519ph signs what its caller has hashed: set instance to Ed25519ph, or use EVP_DigestSign",
);

impl Signature {
    pub fn new(provider: Provider) -> Self {
        Signature {
            provider,
            key: None,
            instance: Instance::Pure,
            fixed: false,
            hashed: false,
            context: Vec::new(),
            count: Count::default(),
        }
    }

    /// Begins to sign or verify with `key`.
    pub fn begin<F: Form>(&mut self, begun: Begun, key: &Key<Ed25519>, params: Params<'_>) -> Result<()> {
        static ROWS: Rows = Rows::new();
        let (place, kernel) = match key.private() {
            Ok(Private::There(_)) => (Place::Isolated, ""),
            _ => (Place::InProcess, ed25519::ED25519.best(super::features()?).kernel().name),
        };
        self.count.bind(ROWS.row(self.provider, place, "ed25519", kernel));
        self.key = Some(key.clone());
        self.instance = F::INSTANCE;
        self.fixed = begun == Begun::Message || F::INSTANCE != Instance::Pure;
        self.hashed = begun == Begun::Hash;
        self.context.clear();
        self.set(params)
    }

    /// Goes on with the key that is there.
    pub fn begin_again(&mut self, params: Params<'_>) -> Result<()> {
        self.key()?;
        self.set(params)
    }

    pub fn set(&mut self, params: Params<'_>) -> Result<()> {
        if let Some(instance) = params.find(c"instance") {
            if self.fixed {
                return Err(FIXED);
            }
            self.instance = Instance::named(instance.text()?).ok_or(UNKNOWN)?;
        }
        if let Some(context) = params.find(c"context-string") {
            let context = context.octets()?;
            if context.len() > LONGEST_CONTEXT {
                return Err(Reason::FAILED_TO_GET_PARAMETER.with("a context string has at most 255 bytes"));
            }
            self.context = context.to_vec();
        }
        Ok(())
    }

    pub fn get(&self, params: Params<'_>) -> Result<()> {
        params.find(c"algorithm-id").map_or(Ok(()), |param| param.set_octets(IDENTIFIER))
    }

    /// Returns the scheme of RFC 8032 that was asked for.
    fn scheme(&self, message: &[u8]) -> Result<Variant<'_>> {
        match (self.instance, self.hashed) {
            (Instance::Prehashed, true) if message.len() == 64 => Ok(Variant::Digest(&self.context)),
            (Instance::Prehashed, true) => Err(Reason::INVALID_DIGEST_LENGTH),
            (Instance::Prehashed, false) => Ok(Variant::Prehash(&self.context)),
            (_, true) => Err(NEITHER),
            (Instance::WithContext, false) => Ok(Variant::Context(&self.context)),
            (Instance::Pure, false) if self.context.is_empty() => Ok(Variant::Pure),
            (Instance::Pure, false) => {
                Err(Reason::FAILED_TO_SIGN.with("Ed25519 has no context: use Ed25519ctx"))
            }
        }
    }

    fn key(&self) -> Result<&Key<Ed25519>> {
        self.key.as_ref().ok_or(Reason::NO_KEY_SET)
    }

    /// Writes the signature of `message`.
    ///
    /// # Errors
    /// When there is no private key, or the instance does not go with the call or with the context string.
    pub fn sign(&mut self, message: &[u8], out: &mut [u8; SIGNATURE]) -> Result<()> {
        let scheme = self.scheme(message)?;
        *out = match self.key()?.private()? {
            Private::Here(_, key) => {
                let signature = key.sign_by(scheme, message);
                signature.map_err(|why| Reason::FAILED_TO_SIGN.because(why.to_string()))?
            }
            Private::There(key) if scheme == Variant::Pure => {
                key.sign(SignatureScheme::Ed25519, message)?.try_into().map_err(|_| Reason::INTERNAL)?
            }
            Private::There(_) => return Err(PURE_ONLY),
        };
        self.count.add(message.len());
        Ok(())
    }

    /// Compares a signature with `message`.
    ///
    /// # Errors
    /// When it does not verify: without a reason, as the default provider's. Otherwise as [`Signature::sign`].
    pub fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<()> {
        let signature: &[u8; SIGNATURE] = signature.try_into().map_err(|_| Reason::SILENT)?;
        let verified =
            verifier(self.key()?)?.verify_by(Rules::Strict, self.scheme(message)?, message, signature);
        self.count.add(message.len());
        verified.map_err(|_| Reason::SILENT)
    }
}

/// Returns the public part of a key, to verify with. Bytes that are no point of the curve verify nothing.
fn verifier(key: &Key<Ed25519>) -> Result<PublicKey> {
    PublicKey::new(super::features()?, key.public()?).map_err(|_| Reason::SILENT)
}
