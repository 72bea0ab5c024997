//! libcrux, whose curves are HACL*'s: P-256, X25519 and Ed25519. Its keys are bytes, so that Ed25519 hashes the seed and computes the public key each
//! time, and public keys are decoded each time.

mod lattice;

use millstream::Features;
use millstream::publickey::ecdsa::{self, Curve};
use millstream::publickey::{ed25519, x25519};

use super::Row;
use super::cases::{Algorithm, Case, MESSAGE, Material, Operation};

pub const NAME: &str = "libcrux";

/// Returns the rows of a case; none if libcrux does not have it.
pub fn rows(features: Features, case: &Case, material: &Material) -> Vec<Row> {
    match case.algorithm {
        Algorithm::MlKem(set) => lattice::kem_rows(features, set, case, material),
        Algorithm::MlDsa(set) => lattice::dsa_row(features, set, case, material).into_iter().collect(),
        _ => of_curve(features, case, material).into_iter().collect(),
    }
}

fn of_curve(features: Features, case: &Case, material: &Material) -> Option<Row> {
    let signature = material.signature.clone();
    match (case.algorithm, case.operation) {
        (Algorithm::X25519, _) => {
            let private = <[u8; 32]>::try_from(&material.private[..]).ok()?;
            let peer = *x25519::PrivateKey::new(features, &material.peer).ok()?.public_key().as_bytes();
            Some(Row::new(NAME, "ecdh", 1, move |out| {
                let mut secret = [0; 32];
                assert!(libcrux_curve25519::ecdh(&mut secret, &peer, &private).is_ok(), "a large order");
                out.extend(secret);
            }))
        }
        (Algorithm::Ed25519, operation) => {
            let private = <[u8; 32]>::try_from(&material.private[..]).ok()?;
            if operation == Operation::Sign {
                return Some(Row::new(NAME, "sign", 1, move |out| {
                    out.extend(libcrux_ed25519::sign(MESSAGE, &private).expect("a signature"));
                }));
            }
            let public = *ed25519::PrivateKey::new(features, &private).ok()?.public_key().as_bytes();
            let signature = <[u8; 64]>::try_from(&signature[..]).ok()?;
            Some(Row::new(NAME, "verify", 1, move |out| {
                out.push(u8::from(libcrux_ed25519::verify(MESSAGE, &public, &signature).is_ok()));
            }))
        }
        (Algorithm::Ec(Curve::P256), operation) => {
            let public = |private: &[u8]| {
                Some(ecdsa::PrivateKey::new(features, Curve::P256, private).ok()?.public().to_bytes())
            };
            let private = material.private.clone();
            let len = MESSAGE.len() as u32;
            Some(match operation {
                Operation::Agree => {
                    let peer = public(&material.peer)?[1..].to_vec();
                    Row::new(NAME, "dh_responder", 1, move |out| {
                        let mut point = [0; 64];
                        assert!(libcrux_p256::dh_responder(&mut point, &peer, &private));
                        out.extend(&point[..32]);
                    })
                }
                Operation::Sign => {
                    let nonce = material.peer.clone();
                    Row::new(NAME, "ecdsa_sign_p256_sha2", 1, move |out| {
                        out.resize(64, 0);
                        assert!(libcrux_p256::ecdsa_sign_p256_sha2(out, len, MESSAGE, &private, &nonce));
                    })
                }
                _ => {
                    let public = public(&private)?[1..].to_vec();
                    Row::new(NAME, "ecdsa_verif_p256_sha2", 1, move |out| {
                        let (r, s) = signature.split_at(32);
                        out.push(u8::from(libcrux_p256::ecdsa_verif_p256_sha2(len, MESSAGE, &public, r, s)));
                    })
                }
            })
        }
        _ => None,
    }
}
