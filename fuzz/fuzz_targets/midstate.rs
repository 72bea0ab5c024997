//! Saved mid-states of hashes and HMACs: any bytes are taken or refused, and what is exported is
//! taken back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_engines::hash::{Hash, Hasher};

fuzz_target!(|data: &[u8]| {
    let features = Features::hardware();
    for hash in Hash::ALL {
        if let Ok(mut hasher) = Hasher::import(features, hash, data) {
            assert_eq!(*hasher.export(), *data, "a mid-state has one encoding");
            hasher.update(data);
        }
        let mut whole = Hasher::new(features, hash);
        whole.update(data);
        let again = Hasher::import(features, hash, &whole.export()).expect("what was just exported");
        assert_eq!(again.finish(), whole.finish());
    }
});
