//! The rules of attributes: which a class of objects has, which a program may give or change, and what holds when it says nothing.
//!
//! Ref. PKCS #11 v3.2 §4.1.1 (footnotes of the tables), §4.4 to §4.10.

use cryptoki_sys::*;

use super::attributes::Attributes;
use super::kind::Kind;
use crate::refusal::{Outcome, demand, refuse};

/// The attributes of everything that is stored.
const STORED: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_CLASS,
    CKA_TOKEN,
    CKA_PRIVATE,
    CKA_MODIFIABLE,
    CKA_LABEL,
    CKA_COPYABLE,
    CKA_DESTROYABLE,
    CKA_UNIQUE_ID,
];

/// The attributes of all keys.
const KEY: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_KEY_TYPE,
    CKA_ID,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_DERIVE,
    CKA_LOCAL,
    CKA_KEY_GEN_MECHANISM,
    CKA_ALLOWED_MECHANISMS,
];

/// The attributes of secret and private keys.
const SENSITIVE: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_SENSITIVE,
    CKA_EXTRACTABLE,
    CKA_ALWAYS_SENSITIVE,
    CKA_NEVER_EXTRACTABLE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_UNWRAP,
];

const SECRET: &[CK_ATTRIBUTE_TYPE] =
    &[CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP, CKA_TRUSTED, CKA_CHECK_VALUE, CKA_VALUE, CKA_VALUE_LEN];

const PRIVATE: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_SUBJECT,
    CKA_SIGN_RECOVER,
    CKA_ALWAYS_AUTHENTICATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_DECAPSULATE,
    CKA_PARAMETER_SET,
    CKA_SEED,
    CKA_MODULUS,
    CKA_PUBLIC_EXPONENT,
    CKA_PRIVATE_EXPONENT,
    CKA_PRIME_1,
    CKA_PRIME_2,
    CKA_EXPONENT_1,
    CKA_EXPONENT_2,
    CKA_COEFFICIENT,
    CKA_EC_PARAMS,
    CKA_EC_POINT,
    CKA_VALUE,
];

const PUBLIC: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_SUBJECT,
    CKA_ENCRYPT,
    CKA_VERIFY,
    CKA_VERIFY_RECOVER,
    CKA_WRAP,
    CKA_TRUSTED,
    CKA_PUBLIC_KEY_INFO,
    CKA_ENCAPSULATE,
    CKA_PARAMETER_SET,
    CKA_MODULUS,
    CKA_MODULUS_BITS,
    CKA_PUBLIC_EXPONENT,
    CKA_EC_PARAMS,
    CKA_EC_POINT,
    CKA_VALUE,
];

const CERTIFICATE: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_CERTIFICATE_TYPE,
    CKA_TRUSTED,
    CKA_CERTIFICATE_CATEGORY,
    CKA_CHECK_VALUE,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_PUBLIC_KEY_INFO,
    CKA_SUBJECT,
    CKA_ID,
    CKA_ISSUER,
    CKA_SERIAL_NUMBER,
    CKA_VALUE,
    CKA_URL,
    CKA_HASH_OF_SUBJECT_PUBLIC_KEY,
    CKA_HASH_OF_ISSUER_PUBLIC_KEY,
    CKA_NAME_HASH_ALGORITHM,
    CKA_JAVA_MIDP_SECURITY_DOMAIN,
];

const DATA: &[CK_ATTRIBUTE_TYPE] = &[CKA_APPLICATION, CKA_OBJECT_ID, CKA_VALUE];

/// The attributes that only the token sets.
const OF_THE_TOKEN: &[CK_ATTRIBUTE_TYPE] =
    &[CKA_LOCAL, CKA_KEY_GEN_MECHANISM, CKA_ALWAYS_SENSITIVE, CKA_NEVER_EXTRACTABLE, CKA_UNIQUE_ID];

/// The attributes that a program may change in an object.
const CHANGEABLE: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_LABEL,
    CKA_ID,
    CKA_SUBJECT,
    CKA_START_DATE,
    CKA_END_DATE,
    CKA_DERIVE,
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_SIGN_RECOVER,
    CKA_VERIFY,
    CKA_VERIFY_RECOVER,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_ENCAPSULATE,
    CKA_DECAPSULATE,
    CKA_SENSITIVE,
    CKA_EXTRACTABLE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_APPLICATION,
    CKA_OBJECT_ID,
    CKA_ISSUER,
    CKA_SERIAL_NUMBER,
];

