//! The encoders and decoders of keys that OpenSSL has no files for before version 3.5: ML-KEM, ML-DSA and SLH-DSA.

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
use crate::pkey::slhdsa::SlhDsa;

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
pub static ENCODERS: &[OsslAlgorithm] = &joined::<127>(&[
    &encoders::<MlKem512>(),
    &encoders::<MlKem768>(),
    &encoders::<MlKem1024>(),
    &encoders::<MlDsa<44>>(),
    &encoders::<MlDsa<65>>(),
    &encoders::<MlDsa<87>>(),
    &encoders::<SlhDsa<20>>(),
    &encoders::<SlhDsa<21>>(),
    &encoders::<SlhDsa<22>>(),
    &encoders::<SlhDsa<23>>(),
    &encoders::<SlhDsa<24>>(),
    &encoders::<SlhDsa<25>>(),
    &encoders::<SlhDsa<26>>(),
    &encoders::<SlhDsa<27>>(),
    &encoders::<SlhDsa<28>>(),
    &encoders::<SlhDsa<29>>(),
    &encoders::<SlhDsa<30>>(),
    &encoders::<SlhDsa<31>>(),
]);

const DECODERS: [&[OsslAlgorithm]; 18] = [
    &decoders::<MlKem512>(),
    &decoders::<MlKem768>(),
    &decoders::<MlKem1024>(),
    &decoders::<MlDsa<44>>(),
    &decoders::<MlDsa<65>>(),
    &decoders::<MlDsa<87>>(),
    &decoders::<SlhDsa<20>>(),
    &decoders::<SlhDsa<21>>(),
    &decoders::<SlhDsa<22>>(),
    &decoders::<SlhDsa<23>>(),
    &decoders::<SlhDsa<24>>(),
    &decoders::<SlhDsa<25>>(),
    &decoders::<SlhDsa<26>>(),
    &decoders::<SlhDsa<27>>(),
    &decoders::<SlhDsa<28>>(),
    &decoders::<SlhDsa<29>>(),
    &decoders::<SlhDsa<30>>(),
    &decoders::<SlhDsa<31>>(),
];

/// The decoders.
pub static FILE_DECODERS: &[OsslAlgorithm] = &joined::<37>(&DECODERS);

/// The same, and the decoders of private keys for the service.
pub static ISOLATED_FILE_DECODERS: &[OsslAlgorithm] = {
    let mut lists = [TO_THE_SERVICE; DECODERS.len() + 1];
    lists.split_at_mut(DECODERS.len()).0.copy_from_slice(&DECODERS);
    &joined::<{ 2 * DECODERS.len() + TO_THE_SERVICE.len() + 1 }>(&lists)
};
