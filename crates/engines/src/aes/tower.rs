//! The S-box through a tower of fields, as tables of sixteen entries: the lookups of vector permutation.
//!
//! The nibbles `k` and `i` of a byte stand for the element k + i w of GF(2^8), where `k` and `i` are in the subfield
//! GF(2^4), and w is a root of w^2 = a w + a. The norm of an element is D = k^2 + a i k + a i^2, its conjugate
//! k + i (w + a), and its inverse the conjugate divided by the norm. With j = i + k let
//!
//! ```text
//! io = j + 1 / (1/i + a/k)        1/io = (k + a i) / D
//! jo = i + 1 / (1/j + a/k)        1/jo = (k + a j) / D
//! ```
//!
//! Both have the same D, because a i k + a i^2 = a j k + a j^2. So 1/io + 1/jo = a k / D, and the inverse is
//!
//! ```text
//! 1/io + w i/D    where    i/D = (1/io + (1/io + 1/jo) / a) / a
//! ```
//!
//! This is linear in 1/io and 1/jo. The S-box, the factors of MixColumns and a change of basis are linear too, so
//! each of their products is the sum of a lookup by `io` and a lookup by `jo`. The element 1/0 is the entry 0x80.
//! It stays apart from the field when a nibble is added, and a lookup by it gives zero, which is 1/(1/0).
//!
//! Ref. Hamburg, "Accelerating AES with Vector Permute Instructions" (CHES 2009), §3; FIPS 197 §5.1.1.

use crate::blocks::field::{AES_AFFINE, Linear, multiply, power};

use super::Block;

/// Two tables whose entries add up: for the low nibble and the high nibble, or for `io` and `jo`.
pub(super) type Pair = [Block; 2];

/// The entry that stands for 1/0.
const INFINITY: u8 = 0x80;

/// The inverses in GF(2^4).
pub(super) static INVERSE: Block = quotients(1);

/// The parameter `a` divided by each element of GF(2^4).
pub(super) static A_OVER: Block = quotients(TOWER.a);

/// The map from bytes to the rounds' form.
pub(super) static ENTER: Pair = TOWER_FORM.halves();

/// The map from bytes to the form of the inverse cipher's rounds, which begin with the inverse of the affine map.
pub(super) static ENTER_INVERSE: Pair = UNDO_FORM.halves();

/// SubBytes without its constant: times 1 and 2 in the rounds' form, and as bytes.
pub(super) static SUB: Pair = outputs(AES_AFFINE.then(TOWER_FORM));
pub(super) static SUB_TWICE: Pair = outputs(AES_AFFINE.then(Linear::multiplication(2)).then(TOWER_FORM));
pub(super) static SUB_LAST: Pair = outputs(AES_AFFINE);

/// The inversion of InvSubBytes times the factors of InvMixColumns, FIPS 197 §5.3.3, in the form of the inverse cipher's
/// rounds, and as bytes.
pub(super) static UNSUB: [Pair; 4] = [
    outputs(Linear::multiplication(14).then(UNDO_FORM)),
    outputs(Linear::multiplication(11).then(UNDO_FORM)),
    outputs(Linear::multiplication(13).then(UNDO_FORM)),
    outputs(Linear::multiplication(9).then(UNDO_FORM)),
];
pub(super) static UNSUB_LAST: Pair = outputs(Linear::IDENTITY);

/// The factors of InvMixColumns, from the rounds' form to that of the inverse cipher's rounds.
pub(super) static UNMIX: [Pair; 4] = [
    TOWER_FORM.inverse().then(Linear::multiplication(14)).then(UNDO_FORM).halves(),
    TOWER_FORM.inverse().then(Linear::multiplication(11)).then(UNDO_FORM).halves(),
    TOWER_FORM.inverse().then(Linear::multiplication(13)).then(UNDO_FORM).halves(),
    TOWER_FORM.inverse().then(Linear::multiplication(9)).then(UNDO_FORM).halves(),
];

/// ShiftRows, then a step of 0 to 3 rows down each column: FIPS 197 §5.1.2.
pub(super) static SHIFT: [Block; 4] = [shift(0, 1), shift(1, 1), shift(2, 1), shift(3, 1)];

/// InvShiftRows, then a step of 0 to 3 rows down each column: FIPS 197 §5.3.1.
pub(super) static UNSHIFT: [Block; 4] = [shift(0, 3), shift(1, 3), shift(2, 3), shift(3, 3)];

/// A step of 0 to 3 rows down each column.
pub(super) static STEP: [Block; 4] = [shift(0, 0), shift(1, 0), shift(2, 0), shift(3, 0)];

/// GF(2^4) within the AES field, and the element w over it.
struct Tower {
    /// The images of the four bits of a nibble.
    nibble: [u8; 4],
    w: u8,
    /// The parameter, as a nibble.
    a: u8,
}

