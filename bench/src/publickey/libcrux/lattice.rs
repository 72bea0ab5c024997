//! libcrux's ML-KEM and ML-DSA, with AVX2 where the processor has it. Its keys are bytes; of ML-KEM it has a form with an expanded matrix too, which
//! only those take who know the processor, so it is measured with AVX2.

use libcrux_ml_dsa::{MLDSASigningKey, MLDSAVerificationKey, ml_dsa_44, ml_dsa_65, ml_dsa_87};
use libcrux_ml_kem::{mlkem512, mlkem768, mlkem1024};
use millstream::Features;
use millstream::publickey::{mldsa, mlkem};

use super::NAME;
use crate::publickey::Row;
use crate::publickey::cases::{Case, MESSAGE, Material, Operation};

/// The name of the rows whose keys keep the expanded matrix.
const KEPT: &str = "libcrux-kept";

/// The randomness of every key, secret and signature: it need not be secret here.
const RANDOMNESS: u8 = 0x5a;

/// Returns the rows of ML-KEM. Our own key tells the other forms of the one in common.
pub fn kem_rows(features: Features, set: mlkem::Set, case: &Case, material: &Material) -> Vec<Row> {
    macro_rules! rows {
        ($module:ident, $types:ident) => {{
            let Ok(key) = mlkem::PrivateKey::new(features, set, &material.private) else { return Vec::new() };
            let mut rows = Vec::new();
            match case.operation {
                Operation::Generate => rows.push(Row::new(NAME, "generate_key_pair", 1, |out| {
                    out.extend($module::generate_key_pair([RANDOMNESS; 64]).pk());
                })),
                Operation::Encapsulate => {
                    let public =
                        key.public_key().as_bytes().try_into().expect("its length is the standard's");
                    rows.push(Row::new(NAME, "encapsulate", 1, move |out| {
                        let (ciphertext, secret) = $module::encapsulate(&public, [RANDOMNESS; 32]);
                        out.extend(ciphertext.as_slice());
                        out.extend(secret);
                    }));
                }
                _ => {
                    let private = key.to_expanded()[..].try_into().expect("its length is the standard's");
                    let ciphertext = material.signature[..].try_into().expect("its length is the standard's");
                    rows.push(Row::new(NAME, "decapsulate", 1, move |out| {
                        out.extend($module::decapsulate(&private, &ciphertext));
                    }));
                }
            }
            rows.extend(kept::$types(features, case, &key, material));
            rows
        }};
    }
    match set {
        mlkem::Set::MlKem512 => rows!(mlkem512, of_512),
        mlkem::Set::MlKem768 => rows!(mlkem768, of_768),
        mlkem::Set::MlKem1024 => rows!(mlkem1024, of_1024),
    }
}

/// The form with an expanded matrix.
mod kept {
    use super::*;
    use millstream_cpu::FeatureSet;

    macro_rules! unpacked {
        ($name:ident, $module:ident) => {
            pub fn $name(
                features: Features,
                case: &Case,
                key: &mlkem::PrivateKey,
                material: &Material,
            ) -> Option<Row> {
                use libcrux_ml_kem::$module::avx2::unpacked;
                if !features.contains(FeatureSet::parse("avx2")) {
                    return None;
                }
                match case.operation {
                    Operation::Generate => None,
                    Operation::Encapsulate => {
                        let bytes = key.public_key().as_bytes().try_into().expect("the standard's length");
                        let mut public = unpacked::init_public_key();
                        unpacked::unpacked_public_key(&bytes, &mut public);
                        Some(Row::new(KEPT, "unpacked::encapsulate", 1, move |out| {
                            let (ciphertext, secret) = unpacked::encapsulate(&public, [RANDOMNESS; 32]);
                            out.extend(ciphertext.as_slice());
                            out.extend(secret);
                        }))
                    }
                    _ => {
                        let bytes = key.to_expanded()[..].try_into().expect("the standard's length");
                        let mut pair = unpacked::init_key_pair();
                        unpacked::key_pair_from_private_mut(&bytes, &mut pair);
                        let ciphertext = material.signature[..].try_into().expect("the standard's length");
                        Some(Row::new(KEPT, "unpacked::decapsulate", 1, move |out| {
                            out.extend(unpacked::decapsulate(&pair, &ciphertext));
                        }))
                    }
                }
            }
        };
    }
    unpacked!(of_512, mlkem512);
    unpacked!(of_768, mlkem768);
    unpacked!(of_1024, mlkem1024);
}

/// Returns the row of ML-DSA.
pub fn dsa_row(features: Features, set: mldsa::Set, case: &Case, material: &Material) -> Option<Row> {
    macro_rules! row {
        ($module:ident) => {{
            let key = mldsa::PrivateKey::new(features, set, &material.private).ok()?;
            match case.operation {
                Operation::Generate => Row::new(NAME, "generate_key_pair", 1, |out| {
                    out.extend($module::generate_key_pair([RANDOMNESS; 32]).verification_key.as_slice());
                }),
                Operation::Sign => {
                    let private = MLDSASigningKey::new(key.to_expanded()[..].try_into().ok()?);
                    // Fresh randomness for each signature, so that as many candidates are rejected as on average.
                    let mut drawn = 0_u64;
                    Row::new(NAME, "sign", 1, move |out| {
                        let mut randomness = [RANDOMNESS; 32];
                        drawn += 1;
                        randomness[..8].copy_from_slice(&drawn.to_le_bytes());
                        let signature = $module::sign(&private, MESSAGE, b"", randomness);
                        out.extend(signature.unwrap_or_else(|e| panic!("libcrux: {e:?}")).as_slice());
                    })
                }
                _ => {
                    let public = MLDSAVerificationKey::new(key.public_key().as_bytes().try_into().ok()?);
                    let signature =
                        libcrux_ml_dsa::MLDSASignature::new(material.signature[..].try_into().ok()?);
                    Row::new(NAME, "verify", 1, move |out| {
                        out.push(u8::from($module::verify(&public, MESSAGE, b"", &signature).is_ok()));
                    })
                }
            }
        }};
    }
    Some(match set {
        mldsa::Set::MlDsa44 => row!(ml_dsa_44),
        mldsa::Set::MlDsa65 => row!(ml_dsa_65),
        mldsa::Set::MlDsa87 => row!(ml_dsa_87),
    })
}
