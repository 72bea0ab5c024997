//! SLH-DSA: its types of keys and its signatures. All of them are in this process, also where there is a service.

use crate::abi::OsslAlgorithm;
use crate::algorithms::{Standing, properties};
use crate::ffi::{key_functions, message_signature_functions};
use crate::pkey::raw::Raw;
use crate::pkey::raw::key::Key;
use crate::pkey::slhdsa::SlhDsa;
use crate::pkey::slhdsa::signature::Signature;

const fn keys<const N: usize>() -> OsslAlgorithm {
    OsslAlgorithm::new(
        SlhDsa::<N>::NAMES,
        properties(Standing::Current, false),
        key_functions::<Key<SlhDsa<N>>, false>(),
    )
}

const fn signature<const N: usize, const BEFORE_3_4: bool>() -> OsslAlgorithm {
    OsslAlgorithm::new(
        SlhDsa::<N>::NAMES,
        properties(Standing::Current, false),
        message_signature_functions::<Signature<N>, BEFORE_3_4>(),
    )
}

const fn signatures<const BEFORE_3_4: bool>() -> [OsslAlgorithm; 12] {
    [
        signature::<20, BEFORE_3_4>(),
        signature::<21, BEFORE_3_4>(),
        signature::<22, BEFORE_3_4>(),
        signature::<23, BEFORE_3_4>(),
        signature::<24, BEFORE_3_4>(),
        signature::<25, BEFORE_3_4>(),
        signature::<26, BEFORE_3_4>(),
        signature::<27, BEFORE_3_4>(),
        signature::<28, BEFORE_3_4>(),
        signature::<29, BEFORE_3_4>(),
        signature::<30, BEFORE_3_4>(),
        signature::<31, BEFORE_3_4>(),
    ]
}

/// The types of keys.
pub const SLH_DSA_KEYS: [OsslAlgorithm; 12] = [
    keys::<20>(),
    keys::<21>(),
    keys::<22>(),
    keys::<23>(),
    keys::<24>(),
    keys::<25>(),
    keys::<26>(),
    keys::<27>(),
    keys::<28>(),
    keys::<29>(),
    keys::<30>(),
    keys::<31>(),
];

/// The signatures.
pub const SLH_DSA_SIGNATURES: [OsslAlgorithm; 12] = signatures::<false>();

/// The same with the functions that OpenSSL knows before version 3.4.
pub const SLH_DSA_SIGNATURES_BEFORE_3_4: [OsslAlgorithm; 12] = signatures::<true>();
