//! Programs of several threads do here what they do under qemu-sparc64, or what Linux says.

use std::process::{Command, Output};

mod common;
use common::{Guest, end, text};

fn guest() -> Guest {
    Guest::of("threads", &["-static"])
}

/// Runs a part, which must not take for ever.
fn ours(guest: &Guest, arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "120", env!("CARGO_BIN_EXE_sparc64")]);
    guest.run(&mut command, arguments)
}

/// A part writes what Linux says.
fn says(arguments: &[&str], expected: &str) {
    let output = ours(&guest(), arguments);
    assert_eq!(text(&output), expected, "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(end(&output), (Some(0), None), "{arguments:?}");
}

#[test]
fn counters_of_eight_threads_are_exact() {
    says(&["counters"], "counted 160028 added 160028 swapped 160028 locked 160028 of 160028\n");
}

#[test]
fn threads_are_what_they_are_under_qemu() {
    let guest = guest();
    for part in ["counters", "queues", "own", "waits", "signals", "faults", "cancel", "library", "storm"] {
        assert!(!guest.agrees(&[part]).is_empty(), "{part}");
    }
    // With the loader's own way to start, and libraries that it maps.
    assert!(!Guest::of("threads", &[]).agrees(&["own"]).is_empty());
}

#[test]
fn who_waits_in_a_call_gets_what_another_sends_after_a_while() {
    says(&["queues"], "pipe 4501500 times 3000 in order 1\n");
    says(&["waits"], "received computed\nfirst 0 second -1 1\n");
}

#[test]
fn each_thread_has_its_own_variables_registers_and_end() {
    says(&["own"], "own 828 of 828 destroyed 8 mine 7\nfirst 1\n");
}

#[test]
fn who_spins_for_another_gives_way() {
    says(&["spin"], "spun\n");
}

#[test]
fn signals_find_their_threads() {
    let expected = "kill 0
to one 1 interrupted -1 on its stack 1
to the open one 1 blocked 0 times 1
waited for 1
stack disabled here 1
gone 1
";
    says(&["signals"], expected);
    says(&["faults"], "faults 40 mine 0\n");
    says(&["cancel"], "reader cancelled 1\nlooper cancelled 1 cleaned 2\n");
    says(&["storm"], "errors 0 stormed 1\n");
}

#[test]
fn the_librarys_own_signals_are_the_programs() {
    says(&["library"], "user 0 group 0\ntimer 0 0\ncalled\n");
}

#[test]
fn locks_of_every_kind_hold() {
    // qemu tells nobody that a holder ended.
    let expected = "written 400 wrong 0 once 1 serial 1\nholder ended 1 consistent 0\n";
    says(&["locks"], expected);
    // qemu adds in the order of the host.
    says(&["futexes"], "not -1\nover 2\nboth 3\nwoken 4 word 5\nkind -1\n");
}

#[test]
fn nothing_is_left_of_a_thousand_threads() {
    says(&["thousand"], "sum 499500 left 1 grown 0\n");
}

#[test]
fn a_process_ends_as_one_of_its_threads_has_it_end() {
    let guest = guest();
    let ends = [
        ("0", (Some(42), None), ""),
        ("1", (None, Some(libc::SIGSEGV)), ""),
        ("2", (None, Some(libc::SIGABRT)), ""),
        ("3", (None, Some(libc::SIGTERM)), ""),
        ("4", (Some(44), None), "again after\n"),
    ];
    for (how, expected, said) in ends {
        // While the first thread waits, and after it has ended.
        for arguments in [&["end", how][..], &["end", how, "exits"]] {
            let output = guest.ours(arguments);
            assert_eq!((end(&output), &*text(&output)), (expected, said), "{arguments:?} {output:?}");
        }
    }
    assert_eq!(end(&ours(&guest, &["others"])), (Some(43), None));
    let output = ours(&guest, &["first"]);
    assert_eq!((end(&output), &*text(&output)), ((Some(0), None), "last\n"));
}

#[test]
fn a_thread_that_forks_is_alone_in_the_child() {
    let counted = "counted 160028 added 160028 swapped 160028 locked 160028 of 160028\n";
    let child = format!("child first 1 alone 1\n{counted}");
    let output = ours(&guest(), &["fork"]);
    let expected = format!("{child}child 0 signal 0\n{child}child -1 signal 11\n");
    assert_eq!((end(&output), text(&output)), ((Some(42), None), expected), "{output:?}");
}

#[test]
fn what_a_call_writes_to_a_page_that_was_removed_is_gone() {
    says(&["removed"], "same 1 zero 1\n");
}

#[test]
fn other_ways_to_share_and_the_emulators_signal_are_refused() {
    says(&["limits"], "own signal 0 -1 1\nkinds -1 1 -1 1\n");
}

#[test]
fn a_trace_names_threads_where_there_are_several() {
    let guest = guest();
    let traced = |part: &str| {
        let output = guest.run(Command::new(env!("CARGO_BIN_EXE_sparc64")).env("SPARC_TRACE", "1"), &[part]);
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let names = |trace: &str| {
        let names =
            trace.lines().filter_map(|line| Some(line.strip_prefix('[')?.split_once(']')?.0.to_owned()));
        names.collect::<std::collections::BTreeSet<_>>()
    };
    // The process before there was a second thread, then the first and one more.
    assert_eq!(names(&traced("spin")).len(), 3);
    assert_eq!(names(&traced("none")).len(), 1);
}
