//! Modular arithmetic: OpenSPARC T1's known answers, on both units' registers.

use super::*;
use crate::arithmetic::negative_inverse;

/// The control register for an operation on a T1 or a T2.
fn command(model: Model, op: u8, len: usize) -> u64 {
    ctl::command(model, op, len)
}

/// Puts words into the unit's memory at an index, by loading them.
fn put(bench: &mut Bench, model: Model, index: u64, words: &[u64]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    let place = bench.place(&bytes);
    operate(bench, model, 0, words.len(), index, place);
}

/// Runs an operation to its end, and answers its outcome.
fn operate(bench: &mut Bench, model: Model, op: u8, len: usize, ma_addr: u64, mpa: u64) -> Outcome {
    for (register, value) in [
        (mau_register::MPA, mpa),
        (mau_register::MA_ADDR, ma_addr),
        (mau_register::CTL, command(model, op, len)),
    ] {
        assert!(bench.spu.store(register, value));
    }
    let done = bench.run();
    assert_eq!(done.len(), 1);
    done[0].outcome
}

fn at(bench: &Bench, index: usize, len: usize) -> Vec<u64> {
    bench.spu.mau.words()[index..index + len].to_vec()
}

const MODELS: [Model; 3] = [Model::T1, Model::T2, Model::RainbowFalls];

#[test]
fn control_registers() {
    // spu_mamul.s and spu_maexp.s write these.
    assert_eq!(command(Model::T1, 2, 3) & !ctl::T1_INTERRUPT, 0x82);
    assert_eq!(command(Model::T1, 4, 3) & !ctl::T1_INTERRUPT, 0x102);
    assert_eq!(command(Model::T2, 2, 3) & !ctl::T2_INTERRUPT, 0x202);
    assert_eq!(ctl::strand(Model::T1, 0x1800), 3);
    assert_eq!(ctl::strand(Model::T2, 0x14_0000), 5);
    for model in MODELS {
        for strand in 0..model.strands() as u8 {
            assert_eq!(ctl::strand(model, ctl::with_strand(model, u64::MAX, strand)), strand);
        }
    }
}

#[test]
fn loads_and_stores() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let words: Vec<u64> = (1..=64).map(|i| i * 0x0101_0101_0101_0101).collect();
        put(&mut bench, model, 96, &words);
        assert_eq!(at(&bench, 96, 64), words, "up to the end of the memory");
        let room = bench.room(64 * 8).next_multiple_of(8);
        assert_eq!(operate(&mut bench, model, 1, 64, 96, room), Outcome::Done);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(bench.bytes(room, 512), bytes);
        assert_eq!(operate(&mut bench, model, 0, 64, 97, room), Outcome::BadOperands);
        assert_eq!(at(&bench, 96, 64), words, "nothing was loaded");
    }
}

/// `spu_mamul.s`.
#[test]
fn multiplies() {
    const MAX: u64 = u64::MAX;
    type Case = (u64, [u64; 3], [u64; 3], [u64; 3], [u64; 3]);
    let n = [0x0563db9e12344321, 0xdc15fdf3776a798b, 0xd663acd99426505f];
    let a = [0x017c07f149c5fbe7, 0x1d3fa02f8c9668dc, 0x045a16f73049ccde];
    let b = [0x5a75c6f94143432c, 0x771c2f2cd244c515, 0xb390005c4ad05215];
    let np = 0x3c53382cf10eff1f;
    let cases: [Case; 3] = [
        (1, [1, 2, 0], [0, 4, 0], [MAX, MAX, 0], [4, 8, 0]),
        (np, a, b, n, [0xc6170e73f5540f61, 0xa1abc5e6438cf9d4, 0xb15deb102bb002a1]),
        (np, b, b, n, [0x7b9b3b0e4ef16881, 0xe72c0fb79f5c72b8, 0x326d5eeea6ec8c1f]),
    ];
    for model in MODELS {
        for (np, a, b, n, x) in cases {
            let mut bench = Bench::new(model);
            for (index, words) in [(0, a), (3, b), (6, n)] {
                put(&mut bench, model, index, &words);
            }
            bench.spu.store(mau_register::NP, np);
            assert_eq!(operate(&mut bench, model, 2, 3, 0x0c_0906_0300, 0), Outcome::Done);
            assert_eq!(at(&bench, 12, 3), x);
            if a == b {
                // Two equal operands are squared by another path, with the same result.
                assert_eq!(operate(&mut bench, model, 2, 3, 0x0c_0906_0303, 0), Outcome::Done);
                assert_eq!(at(&bench, 12, 3), x);
            }
        }
    }
}