/// The attributes whose value is a flag.
const FLAGS: &[CK_ATTRIBUTE_TYPE] = &[
    CKA_TOKEN,
    CKA_PRIVATE,
    CKA_MODIFIABLE,
    CKA_COPYABLE,
    CKA_DESTROYABLE,
    CKA_DERIVE,
    CKA_LOCAL,
    CKA_SENSITIVE,
    CKA_EXTRACTABLE,
    CKA_ALWAYS_SENSITIVE,
    CKA_NEVER_EXTRACTABLE,
    CKA_WRAP_WITH_TRUSTED,
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_SIGN_RECOVER,
    CKA_VERIFY,
    CKA_VERIFY_RECOVER,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_TRUSTED,
    CKA_ALWAYS_AUTHENTICATE,
    CKA_ENCAPSULATE,
    CKA_DECAPSULATE,
];

/// Returns true for the attributes in which a key's secret is.
pub fn is_secret(class: CK_OBJECT_CLASS, kind: CK_ATTRIBUTE_TYPE) -> bool {
    const SECRETS: [CK_ATTRIBUTE_TYPE; 8] = [
        CKA_VALUE,
        CKA_SEED,
        CKA_PRIVATE_EXPONENT,
        CKA_PRIME_1,
        CKA_PRIME_2,
        CKA_EXPONENT_1,
        CKA_EXPONENT_2,
        CKA_COEFFICIENT,
    ];
    matches!(class, CKO_PRIVATE_KEY | CKO_SECRET_KEY) && SECRETS.contains(&kind)
}

/// Returns true if objects of the class have the attribute. Vendors' attributes are kept as they are.
pub fn has(class: CK_OBJECT_CLASS, kind: CK_ATTRIBUTE_TYPE) -> bool {
    let lists: &[&[CK_ATTRIBUTE_TYPE]] = match class {
        CKO_SECRET_KEY => &[STORED, KEY, SENSITIVE, SECRET],
        CKO_PRIVATE_KEY => &[STORED, KEY, SENSITIVE, PRIVATE],
        CKO_PUBLIC_KEY => &[STORED, KEY, PUBLIC],
        CKO_CERTIFICATE => &[STORED, CERTIFICATE],
        CKO_DATA => &[STORED, DATA],
        CKO_PROFILE => &[STORED, &[CKA_PROFILE_ID]],
        _ => &[],
    };
    kind & CKA_VENDOR_DEFINED != 0 || lists.iter().any(|list| list.contains(&kind))
}

/// Checks what a program gives for a new object of a class.
///
/// # Errors
/// `CKR_ATTRIBUTE_TYPE_INVALID`, `CKR_ATTRIBUTE_READ_ONLY`, `CKR_ATTRIBUTE_VALUE_INVALID`, `CKR_TEMPLATE_INCONSISTENT`.
pub fn check_given(class: CK_OBJECT_CLASS, given: &Attributes) -> Outcome {
    demand(given.number(CKA_CLASS)?.is_none_or(|said| said == class), CKR_TEMPLATE_INCONSISTENT)?;
    for (kind, _) in given.iter() {
        demand(has(class, kind), CKR_ATTRIBUTE_TYPE_INVALID)?;
        demand(!OF_THE_TOKEN.contains(&kind), CKR_ATTRIBUTE_READ_ONLY)?;
        check_form(kind, given)?;
    }
    // Only the security officer says what is trusted, and this token's officer sets PINs alone.
    demand(!given.is(CKA_TRUSTED), CKR_ATTRIBUTE_READ_ONLY)
}

fn check_form(kind: CK_ATTRIBUTE_TYPE, given: &Attributes) -> Outcome {
    if FLAGS.contains(&kind) {
        given.flag(kind)?;
    }
    match kind {
        CKA_LABEL => {
            let label = given.get(CKA_LABEL).unwrap_or_default();
            demand(label.len() <= 255 && str::from_utf8(label).is_ok(), CKR_ATTRIBUTE_VALUE_INVALID)
        }
        CKA_ID => demand(given.get(CKA_ID).is_none_or(|id| id.len() <= 255), CKR_ATTRIBUTE_VALUE_INVALID),
        CKA_START_DATE | CKA_END_DATE => demand(
            given.get(kind).is_none_or(|date| [0, 8].contains(&date.len())),
            CKR_ATTRIBUTE_VALUE_INVALID,
        ),
        CKA_ALLOWED_MECHANISMS => given.numbers(kind).map(|_| ()),
        _ => Ok(()),
    }
}

