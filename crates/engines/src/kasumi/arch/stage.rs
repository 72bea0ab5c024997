//! The halves of FI as look-ups of 128 entries and affine maps.
//!
//! A look-up by seven bits gives all of S7, and S9 as far as it depends on seven of its nine input
//! bits. S9 is quadratic, so the change that the other two bits make is affine in those seven. With
//! `t` the seven bits and `u`, `v` the two,
//!
//! ```text
//! S9(t, u, v) = S9(t, 0, 0) + u·U(t) + v·V(t, u)     U, V affine
//! ```
//!
//! Any two bits may be `u` and `v`, so a 16-bit word is simply its two bytes: the seven low bits of
//! each byte index a table, and the top bits are `u` and `v`. This holds at the input of FI and
//! again in its middle.
//!
//! Ref. TS 35.202 §4.5.

use super::super::sbox::{s7, s9};

/// The tables and maps of one stage of FI (S9 on one half, S7 on the other).
#[repr(C, align(64))]
pub(super) struct Stage {
    /// S9(t, 0, 0), as it enters the low byte.
    pub nine_low: [u8; 128],
    /// S9(t, 0, 0), as it enters the high byte.
    pub nine_high: [u8; 128],
    /// S7(s) + s, as it enters the high byte.
    pub seven_high: [u8; 128],
    /// U for the low byte and for the high byte: GF2P8AFFINEQB matrices. Bit 7 of the input is `u`
    /// and brings the constant.
    pub u: [u64; 2],
    /// V, likewise; bit 7 brings the term in `u·v`.
    pub v: [u64; 2],
    /// The constant of V, for either half.
    pub v_constant: [u64; 2],
}

/// The first stage: S9 takes bits 15 to 7 of the word. The high byte of the result has bit 8 of the
/// nine-bit half above the seven-bit half, and the low byte has the other bits of the nine-bit
/// half.
pub(super) static FIRST: Stage = stage(true);

/// The second stage, which turns that form into the plain word, seven bits above nine.
pub(super) static SECOND: Stage = stage(false);

/// Returns S9 of the bits as a stage finds them. In the first stage `u` is the high byte's top bit
/// and `v` the low byte's; in the second stage they change places.
const fn nine(first: bool, t: u16, u: u16, v: u16) -> u16 {
    if first { s9(u << 8 | t << 1 | v) } else { s9(v << 8 | u << 7 | t) }
}

/// Returns the form in which a nine-bit result enters the high byte: its low seven bits are added
/// to the seven-bit half, and bit 8 goes beside them.
const fn high(first: bool, y: u16) -> u8 {
    if first { ((y >> 8) << 7 | y & 0x7f) as u8 } else { (y >> 8 | (y & 0x7f) << 1) as u8 }
}

pub(super) const fn stage(first: bool) -> Stage {
    let mut s = Stage {
        nine_low: [0; 128],
        nine_high: [0; 128],
        seven_high: [0; 128],
        u: [0; 2],
        v: [0; 2],
        v_constant: [0; 2],
    };
    let mut t = 0;
    while t < 128 {
        s.nine_low[t as usize] = nine(first, t, 0, 0) as u8;
        s.nine_high[t as usize] = high(first, nine(first, t, 0, 0));
        let seven = s7(t) ^ t;
        s.seven_high[t as usize] = if first { seven as u8 } else { (seven << 1) as u8 };
        t += 1;
    }
    let u0 = nine(first, 0, 1, 0) ^ nine(first, 0, 0, 0);
    let v0 = nine(first, 0, 0, 1) ^ nine(first, 0, 0, 0);
    let mut bit = 0;
    while bit < 7 {
        let t = 1 << bit;
        let u = nine(first, t, 1, 0) ^ nine(first, t, 0, 0) ^ u0;
        let v = nine(first, t, 0, 1) ^ nine(first, t, 0, 0) ^ v0;
        s.u[0] |= column(bit, u as u8);
        s.u[1] |= column(bit, high(first, u));
        s.v[0] |= column(bit, v as u8);
        s.v[1] |= column(bit, high(first, v));
        bit += 1;
    }
    let uv = nine(first, 0, 1, 1) ^ nine(first, 0, 0, 0) ^ u0 ^ v0;
    s.u[0] |= column(7, u0 as u8);
    s.u[1] |= column(7, high(first, u0));
    s.v[0] |= column(7, uv as u8);
    s.v[1] |= column(7, high(first, uv));
    // The low byte takes the other half's seven bits with `v` above them; this takes `v` out again.
    s.v_constant = [(v0 as u8 ^ 0x80) as u64 * EVERY_BYTE, high(first, v0) as u64 * EVERY_BYTE];
    s
}

const EVERY_BYTE: u64 = 0x0101_0101_0101_0101;

/// Returns the part of a GF2P8AFFINEQB matrix that maps input bit `bit` to `image`: output bit `i`
/// is the parity of byte `7 - i` of the matrix and the input.
const fn column(bit: u32, image: u8) -> u64 {
    let mut matrix = 0;
    let mut i = 0;
    while i < 8 {
        matrix |= ((image >> i & 1) as u64) << (8 * (7 - i) + bit);
        i += 1;
    }
    matrix
}

/// Returns tables of sixteen, for the low and the high half of a byte, that together equal a
/// GF2P8AFFINEQB matrix and a constant.
const fn halves(matrix: u64, constant: u8) -> [[u8; 16]; 2] {
    let mut tables = [[0; 16]; 2];
    let mut x = 0;
    while x < 16 {
        let mut i = 0;
        while i < 8 {
            let row = (matrix >> (8 * (7 - i))) as u8;
            tables[0][x] |= (((row & x as u8).count_ones() & 1) as u8) << i;
            tables[1][x] |= (((row & (x as u8) << 4).count_ones() & 1) as u8) << i;
            i += 1;
        }
        tables[0][x] ^= constant;
        x += 1;
    }
    tables
}

/// Returns eight tables of sixteen in place of one of 128: the first one, and the difference of
/// each to the one before.
const fn differences(table: [u8; 128]) -> [[u8; 16]; 8] {
    let mut d = [[0; 16]; 8];
    let mut x = 0;
    while x < 128 {
        d[x / 16][x % 16] = if x < 16 { table[x] } else { table[x] ^ table[x - 16] };
        x += 1;
    }
    d
}

/// A [`Stage`] for look-ups of sixteen entries.
pub(super) struct Narrow {
    pub nine_low: [[u8; 16]; 8],
    pub nine_high: [[u8; 16]; 8],
    pub seven_high: [[u8; 16]; 8],
    /// U and V for the low byte and for the high byte.
    pub u: [[[u8; 16]; 2]; 2],
    pub v: [[[u8; 16]; 2]; 2],
}

pub(super) static FIRST_NARROW: Narrow = narrow(stage(true));
pub(super) static SECOND_NARROW: Narrow = narrow(stage(false));

const fn narrow(s: Stage) -> Narrow {
    Narrow {
        nine_low: differences(s.nine_low),
        nine_high: differences(s.nine_high),
        seven_high: differences(s.seven_high),
        u: [halves(s.u[0], 0), halves(s.u[1], 0)],
        v: [halves(s.v[0], s.v_constant[0] as u8), halves(s.v[1], s.v_constant[1] as u8)],
    }
}
