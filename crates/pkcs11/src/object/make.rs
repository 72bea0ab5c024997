//! New objects, from what a program says of them and from keys that are made.
//!
//! Ref. PKCS #11 v3.2 §4.1, §5.7.

use cryptoki_sys::*;
use millstream::compare::begins;
use millstream::hash::{Hash, digest};
use millstream::modes::{BlockMode, Direction};
use millstream::publickey::{mldsa, mlkem, rsa};
use millstream::{Features, aes, des};
use millstream_files::key::{Form, Key, PublicKey};
use zeroize::Zeroizing;

use super::attributes::Attributes;
use super::engine::Engine;
use super::kind::Kind;
use super::purpose::{AesMode, Purpose};
use super::{Draft, Secret, der, rules};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// The history of a key.
#[derive(Clone, Copy)]
pub struct Origin<'a> {
    /// The mechanism that made the key within the token; none for a key that was given.
    pub made_by: Option<CK_MECHANISM_TYPE>,
    /// The attributes of the key that it was derived or unwrapped with, whose history it inherits.
    pub from: Option<&'a Attributes>,
}

impl Origin<'_> {
    /// A program gave the key.
    pub const GIVEN: Origin<'static> = Origin { made_by: None, from: None };
}

/// Makes the object that a program describes in whole.
///
/// # Errors
/// Those of the standard for templates.
pub fn described(features: Features, template: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Outcome<Draft> {
    let mut given = Attributes::from_template(template)?;
    let class = given.number(CKA_CLASS)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
    rules::check_given(class, &given)?;
    match class {
        CKO_CERTIFICATE => {
            let x509 = given.number(CKA_CERTIFICATE_TYPE)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
            demand(x509 == CKC_X_509, CKR_ATTRIBUTE_VALUE_INVALID)?;
            given.required(CKA_VALUE)?;
            rules::set_defaults(&mut given, None);
            Ok(Draft { attributes: given, secret: None })
        }
        CKO_DATA => {
            let value = given.take(CKA_VALUE).unwrap_or_default();
            rules::set_defaults(&mut given, None);
            Ok(Draft { attributes: given, secret: Some(value) })
        }
        CKO_SECRET_KEY => {
            let value = given.take(CKA_VALUE).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
            secret_key(features, given, value, Origin::GIVEN)
        }
        CKO_PUBLIC_KEY => {
            let kind = Kind::of(&given)?;
            let bytes = public_bytes(features, kind, &given)?;
            public_key(features, given, kind, &bytes, Origin::GIVEN)
        }
        CKO_PRIVATE_KEY => {
            let kind = Kind::of(&given)?;
            let secret = private_bytes(features, kind, &mut given)?;
            private_key(features, given, kind, &secret, Origin::GIVEN)
        }
        _ => refuse(CKR_ATTRIBUTE_VALUE_INVALID),
    }
}

/// Makes a secret key of `value`.
///
/// # Errors
/// Those of templates.
pub fn secret_key(
    features: Features,
    mut given: Attributes,
    value: Secret,
    origin: Origin<'_>,
) -> Outcome<Draft> {
    let kind = secret_kind(&mut given, value.len())?;
    let check = check_value(features, kind, &value)?;
    match given.get(CKA_CHECK_VALUE) {
        // Whoever gives an empty one wants none.
        Some([]) => {}
        Some(said) => demand(said == check, CKR_ATTRIBUTE_VALUE_INVALID)?,
        None => given.set(CKA_CHECK_VALUE, &check),
    }
    Ok(Draft { attributes: finish(given, kind, origin), secret: Some(value) })
}

/// Returns the first bytes of a block of zeros under the key's cipher, or of the secret's SHA-1 where its type belongs to no block cipher.
///
/// Ref. PKCS #11 v3.2 §4.10.1.
fn check_value(features: Features, kind: Kind, secret: &[u8]) -> Outcome<[u8; 3]> {
    let cipher = match kind {
        Kind::Secret(CKK_AES) => Some((Purpose::Aes(AesMode::Ecb), aes::Ecb::BLOCK)),
        Kind::Secret(CKK_DES3) => Some((Purpose::Des3(false), des::Ecb::BLOCK)),
        _ => None,
    };
    let mut block = Zeroizing::new([0; 20]);
    match cipher {
        Some((purpose, len)) => {
            let engine = Engine::secret(features, purpose, kind, secret)?;
            engine.pass(Direction::Encrypt, &mut [], &mut block[..len])?;
        }
        None => {
            digest(features, Hash::Sha1, secret, &mut block[..])?;
        }
    }
    Ok([block[0], block[1], block[2]])
}

/// Checks what is given for a secret key of so many bytes, and returns its kind.
fn secret_kind(given: &mut Attributes, len: usize) -> Outcome<Kind> {
    of_class(given, CKO_SECRET_KEY)?;
    let kind = Kind::of(given)?;
    demand(matches!(kind, Kind::Secret(_)), CKR_TEMPLATE_INCONSISTENT)?;
    kind.check_len(len).map_err(|_| Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
    if let Some(said) = given.number(CKA_VALUE_LEN)? {
        demand(said == len as CK_ULONG, CKR_TEMPLATE_INCONSISTENT)?;
    }
    given.set_number(CKA_VALUE_LEN, len as CK_ULONG);
    Ok(kind)
}

/// Returns the attributes of a secret key of so many bytes that is made elsewhere. It has no check value, which only its bytes tell.
///
/// # Errors
/// Those of templates.
pub fn secret_elsewhere(mut given: Attributes, len: usize, origin: Origin<'_>) -> Outcome<Attributes> {
    let kind = secret_kind(&mut given, len)?;
    demand(given.get(CKA_CHECK_VALUE).is_none_or(<[u8]>::is_empty), CKR_ATTRIBUTE_VALUE_INVALID)?;
    Ok(finish(given, kind, origin))
}

/// Returns the attributes of a private key that is made elsewhere, but for those that follow from its public key.
///
/// # Errors
/// Those of templates.
pub fn private_elsewhere(mut given: Attributes, kind: Kind, origin: Origin<'_>) -> Outcome<Attributes> {
    of_class(&mut given, CKO_PRIVATE_KEY)?;
    kind.set_domain(&mut given);
    Ok(finish(given, kind, origin))
}

/// Makes a public key of its bytes, in the form of key files.
///
/// # Errors
/// Those of templates.
pub fn public_key(
    features: Features,
    mut given: Attributes,
    kind: Kind,
    bytes: &[u8],
    origin: Origin<'_>,
) -> Outcome<Draft> {
    of_class(&mut given, CKO_PUBLIC_KEY)?;
    // Only keys of ML-KEM, ML-DSA and SLH-DSA have a public value, and parameter sets.
    let is_other = kind.parameter_set().is_none()
        && [CKA_VALUE, CKA_PARAMETER_SET].iter().any(|other| given.get(*other).is_some());
    demand(!is_other, CKR_ATTRIBUTE_TYPE_INVALID)?;
    set_public(features, &mut given, kind, bytes)?;
    Ok(Draft { attributes: finish(given, kind, origin), secret: None })
}

/// Makes a private key of its bytes, in the form of key files.
///
/// # Errors
/// Those of templates.
pub fn private_key(
    features: Features,
    mut given: Attributes,
    kind: Kind,
    secret: &[u8],
    origin: Origin<'_>,
) -> Outcome<Draft> {
    of_class(&mut given, CKO_PRIVATE_KEY)?;
    let in_files = kind.in_files().ok_or(Refusal(CKR_TEMPLATE_INCONSISTENT))?;
    let key = Key::new(features, in_files, secret)?;
    set_public(features, &mut given, kind, key.public(features)?.as_bytes())?;
    given.take(CKA_MODULUS_BITS);
    let secret = Zeroizing::new(key.secret().to_vec());
    Ok(Draft { attributes: finish(given, kind, origin), secret: Some(secret) })
}

/// Takes a template for a key of a class.
///
/// # Errors
/// Those of templates; `CKR_TEMPLATE_INCONSISTENT` for another class, and for a private key's secret beside the one that it is made of.
fn of_class(given: &mut Attributes, class: CK_OBJECT_CLASS) -> Outcome {
    given.set_default(CKA_CLASS, &class.to_ne_bytes());
    rules::check_given(class, given)?;
    demand(given.iter().all(|(kind, _)| !rules::is_secret(class, kind)), CKR_TEMPLATE_INCONSISTENT)
}

/// Sets what follows from the class, the kind and the origin.
fn finish(mut given: Attributes, kind: Kind, origin: Origin<'_>) -> Attributes {
    given.set_number(CKA_KEY_TYPE, kind.key_type());
    rules::set_defaults(&mut given, Some(kind));
    given.set_flag(CKA_LOCAL, origin.made_by.is_some() && origin.from.is_none());
    let mechanism = origin.made_by.filter(|_| origin.from.is_none()).unwrap_or(CK_UNAVAILABLE_INFORMATION);
    given.set_number(CKA_KEY_GEN_MECHANISM, mechanism);
    if given.class() != CKO_PUBLIC_KEY {
        // A key that was outside at any time has been in the clear there.
        let inherited = |kind| match origin.from {
            Some(base) => base.is(kind),
            None => origin.made_by.is_some(),
        };
        let always = given.is(CKA_SENSITIVE) && inherited(CKA_ALWAYS_SENSITIVE);
        let never = !given.is(CKA_EXTRACTABLE) && inherited(CKA_NEVER_EXTRACTABLE);
        given.set_flag(CKA_ALWAYS_SENSITIVE, always);
        given.set_flag(CKA_NEVER_EXTRACTABLE, never);
    }
    given
}

/// Sets the attributes in which the public key is.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID` for bytes that are no such key.
pub fn set_public(features: Features, given: &mut Attributes, kind: Kind, bytes: &[u8]) -> Outcome {
    let in_files = kind.in_files().ok_or(Refusal(CKR_TEMPLATE_INCONSISTENT))?;
    let public = PublicKey::new(features, in_files, bytes)?;
    kind.set_domain(given);
    match kind {
        // A private key's value is its secret.
        Kind::MlKem(_) | Kind::MlDsa(_) | Kind::SlhDsa(_) if given.class() != CKO_PUBLIC_KEY => {}
        Kind::MlKem(_) | Kind::MlDsa(_) | Kind::SlhDsa(_) => given.set(CKA_VALUE, public.as_bytes()),
        Kind::Curve(_) | Kind::Ed25519 | Kind::X25519 => {
            given.set(CKA_EC_POINT, &der::octet_string(public.as_bytes()));
        }
        Kind::Rsa | Kind::Secret(_) => {
            let key = rsa::PublicKey::from_pkcs1(features, public.as_bytes())?;
            let mut modulus = [0; rsa::MAX_BYTES];
            let len = key.modulus(&mut modulus)?;
            given.set(CKA_MODULUS, &modulus[..len]);
            given.set(CKA_PUBLIC_EXPONENT, der::trimmed(&key.exponent().to_be_bytes()));
            given.set_number(CKA_MODULUS_BITS, key.bits() as CK_ULONG);
        }
    }
    given.set(CKA_PUBLIC_KEY_INFO, &public.write(Form::Der)?);
    Ok(())
}

/// Returns the bytes of a public key from its attributes.
fn public_bytes(features: Features, kind: Kind, given: &Attributes) -> Outcome<Vec<u8>> {
    let point = |lens: &[usize]| given.required(CKA_EC_POINT).map(|value| der::point(value, lens));
    match kind {
        Kind::Rsa => {
            let (modulus, exponent) = (given.required(CKA_MODULUS)?, given.required(CKA_PUBLIC_EXPONENT)?);
            let key = rsa::PublicKey::new(features, modulus, exponent)?;
            let mut der = vec![0; rsa::MAX_PUBLIC_DER];
            let len = key.to_pkcs1(&mut der)?;
            der.truncate(len);
            Ok(der)
        }
        Kind::Curve(curve) => point(&[1 + 2 * curve.bytes(), 1 + curve.bytes()]),
        Kind::Ed25519 | Kind::X25519 => point(&[32]),
        Kind::MlKem(_) | Kind::MlDsa(_) | Kind::SlhDsa(_) => given.required(CKA_VALUE).map(<[u8]>::to_vec),
        Kind::Secret(_) => refuse(CKR_TEMPLATE_INCONSISTENT),
    }
}

/// Takes the bytes of a private key out of its attributes.
fn private_bytes(features: Features, kind: Kind, given: &mut Attributes) -> Outcome<Secret> {
    if let Kind::SlhDsa(set) = kind {
        // The seeds alone, which key files take too, are no value.
        let value = given.take(CKA_VALUE).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
        demand(value.len() == set.private_key_len(), CKR_ATTRIBUTE_VALUE_INVALID)?;
        return Ok(value);
    }
    if kind.parameter_set().is_some() {
        return seed_or_value(features, kind, given);
    }
    if kind != Kind::Rsa {
        let value = given.take(CKA_VALUE).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
        let Kind::Curve(curve) = kind else { return Ok(value) };
        // Programs send scalars with and without leading zeros. How many there are is as secret as the scalar.
        let more = value.len().saturating_sub(curve.bytes());
        let (zeros, digits) = value.split_at(more);
        demand(zeros.iter().fold(0, |all, byte| all | byte) == 0, CKR_ATTRIBUTE_VALUE_INVALID)?;
        let mut scalar = Zeroizing::new(vec![0; curve.bytes()]);
        scalar[curve.bytes() - digits.len()..].copy_from_slice(digits);
        return Ok(scalar);
    }
    let mut take = |kind| given.take(kind).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE));
    let modulus = take(CKA_MODULUS)?;
    let public_exponent = take(CKA_PUBLIC_EXPONENT)?;
    let private_exponent = take(CKA_PRIVATE_EXPONENT)?;
    let (p, q) = (take(CKA_PRIME_1)?, take(CKA_PRIME_2)?);
    let (dp, dq, inverse) = (take(CKA_EXPONENT_1)?, take(CKA_EXPONENT_2)?, take(CKA_COEFFICIENT)?);
    let components = rsa::Components {
        modulus: &modulus,
        public_exponent: &public_exponent,
        private_exponent: &private_exponent,
        p: &p,
        q: &q,
        dp: &dp,
        dq: &dq,
        inverse: &inverse,
    };
    let key = rsa::PrivateKey::new(features, &components)?;
    let mut der = Zeroizing::new(vec![0; rsa::MAX_PRIVATE_DER]);
    let len = key.to_pkcs1(&mut der)?;
    der.truncate(len);
    Ok(der)
}

