//! The decoders of private keys for the service.

use crate::abi::OsslAlgorithm;
use crate::algorithms::joined;
use crate::ffi::{Decoded, PEM_DECODER_FUNCTIONS, TYPE_DECODER_FUNCTIONS, key_decoder_functions};
use crate::pkey::ec::Ec;
use crate::pkey::ed25519::Ed25519;
use crate::pkey::mldsa::MlDsa;
use crate::pkey::raw::Raw;
use crate::pkey::rsa::Rsa;
use crate::pkey::x25519::X25519;

/// Builds the properties of a decoder.
macro_rules! of {
    ($input:literal $(, $structure:literal $(, $more:literal)?)?) => {
        match std::ffi::CStr::from_bytes_with_nul(
            concat!(
                "provider=millstream,millstream.accelerated=yes,millstream.isolated=yes,input=",
                $input, $(",structure=", $structure, $($more,)?)? "\0"
            )
            .as_bytes(),
        ) {
            Ok(properties) => properties,
            Err(_) => panic!("a text that ends with zero"),
        }
    };
}

const fn keys<K: Decoded>(name: &'static std::ffi::CStr) -> [OsslAlgorithm; 5] {
    let functions = key_decoder_functions::<K>();
    [
        OsslAlgorithm::new(name, of!("der", "millstream"), functions),
        // OpenSSL 3.6 passes over the first that it meets where a caller asked for another structure, as an encrypted one.
        OsslAlgorithm::new(name, of!("der", "millstream", ",millstream.again=yes"), functions),
        OsslAlgorithm::new(name, of!("der", "type-specific"), functions),
        // OpenSSL passes on with its type what it has decrypted.
        OsslAlgorithm::new(name, of!("der", "PrivateKeyInfo"), functions),
        OsslAlgorithm::new(name, of!("der", "PrivateKeyInfo", ",millstream.again=yes"), functions),
    ]
}

const EC_KEYS: [OsslAlgorithm; 5] = keys::<Ec>(c"EC:id-ecPublicKey:1.2.840.10045.2.1");
const RSA_KEYS: [OsslAlgorithm; 5] = keys::<Rsa>(c"RSA:rsaEncryption:1.2.840.113549.1.1.1");
const X25519_KEYS: [OsslAlgorithm; 5] = keys::<X25519>(c"X25519:1.3.101.110");
const ED25519_KEYS: [OsslAlgorithm; 5] = keys::<Ed25519>(c"ED25519:1.3.101.112");
const ML_DSA_44_KEYS: [OsslAlgorithm; 5] = keys::<MlDsa<44>>(MlDsa::<44>::NAMES);
const ML_DSA_65_KEYS: [OsslAlgorithm; 5] = keys::<MlDsa<65>>(MlDsa::<65>::NAMES);
const ML_DSA_87_KEYS: [OsslAlgorithm; 5] = keys::<MlDsa<87>>(MlDsa::<87>::NAMES);

/// The decoders, offered where there is a service.
pub static DECODERS: &[OsslAlgorithm] = &joined::<{ TO_THE_SERVICE.len() + 1 }>(&[TO_THE_SERVICE]);

/// The same without an end. Of those of one name OpenSSL tries the last first.
pub const TO_THE_SERVICE: &[OsslAlgorithm] = &[
    EC_KEYS[0],
    EC_KEYS[1],
    EC_KEYS[2],
    EC_KEYS[3],
    EC_KEYS[4],
    RSA_KEYS[0],
    RSA_KEYS[1],
    RSA_KEYS[2],
    RSA_KEYS[3],
    RSA_KEYS[4],
    X25519_KEYS[0],
    X25519_KEYS[1],
    X25519_KEYS[3],
    X25519_KEYS[4],
    ED25519_KEYS[0],
    ED25519_KEYS[1],
    ED25519_KEYS[3],
    ED25519_KEYS[4],
    ML_DSA_44_KEYS[0],
    ML_DSA_44_KEYS[1],
    ML_DSA_44_KEYS[3],
    ML_DSA_44_KEYS[4],
    ML_DSA_65_KEYS[0],
    ML_DSA_65_KEYS[1],
    ML_DSA_65_KEYS[3],
    ML_DSA_65_KEYS[4],
    ML_DSA_87_KEYS[0],
    ML_DSA_87_KEYS[1],
    ML_DSA_87_KEYS[3],
    ML_DSA_87_KEYS[4],
    OsslAlgorithm::new(c"DER", of!("der", "PrivateKeyInfo"), TYPE_DECODER_FUNCTIONS),
    // A caller who does not say the structure means any.
    OsslAlgorithm::new(c"DER", of!("der"), TYPE_DECODER_FUNCTIONS),
    OsslAlgorithm::new(c"DER", of!("pem"), PEM_DECODER_FUNCTIONS),
];
