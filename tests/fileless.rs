//! Tests the answers of `millstream trace` about code in no file: it never gives a false *no*.

use std::process::Command;

use millstream_tests::observe::{Findings, here, trace};
use millstream_tests::{hard, program};

/// Traces the subject, which executes an AES round in memory of this kind.
#[track_caller]
fn traced(kind: &str) -> Option<Findings> {
    if !here(kind, &["aes"]) {
        return None;
    }
    let mut command = hard("fileless");
    command.arg(kind);
    let (ended, found) = trace(&[], &command, b"");
    assert_eq!(ended.text(), "done\n", "{kind}");
    Some(found)
}

/// Checks that the trace says that an AES round may have been executed. No bytes resemble a round of SHA.
#[track_caller]
fn may_hold(kind: &str) {
    let Some(found) = traced(kind) else { return };
    assert_eq!(found.answer("aes"), "unknown", "{kind}: {}", found.0);
    assert_eq!(found.answer("sha"), "absent", "{kind}: {}", found.0);
    assert!(found.notes().contains("holds bytes that may be such instructions: aes"), "{}", found.notes());
}

/// Checks that the trace says that anything may have been executed.
#[track_caller]
fn is_rewritable(kind: &str) {
    let Some(found) = traced(kind) else { return };
    for class in ["aes", "sha"] {
        // An instruction that the processor lacks can't have been executed.
        if here(kind, &[class]) {
            assert_eq!(found.answer(class), "unknown", "{kind}: {}", found.0);
        }
    }
    assert!(found.notes().contains("could rewrite 4 KB of executable memory unnoticed"), "{}", found.notes());
}

macro_rules! kinds {
    ($check:ident: $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $check(stringify!($name));
            }
        )*
    };
}

kinds! { may_hold: mprotect mremap overwritten bss data rodata heap stack text thread threads fork file }
kinds! { is_rewritable: rwx memfd shared }

#[test]
fn code_without_such_bytes_keeps_the_no() {
    let Some(found) = traced("plain") else { return };
    assert_eq!(found.answer("aes"), "unused", "one of its functions could: {}", found.0);
    assert_eq!(found.answer("sha"), "absent", "{}", found.0);
    assert!(!found.notes().contains("executable memory"), "{}", found.notes());
}

/// Code that is overwritten with itself is still watched.
#[test]
fn what_is_written_over_with_itself_is_watched() {
    let Some(found) = traced("same") else { return };
    assert_eq!(found.answer("aes"), "yes", "{}", found.0);
    assert!(found.ran(&["aes"]).iter().any(|place| place.contains("round_in_text")), "{}", found.0);
}

/// For real programs that make code, the answer depends on how they protect that memory.
#[test]
fn real_machines() {
    // LuaJIT's compiled code is never writable while it is executable, and holds no such bytes.
    let mut luajit = Command::new(program("luajit"));
    luajit.args(["-e", "local s = 0 for i = 1, 1e7 do s = s + i % 7 end print(s)"]);
    // Lisp's whole heap is executable and writable.
    let mut sbcl = Command::new(program("sbcl"));
    sbcl.args(["--non-interactive", "--no-userinit", "--eval", "(print 1)"]);
    for (command, wanted) in [(luajit, "absent"), (sbcl, "unknown")] {
        let name = command.get_program().to_string_lossy().into_owned();
        if here(&name, &["sha"]) {
            let (ended, found) = trace(&[], &command, b"");
            assert_eq!(ended.code, Some(0), "{name}: {}", ended.err);
            assert_eq!(found.answer("sha"), wanted, "{name}: {}", found.0);
        }
    }
}
