//! The tables of the standard, and the tables that are derived from them at compile time.
//!
//! Ref. FIPS 46-3, "Enciphering" (IP, E), appendix 1 (P, S1 to S8, PC-1, PC-2). Bits are numbered
//! from 1 at the left, as there.

/// The initial permutation IP: bit `i + 1` of the result is bit `IP[i]` of the block.
pub const IP: [u8; 64] = [
    58, 50, 42, 34, 26, 18, 10, 2, 60, 52, 44, 36, 28, 20, 12, 4, //
    62, 54, 46, 38, 30, 22, 14, 6, 64, 56, 48, 40, 32, 24, 16, 8, //
    57, 49, 41, 33, 25, 17, 9, 1, 59, 51, 43, 35, 27, 19, 11, 3, //
    61, 53, 45, 37, 29, 21, 13, 5, 63, 55, 47, 39, 31, 23, 15, 7,
];

/// The permutation P, in the same form.
pub const P: [u8; 32] = [
    16, 7, 20, 21, 29, 12, 28, 17, 1, 15, 23, 26, 5, 18, 31, 10, //
    2, 8, 24, 14, 32, 27, 3, 9, 19, 13, 30, 6, 22, 11, 4, 25,
];

/// Permuted choice 1: the 28 bits of C, then those of D.
pub const PC1: [u8; 56] = [
    57, 49, 41, 33, 25, 17, 9, 1, 58, 50, 42, 34, 26, 18, //
    10, 2, 59, 51, 43, 35, 27, 19, 11, 3, 60, 52, 44, 36, //
    63, 55, 47, 39, 31, 23, 15, 7, 62, 54, 46, 38, 30, 22, //
    14, 6, 61, 53, 45, 37, 29, 21, 13, 5, 28, 20, 12, 4,
];

/// Permuted choice 2.
pub const PC2: [u8; 48] = [
    14, 17, 11, 24, 1, 5, 3, 28, 15, 6, 21, 10, 23, 19, 12, 4, 26, 8, 16, 7, 27, 20, 13, 2, //
    41, 52, 31, 37, 47, 55, 30, 40, 51, 45, 33, 48, 44, 49, 39, 56, 34, 53, 46, 42, 50, 36, 29, 32,
];

/// The total rotation of C and D before each round's choice.
pub(super) const ROTATION: [u8; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 15, 17, 19, 21, 23, 25, 27, 28];

/// The S-boxes, row after row; bits 1 and 6 of the input choose the row, 2 to 5 the column.
#[rustfmt::skip]
pub const S: [[u8; 64]; 8] = [
    [
        14, 4, 13, 1, 2, 15, 11, 8, 3, 10, 6, 12, 5, 9, 0, 7,
        0, 15, 7, 4, 14, 2, 13, 1, 10, 6, 12, 11, 9, 5, 3, 8,
        4, 1, 14, 8, 13, 6, 2, 11, 15, 12, 9, 7, 3, 10, 5, 0,
        15, 12, 8, 2, 4, 9, 1, 7, 5, 11, 3, 14, 10, 0, 6, 13,
    ],
    [
        15, 1, 8, 14, 6, 11, 3, 4, 9, 7, 2, 13, 12, 0, 5, 10,
        3, 13, 4, 7, 15, 2, 8, 14, 12, 0, 1, 10, 6, 9, 11, 5,
        0, 14, 7, 11, 10, 4, 13, 1, 5, 8, 12, 6, 9, 3, 2, 15,
        13, 8, 10, 1, 3, 15, 4, 2, 11, 6, 7, 12, 0, 5, 14, 9,
    ],
    [
        10, 0, 9, 14, 6, 3, 15, 5, 1, 13, 12, 7, 11, 4, 2, 8,
        13, 7, 0, 9, 3, 4, 6, 10, 2, 8, 5, 14, 12, 11, 15, 1,
        13, 6, 4, 9, 8, 15, 3, 0, 11, 1, 2, 12, 5, 10, 14, 7,
        1, 10, 13, 0, 6, 9, 8, 7, 4, 15, 14, 3, 11, 5, 2, 12,
    ],
    [
        7, 13, 14, 3, 0, 6, 9, 10, 1, 2, 8, 5, 11, 12, 4, 15,
        13, 8, 11, 5, 6, 15, 0, 3, 4, 7, 2, 12, 1, 10, 14, 9,
        10, 6, 9, 0, 12, 11, 7, 13, 15, 1, 3, 14, 5, 2, 8, 4,
        3, 15, 0, 6, 10, 1, 13, 8, 9, 4, 5, 11, 12, 7, 2, 14,
    ],
    [
        2, 12, 4, 1, 7, 10, 11, 6, 8, 5, 3, 15, 13, 0, 14, 9,
        14, 11, 2, 12, 4, 7, 13, 1, 5, 0, 15, 10, 3, 9, 8, 6,
        4, 2, 1, 11, 10, 13, 7, 8, 15, 9, 12, 5, 6, 3, 0, 14,
        11, 8, 12, 7, 1, 14, 2, 13, 6, 15, 0, 9, 10, 4, 5, 3,
    ],
    [
        12, 1, 10, 15, 9, 2, 6, 8, 0, 13, 3, 4, 14, 7, 5, 11,
        10, 15, 4, 2, 7, 12, 9, 5, 6, 1, 13, 14, 0, 11, 3, 8,
        9, 14, 15, 5, 2, 8, 12, 3, 7, 0, 4, 10, 1, 13, 11, 6,
        4, 3, 2, 12, 9, 5, 15, 10, 11, 14, 1, 7, 6, 0, 8, 13,
    ],
    [
        4, 11, 2, 14, 15, 0, 8, 13, 3, 12, 9, 7, 5, 10, 6, 1,
        13, 0, 11, 7, 4, 9, 1, 10, 14, 3, 5, 12, 2, 15, 8, 6,
        1, 4, 11, 13, 12, 3, 7, 14, 10, 15, 6, 8, 0, 5, 9, 2,
        6, 11, 13, 8, 1, 4, 10, 7, 9, 5, 0, 15, 14, 2, 3, 12,
    ],
    [
        13, 2, 8, 4, 6, 15, 11, 1, 10, 9, 3, 14, 5, 0, 12, 7,
        1, 15, 13, 8, 10, 3, 7, 4, 12, 5, 6, 11, 0, 14, 9, 2,
        7, 11, 4, 1, 9, 12, 14, 2, 0, 6, 10, 13, 15, 3, 5, 8,
        2, 1, 14, 7, 4, 10, 8, 13, 15, 12, 9, 0, 3, 5, 6, 11,
    ],
];