/// `spu_mared.s`.
#[test]
fn reduces() {
    let ones = [0x1000000000000000; 3];
    let cases = [
        (
            [0x23423423eadb, 0x23423efd234, 0xabc],
            [0xaaaaaaaaaaaa, 0x23423dffffe, 0xabc],
            [0xffff789789794031, 0xfd235, 0],
        ),
        (ones, [u64::MAX, u64::MAX, 0x0fffffffffffffff], [0x1000000000000001, 0x1000000000000000, 0]),
        ([1, 2, 3], [2, 2, 3], [1, 2, 3]),
        ([7, 8, 9], [7, 8, 9], [0, 0, 0]),
    ];
    for model in MODELS {
        for (a, n, r) in cases {
            let mut bench = Bench::new(model);
            put(&mut bench, model, 0, &a);
            put(&mut bench, model, 3, &n);
            assert_eq!(operate(&mut bench, model, 3, 3, 0x06_0300, 0), Outcome::Done);
            assert_eq!(at(&bench, 6, 3), r);
        }
    }
}

/// `spu_maexp.s`, and the product of its result and one.
#[test]
fn exponentiates() {
    for model in MODELS {
        let mut bench = Bench::new(model);
        let n = [0x0987654312345671, 0x1234987621abcdef, 0x54];
        // A is at 0, scratch at 0xc, N at 6, X at 9, E at 3; and 0xf is the exponent's bytes less one.
        let operands: [(u64, &[u64]); 4] = [
            (0, &[0x527ec5ea2d71d114, 0x11fdb24622dcc39e, 0x32]),
            (6, &n),
            (9, &[0xf55876def6a98074, 0x16d29e4741efa95e, 0xb]),
            (3, &[0x1abcdef, 0x9876543212345678]),
        ];
        for (place, words) in operands {
            put(&mut bench, model, place, words);
        }
        bench.spu.store(mau_register::NP, 0xce670a1f9fcb556f);
        assert_eq!(operate(&mut bench, model, 4, 3, 0x0f03_0906_0c00, 0), Outcome::Done);
        assert_eq!(at(&bench, 9, 3), [0xeba65086aab92aad, 0x357dcdff43dfd7e7, 0x22]);
        put(&mut bench, model, 0x20, &[1, 0, 0]);
        assert_eq!(operate(&mut bench, model, 2, 3, 0x30_0c06_2009, 0), Outcome::Done);
        assert_eq!(at(&bench, 0x30, 3), [0x328d471612b8c616, 0xade986958bda583e, 0x1c]);
    }
}

/// The squares of `spu_matest.s`, in the T4's words: eight words, and one in Montgomery's form.
#[test]
fn eight_words() {
    let n = [
        0x7b0027afbacbc6e9,
        0xa4723a65ecc40c9d,
        0x5ef711aa234a94cc,
        0x8dd757d77c9008fe,
        0xa207f407e5539e30,
        0xe1c0ad76a22a8288,
        0xc557cb251aa4632e,
        0xf12d26d516515418,
    ];
    let a = [
        0xd77b1dea0412fbb3,
        0xce937e7e323b24ad,
        0x9789f76700f2814a,
        0xc304e75c7364e528,
        0x18c593b16e303e89,
        0xd41e3c4838e86bde,
        0x4489cc6b34307e64,
        0x9485b72f4d9634be,
    ];
    let squared = [
        0xdccae993c06b12f2,
        0xfe6b7f087a896a33,
        0xa80c6768132a6958,
        0x56c9f8580e9fbedb,
        0x59b8788a3bbdf9ad,
        0x0901acd3e2491559,
        0xdb8ced515a773d0e,
        0x7b0ff01f4fa1eae0,
    ];
    let mut bench = Bench::new(Model::T2);
    put(&mut bench, Model::T2, 0, &a);
    put(&mut bench, Model::T2, 8, &n);
    bench.spu.store(mau_register::NP, 0xcc94152cf95c8ea7);
    assert_eq!(operate(&mut bench, Model::T2, 2, 8, 0x18_1008_0000, 0), Outcome::Done);
    assert_eq!(at(&bench, 24, 8), squared);
}