/// Takes the seed of a key on lattices out of its attributes, or its expanded form where the program has no seed.
///
/// # Errors
/// `CKR_TEMPLATE_INCOMPLETE` without both; `CKR_TEMPLATE_INCONSISTENT` for those of two keys; `CKR_ATTRIBUTE_VALUE_INVALID` for lengths that they do not have.
fn seed_or_value(features: Features, kind: Kind, given: &mut Attributes) -> Outcome<Secret> {
    // An empty attribute is none.
    let mut take = |kind| given.take(kind).filter(|value| !value.is_empty());
    match (take(CKA_SEED), take(CKA_VALUE)) {
        (None, None) => refuse(CKR_TEMPLATE_INCOMPLETE),
        (None, Some(value)) => {
            demand(Some(value.len()) != seed_len(kind), CKR_ATTRIBUTE_VALUE_INVALID)?;
            Ok(value)
        }
        (Some(seed), value) => {
            demand(Some(seed.len()) == seed_len(kind), CKR_ATTRIBUTE_VALUE_INVALID)?;
            if let Some(value) = value {
                let expanded = expanded(features, kind, &seed)?;
                demand(value.len() == expanded.len(), CKR_ATTRIBUTE_VALUE_INVALID)?;
                demand(begins(&expanded, &value).into(), CKR_TEMPLATE_INCONSISTENT)?;
            }
            Ok(seed)
        }
    }
}

