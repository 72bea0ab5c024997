//! Known answers, every unit against the engine, and fused rounds against single instructions.

use millstream_engines::InOut;
use millstream_engines::aes::Ecb;
use millstream_engines::modes::BlockMode;

use super::*;
use crate::arithmetic::tests::Numbers;
use crate::t4::tests::{assemble, check_fused, fuses};

/// The key schedule that the three instructions make, as programs use them.
fn schedule(unit: &Handlers, key: &[u64]) -> Vec<u64> {
    let [kexpand0, kexpand1, kexpand2] = unit.expand;
    let (words, doubles) = (key.len(), [22, 26, 30][key.len() - 2]);
    let mut k = key.to_vec();
    while k.len() < doubles {
        let at = k.len();
        let (back, last) = (k[at - words], k[at - 1]);
        k.push(match at % words {
            0 => kexpand1(back, last, (at / words - 1) as u8),
            2 if words == 4 => kexpand0(back, last, 0),
            _ => kexpand2(back, last, 0),
        });
    }
    k
}

fn encrypt(unit: &Handlers, k: &[u64], block: Halves) -> Vec<Halves> {
    let keys = k.as_chunks::<2>().0;
    let mut states = vec![[block[0] ^ k[0], block[1] ^ k[1]]];
    for (at, key) in keys.iter().enumerate().skip(1) {
        let kind = if at == keys.len() - 1 { ENCRYPT_LAST } else { ENCRYPT };
        states.push(unit.round[kind](states[at - 1], *key));
    }
    states
}

fn decrypt(unit: &Handlers, k: &[u64], block: Halves) -> Halves {
    let (last, keys) = k.as_chunks::<2>().0.split_last().unwrap();
    let start = [block[0] ^ last[0], block[1] ^ last[1]];
    keys.iter()
        .enumerate()
        .rev()
        .fold(start, |state, (at, key)| unit.round[if at == 0 { DECRYPT_LAST } else { DECRYPT }](state, *key))
}

#[test]
fn every_round_of_the_standard_s_example() {
    const STATES: [Halves; 11] = [
        [0x0010_2030_4050_6070, 0x8090_a0b0_c0d0_e0f0],
        [0x89d8_10e8_855a_ce68, 0x2d18_43d8_cb12_8fe4],
        [0x4915_598f_55e5_d7a0, 0xdaca_94fa_1f0a_63f7],
        [0xfa63_6a28_25b3_39c9, 0x4066_8a31_5724_4d17],
        [0x2472_4023_6966_b3fa, 0x6ed2_7532_8842_5b6c],
        [0xc816_77bc_9b7a_c93b, 0x2502_7992_b026_1996],
        [0xc62f_e109_f75e_edc3, 0xcc79_395d_84f9_cf5d],
        [0xd187_6c0f_79c4_300a, 0xb455_94ad_d66f_f41f],
        [0xfde3_bad2_05e5_d0d7, 0x3547_964e_f1fe_37f1],
        [0xbd6e_7c3d_f2b5_779e, 0x0b61_216e_8b10_b689],
        [0x69c4_e0d8_6a7b_0430, 0xd8cd_b780_70b4_c55a],
    ];
    for unit in units() {
        let k = schedule(unit, &[0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f]);
        let last = [0x1311_1d7f_e394_4a17, 0xf307_a78b_4d2b_30c5];
        assert_eq!(k[2..4], [0xd6aa_74fd_d2af_72fa, 0xdaa6_78f1_d6ab_76fe], "{}", unit.name);
        assert_eq!(k[20..], last, "{}", unit.name);
        let block = [0x0011_2233_4455_6677, 0x8899_aabb_ccdd_eeff];
        assert_eq!(encrypt(unit, &k, block), STATES, "{}", unit.name);
        assert_eq!(decrypt(unit, &k, STATES[10]), block, "{}", unit.name);
    }
}

#[test]
fn compositions_are_the_engine_s() {
    let mut numbers = Numbers(6);
    for unit in units() {
        for words in [2, 3, 4].repeat(20) {
            let key = numbers.words(words);
            let block = [numbers.word(), numbers.word()];
            let bytes: Vec<u8> = key.iter().flat_map(|word| word.to_be_bytes()).collect();
            let mut data = [block[0].to_be_bytes(), block[1].to_be_bytes()].concat();
            let ecb = Ecb::new(millstream_cpu::Features::hardware(), &bytes).unwrap();
            ecb.encrypt(&mut [], InOut::in_place(&mut data));
            let k = schedule(unit, &key);
            let cipher = *encrypt(unit, &k, block).last().unwrap();
            assert_eq!([cipher[0].to_be_bytes(), cipher[1].to_be_bytes()].concat(), data, "{}", unit.name);
            assert_eq!(decrypt(unit, &k, cipher), block, "{}", unit.name);
        }
    }
}

