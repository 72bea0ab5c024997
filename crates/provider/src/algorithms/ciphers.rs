//! The ciphers, but for the AEADs.

use crate::algorithms::offer_ciphers;
use crate::cipher::block::{self, BlockContext};
use crate::cipher::{Mode, Traits};

/// A block mode: the mode, and bytes of key, vector and block.
const fn blocks(mode: Mode, key: usize, iv: usize, block: usize) -> Traits {
    Traits { mode, key, iv, block, aead: false, custom_iv: false, tls_mac: false }
}

offer_ciphers! {
    Aes128Cbc: BlockContext = Current, c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2",
        blocks(Mode::Cbc, 16, 16, 16), block::Spec { name: "aes-128-cbc", make: block::local!(millstream::aes::Cbc) };
    Aes256Cbc: BlockContext = Current, c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42",
        blocks(Mode::Cbc, 32, 16, 16), block::Spec { name: "aes-256-cbc", make: block::local!(millstream::aes::Cbc) };
    Aes128Ecb: BlockContext = Current, c"AES-128-ECB:2.16.840.1.101.3.4.1.1",
        blocks(Mode::Ecb, 16, 0, 16), block::Spec { name: "aes-128-ecb", make: block::local!(millstream::aes::Ecb) };
}
