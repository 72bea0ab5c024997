//! Every instruction that QEMU executes, against QEMU: random states, one instruction at a time.
//!
//! A case is the whole state of the processor and a few words. A small guest program (`tests/guest/differential.s`) executes
//! it under `qemu-sparc64`; here it is executed by [`Cpu::run`], and what both left is compared, register by register.
//! What QEMU 7.2 has not is checked against [`models`] written from the manuals; where it is known to be wrong, `faults`
//! says what the manual says.
//!
//! `MILLSTREAM_SEED` chooses other cases; a failure prints the seed.

mod cases;
mod faults;
mod floating;
mod machines;
mod models;
mod random;

use std::collections::BTreeMap;

use millstream_ultrasparc::isa::{self, Instruction, disassemble};

use crate::cases::Case;
use crate::machines::{Ours, qemu};
use crate::random::Random;

/// Cases of a row, and of one of floating point.
const CASES: usize = 60;
const FLOAT_CASES: usize = 250;

fn seed() -> u64 {
    match std::env::var("MILLSTREAM_SEED") {
        Ok(seed) => seed.parse().expect("MILLSTREAM_SEED is a number"),
        Err(_) => 0x5ac5,
    }
}

/// The rows that QEMU has, each with its cases.
fn cases_of(row: &Instruction, random: &mut Random) -> Vec<Case> {
    let count = if cases::is_float(row) { FLOAT_CASES } else { CASES };
    (0..count).map(|_| cases::make(row, random)).collect()
}

/// How many of a row's cases were compared, and how they went.
#[derive(Default)]
struct Tally {
    compared: usize,
    trapped: Vec<String>,
    excused: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

#[test]
fn instructions_do_what_qemu_does() {
    let seed = seed();
    let mut random = Random::new(seed);
    let (mut covered, mut left_out) = (0, BTreeMap::<&str, Vec<&str>>::new());
    let mut all = Vec::new();
    for row in isa::rows() {
        match cases::reason_to_leave_out(row) {
            Some(reason) => left_out.entry(reason).or_default().push(row.name),
            None => {
                covered += 1;
                all.push((*row, cases_of(row, &mut random)));
            }
        }
    }
    let mut ours = Ours::new();
    let results: Vec<_> =
        all.iter().map(|(_, cases)| cases.iter().map(|case| ours.execute(case)).collect()).collect();
    let tallies = compare(&all, &results);
    let mut wrong = 0;
    for ((row, _), tally) in all.iter().zip(&tallies) {
        if tally.wrong.is_empty() && tally.compared >= 5 {
            continue;
        }
        wrong += 1;
        eprintln!(
            "{} ({:#010x}): {} compared, {} trapped, {} wrong",
            row.name,
            row.value,
            tally.compared,
            tally.trapped.len(),
            tally.wrong.len()
        );
        if tally.compared < 5 {
            eprintln!("    {:?}", tally.trapped.first());
        }
        for text in tally.wrong.iter().take(3) {
            eprintln!("{text}");
        }
    }
    for (reason, names) in &left_out {
        eprintln!("not compared with qemu, as {reason}: {}", names.join(" "));
    }
    let mut excused = BTreeMap::<&str, usize>::new();
    for (reason, count) in tallies.iter().flat_map(|tally| &tally.excused) {
        *excused.entry(reason).or_default() += count;
    }
    for (reason, count) in excused {
        eprintln!("{count} cases where qemu is wrong: {reason}");
    }
    let compared: usize = tallies.iter().map(|tally| tally.compared).sum();
    eprintln!("{covered} rows, {compared} cases compared, seed {seed}");
    assert!(covered >= 480, "{covered} rows compared with qemu");
    assert!(compared >= 30_000, "{compared} cases compared with qemu");
    assert_eq!(wrong, 0, "rows that differ from qemu; seed {seed}");
}

#[test]
fn what_qemu_has_not_does_what_its_model_does() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut ours = Ours::new();
    let (mut covered, mut compared, mut wrong) = (0, 0, Vec::new());
    let mut left_out = BTreeMap::<&str, Vec<&str>>::new();
    for row in isa::rows() {
        let Some(reason) = cases::reason_to_leave_out(row) else { continue };
        let cases: Vec<_> = (0..CASES).map(|_| cases::make(row, &mut random)).collect();
        if floating::has_model(row) {
            continue;
        }
        if models::expected(row, &cases[0]).is_none() {
            left_out.entry(reason).or_default().push(row.name);
            continue;
        }
        covered += 1;
        for case in &cases {
            compared += 1;
            let expected = models::expected(row, case).expect("a model");
            let differences = match ours.execute(case) {
                Ok(left) => left.differences(&expected, case),
                Err(trap) => format!("    {trap}"),
            };
            if !differences.is_empty() {
                wrong.push(format!("{}\n{}", row.name, describe(case, &differences)));
            }
        }
    }
    for (reason, names) in &left_out {
        eprintln!("no model of what {reason}: {}", names.join(" "));
    }
    eprintln!("{covered} rows, {compared} cases against models, seed {seed}");
    for text in wrong.iter().take(40) {
        eprintln!("{text}");
    }
    assert!(covered >= 73, "{covered} rows compared with models");
    assert_eq!(wrong.len(), 0, "cases that differ from their model; seed {seed}");
}

/// Sends to QEMU what did not trap here, and compares.
fn compare(all: &[(&Instruction, Vec<Case>)], results: &[Vec<Result<Case, String>>]) -> Vec<Tally> {
    let mut tallies: Vec<Tally> = all.iter().map(|_| Tally::default()).collect();
    let mut sent = Vec::new();
    for (number, ((_, cases), results)) in all.iter().zip(results).enumerate() {
        for (case, result) in cases.iter().zip(results) {
            match result {
                Ok(left) => sent.push((number, case, left)),
                Err(trap) => tallies[number].trapped.push(trap.clone()),
            }
        }
    }
    let mut start = 0;
    while start < sent.len() {
        let answers = qemu(sent[start..].iter().map(|(_, case, _)| *case));
        for ((number, case, left), answer) in sent[start..].iter().zip(&answers) {
            let (row, tally) = (all[*number].0, &mut tallies[*number]);
            tally.compared += 1;
            let differences = left.differences(answer, case);
            if differences.is_empty() {
                continue;
            }
            match faults::excuse(row, case, left, answer) {
                Some(reason) => *tally.excused.entry(reason).or_default() += 1,
                None => tally.wrong.push(describe(case, &differences)),
            }
        }
        start += answers.len();
        if start < sent.len() {
            // It died of this one: the others of the row are left out.
            let (number, case, _) = &sent[start];
            tallies[*number]
                .wrong
                .push(describe(case, &format!("    qemu died of it\n{}", left_alone(case))));
            while start < sent.len() && sent[start].0 == *number {
                start += 1;
            }
        }
    }
    tallies
}

fn left_alone(case: &Case) -> String {
    let zero = Case::from_bytes(&[0; Case::BYTES]);
    zero.differences(&zero, case).to_string() + &case.operands()
}

fn describe(case: &Case, differences: &str) -> String {
    let words: Vec<_> = case
        .words
        .iter()
        .enumerate()
        .take_while(|(_, word)| **word != cases::NOP)
        .map(|(place, word)| disassemble(*word, machines::CODE + 4 * place as u64).to_string())
        .collect();
    format!("  {}\n{differences}", words.join("; "))
}
