//! Keys that are made: generated, derived, wrapped and unwrapped.
//!
//! Ref. PKCS #11 v3.2 §5.18.

use std::sync::Arc;

use cryptoki_sys::*;
use millstream::hash::{Hash, Hasher};
use millstream::hkdf;
use millstream::publickey::rsa;
use millstream::publickey::weierstrass::{self, Curve};
use millstream::{Features, SystemRandom};
use millstream_files::key::{Form, Found, Key, PublicKey, read};
use millstream_files::pbkdf2::pbkdf2;
use zeroize::Zeroizing;

use super::tls;
use crate::abi::Mechanism;
use crate::mechanism::parameters::{self, Salt};
use crate::mechanism::{self, Way};
use crate::object::attributes::Attributes;
use crate::object::engine::{Engine, point_of};
use crate::object::kind::Kind;
use crate::object::make::{self, Origin};
use crate::object::{Draft, Secret, point, rules, trimmed};
use crate::refusal::{Outcome, Refusal, demand, refuse};

/// A template, as a program gives it.
pub type Template<'a> = &'a [(CK_ATTRIBUTE_TYPE, &'a [u8])];

/// A key that was generated, or is to be.
pub enum Generated {
    /// The key was made here.
    Here(Draft),
    /// The token is to make it, with so many bits.
    There(Attributes, u32),
}

/// A pair of keys that was generated, or is to be.
pub enum GeneratedPair {
    /// Both keys were made here, the public and the private one.
    Here(Draft, Draft),
    /// The token is to make it.
    There(PairThere),
}

/// A pair of keys that the token makes.
pub struct PairThere {
    kind: Kind,
    mechanism: CK_MECHANISM_TYPE,
    public: Attributes,
    /// The attributes of the private key, but for those that follow from the public one.
    pub private: Attributes,
    /// The bits of the modulus; 0 for all but RSA.
    pub bits: u32,
}

impl PairThere {
    /// Returns the public object, once the token has told the public key.
    ///
    /// # Errors
    /// Those of templates.
    pub fn public(self, features: Features, info: &[u8]) -> Outcome<Draft> {
        let public = PublicKey::from_spki(features, info).map_err(|_| Refusal(CKR_DEVICE_ERROR))?;
        let origin = Origin { made_by: Some(self.mechanism), from: None };
        make::public_key(features, self.public, self.kind, public.as_bytes(), origin)
    }
}

/// Makes a secret key, `C_GenerateKey`. Where the `token_makes` its keys, such a key is only described.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate(
    features: Features,
    mechanism: &Mechanism<'_>,
    template: Template<'_>,
    token_makes: bool,
) -> Outcome<Generated> {
    let row = mechanism::find(mechanism.kind, CKF_GENERATE)?;
    let mut given = Attributes::from_template(template)?;
    let said = given.number(CKA_VALUE_LEN)?;
    let value = match row.way {
        Way::MakeSecret(key_type) => {
            mechanism.bare()?;
            let before = given.number(CKA_KEY_TYPE)?;
            demand(before.is_none_or(|before| before == key_type), CKR_TEMPLATE_INCONSISTENT)?;
            given.set_number(CKA_KEY_TYPE, key_type);
            let len = secret_len(Kind::of(&given)?, said)?;
            if token_makes && given.flag(CKA_TOKEN)? == Some(true) {
                demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
                let origin = Origin { made_by: Some(mechanism.kind), from: None };
                return Ok(Generated::There(make::secret_elsewhere(given, len, origin)?, len as u32 * 8));
            }
            let mut value = Zeroizing::new(vec![0; len]);
            millstream::random(&mut value)?;
            value
        }
        Way::TlsPreMaster => {
            given.set_default(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes());
            tls::premaster(mechanism)?
        }
        Way::Pbkdf2 => {
            let wanted = parameters::pbkdf2(mechanism)?;
            given.set_default(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes());
            let mut value = Zeroizing::new(vec![0; secret_len(Kind::of(&given)?, said)?]);
            pbkdf2(features, wanted.hash, &wanted.password, &wanted.salt, wanted.iterations, &mut value);
            value
        }
        _ => return refuse(CKR_MECHANISM_INVALID),
    };
    demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    let origin = Origin { made_by: Some(mechanism.kind), from: None };
    Ok(Generated::Here(make::secret_key(features, given, value, origin)?))
}

/// Returns the length of a secret key: what the template says, or the only one.
fn secret_len(kind: Kind, said: Option<CK_ULONG>) -> Outcome<usize> {
    let len = match said {
        Some(said) => usize::try_from(said).map_err(|_| Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?,
        None => kind.only_len().ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?,
    };
    kind.check_len(len).map_err(|_| Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
    Ok(len)
}

/// Makes a public and a private key, `C_GenerateKeyPair`. Where the `token_makes` its keys, such a pair is only described.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn generate_pair(
    features: Features,
    mechanism: &Mechanism<'_>,
    public: Template<'_>,
    private: Template<'_>,
    token_makes: bool,
) -> Outcome<GeneratedPair> {
    let row = mechanism::find(mechanism.kind, CKF_GENERATE_KEY_PAIR)?;
    mechanism.bare()?;
    let mut public = Attributes::from_template(public)?;
    let mut private = Attributes::from_template(private)?;
    let key_type = match row.way {
        Way::MakeRsa => CKK_RSA,
        Way::MakeCurve(key_type) | Way::MakeOfSet(key_type) => key_type,
        _ => return refuse(CKR_MECHANISM_INVALID),
    };
    for half in [&mut public, &mut private] {
        demand(half.number(CKA_KEY_TYPE)?.is_none_or(|said| said == key_type), CKR_TEMPLATE_INCONSISTENT)?;
        half.set_number(CKA_KEY_TYPE, key_type);
    }
    // The curve or the parameter set may stand in one of the templates, and holds for both.
    if let Some(domain) = Kind::domain_of(key_type) {
        let said =
            public.get(domain).or(private.get(domain)).ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?.to_vec();
        public.set_default(domain, &said);
        private.set_default(domain, &said);
    }
    let kind = Kind::of(&public)?;
    demand(public.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    demand(Kind::of(&private)? == kind, CKR_TEMPLATE_INCONSISTENT)?;
    let origin = Origin { made_by: Some(mechanism.kind), from: None };
    if token_makes && private.flag(CKA_TOKEN)? == Some(true) {
        let bits = if kind == Kind::Rsa { rsa_size(&mut public)? } else { (0, USUAL_EXPONENT) };
        // The service makes keys with the usual exponent alone.
        demand(bits.1 == USUAL_EXPONENT, CKR_ATTRIBUTE_VALUE_INVALID)?;
        rules::check_given(CKO_PUBLIC_KEY, &public)?;
        let private = make::private_elsewhere(private, kind, origin)?;
        let bits = bits.0 as u32;
        return Ok(GeneratedPair::There(PairThere {
            kind,
            mechanism: mechanism.kind,
            public,
            private,
            bits,
        }));
    }
    let secret = match kind {
        Kind::Rsa => new_rsa(features, &mut public)?,
        _ => {
            let in_files = kind.in_files().ok_or(Refusal(CKR_TEMPLATE_INCONSISTENT))?;
            Zeroizing::new(Key::generate(features, in_files, None)?.secret().to_vec())
        }
    };
    let private = make::private_key(features, private, kind, &secret, origin)?;
    let in_files = kind.in_files().ok_or(Refusal(CKR_TEMPLATE_INCONSISTENT))?;
    let bytes = Key::new(features, in_files, &secret)?.public(features)?;
    let public = make::public_key(features, public, kind, bytes.as_bytes(), origin)?;
    Ok(GeneratedPair::Here(public, private))
}

/// The public exponent where a template has none.
const USUAL_EXPONENT: u64 = 65_537;

/// Takes the bits of the modulus and the public exponent out of a template.
fn rsa_size(public: &mut Attributes) -> Outcome<(CK_ULONG, u64)> {
    let bits = public.number(CKA_MODULUS_BITS)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
    let exponent = match public.take(CKA_PUBLIC_EXPONENT) {
        None => USUAL_EXPONENT,
        Some(bytes) => {
            let digits = trimmed(&bytes);
            let mut number = [0; 8];
            let at = 8usize.checked_sub(digits.len()).ok_or(Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
            number[at..].copy_from_slice(digits);
            u64::from_be_bytes(number)
        }
    };
    demand([2048, 3072, 4096].contains(&bits), CKR_KEY_SIZE_RANGE)?;
    Ok((bits, exponent))
}

fn new_rsa(features: Features, public: &mut Attributes) -> Outcome<Secret> {
    let (bits, exponent) = rsa_size(public)?;
    let key = rsa::PrivateKey::generate(features, bits as usize, exponent, &mut SystemRandom)?;
    let mut der = Zeroizing::new(vec![0; rsa::MAX_PRIVATE_DER]);
    let len = key.to_pkcs1(&mut der)?;
    der.truncate(len);
    Ok(der)
}

/// The base key of a derivation.
pub struct Base<'a> {
    /// The key's attributes.
    pub attributes: &'a Attributes,
    /// The key's secret; none for a private key, and for one that stays in the service.
    pub secret: Option<&'a [u8]>,
    /// The key, expanded, if it is a private one.
    pub engine: Option<&'a Engine>,
}

/// Derives a key, `C_DeriveKey`. `salt` returns the value of a key that is a salt.
///
/// # Errors
/// Those of the mechanism and of templates.
pub fn derive(
    features: Features,
    mechanism: &Mechanism<'_>,
    base: &Base<'_>,
    template: Template<'_>,
    salt: impl FnOnce(CK_OBJECT_HANDLE) -> Outcome<Arc<Secret>>,
) -> Outcome<Draft> {
    let row = mechanism::find(mechanism.kind, CKF_DERIVE)?;
    let mut given = Attributes::from_template(template)?;
    demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    let is_data = row.way == Way::Hkdf(true);
    if !is_data {
        given.set_default(CKA_KEY_TYPE, &CKK_GENERIC_SECRET.to_ne_bytes());
    }
    let said = given.number(CKA_VALUE_LEN)?;
    let origin = Origin { made_by: Some(mechanism.kind), from: Some(base.attributes) };
    let value = match row.way {
        Way::Ecdh => {
            let wanted = parameters::agreement(mechanism)?;
            let shared =
                agree(features, base.engine.ok_or(Refusal(CKR_KEY_TYPE_INCONSISTENT))?, &wanted.peer)?;
            let kind = Kind::of(&given)?;
            match wanted.hash {
                Some(hash) => {
                    let len = match (said, kind.only_len()) {
                        (None, None) => hash.output_len(),
                        (said, _) => secret_len(kind, said)?,
                    };
                    x963(features, hash, &shared, &wanted.shared, len)
                }
                // The shared secret itself, or the end of it: the standard cuts bytes off at its beginning (§6.3.17).
                None => {
                    let len = said.map_or(Ok(kind.only_len().unwrap_or(shared.len())), usize::try_from);
                    let cut = len.ok().and_then(|len| shared.len().checked_sub(len));
                    let cut = cut.ok_or(Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
                    Zeroizing::new(shared[cut..].to_vec())
                }
            }
        }
        Way::TlsMaster { .. } | Way::TlsKdf => {
            let secret = base.secret.ok_or(Refusal(CKR_KEY_FUNCTION_NOT_PERMITTED))?;
            let said = match (row.way, said) {
                (Way::TlsKdf, said) => Some(secret_len(Kind::of(&given)?, said)?),
                (_, said) => said.map(|said| usize::try_from(said).unwrap_or(usize::MAX)),
            };
            tls::derive(features, row.way, mechanism, secret, said)?
        }
        Way::Hkdf(_) => {
            let wanted = parameters::hkdf(mechanism)?;
            let secret = base.secret.ok_or(Refusal(CKR_KEY_FUNCTION_NOT_PERMITTED))?;
            let salt = match wanted.salt {
                Salt::Bytes(bytes) => Zeroizing::new(bytes),
                Salt::Key(handle) => salt(handle)?.as_ref().clone(),
            };
            let hash = wanted.hash;
            let usual = if wanted.expand { None } else { Some(hash.output_len()) };
            let len = match (said, usual) {
                (None, Some(usual)) => usual,
                (said, _) if is_data => usize::try_from(said.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?)
                    .ok()
                    .filter(|len| (1..=255 * hash.output_len()).contains(len))
                    .ok_or(Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?,
                (said, _) => secret_len(Kind::of(&given)?, said)?,
            };
            let mut value = Zeroizing::new(vec![0; len]);
            match (wanted.extract, wanted.expand) {
                (true, true) => hkdf::derive(features, hash, &salt, secret, &wanted.info, &mut value)?,
                (true, false) => {
                    let key = hkdf::extract(features, hash, &salt, secret);
                    demand(len <= key.len(), CKR_ATTRIBUTE_VALUE_INVALID)?;
                    value.copy_from_slice(&key[..len]);
                }
                (false, _) => {
                    let key = hkdf::Hkdf::from_prk(features, hash, secret);
                    key.map_err(|_| Refusal(CKR_KEY_SIZE_RANGE))?.expand(&wanted.info, &mut value)?;
                }
            }
            value
        }
        _ => return refuse(CKR_MECHANISM_INVALID),
    };
    if is_data {
        given.take(CKA_VALUE_LEN);
        let class = given.number(CKA_CLASS)?;
        demand(class.is_none_or(|class| class == CKO_DATA), CKR_TEMPLATE_INCONSISTENT)?;
        given.set_number(CKA_CLASS, CKO_DATA);
        rules::check_given(CKO_DATA, &given)?;
        rules::set_defaults(&mut given, None);
        return Ok(Draft { attributes: given, secret: Some(value) });
    }
    make::secret_key(features, given, value, origin)
}

/// Agrees with a peer's public key.
fn agree(features: Features, engine: &Engine, peer: &[u8]) -> Outcome<Secret> {
    let bad = Refusal(CKR_MECHANISM_PARAM_INVALID);
    match engine {
        Engine::Curve(key) => {
            let bytes = point_of(key.curve(), peer);
            let peer = weierstrass::PublicKey::new(features, key.curve(), &bytes).map_err(|_| bad)?;
            Ok(Zeroizing::new(key.agree(&peer).map_err(|_| bad)?.to_vec()))
        }
        Engine::X25519(key) => {
            use millstream::publickey::x25519::PublicKey;
            let peer = PublicKey::new(&point(peer, &[32])).map_err(|_| bad)?;
            Ok(Zeroizing::new(key.agree(&peer).map_err(|_| bad)?.as_bytes().to_vec()))
        }
        Engine::Remote(key) if key.is_x25519() => key.agree(&point(peer, &[32])),
        Engine::Remote(key) => {
            let curve = Curve::ALL.into_iter().find(|curve| curve.bytes() == key.size());
            let curve = curve.ok_or(Refusal(CKR_KEY_TYPE_INCONSISTENT))?;
            // The service takes points in one form.
            let peer =
                weierstrass::PublicKey::new(features, curve, &point_of(curve, peer)).map_err(|_| bad)?;
            key.agree(&peer.to_bytes())
        }
        _ => refuse(CKR_KEY_TYPE_INCONSISTENT),
    }
}

/// Derives by the function of ANSI X9.63 (SEC 1 v2 §3.6.1).
fn x963(features: Features, hash: Hash, shared: &[u8], info: &[u8], len: usize) -> Secret {
    let mut value = Zeroizing::new(vec![0; len]);
    for (chunk, counter) in value.chunks_mut(hash.output_len()).zip(1u32..) {
        let mut hasher = Hasher::new(features, hash);
        hasher.update(shared);
        hasher.update(&counter.to_be_bytes());
        hasher.update(info);
        chunk.copy_from_slice(&hasher.finish()[..chunk.len()]);
    }
    value
}

/// Returns the bytes that are wrapped for a key: a secret key's value, or PKCS #8.
///
/// # Errors
/// `CKR_KEY_UNEXTRACTABLE`, `CKR_KEY_NOT_WRAPPABLE`.
pub fn to_wrap(
    features: Features,
    key: &Attributes,
    wrapping: &Attributes,
    secret: impl FnOnce() -> Outcome<Arc<Secret>>,
) -> Outcome<Secret> {
    // Public keys have no such attribute, and nothing to wrap.
    demand([CKO_SECRET_KEY, CKO_PRIVATE_KEY].contains(&key.class()), CKR_KEY_NOT_WRAPPABLE)?;
    demand(key.is(CKA_EXTRACTABLE), CKR_KEY_UNEXTRACTABLE)?;
    demand(!key.is(CKA_WRAP_WITH_TRUSTED) || wrapping.is(CKA_TRUSTED), CKR_KEY_NOT_WRAPPABLE)?;
    let secret = secret()?;
    match (key.class(), Kind::of(key)?.in_files()) {
        (CKO_SECRET_KEY, _) => Ok(Zeroizing::new(secret.to_vec())),
        (CKO_PRIVATE_KEY, Some(kind)) => Ok(Key::new(features, kind, &secret)?.write(features, Form::Der)?),
        _ => refuse(CKR_KEY_NOT_WRAPPABLE),
    }
}

/// Makes the key whose bytes `open` gets out of a wrapped one, `C_UnwrapKey` and `C_UnwrapKeyAuthenticated`.
///
/// # Errors
/// `CKR_WRAPPED_KEY_INVALID`; those of templates and of `open`.
pub fn unwrap(
    features: Features,
    template: Template<'_>,
    open: impl FnOnce() -> Outcome<Secret>,
) -> Outcome<Draft> {
    let given = Attributes::from_template(template)?;
    demand(given.get(CKA_VALUE).is_none(), CKR_TEMPLATE_INCONSISTENT)?;
    let class = given.number(CKA_CLASS)?.ok_or(Refusal(CKR_TEMPLATE_INCOMPLETE))?;
    let mut value = open()?;
    match class {
        CKO_SECRET_KEY => {
            // A block cipher without padding gives whole blocks: the template says how long the key is.
            if let Some(len) = given.number(CKA_VALUE_LEN)? {
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                demand(len <= value.len(), CKR_TEMPLATE_INCONSISTENT)?;
                value.truncate(len);
            }
            make::secret_key(features, given, value, Origin::GIVEN)
        }
        CKO_PRIVATE_KEY => {
            let invalid = Refusal(CKR_WRAPPED_KEY_INVALID);
            // Whole blocks may have zeros behind the encoding, which has its length in front.
            let len = der_len(&value).ok_or(invalid)?;
            value.truncate(len);
            let Ok(Found::Key(key)) = read(features, &value, None) else { return Err(invalid) };
            let kind = Kind::named(key.kind().name()).ok_or(invalid)?;
            let said = given.number(CKA_KEY_TYPE)?;
            demand(said.is_none_or(|said| said == kind.key_type()), CKR_TEMPLATE_INCONSISTENT)?;
            make::private_key(features, given, kind, key.secret(), Origin::GIVEN)
        }
        _ => refuse(CKR_TEMPLATE_INCONSISTENT),
    }
}

/// Returns the length of the DER that bytes begin with; none when they are shorter.
fn der_len(bytes: &[u8]) -> Option<usize> {
    let (head, len) = match bytes {
        [0x30, len @ 0..=0x7f, ..] => (2, usize::from(*len)),
        [0x30, 0x81, len, ..] => (3, usize::from(*len)),
        [0x30, 0x82, high, low, ..] => (4, usize::from(*high) << 8 | usize::from(*low)),
        _ => return None,
    };
    (head + len <= bytes.len()).then_some(head + len)
}
