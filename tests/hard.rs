//! Hard programs: what they print, and how they end, is the same with and without features and breakpoints.
//!
//! They start threads, processes and programs all the time, live by signals and faults, shut themselves in, and make code
//! while they run: what a tracer does wrong shows in one of them.

use std::process::Command;

use millstream_tests::observe::{here, trace, under, without};
use millstream_tests::{Ended, hard, run};

/// What of a program's end must be the same.
type End = (Option<i32>, String);

/// As `millstream run` passes it on: 128 and the signal's number where there is no code.
fn end(ended: Ended) -> End {
    let text = String::from_utf8_lossy(&ended.out).into_owned();
    (ended.code, text)
}

/// How it ends by itself, as a shell would say it.
#[track_caller]
fn plain(command: &Command) -> End {
    // A shell tells of a signal as `millstream run` does.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", r#""$@"; exit $?"#, "sh"]).arg(command.get_program()).args(command.get_args());
    end(run(&mut shell, b""))
}

/// Runs one in every way. `count` is what it is called with where each instruction is stepped over.
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

/// Those that execute AES without asking whether it is there.
const DO_NOT_ASK: &[&str] = &["traps", "bits32"];

/// Those whose AES is where nothing proves that an instruction begins, or is of another mode: both is told.
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
