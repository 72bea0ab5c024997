//! The S-boxes as algebra: an affine map, inversion in GF(2^8), and another affine map.
//!
//! Camellia's first S-box is s1(x) = h(g(f(x + 0xc5))) + 0x6e with g the inversion in a field
//! written as GF((2^4)^2). Inversion in the AES field does as well between other affine maps, which
//! are computed here: see [`field`](crate::blocks::field).
//!
//! Ref. RFC 3713 §2.4.1; Aoki et al., "Specification of Camellia", §4.4.3 (f, g, h).

use crate::blocks::field::{FROM_TOWER, Linear, UNDO_AES, power};

/// Camellia's f and h.
pub(super) const F: Linear = Linear::from_rows([0x14, 0x81, 0x48, 0x12, 0x21, 0x29, 0x82, 0x44]);
pub(super) const H: Linear = Linear::from_rows([0x24, 0x88, 0x81, 0x22, 0x41, 0x12, 0x44, 0x4c]);

/// Rotations of a byte to the left, by 1 and by 7.
const ROTATE_1: Linear = Linear::rotation(1);
const ROTATE_7: Linear = Linear::rotation(7);

/// The constants of s1.
pub(super) const IN_CONSTANT: u8 = 0xc5;
pub(super) const OUT_CONSTANT: u8 = 0x6e;

/// Every value of s1. The other S-boxes follow from it: s2(x) = s1(x) rotated left by one, s3(x) = s1(x) rotated right
/// by one and s4(x) = s1(x rotated left by one).
pub const S1: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        table[x] = AFTER.of(power(BEFORE.of(x as u8) ^ BEFORE_CONSTANT, 254)) ^ AFTER_CONSTANT;
        x += 1;
    }
    table
};

/// The maps before the inversion in the AES field: for s1 to s3, and for s4, which rotates first. The constant is added
/// after the map.
pub(super) const BEFORE: Linear = F.then(FROM_TOWER);
pub(super) const BEFORE_4: Linear = ROTATE_1.then(BEFORE);
pub(super) const BEFORE_CONSTANT: u8 = BEFORE.of(IN_CONSTANT);

/// The maps after the inversion: for s1 and s4, for s2, and for s3, each with the constant that is added after it.
pub(super) const AFTER: Linear = FROM_TOWER.inverse().then(H);
pub(super) const AFTER_2: Linear = AFTER.then(ROTATE_1);
pub(super) const AFTER_3: Linear = AFTER.then(ROTATE_7);
pub(super) const AFTER_CONSTANT: u8 = OUT_CONSTANT;
pub(super) const AFTER_2_CONSTANT: u8 = ROTATE_1.of(OUT_CONSTANT);
pub(super) const AFTER_3_CONSTANT: u8 = ROTATE_7.of(OUT_CONSTANT);

/// The maps [`AFTER`], `AFTER_2` and `AFTER_3` for the output of the AES S-box.
pub(super) const AFTER_AES: Linear = UNDO_AES.then(AFTER);
pub(super) const AFTER_AES_2: Linear = UNDO_AES.then(AFTER_2);
pub(super) const AFTER_AES_3: Linear = UNDO_AES.then(AFTER_3);
/// The constants that are added after these maps. They include the images of the AES S-box's own constant.
pub(super) const AFTER_AES_CONSTANT: u8 = AFTER_CONSTANT ^ AFTER_AES.of(0x63);
pub(super) const AFTER_AES_2_CONSTANT: u8 = AFTER_2_CONSTANT ^ AFTER_AES_2.of(0x63);
pub(super) const AFTER_AES_3_CONSTANT: u8 = AFTER_3_CONSTANT ^ AFTER_AES_3.of(0x63);

#[cfg(test)]
mod tests {
    use super::*;

    /// The first row and the last entries of SBOX1 in RFC 3713 §2.4.1.
    #[test]
    fn algebra_gives_the_table_of_the_standard() {
        let row = [112, 130, 44, 236, 179, 39, 192, 229, 228, 133, 87, 53, 234, 12, 174, 65];
        assert_eq!(S1[..16], row);
        assert_eq!(S1[252..], [119, 199, 128, 158]);
    }
}