/// Checks a change of an object.
///
/// # Errors
/// `CKR_ACTION_PROHIBITED` for an object that can't be changed; `CKR_ATTRIBUTE_READ_ONLY` for an attribute that can't, or not in that
/// direction; else those of a new object.
pub fn check_change(now: &Attributes, change: &Attributes, copies: bool) -> Outcome {
    let prohibited = if copies { CKA_COPYABLE } else { CKA_MODIFIABLE };
    demand(now.is(prohibited), CKR_ACTION_PROHIBITED)?;
    for (kind, value) in change.iter() {
        demand(has(now.class(), kind), CKR_ATTRIBUTE_TYPE_INVALID)?;
        check_form(kind, change)?;
        let only_in_copies = [CKA_TOKEN, CKA_PRIVATE, CKA_MODIFIABLE, CKA_DESTROYABLE, CKA_COPYABLE];
        let is_vendors = kind & CKA_VENDOR_DEFINED != 0;
        // A check value can be taken away.
        let is_no_check = kind == CKA_CHECK_VALUE && value.is_empty();
        let may = is_vendors || is_no_check || CHANGEABLE.contains(&kind);
        let may = may || copies && only_in_copies.contains(&kind);
        let is_same = now.get(kind) == Some(value);
        demand(may || is_same, CKR_ATTRIBUTE_READ_ONLY)?;
        // These two go in one direction, and a private object has no public copy.
        let back = match kind {
            CKA_SENSITIVE | CKA_WRAP_WITH_TRUSTED | CKA_PRIVATE => now.is(kind) && !change.is(kind),
            CKA_EXTRACTABLE | CKA_COPYABLE => !now.is(kind) && change.is(kind),
            _ => false,
        };
        demand(!back, if copies { CKR_TEMPLATE_INCONSISTENT } else { CKR_ATTRIBUTE_READ_ONLY })?;
    }
    Ok(())
}

/// Sets what a new object has where the program said nothing.
pub fn set_defaults(attributes: &mut Attributes, kind: Option<Kind>) {
    let class = attributes.class();
    let is_key = matches!(class, CKO_SECRET_KEY | CKO_PRIVATE_KEY);
    attributes.set_default_flag(CKA_TOKEN, false);
    let is_private = is_key || class == CKO_DATA;
    // The slot decides for objects of a session, because it knows who is logged in.
    if attributes.is(CKA_TOKEN) || !is_private {
        attributes.set_default_flag(CKA_PRIVATE, is_private);
    }
    attributes.set_default(CKA_LABEL, b"");
    for flag in [CKA_MODIFIABLE, CKA_COPYABLE, CKA_DESTROYABLE] {
        attributes.set_default_flag(flag, true);
    }
    match class {
        CKO_CERTIFICATE => {
            attributes.set_default_flag(CKA_TRUSTED, false);
            for empty in [CKA_ID, CKA_ISSUER, CKA_SERIAL_NUMBER, CKA_SUBJECT, CKA_START_DATE, CKA_END_DATE] {
                attributes.set_default(empty, b"");
            }
            let category: CK_ULONG = 0;
            attributes.set_default(CKA_CERTIFICATE_CATEGORY, &category.to_ne_bytes());
            return;
        }
        CKO_DATA => {
            for empty in [CKA_APPLICATION, CKA_OBJECT_ID] {
                attributes.set_default(empty, b"");
            }
            return;
        }
        _ => {}
    }
    for empty in [CKA_ID, CKA_START_DATE, CKA_END_DATE] {
        attributes.set_default(empty, b"");
    }
    if class != CKO_SECRET_KEY {
        attributes.set_default(CKA_SUBJECT, b"");
    }
    if is_key {
        // A secret key of a session is as open as the standard says where nobody asks for more: Java derives, wraps and reads such keys.
        // A key of the token stays.
        let stays = class == CKO_PRIVATE_KEY || attributes.is(CKA_TOKEN);
        attributes.set_default_flag(CKA_SENSITIVE, stays);
        attributes.set_default_flag(CKA_EXTRACTABLE, !attributes.is(CKA_SENSITIVE));
        attributes.set_default_flag(CKA_WRAP_WITH_TRUSTED, false);
    }
    match class {
        CKO_PRIVATE_KEY => attributes.set_default_flag(CKA_ALWAYS_AUTHENTICATE, false),
        _ => attributes.set_default_flag(CKA_TRUSTED, false),
    }
    let can = usages(class, kind);
    for usage in ALL_USAGES {
        if has(class, usage) {
            let is_for = match usage {
                // Whoever said that an RSA key is not for signatures, or that it is, said so of these, too.
                CKA_SIGN_RECOVER => kind == Some(Kind::Rsa) && attributes.is(CKA_SIGN),
                CKA_VERIFY_RECOVER => kind == Some(Kind::Rsa) && attributes.is(CKA_VERIFY),
                _ => can.contains(&usage),
            };
            attributes.set_default_flag(usage, is_for);
        }
    }
}

