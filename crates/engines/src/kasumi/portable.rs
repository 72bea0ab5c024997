//! FI by arithmetic on four 16-bit lanes of one word, in constant time.
//!
//! S9 is quadratic and S7 cubic, so both are sums of products of at most three input bits. Lanes 0
//! and 1 hold the nine-bit inputs of two FI, lanes 2 and 3 the seven-bit inputs. An input bit
//! becomes a mask over its lane, and each product of masks selects the output bits whose equation
//! has that product. One pass of 71 selections evaluates four S-boxes.
//!
//! Ref. TS 35.202 §4.5.

use super::Ops;
use super::cipher::{self, Fi, Keystream, Sums};
use super::sbox::{S7, S9};
use super::schedule::{Schedule, expand};
use crate::InOut;

/// The lowest bit of each lane.
const ONES: u64 = 0x0001_0001_0001_0001;

/// The output bits that have each product of input bits in their equation, in all four lanes.
struct Equations {
    constant: u64,
    linear: [u64; 9],
    quadratic: [[u64; 9]; 9],
    cubic: [[[u64; 7]; 7]; 7],
}

const EQUATIONS: Equations = {
    let (s9, s7) = (algebraic_form(S9), algebraic_form(S7));
    let mut e = Equations {
        constant: lanes(s9[0], s7[0]),
        linear: [0; 9],
        quadratic: [[0; 9]; 9],
        cubic: [[[0; 7]; 7]; 7],
    };
    let mut i = 0;
    while i < 9 {
        e.linear[i] = lanes(s9[1 << i], if i < 7 { s7[1 << i] } else { 0 });
        let mut j = 0;
        while j < i {
            let seven = if i < 7 { s7[1 << i | 1 << j] } else { 0 };
            e.quadratic[i][j] = lanes(s9[1 << i | 1 << j], seven);
            let mut k = 0;
            while i < 7 && k < j {
                e.cubic[i][j][k] = lanes(0, s7[1 << i | 1 << j | 1 << k]);
                k += 1;
            }
            j += 1;
        }
        i += 1;
    }
    e
};

const fn lanes(nine: u16, seven: u16) -> u64 {
    (nine as u64 * 0x0001_0001) | (seven as u64 * 0x0001_0001) << 32
}

/// Turns a table of values into the coefficient of each product of inputs (the Möbius transform).
const fn algebraic_form<const N: usize>(mut table: [u16; N]) -> [u16; N] {
    let mut bit = 1;
    while bit < N {
        let mut x = 0;
        while x < N {
            if x & bit != 0 {
                table[x] ^= table[x ^ bit];
            }
            x += 1;
        }
        bit <<= 1;
    }
    table
}

/// Evaluates S9 in lanes 0 and 1, and S7 in lanes 2 and 3.
#[inline(always)]
fn substitute(x: u64) -> u64 {
    let mut mask = [0; 9];
    for i in 0..9 {
        let bit = x >> i & ONES;
        mask[i] = (bit << 16).wrapping_sub(bit);
    }
    let mut y = EQUATIONS.constant;
    for i in 0..9 {
        let mut with_i = EQUATIONS.linear[i];
        for j in 0..i {
            let mut with_j = EQUATIONS.quadratic[i][j];
            if i < 7 {
                for k in 0..j {
                    with_j ^= EQUATIONS.cubic[i][j][k] & mask[k];
                }
            }
            with_i ^= with_j & mask[j];
        }
        y ^= with_i & mask[i];
    }
    y
}

/// The two FI of [`Fi::pair`], each as lanes `n` (nine bits) and `n + 2` (seven bits).
#[derive(Clone, Copy)]
struct Arithmetic;

impl Fi for Arithmetic {
    #[inline(always)]
    fn pair(self, x: [u16; 2], ki: [u16; 2]) -> [u16; 2] {
        let x = x[0] as u64 | (x[1] as u64) << 16;
        let ki = ki[0] as u64 | (ki[1] as u64) << 16;
        let mut nine = x >> 7 & 0x01ff_01ff;
        let mut seven = x & 0x007f_007f;
        (nine, seven) = stage(nine, seven);
        nine ^= ki & 0x01ff_01ff;
        seven ^= ki >> 9 & 0x007f_007f;
        (nine, seven) = stage(nine, seven);
        let y = seven << 9 | nine;
        [y as u16, (y >> 16) as u16]
    }
}

/// S9 and S7 side by side, each then added to the other half.
#[inline(always)]
fn stage(nine: u64, seven: u64) -> (u64, u64) {
    let y = substitute(nine | seven << 32);
    let nine = y & 0x01ff_01ff ^ seven;
    (nine, y >> 32 ^ nine & 0x007f_007f)
}

fn block(schedule: &Schedule, x: u64) -> u64 {
    cipher::Cipher::block(Arithmetic, schedule, x)
}

/// Returns the block that is enciphered to `x`.
pub(super) fn inverse_block(schedule: &Schedule, x: u64) -> u64 {
    cipher::inverse_block(Arithmetic, schedule, x)
}

fn f8(schedule: &Schedule, stream: Keystream, data: InOut<'_>) {
    cipher::f8(Arithmetic, schedule, stream, data);
}

fn f9(schedule: &Schedule, sums: Sums, blocks: &[u8]) -> Sums {
    cipher::f9(Arithmetic, schedule, sums, blocks)
}

pub(super) const OPS: Ops = Ops { expand, block, f8, f9 };
