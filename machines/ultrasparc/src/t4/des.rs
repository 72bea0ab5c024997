//! DES: `des_ip`, `des_iip`, `des_kexpand`, `des_round`.
//! Ref. FIPS 46-3; Oracle SPARC Architecture 2011, "DES Cryptographic Operations".
//!
//! The layout of a round key in its register is not public, and no program can tell, because the result of
//! `des_kexpand` goes into `des_kexpand` and `des_round` only. Here each byte has in its six low bits the input of one
//! S-box: S1, S3, S5 and S7 in the high half and the others in the low half, so that the expansion E is two rotations.
//! The eight bits of C and D that this round does not use (FIPS 46-3, permuted choice 2) are in the bytes' top bits, so
//! that the next key can be made from this one.
//!
//! The S-boxes are tables: the time depends on keys and data.

use millstream_engines::des::tables::{P, PC1, PC2, S};

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Fusion, Instruction, Operand, Word, double};
use crate::processor::Feature;
use crate::t4::{Kind, d, doubles};

const DES: Kind = Kind { needs: Feature::Des, class: Class::Des };

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    one_register("des_ip", 0x134, |word, _| doubles(permute, word)),
    one_register("des_iip", 0x135, |word, _| doubles(unpermute, word)),
    // Immediates above 3 are not public, and the emulator has no instruction for them.
    Instruction {
        operands: &[Operand::D1, Operand::Imm5, Operand::Dd],
        mask: 0xc1f8_3ffc,
        ..DES.three("des_kexpand", 0x136, |word, _| Op { rs2: word.rs2(), ..doubles(expand, word) })
    },
    DES.four("des_round", 9, |word, _| doubles(round, word)),
];

/// A row with `rs1` and `rd`; the place of `rs2` is zero.
const fn one_register(name: &'static str, opf: u32, decode: fn(Word, u64) -> Op) -> Instruction {
    Instruction { operands: &[Operand::D1, Operand::Dd], mask: 0xc1f8_3fff, ..DES.three(name, opf, decode) }
}

/// IP as exchanges of bits: each exchanges the bits in the mask with those that far to their left.
const EXCHANGES: [(u32, u64); 5] =
    [(36, 0x0f0f_0f0f), (48, 0x0000_ffff), (30, 0xcccc_cccc), (24, 0xff00_ff00), (33, 0x5555_5555)];

const fn exchange(block: u64, (distance, mask): (u32, u64)) -> u64 {
    let difference = (block >> distance ^ block) & mask;
    block ^ difference ^ difference << distance
}

/// The initial permutation.
#[must_use]
pub fn des_ip(block: u64) -> u64 {
    EXCHANGES.into_iter().fold(block, exchange)
}

/// Exchanges the halves and applies the inverse of the initial permutation, which follows the last round.
#[must_use]
pub fn des_iip(block: u64) -> u64 {
    EXCHANGES.into_iter().rev().fold(block.rotate_left(32), exchange)
}

/// The S-box of each byte of a key register, the first at 0.
const ORDER: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

/// The place of each bit of C and D, the first of C at 0, in a register with a round key.
const PLACES: [u32; 56] = {
    const UNUSED: u32 = u32::MAX;
    let (mut places, mut i) = ([UNUSED; 56], 0);
    while i < 48 {
        // The six bits of a byte, of which the first is the highest.
        places[PC2[6 * ORDER[i / 6] + i % 6] as usize - 1] = (8 * (7 - i / 6) + 5 - i % 6) as u32;
        i += 1;
    }
    let mut top = 63;
    i = 0;
    while i < 56 {
        if places[i] == UNUSED {
            places[i] = top;
            top = top.saturating_sub(8);
        }
        i += 1;
    }
    places
};

/// Packs C and D, which have the first bit of C in bit 55, into a key register.
fn pack(cd: u64) -> u64 {
    PLACES.iter().enumerate().fold(0, |key, (i, place)| key | (cd >> (55 - i) & 1) << place)
}

/// The inverse of [`pack`].
fn unpack(key: u64) -> u64 {
    PLACES.iter().enumerate().fold(0, |cd, (i, place)| cd | (key >> place & 1) << (55 - i))
}

