//! Keys that are agreed on by encapsulation.
//!
//! Ref. PKCS #11 v3.2 §5.18 (`C_EncapsulateKey`, `C_DecapsulateKey`), FIPS 203 §7.2, §7.3.

use cryptoki_sys::*;
use millstream::publickey::mlkem::SharedSecret;
use millstream::{Features, SystemRandom};
use zeroize::Zeroizing;

use super::keys::Template;
use crate::abi::Mechanism;
use crate::mechanism::Way;
use crate::object::attributes::Attributes;
use crate::object::engine::Engine;
use crate::object::make::{self, Origin};
use crate::object::purpose::Purpose;
use crate::object::{Draft, Secret};
use crate::refusal::{Outcome, demand, refuse};

/// Returns what the key of a mechanism is expanded for.
///
/// # Errors
/// `CKR_MECHANISM_PARAM_INVALID` for a parameter: no such mechanism has one.
pub fn purpose(_: Way, mechanism: &Mechanism<'_>) -> Outcome<Purpose> {
    mechanism.bare()?;
    Ok(Purpose::Pair)
}

/// Returns the bytes of a ciphertext for a key, or with it.
///
/// # Errors
/// `CKR_KEY_TYPE_INCONSISTENT`.
pub fn ciphertext_len(engine: &Engine) -> Outcome<usize> {
    match engine {
        Engine::MlKemPublic(key) => Ok(key.set().ciphertext_len()),
        Engine::MlKem(key) => Ok(key.set().ciphertext_len()),
        Engine::Remote(key) => Ok(key.size()),
        _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
    }
}

/// Returns a ciphertext for a public key and the secret in it.
///
/// # Errors
/// `CKR_RANDOM_NO_RNG`; `CKR_KEY_TYPE_INCONSISTENT`.
pub fn encapsulate(engine: &Engine) -> Outcome<(Vec<u8>, Secret)> {
    let Engine::MlKemPublic(key) = engine else { return refuse(CKR_KEY_TYPE_INCONSISTENT) };
    let (ciphertext, secret) = key.encapsulate(&mut SystemRandom)?;
    Ok((ciphertext, bytes(&secret)))
}

/// Returns the secret in a ciphertext. One that was not made for the key gives a secret that nobody else knows, and no error.
///
/// # Errors
/// `CKR_WRAPPED_KEY_LEN_RANGE`; `CKR_KEY_TYPE_INCONSISTENT`; those of the service.
pub fn decapsulate(engine: &Engine, ciphertext: &[u8]) -> Outcome<Secret> {
    demand(ciphertext.len() == ciphertext_len(engine)?, CKR_WRAPPED_KEY_LEN_RANGE)?;
    match engine {
        Engine::MlKem(key) => Ok(bytes(&key.decapsulate(ciphertext)?)),
        Engine::Remote(key) => key.decapsulate(ciphertext),
        _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
    }
}

fn bytes(secret: &SharedSecret) -> Secret {
    Zeroizing::new(secret.as_bytes().to_vec())
}

/// Makes the key that a template describes of a shared secret.
///
/// # Errors
/// Those of templates; `CKR_TEMPLATE_INCONSISTENT` for a value.
pub fn key(features: Features, template: Template<'_>, secret: Secret) -> Outcome<Draft> {
    let mut given = Attributes::from_template(template)?;
    demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    given.set_default(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes());
    make::secret_key(features, given, secret, Origin::GIVEN)
}
