//! The secret keys that are objects.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, joined, properties};
use crate::ffi::secret_functions;
use crate::secret::{Aes, Generic, Kind};

const fn offer<K: Kind, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAMES, properties(Standing::Current, ISOLATED), secret_functions::<K, ISOLATED>())
}

const LOCAL: &[OsslAlgorithm] = &[offer::<Aes, false>(), offer::<Generic, false>()];
const REMOTE: &[OsslAlgorithm] = &[offer::<Aes, true>(), offer::<Generic, true>()];

/// Secret keys, for algorithms with their keys in this process.
pub static SECRETS: &[OsslAlgorithm] = &joined::<{ LOCAL.len() + 1 }>(&[LOCAL]);

/// Secret keys, for algorithms with their keys in the service or in this process.
pub static ISOLATED_SECRETS: &[OsslAlgorithm] =
    &joined::<{ REMOTE.len() + LOCAL.len() + 1 }>(&[REMOTE, LOCAL]);
