//! The wiring of the rounds when a register has the same S-box's inputs of many blocks.
//!
//! An S-box has four output bits, and P and E take each to one S-box or two: to six in all, and to none of them twice. Each takes
//! six in, so the bits can be numbered from 0 to 5 in such a way that no S-box gives two of one number or takes two of one number.
//! The look-up in an S-box gives a byte that has each bit in the place of its number, and there it stays: the next input of an S-box
//! is put together from six bytes, of which each gives the one bit.
//!
//! This only permutes the six bits of each S-box's input, and the tables and the keys follow.

use super::tables::TRUTH;
use super::wiring::{Order, Tables, enter, feed, leave, standard};

/// `FEEDERS[i][t]` is the S-box, counted from 0, that gives bit `i` of the next index of S-box `t`. Each row has every S-box once.
const FEEDERS: [[usize; 8]; 6] = [
    [5, 7, 4, 6, 1, 3, 2, 0],
    [4, 0, 5, 7, 2, 6, 3, 1],
    [3, 6, 1, 4, 7, 0, 5, 2],
    [7, 5, 6, 1, 0, 2, 4, 3],
    [6, 4, 0, 2, 3, 7, 1, 5],
    [1, 2, 3, 0, 5, 4, 7, 6],
];

/// Returns the output bit that S-box `t` takes in as bit `i`, and its place in the standard's input.
const fn fed(t: usize, i: usize) -> (usize, usize) {
    match feed(FEEDERS[i][t], t) {
        Some(fed) => fed,
        None => panic!("an S-box that does not feed this one"),
    }
}

const ORDER: Order = {
    let mut order = [[0; 6]; 8];
    let mut n = 0;
    while n < 8 * 6 {
        order[n / 6][n % 6] = fed(n / 6, n % 6).1;
        n += 1;
    }
    order
};

/// The S-boxes: for S-box s and its index the byte that it gives.
pub(super) static SUBSTITUTE: Tables = {
    let mut tables = [[0; 64]; 8];
    let mut n = 0;
    while n < 64 * 8 * 6 {
        let (index, t, i) = (n / 48, n / 6 % 8, n % 6);
        let s = FEEDERS[i][t];
        tables[s][index] |= ((TRUTH[s][fed(t, i).0] >> standard(&ORDER, s, index) & 1) as u8) << i;
        n += 1;
    }
    tables
};

/// The index for each input in the standard's order. Bit 6 is set for the second S-box of each of the [`PAIRS`].
pub(super) static ENTER: Tables = {
    let mut tables = enter(&ORDER);
    let mut n = 0;
    while n < 4 * 64 {
        tables[PAIRS[n / 64][1]][n % 64] |= SECOND;
        n += 1;
    }
    tables
};

/// For each index what [`leave`] says.
pub(super) static LEAVE: Tables = leave(&ORDER);

/// The S-boxes of which two share a register. They are paired so that the fewest registers hold what feeds a pair.
pub(super) const PAIRS: [[usize; 2]; 4] = [[0, 1], [2, 3], [4, 6], [5, 7]];

/// The bit of an index that chooses the second of two tables.
pub(super) const SECOND: u8 = 0x40;

/// For each register, and each of eight registers that may feed it, the bits that the latter gives: in the places of the first
/// S-box and in those of the second.
pub(super) type Routes<const P: usize> = [[[u8; 2]; 8]; P];

/// The bits that S-box `s` gives to S-box `t`.
const fn given(s: usize, t: usize) -> u8 {
    let (mut bits, mut i) = (0, 0);
    while i < 6 {
        if FEEDERS[i][t] == s {
            bits |= 1 << i;
        }
        i += 1;
    }
    bits
}

/// The routes between registers of one S-box each.
pub(super) const ONE: Routes<8> = {
    let mut routes = [[[0; 2]; 8]; 8];
    let mut n = 0;
    while n < 64 {
        routes[n / 8][n % 8] = [given(n % 8, n / 8); 2];
        n += 1;
    }
    routes
};

/// The routes between registers of two S-boxes each. The last four that feed are the first four with the S-boxes exchanged.
pub(super) const TWO: Routes<4> = {
    let mut routes = [[[0; 2]; 8]; 4];
    let mut n = 0;
    while n < 4 * 8 * 2 {
        let (to, from, place) = (n / 16, n / 2 % 8, n % 2);
        routes[to][from][place] = given(PAIRS[from % 4][place ^ (from / 4)], PAIRS[to][place]);
        n += 1;
    }
    routes
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_has_one_way() {
        for row in FEEDERS {
            assert_eq!(row.iter().fold(0, |seen, s| seen | 1 << s), 0xff);
        }
        for order in ORDER {
            assert_eq!(order.iter().fold(0, |seen, bit| seen | 1 << bit), 0b111111);
        }
        for feeders in ONE.iter().chain(&TWO) {
            for place in 0..2 {
                let bits = feeders.iter().map(|given| given[place]);
                assert_eq!(bits.clone().fold(0, |sum, bits| sum | bits), 0b111111);
                assert_eq!(bits.map(u8::count_ones).sum::<u32>(), 6);
            }
        }
    }
}
