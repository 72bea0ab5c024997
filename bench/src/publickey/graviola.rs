//! graviola. It has no P-521, of ML-KEM only the middle set, and no signatures of lattices or hashes.

use graviola::hashing::Sha256;
use graviola::key_agreement::{mlkem768, p256, p384, x25519};
use graviola::signing::ecdsa::{Curve as GraviolaCurve, P256, P384, SigningKey, VerifyingKey};
use graviola::signing::{eddsa, rsa};
use millstream::Features;
use millstream::publickey::ecdsa::{self, Curve};
use millstream::publickey::mlkem;

use super::cases::{Algorithm, Case, MESSAGE, Material, Operation};
use super::{Call, Row};

pub const NAME: &str = "graviola";

/// Returns the row of a case; none if graviola does not have it, or not on this processor.
pub fn row(features: Features, case: &Case, material: &Material) -> Option<Row> {
    if !graviola::util::is_cpu_supported() {
        return None;
    }
    let row = |call: &str, run: Call| Some(Row::new(NAME, call, 1, run));
    let signature = material.signature.clone();
    match (case.algorithm, case.operation) {
        (Algorithm::X25519, _) => {
            let key = x25519::StaticPrivateKey::try_from_slice(&material.private).ok()?;
            let peer = x25519::StaticPrivateKey::try_from_slice(&material.peer).ok()?.public_key();
            row(
                "diffie_hellman",
                Box::new(move |out| {
                    out.extend(key.diffie_hellman(&peer).expect("a large order").as_bytes());
                }),
            )
        }
        (Algorithm::Ed25519, operation) => {
            let key = eddsa::Ed25519SigningKey::from_bytes(&material.private).ok()?;
            if operation == Operation::Sign {
                return row("sign", Box::new(move |out| out.extend(key.sign(MESSAGE))));
            }
            let public = key.public_key();
            row("verify", Box::new(move |out| out.push(u8::from(public.verify(&signature, MESSAGE).is_ok()))))
        }
        (Algorithm::Ec(curve), Operation::Agree) => {
            let peer = ecdsa::PrivateKey::new(features, curve, &material.peer).ok()?.public().to_bytes();
            macro_rules! agrees {
                ($curve:ident) => {{
                    let key = $curve::StaticPrivateKey::from_bytes(&material.private).ok()?;
                    let peer = $curve::PublicKey::from_x962_uncompressed(&peer).ok()?;
                    row(
                        "diffie_hellman",
                        Box::new(move |out| {
                            out.extend(&key.diffie_hellman(&peer).expect("one curve").0);
                        }),
                    )
                }};
            }
            match curve {
                Curve::P256 => agrees!(p256),
                Curve::P384 => agrees!(p384),
                Curve::P521 => None,
            }
        }
        (Algorithm::Ec(Curve::P256), operation) => {
            ec::<P256>(features, Curve::P256, operation, case, material)
        }
        (Algorithm::Ec(Curve::P384), operation) => {
            ec::<P384>(features, Curve::P384, operation, case, material)
        }
        (Algorithm::MlKem(mlkem::Set::MlKem768), operation) => {
            ml_kem(operation, material).map(|run| Row::new(NAME, "mlkem768", 1, run))
        }
        (
            Algorithm::Ec(Curve::P521) | Algorithm::MlKem(_) | Algorithm::MlDsa(_) | Algorithm::SlhDsa(_),
            _,
        ) => None,
        (Algorithm::Rsa(bits), operation) => {
            let key = rsa::SigningKey::from_pkcs1_der(&material.private).ok()?;
            if operation == Operation::Sign {
                return row(
                    "sign_pkcs1_sha256",
                    Box::new(move |out| {
                        out.resize(bits / 8, 0);
                        key.sign_pkcs1_sha256(out, MESSAGE).expect("a signature");
                    }),
                );
            }
            let public = key.public_key();
            row(
                "verify_pkcs1_sha256",
                Box::new(move |out| {
                    out.push(u8::from(public.verify_pkcs1_sha256(&signature, MESSAGE).is_ok()));
                }),
            )
        }
    }
}

fn ec<C: GraviolaCurve + 'static>(
    features: Features,
    curve: Curve,
    operation: Operation,
    case: &Case,
    material: &Material,
) -> Option<Row> {
    if operation == Operation::Sign {
        let key =
            SigningKey::<C>::from_pkcs8_der(&material.encoded(case.algorithm, &material.private)).ok()?;
        return Some(Row::new(NAME, "sign", 1, move |out| {
            out.resize(2 * curve.bytes(), 0);
            key.sign::<Sha256>(&[MESSAGE], out).expect("a signature");
        }));
    }
    let public = ecdsa::PrivateKey::new(features, curve, &material.private).ok()?.public().to_bytes();
    let (key, signature) =
        (VerifyingKey::<C>::from_x962_uncompressed(&public).ok()?, material.signature.clone());
    Some(Row::new(NAME, "verify", 1, move |out| {
        out.push(u8::from(key.verify::<Sha256>(&[MESSAGE], &signature).is_ok()));
    }))
}

/// ML-KEM-768. A key keeps its matrix, and an encapsulation key is taken by value; the functions that are given their randomness are
/// those of its own tests.
fn ml_kem(operation: Operation, material: &Material) -> Option<Call> {
    let seed = material.private[..].try_into().ok()?;
    let key = mlkem768::DecapKey::keygen_internal(seed);
    Some(match operation {
        Operation::Generate => {
            let seed = *seed;
            Box::new(move |out| {
                out.extend(mlkem768::DecapKey::keygen_internal(&seed).encapsulation_key().as_bytes());
            })
        }
        Operation::Encapsulate => {
            let public = key.encapsulation_key();
            Box::new(move |out| {
                let (secret, ciphertext) = public.clone().encaps_internal(mlkem768::Message([0x5a; 32]));
                out.extend(ciphertext.as_ref());
                out.extend(secret.as_ref());
            })
        }
        _ => {
            let ciphertext = <[u8; 1088]>::try_from(&material.signature[..]).ok()?.into();
            Box::new(move |out| out.extend(key.decaps_internal(&ciphertext).as_ref()))
        }
    })
}
