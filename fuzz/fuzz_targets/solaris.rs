//! The illumos format, version 1: any bytes are read or refused, and what is written is read back.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_files::solaris::{Algorithm, Secret, decrypt, encrypt};

fuzz_target!(|data: &[u8]| {
    let features = Features::hardware();
    for algorithm in Algorithm::ALL {
        // RC4's key files go through PBKDF2 with the file's own count, which is slow at its limit.
        let limited = algorithm != Algorithm::Arcfour || data.get(4..6).is_none_or(|high| high == [0, 0]);
        let key = Secret::Key(&[0x31; 24][..if algorithm == Algorithm::Des { 8 } else { 24 }]);
        if limited {
            let _ = decrypt(features, data, std::io::sink(), algorithm, key);
        }
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        encrypt(features, data, &mut sealed, algorithm, key).expect("encryption of anything");
        decrypt(features, &sealed[..], &mut opened, algorithm, key).expect("what was just encrypted");
        assert_eq!(opened, data);
    }
});
