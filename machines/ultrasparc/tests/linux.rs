//! Programs in C, cross-compiled here, do on the emulator what they do under qemu-sparc64, where that can do it at all; else
//! what Linux says.

use std::process::Command;

mod common;
use common::{Guest, NONE, end, text};

#[test]
fn files_are_what_they_are_under_qemu() {
    let text = Guest::of("files", &["-static"]).agrees(NONE);
    assert!(text.lines().count() > 70, "{text}");
}

#[test]
fn a_dynamic_program_finds_its_libraries_in_the_sysroot() {
    Guest::of("files", &[]).agrees(NONE);
    let without = Guest::of("files", &[]);
    let refused = without.run(&mut Command::new(env!("CARGO_BIN_EXE_sparc64")), NONE);
    assert_eq!(end(&refused), (Some(126), None));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--sysroot /usr/sparc64-linux-gnu"));
}

#[test]
fn signals_are_what_they_are_under_qemu() {
    let guest = Guest::of("signal", &["-static"]);
    let text = guest.agrees(NONE);
    assert!(text.contains("kill -1 errno 22"), "{text}");
    assert_eq!(end(&guest.ours(NONE)).1, Some(libc::SIGABRT));
}

#[test]
fn an_undelivered_signal_ends_the_emulator() {
    let guest = Guest::of("signal", &["-static"]);
    // SPARC's numbers: HUP, SEGV, SYS, TERM, USR1, USR2, BUS.
    let signals = [
        (1, libc::SIGHUP),
        (11, libc::SIGSEGV),
        (12, libc::SIGSYS),
        (15, libc::SIGTERM),
        (30, libc::SIGUSR1),
        (31, libc::SIGUSR2),
        (10, libc::SIGBUS),
    ];
    for (sparc, host) in signals {
        assert_eq!(end(&guest.ours(&[sparc.to_string()])), (None, Some(host)), "{sparc}");
    }
    // SIGCHLD and SIGURG do nothing.
    for sparc in [20, 16] {
        assert_eq!(end(&guest.ours(&[sparc.to_string()])), (Some(99), None), "{sparc}");
    }
}

#[test]
fn sockets_are_what_they_are_under_qemu() {
    let text = Guest::of("sockets", &["-static"]).agrees(NONE);
    assert!(text.contains("client 0"), "{text}");
}

#[test]
fn memory_is_what_it_is_under_qemu() {
    let guest = Guest::of("memory", &["-static"]);
    guest.agrees(&["one", "two words", ""]);
    // A megabyte of arguments.
    let long = vec!["x".repeat(100_000); 10];
    assert!(guest.agrees(&long).contains("argc 11 last 100000"));
}

#[test]
fn processes_start_wait_for_and_end_each_other() {
    let guest = Guest::of("processes", &["-static"]);
    let output = guest.ours(NONE);
    let expected = "waited 1
plain: exit 3
signalled: signal 9
signalled: signal 30
signalled: signal 11
stopping: stopped 17
going on: continued
waitid: signal 20 code 1 status 0 pid 1
nobody: -1 errno 10
pipe: 10000, times 1
common 5 own 0
no longer common 0
another name 3 with argument blue green
exec: exit 42
spawn 0
spawned 2 - blue green
spawn: exit 42
echo from a shell
shell: exit 5
exec nothing: errno 2
exec a directory: errno 13
setrlimit 0
descriptors 100, dup beyond: -1 errno 9
groups 1 session 1
";
    let mut lines: Vec<_> = text(&output).lines().map(str::to_owned).collect();
    let mut wanted: Vec<_> = expected.replace("echo from", "from").lines().map(str::to_owned).collect();
    // Who writes first, the child or the parent, is chance.
    lines.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
    assert_eq!(end(&output).1, Some(libc::SIGTERM));
}

#[test]
fn contexts_and_traps_are_as_linux_has_them() {
    let output = Guest::of("traps", &["-static"]).ours(NONE);
    let expected = "coroutine 0 11 22
back 0
coroutine 1 11 22
back 1
coroutine 2 11 22
back 2
back 3
deep 450015000
signal 8 code 1
signal 5 code 1
signal 8 code 1
signal 4 code 4
signal 4 code 4
signal 4 code 5
signal 7 code 1
signal 11 code 1
signal 11 code 1
more than there is: 5 exact
done
";
    assert_eq!(text(&output), expected);
    assert_eq!(end(&output), (Some(0), None));
}

