//! S-boxes as algebra: an affine map, inversion in a field of 256 elements, and another affine map.
//!
//! All fields of 256 elements are isomorphic, so inversion in one serves a cipher that is defined in another, between
//! other maps. Processors invert in the AES field; [`bits`](super::bits) inverts in GF((2^4)^2), written so: the low four
//! bits of a byte are the coefficients of 1, α, α², α³ and the high four those of β, αβ, α²β, α³β, where β is a root of
//! x^8+x^6+x^5+x^3+1 and α = β^238. The maps are computed when the crate is compiled.
//!
//! Ref. FIPS 197 §4.2, §5.1.1 and §5.1.2; Aoki et al., "Specification of Camellia", §4.4.3 (GF((2^4)^2)).

/// A linear map of bytes: the images of the eight bits.
#[derive(Clone, Copy)]
pub(crate) struct Linear(pub [u8; 8]);

impl Linear {
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    pub const IDENTITY: Linear = Linear([1, 2, 4, 8, 16, 32, 64, 128]);

    /// Multiplication by `factor` in the AES field.
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    pub const fn multiplication(factor: u8) -> Self {
        let mut columns = [0; 8];
        let mut i = 0;
        while i < 8 {
            columns[i] = multiply(1 << i, factor);
            i += 1;
        }
        Linear(columns)
    }

    /// The map whose output bit `i` is the parity of the input under `rows[i]`.
    pub const fn from_rows(rows: [u8; 8]) -> Self {
        let mut columns = [0; 8];
        let mut i = 0;
        while i < 64 {
            columns[i % 8] |= (rows[i / 8] >> (i % 8) & 1) << (i / 8);
            i += 1;
        }
        Linear(columns)
    }

    /// The rotation of a byte to the left.
    pub const fn rotation(by: u32) -> Self {
        let mut columns = [0; 8];
        let mut i = 0;
        while i < 8 {
            columns[i] = (1_u8 << i).rotate_left(by);
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
    pub const fn inverse(self) -> Self {
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

/// Multiplication in the AES field, FIPS 197 §4.2.
pub(crate) const fn multiply(a: u8, b: u8) -> u8 {
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

/// A power in the AES field. The inverse is the power of 254.
pub(crate) const fn power(a: u8, exponent: u32) -> u8 {
    let (mut result, mut i) = (1, 0);
    while i < exponent {
        result = multiply(result, a);
        i += 1;
    }
    result
}

/// The isomorphism from GF((2^4)^2) to the AES field: β goes to a root of β's polynomial.
pub(crate) const FROM_TOWER: Linear = {
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

/// The linear part of the affine map in the AES S-box, FIPS 197 §5.1.1. Output bit `i` is the parity of bits `i`, `i + 4`,
/// `i + 5`, `i + 6` and `i + 7` of the input.
pub(crate) const AES_AFFINE: Linear = {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        rows[i] = 0xf1_u8.rotate_left(i as u32);
        i += 1;
    }
    Linear::from_rows(rows)
};

/// The constant that the affine map adds.
#[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
pub(crate) const AES_CONSTANT: u8 = 0x63;

/// The inverse of the linear part. Applied after AESENCLAST, and once 0x63 is added, it leaves the inversion alone.
pub(crate) const UNDO_AES: Linear = AES_AFFINE.inverse();

/// An affine map as two tables: one for the low half of a byte, with the constant in it, and one for
/// the high half.
pub(crate) type Map = [[u8; 16]; 2];

/// Makes the tables of a map after which a constant is added.
pub(crate) const fn affine(linear: Linear, constant: u8) -> Map {
    let mut tables = linear.halves();
    let mut i = 0;
    while i < 16 {
        tables[0][i] ^= constant;
        i += 1;
    }
    tables
}

/// The shuffle that takes back ShiftRows, FIPS 197 §5.1.2.
pub(crate) static UNSHIFT: [u8; 16] = {
    let mut shuffle = [0; 16];
    let mut i = 0;
    while i < 16 {
        // Byte `i` is in row `i % 4`, whose columns moved to the left by as many.
        shuffle[i] = ((i + 16 - 4 * (i % 4)) % 16) as u8;
        i += 1;
    }
    shuffle
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_isomorphism_is_one_to_one() {
        for x in 0..=255u8 {
            assert_eq!(FROM_TOWER.of(FROM_TOWER.inverse().of(x)), x);
        }
    }
}
