//! ML-DSA: its types of keys and its signatures. All of them are in this process, also where there is a service.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::{key_functions, message_signature_functions};
use crate::pkey::mldsa::MlDsa;
use crate::pkey::mldsa::signature::Signature;
use crate::pkey::raw::Raw;
use crate::pkey::raw::key::Key;

const fn keys<const N: usize>() -> OsslAlgorithm {
    OsslAlgorithm::new(
        MlDsa::<N>::NAMES,
        properties(Standing::Current, false),
        key_functions::<Key<MlDsa<N>>, false>(),
    )
}

const fn signature<const N: usize, const BEFORE_3_4: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(
        MlDsa::<N>::NAMES,
        properties(Standing::Current, false),
        message_signature_functions::<Signature<N>, BEFORE_3_4>(),
    )
}

/// The types of keys.
pub const ML_DSA_KEYS: [OsslAlgorithm; 3] = [keys::<44>(), keys::<65>(), keys::<87>()];

/// The signatures.
pub const ML_DSA_SIGNATURES: [OsslAlgorithm; 3] =
    [signature::<44, false>(), signature::<65, false>(), signature::<87, false>()];

/// The same with the functions that OpenSSL knows before version 3.4.
pub const ML_DSA_SIGNATURES_BEFORE_3_4: [OsslAlgorithm; 3] =
    [signature::<44, true>(), signature::<65, true>(), signature::<87, true>()];
