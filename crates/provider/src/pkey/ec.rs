//! Keys of elliptic curves: those of P-256, P-384 and P-521 have an engine.
//!
//! Ref. EVP_PKEY-EC(7).

use std::ffi::CStr;

use millstream::cwq::Algorithm;
use millstream::publickey::ecdsa::{Curve, MAX_BYTES, MAX_POINT, PrivateKey, PublicKey};
use zeroize::Zeroizing;

use super::Selection;
use super::held::{Family, Isolated, Secret};
use crate::abi::{self, INTEGER, OCTET_STRING, OsslParam, UNSIGNED_INTEGER, UTF8_STRING};
use crate::error::{Reason, Result};
use crate::libcrypto::pkey::Held;
use crate::params::Params;

/// The family of these keys.
pub struct Ec;

/// A key as the engine has it.
#[derive(Default)]
pub struct Engine {
    pub private: Option<PrivateKey>,
    pub public: Option<PublicKey>,
}

impl Engine {
    /// Returns the curve; none if the key is none of the engine's.
    pub fn curve(&self) -> Option<Curve> {
        let private = self.private.as_ref().map(PrivateKey::curve);
        private.or_else(|| self.public.as_ref().map(PublicKey::curve))
    }
}

/// Returns the curve of a name that OpenSSL has for one of the engine's.
fn named(name: &[u8]) -> Option<Curve> {
    match name {
        b"prime256v1" | b"P-256" | b"secp256r1" => Some(Curve::P256),
        b"secp384r1" | b"P-384" => Some(Curve::P384),
        b"secp521r1" | b"P-521" => Some(Curve::P521),
        _ => None,
    }
}

/// Returns the service's number of a curve.
pub fn algorithm(curve: Curve) -> Algorithm {
    match curve {
        Curve::P256 => Algorithm::P256,
        Curve::P384 => Algorithm::P384,
        Curve::P521 => Algorithm::P521,
    }
}

/// Returns the curve of a private key in the service.
pub fn curve_there(isolated: &Isolated) -> Curve {
    match isolated.key.algorithm() {
        Algorithm::P384 => Curve::P384,
        Algorithm::P521 => Curve::P521,
        _ => Curve::P256,
    }
}

/// A key that is to be made.
#[derive(Default)]
pub struct Asked {
    curve: Option<Curve>,
    /// True where something was asked for that the service does not do.
    other: bool,
}

