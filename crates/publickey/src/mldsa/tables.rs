//! Powers of 1753, the primitive root, in the order in which vectors of coefficients need them.
//!
//! All are in Montgomery form, times 2^32 modulo q, and lie around zero. Beside each is its product with q^-1 modulo 2^32.
//!
//! Ref. FIPS 204 §7.5 and appendix B.

/// The modulus.
pub(super) const Q: i32 = 8_380_417;

/// 1/q modulo 2^32: each step doubles the number of bits that are right.
pub(super) const Q_INVERSE: i32 = {
    let (mut inverse, mut i) = (1_i32, 0);
    while i < 5 {
        inverse = inverse.wrapping_mul(2_i32.wrapping_sub(Q.wrapping_mul(inverse)));
        i += 1;
    }
    inverse
};

/// 2^32 modulo q.
const R: i64 = (1 << 32) % Q as i64;

/// Constants for the vectors of one quarter of a polynomial in the NTT's layout: one vector for the layer of length 4, two for
/// that of length 2, and four for that of length 1.
pub(super) type Quarter = [Constants; 7];

/// Eight constants, and their products with 1/q.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Constants {
    pub(super) value: [i32; 8],
    pub(super) by_q: [i32; 8],
}

/// A constant, and its product with 1/q.
#[derive(Clone, Copy)]
pub(super) struct Constant {
    pub(super) value: i32,
    pub(super) by_q: i32,
}

/// Returns the number's Montgomery form.
const fn constant(number: i64) -> Constant {
    let mut value = number.rem_euclid(Q as i64) * R % Q as i64;
    if value > Q as i64 / 2 {
        value -= Q as i64;
    }
    let value = value as i32;
    Constant { value, by_q: value.wrapping_mul(Q_INVERSE) }
}

const fn power(base: i64, exponent: usize) -> i64 {
    let (mut result, mut square, mut left) = (1, base, exponent);
    while left > 0 {
        if left & 1 == 1 {
            result = result * square % Q as i64;
        }
        square = square * square % Q as i64;
        left >>= 1;
    }
    result
}

/// 1753 to the power of `k` with its eight bits reversed.
const fn zeta(k: usize) -> i64 {
    power(1753, (k as u8).reverse_bits() as usize)
}

/// The powers, at the standard's m.
pub(super) const ZETAS: [Constant; 256] = {
    let mut zetas = [constant(0); 256];
    let mut k = 0;
    while k < 256 {
        zetas[k] = constant(zeta(k));
        k += 1;
    }
    zetas
};

/// 2^32/256: the inverse transform multiplies by 1/256 at last, and brings back what a product was divided by.
const SCALED: i64 = R * power(256, Q as usize - 2) % Q as i64;

pub(super) const SCALE: Constant = constant(SCALED);

/// The same times the power of the inverse's last layer.
pub(super) const SCALED_ZETA: Constant = constant(SCALED * zeta(1));

/// The forward transform's powers for each quarter.
pub(super) static FORWARD: [Quarter; 4] = quarters(false);

/// The inverse transform's.
pub(super) static INVERSE: [Quarter; 4] = quarters(true);

const fn quarters(inverse: bool) -> [Quarter; 4] {
    [quarter(0, inverse), quarter(1, inverse), quarter(2, inverse), quarter(3, inverse)]
}

/// The coefficient in `lane` of vector `p` belongs to the block `8 * quarter + lane` of eight.
const fn quarter(quarter: usize, inverse: bool) -> Quarter {
    let mut all = [Constants { value: [0; 8], by_q: [0; 8] }; 7];
    let mut at = 0;
    while at < 7 {
        // The layer with 32, 64 or 128 blocks, and the vector's place in it.
        let (blocks, part) = if at == 0 {
            (1, 0)
        } else if at < 3 {
            (2, at - 1)
        } else {
            (4, at - 3)
        };
        let mut lane = 0;
        while lane < 8 {
            let block = blocks * (8 * quarter + lane) + part;
            let first = 32 * blocks;
            let number = ZETAS[if inverse { 2 * first - 1 - block } else { first + block }];
            all[at].value[lane] = number.value;
            all[at].by_q[lane] = number.by_q;
            lane += 1;
        }
        at += 1;
    }
    all
}
