//! The S-boxes S7 and S9 as the boolean equations of the standard, from which kernels derive
//! their tables when they are compiled.
//!
//! Ref. TS 35.202 §4.5.

/// S7, a cubic permutation of seven bits.
pub(super) const fn s7(x: u16) -> u16 {
    let (x0, x1, x2, x3) = (x & 1, x >> 1 & 1, x >> 2 & 1, x >> 3 & 1);
    let (x4, x5, x6) = (x >> 4 & 1, x >> 5 & 1, x >> 6 & 1);
    let y0 = x4
        ^ x5
        ^ x6
        ^ x1 & x3
        ^ x2 & x5
        ^ x0 & x6
        ^ x1 & x6
        ^ x3 & x6
        ^ x0 & x1 & x4
        ^ x3 & x4 & x5
        ^ x2 & x4 & x6
        ^ x1 & x5 & x6
        ^ x4 & x5 & x6;
    let y1 = x5
        ^ x6
        ^ x0 & x1
        ^ x0 & x4
        ^ x2 & x4
        ^ x3 & x6
        ^ x1 & x2 & x5
        ^ x0 & x3 & x5
        ^ x0 & x2 & x6
        ^ x4 & x5 & x6
        ^ 1;
    let y2 = x0
        ^ x0 & x3
        ^ x2 & x3
        ^ x1 & x5
        ^ x0 & x6
        ^ x2 & x6
        ^ x4 & x6
        ^ x1 & x2 & x4
        ^ x0 & x3 & x4
        ^ x0 & x2 & x5
        ^ x0 & x1 & x6
        ^ 1;
    let y3 = x1
        ^ x1 & x4
        ^ x3 & x4
        ^ x0 & x5
        ^ x2 & x6
        ^ x0 & x1 & x2
        ^ x0 & x1 & x5
        ^ x2 & x3 & x5
        ^ x1 & x4 & x5
        ^ x1 & x3 & x6;
    let y4 = x3
        ^ x0 & x2
        ^ x1 & x3
        ^ x1 & x4
        ^ x0 & x5
        ^ x1 & x6
        ^ x3 & x6
        ^ x5 & x6
        ^ x0 & x1 & x4
        ^ x2 & x3 & x4
        ^ x1 & x3 & x5
        ^ x0 & x4 & x5
        ^ x0 & x3 & x6
        ^ 1;
    let y5 = x2
        ^ x0 & x2
        ^ x0 & x3
        ^ x0 & x5
        ^ x2 & x5
        ^ x4 & x5
        ^ x1 & x6
        ^ x1 & x2 & x3
        ^ x0 & x2 & x4
        ^ x1 & x2 & x6
        ^ x0 & x3 & x6
        ^ x3 & x4 & x6
        ^ x2 & x5 & x6
        ^ 1;
    let y6 = x6
        ^ x1 & x2
        ^ x0 & x4
        ^ x1 & x5
        ^ x3 & x5
        ^ x0 & x1 & x3
        ^ x0 & x1 & x6
        ^ x2 & x3 & x6
        ^ x1 & x4 & x6
        ^ x0 & x5 & x6;
    y0 | y1 << 1 | y2 << 2 | y3 << 3 | y4 << 4 | y5 << 5 | y6 << 6
}

