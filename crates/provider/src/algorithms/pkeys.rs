//! The public-key algorithms: types of keys, and what is done with them.

use crate::abi::OsslAlgorithm;
use crate::algorithms::kems::KEM_KEYS;
use crate::algorithms::mldsa::{
    ML_DSA_KEYS, ML_DSA_SIGNATURES, ML_DSA_SIGNATURES_BEFORE_3_4, REMOTE_ML_DSA_KEYS,
    REMOTE_ML_DSA_SIGNATURES, REMOTE_ML_DSA_SIGNATURES_BEFORE_3_4,
};
use crate::algorithms::slhdsa::{SLH_DSA_KEYS, SLH_DSA_SIGNATURES, SLH_DSA_SIGNATURES_BEFORE_3_4};
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

const fn held_keys<F: Family, const ISOLATED: bool>() -> OsslAlgorithm {
    let of = properties(Standing::Current, ISOLATED);
    OsslAlgorithm::new(F::NAMES, of, held_key_functions::<F, ISOLATED>())
}

const fn held_signatures<S: SignatureScheme, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(S::NAMES, properties(Standing::Current, ISOLATED), signature_functions::<S>())
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
const HELD_KEYS: [OsslAlgorithm; 2] = [held_keys::<Ec, false>(), held_keys::<Rsa, false>()];
const REMOTE_HELD_KEYS: [OsslAlgorithm; 2] = [held_keys::<Ec, true>(), held_keys::<Rsa, true>()];

/// The types of keys, with private parts in this process.
pub static KEYS: Table = Table {
    algorithms: &joined::<26>(&[&HELD_KEYS, &LOCAL_KEYS, &KEM_KEYS, &ML_DSA_KEYS, &SLH_DSA_KEYS]),
    held: 2,
};
/// The types of keys, with private parts in the service or in this process.
pub static ISOLATED_KEYS: Table = Table {
    algorithms: &joined::<33>(&[
        &REMOTE_HELD_KEYS,
        &HELD_KEYS,
        &REMOTE_KEYS,
        &LOCAL_KEYS,
        &KEM_KEYS,
        &REMOTE_ML_DSA_KEYS,
        &ML_DSA_KEYS,
        &SLH_DSA_KEYS,
    ]),
    held: 4,
};

const fn ecdh(isolated: bool) -> OsslAlgorithm {
    OsslAlgorithm::new(ecdh::NAME, properties(Standing::Current, isolated), ECDH_FUNCTIONS)
}

/// The key agreements.
pub static EXCHANGES: Table = Table { algorithms: &[ecdh(false), LOCAL[0], END], held: 1 };
/// The same where there is a service.
pub static ISOLATED_EXCHANGES: Table =
    Table { algorithms: &[ecdh(true), ecdh(false), REMOTE[0], LOCAL[0], END], held: 2 };

const HELD: [OsslAlgorithm; 2] =
    [held_signatures::<Ecdsa, false>(), held_signatures::<RsaSignature, false>()];
const REMOTE_HELD: [OsslAlgorithm; 2] =
    [held_signatures::<Ecdsa, true>(), held_signatures::<RsaSignature, true>()];

const FORMS: [OsslAlgorithm; 3] = [LOCAL[1], LOCAL[2], LOCAL[3]];
const REMOTE_FORMS: [OsslAlgorithm; 3] = [REMOTE[1], REMOTE[2], REMOTE[3]];

/// The signatures.
pub static SIGNATURES: Table =
    Table { algorithms: &joined::<21>(&[&HELD, &FORMS, &ML_DSA_SIGNATURES, &SLH_DSA_SIGNATURES]), held: 2 };
/// The same where there is a service.
pub static ISOLATED_SIGNATURES: Table = Table {
    algorithms: &joined::<29>(&[
        &REMOTE_HELD,
        &HELD,
        &REMOTE_FORMS,
        &FORMS,
        &REMOTE_ML_DSA_SIGNATURES,
        &ML_DSA_SIGNATURES,
        &SLH_DSA_SIGNATURES,
    ]),
    held: 4,
};
/// Before OpenSSL 3.4 nothing could be done with those that have no functions for digests.
pub static SIGNATURES_BEFORE_3_4: Table = Table {
    algorithms: &joined::<19>(&[
        &HELD,
        &[FORMS[0]],
        &ML_DSA_SIGNATURES_BEFORE_3_4,
        &SLH_DSA_SIGNATURES_BEFORE_3_4,
    ]),
    held: 2,
};
/// The same where there is a service.
pub static ISOLATED_SIGNATURES_BEFORE_3_4: Table = Table {
    algorithms: &joined::<25>(&[
        &REMOTE_HELD,
        &HELD,
        &[REMOTE_FORMS[0], FORMS[0]],
        &REMOTE_ML_DSA_SIGNATURES_BEFORE_3_4,
        &ML_DSA_SIGNATURES_BEFORE_3_4,
        &SLH_DSA_SIGNATURES_BEFORE_3_4,
    ]),
    held: 4,
};

const fn rsa_cipher(isolated: bool) -> OsslAlgorithm {
    OsslAlgorithm::new(Rsa::NAMES, properties(Standing::Current, isolated), RSA_CIPHER_FUNCTIONS)
}

/// The encryptions with a public key. All of them need another provider.
pub static CIPHERS_WITH_KEY_PAIRS: &[OsslAlgorithm] = &[rsa_cipher(false), END];
/// The same where there is a service.
pub static ISOLATED_CIPHERS_WITH_KEY_PAIRS: &[OsslAlgorithm] = &[rsa_cipher(true), rsa_cipher(false), END];
