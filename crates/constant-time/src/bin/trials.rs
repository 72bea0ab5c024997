//! Runs every trial with its buffer declared undefined. Prints the trial's name before it, and the number of
//! errors that valgrind saw after it. The test of this crate starts this program under valgrind and reads the
//! output of both.
#![allow(missing_docs)]

#[cfg(not(target_arch = "x86_64"))]
fn main() {
    eprintln!("requests to valgrind are written for x86-64");
    std::process::exit(2);
}

#[cfg(target_arch = "x86_64")]
fn main() {
    use std::collections::{BTreeMap, BTreeSet};
    use std::time::Instant;

    use millstream_constant_time::{all, memcheck, planted, secrets};
    use millstream_cpu::Features;

    let only = std::env::args().nth(1).unwrap_or_default();
    if !memcheck::listens() {
        println!("NOTE not under valgrind: the trials run, and nothing is judged");
    }
    let features = Features::hardware();
    let (mut trials, missing) = all(features).unwrap_or_else(|why| {
        println!("FAULT {why}");
        std::process::exit(1)
    });
    trials.extend(planted());
    let mut lacking: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for (algorithm, kernel) in missing {
        let needs = kernel.requires.difference(features.set()).to_string();
        lacking.entry((kernel.name, needs)).or_default().insert(algorithm);
    }
    for ((kernel, needs), algorithms) in lacking {
        println!("MISSING {kernel} needs {needs} ({} tables)", algorithms.len());
    }
    // The result of each algorithm's first row, which the other rows must match.
    let mut answers: BTreeMap<(&str, String, usize), Vec<u8>> = BTreeMap::new();
    for trial in &mut trials {
        let name = format!(
            "{}|{}|{}|{:?}",
            trial.algorithm(),
            trial.kernel().name,
            trial.what(),
            trial.kernel().timing
        );
        let has = |texts: &str| texts.split('|').any(|text| name.contains(text));
        let chosen = only.strip_prefix('!').map_or_else(|| has(&only), |others| !has(others));
        if !chosen {
            continue;
        }
        println!("TRIAL {name}");
        let (start, mut buffer) = (Instant::now(), secrets(1, trial.len()));
        trial.prepare(&mut buffer);
        let before = memcheck::errors();
        memcheck::make_undefined(&mut buffer);
        trial.run(&mut buffer);
        let undefined = memcheck::undefined(&buffer);
        // The verdict on authenticity is public from here on, and so is the output, which is compared.
        memcheck::make_defined(&mut buffer);
        let errors = memcheck::errors() - before;
        println!("RESULT {errors} errors, {undefined} bytes undefined, {} ms", start.elapsed().as_millis());
        let answer = answers
            .entry((trial.algorithm(), trial.what().to_owned(), trial.len()))
            .or_insert_with(|| buffer.clone());
        if *answer != buffer {
            println!("FAULT {name}: not the answer of the algorithm's other rows");
        }
    }
    println!("END");
}
