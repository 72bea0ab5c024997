//! The S-box as algebra: s(x) = A(I(A(x) + 0xd3)) + 0xd3, where A is a linear map and I the inversion in the field of
//! polynomials modulo x^8+x^7+x^6+x^5+x^4+x^2+1.
//!
//! The inversion is done in other fields, between the maps that are computed here: see [`field`](crate::blocks::field).
//!
//! Ref. GB/T 32907-2016 §6.2 (the table); Liu et al., "Analysis of the SMS4 Block Cipher" (ACISP 2007), §2 (the algebra).

use crate::blocks::field::{FROM_TOWER, Linear, power};

/// A, whose output bit `i` is the parity of the input under 0xa7 rotated by `i`.
const A: Linear = {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        rows[i] = 0xa7_u8.rotate_left(i as u32);
        i += 1;
    }
    Linear::from_rows(rows)
};

/// The constant that is added before the inversion and at the end.
const CONSTANT: u8 = 0xd3;

/// The isomorphism from SM4's field to the AES field: x goes to a root of the polynomial.
const FROM_SM4: Linear = {
    let mut root = 2;
    while power(root, 8) ^ power(root, 7) ^ power(root, 6) ^ power(root, 5) ^ power(root, 4) ^ power(root, 2)
        != 1
    {
        root += 1;
    }
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 8 {
        columns[i] = power(root, i as u32);
        i += 1;
    }
    Linear(columns)
};

/// The map before the inversion in the AES field, and the constant that is added after the map.
pub(super) const BEFORE: Linear = A.then(FROM_SM4);
pub(super) const BEFORE_CONSTANT: u8 = FROM_SM4.of(CONSTANT);

/// The map after the inversion in the AES field, after which [`CONSTANT`] is added.
const AFTER: Linear = FROM_SM4.inverse().then(A);

/// Every value of the S-box.
pub const S_BOX: [u8; 256] = {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        table[x] = AFTER.of(power(BEFORE.of(x as u8) ^ BEFORE_CONSTANT, 254)) ^ CONSTANT;
        x += 1;
    }
    table
};

/// The same maps around the inversion in GF((2^4)^2), and their constants.
pub(super) const BEFORE_TOWER: Linear = BEFORE.then(FROM_TOWER.inverse());
pub(super) const BEFORE_TOWER_CONSTANT: u8 = FROM_TOWER.inverse().of(BEFORE_CONSTANT);
pub(super) const AFTER_TOWER: Linear = FROM_TOWER.then(AFTER);
pub(super) const AFTER_TOWER_CONSTANT: u8 = CONSTANT;

/// The parts of L(B) = B + (B <<< 2) + (B <<< 10) + (B <<< 18) + (B <<< 24) within a byte. The byte `i` of L(B), with
/// `i` counted from the most significant and modulo 4, is the sum of P(`b[i]`), P(`b[i + 3]`) and Q of the three bytes
/// other than `b[i]`, where P(b) = b + (b << 2) and Q(b) = b <<< 2.
const P: Linear = Linear([0x05, 0x0a, 0x14, 0x28, 0x50, 0xa0, 0x40, 0x80]);
const Q: Linear = Linear::rotation(2);

/// The map [`AFTER`], then P or Q, with the constants that are added at the end.
pub(super) const AFTER_P: Linear = AFTER.then(P);
pub(super) const AFTER_Q: Linear = AFTER.then(Q);
pub(super) const AFTER_P_CONSTANT: u8 = P.of(CONSTANT);
pub(super) const AFTER_Q_CONSTANT: u8 = Q.of(CONSTANT);

#[cfg(test)]
mod tests {
    use super::*;

    /// The first and the last row of the table in GB/T 32907-2016 §6.2.
    #[test]
    fn algebra_gives_the_table_of_the_standard() {
        let first =
            [0xd6, 0x90, 0xe9, 0xfe, 0xcc, 0xe1, 0x3d, 0xb7, 0x16, 0xb6, 0x14, 0xc2, 0x28, 0xfb, 0x2c, 0x05];
        let last =
            [0x18, 0xf0, 0x7d, 0xec, 0x3a, 0xdc, 0x4d, 0x20, 0x79, 0xee, 0x5f, 0x3e, 0xd7, 0xcb, 0x39, 0x48];
        assert_eq!(S_BOX[..16], first);
        assert_eq!(S_BOX[240..], last);
    }
}
