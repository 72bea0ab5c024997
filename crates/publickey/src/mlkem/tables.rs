//! Powers of 17, the primitive root, in the order in which vectors of coefficients need them.
//!
//! All are in Montgomery form, times 2^16 modulo q, and lie around zero. Beside each is its product with q^-1 modulo 2^16.
//!
//! Ref. FIPS 203 §4.3 and appendix A.

/// The modulus.
pub(super) const Q: i16 = 3329;

/// 1/q modulo 2^16.
const Q_INVERSE: i16 = -3327;

/// 2^16 modulo q.
const R: i64 = 65536 % Q as i64;

/// Constants for the vectors of one half of a polynomial in the NTT's layout: one vector for the layer of length 8 (or 2 when
/// inverted), two for that of length 4, and four.
pub(super) type Half = [Constants; 7];

/// Sixteen constants, and their products with 1/q.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(super) struct Constants {
    pub(super) value: [i16; 16],
    pub(super) by_q: [i16; 16],
}

/// A constant, and its product with 1/q.
#[derive(Clone, Copy)]
pub(super) struct Constant {
    pub(super) value: i16,
    pub(super) by_q: i16,
}

/// The factors of a polynomial's coefficients.
#[repr(C, align(64))]
pub(super) struct Factors {
    pub(super) value: [i16; 256],
    pub(super) by_q: [i16; 256],
}

/// Returns the number's Montgomery form.
const fn constant(number: i64) -> Constant {
    let mut value = (number * R).rem_euclid(Q as i64);
    if value > Q as i64 / 2 {
        value -= Q as i64;
    }
    let value = value as i16;
    Constant { value, by_q: value.wrapping_mul(Q_INVERSE) }
}

const fn power(exponent: usize) -> i64 {
    let (mut result, mut i) = (1, 0);
    while i < exponent {
        result = result * 17 % Q as i64;
        i += 1;
    }
    result
}

/// 17 to the power of `k` with its seven bits reversed.
const fn zeta(k: usize) -> i64 {
    power((k as u8).reverse_bits() as usize >> 1)
}

/// The powers, at the standard's k.
pub(super) const ZETAS: [Constant; 128] = {
    let mut zetas = [constant(0); 128];
    let mut k = 0;
    while k < 128 {
        zetas[k] = constant(zeta(k));
        k += 1;
    }
    zetas
};

/// 1/128, by which the inverse transform multiplies at last.
pub(super) const SCALE: Constant = constant(3303);

/// 1/128 times the power of the inverse's last layer.
pub(super) const SCALED_ZETA: Constant = constant(3303 * zeta(1));

/// 2^16, which turns a product's operand into Montgomery form.
pub(super) const TO_FORM: Constant = constant(R);

/// The forward transform's powers for each half.
pub(super) static FORWARD: [Half; 2] = [half(0, false), half(1, false)];

/// The inverse transform's.
pub(super) static INVERSE: [Half; 2] = [half(0, true), half(1, true)];

/// The pair of coefficients `lane` of vector `p` belongs to the block `16 * (8 * half + lane) + 2 * p`.
const fn half(half: usize, inverse: bool) -> Half {
    let mut all = [Constants { value: [0; 16], by_q: [0; 16] }; 7];
    let mut at = 0;
    while at < 7 {
        // The layer with 16, 32 or 64 blocks, and the vector's place in it.
        let (blocks, part) = if at == 0 {
            (1, 0)
        } else if at < 3 {
            (2, at - 1)
        } else {
            (4, at - 3)
        };
        let mut lane = 0;
        while lane < 8 {
            let block = blocks * (8 * half + lane) + part;
            let first = 16 * blocks;
            let k = if inverse { 2 * first - 1 - block } else { first + block };
            let number = ZETAS[k];
            let mut twice = 0;
            while twice < 2 {
                all[at].value[2 * lane + twice] = number.value;
                all[at].by_q[2 * lane + twice] = number.by_q;
                twice += 1;
            }
            lane += 1;
        }
        at += 1;
    }
    all
}

/// The factors that turn a polynomial into a product's operand (FIPS 203 §4.3.1, algorithm 12): 2^16 for the first coefficient of each pair,
/// 2^16 times gamma for the second.
pub(super) static GAMMAS: Factors = {
    let mut factors = Factors { value: [0; 256], by_q: [0; 256] };
    let mut at = 0;
    while at < 256 {
        let (half, p, lane, second) = (at / 128, at / 16 % 8, at % 16 / 2, at % 2 == 1);
        let mut number = R;
        if second {
            let gamma = zeta(64 + 4 * (8 * half + lane) + p / 2);
            number *= if p % 2 == 0 { gamma } else { -gamma };
        }
        let factor = constant(number);
        factors.value[at] = factor.value;
        factors.by_q[at] = factor.by_q;
        at += 1;
    }
    factors
};