/// RSA with a key of two words: one exponent undoes the other.
#[test]
fn both_ways_through_rsa() {
    // 2^64 - 59 and 2^64 - 83 are primes; e = 65537.
    let (p, q) = (u128::from(u64::MAX) - 58, u128::from(u64::MAX) - 82);
    let n = p.wrapping_mul(q);
    let high = |x: u128| (x >> 64) as u64;
    // (2^64 - 59)(2^64 - 83) = 2^128 - 142 2^64 + 4897.
    assert_eq!((n as u64, high(n)), (4897, u64::MAX - 141));
    let words = [n as u64, high(n)];
    let phi = n - (p + q - 1);
    let d = inverse(65537, phi);
    let (np, one) = (negative_inverse(words[0]), (u128::MAX - n) + 1);
    // 2^256 mod n, by doubling.
    let square = (0..128).fold(one, |x, _| {
        let (double, over) = x.overflowing_add(x);
        if over || double >= n { double.wrapping_sub(n) } else { double }
    });
    let split = |x: u128| [x as u64, high(x)];
    let power = |bench: &mut Bench, base: [u64; 2], exponent: u128| {
        let model = Model::T1;
        bench.spu.store(mau_register::NP, np);
        put(bench, model, 0, &base);
        put(bench, model, 2, &split(square));
        put(bench, model, 4, &words);
        // A is in Montgomery's form at 8, X at 10.
        assert_eq!(operate(bench, model, 2, 2, 0x08_0604_0200, 0), Outcome::Done);
        put(bench, model, 10, &split(one));
        put(bench, model, 12, &[high(exponent), exponent as u64]);
        assert_eq!(operate(bench, model, 4, 2, 0x0f0c_0a04_0608, 0), Outcome::Done);
        put(bench, model, 14, &[1, 0]);
        assert_eq!(operate(bench, model, 2, 2, 0x10_0604_0e0a, 0), Outcome::Done);
        [at(bench, 16, 1)[0], at(bench, 17, 1)[0]]
    };
    let mut bench = Bench::new(Model::T1);
    let message = [0x0123_4567_89ab_cdef, 0x1122_3344_5566_7788];
    let secret = power(&mut bench, message, 65537);
    assert_ne!(secret, message);
    assert_eq!(power(&mut bench, secret, d), message);
}

/// The inverse of a small number.
fn inverse(e: u64, modulus: u128) -> u128 {
    let e = u128::from(e);
    // The smallest k for which k modulus + 1 is divisible by e.
    let rest = modulus % e;
    let k = (1..e).find(|k| (k * rest + 1).is_multiple_of(e)).expect("they have no common factor");
    // The sum k modulus + 1 may not fit, so it is divided piece by piece.
    k * (modulus / e) + (k * rest + 1) / e
}

#[test]
fn operations_that_are_none() {
    for op in 5..32 {
        let mut bench = Bench::new(Model::T2);
        assert_eq!(operate(&mut bench, Model::T2, op, 3, 0, 0), Outcome::BadOperands);
        let (ctl, _) = bench.spu.load(mau_register::CTL, 0, &mut bench.memory).expect("CTL");
        assert_eq!(ctl & ctl::errors(Model::T2), ctl::T2_INVALID, "op {op}");
    }
    for op in 5..8 {
        let mut bench = Bench::new(Model::T1);
        assert_eq!(operate(&mut bench, Model::T1, op, 3, 0, 0), Outcome::BadOperands);
    }
}

#[test]
fn operands_outside_the_memory() {
    // Each operation's number of operands, and the last place where an operand may begin with 16 words.
    for (op, fields) in [(2, 5), (3, 3), (4, 4)] {
        for field in 0..fields {
            for (index, fits) in [(144, true), (145, false), (255, false)] {
                let mut bench = Bench::new(Model::T2);
                let outcome = operate(&mut bench, Model::T2, op, 16, index << (8 * field), 0);
                assert_eq!(outcome == Outcome::Done, fits, "op {op}, field {field} at {index}");
                assert!(fits || outcome == Outcome::BadOperands);
            }
        }
    }
    // These are more words than the unit has.
    let mut bench = Bench::new(Model::T2);
    assert_eq!(operate(&mut bench, Model::T2, 3, 161, 0, 0), Outcome::BadOperands);
    assert_eq!(operate(&mut bench, Model::T2, 3, 160, 0, 0), Outcome::Done);
    // An exponent of 256 bytes takes 32 words.
    assert_eq!(operate(&mut bench, Model::T2, 4, 3, 0xff80_0000_0000, 0), Outcome::Done);
    assert_eq!(operate(&mut bench, Model::T2, 4, 3, 0xff81_0000_0000, 0), Outcome::BadOperands);
}