/// `TRUTH[s][q]` is output bit `q + 1` of S-box `s + 1` as a word. Bit `x` of the word is its value
/// for the input `x`, read as a six-bit number with bit 1 of the input at the top.
pub(super) const TRUTH: [[u64; 4]; 8] = {
    let mut truth = [[0; 4]; 8];
    let mut i = 0;
    while i < 8 * 4 * 64 {
        let (s, q, x) = (i / 256, i / 64 % 4, i % 64);
        let (row, column) = (x >> 4 & 2 | x & 1, x >> 1 & 15);
        truth[s][q] |= (S[s][16 * row + column] as u64 >> (3 - q) & 1) << x;
        i += 1;
    }
    truth
};

/// `PLACE[s][q]` is the place to which P moves that output bit, as the bit's exponent in a 32-bit
/// half block.
pub(super) const PLACE: [[u32; 4]; 8] = {
    let mut place = [[0; 4]; 8];
    let mut i = 0;
    while i < 32 {
        let from = P[i] as usize - 1;
        place[from / 4][from % 4] = 31 - i as u32;
        i += 1;
    }
    place
};

/// The right rotation of the right half that makes the input of S-box `s + 1` its six low bits.
/// (The table E takes bits 4s to 4s + 5, with bit 32 before bit 1 and bit 1 after bit 32.)
pub(super) const EXPANSION: [u32; 8] = [27, 23, 19, 15, 11, 7, 3, 31];

/// `CHOICE[r][j]` is the bit of the key, counted from 0 at the left, that is bit `j + 1` of round
/// `r + 1`'s key.
const CHOICE: [[u8; 48]; 16] = {
    let mut choice = [[0; 48]; 16];
    let mut i = 0;
    while i < 16 * 48 {
        let (r, j) = (i / 48, i % 48);
        let at = PC2[j] as usize - 1;
        let rotated = at / 28 * 28 + (at % 28 + ROTATION[r] as usize) % 28;
        choice[r][j] = PC1[rotated] - 1;
        i += 1;
    }
    choice
};

/// `SPREAD[b][r]` has the places of the key's bit `b` in round `r + 1`'s key, as eight bytes of six
/// bits each, the first S-box's in the first byte of memory.
pub(super) static SPREAD: [[u64; 16]; 64] = {
    let mut spread = [[0; 16]; 64];
    let mut i = 0;
    while i < 16 * 48 {
        let (r, j) = (i / 48, i % 48);
        let mut bytes = [0; 8];
        bytes[j / 6] = 0x20 >> (j % 6);
        spread[CHOICE[r][j] as usize][r] |= u64::from_ne_bytes(bytes);
        i += 1;
    }
    spread
};
