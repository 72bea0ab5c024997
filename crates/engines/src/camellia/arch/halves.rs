//! The S-boxes as the AES S-box between affine maps. Each map is two tables of sixteen for the halves
//! of a byte, which suits a processor with AES instructions and a byte shuffle.
//!
//! Ref. RFC 3713 §2.4.1; FIPS 197 §5.1.1 and §5.1.2.

use super::super::sbox::*;

/// An affine map as two tables: one for the low half of a byte, with the constant in it, and one for
/// the high half.
pub(super) type Map = [[u8; 16]; 2];

const fn affine(linear: Linear, constant: u8) -> Map {
    let mut tables = linear.halves();
    let mut i = 0;
    while i < 16 {
        tables[0][i] ^= constant;
        i += 1;
    }
    tables
}

pub(super) static IN: Map = affine(BEFORE, BEFORE_CONSTANT);
pub(super) static IN_4: Map = affine(BEFORE_4, BEFORE_CONSTANT);
pub(super) static OUT: Map = affine(AFTER_AES, AFTER_AES_CONSTANT);
pub(super) static OUT_2: Map = affine(AFTER_AES_2, AFTER_AES_2_CONSTANT);
pub(super) static OUT_3: Map = affine(AFTER_AES_3, AFTER_AES_3_CONSTANT);

/// The shuffle that takes back ShiftRows, FIPS 197 §5.1.2.
pub(super) static UNSHIFT: [u8; 16] = {
    let mut shuffle = [0; 16];
    let mut i = 0;
    while i < 16 {
        // Byte `i` is in row `i % 4`, whose columns moved to the left by as many.
        shuffle[i] = ((i + 16 - 4 * (i % 4)) % 16) as u8;
        i += 1;
    }
    shuffle
};
