//! Keys are out of reach: no core dump or debugger shows them, and not even root finds them in the process.

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Opcode, Status};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("an_aborted_worker_leaves_no_core", an_aborted_worker_leaves_no_core),
        test("it_is_not_dumpable", it_is_not_dumpable),
        test("no_memory_that_can_be_read_has_a_key", no_memory_that_can_be_read_has_a_key),
    ]
}

fn an_aborted_worker_leaves_no_core() {
    let limit = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    // Another process must leave a core dump here, or the test would show nothing.
    let place = std::env::temp_dir().join(format!("millstream-core-{}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    let other =
        Command::new("sh").args(["-c", "kill -ABRT $$"]).arg0("sh").current_dir(&place).status().unwrap();
    std::fs::remove_dir_all(&place).unwrap();
    if !other.core_dumped() {
        println!("SKIPPED an_aborted_worker_leaves_no_core: no process leaves one here");
        return;
    }
    for signal in [Signal::ABORT, Signal::SEGV] {
        let mut worker = Worker::start(&[]);
        kill_process(Pid::from_child(&worker.child), signal).unwrap();
        let ended = worker.ended();
        assert!(ended.signal().is_some() && !ended.core_dumped(), "{ended}");
    }
}

fn it_is_not_dumpable() {
    let worker = Worker::start(&[]);
    let process = format!("/proc/{}", worker.child.id());
    if !rustix::process::geteuid().is_root() {
        let opened = std::fs::File::open(format!("{process}/mem"));
        assert_eq!(opened.unwrap_err().kind(), std::io::ErrorKind::PermissionDenied);
        return;
    }
    // The worker is not root, but its files in /proc are root's: the kernel shows processes that can't be
    // dumped so.
    let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
    assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
    assert!(status.contains("Groups:\t \n") || status.contains("Groups:\t\n"), "{status}");
    assert_eq!(std::fs::metadata(format!("{process}/environ")).unwrap().uid(), 0);
    // So another process of the worker's own user can't look.
    let look = Command::new("cat").arg(format!("{process}/maps")).uid(65534).gid(65534).output().unwrap();
    assert!(!look.status.success() && look.stdout.is_empty(), "{look:?}");
}

/// Root reads everything that can be read of a worker that has used keys in every way.
fn no_memory_that_can_be_read_has_a_key() {
    let worker = Worker::start(&[]);
    let Some(process) = worker.described("no_memory_that_can_be_read_has_a_key") else { return };
    if worker.key_memory != "memfd_secret" {
        println!("SKIPPED no_memory_that_can_be_read_has_a_key: there is no memfd_secret here");
        return;
    }
    let mut client = Client::served(&worker, grant(1));
    let keys = [(Algorithm::AesCbc, 16), (Algorithm::AesGcm, 32), (Algorithm::Sha256, 48)];
    // A constant key would be part of the program.
    let keys = keys.map(|(algorithm, len)| {
        let mut key = vec![0; len];
        rustix::rand::getrandom(&mut key[..], rustix::rand::GetRandomFlags::empty()).unwrap();
        (algorithm, key)
    });
    let handles: Vec<_> = keys.iter().map(|(algorithm, key)| client.import(*algorithm, true, key)).collect();
    client.arena.write(4096, b"what is to be seen");
    let word = ControlWord { source: 4096, source_len: 256, ..ControlWord::default() };
    let words = [
        ControlWord { opcode: Opcode::Cipher as u8, destination: 8192, iv_len: 16, ..word },
        ControlWord {
            opcode: Opcode::Aead as u8,
            destination: 8192,
            iv_len: 12,
            mac: 64,
            mac_len: 16,
            ..word
        },
        ControlWord { opcode: Opcode::Hmac as u8, mac: 64, mac_len: 32, ..word },
    ];
    for ((word, (algorithm, _)), handle) in words.into_iter().zip(&keys).zip(&handles) {
        let code = *algorithm as u8;
        let word = match algorithm {
            Algorithm::Sha256 => ControlWord { hash: code, key: *handle, ..word },
            _ => ControlWord { algorithm: code, key: *handle, ..word },
        };
        assert_eq!(client.execute(word), Status::Ok);
    }
    client.await_sleep();

    let maps = std::fs::read_to_string(format!("{process}/maps")).unwrap();
    let mut memory = std::fs::File::open(format!("{process}/mem")).unwrap();
    let (mut hidden, mut seen) = (0, false);
    for line in maps.lines() {
        let range = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        let [begin, end] = [range.0, range.1].map(|address| u64::from_str_radix(address, 16).unwrap());
        let mut bytes = vec![0; (end - begin) as usize];
        let read = memory.seek(SeekFrom::Start(begin)).and_then(|_| memory.read_exact(&mut bytes));
        if line.contains("secretmem") {
            assert!(read.is_err(), "{line} can be read");
            hidden += 1;
        }
        if read.is_err() {
            continue;
        }
        let has = |what: &[u8]| bytes.windows(what.len()).any(|window| window == what);
        seen |= has(b"what is to be seen");
        for (algorithm, key) in &keys {
            assert!(!has(key), "the key for {algorithm:?} is at {line}");
            assert!(!has(&key[..16]), "the beginning of the key for {algorithm:?} is at {line}");
        }
    }
    assert!(hidden > 0 && seen, "it looked where things are");
    // The keys were there all the time.
    for ((_, key), handle) in keys.iter().zip(handles) {
        assert_eq!(client.export(handle), *key);
    }
}
