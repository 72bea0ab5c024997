//! Camellia: `camellia_f`, `camellia_fl`, `camellia_fli`.
//! Ref. RFC 3713 §2.4; Oracle SPARC Architecture 2011, "Camellia Cryptographic Operations".
//!
//! The S-boxes are tables, 16 KiB with the mixing P after them: the time depends on keys and data.

use millstream_engines::camellia::S1;

use crate::cpu::{Cpu, Op, Step};
use crate::isa::{Class, Fusion, Instruction, Word, double};
use crate::processor::Feature;
use crate::t4::{Kind, d, doubles};

const CAMELLIA: Kind = Kind { needs: Feature::Camellia, class: Class::Camellia };

/// The rows.
pub const INSTRUCTIONS: &[Instruction] = &[
    CAMELLIA.four("camellia_f", 0xc, |word, _| doubles(f, word)),
    CAMELLIA.three("camellia_fl", 0x13c, |word, _| doubles(fl, word)),
    CAMELLIA.three("camellia_fli", 0x13d, |word, _| doubles(fli, word)),
];

/// The contribution of each byte of a half: its S-box, in the bytes to which P (RFC 3713 §2.4.1) adds it.
static BOXES: [[u64; 256]; 8] = {
    // The bytes, the first at the left, that y1 to y8 go to.
    const P: [u64; 8] = [
        0x01_01_01_00_01_00_00_01,
        0x00_01_01_01_01_01_00_00,
        0x01_00_01_01_00_01_01_00,
        0x01_01_00_01_00_00_01_01,
        0x00_01_01_01_00_01_01_01,
        0x01_00_01_01_01_00_01_01,
        0x01_01_00_01_01_01_00_01,
        0x01_01_01_00_01_01_01_00,
    ];
    let (mut boxes, mut i) = ([[0; 256]; 8], 0);
    while i < 8 * 256 {
        let (byte, x) = (i / 256, i % 256);
        let s = match byte {
            0 | 7 => S1[x],
            1 | 4 => S1[x].rotate_left(1),
            2 | 5 => S1[x].rotate_right(1),
            _ => S1[(x as u8).rotate_left(1) as usize],
        };
        boxes[byte][x] = P[byte] * s as u64;
        i += 1;
    }
    boxes
};

/// `camellia_f`: `half` and the function F of `input` under a subkey.
#[must_use]
#[inline]
pub fn camellia_f(key: u64, half: u64, input: u64) -> u64 {
    let mut sum = half;
    for (table, byte) in BOXES.iter().zip((key ^ input).to_be_bytes()) {
        sum ^= table[usize::from(byte)];
    }
    sum
}

/// `camellia_fl`: the function FL.
#[must_use]
pub fn camellia_fl(key: u64, half: u64) -> u64 {
    let [k1, k2, mut x1, mut x2] = words(key, half);
    x2 ^= (x1 & k1).rotate_left(1);
    x1 ^= x2 | k2;
    u64::from(x1) << 32 | u64::from(x2)
}

/// `camellia_fli`: the inverse of FL.
#[must_use]
pub fn camellia_fli(key: u64, half: u64) -> u64 {
    let [k1, k2, mut y1, mut y2] = words(key, half);
    y1 ^= y2 | k2;
    y2 ^= (y1 & k1).rotate_left(1);
    u64::from(y1) << 32 | u64::from(y2)
}

fn words(key: u64, half: u64) -> [u32; 4] {
    [(key >> 32) as u32, key as u32, (half >> 32) as u32, half as u32]
}

fn f(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = camellia_f(d!(cpu, op.rs1), d!(cpu, op.rs2), d!(cpu, op.rs3));
    Step::Next
}

fn fl(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = camellia_fl(d!(cpu, op.rs1), d!(cpu, op.rs2));
    Step::Next
}

fn fli(cpu: &mut Cpu, op: &Op) -> Step {
    d!(cpu, op.rd) = camellia_fli(d!(cpu, op.rs1), d!(cpu, op.rs2));
    Step::Next
}

/// Six rounds between two layers of FL: the keys are in registers one after another, and the halves are changed in
/// place by turns.
pub const FUSIONS: &[Fusion] = &[Fusion { rows: &["camellia_f"; 6], make: six_rounds }];

fn six_rounds(words: &[Word], _address: u64) -> Option<Op> {
    // The op names the first round's registers: the half that the round changes, and the half that is its input.
    let op = doubles(rounds, *words.first()?);
    let fits = |(at, word): (usize, &Word)| {
        let (changed, input) = if at % 2 == 0 { (op.rs2, op.rs3) } else { (op.rs3, op.rs2) };
        let key = op.rs1 + at as u8;
        let here = [double(word.rs1()), double(word.rs2()), double(word.rs3()), double(word.rd())];
        here == [key, changed, input, changed] && ![op.rs2, op.rs3].contains(&key)
    };
    (op.rs2 != op.rs3 && words.iter().enumerate().all(fits)).then_some(op)
}

