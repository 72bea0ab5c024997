//! ML-DSA: its types of keys and its signatures.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::{key_functions, message_signature_functions};
use crate::pkey::mldsa::MlDsa;
use crate::pkey::mldsa::signature::Signature;
use crate::pkey::raw::Raw;
use crate::pkey::raw::key::Key;

const fn keys<const N: usize, const ISOLATED: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(
        MlDsa::<N>::NAMES,
        properties(Standing::Current, ISOLATED),
        key_functions::<Key<MlDsa<N>>, ISOLATED>(),
    )
}

/// The key knows where its private part is, so the same functions serve both places.
const fn signature<const N: usize, const BEFORE_3_4: bool>(isolated: bool) -> OsslAlgorithm {
    OsslAlgorithm::new(
        MlDsa::<N>::NAMES,
        properties(Standing::Current, isolated),
        message_signature_functions::<Signature<N>, BEFORE_3_4>(),
    )
}

const fn signatures<const BEFORE_3_4: bool>(isolated: bool) -> [OsslAlgorithm; 3] {
    [
        signature::<44, BEFORE_3_4>(isolated),
        signature::<65, BEFORE_3_4>(isolated),
        signature::<87, BEFORE_3_4>(isolated),
    ]
}

/// The types of keys, with private parts in this process.
pub const ML_DSA_KEYS: [OsslAlgorithm; 3] = [keys::<44, false>(), keys::<65, false>(), keys::<87, false>()];
/// The types of keys, with private parts in the service.
pub const REMOTE_ML_DSA_KEYS: [OsslAlgorithm; 3] =
    [keys::<44, true>(), keys::<65, true>(), keys::<87, true>()];

/// The signatures.
pub const ML_DSA_SIGNATURES: [OsslAlgorithm; 3] = signatures::<false>(false);
/// The same where there is a service.
pub const REMOTE_ML_DSA_SIGNATURES: [OsslAlgorithm; 3] = signatures::<false>(true);

/// The signatures with the functions that OpenSSL knows before version 3.4.
pub const ML_DSA_SIGNATURES_BEFORE_3_4: [OsslAlgorithm; 3] = signatures::<true>(false);
/// The same where there is a service.
pub const REMOTE_ML_DSA_SIGNATURES_BEFORE_3_4: [OsslAlgorithm; 3] = signatures::<true>(true);
