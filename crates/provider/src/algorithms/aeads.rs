//! The AEADs.

use crate::algorithms::offer_ciphers;
use crate::cipher::aead::Spec;
use crate::cipher::aead::chacha::ChaChaContext;
use crate::cipher::aead::gcm::GcmContext;
use crate::cipher::{CipherInfo, Mode};

/// Describes an AEAD with a vector of 12 bytes and `key` bytes of key.
const fn aead(mode: Mode, key: usize) -> CipherInfo {
    CipherInfo { mode, key, iv: 12, block: 1, aead: true, custom_iv: true, multi_block: false }
}

offer_ciphers! {
    Aes256Gcm: GcmContext = Current, c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46",
        aead(Mode::Gcm, 32), Spec { name: "aes-256-gcm" };
    Aes192Gcm: GcmContext = Current, c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26",
        aead(Mode::Gcm, 24), Spec { name: "aes-192-gcm" };
    Aes128Gcm: GcmContext = Current, c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6",
        aead(Mode::Gcm, 16), Spec { name: "aes-128-gcm" };
    ChaCha20Poly1305: ChaChaContext = Current, c"ChaCha20-Poly1305",
        aead(Mode::Stream, 32), Spec { name: "chacha20-poly1305" };
}