fn rounds(cpu: &mut Cpu, op: &Op) -> Step {
    let (mut changed, mut input) = (d!(cpu, op.rs2), d!(cpu, op.rs3));
    for round in 0..6 {
        (changed, input) = (input, camellia_f(d!(cpu, op.rs1 + round), changed, input));
    }
    d!(cpu, op.rs2) = changed;
    d!(cpu, op.rs3) = input;
    Step::Next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3713 §2.2 for 128 bits: k1, k2, and then the subkeys in the order of use.
    struct Schedule {
        whitening: [u64; 4],
        rounds: [u64; 18],
        layers: [u64; 4],
    }

    const SIGMA: [u64; 4] =
        [0xa09e_667f_3bcc_908b, 0xb67a_e858_4caa_73b2, 0xc6ef_372f_e94f_82be, 0x54ff_53a5_f1d3_6f1c];

    fn schedule(key: u128) -> Schedule {
        let (mut d1, mut d2) = ((key >> 64) as u64, key as u64);
        d2 = camellia_f(SIGMA[0], d2, d1);
        d1 = camellia_f(SIGMA[1], d1, d2);
        (d1, d2) = (d1 ^ (key >> 64) as u64, d2 ^ key as u64);
        d2 = camellia_f(SIGMA[2], d2, d1);
        d1 = camellia_f(SIGMA[3], d1, d2);
        let ka = u128::from(d1) << 64 | u128::from(d2);
        let of = |key: u128, turn: u32| {
            let turned = key.rotate_left(turn);
            [(turned >> 64) as u64, turned as u64]
        };
        let [w1, w2] = of(key, 0);
        let [w3, w4] = of(ka, 111);
        let rounds = [
            of(ka, 0),
            of(key, 15),
            of(ka, 15),
            of(key, 45),
            [of(ka, 45)[0], of(key, 60)[1]],
            of(ka, 60),
            of(key, 94),
            of(ka, 94),
            of(key, 111),
        ];
        let [l1, l2] = of(ka, 30);
        let [l3, l4] = of(key, 77);
        Schedule {
            whitening: [w1, w2, w3, w4],
            rounds: rounds.as_flattened().try_into().unwrap(),
            layers: [l1, l2, l3, l4],
        }
    }

    fn encrypt(schedule: &Schedule, block: u128) -> u128 {
        let Schedule { whitening, rounds, layers } = schedule;
        let (mut left, mut right) = ((block >> 64) as u64 ^ whitening[0], block as u64 ^ whitening[1]);
        for (at, pair) in rounds.as_chunks::<2>().0.iter().enumerate() {
            if at == 3 || at == 6 {
                let layer = at / 3 * 2 - 2;
                (left, right) = (camellia_fl(layers[layer], left), camellia_fli(layers[layer + 1], right));
            }
            right = camellia_f(pair[0], right, left);
            left = camellia_f(pair[1], left, right);
        }
        u128::from(right ^ whitening[2]) << 64 | u128::from(left ^ whitening[3])
    }

    #[test]
    fn known_answer_of_the_rfc() {
        let key = 0x0123_4567_89ab_cdef_fedc_ba98_7654_3210;
        assert_eq!(encrypt(&schedule(key), key), 0x6767_3138_5496_6973_0857_0656_48ea_be43);
    }

    #[test]
    fn fli_is_the_inverse_of_fl() {
        let (key, half) = (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        assert_ne!(camellia_fl(key, half), half);
        assert_eq!(camellia_fli(key, camellia_fl(key, half)), half);
    }

    #[test]
    fn compositions_are_the_engine_s() {
        use millstream_engines::InOut;
        use millstream_engines::camellia::Ecb;
        use millstream_engines::modes::BlockMode;
        let mut key = 0x0f1e_2d3c_4b5a_6978_8796_a5b4_c3d2_e1f0u128;
        for _ in 0..50 {
            let block = key.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
            let mut data = block.to_be_bytes();
            let ecb = Ecb::new(millstream_cpu::Features::hardware(), &key.to_be_bytes()).unwrap();
            ecb.encrypt(&mut [], InOut::in_place(&mut data));
            assert_eq!(encrypt(&schedule(key), block), u128::from_be_bytes(data));
            key ^= block.rotate_left(17);
        }
    }
}
