//! Kasumi: `kasumi_fl_xor`, `kasumi_fi_xor`, `kasumi_fi_fi`.
//! Ref. 3GPP TS 35.202 (KASUMI); Oracle SPARC Architecture 2011 has the names and the encodings.
//!
//! The functions of these instructions are not public, and no software that can be read uses them. The following is
//! this project's choice, after the shape of `camellia_f` and `des_round`, and of the meaning of the names. A round's
//! subkeys are in one register, and all of KASUMI (the test shows it) is made of the three instructions, six of them
//! for two rounds.
//!
//! A register holds four fields of 16 bits, `[63:48]` to `[15:0]`. A half of the block is in the low two of them.
//!
//! ```text
//! kasumi_fl_xor rs1, rs2, rs3 -> rd       rs1 = KL1, KL2 in the low two fields
//!     rd = rs2 ^ FL(rs3.half, rs1)                                    TS 35.202 §4.3
//!
//! kasumi_fi_xor rs1, rs2, rs3 -> rd       rs1 = 0, KO, 0, KI
//!     x  = FI(rs3[31:16] ^ KO, KI) ^ rs3[15:0]
//!     rd = rs2 ^ (rs3[15:0], x)           the next of FO's halves     one step of FO, §4.4
//!
//! kasumi_fi_fi rs1, rs2 -> rd             rs1 = KO1, KO2, KI1, KI2
//!     a  = FI(rs2[31:16] ^ KO1, KI1) ^ rs2[15:0]
//!     b  = FI(rs2[15:0]  ^ KO2, KI2) ^ a
//!     rd = (a, b)                         the first two steps of FO
//! ```
//!
//! The high half of each result is zero, except for the part that `rs2` adds to it. So FO is `kasumi_fi_fi`,
//! `kasumi_fi_xor`. An odd round is FL, FO and an even one FO, FL, and the last instruction of each adds the other half
//! of the block.
//!
//! The S-boxes are tables: the time depends on keys and data.

use millstream_engines::kasumi::{S7, S9};

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Instruction};
use crate::processor::Feature;
use crate::t4::{Kind, d, doubles};

const KASUMI: Kind = Kind { needs: Feature::Kasumi, class: Class::Kasumi };

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    KASUMI.four("kasumi_fl_xor", 0xa, |word, _| doubles(fl_xor, word)),
    KASUMI.four("kasumi_fi_xor", 0xb, |word, _| doubles(fi_xor, word)),
    KASUMI.three("kasumi_fi_fi", 0x138, |word, _| doubles(fi_fi, word)),
];

/// A register's fields of 16 bits, the highest first.
fn fields(register: u64) -> [u16; 4] {
    [(register >> 48) as u16, (register >> 32) as u16, (register >> 16) as u16, register as u16]
}

/// A half of the block as a register.
fn half([left, right]: [u16; 2]) -> u64 {
    u64::from(left) << 16 | u64::from(right)
}

/// FI, TS 35.202 §4.5.
fn fi(x: u16, key: u16) -> u16 {
    static NINE: [u16; 512] = S9;
    static SEVEN: [u16; 128] = S7;
    let stage = |nine: u16, seven: u16| {
        let nine = NINE[usize::from(nine & 0x1ff)] ^ seven;
        (nine, SEVEN[usize::from(seven & 0x7f)] ^ nine & 0x7f)
    };
    let (nine, seven) = stage(x >> 7, x & 0x7f);
    let (nine, seven) = stage(nine ^ key & 0x1ff, seven ^ key >> 9);
    seven << 9 | nine
}

/// `kasumi_fl_xor`: `other` and the function FL of the low half of `input`.
#[must_use]
pub fn kasumi_fl_xor(keys: u64, other: u64, input: u64) -> u64 {
    let [_, _, key1, key2] = fields(keys);
    let [_, _, left, right] = fields(input);
    let right = right ^ (left & key1).rotate_left(1);
    let left = left ^ (right | key2).rotate_left(1);
    other ^ half([left, right])
}

/// `kasumi_fi_xor`: `other` and one step of FO from the low half of `input`.
#[must_use]
pub fn kasumi_fi_xor(keys: u64, other: u64, input: u64) -> u64 {
    let [_, ko, _, ki] = fields(keys);
    let [_, _, left, right] = fields(input);
    other ^ half([right, fi(left ^ ko, ki) ^ right])
}

