//! Opened plaintext is held back in memory that the worker took when it began. Many clients can open at a
//! time, and nothing that is held lies in ordinary memory.

use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, ControlWord, Flags, Opcode, Status};
use millstream_protocol::Grant;

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("openings_leave_others_theirs", openings_leave_others_theirs),
        test("openings_take_no_ordinary_memory", openings_take_no_ordinary_memory),
    ]
}

const LONGEST: u32 = 16 << 20;

/// Seals so many bytes with a key, and returns the word that opens them in place.
fn sealed(client: &mut Client, len: u32) -> ControlWord {
    let key = client.import(Algorithm::AesGcm, false, &[7; 16]);
    let seal = ControlWord {
        opcode: Opcode::Aead as u8,
        algorithm: Algorithm::AesGcm as u8,
        key,
        source: 64,
        source_len: len,
        destination: 64 + len,
        iv: 0,
        iv_len: 12,
        mac: 16,
        mac_len: 16,
        ..ControlWord::default()
    };
    client.arena.write(64, &vec![0x5a; len as usize]);
    assert_eq!(client.execute(seal), Status::Ok);
    client.arena.write(64, &vec![0; len as usize]);
    ControlWord { flags: Flags::REVERSE, source: 64 + len, destination: 64, ..seal }
}

/// Makes a client with something to open.
fn opener(worker: &Worker, id: u64, len: u32) -> (Client, ControlWord) {
    let mut client = Client::served(worker, Grant { arena_bytes: 2 * len + 4096, ..grant(id) });
    let open = sealed(&mut client, len);
    (client, open)
}

/// Opens it again and again, one at a time, checks the result, and returns the longest time.
fn opens((client, open): &mut (Client, ControlWord), times: u64) -> Duration {
    let longest = (0..times).map(|tag| {
        let begin = Instant::now();
        assert_eq!(client.execute(ControlWord { tag, ..*open }), Status::Ok);
        let took = begin.elapsed();
        assert!(client.read(64, open.source_len as usize).iter().all(|byte| *byte == 0x5a));
        took
    });
    longest.max().unwrap_or_default()
}

/// Submits as many openings of the longest objects as a grant can have under way.
fn flood((client, open): &mut (Client, ControlWord)) {
    let words: Vec<_> = (0..8).map(|tag| ControlWord { tag, ..*open }).collect();
    client.submit(&words);
}

fn openings_leave_others_theirs() {
    let worker = Worker::start(&[]);
    // The first has another size than the floods, and the second waits in line with them.
    let mut short = opener(&worker, 1, 64 << 10);
    let mut long = opener(&worker, 2, 2 << 20);
    let mut floods: Vec<_> = (3..6).map(|id| opener(&worker, id, LONGEST)).collect();
    flood(&mut floods[0]);
    let took = opens(&mut short, 20);
    // Other tests run beside this one.
    assert!(took < Duration::from_secs(2), "{took:?} beside one grant's");
    floods[1..].iter_mut().for_each(flood);
    let took = opens(&mut short, 20);
    assert!(took < Duration::from_secs(2), "{took:?} beside those of three");
    let took = opens(&mut long, 2);
    assert!(took < Duration::from_secs(10), "{took:?} in line");
    for (client, _) in &mut floods {
        for _ in 0..8 {
            assert_eq!(client.next().status(), Some(Status::Ok));
        }
        assert!(client.read(64, LONGEST as usize).iter().all(|byte| *byte == 0x5a));
    }
}

/// Returns the longest object that a worker opens. The worker reports it where it may lock too little memory
/// for the usual one.
fn longest(worker: &Worker) -> u32 {
    let told =
        worker.key_memory.split_once("objects of more than ").and_then(|(_, rest)| rest.split_once(" KiB"));
    let told = told.map(|(kibibytes, _)| kibibytes.parse::<u32>().unwrap() << 10);
    told.unwrap_or(LONGEST)
}

/// Returns the private bytes of a process that are neither locked nor hidden.
fn ordinary(process: &str) -> u64 {
    let maps = std::fs::read_to_string(format!("{process}/smaps")).unwrap();
    let (mut all, mut own) = (0, 0);
    for line in maps.lines() {
        let mut fields = line.split_whitespace();
        match fields.next() {
            Some("Anonymous:") => own = fields.next().unwrap().parse::<u64>().unwrap() << 10,
            Some("VmFlags:") if !fields.any(|flag| flag == "lo") => all += own,
            _ => {}
        }
    }
    all
}

fn openings_take_no_ordinary_memory() {
    for options in [&[][..], &["--hidden", "no"]] {
        let worker = Worker::start(options);
        let Some(process) = worker.described("openings_take_no_ordinary_memory") else { return };
        if worker.key_memory.contains("ordinary") {
            println!("SKIPPED openings_take_no_ordinary_memory: keys are in {}", worker.key_memory);
            continue;
        }
        let mut openers: Vec<_> = (1..5).map(|id| opener(&worker, id, longest(&worker))).collect();
        let before = ordinary(&process);
        openers.iter_mut().for_each(flood);
        let mut most = before;
        for (client, open) in &mut openers {
            for _ in 0..8 {
                assert_eq!(client.next().status(), Some(Status::Ok));
                most = most.max(ordinary(&process));
            }
            let longer = ControlWord { source_len: open.source_len + 1, destination: 32, ..*open };
            assert_eq!(client.execute(longer), Status::TooLong);
        }
        // The difference may be a page here and there, but never an object that is held.
        assert!(most - before < 128 << 10, "{before} bytes were ordinary memory, and then {most}");
    }
}
