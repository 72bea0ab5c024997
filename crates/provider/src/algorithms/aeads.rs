//! The AEADs.

use crate::algorithms::offer_ciphers;
use crate::cipher::aead::Spec;
use crate::cipher::aead::chacha::ChaChaContext;
use crate::cipher::aead::gcm::GcmContext;
use crate::cipher::siv::{self, SivContext};
use crate::cipher::{CipherInfo, Mode};
use millstream::gcm_siv::GcmSiv;
use millstream::siv::Siv;

/// Describes an AEAD with a vector of 12 bytes and `key` bytes of key.
const fn aead(mode: Mode, key: usize) -> CipherInfo {
    CipherInfo { mode, key, iv: 12, block: 1, aead: true, custom_iv: true, multi_block: false }
}

/// Describes AES-SIV: bytes of both keys. It has no vector.
const fn deterministic(key: usize) -> CipherInfo {
    CipherInfo { iv: 0, ..aead(Mode::Siv, key) }
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
    => in this process only:
    Aes256Siv: SivContext<Siv> = Current, c"AES-256-SIV", deterministic(64), siv::Spec { name: "aes-256-siv" };
    Aes192Siv: SivContext<Siv> = Current, c"AES-192-SIV", deterministic(48), siv::Spec { name: "aes-192-siv" };
    Aes128Siv: SivContext<Siv> = Current, c"AES-128-SIV", deterministic(32), siv::Spec { name: "aes-128-siv" };
    Aes256GcmSiv: SivContext<GcmSiv> = Current, c"AES-256-GCM-SIV",
        aead(Mode::GcmSiv, 32), siv::Spec { name: "aes-256-gcm-siv" };
    Aes128GcmSiv: SivContext<GcmSiv> = Current, c"AES-128-GCM-SIV",
        aead(Mode::GcmSiv, 16), siv::Spec { name: "aes-128-gcm-siv" };
}
