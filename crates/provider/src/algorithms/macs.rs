//! The MACs.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, joined, properties};
use crate::ffi::mac_functions;
use crate::mac::Kind;
use crate::mac::cmac::Cmac;
use crate::mac::hmac::Hmac;

const fn offer<K: Kind, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(K::NAME, properties(Standing::Current, ISOLATED), mac_functions::<K, ISOLATED>())
}

const LOCAL: &[OsslAlgorithm] = &[offer::<Hmac, false>(), offer::<Cmac, false>()];
const REMOTE: &[OsslAlgorithm] = &[offer::<Hmac, true>(), offer::<Cmac, true>()];

/// The MACs, with their keys in this process.
pub static MACS: &[OsslAlgorithm] = &joined::<{ LOCAL.len() + 1 }>(&[LOCAL]);

/// The MACs with their keys in the service, and then all with their keys in this process.
pub static ISOLATED_MACS: &[OsslAlgorithm] = &joined::<{ REMOTE.len() + LOCAL.len() + 1 }>(&[REMOTE, LOCAL]);
