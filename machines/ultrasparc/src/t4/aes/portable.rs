//! AES on any host: the S-boxes as tables, so its time depends on keys and data.
//! Ref. FIPS 197 §5.1 and §5.3.

use crate::t4::aes::rounds::{Halves, Unit, entry, handlers};

handlers!("portable", Portable, []);

/// Sixteen bytes in the order of the block: `4c + r` is that of row `r` and column `c`.
pub struct Portable;

/// Multiplication in GF(2^8), FIPS 197 §4.2.
const fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        product ^= a * (b & 1);
        a = (a << 1) ^ ((a >> 7) * 0x1b);
        b >>= 1;
    }
    product
}

/// SubBytes, §5.1.1, and its inverse.
static BOXES: [[u8; 256]; 2] = {
    let mut boxes = [[0; 256]; 2];
    // 3 generates the field: x runs over all of it but 0, and 1/x runs beside it.
    let (mut x, mut inverse, mut i) = (1u8, 1u8, 0);
    while i < 255 {
        let y = inverse;
        let y = y ^ y.rotate_left(1) ^ y.rotate_left(2) ^ y.rotate_left(3) ^ y.rotate_left(4) ^ 0x63;
        boxes[0][x as usize] = y;
        boxes[1][y as usize] = x;
        x = multiply(x, 3);
        inverse = multiply(inverse, 0xf6);
        i += 1;
    }
    boxes[0][0] = 0x63;
    boxes[1][0x63] = 0;
    boxes
};

/// SubBytes and ShiftRows, or their inverses: row `r` moves by `r` columns.
#[inline(always)]
fn substitute_and_shift<const INVERSE: usize>(state: [u8; 16]) -> [u8; 16] {
    let mut result = [0; 16];
    for at in 0..16 {
        let turns = if INVERSE == 0 { 4 * (at % 4) } else { 16 - 4 * (at % 4) };
        result[at] = BOXES[INVERSE][usize::from(state[(at + turns) % 16])];
    }
    result
}

/// Each byte of a word times x.
#[inline(always)]
fn double(word: u32) -> u32 {
    ((word & 0x7f7f_7f7f) << 1) ^ ((word >> 7 & 0x0101_0101) * 0x1b)
}

/// MixColumns on a column whose row 0 is the most significant byte, §5.1.3.
#[inline(always)]
fn mix(column: u32) -> u32 {
    let sum = column ^ column.rotate_left(8);
    double(sum) ^ column.rotate_left(8) ^ column.rotate_left(16) ^ column.rotate_left(24)
}

/// InvMixColumns, §5.3.3: MixColumns after a map that is a polynomial in x^2.
#[inline(always)]
fn unmix(column: u32) -> u32 {
    let four = double(double(column ^ column.rotate_left(16)));
    mix(column ^ four)
}

#[inline(always)]
fn columns(state: [u8; 16], f: fn(u32) -> u32) -> [u8; 16] {
    let mut result = [0; 16];
    for (to, from) in result.as_chunks_mut().0.iter_mut().zip(state.as_chunks().0) {
        *to = f(u32::from_be_bytes(*from)).to_be_bytes();
    }
    result
}

#[inline(always)]
fn add(a: [u8; 16], b: [u8; 16]) -> [u8; 16] {
    (u128::from_ne_bytes(a) ^ u128::from_ne_bytes(b)).to_ne_bytes()
}

impl Unit for Portable {
    type State = [u8; 16];

    #[inline(always)]
    fn pack([high, low]: Halves) -> [u8; 16] {
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    #[inline(always)]
    fn unpack(state: [u8; 16]) -> Halves {
        let state = u128::from_be_bytes(state);
        [(state >> 64) as u64, state as u64]
    }

    #[inline(always)]
    fn encrypt(state: [u8; 16], key: [u8; 16]) -> [u8; 16] {
        add(columns(substitute_and_shift::<0>(state), mix), key)
    }

    #[inline(always)]
    fn encrypt_last(state: [u8; 16], key: [u8; 16]) -> [u8; 16] {
        add(substitute_and_shift::<0>(state), key)
    }

    #[inline(always)]
    fn decrypt(state: [u8; 16], key: [u8; 16]) -> [u8; 16] {
        columns(Portable::decrypt_last(state, key), unmix)
    }

    #[inline(always)]
    fn decrypt_last(state: [u8; 16], key: [u8; 16]) -> [u8; 16] {
        add(substitute_and_shift::<1>(state), key)
    }

    #[inline(always)]
    fn substitute(word: u32) -> u32 {
        u32::from_be_bytes(word.to_be_bytes().map(|byte| BOXES[0][usize::from(byte)]))
    }
}