#[test]
fn busy_and_aborted() {
    for (model, busy) in [(Model::T1, ctl::T1_BUSY), (Model::T2, ctl::T2_BUSY)] {
        let mut bench = Bench::new(model);
        let ctl = |bench: &mut Bench| bench.spu.load(mau_register::CTL, 1, &mut bench.memory).expect("CTL").0;
        let place = bench.place(&[0x11; 64]);
        bench.spu.store(mau_register::MPA, place);
        bench.spu.store(mau_register::MA_ADDR, 0);
        bench.spu.store(mau_register::CTL, command(model, 0, 8));
        assert_eq!(ctl(&mut bench) & busy, busy);
        // Another strand's SYNC does not wait, and finds the unit busy on T2.
        let other = bench.spu.load(mau_register::SYNC, 1, &mut bench.memory).expect("SYNC");
        assert_eq!(other, (u64::from(model == Model::T2), vec![]));
        // Writing CTL aborts, so only the second load happens.
        bench.spu.store(mau_register::MA_ADDR, 8);
        bench.spu.store(mau_register::CTL, command(model, 0, 8));
        let (value, done) = bench.spu.load(mau_register::SYNC, 0, &mut bench.memory).expect("SYNC");
        assert_eq!((value, done.len()), (u64::from(model == Model::T2), 1));
        assert_eq!(at(&bench, 0, 8), [0; 8]);
        assert_eq!(at(&bench, 8, 8), [0x1111_1111_1111_1111; 8]);
        assert_eq!(ctl(&mut bench) & busy, 0);
        assert_eq!(bench.spu.load(mau_register::SYNC, 0, &mut bench.memory).expect("SYNC").0, 0);
    }
}

#[test]
fn interrupts_of_both_units() {
    for (model, number) in [(Model::T1, 0x74), (Model::T2, 0x3d)] {
        let mut bench = Bench::new(model);
        bench.spu.store(mau_register::CTL, ctl::with_strand(model, command(model, 3, 1), 2));
        assert_eq!(bench.spu.take_interrupt(), None);
        bench.run();
        assert_eq!(bench.spu.take_interrupt(), Some(Interrupt { trap: number, strand: 2 }));
        let quiet = command(model, 3, 1) & !(ctl::T1_INTERRUPT | ctl::T2_INTERRUPT);
        bench.spu.store(mau_register::CTL, quiet);
        bench.run();
        assert_eq!(bench.spu.take_interrupt(), None);
    }
}

/// Words that were loaded with the wrong parity are found when they are used, until they are written again.
#[test]
fn parity() {
    let model = Model::T2;
    let mut bench = Bench::new(model);
    let place = bench.place(&[0x11; 64]);
    for mask in 1..4 {
        bench.spu.store(mau_register::MPA, place);
        bench.spu.store(mau_register::MA_ADDR, 0);
        bench.spu.store(mau_register::CTL, command(model, 0, 4) | mask << 24);
        bench.run();
        assert_eq!(operate(&mut bench, model, 3, 4, 0x08_0400, 0), Outcome::Parity);
        let (ctl, _) = bench.spu.load(mau_register::CTL, 0, &mut bench.memory).expect("CTL");
        assert_eq!(ctl & ctl::errors(model), ctl::T2_HARDWARE_ERROR);
        assert_eq!(operate(&mut bench, model, 0, 4, 0, place), Outcome::Done);
        assert_eq!(operate(&mut bench, model, 3, 4, 0x08_0400, 0), Outcome::Done);
    }
}

#[test]
fn memory_that_is_not_there() {
    let mut bench = Bench::new(Model::T2);
    for op in [0, 1] {
        let outcome = operate(&mut bench, Model::T2, op, 4, 0, 0x7000_0000);
        assert!(matches!(outcome, Outcome::Failed(Fault::Bus(_))), "{outcome:?}");
        let (ctl, _) = bench.spu.load(mau_register::CTL, 0, &mut bench.memory).expect("CTL");
        assert_eq!(ctl & ctl::errors(Model::T2), ctl::T2_HARDWARE_ERROR);
    }
}

/// The work that the timing model asks for.
#[test]
fn multiplications_are_counted() {
    let mut bench = Bench::new(Model::T2);
    put(&mut bench, Model::T2, 0, &[0xf0f0_0000_0000_0000]);
    bench.spu.store(mau_register::MA_ADDR, 0x0100_1020_3040);
    bench.spu.store(mau_register::CTL, command(Model::T2, 4, 16));
    let work = bench.spu.mau.work().expect("under way");
    assert_eq!((work.kind, work.words), (Kind::Modular(Op::Exponentiate), 16));
    assert_eq!(work.multiplications, 16 + 8, "two bytes of exponent, eight bits of it set");
}