/// S9, a quadratic permutation of nine bits.
pub(super) const fn s9(x: u16) -> u16 {
    let (x0, x1, x2, x3) = (x & 1, x >> 1 & 1, x >> 2 & 1, x >> 3 & 1);
    let (x4, x5, x6, x7, x8) = (x >> 4 & 1, x >> 5 & 1, x >> 6 & 1, x >> 7 & 1, x >> 8 & 1);
    let y0 = x3 ^ x0 & x2 ^ x2 & x5 ^ x5 & x6 ^ x0 & x7 ^ x1 & x7 ^ x2 & x7 ^ x4 & x8 ^ x5 & x8 ^ x7 & x8 ^ 1;
    let y1 =
        x1 ^ x6 ^ x0 & x1 ^ x2 & x3 ^ x0 & x4 ^ x1 & x4 ^ x0 & x5 ^ x3 & x5 ^ x1 & x7 ^ x2 & x7 ^ x5 & x8 ^ 1;
    let y2 = x1
        ^ x8
        ^ x0 & x3
        ^ x3 & x4
        ^ x0 & x5
        ^ x2 & x6
        ^ x3 & x6
        ^ x5 & x6
        ^ x4 & x7
        ^ x5 & x7
        ^ x6 & x7
        ^ x0 & x8
        ^ 1;
    let y3 =
        x0 ^ x5 ^ x1 & x2 ^ x0 & x3 ^ x2 & x4 ^ x0 & x6 ^ x1 & x6 ^ x4 & x7 ^ x0 & x8 ^ x1 & x8 ^ x7 & x8;
    let y4 = x4 ^ x0 & x1 ^ x1 & x3 ^ x0 & x5 ^ x3 & x6 ^ x0 & x7 ^ x6 & x7 ^ x1 & x8 ^ x2 & x8 ^ x3 & x8;
    let y5 = x2
        ^ x1 & x4
        ^ x4 & x5
        ^ x0 & x6
        ^ x1 & x6
        ^ x3 & x7
        ^ x4 & x7
        ^ x6 & x7
        ^ x5 & x8
        ^ x6 & x8
        ^ x7 & x8
        ^ 1;
    let y6 = x0
        ^ x7
        ^ x2 & x3
        ^ x1 & x5
        ^ x2 & x5
        ^ x4 & x5
        ^ x3 & x6
        ^ x4 & x6
        ^ x5 & x6
        ^ x1 & x8
        ^ x3 & x8
        ^ x5 & x8
        ^ x7 & x8;
    let y7 = x3
        ^ x8
        ^ x0 & x1
        ^ x0 & x2
        ^ x1 & x2
        ^ x0 & x3
        ^ x2 & x3
        ^ x4 & x5
        ^ x2 & x6
        ^ x3 & x6
        ^ x2 & x7
        ^ x5 & x7
        ^ 1;
    let y8 =
        x2 ^ x7 ^ x0 & x1 ^ x1 & x2 ^ x3 & x4 ^ x1 & x5 ^ x2 & x5 ^ x1 & x6 ^ x4 & x6 ^ x2 & x8 ^ x3 & x8;
    y0 | y1 << 1 | y2 << 2 | y3 << 3 | y4 << 4 | y5 << 5 | y6 << 6 | y7 << 7 | y8 << 8
}

/// Every value of S7.
pub const S7: [u16; 128] = {
    let mut table = [0; 128];
    let mut x = 0;
    while x < 128 {
        table[x] = s7(x as u16);
        x += 1;
    }
    table
};

/// Every value of S9.
pub const S9: [u16; 512] = {
    let mut table = [0; 512];
    let mut x = 0;
    while x < 512 {
        table[x] = s9(x as u16);
        x += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The corners of the decimal tables in TS 35.202 §4.5.
    #[test]
    fn equations_give_the_tables_of_the_standard() {
        assert_eq!(S7[..8], [54, 50, 62, 56, 22, 34, 94, 96]);
        assert_eq!(S7[120..], [42, 19, 15, 41, 88, 119, 59, 3]);
        assert_eq!(S9[..8], [167, 239, 161, 379, 391, 334, 9, 338]);
        assert_eq!(S9[504..], [8, 237, 15, 376, 436, 464, 59, 461]);
    }

    #[test]
    fn both_are_permutations() {
        let (mut seven, mut nine) = (S7, S9);
        seven.sort_unstable();
        nine.sort_unstable();
        assert!(seven.into_iter().eq(0..128) && nine.into_iter().eq(0..512));
    }
}
