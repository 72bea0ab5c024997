//! The mechanisms of key encapsulation, and their types of keys. All of them are in this process, also where there is a service.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::{kem_functions, key_functions};
use crate::pkey::kem::key::Key;
use crate::pkey::kem::{Kem, MlKem512, MlKem768, MlKem1024, P256MlKem768, P384MlKem1024, X25519MlKem768};

const fn mechanism<K: Kem>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, properties(Standing::Current, false), kem_functions::<K>())
}

const fn keys<K: Kem>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, properties(Standing::Current, false), key_functions::<Key<K>, false>())
}

/// The mechanisms.
pub static KEMS: &[OsslAlgorithm] = &[
    mechanism::<MlKem512>(),
    mechanism::<MlKem768>(),
    mechanism::<MlKem1024>(),
    mechanism::<X25519MlKem768>(),
    mechanism::<P256MlKem768>(),
    mechanism::<P384MlKem1024>(),
    OsslAlgorithm::END,
];

/// Their types of keys.
pub const KEM_KEYS: [OsslAlgorithm; 6] = [
    keys::<MlKem512>(),
    keys::<MlKem768>(),
    keys::<MlKem1024>(),
    keys::<X25519MlKem768>(),
    keys::<P256MlKem768>(),
    keys::<P384MlKem1024>(),
];
