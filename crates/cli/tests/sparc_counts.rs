//! `millstream sparc` reports what a program executed at its end, and leaves its output, status and signal as
//! they are.
//!
//! Needs `gcc-sparc64-linux-gnu` and `libc6-dev-sparc64-cross`.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::Place;
use serde_json::{Value, json};

/// The libraries of Debian's cross compiler.
const SYSROOT: &str = "/usr/sparc64-linux-gnu";

/// `hidden` has crypto instructions, and nobody calls it. With an argument the program ends by a signal.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__asm__(".text\n.type crypto,#function\ncrypto:\nmd5\nretl\nnop\n.size crypto,.-crypto\n"
        ".type hidden,#function\nhidden:\ndes_ip %f0, %f2\nretl\nnop\n.size hidden,.-hidden\n");
void crypto(void);
__attribute__((noinline)) void twice(void) { crypto(); crypto(); }
int main(int argc, char **argv) {
    for (int i = 0; i < 5; i++)
        twice();
    if (argc > 2)
        return execv(argv[1], (char *[]){argv[1], NULL});
    if (argc > 1)
        abort();
    puts("done");
    fflush(stdout);
    if (fork() == 0)
        twice();
    return 3;
}
"#;

fn compiled(place: &Place, options: &[&str]) -> PathBuf {
    let (source, program) = (place.write("program.c", PROGRAM), place.path("program"));
    let mut compiler = Command::new("sparc64-linux-gnu-gcc");
    compiler.args(["-O2", "-mcpu=niagara4", "-w", "-o"]).arg(&program).arg(&source).args(options);
    let ended = common::ended(&mut compiler, b"");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    program
}

#[test]
fn a_static_program_s_functions_and_instructions_are_counted() {
    let place = Place::new();
    compiled(&place, &["-static"]);
    let ended = place.words("sparc --mix --count tw?ce --unreached ./program");
    assert_eq!((ended.code, &ended.out[..]), (Some(3), &b"done\n"[..]), "{}", ended.err);
    let lines: Vec<Vec<&str>> = ended.err.lines().map(|line| line.split_whitespace().collect()).collect();
    for line in [
        &["LIBRARY", "FUNCTION", "ENTRIES"][..],
        &["program", "twice", "5"],
        &["program", "crypto", "1", "1", "10"],
        &["program", "hidden", "1", "0", "0", "all"],
        &["md5", "10", "0.0", "%"],
    ] {
        let shorter = |found: &Vec<&str>| found == line || line[0] == "md5" && found.starts_with(&line[..2]);
        assert!(lines.iter().any(shorter), "no {line:?} in:\n{}", ended.err);
    }
}

#[test]
fn a_dynamic_program_s_libraries_have_their_names_in_a_report() {
    let place = Place::new();
    compiled(&place, &[]);
    let line =
        format!("sparc --sysroot {SYSROOT} --count libc.so.6:puts --json --report report.json ./program");
    let ended = place.words(&line);
    assert_eq!((ended.code, &ended.out[..], &*ended.err), (Some(3), &b"done\n"[..], ""));
    let report: Value = serde_json::from_slice(&place.read("report.json")).unwrap();
    let entry = json!({ "library": "libc.so.6", "function": "puts", "entries": 1 });
    assert_eq!(report["functions"], json!([entry]));
    assert_eq!(report["crypto"], 10);
    assert!(report["instructions"].as_u64() > Some(50_000), "{report:#}");
}

#[test]
fn a_program_that_a_signal_ends_is_counted_and_one_that_it_becomes_too() {
    let place = Place::new();
    let program = compiled(&place, &["-static"]);
    let ended = place.words("sparc --mix ./program die");
    assert_eq!(ended.code, None, "{}", ended.err);
    assert!(ended.err.contains("  md5 "), "{}", ended.err);
    let path = program.to_str().unwrap();
    let ended = place.words(&format!("sparc --count twice ./program {path} again"));
    assert_eq!((ended.code, &ended.out[..]), (Some(3), &b"done\n"[..]), "{}", ended.err);
    assert_eq!(ended.err.matches("LIBRARY").count(), 1, "{}", ended.err);
}

#[test]
fn instructions_are_shown_with_their_functions() {
    let place = Place::new();
    compiled(&place, &["-static"]);
    let text = place.words("sparc --disassemble=hidden ./program").text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].ends_with("<hidden>:") && lines[2].ends_with("des_ip  %f0, %f2"), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
    let all = place.words("sparc --disassemble ./program").text();
    assert!(all.lines().count() > 50_000 && all.contains("Section .text:"));
    place.words("sparc --disassemble=no_such ./program").bad(2, &["no function's name matches \"no_such\""]);
    place.words("sparc --disassemble ./program.c").bad(1, &["./program.c: not an ELF file for 64-bit SPARC"]);
}

#[test]
fn a_report_that_can_not_be_written_is_noticed_before_the_program_runs() {
    let place = Place::new();
    compiled(&place, &["-static"]);
    place.words("sparc --mix --report no/such/file ./program").bad(1, &["no/such/file"]);
}
