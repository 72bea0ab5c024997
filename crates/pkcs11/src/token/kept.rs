//! Objects as the store has them: the attributes that all programs with tokens share, and beside them those of PKCS #11.
//!
//! | tag | value |
//! | ---: | --- |
//! | 256 | the attributes of PKCS #11, as [`Attributes::encode`] gives them, without those that follow from the public key |
//!
//! A key that `millstream key` made has no such tag: its attributes follow from the shared ones.

use cryptoki_sys::*;
use millstream::Features;
use millstream::publickey::{mldsa, mlkem};
use millstream_files::key::PublicKey;
use millstream_store::{Attributes as Shared, CERTIFICATE, PKCS11_TAG, usage};

use crate::object::attributes::Attributes;
use crate::object::kind::Kind;
use crate::object::{make, rules};
use crate::refusal::{Outcome, Refusal};

/// Returns the usages that both sides have, for keys of a kind.
fn usages_of(kind: Option<Kind>) -> [(u32, CK_ATTRIBUTE_TYPE); 7] {
    [
        (usage::ENCRYPT, CKA_ENCRYPT),
        (usage::DECRYPT, CKA_DECRYPT),
        (usage::SIGN, CKA_SIGN),
        (usage::VERIFY, CKA_VERIFY),
        (usage::DERIVE, kind.map_or(CKA_DERIVE, Kind::deriving_usage)),
        (usage::WRAP, CKA_WRAP),
        (usage::UNWRAP, CKA_UNWRAP),
    ]
}

/// The attributes that follow from the public key.
const OF_PUBLIC_KEY: [CK_ATTRIBUTE_TYPE; 6] =
    [CKA_PUBLIC_KEY_INFO, CKA_MODULUS, CKA_MODULUS_BITS, CKA_PUBLIC_EXPONENT, CKA_EC_POINT, CKA_VALUE];