/// The attributes that say what a key is for.
pub const ALL_USAGES: [CK_ATTRIBUTE_TYPE; 11] = [
    CKA_ENCRYPT,
    CKA_DECRYPT,
    CKA_SIGN,
    CKA_VERIFY,
    CKA_SIGN_RECOVER,
    CKA_VERIFY_RECOVER,
    CKA_WRAP,
    CKA_UNWRAP,
    CKA_DERIVE,
    CKA_ENCAPSULATE,
    CKA_DECAPSULATE,
];

/// Returns what a key is for when nobody said it: all that keys of its kind do in PKCS #11.
fn usages(class: CK_OBJECT_CLASS, kind: Option<Kind>) -> &'static [CK_ATTRIBUTE_TYPE] {
    match (class, kind) {
        (CKO_SECRET_KEY, Some(Kind::Secret(CKK_AES))) => {
            &[CKA_ENCRYPT, CKA_DECRYPT, CKA_SIGN, CKA_VERIFY, CKA_WRAP, CKA_UNWRAP]
        }
        (CKO_SECRET_KEY, Some(Kind::Secret(CKK_AES_XTS | CKK_DES3 | CKK_CHACHA20))) => {
            &[CKA_ENCRYPT, CKA_DECRYPT]
        }
        (CKO_SECRET_KEY, Some(Kind::Secret(CKK_HKDF))) => &[CKA_DERIVE],
        (CKO_SECRET_KEY, Some(Kind::Secret(CKK_GENERIC_SECRET))) => &[CKA_SIGN, CKA_VERIFY, CKA_DERIVE],
        (CKO_SECRET_KEY, _) => &[CKA_SIGN, CKA_VERIFY],
        (CKO_PRIVATE_KEY, Some(Kind::Rsa)) => &[CKA_DECRYPT, CKA_SIGN, CKA_UNWRAP],
        (CKO_PRIVATE_KEY, Some(Kind::Curve(_))) => &[CKA_SIGN, CKA_DERIVE],
        (CKO_PRIVATE_KEY, Some(Kind::X25519)) => &[CKA_DERIVE],
        (CKO_PRIVATE_KEY, Some(Kind::MlKem(_))) => &[CKA_DECAPSULATE],
        (CKO_PRIVATE_KEY, _) => &[CKA_SIGN],
        (_, Some(Kind::Rsa)) => &[CKA_ENCRYPT, CKA_VERIFY, CKA_WRAP],
        (_, Some(Kind::X25519)) => &[],
        (_, Some(Kind::MlKem(_))) => &[CKA_ENCAPSULATE],
        _ => &[CKA_VERIFY],
    }
}

/// Refuses a mechanism that a key does not allow.
///
/// # Errors
/// `CKR_KEY_FUNCTION_NOT_PERMITTED` for the usage, `CKR_MECHANISM_INVALID` for `CKA_ALLOWED_MECHANISMS`.
pub fn check_use(key: &Attributes, usage: CK_ATTRIBUTE_TYPE, mechanism: CK_MECHANISM_TYPE) -> Outcome {
    demand(key.is(usage), CKR_KEY_FUNCTION_NOT_PERMITTED)?;
    match key.numbers(CKA_ALLOWED_MECHANISMS)? {
        Some(allowed) if !allowed.contains(&mechanism) => refuse(CKR_MECHANISM_INVALID),
        _ => Ok(()),
    }
}
