//! The format of `openssl enc`: any bytes are read or refused, and what is written is read back.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Features;
use millstream_files::cipher::Cipher;
use millstream_files::openssl::{decrypt, encrypt};

fuzz_target!(|data: &[u8]| {
    let features = Features::hardware();
    for name in ["aes-256-cbc", "aes-128-ctr", "aes-192-cfb"] {
        let cipher = Cipher::from_name(name).expect("a cipher of the format");
        let _ = decrypt(features, data, std::io::sink(), cipher, b"pass", 1);
        let (mut sealed, mut opened) = (Vec::new(), Vec::new());
        encrypt(features, data, &mut sealed, cipher, b"pass", 1).expect("encryption of anything");
        decrypt(features, &sealed[..], &mut opened, cipher, b"pass", 1).expect("what was just encrypted");
        assert_eq!(opened, data);
    }
});