impl Family for Ec {
    const NAMES: &'static CStr = c"EC:id-ecPublicKey:1.2.840.10045.2.1";
    const NAME: &'static CStr = c"EC";
    const PARTS: &'static [OsslParam] = &[
        OsslParam::described(c"group", UTF8_STRING),
        OsslParam::described(c"encoding", UTF8_STRING),
        OsslParam::described(c"point-format", UTF8_STRING),
        OsslParam::described(c"field-type", UTF8_STRING),
        OsslParam::described(c"p", UNSIGNED_INTEGER),
        OsslParam::described(c"a", UNSIGNED_INTEGER),
        OsslParam::described(c"b", UNSIGNED_INTEGER),
        OsslParam::described(c"generator", OCTET_STRING),
        OsslParam::described(c"order", UNSIGNED_INTEGER),
        OsslParam::described(c"cofactor", UNSIGNED_INTEGER),
        OsslParam::described(c"seed", OCTET_STRING),
        OsslParam::described(c"decoded-from-explicit", INTEGER),
        OsslParam::described(c"pub", OCTET_STRING),
        OsslParam::described(c"priv", UNSIGNED_INTEGER),
        OsslParam::described(c"use-cofactor-flag", INTEGER),
        OsslParam::described(c"include-public", INTEGER),
        OsslParam::END,
    ];
    type Engine = Engine;
    type Asked = Asked;

    fn engine(held: &Held) -> Engine {
        read(held).unwrap_or_default()
    }

    fn operation(operation: i32) -> Option<&'static CStr> {
        match operation {
            abi::OP_KEYEXCH => Some(c"ECDH"),
            abi::OP_SIGNATURE => Some(c"ECDSA"),
            _ => None,
        }
    }

    /// A public key of the engine's is a point of the curve, and not the identity. The curves have no cofactor, so nothing else is
    /// to be examined (SP 800-56A Rev. 3 §5.6.2.3.4), least of all by a multiplication with the order.
    fn is_valid(engine: &Engine, selection: i32) -> bool {
        selection == Selection::PUBLIC && engine.public.is_some()
    }

    fn secret(params: Params<'_>) -> Result<Option<Secret>> {
        let curve = params.find(c"group").and_then(|group| named(group.text().ok()?.as_bytes()));
        let explicit =
            params.find(c"decoded-from-explicit").is_some_and(|it| it.size().is_ok_and(|it| it != 0));
        let (Some(curve), Some(private)) = (curve.filter(|_| !explicit), params.find(c"priv")) else {
            return Ok(None);
        };
        let mut bytes = Zeroizing::new(vec![0; curve.bytes()]);
        private.copy_big_endian(&mut bytes)?;
        Ok(Some(Secret { algorithm: algorithm(curve), bytes }))
    }

    fn tell_public(
        algorithm: Algorithm,
        public: &[u8],
        taker: &mut dyn FnMut(Params<'_>) -> Result<()>,
    ) -> Result<()> {
        let group = match algorithm {
            Algorithm::P256 => c"prime256v1",
            Algorithm::P384 => c"secp384r1",
            Algorithm::P521 => c"secp521r1",
            _ => return Err(Reason::INTERNAL),
        };
        OsslParam::tell(&[(c"group", UTF8_STRING, group.to_bytes()), (c"pub", OCTET_STRING, public)], taker)
    }

    fn ask(asked: &mut Asked, params: Params<'_>) {
        for param in params {
            match param.key().to_bytes() {
                b"group" => asked.curve = param.text().ok().and_then(|name| named(name.as_bytes())),
                // A template tells all numbers of its group. They are the curve's own, unless a name is lacking.
                b"properties" | b"encoding" | b"point-format" | b"field-type" | b"p" | b"a" | b"b"
                | b"generator" | b"order" | b"cofactor" | b"seed" | b"include-public" => {}
                b"decoded-from-explicit" | b"use-cofactor-flag" if param.size() == Ok(0) => {}
                b"dhkem-ikm" if param.octets().is_ok_and(<[u8]>::is_empty) => {}
                _ => asked.other = true,
            }
        }
    }

    fn made_there(asked: &Asked) -> Option<(Algorithm, usize)> {
        let curve = asked.curve.filter(|_| !asked.other)?;
        Some((algorithm(curve), curve.bytes()))
    }
}

/// Reads the parts of a key; none if it has no group, or another one.
fn read(held: &Held) -> Option<Engine> {
    // A key without a group would be an error.
    if !held.has(Selection::GROUP) {
        return None;
    }
    let mut name = [0; 80];
    let [len] = held.octets([(c"group", UTF8_STRING, &mut name)])?;
    let curve = named(name.get(..len?)?)?;
    let features = super::features().ok()?;
    let mut engine = Engine::default();
    if held.has(Selection::PUBLIC) {
        let mut point = [0; MAX_POINT];
        let [len] = held.octets([(c"pub", OCTET_STRING, &mut point)])?;
        engine.public = PublicKey::new(features, curve, point.get(..len?)?).ok();
    }
    if held.has(Selection::PRIVATE) {
        let mut scalar = Zeroizing::new([0; MAX_BYTES]);
        let scalar = &mut scalar[..curve.bytes()];
        let [len] = held.octets([(c"priv", UNSIGNED_INTEGER, &mut *scalar)])?;
        len?;
        super::big_endian(scalar);
        engine.private = PrivateKey::new(features, curve, scalar).ok();
    }
    Some(engine)
}
