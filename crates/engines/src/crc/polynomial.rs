//! Arithmetic modulo a CRC's polynomial, for tables, folding constants and combination.
//!
//! Everything is bit-reflected: the coefficient of x^0 is the highest bit, so multiplying by x
//! shifts right.

/// The polynomial 1.
pub(super) const ONE: u32 = 1 << 31;

/// x a mod P.
pub(super) const fn times_x(p: u32, a: u32) -> u32 {
    a >> 1 ^ if a & 1 == 1 { p } else { 0 }
}

/// a b mod P.
pub(super) const fn multiply(p: u32, mut a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    while b != 0 {
        if b & ONE != 0 {
            product ^= a;
        }
        b <<= 1;
        a = times_x(p, a);
    }
    product
}

/// x^n mod P.
pub(super) const fn x_to_the(p: u32, mut n: u64) -> u32 {
    let (mut power, mut result) = (ONE >> 1, ONE);
    while n != 0 {
        if n & 1 == 1 {
            result = multiply(p, result, power);
        }
        power = multiply(p, power, power);
        n >>= 1;
    }
    result
}

/// x^(8 n) mod P, for any n.
pub(super) const fn x_to_the_bytes(p: u32, n: u64) -> u32 {
    // Squaring thrice multiplies the exponent by eight without overflow.
    let mut result = x_to_the(p, n);
    let mut i = 0;
    while i < 3 {
        result = multiply(p, result, result);
        i += 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: u32 = 0xedb8_8320;

    #[test]
    fn powers_add_their_exponents() {
        for (a, b) in [(0, 1), (31, 1), (32, 32), (1000, 24)] {
            assert_eq!(multiply(P, x_to_the(P, a), x_to_the(P, b)), x_to_the(P, a + b));
        }
        assert_eq!(x_to_the(P, 32), P);
        assert_eq!(x_to_the_bytes(P, 5), x_to_the(P, 40));
    }
}
