//! AES instructions that are executed together: both halves of a round, and rounds one after another.
//!
//! Only both halves together need the whole round that each half computes, and only in a run of rounds does the state
//! stay in one of the host's registers. The runs looked for are those that OpenSSL's and Linux's code have: the keys in
//! registers one after another, the state's second half where it was, its first half going to and fro; and two blocks
//! that take turns with the same keys.

use crate::cpu::Op;
use crate::isa::{Fusion, Word, double};
use crate::t4::aes::handlers;
use crate::t4::aes::rounds::{DECRYPT, DECRYPT_LAST, ENCRYPT, ENCRYPT_LAST};
use crate::t4::doubles;

/// The most rounds in a row: of AES-256, all but the last, and there are no more registers for keys anyway.
const MOST: usize = 13;

/// Both halves of one round, so often.
const HALVES: [[&str; 4 * MOST]; 2] = {
    let mut halves = [[""; 4 * MOST]; 2];
    let mut i = 0;
    while i < 2 * MOST {
        (halves[ENCRYPT][2 * i], halves[ENCRYPT][2 * i + 1]) = ("aes_eround01", "aes_eround23");
        (halves[DECRYPT][2 * i], halves[DECRYPT][2 * i + 1]) = ("aes_dround01", "aes_dround23");
        i += 1;
    }
    halves
};

/// So many instructions from the start of the names.
const fn first(kind: usize, instructions: usize) -> &'static [&'static str] {
    const NAMES: &[[&str; 4 * MOST]; 2] = &HALVES;
    NAMES[kind].split_at(instructions).0
}

/// The list, the longest first.
pub const FUSIONS: &[Fusion] = &LIST;

const LIST: [Fusion; 4 * (MOST - 1) + 4] = {
    let mut list = [Fusion { rows: &["aes_eround01_l", "aes_eround23_l"], make: pair::<ENCRYPT_LAST> };
        4 * (MOST - 1) + 4];
    let (mut rounds, mut at) = (MOST, 0);
    while rounds > 1 {
        list[at] = Fusion { rows: first(ENCRYPT, 4 * rounds), make: twins::<ENCRYPT> };
        list[at + 1] = Fusion { rows: first(DECRYPT, 4 * rounds), make: twins::<DECRYPT> };
        at += 2;
        rounds -= 1;
    }
    rounds = MOST;
    while rounds > 1 {
        list[at] = Fusion { rows: first(ENCRYPT, 2 * rounds), make: run::<ENCRYPT> };
        list[at + 1] = Fusion { rows: first(DECRYPT, 2 * rounds), make: run::<DECRYPT> };
        at += 2;
        rounds -= 1;
    }
    list[at] = Fusion { rows: first(ENCRYPT, 2), make: pair::<ENCRYPT> };
    list[at + 1] = Fusion { rows: first(DECRYPT, 2), make: pair::<DECRYPT> };
    list[at + 2] = Fusion { rows: &["aes_dround01_l", "aes_dround23_l"], make: pair::<DECRYPT_LAST> };
    list
};

/// The registers of two instructions that make a whole round.
#[derive(Clone, Copy)]
struct Round {
    keys: [u8; 2],
    state: [u8; 2],
    results: [u8; 2],
}

impl Round {
    /// They are a round if the second has the same state as the first had.
    fn of(words: &[Word]) -> Option<Round> {
        let [first, second] = [words.first()?, words.get(1)?];
        let state = [double(first.rs2()), double(first.rs3())];
        let round = Round {
            keys: [double(first.rs1()), double(second.rs1())],
            state,
            results: [double(first.rd()), double(second.rd())],
        };
        let same = [double(second.rs2()), double(second.rs3())] == state;
        let untouched = !state.contains(&round.results[0]) && round.keys[1] != round.results[0];
        (same && untouched).then_some(round)
    }
}

fn pair<const KIND: usize>(words: &[Word], _address: u64) -> Option<Op> {
    let round = Round::of(words)?;
    let imm = u64::from(round.keys[1]) | u64::from(round.results[1]) << 8;
    Some(Op { imm, ..doubles(handlers().pair[KIND], words[0]) })
}

/// The registers of a chain of rounds: where the state is, and where its first half goes.
struct Chain {
    first_key: u8,
    a: u8,
    b: u8,
    other: u8,
}

impl Chain {
    /// The chain of these rounds, if they are one.
    fn of(rounds: impl ExactSizeIterator<Item = Option<Round>>) -> Option<Chain> {
        let mut chain: Option<Chain> = None;
        let count = rounds.len() as u8;
        for (at, round) in rounds.enumerate() {
            let Round { keys, state: [a, b], results: [other, second] } = round?;
            let chain = chain.get_or_insert(Chain { first_key: keys[0], a, b, other });
            let key = chain.first_key + 2 * at as u8;
            let turn =
                if at % 2 == 0 { [chain.a, chain.b, chain.other] } else { [chain.other, chain.b, chain.a] };
            if keys != [key, key + 1] || [a, b, other] != turn || second != chain.b {
                return None;
            }
        }
        let chain = chain?;
        // The last key's register is one of the 32, and no key changes on the way.
        let keys = chain.first_key..chain.first_key + 2 * count;
        let apart = chain.a != chain.b && chain.registers().iter().all(|register| !keys.contains(register));
        (keys.end <= 32 && apart).then_some(chain)
    }

    fn registers(&self) -> [u8; 3] {
        [self.a, self.b, self.other]
    }
}

fn run<const KIND: usize>(words: &[Word], _address: u64) -> Option<Op> {
    let rounds = words.as_chunks::<2>().0;
    Chain::of(rounds.iter().map(|round| Round::of(round)))?;
    Some(Op { imm: rounds.len() as u64, ..doubles(handlers().run[KIND], words[0]) })
}

fn twins<const KIND: usize>(words: &[Word], _address: u64) -> Option<Op> {
    let rounds = words.as_chunks::<4>().0;
    let one = Chain::of(rounds.iter().map(|round| Round::of(&round[..2])))?;
    let twin = Chain::of(rounds.iter().map(|round| Round::of(&round[2..])))?;
    let apart = one.registers().iter().all(|register| !twin.registers().contains(register));
    if one.first_key != twin.first_key || !apart {
        return None;
    }
    let imm = u64::from_le_bytes([rounds.len() as u8, twin.a, twin.b, twin.other, 0, 0, 0, 0]);
    Some(Op { imm, ..doubles(handlers().twins[KIND], words[0]) })
}