/// Rotates C and D to the left, each for itself.
fn rotate(cd: u64, count: u32) -> u64 {
    const HALF: u64 = (1 << 28) - 1;
    let half = |x: u64| (x << count | x >> (28 - count)) & HALF;
    half(cd >> 28 & HALF) << 28 | half(cd & HALF)
}

/// `des_kexpand`: for 0 it makes the first round's key from the key itself, and for 1 to 3 a later one from another,
/// whose C and D are rotated by 1, 2 or 4 bits more.
#[must_use]
pub fn des_kexpand(key: u64, imm: u8) -> u64 {
    let rotated = match imm {
        0 => rotate(PC1.iter().fold(0, |cd, &bit| cd << 1 | key >> (64 - bit) & 1), 1),
        _ => rotate(unpack(key), 1 << ((imm - 1) & 3)),
    };
    pack(rotated)
}

/// Each S-box, in the order of the bytes, and the permutation P after it: FIPS 46-3, "The selection functions".
static BOXES: [[u32; 64]; 8] = {
    let (mut boxes, mut i) = ([[0; 64]; 8], 0);
    while i < 8 * 64 {
        let (which, x) = (i / 64, i % 64);
        let (row, column) = (x >> 4 & 2 | x & 1, x >> 1 & 15);
        let value = S[ORDER[which]][16 * row + column] as u32;
        let mut to = 0;
        while to < 32 {
            let from = P[to] as usize - 1;
            if from / 4 == ORDER[which] {
                boxes[which][x] |= (value >> (3 - from % 4) & 1) << (31 - to);
            }
            to += 1;
        }
        i += 1;
    }
    boxes
};

/// The function f. E takes six bits every four, beginning with the last, so every other six are the low bits of the
/// bytes of a rotation.
///
/// Each box has bits of its own in the result, so a sum is as good as an exclusive or. The code uses both by turns, so
/// that the compiler does not make one chain of eight, for which the next round would wait.
#[inline(always)]
fn f(half: u32, key: u64) -> u32 {
    let (high, low) = (half.rotate_right(3) ^ (key >> 32) as u32, half.rotate_left(1) ^ key as u32);
    let of = |which: usize, word: u32| BOXES[which][(word >> (24 - 8 * (which % 4)) & 63) as usize];
    let quarter = |which: usize, word: u32| of(which, word) ^ of(which + 1, word);
    (quarter(0, high) + quarter(2, high)) ^ (quarter(4, low) + quarter(6, low))
}

/// `des_round`: two rounds, with the halves back in their places.
#[must_use]
#[inline]
pub fn des_round(key: u64, next: u64, block: u64) -> u64 {
    let (left, right) = ((block >> 32) as u32, block as u32);
    let left = left ^ f(right, key);
    let right = right ^ f(left, next);
    u64::from(left) << 32 | u64::from(right)
}

fn permute(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = des_ip(d!(cpu, op.rs1));
    Step::Next
}

fn unpermute(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = des_iip(d!(cpu, op.rs1));
    Step::Next
}

fn expand(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = des_kexpand(d!(cpu, op.rs1), op.rs2);
    Step::Next
}

fn round(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = des_round(d!(cpu, op.rs1), d!(cpu, op.rs2), d!(cpu, op.rs3));
    Step::Next
}

/// Rounds of a chain that are executed together: see [`FUSIONS`].
fn rounds(cpu: &mut Cpu, op: &Op) -> Step {
    let mut block = d!(cpu, op.rs3);
    for pair in 0..op.imm as u8 {
        let key = op.rs1 + 2 * pair;
        block = des_round(d!(cpu, key), d!(cpu, key + 1), block);
    }
    d!(cpu, op.rd) = block;
    Step::Next
}

/// All sixteen rounds, or most of them, as programs usually write them: the keys are in registers one after another,
/// and the block stays in its place.
pub const FUSIONS: &[Fusion] = &{
    let mut list = [Fusion { rows: &["des_round"; 8], make: chain }; 7];
    let mut i = 1;
    while i < list.len() {
        list[i].rows = list[0].rows.split_at(8 - i).0;
        i += 1;
    }
    list
};

