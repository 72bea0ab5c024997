//! The key schedule: round keys in the order in which the data meets them, for either direction.
//!
//! Ref. GB/T 32907-2016 §7.3.

use zeroize::Zeroize;

use super::Sm4;
use super::portable::substitute_word;
use crate::Error;
use crate::blocks::{Schedule, Subkeys};

/// Rows of four round keys, each of four bytes, the most significant first.
pub(super) const ROWS: usize = ROUNDS / 4;

const ROUNDS: usize = 32;

/// The system parameter FK.
const FK: [u32; 4] = [0xa3b1_bac6, 0x56aa_3350, 0x677d_9197, 0xb270_22dc];

/// The fixed parameters CK: byte `j` of CK `i` is 7 (4i + j) modulo 256.
const CK: [u32; ROUNDS] = {
    let mut parameters = [0; ROUNDS];
    let mut i = 0;
    while i < ROUNDS {
        let first = 28 * i;
        parameters[i] =
            u32::from_be_bytes([first as u8, (first + 7) as u8, (first + 14) as u8, (first + 21) as u8]);
        i += 1;
    }
    parameters
};

/// Expands a key of 16 bytes.
///
/// # Errors
/// [`Error::KeyLength`].
pub(super) fn expand(algorithm: &'static str, key: &[u8]) -> Result<Schedule<Sm4>, Error> {
    if key.len() != 16 {
        return Err(Error::KeyLength { algorithm, given: key.len(), takes: "16 bytes" });
    }
    let mut k = [0; 4];
    for i in 0..4 {
        k[i] = u32::from_be_bytes(key.as_chunks().0[i]) ^ FK[i];
    }
    let mut keys = [0; ROUNDS];
    for i in 0..ROUNDS {
        let s = substitute_word(k[1] ^ k[2] ^ k[3] ^ CK[i]);
        keys[i] = k[0] ^ s ^ s.rotate_left(13) ^ s.rotate_left(23);
        k = [k[1], k[2], k[3], keys[i]];
    }
    let encrypt = of_keys(&keys);
    // GB/T 32907-2016 §7.2: decryption is encryption with the round keys reversed.
    keys.reverse();
    let decrypt = of_keys(&keys);
    keys.zeroize();
    k.zeroize();
    Ok(Schedule { encrypt, decrypt })
}

/// The round keys in rows of four.
fn of_keys(keys: &[u32; ROUNDS]) -> Subkeys<Sm4> {
    let mut rows = [[0; 16]; ROWS];
    for (bytes, key) in rows.as_flattened_mut().as_chunks_mut().0.iter_mut().zip(keys) {
        *bytes = key.to_be_bytes();
    }
    let subkeys = Subkeys::new(&rows);
    rows.as_flattened_mut().zeroize();
    subkeys
}
