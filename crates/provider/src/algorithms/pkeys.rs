//! The public-key algorithms: types of keys, and what is done with them.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, joined, properties};
use crate::ffi::{
    ECDH_FUNCTIONS, ED25519_FUNCTIONS, ED25519CTX_FUNCTIONS, ED25519PH_FUNCTIONS, RSA_CIPHER_FUNCTIONS,
    X25519_FUNCTIONS, held_key_functions, key_functions, signature_functions,
};
use crate::pkey::KeyType;
use crate::pkey::curve25519::{Key, Scheme};
use crate::pkey::ec::Ec;
use crate::pkey::ecdh;
use crate::pkey::ecdsa::Ecdsa;
use crate::pkey::ed25519::{Ed25519, Form, Prehashed, Pure, WithContext};
use crate::pkey::held::Family;
use crate::pkey::rsa::Rsa;
use crate::pkey::rsa_signature::RsaSignature;
use crate::pkey::signature::Scheme as SignatureScheme;
use crate::pkey::x25519::X25519;

const fn keys<K: KeyType, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, properties(Standing::Current, ISOLATED), key_functions::<K, ISOLATED>())
}

const fn held_keys<F: Family>() -> OsslAlgorithm {
    OsslAlgorithm::new(F::NAMES, properties(Standing::Current, false), held_key_functions::<F>())
}

const fn held_signatures<S: SignatureScheme>() -> OsslAlgorithm {
    OsslAlgorithm::new(S::NAMES, properties(Standing::Current, false), signature_functions::<S>())
}

/// The operations with a key: the key knows where its private part is, so the same functions serve both places.
const fn with_keys<const ISOLATED: bool>() -> [OsslAlgorithm; 4] {
    let of = properties(Standing::Current, ISOLATED);
    [
        OsslAlgorithm::new(X25519::NAMES, of, X25519_FUNCTIONS),
        OsslAlgorithm::new(Pure::NAMES, of, ED25519_FUNCTIONS),
        OsslAlgorithm::new(Prehashed::NAMES, of, ED25519PH_FUNCTIONS),
        OsslAlgorithm::new(WithContext::NAMES, of, ED25519CTX_FUNCTIONS),
    ]
}

/// A table whose first algorithms need another provider, which holds the keys.
pub struct Table {
    algorithms: &'static [OsslAlgorithm],
    /// The number of algorithms that need another provider.
    held: usize,
}

impl Table {
    /// Returns the table, without the first algorithms where there is no way to call another provider.
    pub fn offered(&self, others: bool) -> *const OsslAlgorithm {
        let from = if others { 0 } else { self.held };
        self.algorithms[from..].as_ptr()
    }
}

const LOCAL: [OsslAlgorithm; 4] = with_keys::<false>();
const REMOTE: [OsslAlgorithm; 4] = with_keys::<true>();
const END: OsslAlgorithm = OsslAlgorithm::END;

const LOCAL_KEYS: [OsslAlgorithm; 2] = [keys::<Key<X25519>, false>(), keys::<Key<Ed25519>, false>()];
const REMOTE_KEYS: [OsslAlgorithm; 2] = [keys::<Key<X25519>, true>(), keys::<Key<Ed25519>, true>()];
const HELD_KEYS: [OsslAlgorithm; 2] = [held_keys::<Ec>(), held_keys::<Rsa>()];

/// The types of keys, with private parts in this process.
pub static KEYS: Table = Table { algorithms: &joined::<5>(&[&HELD_KEYS, &LOCAL_KEYS]), held: 2 };
/// The types of keys, with private parts in the service or in this process.
pub static ISOLATED_KEYS: Table =
    Table { algorithms: &joined::<7>(&[&HELD_KEYS, &REMOTE_KEYS, &LOCAL_KEYS]), held: 2 };

const ECDH: OsslAlgorithm =
    OsslAlgorithm::new(ecdh::NAME, properties(Standing::Current, false), ECDH_FUNCTIONS);

/// The key agreements.
pub static EXCHANGES: Table = Table { algorithms: &[ECDH, LOCAL[0], END], held: 1 };
/// The same where there is a service.
pub static ISOLATED_EXCHANGES: Table = Table { algorithms: &[ECDH, REMOTE[0], LOCAL[0], END], held: 1 };

const ECDSA: OsslAlgorithm = held_signatures::<Ecdsa>();
const RSA: OsslAlgorithm = held_signatures::<RsaSignature>();

/// The signatures.
pub static SIGNATURES: Table =
    Table { algorithms: &[ECDSA, RSA, LOCAL[1], LOCAL[2], LOCAL[3], END], held: 2 };
/// The same where there is a service.
pub static ISOLATED_SIGNATURES: Table = Table {
    algorithms: &[ECDSA, RSA, REMOTE[1], REMOTE[2], REMOTE[3], LOCAL[1], LOCAL[2], LOCAL[3], END],
    held: 2,
};
/// Before OpenSSL 3.4 nothing could be done with those that have no functions for digests.
pub static SIGNATURES_BEFORE_3_4: Table = Table { algorithms: &[ECDSA, RSA, LOCAL[1], END], held: 2 };
/// The same where there is a service.
pub static ISOLATED_SIGNATURES_BEFORE_3_4: Table =
    Table { algorithms: &[ECDSA, RSA, REMOTE[1], LOCAL[1], END], held: 2 };

/// The encryptions with a public key. All of them need another provider.
pub static CIPHERS_WITH_KEY_PAIRS: &[OsslAlgorithm] =
    &[OsslAlgorithm::new(Rsa::NAMES, properties(Standing::Current, false), RSA_CIPHER_FUNCTIONS), END];