fn chain(words: &[Word], _address: u64) -> Option<Op> {
    let op = Op { imm: words.len() as u64, ..doubles(rounds, words[0]) };
    let fits = |(at, word): (usize, &Word)| {
        let key = op.rs1 + 2 * at as u8;
        let here = [double(word.rs1()), double(word.rs2()), double(word.rs3()), double(word.rd())];
        here == [key, key + 1, op.rd, op.rd] && ![key, key + 1].contains(&op.rd)
    };
    (op.rs3 == op.rd && words.iter().enumerate().all(fits)).then_some(op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_engines::des::tables::IP;

    /// The round keys in the order of encryption, as Linux's code makes them.
    pub(crate) fn schedule(key: u64) -> [u64; 16] {
        let mut k = [0; 16];
        k[0] = des_kexpand(key, 0);
        let steps = [
            (1, 0, 1),
            (3, 1, 3),
            (2, 1, 2),
            (5, 3, 3),
            (4, 3, 2),
            (7, 5, 3),
            (6, 5, 2),
            (8, 7, 1),
            (10, 8, 3),
            (9, 8, 2),
            (12, 10, 3),
            (11, 10, 2),
            (14, 12, 3),
            (13, 12, 2),
            (15, 14, 1),
        ];
        for (to, from, imm) in steps {
            k[to] = des_kexpand(k[from], imm);
        }
        k
    }

    fn crypt(keys: &[u64; 16], block: u64) -> u64 {
        des_iip(
            keys.as_chunks::<2>()
                .0
                .iter()
                .fold(des_ip(block), |block, pair| des_round(pair[0], pair[1], block)),
        )
    }

    #[test]
    fn the_initial_permutation_is_the_standard_s() {
        for bit in 0..64 {
            let expected = IP.iter().fold(0, |x, &from| x << 1 | (1u64 << bit) >> (64 - from) & 1);
            assert_eq!(des_ip(1 << bit), expected, "bit {bit}");
            assert_eq!(des_iip(des_ip(1 << bit).rotate_left(32)), 1 << bit);
        }
    }

    /// The total rotation of C and D.
    const ROTATION: [u8; 16] = [1, 2, 4, 6, 8, 10, 12, 14, 15, 17, 19, 21, 23, 25, 27, 28];

    #[test]
    fn round_keys_hold_what_the_standard_chooses() {
        let key = 0x1334_5779_9bbc_dff1u64;
        let cd = PC1.iter().fold(0, |cd, &bit| cd << 1 | key >> (64 - bit) & 1);
        for (made, rotation) in schedule(key).into_iter().zip(ROTATION) {
            let expected = rotate(rotate(cd, u32::from(rotation) / 2), u32::from(rotation).div_ceil(2));
            assert_eq!(unpack(made), expected);
            assert_eq!(pack(unpack(made)), made);
            for (which, six) in ORDER.into_iter().zip(made.to_be_bytes()) {
                let chosen = PC2[6 * which..][..6]
                    .iter()
                    .fold(0, |six, &bit| six << 1 | (expected >> (56 - bit) & 1) as u8);
                assert_eq!(six & 63, chosen);
            }
        }
    }

    #[test]
    fn known_answers() {
        // J. Orlin Grabbe's worked example.
        let keys = schedule(0x1334_5779_9bbc_dff1);
        let (plain, cipher) = (0x0123_4567_89ab_cdef, 0x85e8_1354_0f0a_b405);
        assert_eq!(crypt(&keys, plain), cipher);
        let mut backwards = keys;
        backwards.reverse();
        assert_eq!(crypt(&backwards, cipher), plain);
        // The first block of FIPS 81's CBC example.
        let keys = schedule(0x0123_4567_89ab_cdef);
        let first = u64::from_be_bytes(*b"Now is t") ^ 0x1234_5678_90ab_cdef;
        assert_eq!(crypt(&keys, first), 0xe5c7_cdde_872b_f27c);
    }
}
