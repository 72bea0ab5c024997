//! Keysets, preambles, masks, and the detection of formats.
#![cfg_attr(fuzzing, no_main)]

use libfuzzer_sys::fuzz_target;
use millstream_cpu::Mask;
use millstream_files::{detect, keyset, passphrase};

fuzz_target!(|data: &[u8]| {
    let _ = detect(data);
    if keyset::is_keyset(data) {
        let _ = keyset::parse(data);
    }
    if let Some(bytes) = data.first_chunk()
        && let Ok(preamble) = passphrase::Preamble::from_bytes(bytes)
    {
        assert_eq!(preamble.to_bytes(), *bytes, "a preamble has one encoding");
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Err(error) = text.parse::<Mask>()
    {
        assert!(error.to_string().contains("MILLSTREAM_HWCAP"));
    }
});
