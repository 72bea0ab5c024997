//! ML-KEM and ML-DSA beside libcrux: random and extreme inputs, another one in each lane, on every row.
#![cfg(target_arch = "x86_64")]

mod lattices;

use lattices::{Dsa, Kem, array};
use libcrux_ml_dsa::{MLDSASignature, MLDSASigningKey, MLDSAVerificationKey};
use millstream_cpu::Features;
use millstream_publickey::{self as publickey, mldsa, mlkem};

macro_rules! kem {
    ($set:ident, $module:ident) => {
        Kem {
            set: mlkem::Set::$set,
            generate: &|seed| {
                let pair = libcrux_ml_kem::$module::generate_key_pair(seed);
                (pair.sk().to_vec(), pair.pk().to_vec())
            },
            encapsulate: &|public, message| {
                let public = public.try_into().expect("its length is right");
                libcrux_ml_kem::$module::validate_public_key(&public).then(|| {
                    let (sent, secret) = libcrux_ml_kem::$module::encapsulate(&public, message);
                    (sent.as_slice().to_vec(), secret)
                })
            },
            decapsulate: &|private, sent| {
                let (private, sent) =
                    (private.try_into().expect("its length"), sent.try_into().expect("its length"));
                libcrux_ml_kem::$module::decapsulate(&private, &sent)
            },
        }
    };
}

const KEMS: [Kem; 3] = [kem!(MlKem512, mlkem512), kem!(MlKem768, mlkem768), kem!(MlKem1024, mlkem1024)];

#[test]
fn ml_kem_in_every_lane() {
    KEMS.iter().for_each(Kem::compare_in_every_lane);
}

macro_rules! dsa {
    ($set:ident, $module:ident) => {
        Dsa {
            set: mldsa::Set::$set,
            generate: &|seed| {
                let pair = libcrux_ml_dsa::$module::generate_key_pair(seed);
                (pair.signing_key.as_slice().to_vec(), pair.verification_key.as_slice().to_vec())
            },
            sign: &|private, message, context, randomness| {
                let key = MLDSASigningKey::new(array(private));
                let signature = libcrux_ml_dsa::$module::sign(&key, message, context, randomness);
                signature.unwrap_or_else(|e| panic!("libcrux: {e:?}")).as_slice().to_vec()
            },
            verify: &|public, message, context, signature| {
                let (key, signature) =
                    (MLDSAVerificationKey::new(array(public)), MLDSASignature::new(array(signature)));
                libcrux_ml_dsa::$module::verify(&key, message, context, &signature).is_ok()
            },
        }
    };
}

const DSAS: [Dsa; 3] = [dsa!(MlDsa44, ml_dsa_44), dsa!(MlDsa65, ml_dsa_65), dsa!(MlDsa87, ml_dsa_87)];

#[test]
fn ml_dsa_in_every_lane() {
    DSAS.iter().for_each(Dsa::compare_in_every_lane);
}
