//! The AES key schedule, in the byte order that every hardware kernel loads as it is.
//!
//! Ref. FIPS 197 §5.2 (key expansion) and §5.3.5 (the equivalent inverse cipher's round keys).

use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::Error;

/// One block, or one round key.
pub type Block = [u8; 16];

/// Expanded keys, for encryption and (once a mode has asked for them) for decryption.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
#[repr(C, align(64))]
pub struct Schedule {
    pub(crate) encrypt: [Block; 15],
    /// Round keys of the equivalent inverse cipher, in the order of use.
    pub(crate) decrypt: [Block; 15],
    /// 10, 12 or 14.
    pub(crate) rounds: usize,
}

impl Schedule {
    /// A schedule of the right number of rounds with no round keys yet.
    ///
    /// # Errors
    /// [`Error::KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub(crate) fn blank(algorithm: &'static str, key: &[u8]) -> Result<Self, Error> {
        let rounds = match key.len() {
            16 => 10,
            24 => 12,
            32 => 14,
            given => return Err(Error::KeyLength { algorithm, given, takes: "16, 24 or 32 bytes" }),
        };
        Ok(Schedule { encrypt: [[0; 16]; 15], decrypt: [[0; 16]; 15], rounds })
    }

    /// Round keys for encryption, `rounds + 1` of them in use.
    pub(crate) fn round_keys(&self) -> &[Block] {
        &self.encrypt[..self.rounds + 1]
    }
}

/// Expands `key` into `schedule.encrypt` with arithmetic alone, in constant time.
pub(crate) fn expand_portable(schedule: &mut Schedule, key: &[u8]) {
    let words = key.len() / 4;
    let mut w = [[0u8; 4]; 60];
    for (i, word) in key.chunks_exact(4).enumerate() {
        w[i].copy_from_slice(word);
    }
    let mut rcon = 1u8;
    for i in words..4 * (schedule.rounds + 1) {
        let mut t = w[i - 1];
        if i % words == 0 {
            t.rotate_left(1);
            t = t.map(sub_byte);
            t[0] ^= rcon;
            rcon = double(rcon);
        } else if words > 6 && i % words == 4 {
            t = t.map(sub_byte);
        }
        for j in 0..4 {
            w[i][j] = w[i - words][j] ^ t[j];
        }
    }
    for (round, block) in schedule.encrypt.iter_mut().enumerate() {
        for j in 0..16 {
            block[j] = w[4 * round + j / 4][j % 4];
        }
    }
    w.zeroize();
}

/// Multiplication by x in GF(2^8), FIPS 197 §4.2.1.
fn double(a: u8) -> u8 {
    a << 1 ^ (a >> 7) * 0x1b
}

/// The S-box as arithmetic, FIPS 197 §5.1.1: the inverse a^254, then the affine map.
fn sub_byte(a: u8) -> u8 {
    let mut inverse = 1u8;
    // 254 = 0b11111110, by square and multiply.
    for _ in 0..7 {
        inverse = multiply(inverse, inverse);
        inverse = multiply(inverse, a);
    }
    inverse = multiply(inverse, inverse);
    let b = inverse;
    b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4) ^ 0x63
}

fn multiply(a: u8, b: u8) -> u8 {
    let (mut power, mut product) = (a, 0u8);
    for i in 0..8 {
        product ^= power & 0u8.wrapping_sub(b >> i & 1);
        power = double(power);
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_testkit::hex_array;

    /// FIPS 197 appendix A: the last round key of each example.
    #[test]
    fn expands_the_examples_of_the_standard() {
        for (key, last) in [
            ("2b7e151628aed2a6abf7158809cf4f3c", "d014f9a8c9ee2589e13f0cc8b6630ca6"),
            ("8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b", "e98ba06f448c773c8ecc720401002202"),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "fe4890d1e6188d0b046df344706c631e",
            ),
        ] {
            let key = millstream_testkit::hex(key);
            let mut schedule = Schedule::blank("aes", &key).unwrap();
            expand_portable(&mut schedule, &key);
            assert_eq!(*schedule.round_keys().last().unwrap(), hex_array(last));
        }
    }
}
