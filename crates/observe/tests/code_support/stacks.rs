//! Tests of unwinding, in stopped programs whose callers are known.

use std::ops::Range;
use std::process::Command;
use std::ptr::null_mut;

use millstream_observe::code::generated::Generated;
use millstream_observe::code::unwind::{Caller, Registers, callers, callers_through};

use crate::support::{Directory, Program, has};

/// Stops a program's first thread, and returns the functions that it is in.
fn callers_in(program: &Program) -> Vec<Caller> {
    let registers = stopped_registers(program.pid() as libc::pid_t);
    let callers = callers(&registers, &program.memory(), &program.modules());
    for caller in &callers {
        println!("{:x} {:?} {:?} +{:x}", caller.address, caller.module, caller.function, caller.offset);
    }
    callers
}

fn stopped_registers(pid: libc::pid_t) -> Registers {
    // The program prints that it is ready before it waits.
    std::thread::sleep(std::time::Duration::from_millis(200));
    // SAFETY: the requests take numbers.
    unsafe {
        assert_eq!(libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0), 0, "{}", std::io::Error::last_os_error());
        assert_eq!(libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0), 0);
        assert_eq!(libc::waitpid(pid, null_mut(), 0), pid);
    }
    registers_of(pid)
}

/// Returns the registers of a stopped thread.
fn registers_of(thread: libc::pid_t) -> Registers {
    // SAFETY: zeros are valid registers, and the request fills a structure that exists.
    let r = unsafe {
        let mut found: libc::user_regs_struct = std::mem::zeroed();
        assert_eq!(libc::ptrace(libc::PTRACE_GETREGS, thread, 0, &raw mut found), 0);
        found
    };
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

/// A function in assembly language that no unwinding table describes, and its callers, one of which needs its
/// rbp and rbx back.
const BARE: &str = r#"
#include <alloca.h>
#include <stdio.h>
#include <string.h>
#define APART __attribute__((noinline, noipa))
long bare(long n);
__asm__(".text\n.globl bare\n.type bare,@function\nbare:\n" BODY "1: jmp 1b\n.size bare,.-bare\n");
APART long innermost(long n) { return bare(n) + 1; }
APART long middle(long n) { char *room = alloca(n * 100 + 100); memset(room, 1, n * 100); return innermost(n) + room[n]; }
APART long outermost(long n) { return middle(n) + n; }
int main(int count, char **words) { puts("ready"); fflush(stdout); return outermost(count) + 1; }
"#;

#[test]
fn callers_of_functions_without_a_table_follow_from_their_code() {
    let bodies = [
        "",
        "vzeroupper\n xor %rbp, %rax\n",
        "push %rbp\n push %rbx\n sub $104, %rsp\n xor %ebp, %ebp\n xor %ebx, %ebx\n",
        // One path to the place moves rsp in a way that can't be followed.
        "push %rbp\n xor %ebp, %ebp\n test %rdi, %rdi\n jne 2f\n mov %rsp, %rbp\n and $-64, %rsp\n 2: push %rbx\n",
    ];
    for body in bodies {
        let body = format!("-DBODY=\"{}\"", body.replace('\n', "\\n"));
        let (_directory, program) = c_program("bare", BARE, &[&body]);
        let callers = callers_in(&program);
        let names: Vec<_> = callers.iter().filter_map(|caller| caller.function.as_deref()).collect();
        assert_eq!(names[..5], ["bare", "innermost", "middle", "outermost", "main"], "{body}");
    }
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

const JAVA: &str = r#"
import javax.crypto.*; import javax.crypto.spec.*;
public class Busy {
    static byte[] work(Cipher cipher, byte[] data) throws Exception { return cipher.update(data); }
    public static void main(String[] arguments) throws Exception {
        byte[] key = new byte[16], data = new byte[1 << 14];
        Cipher cipher = Cipher.getInstance("AES/CBC/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, new SecretKeySpec(key, "AES"), new IvParameterSpec(key));
        for (int i = 0; i < 20000; i++) { data = work(cipher, data); }
        System.out.println("ready");
        while (true) { data = work(cipher, data); }
    }
}
"#;

/// Threads that are traced here. They end with the value, because whoever traces a thread must also see it
/// end.
struct Threads(Vec<libc::pid_t>);

impl Threads {
    fn of(program: &Program) -> Threads {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", program.pid())).unwrap();
        let number = |entry: std::fs::DirEntry| entry.file_name().to_str().unwrap().parse().unwrap();
        let mut threads: Vec<libc::pid_t> = tasks.map(|entry| number(entry.unwrap())).collect();
        // SAFETY: the request takes numbers.
        threads.retain(|thread| unsafe { libc::ptrace(libc::PTRACE_SEIZE, *thread, 0, 0) } == 0);
        threads.sort_unstable();
        Threads(threads)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let Some((first, others)) = self.0.split_first() else { return };
        // SAFETY: the calls take numbers, and no status is written.
        unsafe {
            libc::kill(*first, libc::SIGKILL);
            for thread in others {
                while libc::waitpid(*thread, null_mut(), libc::__WALL) == *thread {}
            }
        }
    }
}

/// Stops threads now and then, until one of them is in one of these ranges.
fn caught_in(Threads(threads): &Threads, ranges: &[Range<u64>]) -> Option<Registers> {
    for _ in 0..200 {
        for thread in threads {
            let mut status = 0;
            // SAFETY: the requests take numbers, and the status is there.
            unsafe {
                libc::ptrace(libc::PTRACE_INTERRUPT, *thread, 0, 0);
                libc::waitpid(*thread, &raw mut status, libc::__WALL);
            }
            let registers = registers_of(*thread);
            if ranges.iter().any(|range| range.contains(&registers.pc)) {
                return Some(registers);
            }
            let is_signal = libc::WIFSTOPPED(status) && status >> 16 == 0;
            let signal = if is_signal { libc::WSTOPSIG(status) } else { 0 };
            // SAFETY: the request takes numbers.
            unsafe { libc::ptrace(libc::PTRACE_CONT, *thread, 0, signal) };
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    None
}

#[test]
fn callers_are_found_through_java_methods() {
    if !has("javac") {
        return;
    }
    let directory = Directory::new("java-stack");
    std::fs::write(directory.path().join("Busy.java"), JAVA).unwrap();
    let compile = Command::new("javac").arg("Busy.java").current_dir(directory.path()).status();
    assert!(compile.unwrap().success());
    let program = Program::start(Command::new("java").arg("Busy").current_dir(directory.path()));
    let (modules, memory) = (program.modules(), program.memory());
    let mut generated = Generated::new(program.pid() as i32);
    let stretches = generated.look(&memory, &modules);
    let routines = stretches.iter().flat_map(|stretch| &stretch.functions);
    let name = "StubRoutines::cipherBlockChaining_encryptAESCrypt";
    let ranges: Vec<_> = routines
        .filter(|routine| routine.name.as_deref() == Some(name))
        // The ranges leave out the code that sets up the frame or removes it.
        .map(|routine| routine.start + 64..routine.end - 32)
        .collect();
    let threads = Threads::of(&program);
    let registers = caught_in(&threads, &ranges).expect("the program encrypts all the time");
    let callers = callers_through(&registers, &memory, &modules, &generated);
    for caller in &callers {
        println!("{:x} {:?} {:?}", caller.address, caller.module, caller.function);
    }
    assert_eq!(callers[0].function.as_deref(), Some(name));
    let by_method = |caller: &Caller| {
        caller.function.as_deref().is_some_and(|name| name.starts_with("com.sun.crypto.provider."))
    };
    assert!(callers[1..].iter().any(by_method), "{callers:#?}");
}
