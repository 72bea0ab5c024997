//! Keys of ML-DSA without a seed, the longest that there are: they come into a token of the service as their values, and sign there.
#![allow(non_snake_case, unsafe_code)]

use cryptoki_sys::*;
use millstream::publickey::mldsa;

use crate::bed::{alone, make};
use crate::raw::{Functions, Value, bare, call, good, number};

#[test]
fn expanded_keys_of_ml_dsa_sign_in_the_service() {
    alone("large::expanded_keys_of_ml_dsa_sign_in_the_service", |bed| {
        let mut service = bed.serve();
        make(&service);
        let functions = Functions::get();
        let session = functions.logged_in();
        let features = millstream::features().unwrap();
        let sets = [CKP_ML_DSA_44, CKP_ML_DSA_65, CKP_ML_DSA_87];
        for (set, parameters) in mldsa::Set::ALL.into_iter().zip(sets) {
            let key = mldsa::PrivateKey::from_seed(features, set, &[5; 32]);
            let named: Vec<Value> = vec![
                number(CKA_CLASS, CKO_PRIVATE_KEY),
                number(CKA_KEY_TYPE, CKK_ML_DSA),
                number(CKA_PARAMETER_SET, parameters),
                (CKA_TOKEN, vec![1]),
                (CKA_LABEL, set.name().into()),
                (CKA_ID, b"as long an identifier as programs have".to_vec()),
                (CKA_SUBJECT, vec![0x30; 200]),
                (CKA_VALUE, key.to_expanded().to_vec()),
            ];
            let kept = functions.create(session, &named);
            // Loaded when it is used, and again after the service has started anew.
            for restarted in [false, true] {
                if restarted {
                    drop(service);
                    service = bed.serve();
                }
                let signature = functions.sign(session, bare(CKM_ML_DSA), kept, b"text").unwrap();
                key.public_key().verify(b"text", &signature).unwrap();
            }
            assert_eq!(functions.read(session, kept, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));
            good!(functions, C_DestroyObject(session, kept));
        }
    });
}
