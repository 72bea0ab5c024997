//! Tink's streaming format: a stream that was changed never decrypts, and what was written before
//! the error is a true beginning of the plaintext.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_files::small::{Sealed, open_each};
use millstream_files::tink::{Key, Parameters, decrypt, encrypt};

const AAD: &[u8] = b"associated";

fuzz_target!(|data: &[u8]| {
    let features = Features::hardware();
    // Small segments, so that a short input has many.
    let parameters = Parameters { segment_bytes: 80, ..Parameters::AES256_1MB };
    let key = Key::with_parameters(&[7; 32], parameters).expect("valid parameters");

    let mut out = Vec::new();
    assert!(decrypt(features, data, &mut out, &key, AAD).is_err(), "bytes from nowhere verified");
    assert!(out.is_empty());

    let Some((&[at_low, at_high, flip], plaintext)) = data.split_first_chunk::<3>() else { return };
    let mut sealed = Vec::new();
    encrypt(features, plaintext, &mut sealed, &key, AAD).expect("encryption of anything");
    let at = usize::from(u16::from_le_bytes([at_low, at_high])) % (sealed.len() + 1);
    if flip == 0 {
        sealed.truncate(at);
    } else if let Some(byte) = sealed.get_mut(at) {
        *byte ^= flip;
    } else {
        sealed.push(flip);
    }
    let untouched = flip == 0 && at == sealed.len() && {
        let mut whole = Vec::new();
        decrypt(features, &sealed[..], &mut whole, &key, AAD).is_ok() && whole == plaintext
    };
    let mut opened = Vec::new();
    let result = decrypt(features, &sealed[..], &mut opened, &key, AAD);
    assert!(result.is_err() || untouched, "a changed stream verified");
    assert!(plaintext.starts_with(&opened), "unverified bytes were written");

    // Among others, a stream of one segment ends as it does alone.
    if sealed.len() <= parameters.segment_bytes {
        let stream = Sealed { key: &key, associated_data: AAD, bytes: &sealed };
        for among in open_each(features, &[stream; 5]) {
            match (&result, among) {
                (Ok(()), Ok(bytes)) => assert!(*bytes == opened, "other bytes among others"),
                (Err(_), Err(_)) => {}
                _ => panic!("alone and among others, a stream ends differently"),
            }
        }
    }
});
