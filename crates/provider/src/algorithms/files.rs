//! The encoders and decoders of keys that OpenSSL has no files for before version 3.5: ML-KEM and ML-DSA.

use std::ffi::CStr;

use crate::abi::OsslAlgorithm;
use crate::algorithms::decoders::TO_THE_SERVICE;
use crate::algorithms::joined;
use crate::ffi::{
    ENCRYPTED_PRIVATE_KEY_INFO, PRIVATE_KEY_INFO, READABLE, SUBJECT_PUBLIC_KEY_INFO, encoder_functions,
    raw_decoder_functions,
};
use crate::pkey::kem::{MlKem512, MlKem768, MlKem1024};
use crate::pkey::mldsa::MlDsa;
use crate::pkey::raw::Encoded;

/// Builds the properties of an encoder or a decoder.
macro_rules! of {
    ($what:literal) => {
        match CStr::from_bytes_with_nul(
            concat!("provider=millstream,millstream.accelerated=yes,millstream.isolated=no,", $what, "\0")
                .as_bytes(),
        ) {
            Ok(properties) => properties,
            Err(_) => panic!("a text that ends with zero"),
        }
    };
}

const fn encoders<E: Encoded>() -> [OsslAlgorithm; 7] {
    const fn encoder<E: Encoded, const STRUCTURE: u8, const PEM: bool>(
        properties: &'static CStr,
    ) -> OsslAlgorithm {
        OsslAlgorithm::new(E::NAMES, properties, encoder_functions::<E, STRUCTURE, PEM>())
    }
    [
        encoder::<E, PRIVATE_KEY_INFO, false>(of!("output=der,structure=PrivateKeyInfo")),
        encoder::<E, PRIVATE_KEY_INFO, true>(of!("output=pem,structure=PrivateKeyInfo")),
        encoder::<E, ENCRYPTED_PRIVATE_KEY_INFO, false>(of!("output=der,structure=EncryptedPrivateKeyInfo")),
        encoder::<E, ENCRYPTED_PRIVATE_KEY_INFO, true>(of!("output=pem,structure=EncryptedPrivateKeyInfo")),
        encoder::<E, SUBJECT_PUBLIC_KEY_INFO, false>(of!("output=der,structure=SubjectPublicKeyInfo")),
        encoder::<E, SUBJECT_PUBLIC_KEY_INFO, true>(of!("output=pem,structure=SubjectPublicKeyInfo")),
        encoder::<E, READABLE, false>(of!("output=text")),
    ]
}

const fn decoders<E: Encoded>() -> [OsslAlgorithm; 2] {
    [
        OsslAlgorithm::new(
            E::NAMES,
            of!("input=der,structure=PrivateKeyInfo"),
            raw_decoder_functions::<E, true>(),
        ),
        OsslAlgorithm::new(
            E::NAMES,
            of!("input=der,structure=SubjectPublicKeyInfo"),
            raw_decoder_functions::<E, false>(),
        ),
    ]
}

/// The encoders.
pub static ENCODERS: &[OsslAlgorithm] = &joined::<43>(&[
    &encoders::<MlKem512>(),
    &encoders::<MlKem768>(),
    &encoders::<MlKem1024>(),
    &encoders::<MlDsa<44>>(),
    &encoders::<MlDsa<65>>(),
    &encoders::<MlDsa<87>>(),
]);

const DECODERS: [&[OsslAlgorithm]; 6] = [
    &decoders::<MlKem512>(),
    &decoders::<MlKem768>(),
    &decoders::<MlKem1024>(),
    &decoders::<MlDsa<44>>(),
    &decoders::<MlDsa<65>>(),
    &decoders::<MlDsa<87>>(),
];

/// The decoders.
pub static FILE_DECODERS: &[OsslAlgorithm] = &joined::<13>(&DECODERS);

/// The same, and the decoders of private keys for the service.
pub static ISOLATED_FILE_DECODERS: &[OsslAlgorithm] = {
    let [a, b, c, d, e, f] = DECODERS;
    &joined::<{ 12 + TO_THE_SERVICE.len() + 1 }>(&[a, b, c, d, e, f, TO_THE_SERVICE])
};
