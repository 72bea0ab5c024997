//! Tests hard programs: their output and their end are the same with and without features and breakpoints.
//!
//! The programs start threads, processes and programs all the time, live by signals and faults, confine
//! themselves, and make code while they run. A mistake of a tracer shows in one of them.

use std::process::Command;

use millstream_tests::observe::{here, trace, under, without};
use millstream_tests::{Ended, hard, run};

/// The part of a program's end that must be the same: the code and the output.
type End = (Option<i32>, String);

/// Returns a program's end as `millstream run` reports it: 128 and the signal's number where there is no
/// code.
fn end(ended: Ended) -> End {
    let text = String::from_utf8_lossy(&ended.out).into_owned();
    (ended.code, text)
}

/// Returns a program's end without us, as a shell reports it.
#[track_caller]
fn plain(command: &Command) -> End {
    // A shell reports a signal as `millstream run` does.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#""$@"; exit $?"#, "sh"]).arg(command.get_program()).args(command.get_args());
    end(run(&mut shell, b""))
}

/// Runs a program in every way. `count` holds its arguments for the run with `--count`.
#[track_caller]
fn check(name: &str, count: &[&str]) {
    if !here(name, &["aes", "sha"]) {
        return;
    }
    let command = hard(name);
    let wanted = plain(&command);
    assert!(!wanted.1.is_empty(), "{name} says nothing: {wanted:?}");
    for features in ["aes", "crypto", "avx512,sha"] {
        let ended = run(&mut without(features, &command), b"");
        let said = ended.err.clone();
        assert_eq!(end(ended), wanted, "{name} without {features}: {said}");
    }
    let ended = run(&mut under(&["run", "--quiet", "--knobs-only", "--without", "aes"], &command), b"");
    assert_eq!(end(ended), wanted, "{name} with knobs");
    for options in [&["--once"][..], &["--rate"], &["--once", "--without", "aes"]] {
        if options.contains(&"--without") && !here(&format!("{name}, traced without"), &["cpuid"]) {
            continue;
        }
        let (ended, found) = trace(options, &command, b"");
        let said = ended.err.clone();
        assert_eq!(end(ended), wanted, "{name}, trace {options:?}: {said}");
        let ran = found.ran(&["aes", "vaes"]);
        let may = !options.contains(&"--without") || DO_NOT_ASK.contains(&name);
        assert_eq!(!ran.is_empty(), may && !UNSEEN.contains(&name), "{name}, trace {options:?}: {ran:?}");
        if name == "bits32" {
            assert!(found.notes().contains("32-bit"), "{}", found.0);
            assert_eq!(found.answer("aes"), "unknown", "{}", found.0);
        }
    }
    let mut fewer = hard(name);
    fewer.args(count);
    let (ended, found) = trace(&["--count"], &fewer, b"");
    let said = ended.err.clone();
    let wanted = if count.is_empty() { wanted } else { plain(&fewer) };
    assert_eq!(end(ended), wanted, "{name}, trace --count: {said}");
    if !UNSEEN.contains(&name) {
        assert!(found.entries(&["aes"]) > 0, "{name}, trace --count: {}", found.0);
    }
}

/// Programs that execute AES without asking whether it exists.
const DO_NOT_ASK: &[&str] = &["traps", "bits32"];

/// Programs whose AES has no proven beginning, or runs in 32-bit mode. The trace reports both.
const UNSEEN: &[&str] = &["jit", "bits32"];

macro_rules! hard {
    ($($name:ident $($count:literal)?,)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), &[$($count)?]);
            }
        )*
    };
}

hard! {
    threads,
    forks,
    execs,
    signals,
    segv,
    traps,
    handlers,
    blocked,
    jobs,
    spawns,
    sandboxed,
    jit,
    loads,
    bits32,
    selfcheck "5000",
}
