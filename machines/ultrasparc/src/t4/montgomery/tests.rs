//! Operands where programs put them, results against plain arithmetic.

use super::*;
use crate::arithmetic::negative_inverse;
use crate::arithmetic::tests::{Numbers, plain};
use crate::t4::tests::{machine, run};

const MPMUL: u32 = 0x81b0_2900;
const MONTMUL: u32 = 0x81b0_2920;
const MONTSQR: u32 = 0x81b0_2940;

/// `save %sp, -128, %sp`.
const SAVE: u32 = 0x9de3_bf80;

/// A T4 after so many saves, at an instruction, with everything filled.
fn saved(numbers: &mut Numbers, saves: usize, word: u32) -> Cpu {
    let mut words = vec![SAVE; saves];
    words.push(word);
    let mut cpu = machine(&words);
    cpu.r[14] = 0x14000 - 2047 - 128;
    for _ in 0..saves {
        cpu.step().unwrap();
    }
    assert_eq!(cpu.windows.canrestore, saves.min(6));
    cpu.d.fill_with(|| numbers.word());
    for k in 0..=cpu.windows.canrestore {
        // The stack pointers stay: %o6, and %i6, which is the %o6 of the window above.
        for register in (8..14).chain(16..30) {
            cpu.set_window(k, register, numbers.word());
        }
    }
    cpu
}

/// Everything a program can see of the registers but %fsr.
fn state(cpu: &Cpu) -> Vec<u64> {
    let windows =
        (0..=cpu.windows.canrestore).flat_map(|k| (8..32).map(move |register| cpu.window(k, register)));
    windows.chain(cpu.d).collect()
}

fn fcc3(cpu: &Cpu) -> u64 {
    cpu.fsr >> 36 & 3
}

/// An odd modulus, and two numbers below it.
fn operands(numbers: &mut Numbers, length: usize) -> [Vec<u64>; 3] {
    let mut n = numbers.words(length);
    n[0] |= 1;
    let [a, b] = [numbers.words(length), numbers.words(length)].map(|x| plain::modulo(&x, &n));
    [a, b, n]
}

/// `x · 2^(64·length) mod n`.
fn shifted(x: &[u64], n: &[u64]) -> Vec<u64> {
    let mut wide = vec![0; n.len()];
    wide.extend(x);
    plain::modulo(&wide, n)
}

#[test]
fn montmul_and_montsqr_of_every_length() {
    let mut numbers = Numbers(11);
    for length in 1..=32 {
        let [a, b, n] = operands(&mut numbers, length);
        for (word, b) in [(MONTMUL, &b), (MONTSQR, &a)] {
            let mut cpu = saved(&mut numbers, 7, word + length as u32 - 1);
            store(&mut cpu, A, &a);
            store(&mut cpu, MODULUS, &n);
            if word == MONTMUL {
                store(&mut cpu, B, b);
            }
            cpu.d[N0] = negative_inverse(n[0]);
            cpu.fsr |= 3 << 36;
            let mut before = saved_copy(&cpu);
            run(&mut cpu);
            assert_eq!(fcc3(&cpu), DONE);
            let mut x = vec![0; length];
            load(&cpu, A, &mut x);
            assert_eq!(plain::modulo(&x, &n), x, "not reduced: {length} words");
            assert_eq!(shifted(&x, &n), plain::modulo(&plain::multiply(&a, b), &n), "{length} words");
            // Nothing else has changed.
            store(&mut before, A, &x);
            assert_eq!(state(&cpu), state(&before), "{length} words");
        }
    }
}

/// Another processor with the same registers.
fn saved_copy(cpu: &Cpu) -> Cpu {
    let mut copy = machine(&[]);
    (copy.r, copy.d, copy.windows) = (cpu.r, cpu.d, cpu.windows.clone());
    copy
}

#[test]
fn mpmul_of_every_length() {
    let mut numbers = Numbers(12);
    for length in 1..=32 {
        let (x, y) = (numbers.words(length), numbers.words(length));
        let mut cpu = saved(&mut numbers, 6, MPMUL + length as u32 - 1);
        store(&mut cpu, X, &x);
        store(&mut cpu, A, &y);
        let mut before = saved_copy(&cpu);
        run(&mut cpu);
        assert_eq!(fcc3(&cpu), DONE);
        let mut product = vec![0; 2 * length];
        load(&cpu, PRODUCT, &mut product);
        assert_eq!(product, plain::multiply(&x, &y), "{length} words");
        store(&mut before, PRODUCT, &product);
        assert_eq!(state(&cpu), state(&before), "{length} words");
    }
}

#[test]
fn a_missing_window_is_told_and_nothing_changes() {
    let mut numbers = Numbers(13);
    for saves in 0..6 {
        for word in [MPMUL + 7, MONTMUL + 7, MONTSQR + 7] {
            let mut cpu = saved(&mut numbers, saves, word);
            cpu.fsr = 0;
            let before = state(&cpu);
            run(&mut cpu);
            assert_eq!(fcc3(&cpu), MISSING, "{saves} saves");
            assert_eq!(state(&cpu), before, "{saves} saves");
        }
    }
}