/// `kasumi_fi_fi`: two steps of FO from the low half of `input`.
#[must_use]
pub fn kasumi_fi_fi(keys: u64, input: u64) -> u64 {
    let [ko1, ko2, ki1, ki2] = fields(keys);
    let [_, _, left, right] = fields(input);
    let first = fi(left ^ ko1, ki1) ^ right;
    half([first, fi(right ^ ko2, ki2) ^ first])
}

fn fl_xor(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = kasumi_fl_xor(d!(cpu, op.rs1), d!(cpu, op.rs2), d!(cpu, op.rs3));
    Step::Next
}

fn fi_xor(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = kasumi_fi_xor(d!(cpu, op.rs1), d!(cpu, op.rs2), d!(cpu, op.rs3));
    Step::Next
}

fn fi_fi(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = kasumi_fi_fi(d!(cpu, op.rs1), d!(cpu, op.rs2));
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;
    use millstream_cpu::Features;
    use millstream_engines::kasumi::F8;

    /// The registers of a round: KL for FL, KO1 KO2 KI1 KI2 for two steps, KO3 and KI3 for the last.
    struct Round {
        fl: u64,
        two: u64,
        last: u64,
    }

    /// TS 35.202 §4.6 and table 1.
    fn schedule(key: u128) -> [Round; 8] {
        const C: [u16; 8] = [0x0123, 0x4567, 0x89ab, 0xcdef, 0xfedc, 0xba98, 0x7654, 0x3210];
        let plain = |i: usize| (key >> (112 - 16 * (i % 8))) as u16;
        let primed = |i: usize| plain(i) ^ C[i % 8];
        let pack = |x: [u16; 4]| x.into_iter().fold(0, |sum, field| sum << 16 | u64::from(field));
        std::array::from_fn(|i| {
            let ko = [plain(i + 1).rotate_left(5), plain(i + 5).rotate_left(8), plain(i + 6).rotate_left(13)];
            let ki = [primed(i + 4), primed(i + 3), primed(i + 7)];
            Round {
                fl: pack([0, 0, plain(i).rotate_left(1), primed(i + 2)]),
                two: pack([ko[0], ko[1], ki[0], ki[1]]),
                last: pack([0, ko[2], 0, ki[2]]),
            }
        })
    }

    fn encrypt(rounds: &[Round; 8], block: u64) -> u64 {
        let (mut left, mut right) = (block >> 32, block & 0xffff_ffff);
        for [odd, even] in rounds.as_chunks::<2>().0 {
            // Odd: FL, then FO. Even: FO, then FL.
            let x = kasumi_fl_xor(odd.fl, 0, left);
            right = kasumi_fi_xor(odd.last, right, kasumi_fi_fi(odd.two, x));
            let x = kasumi_fi_xor(even.last, 0, kasumi_fi_fi(even.two, right));
            left = kasumi_fl_xor(even.fl, left, x);
        }
        left << 32 | right
    }

    #[test]
    fn test_set_1_of_the_standard() {
        // TS 35.203 §4: KASUMI test set 1.
        let rounds = schedule(0x2bd6_459f_82c5_b300_952c_4910_4881_ff48);
        assert_eq!(encrypt(&rounds, 0xea02_4714_ad5c_4d84), 0xdf1f_9b25_1c0b_f45f);
    }

    #[test]
    fn compositions_are_the_engine_s() {
        let mut key = 0x2bd6_459f_82c5_b300_952c_4910_4881_ff48u128;
        for _ in 0..50 {
            let block = (key >> 32) as u64;
            let engine = F8::new(Features::hardware(), &key.to_be_bytes()).unwrap();
            assert_eq!(encrypt(&schedule(key), block), engine.block(block));
            key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835).rotate_left(7);
        }
    }

    #[test]
    fn the_high_half_is_only_what_is_added() {
        let high = 0xdead_beef_0000_0000;
        assert_eq!(kasumi_fl_xor(!0, high, !0) >> 32, high >> 32);
        assert_eq!(kasumi_fi_xor(!0, high, !0) >> 32, high >> 32);
        assert_eq!(kasumi_fi_fi(!0, !0) >> 32, 0);
    }
}