const TOWER: Tower = {
    // A root of y^4 = y + 1, of order 15, whose powers span the subfield.
    let mut y = 2;
    while power(y, 4) != y ^ 1 {
        y += 1;
    }
    let mut tower = Tower { nibble: [1, y, power(y, 2), power(y, 3)], w: 2, a: 1 };
    // w^2 = a (w + 1) with `a` in the subfield, but w outside of it.
    loop {
        let square = multiply(tower.w, tower.w);
        while tower.a < 16 && square != multiply(tower.element(tower.a), tower.w ^ 1) {
            tower.a += 1;
        }
        if tower.a < 16 && power(tower.w, 16) != tower.w {
            break tower;
        }
        tower.w += 1;
        tower.a = 1;
    }
};

impl Tower {
    /// The element of the AES field that a nibble stands for.
    const fn element(&self, nibble: u8) -> u8 {
        let (mut sum, mut i) = (0, 0);
        while i < 4 {
            sum ^= self.nibble[i] * (nibble >> i & 1);
            i += 1;
        }
        sum
    }

    /// The nibble that stands for an element of the subfield.
    const fn nibble(&self, element: u8) -> u8 {
        let mut nibble = 0;
        while self.element(nibble) != element {
            nibble += 1;
        }
        nibble
    }
}

/// The map from bytes to pairs of nibbles.
const TOWER_FORM: Linear = {
    let mut columns = [0; 8];
    let mut i = 0;
    while i < 4 {
        columns[i] = TOWER.nibble[i];
        columns[i + 4] = multiply(TOWER.nibble[i], TOWER.w);
        i += 1;
    }
    Linear(columns).inverse()
};

/// The inverse of the affine map without its constant, then pairs of nibbles.
const UNDO_FORM: Linear = AES_AFFINE.inverse().then(TOWER_FORM);

/// The inverse in the AES field. The inverse of zero is zero.
const fn invert(x: u8) -> u8 {
    power(x, 254)
}

/// A nibble divided by each of the others.
const fn quotients(dividend: u8) -> Block {
    let mut table = [INFINITY; 16];
    let mut i = 1;
    while i < 16 {
        let quotient = multiply(TOWER.element(dividend), invert(TOWER.element(i)));
        table[i as usize] = TOWER.nibble(quotient);
        i += 1;
    }
    table
}

/// The tables by `io` and `jo` for the inverse of an element, followed by a linear map. Neither index is ever zero.
const fn outputs(map: Linear) -> Pair {
    let over_a = invert(TOWER.element(TOWER.a));
    let mut tables = [[0; 16]; 2];
    let mut i = 1;
    while i < 16 {
        let u = invert(TOWER.element(i));
        // The coefficient of w that 1/jo contributes, and that 1/io does.
        let by_jo = multiply(multiply(u, over_a), over_a);
        let by_io = multiply(u, over_a) ^ by_jo;
        tables[0][i as usize] = map.of(u ^ multiply(by_io, TOWER.w));
        tables[1][i as usize] = map.of(multiply(by_jo, TOWER.w));
        i += 1;
    }
    tables
}

/// Row `r` turns by `columns` times `r`; then each byte comes from `down` rows below.
const fn shift(down: usize, columns: usize) -> Block {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        let row = (i + down) % 4;
        table[i] = (4 * ((i / 4 + columns * row) % 4) + row) as u8;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lookup, as the instructions do it.
    fn at(table: &Block, index: u8) -> u8 {
        if index & INFINITY == 0 { table[usize::from(index & 15)] } else { 0 }
    }

    fn linear(x: u8, map: &Pair) -> u8 {
        map[0][usize::from(x & 15)] ^ map[1][usize::from(x >> 4)]
    }

    /// The inverse of a byte in the rounds' form, followed by a map.
    fn invert_and(x: u8, map: &Pair) -> u8 {
        let (i, k) = (x >> 4, x & 15);
        let (j, a_over_k) = (i ^ k, A_OVER[usize::from(k)]);
        let io = j ^ at(&INVERSE, INVERSE[usize::from(i)] ^ a_over_k);
        let jo = i ^ at(&INVERSE, INVERSE[usize::from(j)] ^ a_over_k);
        at(&map[0], io) ^ at(&map[1], jo)
    }

    #[test]
    fn lookups_compute_the_s_box_and_its_inverse() {
        for x in 0..=255u8 {
            let s = AES_AFFINE.of(invert(x)) ^ 0x63;
            assert_eq!(invert_and(linear(x, &ENTER), &SUB_LAST) ^ 0x63, s);
            assert_eq!(TOWER_FORM.inverse().of(invert_and(linear(x, &ENTER), &SUB)) ^ 0x63, s);
            assert_eq!(invert_and(linear(s ^ 0x63, &ENTER_INVERSE), &UNSUB_LAST), x);
        }
    }
}
