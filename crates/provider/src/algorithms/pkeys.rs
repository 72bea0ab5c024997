//! The public-key algorithms: types of keys, and what is done with them.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::{
    ED25519_FUNCTIONS, ED25519CTX_FUNCTIONS, ED25519PH_FUNCTIONS, X25519_FUNCTIONS, key_functions,
};
use crate::pkey::KeyType;
use crate::pkey::curve25519::{Key, Scheme};
use crate::pkey::ed25519::{Ed25519, Form, Prehashed, Pure, WithContext};
use crate::pkey::x25519::X25519;

const LOCAL: &std::ffi::CStr = properties(Standing::Current, false);

const fn keys<K: KeyType>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, LOCAL, key_functions::<K>())
}

/// The types of keys.
pub static KEYS: &[OsslAlgorithm] = &[keys::<Key<X25519>>(), keys::<Key<Ed25519>>(), OsslAlgorithm::END];

/// The key agreements.
pub static EXCHANGES: &[OsslAlgorithm] =
    &[OsslAlgorithm::new(X25519::NAMES, LOCAL, X25519_FUNCTIONS), OsslAlgorithm::END];

/// The signatures. Before OpenSSL 3.4 nothing could be done with those that have no functions for digests.
pub static SIGNATURES: &[OsslAlgorithm] = &[
    OsslAlgorithm::new(Pure::NAMES, LOCAL, ED25519_FUNCTIONS),
    OsslAlgorithm::new(Prehashed::NAMES, LOCAL, ED25519PH_FUNCTIONS),
    OsslAlgorithm::new(WithContext::NAMES, LOCAL, ED25519CTX_FUNCTIONS),
    OsslAlgorithm::END,
];

/// Those of them that OpenSSL before 3.4 can use.
pub static SIGNATURES_BEFORE_3_4: &[OsslAlgorithm] =
    &[OsslAlgorithm::new(Pure::NAMES, LOCAL, ED25519_FUNCTIONS), OsslAlgorithm::END];