/// Returns the bytes of a seed of a key on lattices.
fn seed_len(kind: Kind) -> Option<usize> {
    match kind {
        Kind::MlKem(_) => Some(mlkem::SEED),
        Kind::MlDsa(_) => Some(mldsa::SEED),
        _ => None,
    }
}

/// Returns the expanded form of a key on lattices.
fn expanded(features: Features, kind: Kind, secret: &[u8]) -> Outcome<Secret> {
    match kind {
        Kind::MlKem(set) => Ok(mlkem::PrivateKey::new(features, set, secret)?.to_expanded()),
        Kind::MlDsa(set) => Ok(mldsa::PrivateKey::new(features, set, secret)?.to_expanded()),
        _ => refuse(CKR_ATTRIBUTE_TYPE_INVALID),
    }
}

/// Returns the secret part of a private key that an attribute is.
///
/// # Errors
/// `CKR_ATTRIBUTE_TYPE_INVALID` when the kind has no such part.
pub fn part(features: Features, kind: Kind, secret: &[u8], wanted: CK_ATTRIBUTE_TYPE) -> Outcome<Vec<u8>> {
    use rsa::Component;
    let component = match (kind, wanted) {
        (Kind::Rsa, CKA_PRIVATE_EXPONENT) => Component::PrivateExponent,
        (Kind::Rsa, CKA_PRIME_1) => Component::P,
        (Kind::Rsa, CKA_PRIME_2) => Component::Q,
        (Kind::Rsa, CKA_EXPONENT_1) => Component::Dp,
        (Kind::Rsa, CKA_EXPONENT_2) => Component::Dq,
        (Kind::Rsa, CKA_COEFFICIENT) => Component::Inverse,
        (Kind::Rsa, _) => return refuse(CKR_ATTRIBUTE_TYPE_INVALID),
        (Kind::MlKem(_) | Kind::MlDsa(_), CKA_VALUE) => return Ok(expanded(features, kind, secret)?.to_vec()),
        // A key that came expanded has no seed.
        (_, CKA_SEED) if Some(secret.len()) == seed_len(kind) => return Ok(secret.to_vec()),
        (_, CKA_VALUE) => return Ok(secret.to_vec()),
        _ => return refuse(CKR_ATTRIBUTE_TYPE_INVALID),
    };
    let key = rsa::PrivateKey::from_pkcs1(features, secret)?;
    let mut number = Zeroizing::new([0; rsa::MAX_BYTES]);
    let len = key.component(component, &mut number[..])?;
    Ok(number[..len].to_vec())
}
