//! The wiring of the rounds when an S-box is one byte: from each output bit of the S-boxes through
//! P and E to the inputs that it becomes part of.
//!
//! An S-box has four output bits, and P and E take each to one S-box or two: to six in all, and to
//! none of them twice. So the look-up in S-box s gives a byte that has in place t the bit for S-box
//! t. The eight bytes are a matrix of 8 by 8 bits, and byte t of its transpose is the input of
//! S-box t: the transposing instruction takes bit i of it from the byte `7 - i`. Two of its eight
//! bits are empty, because no S-box feeds itself and one other. An index has room for six, so the
//! bits that S1 and S2 give, which would be bits 7 and 6, are copied into the empty ones before.
//!
//! All this only permutes the six bits of each S-box's input, and the tables and the keys follow. [`super::planes`] wires them in
//! another way.

use super::tables::{EXPANSION, PLACE, TRUTH};

/// The key of one round: each byte of memory has the six bits of one S-box, beginning with S1.
pub(super) type Groups = u64;

/// Returns the output bit of S-box `s + 1` that S-box `t + 1` takes in, and its place in that
/// input, read as a number.
pub(super) const fn feed(s: usize, t: usize) -> Option<(usize, usize)> {
    let mut i = 0;
    while i < 4 * 6 {
        let (q, bit) = (i / 6, i % 6);
        if PLACE[s][q] == (EXPANSION[t] + bit as u32) % 32 {
            return Some((q, bit));
        }
        i += 1;
    }
    None
}

/// An order of the inputs' bits: `[t][i]` is the bit of S-box `t + 1`'s input, as the standard numbers them, that is bit `i` of its
/// index.
pub(super) type Order = [[usize; 6]; 8];

const ORDER: Order = {
    let mut order = [[0; 6]; 8];
    let mut t = 0;
    while t < 8 {
        let mut i = 0;
        while i < 6 {
            let from = match copied(7 - i, t) {
                Some(s) => feed(s, t),
                None => feed(7 - i, t),
            };
            order[t][i] = match from {
                Some((_, bit)) => bit,
                None => panic!("six S-boxes feed each"),
            };
            i += 1;
        }
        t += 1;
    }
    order
};

/// Returns the S-box, S1 (0) or S2 (1), whose bit for S-box `t + 1` is copied into byte `s` of the
/// matrix, if one is. The first empty byte takes the bit of the first S-box that feeds `t`.
const fn copied(s: usize, t: usize) -> Option<usize> {
    if s < 2 || feed(s, t).is_some() {
        return None;
    }
    let mut from = 0;
    let mut before = 2;
    loop {
        while feed(from, t).is_none() {
            from += 1;
        }
        while feed(before, t).is_some() {
            before += 1;
        }
        if before == s {
            return Some(from);
        }
        from += 1;
        before += 1;
    }
}

/// `COPIES[m]`: the bits of the matrix that are copied from byte `m`.
pub(super) const COPIES: [[u8; 8]; 2] = {
    let mut copies = [[0; 8]; 2];
    let mut i = 0;
    while i < 64 {
        let (s, t) = (i / 8, i % 8);
        if let Some(from) = copied(s, t) {
            copies[from][s] |= 1 << t;
        }
        i += 1;
    }
    copies
};

/// Turns an index of S-box `t + 1` into the input in the standard's order.
pub(super) const fn standard(order: &Order, t: usize, index: usize) -> usize {
    let mut x = 0;
    let mut i = 0;
    while i < 6 {
        x |= (index >> i & 1) << order[t][i];
        i += 1;
    }
    x
}

/// A table for each S-box.
pub(super) type Tables = [[u8; 64]; 8];

/// The S-boxes: for S-box s and its index, byte s of the matrix.
pub(super) const SUBSTITUTE: Tables = {
    let mut tables = [[0; 64]; 8];
    let mut i = 0;
    while i < 8 * 64 * 8 {
        let (s, index, t) = (i / 512, i / 8 % 64, i % 8);
        if let Some((q, _)) = feed(s, t) {
            tables[s][index] |= ((TRUTH[s][q] >> standard(&ORDER, s, index) & 1) as u8) << t;
        }
        i += 1;
    }
    tables
};

/// The index for each input in the standard's order.
pub(super) const ENTER: Tables = enter(&ORDER);

/// Returns the index for each input in the standard's order.
pub(super) const fn enter(order: &Order) -> Tables {
    let mut tables = [[0; 64]; 8];
    let mut i = 0;
    while i < 8 * 64 {
        tables[i / 64][standard(order, i / 64, i % 64)] = (i % 64) as u8;
        i += 1;
    }
    tables
}

/// For each index what [`leave`] says.
pub(super) const LEAVE: Tables = leave(&ORDER);

/// Returns for each index the four bits of the half block in the middle of the S-box's input. For odd
/// S-boxes they are the upper half of a byte.
pub(super) const fn leave(order: &Order) -> Tables {
    let mut tables = [[0; 64]; 8];
    let mut i = 0;
    while i < 8 * 64 {
        let (s, index) = (i / 64, i % 64);
        let shift = if s % 2 == 0 { 4 } else { 0 };
        tables[s][index] = ((standard(order, s, index) >> 1 & 15) << shift) as u8;
        i += 1;
    }
    tables
}

/// In the index of every second S-box bit 6 is set: it chooses the second of two tables.
pub(super) const SECOND: u64 = u64::from_ne_bytes([0, 0x40, 0, 0x40, 0, 0x40, 0, 0x40]);

/// `MOVES[5 + d]`: the key bits that go up by `d` places.
const MOVES: [Groups; 11] = {
    let mut moves = [[0u8; 8]; 11];
    let mut i = 0;
    while i < 48 {
        let (t, to) = (i / 6, i % 6);
        moves[5 + to - ORDER[t][to]][t] |= 1 << ORDER[t][to];
        i += 1;
    }
    let mut words = [0; 11];
    let mut d = 0;
    while d < 11 {
        words[d] = u64::from_ne_bytes(moves[d]);
        d += 1;
    }
    words
};

/// Returns a round key in the order of the indices, with [`SECOND`] in it.
pub(super) fn order_key(groups: Groups) -> Groups {
    let mut ordered = SECOND;
    for (d, mask) in MOVES.iter().enumerate() {
        let moved = groups & mask;
        ordered |= if d < 5 { moved >> (5 - d) } else { moved << (d - 5) };
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_a_permutation() {
        for order in ORDER {
            assert_eq!(order.iter().fold(0, |seen, bit| seen | 1 << bit), 0b111111);
        }
    }

    #[test]
    fn keys_follow_the_order() {
        for t in 0..8 {
            for x in 0..64 {
                let mut key = [0; 8];
                key[t] = x;
                let ordered = (order_key(u64::from_ne_bytes(key)) ^ SECOND).to_ne_bytes();
                assert_eq!(ordered[t], ENTER[t][usize::from(x)]);
                assert_eq!(ordered.iter().filter(|&&byte| byte != 0).count(), usize::from(x != 0));
            }
        }
    }
}
