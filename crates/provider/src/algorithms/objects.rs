//! The objects of ML-KEM, ML-DSA and SLH-DSA, which libcrypto has not heard of before OpenSSL 3.5: without them it verifies no certificate.

use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use crate::pkey::slhdsa::named::NAMED as SLH_DSA;
use crate::provider::Provider;

/// An identifier, and the short and the long name that OpenSSL 3.5 gives it.
type Object = [&'static CStr; 3];

const ML_KEM: [Object; 3] = [
    [c"2.16.840.1.101.3.4.4.1", c"id-alg-ml-kem-512", c"ML-KEM-512"],
    [c"2.16.840.1.101.3.4.4.2", c"id-alg-ml-kem-768", c"ML-KEM-768"],
    [c"2.16.840.1.101.3.4.4.3", c"id-alg-ml-kem-1024", c"ML-KEM-1024"],
];
const ML_DSA: [Object; 3] = [
    [c"2.16.840.1.101.3.4.3.17", c"id-ml-dsa-44", c"ML-DSA-44"],
    [c"2.16.840.1.101.3.4.3.18", c"id-ml-dsa-65", c"ML-DSA-65"],
    [c"2.16.840.1.101.3.4.3.19", c"id-ml-dsa-87", c"ML-DSA-87"],
];

/// Makes the objects known, where the libcrypto that loads the provider may lack them.
pub fn introduce(provider: Provider) {
    if provider.openssl() >= (3, 5) {
        return;
    }
    // Several threads may load the provider at once, each into a context of its own, and the objects are libcrypto's for all of them. Version 3.0
    // has no lock there, and sorts its list of signatures when it is searched next: so one thread at a time comes here, and sorts it, too.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    ML_KEM.iter().for_each(|object| provider.name_object(object));
    let slh_dsa = SLH_DSA.iter().map(|named| [named.oid, named.short, named.name]);
    for object @ [.., name] in ML_DSA.into_iter().chain(slh_dsa) {
        provider.name_object(&object);
        provider.name_signature(name);
    }
    // One that is known is searched for, not added.
    provider.name_signature(ML_DSA[0][2]);
}
