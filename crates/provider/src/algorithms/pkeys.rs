//! The public-key algorithms: types of keys, and what is done with them.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, joined, properties};
use crate::ffi::{
    ED25519_FUNCTIONS, ED25519CTX_FUNCTIONS, ED25519PH_FUNCTIONS, X25519_FUNCTIONS, key_functions,
};
use crate::pkey::KeyType;
use crate::pkey::curve25519::{Key, Scheme};
use crate::pkey::ed25519::{Ed25519, Form, Prehashed, Pure, WithContext};
use crate::pkey::x25519::X25519;

const fn keys<K: KeyType, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, properties(Standing::Current, ISOLATED), key_functions::<K, ISOLATED>())
}

const LOCAL_KEYS: &[OsslAlgorithm] = &[keys::<Key<X25519>, false>(), keys::<Key<Ed25519>, false>()];
const REMOTE_KEYS: &[OsslAlgorithm] = &[keys::<Key<X25519>, true>(), keys::<Key<Ed25519>, true>()];

/// The types of keys, with private parts in this process.
pub static KEYS: &[OsslAlgorithm] = &joined::<{ LOCAL_KEYS.len() + 1 }>(&[LOCAL_KEYS]);

/// The types of keys, with private parts in the service or in this process.
pub static ISOLATED_KEYS: &[OsslAlgorithm] =
    &joined::<{ REMOTE_KEYS.len() + LOCAL_KEYS.len() + 1 }>(&[REMOTE_KEYS, LOCAL_KEYS]);

/// What is done with a key: the key knows where its private part is, so the same functions serve both places.
const fn with_keys<const ISOLATED: bool>() -> [OsslAlgorithm; 4] {
    let of = properties(Standing::Current, ISOLATED);
    [
        OsslAlgorithm::new(X25519::NAMES, of, X25519_FUNCTIONS),
        OsslAlgorithm::new(Pure::NAMES, of, ED25519_FUNCTIONS),
        OsslAlgorithm::new(Prehashed::NAMES, of, ED25519PH_FUNCTIONS),
        OsslAlgorithm::new(WithContext::NAMES, of, ED25519CTX_FUNCTIONS),
    ]
}

const LOCAL: [OsslAlgorithm; 4] = with_keys::<false>();
const REMOTE: [OsslAlgorithm; 4] = with_keys::<true>();
const END: OsslAlgorithm = OsslAlgorithm::END;

/// The key agreements.
pub static EXCHANGES: &[OsslAlgorithm] = &[LOCAL[0], END];
/// The same where there is a service.
pub static ISOLATED_EXCHANGES: &[OsslAlgorithm] = &[REMOTE[0], LOCAL[0], END];

/// The signatures.
pub static SIGNATURES: &[OsslAlgorithm] = &[LOCAL[1], LOCAL[2], LOCAL[3], END];
/// The same where there is a service.
pub static ISOLATED_SIGNATURES: &[OsslAlgorithm] =
    &[REMOTE[1], REMOTE[2], REMOTE[3], LOCAL[1], LOCAL[2], LOCAL[3], END];
/// Before OpenSSL 3.4 nothing could be done with those that have no functions for digests.
pub static SIGNATURES_BEFORE_3_4: &[OsslAlgorithm] = &[LOCAL[1], END];
/// The same where there is a service.
pub static ISOLATED_SIGNATURES_BEFORE_3_4: &[OsslAlgorithm] = &[REMOTE[1], LOCAL[1], END];
