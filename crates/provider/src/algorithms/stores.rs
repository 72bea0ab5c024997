//! The stores of keys: the schemes of their URIs.

use crate::abi::OsslAlgorithm;
use crate::ffi::STORE_FUNCTIONS;

const PROPERTIES: &std::ffi::CStr = c"provider=millstream,millstream.accelerated=yes,millstream.isolated=yes";

/// The schemes, offered where there is a service.
pub static STORES: &[OsslAlgorithm] = &[
    OsslAlgorithm::new(c"millstream", PROPERTIES, STORE_FUNCTIONS),
    OsslAlgorithm::new(c"pkcs11", PROPERTIES, STORE_FUNCTIONS),
    OsslAlgorithm::END,
];