#[test]
fn units_agree_on_everything() {
    let mut numbers = Numbers(7);
    let (portable, others) = units().split_last().map(|(last, others)| (*last, others.to_vec())).unwrap();
    for unit in others {
        for _ in 0..200 {
            let (state, key) = ([numbers.word(), numbers.word()], [numbers.word(), numbers.word()]);
            for kind in 0..4 {
                assert_eq!(
                    unit.round[kind](state, key),
                    portable.round[kind](state, key),
                    "{}, {kind}",
                    unit.name
                );
            }
            let imm = (numbers.word() & 31) as u8;
            for which in 0..3 {
                let made = [unit, portable].map(|unit| unit.expand[which](state[0], key[0], imm));
                assert_eq!(made[0], made[1], "{}, aes_kexpand{which}, {imm}", unit.name);
            }
        }
    }
}

/// Both halves of a round: the keys, the state, where it goes.
fn round(kind: &str, last: &str, key: u8, [a, b]: [u8; 2], other: u8) -> [u32; 2] {
    [
        assemble(&format!("aes_{kind}round01{last}"), [key, a, b, other]),
        assemble(&format!("aes_{kind}round23{last}"), [key + 1, a, b, b]),
    ]
}

/// OpenSSL's `_aes128_encrypt_1x` and its kin without the last round: keys from %f16, the state in %f0 and %f2, or
/// others.
fn chain(kind: &str, rounds: u8, key: u8, [a, b, other]: [u8; 3]) -> Vec<u32> {
    let turn = |i: u8| if i.is_multiple_of(2) { ([a, b], other) } else { ([other, b], a) };
    let words = (0..rounds).flat_map(|i| round(kind, "", key + 2 * i, turn(i).0, turn(i).1));
    words.collect()
}

/// `_aes128_encrypt_2x`: two blocks by turns.
fn twins(kind: &str, rounds: u8) -> Vec<u32> {
    let (one, other) = (chain(kind, rounds, 8, [0, 1, 4]), chain(kind, rounds, 8, [2, 3, 5]));
    one.chunks(2).zip(other.chunks(2)).flat_map(|(one, other)| [one, other].concat()).collect()
}

#[test]
fn openssl_s_runs_fuse() {
    let mut numbers = Numbers(8);
    for kind in ["e", "d"] {
        for rounds in 1..=12 {
            let words = chain(kind, rounds, 8, [0, 1, 2]);
            assert!(fuses(FUSIONS, &words), "{kind} {rounds}");
            check_fused(&mut numbers, &words);
        }
        for rounds in 2..=12 {
            let words = twins(kind, rounds);
            assert!(rounds > 9 || fuses(FUSIONS, &words), "{kind} {rounds}");
            check_fused(&mut numbers, &words);
        }
        let words = round(kind, "_l", 26, [2, 1], 0);
        assert!(fuses(FUSIONS, &words));
        check_fused(&mut numbers, &words);
    }
}

#[test]
fn what_only_looks_like_a_run_is_done_right() {
    let mut numbers = Numbers(9);
    for _ in 0..300 {
        let kind = if numbers.word() & 1 == 0 { "e" } else { "d" };
        let rounds = 1 + (numbers.word() % 6) as u8;
        let mut words =
            if numbers.word() & 1 == 0 { twins(kind, rounds) } else { chain(kind, rounds, 8, [0, 1, 2]) };
        for _ in 0..1 + numbers.word() % 2 {
            let at = numbers.word() as usize % words.len();
            let shift = [0, 9, 14, 25][numbers.word() as usize % 4];
            words[at] ^= 1 << (shift + numbers.word() % 5);
        }
        check_fused(&mut numbers, &words);
    }
}

#[test]
fn runs_at_the_end_of_the_registers() {
    let mut numbers = Numbers(10);
    for key in 20..31 {
        for rounds in 1..=(32 - key) / 2 {
            check_fused(&mut numbers, &chain("e", rounds, key, [0, 1, 2]));
        }
    }
    // A key that the run itself changes.
    for registers in [[0, 1, 10], [10, 1, 2], [0, 10, 2]] {
        let words = chain("e", 4, 8, registers);
        assert!(!fuses(FUSIONS, &words));
        check_fused(&mut numbers, &words);
    }
}
