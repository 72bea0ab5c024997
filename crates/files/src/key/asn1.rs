//! Keys in ASN.1, as DER.
//!
//! Ref. RFC 5958 §2 (PKCS#8), RFC 5915 §3 (SEC 1), RFC 8017 §A.1 (PKCS#1), RFC 5280 §4.1.2.7 (`SubjectPublicKeyInfo`), RFC 5480 §2.1.1
//! (curves), RFC 8410 (Curve25519), RFC 9935 (ML-KEM), RFC 9881 (ML-DSA), RFC 9909 (SLH-DSA).

use der::asn1::{AnyRef, BitStringRef, ObjectIdentifier, OctetStringRef, PrintableStringRef};
use der::{Decode, Encode};
use millstream_cpu::Features;
use pkcs8::PrivateKeyInfoRef;
use sec1::{EcParameters, EcPrivateKey};
use spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use zeroize::Zeroizing;

use super::{Found, Key, Kind, PublicKey, Secret, bad, post_quantum};
use crate::error::Error;

const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
const RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const X25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.110");
const ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");

/// The curves, by their names in ASN.1.
const CURVES: [(Kind, ObjectIdentifier); 3] = [
    (Kind::P256, ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7")),
    (Kind::P384, ObjectIdentifier::new_unwrap("1.3.132.0.34")),
    (Kind::P521, ObjectIdentifier::new_unwrap("1.3.132.0.35")),
];

/// The room that an encoding needs beside the longest number in it.
const FRAME: usize = 256;

/// Reads a key or a public key of whichever kind the DER is.
pub(super) fn read(features: Features, der: &[u8]) -> Result<Found, Error> {
    if PrivateKeyInfoRef::from_der(der).is_ok() {
        return read_pkcs8(features, der).map(Found::Key);
    }
    if SubjectPublicKeyInfoRef::from_der(der).is_ok() {
        return read_spki(features, der).map(Found::Public);
    }
    if EcPrivateKey::from_der(der).is_ok() {
        return read_sec1(features, der, None).map(Found::Key);
    }
    Key::new(features, Kind::Rsa, der).map(Found::Key).map_err(|_| {
        bad("DER of something else than a key; encrypted ones are decrypted with 'openssl pkey -in FILE -out PLAIN'")
    })
}

/// Reads PKCS#8.
pub(super) fn read_pkcs8(features: Features, der: &[u8]) -> Result<Key, Error> {
    let info = PrivateKeyInfoRef::from_der(der).map_err(|error| bad(format!("no PKCS#8 key: {error}")))?;
    let bytes = info.private_key.as_bytes();
    let curve25519 = |kind| {
        let seed = <&OctetStringRef>::from_der(bytes).map_err(|_| bad("a key that is no string of bytes"))?;
        Key::new(features, kind, seed.as_bytes())
    };
    match info.algorithm.oid {
        EC => read_sec1(features, bytes, Some(curve_of(info.algorithm.parameters)?)),
        RSA => Key::new(features, Kind::Rsa, bytes),
        X25519 => curve25519(Kind::X25519),
        ED25519 => curve25519(Kind::Ed25519),
        other => {
            match post_quantum::kind_of(other).and_then(|kind| Some((kind, post_quantum::set_of(kind)?))) {
                Some((kind, set)) => post_quantum::read(features, kind, set, bytes),
                None => Err(bad(format!("a key of an algorithm that is not known here, {other}"))),
            }
        }
    }
}

/// Reads SEC 1. The curve is said by PKCS#8 around it, or inside.
pub(super) fn read_sec1(features: Features, der: &[u8], around: Option<Kind>) -> Result<Key, Error> {
    let key = EcPrivateKey::from_der(der).map_err(|error| bad(format!("no SEC 1 key: {error}")))?;
    let inside = match key.parameters {
        Some(EcParameters::NamedCurve(name)) => Some(named(name)?),
        None => None,
    };
    if inside.is_some() && around.is_some() && inside != around {
        return Err(bad("a key with the names of two curves"));
    }
    let kind = inside.or(around).ok_or_else(|| bad("a key without the name of its curve"))?;
    let read = Key::from_scalar(features, kind, key.private_key)?;
    if let Some(point) = key.public_key
        && PublicKey::new(features, kind, point)? != read.public(features)?
    {
        return Err(bad("the public key in it belongs to another private key"));
    }
    Ok(read)
}

/// Reads `SubjectPublicKeyInfo`.
pub(super) fn read_spki(features: Features, der: &[u8]) -> Result<PublicKey, Error> {
    let info =
        SubjectPublicKeyInfoRef::from_der(der).map_err(|error| bad(format!("no public key: {error}")))?;
    let bytes = info.subject_public_key.as_bytes().ok_or_else(|| bad("a public key with bits to spare"))?;
    let kind = match info.algorithm.oid {
        EC => curve_of(info.algorithm.parameters)?,
        RSA => Kind::Rsa,
        X25519 => Kind::X25519,
        ED25519 => Kind::Ed25519,
        other => post_quantum::kind_of(other)
            .ok_or_else(|| bad(format!("a public key of an algorithm that is not known here, {other}")))?,
    };
    PublicKey::new(features, kind, bytes)
}

/// Returns the kind of keys on the curve that `EcParameters` name (PKCS #11 3.1 §6.3.3): by an object identifier, or those of Curve25519 also
/// by their names in words.
pub(crate) fn curve_in(parameters: &[u8]) -> Result<Kind, Error> {
    if let Ok(name) = PrintableStringRef::from_der(parameters) {
        return match name.as_str() {
            "edwards25519" => Ok(Kind::Ed25519),
            "curve25519" => Ok(Kind::X25519),
            other => Err(bad(format!("a curve that is not known here, {other}"))),
        };
    }
    match ObjectIdentifier::from_der(parameters) {
        Ok(X25519) => Ok(Kind::X25519),
        Ok(ED25519) => Ok(Kind::Ed25519),
        Ok(name) => named(name),
        Err(_) => Err(bad("a curve without a name")),
    }
}

fn curve_of(parameters: Option<AnyRef<'_>>) -> Result<Kind, Error> {
    let name = parameters.and_then(|any| any.decode_as::<ObjectIdentifier>().ok());
    named(name.ok_or_else(|| bad("a curve without a name; write the key with a named one"))?)
}

fn named(name: ObjectIdentifier) -> Result<Kind, Error> {
    let found = CURVES.iter().find(|(_, oid)| *oid == name);
    let unknown = || bad(format!("a curve that is not known here, {name}; known are P-256, P-384 and P-521"));
    found.map(|(kind, _)| *kind).ok_or_else(unknown)
}

/// Writes PKCS#8.
pub(super) fn pkcs8(features: Features, key: &Key) -> Result<Secret, Error> {
    let inner = match key.kind {
        Kind::Rsa => key.secret.clone(),
        Kind::Ed25519 | Kind::X25519 => {
            let seed = OctetStringRef::new(&key.secret).map_err(unwritten)?;
            encoded(&seed, key.secret.len())?
        }
        kind => match post_quantum::set_of(kind) {
            Some(set) => post_quantum::write(set, &key.secret)?,
            None => sec1(features, key, false)?,
        },
    };
    let value = OctetStringRef::new(&inner).map_err(unwritten)?;
    with_algorithm(key.kind, |algorithm| encoded(&PrivateKeyInfoRef::new(algorithm, value), inner.len()))
}

/// Writes SEC 1, with the curve's name where nothing around it says that.
pub(super) fn sec1(features: Features, key: &Key, with_name: bool) -> Result<Secret, Error> {
    let oid = CURVES.iter().find(|(kind, _)| *kind == key.kind).map(|(_, oid)| *oid);
    let oid = oid.ok_or_else(|| bad(format!("{} has no keys of this form; write JWK or raw", key.kind)))?;
    let public = key.public(features)?;
    let value = EcPrivateKey {
        private_key: &key.secret,
        parameters: with_name.then_some(EcParameters::NamedCurve(oid)),
        public_key: Some(&public.bytes),
    };
    encoded(&value, key.secret.len() + public.bytes.len())
}

/// Writes `SubjectPublicKeyInfo`.
pub(super) fn spki(key: &PublicKey) -> Result<Vec<u8>, Error> {
    let subject_public_key = BitStringRef::from_bytes(&key.bytes).map_err(unwritten)?;
    with_algorithm(key.kind, |algorithm| {
        let info = SubjectPublicKeyInfoRef { algorithm, subject_public_key };
        encoded(&info, key.bytes.len()).map(|der| der.to_vec())
    })
}

/// Calls `write` with the algorithm of keys of a kind.
fn with_algorithm<T>(
    kind: Kind,
    write: impl FnOnce(AlgorithmIdentifierRef<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let curve = CURVES.iter().find(|(known, _)| *known == kind);
    let (oid, parameters) = match (kind, curve) {
        (_, Some((_, curve))) => (EC, Some(AnyRef::from(curve))),
        (Kind::Rsa, _) => (RSA, Some(AnyRef::NULL)),
        (Kind::Ed25519, _) => (ED25519, None),
        (Kind::X25519, _) => (X25519, None),
        _ => match post_quantum::oid_of(kind) {
            Some(oid) => (oid, None),
            None => return Err(bad(format!("{kind} has no keys of this form; write JWK or raw"))),
        },
    };
    write(AlgorithmIdentifierRef { oid, parameters })
}

/// Encodes a value that is little longer than `bytes`. The room is there at once, so no copy stays behind.
fn encoded(value: &impl Encode, bytes: usize) -> Result<Secret, Error> {
    let mut room = Zeroizing::new(vec![0; bytes + FRAME]);
    let len = value.encode_to_slice(&mut room).map_err(unwritten)?.len();
    room.truncate(len);
    Ok(room)
}

fn unwritten(error: der::Error) -> Error {
    bad(format!("the key could not be written: {error}"))
}
