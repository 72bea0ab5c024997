//! The key derivations.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::kdf_functions;
use crate::kdf::{Hkdf, Kind, Tls13};

const fn offer<K: Kind>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAME, properties(Standing::Current, false), kdf_functions::<K>())
}

/// The key derivations.
pub static KDFS: &[OsslAlgorithm] = &[offer::<Hkdf>(), offer::<Tls13>(), OsslAlgorithm::END];
