//! Every row of every engine's table as a [`Trial`]: a buffer of secrets goes in, the row's results come out
//! in the same buffer, and everything that is public stays with the trial.
//!
//! Two judges use the trials. The test of this crate runs them under valgrind with the buffer declared
//! undefined, so that each branch and each address that depends on a secret is reported.
//! `millstream-bench timing` measures whether other secrets take another time, also on rows that valgrind
//! can't execute.
//!
//! Trials are made from [`engines`]: a row that is added to a table is tried automatically, and a table that
//! this crate does not know is an error.
#![deny(unsafe_code)]

mod blocks;
mod direct;
mod folds;
mod keccak;
mod keyed;
mod lanes;
#[cfg(target_arch = "x86_64")]
pub mod memcheck;
mod publickey;
mod trial;

use millstream_cpu::Features;
use millstream_engines::{Engine, Kernel, Standing, Timing, engines};
use millstream_testkit::Random;

pub use trial::{Part, TAIL, Trial};

/// The kernel of the trials that leak on purpose.
static PLANTED: Kernel = Kernel {
    name: "planted",
    requires: millstream_cpu::FeatureSet::EMPTY,
    timing: Timing::Variable,
    note: "leaks on purpose, so that the judges can be judged",
};

/// Returns the trials of a row under `features`; none for checksums, which make no claim.
///
/// # Errors
/// Names the engine when this crate does not know how to try it.
pub fn trials(engine: &dyn Engine, kernel: &Kernel, features: Features) -> Result<Vec<Trial>, String> {
    let algorithm = engine.algorithm();
    if algorithm.standing == Standing::NotCryptographic {
        return Ok(Vec::new());
    }
    let row = Row { algorithm: algorithm.name, key_bits: algorithm.key_bits, name: kernel.name, features };
    let trials = publickey::trials(row)
        .or_else(|| keccak::trials(row))
        .or_else(|| folds::trials(row))
        .or_else(|| direct::trials(row))
        .or_else(|| lanes::trials(row));
    match trials {
        Some(trials) if !trials.is_empty() => Ok(trials),
        _ => {
            Err(format!("{} on {} is not tried: add it to crates/constant-time", algorithm.name, kernel.name))
        }
    }
}

/// Returns the trials of every row that `features` allow, rows of constant time first, and the other rows
/// with their algorithms.
///
/// # Errors
/// The same as for [`trials`].
#[allow(clippy::type_complexity)]
pub fn all(features: Features) -> Result<(Vec<Trial>, Vec<(&'static str, &'static Kernel)>), String> {
    let (mut tried, mut missing) = (direct::helpers(features), Vec::new());
    tried.extend(keyed::trials(features));
    for engine in engines().iter().chain(millstream_publickey::engines()) {
        for kernel in engine.kernels() {
            if features.contains(kernel.requires) {
                tried.extend(trials(*engine, kernel, features)?);
            } else if engine.algorithm().standing != Standing::NotCryptographic {
                missing.push((engine.algorithm().name, kernel));
            }
        }
    }
    // Leaking rows come last: valgrind prints a report once for each place, and they must not hide reports on
    // the others.
    tried.sort_by_key(|trial| trial.kernel().timing != Timing::Constant);
    Ok((tried, missing))
}

/// Returns trials that leak on purpose: a branch on a secret, and a table index that a secret chooses.
pub fn planted() -> Vec<Trial> {
    let branch = Trial::new("planted", &PLANTED, "branch", 16, &[64], |key, parts| {
        // The comparison stops at the first difference, with a key whose bytes count up.
        let mut rounds = 1;
        for (i, byte) in key.iter().enumerate() {
            if usize::from(*byte) != i {
                break;
            }
            rounds += 64;
        }
        for _ in 0..rounds {
            let data = std::hint::black_box(&mut *parts[0].data);
            data.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3).wrapping_add(1));
        }
    });
    let index = Trial::new("planted", &PLANTED, "index", 16, &[64], |key, parts| {
        let table = std::hint::black_box([7_u8; 256]);
        for (byte, key) in parts[0].data.iter_mut().zip(key) {
            *byte ^= table[usize::from(*key)];
        }
    });
    vec![branch, index]
}

/// A row, with the features it is called under.
#[derive(Clone, Copy)]
struct Row {
    algorithm: &'static str,
    key_bits: &'static [usize],
    name: &'static str,
    features: Features,
}

/// Returns secrets that are the same in every run.
pub fn secrets(seed: u64, len: usize) -> Vec<u8> {
    Random::new(seed).bytes(len)
}
