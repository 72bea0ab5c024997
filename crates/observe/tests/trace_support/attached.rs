//! Tests of attaching to running programs: they stay intact whatever happens to the tracer.

use std::fs;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use millstream_observe::trace::Mode;

use crate::{MODES, subject};

/// Returns the path of `examples/trace.rs`, a tracer in a process of its own.
fn tracer() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.join("examples/trace")
}

fn attach(mode: Mode, pid: u32) -> Child {
    let mut command = Command::new(tracer());
    if mode != Mode::Once {
        command.arg(format!("--{}", mode.name()));
    }
    command.arg(pid.to_string()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// Returns the tracer of a process, or of one of its threads.
fn tracer_of(pid: u32) -> u32 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let tracer = |status: String| -> u32 {
        status.lines().find_map(|line| line.strip_prefix("TracerPid:")).unwrap().trim().parse().unwrap()
    };
    let texts = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("status")).ok());
    texts.map(tracer).max().unwrap()
}

/// Waits until a process is traced, or until it isn't. Returns the tracer. A tracer looks through all code of a program first, which
/// takes half a minute where the processors have other work.
fn wait_for_tracer(pid: u32, wanted: bool) -> u32 {
    for _ in 0..30_000 {
        let tracer = tracer_of(pid);
        if (tracer != 0) == wanted {
            return tracer;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("process {pid} is traced by {}", tracer_of(pid));
}

/// Returns the number of bytes in executable mappings that differ from their files, and the executable
/// mappings without a file.
fn changed_bytes(pid: u32) -> (usize, Vec<String>) {
    let memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut changed = 0;
    let mut others = Vec::new();
    for line in fs::read_to_string(format!("/proc/{pid}/maps")).unwrap().lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !words[1].contains('x') || words.get(5).is_some_and(|path| ["[vdso]", "[vsyscall]"].contains(path))
        {
            continue;
        }
        let Some(path) = words.get(5).filter(|path| path.starts_with('/')) else {
            others.push(line.to_owned());
            continue;
        };
        let (start, end) = words[0].split_once('-').unwrap();
        let number = |text| u64::from_str_radix(text, 16).unwrap();
        let length = (number(end) - number(start)) as usize;
        let (mut there, mut here) = (vec![0; length], vec![0; length]);
        memory.read_exact_at(&mut there, number(start)).unwrap();
        let file = fs::File::open(path).unwrap();
        let read = file.read_at(&mut here, number(words[2])).unwrap();
        changed += there[..read].iter().zip(&here[..read]).filter(|(there, here)| there != here).count();
    }
    (changed, others)
}

#[test]
fn a_library_that_comes_after_attaching_is_watched_at_once() {
    let Some(subject) = subject().filter(|_| std::arch::is_x86_feature_detected!("sha")) else {
        return println!("SKIPPED a_library_that_comes_after_attaching_is_watched_at_once: nothing to see");
    };
    let child = Command::new(subject).args(["loads", "1500"]).stdout(Stdio::piped()).spawn().unwrap();
    let front = attach(Mode::Once, child.id());
    let output = child.wait_with_output().unwrap();
    let told = front.wait_with_output().unwrap();
    if output.status.code() == Some(77) {
        println!("SKIPPED a_library_that_comes_after_attaching_is_watched_at_once: no libcrypto.so.3");
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&told.stderr);
    assert!(text.contains("hardware SHA-1/SHA-256: Yes"), "{text}");
}

/// Starts a subject that does something until its standard input is closed, however long a busy machine takes.
fn until_told(arguments: &[&str]) -> Option<Child> {
    let mut command = Command::new(subject()?);
    let child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    sleep(Duration::from_millis(100));
    Some(child)
}

/// Starts a subject that works while signals come.
fn working() -> Option<Child> {
    until_told(&["work", "told", "3", "200"])
}

/// Tells the subject to end, and asserts that nothing that it computed was wrong.
fn assert_intact(child: Child) {
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains(" wrong 0 strange 0 "),
        "{pid}: {} {text}",
        output.status
    );
}

#[test]
fn a_process_is_attached_to_and_let_go_many_times() {
    let Some(child) = working() else { return };
    for round in 0..24 {
        let front = attach(MODES[round % 3], child.id());
        wait_for_tracer(child.id(), true);
        sleep(Duration::from_millis(60 + 17 * (round as u64 % 8)));
        send(front.id(), ["-INT", "-TERM", "-HUP"][round % 3]);
        let output = front.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(tracer_of(child.id()), 0);
        assert_eq!(changed_bytes(child.id()), (0, vec![]), "round {round}");
    }
    send(child.id(), "-0");
    assert_intact(child);
}

#[test]
fn a_process_that_has_children_all_the_time_is_let_go() {
    let Some(child) = until_told(&["forks", "told"]) else { return };
    for round in 0..12 {
        let front = attach(MODES[round % 3], child.id());
        sleep(Duration::from_millis(150 + 37 * (round as u64 % 5)));
        send(front.id(), "-INT");
        let output = front.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        // On a busy machine, the signal may arrive before the front handles signals and attaches.
        let too_early =
            output.status.signal() == Some(rustix::process::Signal::INT.as_raw()) && text.is_empty();
        assert!(output.status.success() || too_early, "round {round}: {} {text}", output.status);
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_child_in_its_parent_s_memory_outlives_an_attachment_to_the_parent() {
    for mode in MODES {
        for ends_first in [true, false] {
            let Some(child) = until_told(&["borrows", "told"]) else { return };
            sleep(Duration::from_millis(200));
            let front = attach(mode, child.id());
            wait_for_tracer(child.id(), true);
            // On a busy machine it takes the program a while to come to its AES.
            sleep(Duration::from_millis(1500));
            if !ends_first {
                send(front.id(), "-INT");
            }
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{mode:?} {output:?}");
            let told = front.wait_with_output().unwrap();
            let text = String::from_utf8_lossy(&told.stderr);
            assert!(told.status.success() && text.contains("AES: Yes"), "{mode:?} {text}");
        }
    }
}

#[test]
fn a_process_outlives_the_command_being_killed() {
    let Some(child) = working() else { return };
    for round in 0..18 {
        let mut front = attach(MODES[round % 3], child.id());
        wait_for_tracer(child.id(), true);
        sleep(Duration::from_millis(7 * (round as u64) + 20));
        front.kill().unwrap();
        front.wait().unwrap();
        wait_for_tracer(child.id(), false);
        assert_eq!(changed_bytes(child.id()), (0, vec![]), "round {round}");
    }
    assert_intact(child);
}

#[test]
fn bytes_are_put_back_when_the_tracer_is_killed() {
    let Some(child) = working() else { return };
    for round in 0..8 {
        let front = attach(Mode::Once, child.id());
        let tracer = wait_for_tracer(child.id(), true);
        // Breakpoints that fire often have fired by then: the head of guard.rs says what remains.
        sleep(Duration::from_millis(300));
        send(tracer, "-KILL");
        let output = front.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("Killed { signal: 9"), "{text}");
        assert!(!text.contains("put_back: 0 "), "something stood: {text}");
        wait_for_tracer(child.id(), false);
        assert_eq!(changed_bytes(child.id()), (0, vec![]), "round {round}");
    }
    assert_intact(child);
}
