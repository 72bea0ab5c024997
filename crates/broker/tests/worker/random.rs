//! A worker's random bytes: every worker has its own, they are new for each client, and seeds are fetched in time.

use std::collections::BTreeSet;

use libtest_mimic::Trial;
use millstream_cwq::{Algorithm, AlgorithmSet, ControlWord, Opcode, Status};
use millstream_protocol::{Grant, KeyPurpose, KeyRefusal, KeyReply, KeyRequest};

use crate::client::{Client, grant};
use crate::process::Worker;
use crate::test;

pub fn tests() -> Vec<Trial> {
    vec![
        test("random_bytes_of_a_worker_never_come_twice", never_twice),
        test("a_policy_can_forbid_random_bytes", forbidden),
        test("random_bytes_are_no_algorithm_for_keys", no_key),
    ]
}

const MOST: u32 = ControlWord::MOST_RANDOM_BYTES;

fn word(len: u32) -> ControlWord {
    let (opcode, algorithm) = (Opcode::Random as u8, Algorithm::Random as u8);
    ControlWord { opcode, algorithm, source_len: len, destination: 4096, ..ControlWord::default() }
}

/// Two clients of one worker and one of another draw several MiB, so that each worker seeds its generator anew while it is confined.
fn never_twice() {
    let (worker, other) = (Worker::start(&[]), Worker::start(&[]));
    let mut clients = [
        Client::served(&worker, grant(1)),
        Client::served(&worker, grant(2)),
        Client::served(&other, grant(3)),
    ];
    let mut seen = BTreeSet::new();
    let mut ones = 0_u64;
    for round in 0..40 {
        for (which, client) in clients.iter_mut().enumerate() {
            let len = if round % 4 == 0 { 100 } else { MOST };
            assert_eq!(client.execute(word(len)), Status::Ok);
            let mut bytes = vec![0; len as usize];
            client.arena.read(4096, &mut bytes);
            ones += bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            for block in bytes.chunks_exact(16) {
                let block: [u8; 16] = block.try_into().unwrap();
                assert!(seen.insert(block), "round {round}, client {which}");
            }
        }
    }
    let bits = seen.len() as u64 * 128;
    assert!((bits * 499 / 1000..bits * 502 / 1000).contains(&ones), "{ones} of {bits} bits are ones");
    // Many at once, some of them too long.
    let words: Vec<_> =
        (0..200).map(|i| ControlWord { tag: i, ..word(if i % 5 == 0 { MOST + 1 } else { 1000 }) }).collect();
    clients[0].submit(&words);
    for _ in 0..words.len() {
        let done = clients[0].next();
        let expected = if done.tag.is_multiple_of(5) { Status::DataLength } else { Status::Ok };
        assert_eq!(done.status(), Some(expected));
    }
}

fn forbidden() {
    let worker = Worker::start(&[]);
    let mut algorithms = AlgorithmSet::all();
    algorithms.remove(Algorithm::Random);
    let mut client = Client::served(&worker, Grant { algorithms: algorithms.to_bits(), ..grant(1) });
    assert_eq!(client.execute(word(64)), Status::Policy);
    let mut bytes = [0; 64];
    client.arena.read(4096, &mut bytes);
    assert_eq!(bytes, [0; 64]);
}

fn no_key() {
    let worker = Worker::start(&[]);
    let client = Client::served(&worker, grant(1));
    let (algorithm, purpose) = (Algorithm::Random as u8, KeyPurpose::default());
    let generate = KeyRequest::Generate { algorithm, exportable: false, purpose, len: 32 };
    assert_eq!(client.ask(&generate), Some(KeyReply::Refused { why: KeyRefusal::Algorithm }));
}
