//! The S-boxes as algebra: an affine map, inversion in GF(2^8), and another affine map.
//!
//! Camellia's first S-box is s1(x) = h(g(f(x + 0xc5))) + 0x6e with g the inversion in a field
//! written as GF((2^4)^2): the low four bits of a byte are the coefficients of 1, α, α², α³ and the
//! high four those of β, αβ, α²β, α³β, where β is a root of x^8+x^6+x^5+x^3+1 and α = β^238. All
//! fields of 256 elements are isomorphic, so inversion in the AES field does as well between other
//! affine maps; they are computed here, when the crate is compiled.
//!
//! Ref. RFC 3713 §2.4.1; Aoki et al., "Specification of Camellia", §4.4.3 (f, g, h).

/// A linear map of bytes: the images of the eight bits.
#[derive(Clone, Copy)]
pub(super) struct Linear([u8; 8]);

impl Linear {
    /// The map whose output bit `i` is the parity of the input under `rows[i]`.
    const fn from_rows(rows: [u8; 8]) -> Self {
        let mut columns = [0; 8];
        let mut i = 0;
        while i < 64 {
            columns[i % 8] |= (rows[i / 8] >> (i % 8) & 1) << (i / 8);
            i += 1;
        }
        Linear(columns)
    }

    /// The image of a byte.
    pub const fn of(self, x: u8) -> u8 {
        let mut y = 0;
        let mut i = 0;
        while i < 8 {
            if x >> i & 1 == 1 {
                y ^= self.0[i];
            }
            i += 1;
        }
        y
    }

    /// First `self`, then `next`.
    pub const fn then(self, next: Linear) -> Self {
        let mut columns = [0; 8];
        let mut i = 0;
        while i < 8 {
            columns[i] = next.of(self.0[i]);
            i += 1;
        }
        Linear(columns)
    }

    /// The inverse of a one-to-one map, by search.
    const fn inverse(self) -> Self {
        let mut columns = [0; 8];
        let mut x = 0;
        while x < 256 {
            let y = self.of(x as u8);
            if y.is_power_of_two() {
                columns[y.trailing_zeros() as usize] = x as u8;
            }
            x += 1;
        }
        Linear(columns)
    }

    /// Returns the map as a GF2P8AFFINEQB matrix: output bit `i` is the parity of byte `7 - i` and the input.
    #[cfg(target_arch = "x86_64")]
    pub const fn matrix(self) -> u64 {
        let mut matrix = 0;
        let mut i = 0;
        while i < 64 {
            matrix |= ((self.0[i % 8] >> (i / 8) & 1) as u64) << (8 * (7 - i / 8) + i % 8);
            i += 1;
        }
        matrix
    }

    /// Returns the map as two tables of sixteen, for the low and the high half of a byte.
    pub const fn halves(self) -> [[u8; 16]; 2] {
        let mut tables = [[0; 16]; 2];
        let mut x = 0;
        while x < 16 {
            tables[0][x] = self.of(x as u8);
            tables[1][x] = self.of((x as u8) << 4);
            x += 1;
        }
        tables
    }
}

/// Camellia's f and h, the rows for output bits 0 to 7.
pub(super) const F_ROWS: [u8; 8] = [0x14, 0x81, 0x48, 0x12, 0x21, 0x29, 0x82, 0x44];
pub(super) const H_ROWS: [u8; 8] = [0x24, 0x88, 0x81, 0x22, 0x41, 0x12, 0x44, 0x4c];

/// Rotations of a byte to the left, by 1 and by 7.
const ROTATE_1: Linear = Linear([2, 4, 8, 16, 32, 64, 128, 1]);
const ROTATE_7: Linear = Linear([128, 1, 2, 4, 8, 16, 32, 64]);

/// Multiplication in the AES field, FIPS 197 §4.2.
const fn multiply(a: u8, b: u8) -> u8 {
    let (mut power, mut product, mut i) = (a, 0, 0);
    while i < 8 {
        product ^= power * ((b >> i) & 1);
        power = (power << 1) ^ (AES * (power >> 7));
        i += 1;
    }
    product
}

/// The AES polynomial x^8+x^4+x^3+x+1, less x^8.
const AES: u8 = 0x1b;

const fn power(a: u8, exponent: u32) -> u8 {
    let (mut result, mut i) = (1, 0);
    while i < exponent {
        result = multiply(result, a);
        i += 1;
    }
    result
}

/// The isomorphism from Camellia's representation of the field to that of AES: β goes to a root of β's polynomial.
const ISOMORPHISM: Linear = {
    let mut beta = 2;
    while power(beta, 8) ^ power(beta, 6) ^ power(beta, 5) ^ power(beta, 3) ^ 1 != 0 {
        beta += 1;
    }
    let alpha = power(beta, 238);
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 4 {
        columns[i] = power(alpha, i as u32);
        columns[i + 4] = multiply(columns[i], beta);
        i += 1;
    }
    Linear(columns)
};

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
pub(super) const BEFORE: Linear = Linear::from_rows(F_ROWS).then(ISOMORPHISM);
pub(super) const BEFORE_4: Linear = ROTATE_1.then(BEFORE);
pub(super) const BEFORE_CONSTANT: u8 = BEFORE.of(IN_CONSTANT);

/// The maps after the inversion: for s1 and s4, for s2, and for s3, each with the constant that is added after it.
pub(super) const AFTER: Linear = ISOMORPHISM.inverse().then(Linear::from_rows(H_ROWS));
pub(super) const AFTER_2: Linear = AFTER.then(ROTATE_1);
pub(super) const AFTER_3: Linear = AFTER.then(ROTATE_7);
pub(super) const AFTER_CONSTANT: u8 = OUT_CONSTANT;
pub(super) const AFTER_2_CONSTANT: u8 = ROTATE_1.of(OUT_CONSTANT);
pub(super) const AFTER_3_CONSTANT: u8 = ROTATE_7.of(OUT_CONSTANT);

/// The inverse of the affine map in the AES S-box (FIPS 197 §5.1.1). Applied after AESENCLAST, and once 0x63 is added,
/// it leaves the inversion alone.
const UNDO_AES: Linear = {
    // Output bit i of the AES map is the parity of bits i, i+4, i+5, i+6, i+7 of the input.
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        rows[i] = 0xf1_u8.rotate_left(i as u32);
        i += 1;
    }
    Linear::from_rows(rows).inverse()
};

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

    #[test]
    fn the_isomorphism_is_one_to_one() {
        for x in 0..=255u8 {
            assert_eq!(ISOMORPHISM.of(ISOMORPHISM.inverse().of(x)), x);
        }
    }
}