#[test]
fn segments_semaphores_and_queues_are_the_hosts() {
    // What Linux says; qemu turns too little over in most of the structures.
    let expected = "segment 1 1 1
stat 0 errno 0
size 24476 mode 640 own 1 creator 1 last 1 attached 2 when 1 1 key 0
child 4 saw by the child 5
protect -1 errno 13
set 0 errno 0
detach 0 errno 0
attached 1
detach again -1 errno 22
remove 0 errno 0
stat removed 0 errno 0
mode 1600
other 1 0
stat gone -1 errno 22
attach gone -1 errno 22
occupied -1 errno 22
odd -1 errno 22
round 1
remap 1 attached 1
no such -1 errno 2
setall 0 errno 0
setval 0 errno 0
values 1 7 300
semop 0 errno 0
now 0 200 pid 1
nowait -1 errno 11
timed -1 errno 11
waited 0 errno 0
undone 7
stat 0 errno 0
3 semaphores mode 600 when 1 1
set 0 errno 0
info 1 1
too many -1 errno 7
remove 0 errno 0
gone -1 errno 22
send 0 errno 0
send 0 errno 0
stat 0 errno 0
2 messages, 11 bytes, from 1, mode 600
set 0 errno 0
short -1 errno 7
not third 5 errno 0
type 123456789a long
cut 2 errno 0
type 3 th
none -1 errno 75
no type -1 errno 22
waited 1 errno 0
remove 0 errno 0
queue 1 cloexec 1
again -1 errno 17
none -1 errno 2
notify 0 errno 0
send 0 errno 0
notified 30142
send 0 errno 0
flags 0 most 4 size 100 now 2
receive 6 errno 0
second 9
small -1 errno 40
receive 5 errno 0
first 1
timed -1 errno 60
set 0 errno 0
nonblocking -1 errno 11
flags 1, before 0
unlink 0 errno 0
gone -1 errno 2
counted 40000 under a mutex 4000 under a lock 4000
nobody -1 errno 60
";
    let guest = Guest::of("ipc", &["-static"]);
    for arguments in [NONE, &["direct"]] {
        let output = guest.ours(arguments);
        assert_eq!(text(&output), expected, "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(end(&output), (Some(0), None));
    }
}

#[test]
fn a_file_that_is_mapped_to_be_shared_is_the_file_itself() {
    // qemu dies of the device.
    let expected = "at once|at once
from a call
by a child
sync 0 errno 0
protect -1 errno 13
protect 0 errno 0
write what is read -1 errno 13
read what is written -1 errno 13
own 0 errno 0
by a child|from a call|far
shrink 1 errno 0
by a child
short file 0
1 Short file short file
zeros 9
device -1 errno 19
opened 1 1
waited 0 errno 0
number 6
unlink 0 errno 0
unlink 0 errno 0
seal 0 errno 0
write -1 errno 1
read 0 errno 0
";
    let output = Guest::of("shared", &["-static"]).ours(NONE);
    assert_eq!(text(&output), expected, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn who_touches_what_is_behind_a_files_end_gets_sigbus() {
    // What Linux says; qemu dies of it.
    const CALLS: &str = "write -1 errno 14
write part -1 errno 14
read -1 errno 14
names -1 errno 14
path -1 errno 14
pieces -1 errno 14
sync 0 errno 0
";
    let touches = "load bus 1 code 2 page 2 and 5
wide load bus 1 code 2 page 2 and 16
short load bus 1 code 2 page 2 and 2
int load bus 1 code 2 page 2 and 4
float load bus 1 code 2 page 2 and 8
store bus 1 code 2 page 3 and 0
short store bus 1 code 2 page 3 and 2
int store bus 1 code 2 page 3 and 4
wide store bus 1 code 2 page 3 and 8
exchange bus 1 code 2 page 3 and 4
went on 0
before done
is 7 1
copy bus 1 code 2 page 2 and 0
protected bus 1 code 2 page 3 and 0
ended 1 1 1
grown 1 42
there done
taken bus 1 code 2 page 1 and 0
kept done
";
    let guest = Guest::of("ended", &["-static"]);
    let output = guest.ours(NONE);
    // Without a handler, with one, and when another process has made the file shorter.
    assert_eq!(text(&output), [CALLS, CALLS, touches, CALLS].concat());
    assert_eq!(end(&output), (Some(0), None));
    assert_eq!(end(&guest.ours(&["unhandled"])), (None, Some(libc::SIGBUS)));
}

#[test]
fn pending_signals_are_read_with_sparcs_numbers() {
    // qemu loses what is sent along.
    let expected = "signalfd 1 1 1
none -1 errno 11
read 1 errno 0
signal 30 code 0 errno 0 own 1 user 1 int 0 ptr 0 status 0
two 1 errno 0
1 -1 4d; 1 -1 123456789abcdef
child 1 errno 0
signal 20 code 2 status 9 of 1
signal 20 code 1 status 30
changed 1 errno 0
ready 1 errno 0
copy 1 errno 0
signal 31
pending 1 0
wrong size -1 errno 22
old 1 errno 0
";
    assert_eq!(text(&Guest::of("descriptors", &["-static"]).ours(&["signals"])), expected);
}

#[test]
fn numbers_of_the_kernel_are_in_the_programs_order() {
    let guest = Guest::of("descriptors", &["-static"]);
    // qemu does not know descriptors that come from elsewhere, nor what is read into pieces.
    let expected = "event 3
event 603
timer 1
given 9
watch 1 mask 100 cookie 0 name one
watch 1 mask 200 cookie 0 name one
";
    assert_eq!(text(&guest.ours(&["numbers"])), expected);
    for what in ["pipes", "handles"] {
        assert!(guest.agrees(&[what]).lines().count() >= 5, "{what}");
    }
    // qemu passes on the half of what is to be set, and what lay on its stack.
    assert_eq!(
        text(&guest.ours(&["capabilities"])),
        "capget 0 errno 0\nsame 1 1\nunknown -1 errno 22\nversion 20080522 asked 0 errno 0\ncapset 0 errno 0\nnone 0 errno 0\n\
         more -1 errno 1\nleft 0 0\n"
    );
    assert_eq!(text(&guest.ours(&["long"])), "too long -1 errno 22\n");
    // Nor an epoll's places, nor what the log's reader has to name.
    assert_eq!(
        text(&guest.ours(&["compared"])),
        "same file 0 errno 0\nother 1\nclosed -1 errno 9\nkind -1 errno 22\nepoll 1\n"
    );
    assert_eq!(text(&guest.ours(&["log"])), "kind -1 errno 22\nnowhere -1 errno 22\nlog 1 1\n");
}

#[test]
fn what_is_no_program_for_this_machine_is_named() {
    let run = |program: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_sparc64")).arg(program).output().unwrap();
        assert_eq!(end(&output), (Some(126), None));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run("/bin/ls").contains("this is "), "{}", run("/bin/ls"));
    assert!(run("/etc/passwd").contains("no ELF"));
    assert!(run("/nothing").contains("No such file"));
}