#[test]
fn only_fcc3_of_the_state_register_changes() {
    let mut numbers = Numbers(14);
    for (saves, code) in [(6, DONE), (5, MISSING)] {
        for fsr in [0, u64::MAX] {
            let mut cpu = saved(&mut numbers, saves, MONTMUL);
            cpu.fsr = fsr;
            run(&mut cpu);
            assert_eq!(cpu.fsr, fsr & !(3 << 36) | code << 36);
        }
    }
}

/// Operands do not overlap where one instruction reads or writes them, and are as long as they must be.
#[test]
fn operands_are_apart() {
    let registers = |operands: &[&[Place]]| {
        let mut all = Vec::new();
        for places in operands {
            let mut count = 0;
            for &place in *places {
                count += place.count();
                for i in 0..place.count() {
                    all.push(match place {
                        // The outs of one window are the ins of the one below.
                        Window(k, first, _) if first < LOCALS && k > 0 => (k - 1, first + i + 16),
                        Window(k, first, _) => (k, first + i),
                        Double(first, _) => (100, first + i),
                    });
                }
            }
            assert!(count == MOST || count == 2 * MOST, "{count} words");
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    };
    registers(&[A, B, MODULUS]);
    registers(&[X, A]);
    registers(&[PRODUCT]);
    assert!(PRODUCT.iter().all(|place| matches!(place, Window(..))));
}

#[test]
fn known_answers() {
    const N: [u64; 8] = [
        0x7b00_27af_bacb_c6e9,
        0xa472_3a65_ecc4_0c9d,
        0x5ef7_11aa_234a_94cc,
        0x8dd7_57d7_7c90_08fe,
        0xa207_f407_e553_9e30,
        0xe1c0_ad76_a22a_8288,
        0xc557_cb25_1aa4_632e,
        0xf12d_26d5_1651_5418,
    ];
    const A_WORDS: [u64; 8] = [
        0xd77b_1dea_0412_fbb3,
        0xce93_7e7e_323b_24ad,
        0x9789_f767_00f2_814a,
        0xc304_e75c_7364_e528,
        0x18c5_93b1_6e30_3e89,
        0xd41e_3c48_38e8_6bde,
        0x4489_cc6b_3430_7e64,
        0x9485_b72f_4d96_34be,
    ];
    const SQUARE: [u64; 8] = [
        0xdcca_e993_c06b_12f2,
        0xfe6b_7f08_7a89_6a33,
        0xa80c_6768_132a_6958,
        0x56c9_f858_0e9f_bedb,
        0x59b8_788a_3bbd_f9ad,
        0x0901_acd3_e249_1559,
        0xdb8c_ed51_5a77_3d0e,
        0x7b0f_f01f_4fa1_eae0,
    ];
    let mut numbers = Numbers(15);
    let mut cpu = saved(&mut numbers, 6, MONTSQR + 7);
    store(&mut cpu, A, &A_WORDS);
    store(&mut cpu, MODULUS, &N);
    cpu.d[N0] = 0xcc94_152c_f95c_8ea7;
    run(&mut cpu);
    let mut x = [0; 8];
    load(&cpu, A, &mut x);
    assert_eq!(x, SQUARE);

    // A times 2^512 mod N is A again.
    let mut one = [0; 9];
    one[8] = 1;
    let mut cpu = saved(&mut numbers, 6, MONTMUL + 7);
    store(&mut cpu, A, &A_WORDS);
    store(&mut cpu, B, &plain::modulo(&one, &N));
    store(&mut cpu, MODULUS, &N);
    cpu.d[N0] = 0xcc94_152c_f95c_8ea7;
    run(&mut cpu);
    load(&cpu, A, &mut x);
    assert_eq!(x, A_WORDS);

    const E: [u64; 8] = [
        0x033b_43c4_1da5_cb52,
        0x3555_c75d_815f_34b0,
        0x673c_4f57_68c4_8876,
        0xcbd3_d5a7_cc30_fa7b,
        0x802f_926c_603c_a281,
        0x2853_c446_cf3a_e647,
        0x65f0_a9cd_7b65_598b,
        0x36c0_c0a0_767d_2d8f,
    ];
    const PRODUCT_WORDS: [u64; 16] = [
        0xa21c_7afb_dd0a_9056,
        0x6ba6_1b5d_6b29_24ea,
        0xcc26_2a47_50c3_6f23,
        0x6ff6_8d6e_07f8_5525,
        0x6261_44c9_0d54_34f7,
        0x75b1_df4e_126a_b800,
        0xe084_f6ad_2587_a52d,
        0x206a_4ade_bd72_674b,
        0xc0ce_449f_c007_0eab,
        0xe191_252f_ccfd_1f7a,
        0xdcf8_d3a2_6326_b37f,
        0x2768_cd26_23b1_20cf,
        0xef06_e51b_d73a_7a2f,
        0xcfeb_980c_2b5f_2bb0,
        0xc97d_46a6_3213_6375,
        0x1fc4_08ae_bf8c_19b1,
    ];
    let mut cpu = saved(&mut numbers, 6, MPMUL + 7);
    store(&mut cpu, X, &A_WORDS);
    store(&mut cpu, A, &E);
    run(&mut cpu);
    let mut product = [0; 16];
    load(&cpu, PRODUCT, &mut product);
    assert_eq!(product, PRODUCT_WORDS);
}
