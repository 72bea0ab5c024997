//! `millstream sparc` as a command: what it prints about processors, and how it ends as the program does.
//! Programs are in assembly, so that a test needs only an assembler and a linker.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// Without an argument, it exits with the low bits of %cfr. With one, it executes the first AES instruction,
/// and with more, an addition whose tag overflows.
const PROGRAM: &str = "
        .globl _start
_start: ldx [%sp + 2047 + 128], %o0
        cmp %o0, 2
        bg %xcc, 2f
        cmp %o0, 1
        be,a %xcc, 1f
        mov 188, %g1
        .word 0x8cc80802            ! aes_eround01 %f0, %f2, %f4, %f6
        mov 188, %g1
        ta 0x6d
1:      rd %asr26, %o0
        and %o0, 0xff, %o0
        ta 0x6d
2:      taddcctv %g0, 1, %g1
";

fn sparc(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_millstream"))
        .arg("sparc")
        .args(arguments)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Assembles and links the program; each test has its own.
fn program(name: &str) -> String {
    let place =
        |suffix: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("sparc-{name}{suffix}"));
    let (source, object, linked) = (place(".s"), place(".o"), place(""));
    std::fs::write(&source, PROGRAM).expect("a file in the target directory");
    for (tool, arguments) in [
        (
            "sparc64-linux-gnu-as",
            vec!["-Av9m".as_ref(), "-64".as_ref(), "-o".as_ref(), object.as_os_str(), source.as_os_str()],
        ),
        ("sparc64-linux-gnu-ld", vec!["-o".as_ref(), linked.as_os_str(), object.as_os_str()]),
    ] {
        let made = Command::new(tool).args(arguments).output().expect("install binutils-sparc64-linux-gnu");
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    linked.to_str().expect("a name in UTF-8").to_owned()
}

#[test]
fn isainfo_is_what_it_was() {
    let t4 = text(&sparc(&["--isainfo"]).stdout);
    assert!(t4.starts_with("64-bit sparcv9 applications\n        crc32c cbcond pause mont mpmul"), "{t4}");
    let without = text(&sparc(&["--isainfo", "--hwcap", "-aes -mont"]).stdout);
    assert!(!without.contains(" aes") && !without.contains("mont ") && without.contains("des"), "{without}");
    let t1 = text(&sparc(&["--isainfo", "--cpu", "t1"]).stdout);
    assert!(t1.contains("asi_blk_init") && !t1.contains("vis3"), "{t1}");
}

#[test]
fn a_wrong_name_lists_the_right_ones() {
    let wrong = sparc(&["--hwcap", "-eas", "x"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("popc vis vis2"), "{}", text(&wrong.stderr));
    assert_eq!(sparc(&["--cpu", "t5", "x"]).status.code(), Some(2));
    assert_eq!(sparc(&[]).status.code(), Some(2));
}

#[test]
fn a_capability_that_is_taken_away_is_gone_from_cfr_and_traps() {
    let program = program("capability");
    assert_eq!(sparc(&[&program]).status.code(), Some(0xff));
    assert_eq!(sparc(&["--hwcap", "-aes -des", &program]).status.code(), Some(0xfc));
    let aes = |options: &[&str]| sparc(&[options, &[&program, "now"]].concat()).status;
    assert_eq!(aes(&[]).code(), Some(2), "the number of arguments");
    for options in [&["--hwcap", "-aes"][..], &["--cpu", "t3"], &["--cpu", "ultrasparc2"]] {
        assert_eq!(aes(options).signal(), Some(4), "{options:?}: SIGILL");
    }
}

/// The host has no SIGEMT, and its name for the number that stands for it misleads.
#[test]
fn a_tag_overflow_is_named() {
    let ended = sparc(&[&program("overflow"), "with", "arguments"]);
    assert_eq!(ended.status.signal(), Some(16));
    assert!(text(&ended.stderr).contains("SIGEMT"), "{}", text(&ended.stderr));
}

#[test]
fn what_can_not_be_run_is_named() {
    let missing = sparc(&["/nothing/there"]);
    assert_eq!(missing.status.code(), Some(127));
    let other = sparc(&["/bin/sh"]);
    assert_eq!(other.status.code(), Some(126));
    assert!(text(&other.stderr).contains("this is "), "{}", text(&other.stderr));
}

#[test]
fn system_calls_are_told() {
    let told = sparc(&["--trace-syscalls", &program("told")]);
    assert!(text(&told.stderr).contains("exit_group:188(255)"), "{}", text(&told.stderr));
}