/// Returns an object's attributes as the store keeps them.
///
/// # Errors
/// `CKR_ATTRIBUTE_VALUE_INVALID`.
pub fn to_store(attributes: &Attributes, created: u64) -> Outcome<Shared> {
    let label = attributes.get(CKA_LABEL).unwrap_or_default().to_vec();
    let class = attributes.class();
    let kind = Kind::of(attributes).ok();
    let bits = match kind {
        None => 0,
        Some(Kind::Secret(_)) => attributes.number(CKA_VALUE_LEN)?.unwrap_or(0) as u32 * 8,
        Some(Kind::Curve(curve)) => curve.bits() as u32,
        Some(Kind::Ed25519 | Kind::X25519) => 256,
        // The bits of the seed, whichever form the key has.
        Some(Kind::MlKem(_)) => 8 * mlkem::SEED as u32,
        Some(Kind::MlDsa(_)) => 8 * mldsa::SEED as u32,
        Some(Kind::SlhDsa(set)) => 8 * set.private_key_len() as u32,
        Some(Kind::Rsa) => {
            let modulus = attributes.get(CKA_MODULUS).unwrap_or_default();
            let zeros = modulus.first().map_or(0, |first| first.leading_zeros());
            modulus.len() as u32 * 8 - zeros
        }
    };
    let name = match (class, kind) {
        (CKO_PUBLIC_KEY, Some(kind)) => format!("{} public", kind.name()),
        (_, Some(kind)) => kind.name().to_owned(),
        (CKO_CERTIFICATE, _) => CERTIFICATE.to_owned(),
        _ => "data".to_owned(),
    };
    let usages = usages_of(kind).into_iter().filter(|(_, kind)| attributes.is(*kind));
    let usages: u32 = usages.map(|(bit, _)| bit).sum();
    // Programs give keys usages that no such key has; PKCS #11 alone knows of those.
    let usages = if is_secret(class) { usages & usage::of_kind(&name) } else { usages };
    let mut shared = Shared {
        label: String::from_utf8(label).map_err(|_| Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?,
        id: attributes.get(CKA_ID).unwrap_or_default().to_vec(),
        kind: name,
        bits,
        usages,
        exportable: attributes.is(CKA_EXTRACTABLE) && !attributes.is(CKA_SENSITIVE),
        never_outside: attributes.is(CKA_NEVER_EXTRACTABLE),
        created,
        public_key: attributes.get(CKA_PUBLIC_KEY_INFO).unwrap_or_default().to_vec(),
        ..Shared::default()
    };
    let mut own = attributes.clone();
    if matches!(class, CKO_PRIVATE_KEY | CKO_PUBLIC_KEY) {
        OF_PUBLIC_KEY.iter().for_each(|kind| drop(own.take(*kind)));
    }
    shared.others.insert(PKCS11_TAG, own.encode());
    Ok(shared)
}

fn is_secret(class: CK_OBJECT_CLASS) -> bool {
    matches!(class, CKO_PRIVATE_KEY | CKO_SECRET_KEY)
}

/// Returns an object's attributes from what the store has; none for what this version does not know.
pub fn from_store(features: Features, shared: &Shared) -> Option<Attributes> {
    let mut attributes = match shared.others.get(&PKCS11_TAG) {
        Some(bytes) => completed(features, Attributes::decode(bytes)?, shared)?,
        None => of_key(features, shared).ok()?,
    };
    // Another program may have changed what it knows of.
    attributes.set(CKA_LABEL, shared.label.as_bytes());
    attributes.set(CKA_ID, &shared.id);
    Some(attributes)
}

/// Adds what follows from the public key, and takes away what is true no more.
fn completed(features: Features, mut attributes: Attributes, shared: &Shared) -> Option<Attributes> {
    let class = attributes.class();
    if matches!(class, CKO_PRIVATE_KEY | CKO_PUBLIC_KEY) && !shared.public_key.is_empty() {
        let kind = Kind::named(shared.kind.strip_suffix(" public").unwrap_or(&shared.kind))?;
        let public = PublicKey::from_spki(features, &shared.public_key).ok()?;
        make::set_public(features, &mut attributes, kind, public.as_bytes()).ok()?;
        if class == CKO_PRIVATE_KEY {
            attributes.take(CKA_MODULUS_BITS);
        }
    }
    if matches!(class, CKO_SECRET_KEY) {
        attributes.set_number(CKA_VALUE_LEN, shared.bits.div_ceil(8).into());
    }
    if is_secret(class) && !shared.never_outside {
        attributes.set_flag(CKA_NEVER_EXTRACTABLE, false);
    }
    Some(attributes)
}

/// Returns the attributes of a key that another program made.
fn of_key(features: Features, shared: &Shared) -> Outcome<Attributes> {
    let kind = Kind::named(&shared.kind).ok_or(Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
    let mut attributes = Attributes::default();
    match kind {
        Kind::Secret(_) => {
            attributes.set_number(CKA_CLASS, CKO_SECRET_KEY);
            attributes.set_number(CKA_VALUE_LEN, shared.bits.div_ceil(8).into());
        }
        _ => {
            attributes.set_number(CKA_CLASS, CKO_PRIVATE_KEY);
            let public = PublicKey::from_spki(features, &shared.public_key)?;
            make::set_public(features, &mut attributes, kind, public.as_bytes())?;
            attributes.take(CKA_MODULUS_BITS);
        }
    }
    attributes.set_number(CKA_KEY_TYPE, kind.key_type());
    attributes.set_flag(CKA_TOKEN, true);
    attributes.set_flag(CKA_EXTRACTABLE, shared.exportable);
    attributes.set_flag(CKA_SENSITIVE, !shared.exportable);
    attributes.set_flag(CKA_LOCAL, shared.never_outside);
    attributes.set_flag(CKA_NEVER_EXTRACTABLE, shared.never_outside && !shared.exportable);
    attributes.set_flag(CKA_ALWAYS_SENSITIVE, shared.never_outside && !shared.exportable);
    attributes.set_number(CKA_KEY_GEN_MECHANISM, CK_UNAVAILABLE_INFORMATION);
    let class = attributes.class();
    for (bit, usage) in usages_of(Some(kind)) {
        if rules::has(class, usage) {
            attributes.set_flag(usage, shared.usages & bit != 0);
        }
    }
    rules::set_defaults(&mut attributes, Some(kind));
    Ok(attributes)
}

/// Returns the public object of a private key that has none of its own.
///
/// # Errors
/// None that the private key does not have, too.
pub fn half_of(features: Features, private: &Attributes) -> Outcome<Attributes> {
    let kind = Kind::of(private)?;
    let mut given = Attributes::default();
    for same in [CKA_LABEL, CKA_ID, CKA_SUBJECT] {
        given.set(same, private.get(same).unwrap_or_default());
    }
    given.set_number(CKA_KEY_TYPE, kind.key_type());
    given.set_flag(CKA_TOKEN, true);
    given.set_flag(CKA_MODIFIABLE, false);
    let info = private.get(CKA_PUBLIC_KEY_INFO).ok_or(Refusal(CKR_ATTRIBUTE_VALUE_INVALID))?;
    let public = PublicKey::from_spki(features, info)?;
    let draft = make::public_key(features, given, kind, public.as_bytes(), make::Origin::GIVEN)?;
    Ok(draft.attributes)
}

#[cfg(test)]
mod tests {
    use millstream_files::key::{Form, Key, Kind as FileKind};

    use super::*;

    #[test]
    fn keys_of_the_command_line_are_keys_here_and_come_back() {
        let features = Features::hardware();
        for kind in FileKind::ALL {
            let key = Key::generate(features, kind, None).unwrap();
            let public = key.public(features).ok().map(|public| public.write(Form::Der).unwrap());
            let shared = Shared {
                label: "a".into(),
                id: vec![7],
                kind: kind.name().into(),
                bits: key.bits(features).unwrap() as u32,
                usages: usage::SIGN | usage::DECRYPT,
                exportable: kind == FileKind::Hmac,
                never_outside: true,
                created: 5,
                public_key: public.clone().unwrap_or_default(),
                ..Shared::default()
            };
            let here = from_store(features, &shared);
            if matches!(kind, FileKind::AesSiv | FileKind::Fernet) {
                assert_eq!(here, None, "PKCS #11 has no such keys");
                continue;
            }
            let here = here.unwrap();
            assert_eq!(here.get(CKA_ID), Some(&[7][..]));
            assert_eq!((here.is(CKA_SIGN), here.is(CKA_SENSITIVE)), (true, kind != FileKind::Hmac), "{kind}");
            let again = to_store(&here, 5).unwrap();
            assert_eq!(
                (&again.kind, again.bits, &again.public_key),
                (&shared.kind, shared.bits, &shared.public_key)
            );
            assert_eq!(from_store(features, &again), Some(here.clone()));
            if let Some(info) = public {
                let half = half_of(features, &here).unwrap();
                assert_eq!((half.get(CKA_PUBLIC_KEY_INFO), half.class()), (Some(&info[..]), CKO_PUBLIC_KEY));
            }
        }
    }
}
