//! ring. Its agreements have keys for one use, and it has no P-521.

use millstream::Features;
use millstream::publickey::ecdsa::{self, Curve};
use ring::rand::SystemRandom;
use ring::signature::{self as sig, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair, UnparsedPublicKey};

use super::cases::{Algorithm, Case, MESSAGE, Material, Operation};
use super::{Call, Row};

pub const NAME: &str = "ring";

/// Returns the row of a case; none if ring does not have it.
pub fn row(features: Features, case: &Case, material: &Material) -> Option<Row> {
    let random = SystemRandom::new();
    let signature = material.signature.clone();
    let row = |run: Call| Some(Row::new(NAME, "sign or verify", 1, run));
    match (case.algorithm, case.operation) {
        (_, Operation::Agree)
        | (
            Algorithm::X25519
            | Algorithm::Ec(Curve::P521)
            | Algorithm::MlKem(_)
            | Algorithm::MlDsa(_)
            | Algorithm::SlhDsa(_),
            _,
        ) => None,
        (Algorithm::Ed25519, operation) => {
            let key = Ed25519KeyPair::from_seed_unchecked(&material.private).ok()?;
            match operation {
                Operation::Sign => row(Box::new(move |out| out.extend(key.sign(MESSAGE).as_ref()))),
                _ => verifies(&sig::ED25519, key.public_key().as_ref(), signature),
            }
        }
        (Algorithm::Ec(curve), operation) => {
            let (signs, verifies_with): (_, &'static dyn sig::VerificationAlgorithm) = match curve {
                Curve::P256 => (&sig::ECDSA_P256_SHA256_FIXED_SIGNING, &sig::ECDSA_P256_SHA256_FIXED),
                // ring's own pairing of this curve is with SHA-384, so it verifies another signature than the others.
                _ => return None,
            };
            let public = ecdsa::PrivateKey::new(features, curve, &material.private).ok()?.public().to_bytes();
            if operation == Operation::Verify {
                return verifies(verifies_with, &public, signature);
            }
            let key =
                EcdsaKeyPair::from_private_key_and_public_key(signs, &material.private, &public, &random);
            let key = key.ok()?;
            row(Box::new(move |out| out.extend(key.sign(&random, MESSAGE).expect("a signature").as_ref())))
        }
        (Algorithm::Rsa(bits), operation) => {
            let key = RsaKeyPair::from_der(&material.private).ok()?;
            if operation == Operation::Verify {
                return verifies(&sig::RSA_PKCS1_2048_8192_SHA256, key.public().as_ref(), signature);
            }
            row(Box::new(move |out| {
                out.resize(bits / 8, 0);
                key.sign(&sig::RSA_PKCS1_SHA256, &random, MESSAGE, out).expect("a signature");
            }))
        }
    }
}

fn verifies(
    algorithm: &'static dyn sig::VerificationAlgorithm,
    public: &[u8],
    signature: Vec<u8>,
) -> Option<Row> {
    let key = UnparsedPublicKey::new(algorithm, public.to_vec());
    Some(Row::new(NAME, "verify, with the key's decoding", 1, move |out| {
        out.push(u8::from(key.verify(MESSAGE, &signature).is_ok()));
    }))
}
