//! Who called: in stopped programs whose callers are known.

use std::process::Command;
use std::ptr::null_mut;

use millstream_observe::code::unwind::{Caller, Registers, callers};

use crate::support::{Directory, Program, has};

/// Stops a program's first thread, and tells what it is in.
fn callers_in(program: &Program) -> Vec<Caller> {
    let registers = stopped_registers(program.pid() as libc::pid_t);
    let callers = callers(&registers, &program.memory(), &program.modules());
    for caller in &callers {
        println!("{:x} {:?} {:?} +{:x}", caller.address, caller.module, caller.function, caller.offset);
    }
    callers
}

fn stopped_registers(pid: libc::pid_t) -> Registers {
    // It says that it is ready before it waits.
    std::thread::sleep(std::time::Duration::from_millis(200));
    // SAFETY: the requests take numbers, but for the last, which fills a structure that is there.
    let found = unsafe {
        let mut found: libc::user_regs_struct = std::mem::zeroed();
        assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0), 0, "{}", std::io::Error::last_os_error());
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0), 0);
        assert_eq!(libc::waitpid(pid, null_mut(), 0), pid);
        assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut found), 0);
        found
    };
    let r = found;
    let general = [
        r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
        r.r14, r.r15,
    ];
    Registers { pc: r.rip, general }
}

/// Asserts that these functions are among the callers in this order.
fn in_order(callers: &[Caller], expected: &[&str]) {
    let mut rest = callers.iter().filter_map(|caller| caller.function.as_deref());
    for name in expected {
        assert!(rest.any(|found| found == *name), "{name} is missing from {callers:#?}");
    }
}

fn c_program(name: &str, source: &str, options: &[&str]) -> (Directory, Program) {
    let directory = Directory::new(name);
    std::fs::write(directory.path().join("a.c"), source).unwrap();
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-o", "a", "a.c"]).args(options).current_dir(directory.path());
    assert!(compile.status().unwrap().success());
    let program = Program::start(&mut Command::new(directory.path().join("a")));
    (directory, program)
}

const NESTED: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noipa))
APART int innermost(int n) { volatile char room[100]; room[n] = 1; puts("ready"); fflush(stdout); pause(); return room[1]; }
APART int middle(int n) { return innermost(n) + 1; }
APART int compare(const void *a, const void *b) { return middle(*(const int *)a) + 1; }
APART void handler(int number) { int two[] = {3, 2}; qsort(two, 2, sizeof *two, compare); }
APART int outermost(int n) { raise(SIGUSR1); return n; }
int main(int count, char **words) { signal(SIGUSR1, handler); return outermost(count) + 1; }
"#;

#[test]
fn callers_are_found_through_libraries_and_signals() {
    for options in [&[][..], &["-static"], &["-no-pie", "-fno-omit-frame-pointer"]] {
        let (_directory, program) = c_program("nested", NESTED, options);
        let callers = callers_in(&program);
        in_order(&callers, &["innermost", "middle", "compare", "qsort_r", "handler", "outermost", "main"]);
        assert!(callers.len() < 24);
        assert!(callers[0].is_named || options.contains(&"-static"));
    }
}

#[test]
fn frame_pointers_serve_where_there_are_no_tables() {
    let options =
        ["-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls"];
    let (_directory, program) = c_program("frames", NESTED, &options);
    in_order(&callers_in(&program), &["innermost", "middle", "compare"]);
}

const GO: &str = r#"
package main

import (
	"fmt"
	"runtime"
	"syscall"
)

func init() { runtime.LockOSThread() }

//go:noinline
func inner(room [64]byte) int { b := room[:1]; n, _ := syscall.Read(0, b); return n + int(room[3]) }

//go:noinline
func outer(n int) int { var room [64]byte; room[n] = 1; return inner(room) + 1 }

func main() { fmt.Println("ready"); fmt.Println(outer(3)) }
"#;

#[test]
fn callers_are_found_in_stripped_go() {
    if !has("go") {
        return;
    }
    let directory = Directory::new("go-stack");
    std::fs::write(directory.path().join("a.go"), GO).unwrap();
    let mut build = Command::new("go");
    build.args(["build", "-ldflags=-s -w", "-o", "a", "a.go"]).current_dir(directory.path());
    assert!(build.status().unwrap().success());
    let program = Program::start(&mut Command::new(directory.path().join("a")));
    in_order(
        &callers_in(&program),
        &["syscall.Syscall", "main.inner", "main.outer", "main.main", "runtime.main"],
    );
}
