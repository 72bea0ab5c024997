//! The ciphers, but for the AEADs.

use crate::algorithms::offer_ciphers;
use crate::cipher::block::{self, BlockContext};
use crate::cipher::remote::Remote;
use crate::cipher::{Mode, Traits};
use crate::remote::Chaining;
use millstream::cwq::Algorithm;

/// A block mode: the mode, and bytes of key, vector and block.
const fn blocks(mode: Mode, key: usize, iv: usize, block: usize) -> Traits {
    Traits { mode, key, iv, block, aead: false, custom_iv: false, tls_mac: false }
}

/// In the service: each block depends on the one before.
const fn chained(algorithm: Algorithm, iv: usize) -> Option<Remote> {
    Some(Remote { algorithm, chaining: Chaining::Ciphertext, iv })
}

/// In the service: blocks by themselves.
const fn unchained(algorithm: Algorithm) -> Option<Remote> {
    Some(Remote { algorithm, chaining: Chaining::None, iv: 0 })
}

offer_ciphers! {
    Aes128Cbc: BlockContext = Current, c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2",
        blocks(Mode::Cbc, 16, 16, 16), block::Spec { name: "aes-128-cbc", make: block::local!(millstream::aes::Cbc), remote: chained(Algorithm::AesCbc, 16) };
    Aes256Cbc: BlockContext = Current, c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42",
        blocks(Mode::Cbc, 32, 16, 16), block::Spec { name: "aes-256-cbc", make: block::local!(millstream::aes::Cbc), remote: chained(Algorithm::AesCbc, 16) };
    Aes128Ecb: BlockContext = Current, c"AES-128-ECB:2.16.840.1.101.3.4.1.1",
        blocks(Mode::Ecb, 16, 0, 16), block::Spec { name: "aes-128-ecb", make: block::local!(millstream::aes::Ecb), remote: unchained(Algorithm::AesEcb) };
}
