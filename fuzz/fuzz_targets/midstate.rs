//! Saved mid-states of hashes, HMACs, CMAC and AEADs: any bytes are taken or refused, and what is exported is
//! taken back.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_engines::InOut;
use millstream_engines::aead::AeadState;
use millstream_engines::aes::{Cmac, CmacState};
use millstream_engines::hash::{Hash, Hasher};
use millstream_engines::hmac::HmacKey;
use millstream_engines::{chacha20poly1305, gcm};

/// Takes any bytes up, if they can be a state, and goes on with it.
fn any_state<S: AeadState>(key: &S::Key, data: &[u8]) {
    let Ok(mut state) = S::import(key, data) else { return };
    let again = S::import(key, &state.export()).expect("what was just exported");
    assert_eq!(again.tag(key), state.tag(key));
    let _ = state.aad(key, data);
    let _ = state.encrypt(key, InOut::in_place(&mut data.to_vec()));
    let _ = state.decrypt_unverified(key, InOut::in_place(&mut data.to_vec()));
    state.tag(key);
}

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
        let key = HmacKey::new(features, hash, b"key");
        if let Ok(mut hmac) = key.resume(data) {
            hmac.update(data);
            assert!(key.resume(&hmac.export_message()).is_ok());
        }
    }
    let cmac = Cmac::new(features, &[7; 16]).expect("a key");
    if let Ok(mut state) = CmacState::import(data) {
        assert_eq!(*state.export(), *data);
        state.update(&cmac, data);
        state.tag(&cmac);
    }
    any_state::<gcm::State>(&gcm::Gcm::new(features, &[7; 16]).expect("a key"), data);
    let chacha = chacha20poly1305::ChaCha20Poly1305::new(features, &[7; 32]).expect("a key");
    any_state::<chacha20poly1305::State>(&chacha, data);
});
